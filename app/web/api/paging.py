"""Cursors: where a list goes on, as an opaque text. It only says a place in an order; whose list it is says the key."""

import base64
import binascii
from datetime import datetime
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from app.errors import BadInput
from app.languages import N_

PAGE_MAX = 200
PAGE_USUAL = 50
CURSOR_CHARACTERS_MAX = 400
YEARS = range(2000, 2200)
NOT_A_CURSOR = N_("This cursor is none. Take the one that the page before gave as `next`, or begin without one.")

Spot = TypeVar("Spot")
PURPOSE = Annotated[str, Meta(pattern="^[!-~]*$", max_length=200)]  # of a refund, in a place


def cursor_of(*place: Any) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).rstrip(b"=").decode()


def place_in(cursor: str | None, kind: type[Spot]) -> Spot | None:
    """-> the place; None without a cursor. BadInput for one that is none of ours."""
    if cursor is None:
        return None
    try:
        raw = base64.b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        place = msgspec.json.decode(raw, type=kind)
    except (UnicodeEncodeError, binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise BadInput(NOT_A_CURSOR, field="cursor") from error
    if not sane(place):
        raise BadInput(NOT_A_CURSOR, field="cursor")
    return place


def sane(place: Any) -> bool:
    """Whether the ledger can compare with every time in it."""
    if isinstance(place, tuple):
        return all(map(sane, place))
    return not isinstance(place, datetime) or place.year in YEARS


def page_of(found: list, limit: int) -> tuple[list, bool]:
    """One more than `limit` was asked for -> (the page, whether there is another)."""
    return found[:limit], len(found) > limit
