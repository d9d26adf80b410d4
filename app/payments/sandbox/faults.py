"""Stripe's error objects: a refusal is raised, and never has had an effect."""

from app.sandbox.http import Reply, json_reply

DOCUMENTATION = "https://docs.stripe.com/error-codes/"


class Fault(Exception):
    """`kept`: the endpoint had begun to execute, so the idempotency key remembers this refusal; a request that fails
    validation, conflicts with one in flight or meets an outage is forgotten and may be sent again."""

    def __init__(
        self, status: int, kind: str, message: str, *, code: str | None = None, param: str | None = None, kept: bool = False, **more
    ):
        super().__init__(message)
        self.status = status
        self.kept = kept
        self.body = error_body(kind, message, code=code, param=param, **more)

    def reply(self) -> Reply:
        return json_reply(self.body, self.status)


def error_body(kind: str, message: str, *, code: str | None = None, param: str | None = None, **more) -> dict:
    error = {"type": kind, "message": message}
    if code:
        error |= {"code": code, "doc_url": DOCUMENTATION + code.replace("_", "-")}
    if param:
        error["param"] = param
    return {"error": error | more}


def invalid(message: str, *, code: str | None = None, param: str | None = None) -> Fault:
    return Fault(400, "invalid_request_error", message, code=code, param=param)


def missing(what: str, name: str, param: str = "id", status: int = 404) -> Fault:
    return Fault(status, "invalid_request_error", f"No such {what}: '{name}'", code="resource_missing", param=param)


def unexpected_state(message: str, intent: dict) -> Fault:
    return Fault(400, "invalid_request_error", message, code="payment_intent_unexpected_state", kept=True, payment_intent=intent)
