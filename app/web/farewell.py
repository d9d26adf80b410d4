"""Deleting an account: what goes and what stays is said first, and nothing happens without a word of consent.

Holds are given back before anything else, so that no unit is stuck with somebody who is gone. While a payment is under way, or a
paid order's drop still sells (the limit per person would fall with the account), the account stays and the page says why.
"""

from uuid import UUID

from litestar import Response, get, post

from app.domain.orders import OrderState
from app.errors import BadInput
from app.ledger import InTheWay
from app.web.call import Call
from app.web.doors import Doors, TheseDoors, ThisCall, document, redirect, shopper_of

CONSENT = "yes"
WORD_CHARACTERS_MAX = 8


@get("/account/delete")
async def ask_first(call: ThisCall, doors: TheseDoors) -> Response:
    in_the_way = await doors.ledger.orders_in_the_way(shopper_of(call).shopper_id)
    return asked(call, doors, in_the_way)


@post("/account/delete", status_code=200)
async def delete_account(call: ThisCall, doors: TheseDoors) -> Response:
    shopper_id = shopper_of(call).shopper_id
    if call.text_field("consent", WORD_CHARACTERS_MAX) != CONSENT:
        if call.wants_json or call.partial:
            raise BadInput("Say that you want your account to be deleted.", field="consent")
        return asked(call, doors, await doors.ledger.orders_in_the_way(shopper_id), status=422, unsure=True)
    for order_id in holds_among(await doors.ledger.orders_in_the_way(shopper_id)):
        await doors.till.cancel(order_id, shopper_id)
    gone = await doors.ledger.forget_shopper(shopper_id)
    if isinstance(gone, list):
        if call.wants_json:
            return document({"in_the_way": [str(one.order_id) for one in gone]}, status=409)
        return asked(call, doors, gone, status=409)
    if gone is not None:
        doors.sessions.raise_epoch(shopper_id, gone)
        await doors.feed.publish("epoch", shopper=shopper_id, epoch=gone)
    if call.wants_json:
        response = document({"deleted": True})
        response.cookies.append(doors.sessions.no_cookie())
        return response
    return redirect(call, "/", cookies=[doors.sessions.no_cookie()])


def holds_among(orders: list[InTheWay]) -> list[UUID]:
    return [one.order_id for one in orders if one.state is OrderState.PENDING_PAYMENT]


def asked(call: Call, doors: Doors, in_the_way: list[InTheWay], *, status: int = 200, unsure: bool = False) -> Response:
    holds = [one for one in in_the_way if one.state is OrderState.PENDING_PAYMENT]
    others = [one for one in in_the_way if one.state is not OrderState.PENDING_PAYMENT]
    return doors.page(call, "farewell.html", status=status, holds=holds, in_the_way=others, unsure=unsure)
