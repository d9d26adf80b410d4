"""Asking before harm, on a page of its own: for whoever pressed a hold-to-confirm button without holding it, or has no JavaScript.

A form that carries `sure=yes` was confirmed already (static/js/hold.js, or this page). Programs are never asked: they mean it.
"""

from collections.abc import Mapping, Sequence

from litestar import Response

from app.ledger import Seller
from app.web.call import Call
from app.web.doors import Doors

SURE = "sure"


def is_sure(call: Call) -> bool:
    return call.wants_json or call.fields().get(SURE) == "yes"


def ask_first(
    call: Call,
    doors: Doors,
    seller: Seller,
    *,
    title: str,
    consequences: Sequence[str],
    verb: str,
    back: str,
    fields: Mapping[str, str] | None = None,
) -> Response:
    """The page that asks. `verb`: what its button says; `back`: the way out; `fields`: those of the form, sent on as they came."""
    sent = call.fields() if fields is None else fields
    kept = {name: value for name, value in sent.items() if name != SURE}
    return doors.seller_page(
        call, seller, "seller/confirm.html", title=title, consequences=consequences, verb=verb, back=back, kept=kept
    )
