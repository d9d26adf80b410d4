"""What happens to money: payment intents and refunds as one state machine over the store.

Every method runs inside one transaction of the caller's and either raises a `Fault` before it has written anything, or writes
everything: the new state, the event, and (the caller) the idempotency key. A capture happens once per intent and in full, and
refunds never exceed it; the schema's constraints say so again.
"""

import json
import secrets
import string
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from sqlite3 import Row

from app.payments.sandbox import objects
from app.payments.sandbox.cards import CARDS, GENERIC, Card, Decline
from app.payments.sandbox.faults import Fault, error_body, invalid, missing, unexpected_state
from app.sandbox.store import Store

ALPHABET = string.ascii_letters + string.digits
ID_CHARACTERS = 24
CANCELLABLE = ("requires_payment_method", "requires_confirmation", "requires_action")
AUTHENTICATION_FAILED = Decline(
    "payment_intent_authentication_failure",
    None,
    "The provided payment method has failed authentication. You can provide payment_method_data or a new PaymentMethod to attempt "
    "to fulfill this PaymentIntent again.",
)


@dataclass(frozen=True, slots=True)
class Effect:
    """What the caller hears once the transaction is committed. `captured`: money moved in this very request."""

    status: int
    body: dict
    captured: bool = False


class Bank:
    def __init__(self, store: Store, url: str, random: Random, decline_rate: Callable[[], float], announce: Callable[[str], None]):
        """`announce`: called with the id of every event, inside the transaction that makes it."""
        self._store = store
        self._url = url
        self._random = random
        self._decline_rate = decline_rate
        self._announce = announce

    def create(
        self, amount: int, currency: str, metadata: dict, description: str | None, payment_method: str | None, key: str | None
    ) -> dict:
        """-> the new intent."""
        if payment_method is not None:
            _card(payment_method)
        name = new_id("pi")
        self._store.run(
            "INSERT INTO intents (id, secret, created, amount, currency, description, metadata, status, payment_method)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            name,
            f"{name}_secret_{_random_text(ID_CHARACTERS)}",
            _now(),
            amount,
            currency,
            description,
            json.dumps(metadata),
            "requires_confirmation" if payment_method else "requires_payment_method",
            payment_method,
        )
        intent = self.intent(name)
        self._event("payment_intent.created", intent, key)
        return intent

    def intent(self, name: str) -> dict:
        row = self.row(name)
        by_sdk = self._store.row("SELECT 1 FROM tokens WHERE intent = ? AND attempt = ? AND sdk = 1", name, row["attempts"])
        return objects.intent(row, self._url, sdk=by_sdk is not None)

    def row(self, name: str) -> Row:
        row = self._store.row("SELECT * FROM intents WHERE id = ?", name)
        if row is None:
            raise missing("payment_intent", name, "intent")
        return row

    def make_token(self, payment_method: str, return_url: str | None) -> dict:
        """What Stripe's form in the browser would have made -> the confirmation token."""
        _card(payment_method)
        name = new_id("ctoken")
        self._store.run(
            "INSERT INTO tokens (id, created, payment_method, return_url) VALUES (?, ?, ?, ?)",
            name,
            _now(),
            payment_method,
            return_url,
        )
        return self.token(name)

    def token(self, name: str) -> dict:
        row = self._store.row("SELECT * FROM tokens WHERE id = ?", name)
        if row is None:
            raise missing("confirmation_token", name)
        return objects.token(row, CARDS[row["payment_method"]].brand)

    def _usable_token(self, name: str) -> Row:
        row = self._store.row("SELECT * FROM tokens WHERE id = ?", name)
        if row is None:
            raise missing("confirmation_token", name, "confirmation_token", 400)
        if row["intent"] is not None:
            raise invalid(f"The confirmation token {name} was used before; it can be used once.", param="confirmation_token")
        if _now() > row["created"] + objects.TOKEN_SECONDS:
            raise invalid(f"The confirmation token {name} has expired.", param="confirmation_token")
        return row

    def confirm(
        self,
        name: str,
        payment_method: str | None,
        return_url: str | None,
        key: str | None,
        token: str | None = None,
        sdk: bool | None = None,
    ) -> Effect:
        """One attempt to take the money: captured (200), authentication wanted (200), or declined (402).

        What the request says itself wins over what `token` holds. `sdk` None: the token's word, without a token no.
        """
        row = self.row(name)
        if row["status"] == "succeeded":
            message = "You cannot confirm this PaymentIntent because it has already succeeded after being previously confirmed."
            raise unexpected_state(message, self.intent(name))
        if row["status"] == "canceled":
            raise unexpected_state(_wrong_status("confirm", row["status"]), self.intent(name))
        typed = None if token is None else self._usable_token(token)
        if typed is not None:
            payment_method, return_url = payment_method or typed["payment_method"], return_url or typed["return_url"]
        payment_method = payment_method or row["payment_method"]
        if payment_method is None:
            message = "You cannot confirm this PaymentIntent because it's missing a payment method."
            raise unexpected_state(message, self.intent(name))
        card = _card(payment_method)
        self._store.run(
            "UPDATE intents SET attempts = attempts + 1, payment_method = ?,"
            " return_url = coalesce(?, return_url), last_error = NULL WHERE id = ?",
            payment_method,
            return_url,
            name,
        )
        if typed is not None:
            self._store.run(
                "UPDATE tokens SET intent = ?, attempt = ?, sdk = ? WHERE id = ?",
                name,
                row["attempts"] + 1,
                typed["sdk"] if sdk is None else int(sdk),
                token,
            )
        if card.authenticates:
            self._store.run("UPDATE intents SET status = 'requires_action' WHERE id = ?", name)
            intent = self.intent(name)
            self._event("payment_intent.requires_action", intent, key)
            return Effect(200, intent)
        return self._charge(name, self._decision(card), key)

    def authenticate(self, name: str, completed: bool) -> None:
        """The shopper's answer on the bank's page. Anything but an intent that waits for it is left alone."""
        row = self.row(name)
        if row["status"] != "requires_action":
            return
        card = CARDS[row["payment_method"]]
        self._charge(name, card.decline if completed else AUTHENTICATION_FAILED, None)

    def cancel(self, name: str, reason: str | None, key: str | None) -> Effect:
        row = self.row(name)
        if row["status"] not in CANCELLABLE:
            raise unexpected_state(_wrong_status("cancel", row["status"]), self.intent(name))
        self._store.run(
            "UPDATE intents SET status = 'canceled', canceled_at = ?, cancellation_reason = ? WHERE id = ?", _now(), reason, name
        )
        intent = self.intent(name)
        self._event("payment_intent.canceled", intent, key)
        return Effect(200, intent)

    def refund(self, row: Row, amount: int | None, reason: str | None, metadata: dict, key: str | None) -> Effect:
        """Give back `amount` minor units of a capture, or all that is left of it."""
        if row["status"] != "succeeded":
            message = f"This PaymentIntent ({row['id']}) does not have a successful charge to refund."
            raise Fault(400, "invalid_request_error", message, param="payment_intent", kept=True)
        left = row["captured"] - row["refunded"]
        if left == 0:
            message = f"Charge {row['charge']} has already been refunded."
            raise Fault(400, "invalid_request_error", message, code="charge_already_refunded", kept=True)
        amount = left if amount is None else amount
        if amount > left:
            message = f"Refund amount ({amount}) is greater than unrefunded amount on charge ({left})"
            raise Fault(400, "invalid_request_error", message, param="amount", kept=True)
        name = new_id("re")
        self._store.run(
            "INSERT INTO refunds (id, intent, created, amount, reason, metadata) VALUES (?, ?, ?, ?, ?, ?)",
            name,
            row["id"],
            _now(),
            amount,
            reason,
            json.dumps(metadata),
        )
        self._store.run("UPDATE intents SET refunded = refunded + ? WHERE id = ?", amount, row["id"])
        refund = self.refund_named(name)
        self._event("refund.created", refund, key)
        self._event("charge.refunded", objects.charge(self.row(row["id"])), key)
        return Effect(200, refund)

    def refund_named(self, name: str) -> dict:
        row = self._store.row("SELECT * FROM refunds WHERE id = ?", name)
        if row is None:
            raise missing("refund", name)
        return objects.refund(row, self.row(row["intent"]))

    def charged(self, payment_intent: str | None, charge: str | None) -> Row:
        """-> the intent that a refund is about."""
        if payment_intent is not None:
            row = self._store.row("SELECT * FROM intents WHERE id = ?", payment_intent)
            if row is None:
                raise missing("payment_intent", payment_intent, "payment_intent")
            return row
        if charge is None:
            raise invalid("One of the following params should be provided for this request: payment_intent or charge.")
        row = self._store.row("SELECT * FROM intents WHERE charge = ?", charge)
        if row is None:
            raise missing("charge", charge, "charge")
        return row

    def ledger(self) -> list[dict]:
        """-> one row per intent, oldest first; `captured` and `refunded` in minor units."""
        rows = self._store.rows(
            "SELECT id AS payment_intent, json_extract(metadata, '$.order') AS \"order\", amount, currency,"
            " captured, refunded, attempts FROM intents ORDER BY seq"
        )
        return [dict(row) for row in rows]

    def _decision(self, card: Card) -> Decline | None:
        if card.decline is None and self._random.random() < self._decline_rate():
            return GENERIC
        return card.decline

    def _charge(self, name: str, decline: Decline | None, key: str | None) -> Effect:
        if decline is None:
            charge = new_id("ch")
            self._store.run("UPDATE intents SET status = 'succeeded', captured = amount, charge = ? WHERE id = ?", charge, name)
            intent = self.intent(name)
            self._event("payment_intent.succeeded", intent, key)
            return Effect(200, intent, captured=True)
        error = _card_error(decline, self.row(name)["payment_method"])
        self._store.run(
            "UPDATE intents SET status = 'requires_payment_method', last_error = ?, payment_method = NULL WHERE id = ?",
            json.dumps(error),
            name,
        )
        intent = self.intent(name)
        self._event("payment_intent.payment_failed", intent, key)
        return Effect(402, {"error": error | {"payment_intent": intent}})

    def _event(self, kind: str, subject: dict, key: str | None) -> None:
        name, created = new_id("evt"), _now()
        body = objects.event(name, kind, created, subject, 0, key)
        self._store.run("INSERT INTO events (id, type, created, body) VALUES (?, ?, ?, ?)", name, kind, created, json.dumps(body))
        self._announce(name)


def new_id(prefix: str) -> str:
    return f"{prefix}_{_random_text(ID_CHARACTERS)}"


def _random_text(characters: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(characters))


def _now() -> int:
    return int(time.time())


def _wrong_status(verb: str, status: str) -> str:
    return (
        f"You cannot {verb} this PaymentIntent because it has a status of {status}. Only a PaymentIntent with one of the following "
        f"statuses allows it: {', '.join(CANCELLABLE)}."
    )


def _card(payment_method: str) -> Card:
    if payment_method not in CARDS:
        raise missing("PaymentMethod", payment_method, "payment_method", 400)
    return CARDS[payment_method]


def _card_error(decline: Decline, payment_method: str) -> dict:
    more = {"decline_code": decline.decline_code} if decline.decline_code else {}
    card = {"brand": CARDS[payment_method].brand, "last4": "4242", "exp_month": 12, "exp_year": 2040, "funding": "credit"}
    method = {"id": payment_method, "object": "payment_method", "type": "card", "livemode": False, "metadata": {}, "card": card}
    kind = "invalid_request_error" if decline is AUTHENTICATION_FAILED else "card_error"
    return error_body(kind, decline.message, code=decline.code, payment_method=method, **more)["error"]
