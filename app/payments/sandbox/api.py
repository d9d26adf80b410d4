"""Stripe's endpoints over the bank: keys, parameters, latency, outages, lost replies.

A POST runs like this: outage? -> key known? replay -> key in flight? 409 -> wait (a bank is asked) -> effect and key in ONE
transaction -> wait -> reply. The wait of a scripted latency falls before or after the effect, so a caller that gives up, or a
`kill -9`, may meet either: only the answer to a repeat of the same key tells. A key in flight is remembered in memory only, so
that a crash never leaves it stuck.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable
from random import Random

from app.payments.sandbox import objects, params
from app.payments.sandbox.bank import Bank, Effect, new_id
from app.payments.sandbox.faults import Fault, error_body, invalid, missing
from app.sandbox.http import HangUp, Reply, Request, json_reply
from app.sandbox.script import Script
from app.sandbox.store import Store

KEY_CHARACTERS_MAX = 255
KEY_KEPT_SECONDS = 48 * 3600  # Stripe promises 24 hours at least
TEST_KEY_PREFIX = "sk_test_"
REFUND_REASONS = ("duplicate", "fraudulent", "requested_by_customer")
CANCELLATION_REASONS = ("abandoned", "duplicate", "fraudulent", "requested_by_customer")
CREATE_PARAMS = {
    "amount",
    "currency",
    "metadata",
    "description",
    "payment_method",
    "payment_method_types",
    "automatic_payment_methods",
    "confirm",
    "return_url",
    "capture_method",
    "confirmation_method",
}
CONFIRM_PARAMS = {
    "payment_method",
    "confirmation_token",
    "return_url",
    "off_session",
    "error_on_requires_action",
    "use_stripe_sdk",
}
_CLAUSE = re.compile(
    r"""\s*(?: metadata\[(['"])(?P<key>[^'"]*)\1\] | (?P<field>status|currency|amount) )
        \s*:\s*(?: (['"])(?P<text>[^'"]*)\4 | (?P<number>\d{1,15}) )\s*""",
    re.VERBOSE | re.ASCII,
)


class Api:
    def __init__(self, store: Store, bank: Bank, script: Script, token: str, random: Random):
        self._store = store
        self._bank = bank
        self._script = script
        self._token = token
        self._random = random
        self._in_flight: set[str] = set()
        with store.transaction():
            store.run("DELETE FROM keys WHERE created < ?", int(time.time()) - KEY_KEPT_SECONDS)

    def routes(self) -> list:
        return [
            ("POST", "/v1/payment_intents", self._post(self._create)),
            ("GET", "/v1/payment_intents", self._get(self._intents)),
            ("GET", "/v1/payment_intents/search", self._get(self._search)),
            ("GET", "/v1/payment_intents/{name}", self._get(self._intent)),
            ("POST", "/v1/payment_intents/{name}/confirm", self._post(self._confirm, asks_bank=True)),
            ("POST", "/v1/payment_intents/{name}/cancel", self._post(self._cancel)),
            ("POST", "/v1/test_helpers/confirmation_tokens", self._post(self._make_token)),
            ("GET", "/v1/confirmation_tokens/{name}", self._get(self._token_named)),
            ("POST", "/v1/refunds", self._post(self._refund, asks_bank=True)),
            ("GET", "/v1/refunds", self._get(self._refunds)),
            ("GET", "/v1/refunds/{name}", self._get(self._refund_named)),
            ("GET", "/v1/events", self._get(self._events)),
            ("GET", "/v1/events/{name}", self._get(self._event)),
        ]

    # ------------------------------------------------------------------ how a request runs

    def _get(self, answer: Callable):
        async def handler(request: Request, **names) -> Reply:
            try:
                self._admit(request)
                return json_reply(answer(request.query, **names), headers=_request_id())
            except Fault as fault:
                return fault.reply()

        return handler

    def _post(self, effect: Callable, asks_bank: bool = False):
        async def handler(request: Request, **names) -> Reply:
            try:
                self._admit(request)
                form = _form(request)
                key = request.headers.get("idempotency-key")
                if key is None:
                    return await self._run(effect, form, names, None, "", "", asks_bank)
                return await self._run_once(effect, form, names, key, request.path, asks_bank)
            except Fault as fault:
                return fault.reply()

        return handler

    def _admit(self, request: Request) -> None:
        if self._script["outage"]:
            raise Fault(503, "api_error", "The provider is not available at the moment.")
        secret = _secret(request.headers.get("authorization", ""))
        if not secret.startswith(TEST_KEY_PREFIX) and not hmac.compare_digest(secret.encode(), self._token.encode()):
            message = "Invalid API Key provided." if secret else "You did not provide an API key."
            raise Fault(401, "invalid_request_error", message)

    async def _run_once(self, effect, form: dict, names: dict, key: str, path: str, asks_bank: bool) -> Reply:
        """`_run`, under Stripe's rules for idempotency keys."""
        if not 1 <= len(key) <= KEY_CHARACTERS_MAX:
            raise invalid(f"Idempotency keys have 1 to {KEY_CHARACTERS_MAX} characters.")
        digest = hashlib.sha256(json.dumps(sorted(form.items())).encode()).hexdigest()
        known = self._store.row("SELECT * FROM keys WHERE key = ?", key)
        if known is not None:
            if known["path"] != path:
                raise _other_use(f"the same endpoint they were first used for ('{known['path']}')", key)
            if known["digest"] != digest:
                raise _other_use("the same parameters they were first used with", key)
            headers = _request_id() | {"idempotency-key": key, "idempotent-replayed": "true"}
            return Reply(known["status"], bytes(known["body"]), headers=headers)
        if key in self._in_flight:
            message = f"There is currently another in-progress request using this Idempotent Key: {key}. Please try again later."
            raise Fault(409, "invalid_request_error", message, code="idempotency_key_in_use")
        self._in_flight.add(key)
        try:
            return await self._run(effect, form, names, key, path, digest, asks_bank)
        finally:
            self._in_flight.discard(key)

    async def _run(self, effect, form: dict, names: dict, key: str | None, path: str, digest: str, asks_bank: bool) -> Reply:
        before, after = self._latency() if asks_bank or "confirm" in form else (0, 0)
        await asyncio.sleep(before)
        if self._script["outage"]:
            raise Fault(503, "api_error", "The provider is not available at the moment.")
        with self._store.transaction():
            try:
                result = effect(form, key, **names)
            except Fault as fault:
                if not fault.kept:
                    raise
                result = Effect(fault.status, fault.body)
            reply = json_reply(result.body, result.status, _request_id() | ({"idempotency-key": key} if key else {}))
            if key is not None:
                self._store.run(
                    "INSERT INTO keys (key, path, digest, status, body, created) VALUES (?, ?, ?, ?, ?, ?)",
                    key,
                    path,
                    digest,
                    reply.status,
                    reply.body,
                    int(time.time()),
                )
        lost = result.captured and self._script.spend("drop_after_capture")
        await asyncio.sleep(after)
        if lost or self._script["outage"]:
            raise HangUp
        return reply

    def _latency(self) -> tuple[float, float]:
        """-> s to wait before the effect, s to wait after it; one of the two is 0."""
        seconds = self._random.uniform(*self._script["latency"])
        taken = self._script["latency_taken"]
        if taken == "either":
            taken = self._random.choice(("before", "after"))
        return (seconds, 0) if taken == "before" else (0, seconds)

    # ------------------------------------------------------------------ payment intents

    def _create(self, form: dict, key: str | None) -> Effect:
        params.check_known(form, CREATE_PARAMS)
        for name in ("capture_method", "confirmation_method"):
            if form.get(name, "automatic") != "automatic":
                raise invalid(f"The sandbox knows only {name}=automatic.", param=name)
        for kind in params.nested(form, "payment_method_types").values():
            if kind != "card":
                raise invalid(f"The payment method type provided: {kind} is invalid.", param="payment_method_types")
        amount, currency, metadata = params.amount(form), params.currency(form), params.metadata(form)
        confirm, return_url = params.flag(form, "confirm"), params.return_url(form)
        intent = self._bank.create(amount, currency, metadata, form.get("description"), form.get("payment_method"), key)
        return self._bank.confirm(intent["id"], None, return_url, key) if confirm else Effect(200, intent)

    def _confirm(self, form: dict, key: str | None, name: str) -> Effect:
        params.check_known(form, CONFIRM_PARAMS)
        sdk = params.flag(form, "use_stripe_sdk") if "use_stripe_sdk" in form else None
        token = form.get("confirmation_token")
        return self._bank.confirm(name, form.get("payment_method"), params.return_url(form), key, token, sdk)

    def _cancel(self, form: dict, key: str | None, name: str) -> Effect:
        params.check_known(form, {"cancellation_reason"})
        return self._bank.cancel(name, _one_of(form, "cancellation_reason", CANCELLATION_REASONS), key)

    def _intent(self, query: dict, name: str) -> dict:
        params.check_known(query, {"client_secret"})
        return self._bank.intent(name)

    def _intents(self, query: dict) -> dict:
        params.check_known(query, {"limit", "starting_after", "ending_before", "created"})
        found, more = self._listed("intents", query)
        return objects.page("/v1/payment_intents", [self._bank.intent(row["id"]) for row in found], more)

    def _search(self, query: dict) -> dict:
        params.check_known(query, {"query", "limit", "page"})
        conditions, values = _conditions(query.get("query", ""))
        if "page" in query:
            conditions.append("seq < ?")
            values.append(_integer(query["page"], "page"))
        limit = params.list_limit(query)
        where = " AND ".join(conditions)
        rows = self._store.rows(f"SELECT id, seq FROM intents WHERE {where} ORDER BY seq DESC LIMIT ?", *values, limit + 1)  # noqa: S608
        found = rows[:limit]
        return {
            "object": "search_result",
            "url": "/v1/payment_intents/search",
            "data": [self._bank.intent(row["id"]) for row in found],
            "has_more": len(rows) > limit,
            "next_page": str(found[-1]["seq"]) if len(rows) > limit else None,
        }

    # ------------------------------------------------------------------ confirmation tokens

    def _make_token(self, form: dict, key: str | None) -> Effect:
        """Stripe's own helper for tests: a machine without a browser gets what Stripe's form would have made."""
        params.check_known(form, {"payment_method", "return_url"})
        if "payment_method" not in form:
            raise invalid("Missing required param: payment_method.", code="parameter_missing", param="payment_method")
        return Effect(200, self._bank.make_token(form["payment_method"], params.return_url(form)))

    def _token_named(self, query: dict, name: str) -> dict:
        params.check_known(query, set())
        return self._bank.token(name)

    # ------------------------------------------------------------------ refunds

    def _refund(self, form: dict, key: str | None) -> Effect:
        params.check_known(form, {"payment_intent", "charge", "amount", "reason", "metadata"})
        amount = params.amount(form) if "amount" in form else None
        reason, metadata = _one_of(form, "reason", REFUND_REASONS), params.metadata(form)
        return self._bank.refund(self._bank.charged(form.get("payment_intent"), form.get("charge")), amount, reason, metadata, key)

    def _refund_named(self, query: dict, name: str) -> dict:
        params.check_known(query, set())
        return self._bank.refund_named(name)

    def _refunds(self, query: dict) -> dict:
        params.check_known(query, {"limit", "starting_after", "ending_before", "created", "payment_intent", "charge"})
        conditions, values = [], []
        if "payment_intent" in query or "charge" in query:
            conditions.append("intent = ?")
            values.append(self._bank.charged(query.get("payment_intent"), query.get("charge"))["id"])
        found, more = self._listed("refunds", query, conditions, values)
        return objects.page("/v1/refunds", [self._bank.refund_named(row["id"]) for row in found], more)

    # ------------------------------------------------------------------ events

    def _event(self, query: dict, name: str) -> dict:
        params.check_known(query, set())
        row = self._store.row("SELECT body FROM events WHERE id = ?", name)
        if row is None:
            raise missing("event", name)
        return self._shown(name, row["body"])

    def _events(self, query: dict) -> dict:
        params.check_known(query, {"limit", "starting_after", "ending_before", "created", "type", "types", "delivery_success"})
        kinds = [query["type"]] if "type" in query else list(params.nested(query, "types").values())
        conditions = [f"type IN ({', '.join('?' * len(kinds))})"] if kinds else []
        found, more = self._listed("events", query, conditions, kinds)
        return objects.page("/v1/events", [self._shown(row["id"], row["body"]) for row in found], more)

    def _shown(self, name: str, body: str) -> dict:
        pending = self._store.row("SELECT count(*) AS n FROM deliveries WHERE event = ?", name)["n"]
        return json.loads(body) | {"pending_webhooks": pending}

    # ------------------------------------------------------------------ lists

    def _listed(self, table: str, query: dict, conditions=(), values=()) -> tuple[list, bool]:
        """-> (rows, newest first; whether there are more). Stripe's cursors: the id of the last or first object seen."""
        conditions, values = list(conditions), list(values)
        backwards = "ending_before" in query
        for name, comparison in (("starting_after", "<"), ("ending_before", ">")):
            if name in query:
                cursor = self._store.row(f"SELECT seq FROM {table} WHERE id = ?", query[name])  # noqa: S608
                if cursor is None:
                    raise missing(table[:-1], query[name], name, 400)
                conditions.append(f"seq {comparison} ?")
                values.append(cursor["seq"])
        bounds = params.nested(query, "created") | ({"eq": query["created"]} if "created" in query else {})
        for name, text in bounds.items():
            comparison = {"eq": "=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}.get(name)
            if comparison is None:
                raise invalid(f"Received unknown parameter: created[{name}]", code="parameter_unknown", param=f"created[{name}]")
            conditions.append(f"created {comparison} ?")
            values.append(_integer(text, "created"))
        limit = params.list_limit(query)
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        direction = "ASC" if backwards else "DESC"
        rows = self._store.rows(f"SELECT * FROM {table} {where} ORDER BY seq {direction} LIMIT ?", *values, limit + 1)  # noqa: S608
        found = rows[:limit]
        return (found[::-1] if backwards else found), len(rows) > limit


def unknown(request: Request) -> Reply:
    message = f"Unrecognized request URL ({request.method}: {request.path})."
    return json_reply(error_body("invalid_request_error", message), 404)


def _secret(authorization: str) -> str:
    """-> the key of `Bearer KEY` or of Basic authentication, where it is the user's name; '' for none."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[0]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return ""


def _form(request: Request) -> dict[str, str]:
    try:
        return request.form
    except ValueError as error:
        raise invalid("The body is not a form in UTF-8.") from error


def _other_use(first: str, key: str) -> Fault:
    message = (
        f"Keys for idempotent requests can only be used with {first}. Try using a key other than '{key}' if you meant to execute "
        "a different request."
    )
    return Fault(400, "idempotency_error", message)


def _one_of(form: dict, name: str, lawful: tuple[str, ...]) -> str | None:
    value = form.get(name)
    if value is not None and value not in lawful:
        raise invalid(f"Invalid {name}: must be one of {', '.join(lawful)}", param=name)
    return value


def _integer(text: str, name: str) -> int:
    if not re.fullmatch(r"\d{1,15}", text, re.ASCII):
        raise invalid(f"Invalid integer: {text}", code="parameter_invalid_integer", param=name)
    return int(text)


def _conditions(query: str) -> tuple[list[str], list]:
    """Stripe's search language as far as we speak it: clauses `metadata['k']:'v'`, `status:'v'`, `amount:n`, joined by AND."""
    conditions, values = [], []
    for clause in re.split(r"\sAND\s", query):
        match = _CLAUSE.fullmatch(clause)
        if match is None:
            raise invalid(f"We were unable to parse your search query: {query!r}", param="query")
        value = match["text"] if match["text"] is not None else int(match["number"])
        if match["field"]:
            conditions.append(f"{match['field']} = ?")
        elif match["key"] == "order":
            conditions.append("json_extract(metadata, '$.order') = ?")
        else:
            conditions.append("EXISTS (SELECT 1 FROM json_each(metadata) WHERE key = ? AND value = ?)")
            values.append(match["key"])
        values.append(value)
    return conditions, values


def _request_id() -> dict[str, str]:
    return {"request-id": new_id("req")}
