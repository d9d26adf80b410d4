"""Where a parcel goes: asked once before paying when a drop ships, kept for the next time, corrected until the warehouse has it.

One page serves an order (`/orders/{id}/address`) and the account (`/account/address`). A wrong field is said beside that field with
everything else as it was typed. Nothing here is asked of a drop that does not ship.
"""

from collections.abc import Mapping
from typing import Any

from litestar import Response, get, post
from litestar.params import FromPath

from app.domain.addresses import FIELDS, address_from, as_stored
from app.errors import BadInput, NotFound
from app.languages import _
from app.ledger import KeptAddress
from app.web.address_fields import countries_of, give_address, id_of
from app.web.call import Call
from app.web.doors import Doors, TheseDoors, ThisCall, document, own_path, redirect, shopper_of
from app.web.orders import Own, own_order
from app.web.render import OrderView

NEXT_CHARACTERS_MAX = 2048


@get("/orders/{order:str}/address")
async def ask_for_order(order: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    return await ask_where(await own_order(order, call, doors), call, doors)


@post("/orders/{order:str}/address", status_code=200)
async def send_order_to(order: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    return await send_there(await own_order(order, call, doors), call, doors)


async def ask_where(own: Own, call: Call, doors: Doors) -> Response:
    view = own.view
    if not view.can_send:
        return redirect(call, view.url)
    kept = await kept_by(own, doors)
    typed = as_stored(view.address) if view.address else as_stored(kept[0].address) if kept else {}
    return asked(call, doors, action=f"{view.url}/address", back=view.url, order=view, kept=kept, typed=typed)


async def send_there(own: Own, call: Call, doors: Doors) -> Response:
    view = own.view
    try:
        given = view.can_send and await give_address(call, doors, own.order_id, own.shopper_id, keep=not view.link)
    except BadInput as error:
        if call.wants_json or call.partial:
            raise
        kept = await kept_by(own, doors)
        return asked(
            call,
            doors,
            status=422,
            action=f"{view.url}/address",
            back=view.url,
            order=view,
            kept=kept,
            typed=call.fields(),
            error=error,
        )
    if call.wants_json:
        return document({"address_given": given}, status=200 if given else 409)
    return redirect(call, view.url)


async def kept_by(own: Own, doors: Doors) -> list[KeptAddress]:
    """-> the addresses of the account; none for whoever came by the order's link."""
    return [] if own.view.link else await doors.ledger.addresses_of(own.shopper_id)


@get("/account/address")
async def ask_for_account(call: ThisCall, doors: TheseDoors) -> Response:
    shopper_of(call)
    return asked(call, doors, action="/account/address", back=own_path(call.query("next") or "/account"), typed={})


@post("/account/address", status_code=200)
async def keep_address(call: ThisCall, doors: TheseDoors) -> Response:
    shopper_id = shopper_of(call).shopper_id
    back = own_path(call.text_field("next", NEXT_CHARACTERS_MAX) or "/account")
    try:
        await doors.ledger.keep_address(shopper_id, address_from(call.fields()))
    except BadInput as error:
        if call.wants_json or call.partial:
            raise
        return asked(call, doors, status=422, action="/account/address", back=back, typed=call.fields(), error=error)
    return document({"kept": True}) if call.wants_json else redirect(call, back)


@post("/account/address/{kept:str}/forget", status_code=200)
async def forget_address(kept: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    if not await doors.ledger.forget_address(shopper_of(call).shopper_id, id_of(kept)):
        raise NotFound(kept)
    return redirect(call, "/account")


def asked(
    call: Call, doors: Doors, *, action: str, back: str, typed: Mapping[str, Any], status: int = 200,
    order: OrderView | None = None, kept: list[KeptAddress] | tuple = (), error: BadInput | None = None,
) -> Response:  # fmt: skip
    """The page that asks. `typed`: what stands in the fields."""
    return doors.page(
        call,
        "address.html",
        status=status,
        action=action,
        back=back,
        order=order,
        kept=kept,
        typed={name: typed[name] if isinstance(typed.get(name), str) else "" for name in FIELDS},
        problem=None if error is None else {"field": error.field, "text": _(str(error))},
        countries=countries_of(doors.catalogue.known(order.drop_slug) if order else None, call.language),
    )
