"""The provider over Stripe's official SDK; `STRIPE_API_BASE` decides whether Stripe or the sandbox answers.

Guarantees: one call of ours is one request at a time and never repeated behind our back (the SDK's own retries are off); it ends
within `timeout_seconds` as a whole; whatever is not a clear answer is `ProviderSilent`. When the caller is cancelled the request is
dropped with the outcome unknown, exactly as in a crash.

Amounts are whole minor units on both sides. Almost all pass as they are (JPY 80, KWD 1250, EUR 1999); where Stripe counts other
decimals than we show, as for ISK or HUF, the adapter alone converts.

A card comes as the id of a payment method, or as that of a confirmation token, into which Stripe's form in the browser puts what
was typed there. We confirm, never the browser, so that a charge is always made under our key. What the bank wants to ask happens
on a page that the buyer is sent to (`use_stripe_sdk` false); a payment that asks without having such a page is as good as declined.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit
from uuid import UUID

import httpx
import stripe

from app.domain.money import exponent
from app.errors import BrokenInvariant, ProviderRefused, ProviderSilent
from app.payments.currencies import stripe_decimals
from app.payments.protocol import Outcome, OutcomeKind

CONNECTIONS_MAX = 64
FOUND_MAX = 100
REFUSED_STATUSES = frozenset({400, 401, 402, 403, 404, 405, 413, 422})
UNEXPECTED_STATE = "payment_intent_unexpected_state"
TOKEN_PREFIX = "ctoken_"
OF_THE_CARD = frozenset({"payment_method", "confirmation_token"})  # what an unknown, used or outdated card is refused for
NO_PAGE = "authentication_unavailable"
NOT_REFUNDED = frozenset({"failed", "canceled"})
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class StripeProvider:
    """The `Provider` of app/payments/protocol.py."""

    def __init__(self, secret_key: str, *, api_base: str = "", timeout_seconds: float, connections_max: int = CONNECTIONS_MAX):
        """`api_base`: address without a trailing path; empty is Stripe itself."""
        stripe.enable_telemetry = False
        self._timeout_seconds = timeout_seconds
        loopback = urlsplit(api_base).hostname in LOOPBACK
        self._http = _Http(timeout_seconds, connections_max, through_proxies=not loopback)
        self._client = stripe.StripeClient(
            secret_key,
            base_addresses={"api": api_base.rstrip("/")} if api_base else {},
            http_client=self._http,
            max_network_retries=0,
        )

    async def close(self) -> None:
        await self._http.close_async()

    async def create_intent(self, order_id: UUID, amount_minor: int, currency: str) -> str:
        params = {
            "amount": to_stripe(amount_minor, currency),
            "currency": currency.lower(),
            "payment_method_types": ["card"],
            "metadata": {"order": str(order_id)},
        }
        async with self._answering():
            intent = await self._client.v1.payment_intents.create_async(params, {"idempotency_key": f"{order_id}:intent"})
        return intent.id

    async def confirm(self, order_id: UUID, n: int, intent_id: str, payment_method: str, return_url: str) -> Outcome:
        params = _card_params(payment_method) | {"return_url": return_url}
        options = {"idempotency_key": f"{order_id}:{n}"}
        async with self._answering():
            try:
                return outcome_of(await self._client.v1.payment_intents.confirm_async(intent_id, params, options))
            except stripe.CardError as error:
                told = getattr(error.error, "payment_intent", None)
                intent = told or await self._client.v1.payment_intents.retrieve_async(intent_id)
                return _declined(intent, _decline_reason(error.error) or "card_declined")
            except stripe.InvalidRequestError as error:
                if error.code == UNEXPECTED_STATE:
                    return outcome_of(await self._client.v1.payment_intents.retrieve_async(intent_id))
                if error.param in OF_THE_CARD:
                    return _declined(await self._client.v1.payment_intents.retrieve_async(intent_id), "invalid_payment_method")
                raise

    async def retrieve(self, intent_id: str) -> Outcome:
        async with self._answering():
            return outcome_of(await self._client.v1.payment_intents.retrieve_async(intent_id))

    async def cancel(self, order_id: UUID, intent_id: str) -> Outcome:
        # No key of ours: cancelling twice is harmless by itself, and a remembered "not now" would stand in the way of the next try.
        async with self._answering():
            try:
                return outcome_of(await self._client.v1.payment_intents.cancel_async(intent_id))
            except stripe.InvalidRequestError as error:
                if error.code != UNEXPECTED_STATE:
                    raise
                return outcome_of(await self._client.v1.payment_intents.retrieve_async(intent_id))

    async def refund(self, order_id: UUID, purpose: str, intent_id: str, amount_minor: int) -> str:
        async with self._answering():
            intent = await self._client.v1.payment_intents.retrieve_async(intent_id)
            params = {
                "payment_intent": intent_id,
                "amount": to_stripe(amount_minor, intent.currency.upper()),
                "metadata": {"order": str(order_id), "purpose": purpose},
            }
            made = await self._refund_made(intent_id, purpose)
            if made is None:
                made = await self._client.v1.refunds.create_async(params, {"idempotency_key": f"{order_id}:{purpose}"})
        if made.status in NOT_REFUNDED:
            raise ProviderRefused(f"the payment provider could not refund: {made.status}")
        return made.id

    async def find(self, order_id: UUID) -> list[Outcome]:
        params = {"query": f"metadata['order']:'{order_id}'", "limit": FOUND_MAX}
        async with self._answering():
            found = await self._client.v1.payment_intents.search_async(params)
        return [outcome_of(intent) for intent in found.data]

    async def _refund_made(self, intent_id: str, purpose: str) -> stripe.Refund | None:
        """The provider forgets keys after a day or so; a refund is looked up by its purpose before it is asked for."""
        made = await self._client.v1.refunds.list_async({"payment_intent": intent_id, "limit": FOUND_MAX})
        for refund in made.data:
            if refund.status not in NOT_REFUNDED and getattr(refund.metadata, "purpose", None) == purpose:
                return refund
        return None

    @asynccontextmanager
    async def _answering(self) -> AsyncIterator[None]:
        """Bound the whole call, and turn every failure into silent or refused."""
        try:
            async with asyncio.timeout(self._timeout_seconds):
                yield
        except TimeoutError as error:
            raise ProviderSilent(f"the payment provider gave no answer within {self._timeout_seconds:g} s") from error
        except stripe.StripeError as error:
            if error.http_status in REFUSED_STATUSES:
                code = error.code or error.http_status
                raise ProviderRefused(f"the payment provider refused ({code}): {error.user_message}") from error
            raise ProviderSilent(f"the payment provider gave no clear answer: {error.http_status or 'no connection'}") from error


class _Http(stripe.HTTPClient):
    """The SDK's transport over httpx, with bounded connections. A failure without a reply is an `APIConnectionError`."""

    name = "httpx"

    def __init__(self, timeout_seconds: float, connections_max: int, through_proxies: bool):
        super().__init__()
        limits = httpx.Limits(max_connections=connections_max, max_keepalive_connections=connections_max)
        self._httpx = httpx.AsyncClient(timeout=timeout_seconds, limits=limits, trust_env=through_proxies)

    async def request_async(self, method: str, url: str, headers, post_data=None) -> tuple[bytes, int, httpx.Headers]:
        try:
            response = await self._httpx.request(method, url, headers=headers, content=post_data or None)
        except httpx.HTTPError as error:
            raise stripe.APIConnectionError(f"no reply: {type(error).__name__}") from error
        return response.content, response.status_code, response.headers

    async def sleep_async(self, secs: float) -> None:
        await asyncio.sleep(secs)

    async def close_async(self) -> None:
        await self._httpx.aclose()


def outcome_of(intent: stripe.PaymentIntent) -> Outcome:
    if intent.status == "succeeded":
        return _of(intent, OutcomeKind.CAPTURED, intent.amount_received)
    if intent.status == "canceled":
        return _of(intent, OutcomeKind.CANCELLED)
    if intent.status == "requires_action":
        url = _page_of(intent.next_action)
        return _of(intent, OutcomeKind.ACTION, action_url=url) if url else _declined(intent, NO_PAGE)
    if intent.status in ("requires_payment_method", "requires_confirmation"):
        return _declined(intent, _decline_reason(intent.last_payment_error))
    return _of(intent, OutcomeKind.PENDING)


def _card_params(payment_method: str) -> dict:
    if payment_method.startswith(TOKEN_PREFIX):
        return {"confirmation_token": payment_method, "use_stripe_sdk": False}  # what stands here wins over what the token holds
    return {"payment_method": payment_method}


def _page_of(next_action) -> str | None:
    """-> where the buyer authenticates. Stripe leaves out what an action does not have."""
    return getattr(getattr(next_action, "redirect_to_url", None), "url", None)


def _declined(intent: stripe.PaymentIntent, reason: str | None) -> Outcome:
    return _of(intent, OutcomeKind.DECLINED, reason=reason)


def _of(intent: stripe.PaymentIntent, kind: OutcomeKind, amount: int | None = None, **more) -> Outcome:
    currency = intent.currency.upper()
    return Outcome(kind, intent.id, from_stripe(intent.amount if amount is None else amount, currency), currency, **more)


def _decline_reason(error) -> str | None:
    """-> Stripe's decline code, or its error code where it gives no closer one."""
    return getattr(error, "decline_code", None) or getattr(error, "code", None)


def to_stripe(amount_minor: int, currency: str) -> int:
    """-> the amount as Stripe counts it. ProviderRefused: it cannot."""
    shift = _shift(currency)
    if shift >= 0:
        return amount_minor * 10**shift
    amount, rest = divmod(amount_minor, 10**-shift)
    if rest:
        raise ProviderRefused(
            f"the payment provider cannot charge {amount_minor} minor units of {currency}: it counts fewer decimals"
        )
    return amount


def from_stripe(amount: int, currency: str) -> int:
    """-> minor units. What makes no whole unit of ours was never asked for by us: a fault, not an amount."""
    shift = _shift(currency)
    if shift <= 0:
        return amount * 10**-shift
    amount_minor, rest = divmod(amount, 10**shift)
    if rest:
        raise BrokenInvariant(f"the payment provider reports {amount} of {currency}, which is no whole number of minor units")
    return amount_minor


def _shift(currency: str) -> int:
    """-> how many more decimals Stripe counts than the rest of Doorman does (ISK and HUF 2, most 0)."""
    return stripe_decimals(currency) - exponent(currency)
