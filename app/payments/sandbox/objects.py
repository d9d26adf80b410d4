"""Rows of the store as Stripe's objects (field by field what API version 2026-10-28 answers for a card payment)."""

import json
from sqlite3 import Row

API_VERSION = "2026-10-28.endive"
AUTHENTICATION_PATH = "/sandbox/authenticate/"
TOKEN_SECONDS = 12 * 3600  # so long a confirmation token may be used


def intent(row: Row, url: str, sdk: bool = False) -> dict:
    """`url`: where this sandbox serves, for the page that authenticates. `sdk`: the browser's SDK is to show it."""
    return {
        "id": row["id"],
        "object": "payment_intent",
        "amount": row["amount"],
        "amount_capturable": 0,
        "amount_details": {"tip": {}},
        "amount_received": row["captured"],
        "application": None,
        "application_fee_amount": None,
        "automatic_payment_methods": None,
        "canceled_at": row["canceled_at"],
        "cancellation_reason": row["cancellation_reason"],
        "capture_method": "automatic",
        "client_secret": row["secret"],
        "confirmation_method": "automatic",
        "created": row["created"],
        "currency": row["currency"],
        "customer": None,
        "description": row["description"],
        "last_payment_error": json.loads(row["last_error"]) if row["last_error"] else None,
        "latest_charge": row["charge"],
        "livemode": False,
        "metadata": json.loads(row["metadata"]),
        "next_action": _next_action(row, url, sdk),
        "on_behalf_of": None,
        "payment_method": row["payment_method"],
        "payment_method_configuration_details": None,
        "payment_method_options": {"card": {"installments": None, "network": None, "request_three_d_secure": "automatic"}},
        "payment_method_types": ["card"],
        "processing": None,
        "receipt_email": None,
        "review": None,
        "setup_future_usage": None,
        "shipping": None,
        "source": None,
        "statement_descriptor": None,
        "statement_descriptor_suffix": None,
        "status": row["status"],
        "transfer_data": None,
        "transfer_group": None,
    }


def _next_action(row: Row, url: str, sdk: bool) -> dict | None:
    if row["status"] != "requires_action":
        return None
    page = url + AUTHENTICATION_PATH + row["id"]
    if sdk:
        return {"type": "use_stripe_sdk", "use_stripe_sdk": {"type": "three_d_secure_redirect", "stripe_js": page}}
    return {"type": "redirect_to_url", "redirect_to_url": {"return_url": row["return_url"], "url": page}}


def token(row: Row, brand: str) -> dict:
    card = {"brand": brand, "last4": "4242", "exp_month": 12, "exp_year": 2040, "funding": "credit"}
    billing = {"address": None, "email": None, "name": None, "phone": None}
    return {
        "id": row["id"],
        "object": "confirmation_token",
        "created": row["created"],
        "expires_at": None if row["intent"] else row["created"] + TOKEN_SECONDS,
        "livemode": False,
        "mandate_data": None,
        "payment_intent": row["intent"],
        "payment_method_options": None,
        "payment_method_preview": {"type": "card", "card": card, "billing_details": billing, "customer": None},
        "return_url": row["return_url"],
        "setup_future_usage": None,
        "setup_intent": None,
        "shipping": None,
        "use_stripe_sdk": bool(row["sdk"]),
    }


def refund(row: Row, intent_row: Row) -> dict:
    return {
        "id": row["id"],
        "object": "refund",
        "amount": row["amount"],
        "balance_transaction": None,
        "charge": intent_row["charge"],
        "created": row["created"],
        "currency": intent_row["currency"],
        "destination_details": {"card": {"reference_status": "pending", "type": "refund"}, "type": "card"},
        "metadata": json.loads(row["metadata"]),
        "payment_intent": row["intent"],
        "reason": row["reason"],
        "receipt_number": None,
        "source_transfer_reversal": None,
        "status": "succeeded",
        "transfer_reversal": None,
    }


def charge(row: Row) -> dict:
    """The short form that the event `charge.refunded` carries."""
    return {
        "id": row["charge"],
        "object": "charge",
        "amount": row["amount"],
        "amount_captured": row["captured"],
        "amount_refunded": row["refunded"],
        "captured": True,
        "created": row["created"],
        "currency": row["currency"],
        "livemode": False,
        "metadata": json.loads(row["metadata"]),
        "paid": True,
        "payment_intent": row["id"],
        "payment_method": row["payment_method"],
        "refunded": row["refunded"] == row["captured"],
        "status": "succeeded",
    }


def event(name: str, kind: str, created: int, subject: dict, pending: int, key: str | None) -> dict:
    return {
        "id": name,
        "object": "event",
        "api_version": API_VERSION,
        "created": created,
        "data": {"object": subject},
        "livemode": False,
        "pending_webhooks": pending,
        "request": {"id": None, "idempotency_key": key},
        "type": kind,
    }


def page(url: str, data: list[dict], has_more: bool) -> dict:
    return {"object": "list", "data": data, "has_more": has_more, "url": url}
