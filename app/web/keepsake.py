"""An order outside the shop's own pages: the printable confirmation, and the secret link that finds it on any device.

`/o/…` is in the mails. It shows one order to whoever holds it (what was bought, what became of it, where it goes), and while that
order waits to be paid its bearer may pay for it, say where it goes, or give it back: a turn of ten minutes is often read on a phone
where nobody is signed in. No session is made of it and nothing else of the account is reached: no kept addresses, no other order,
and of a paid one not even where it goes can be changed. A link that is not ours and an order that is not there are the same 404,
and no store is asked before the link has proved itself (constant time, app/domain/links.py). Its pages are never listed, never
stored, and named to no other site.
"""

from dataclasses import replace
from uuid import UUID

from litestar import Response, get, post
from litestar.params import FromPath

from app.domain.links import LINK_PREFIX, order_of_link
from app.domain.orders import OrderState
from app.errors import NotFound
from app.web.address_fields import country_name
from app.web.call import Call
from app.web.doors import Doors, TheseDoors, ThisCall, document, redirect
from app.web.orders import Own, checkout, give_back, own_order, pay_for, status_of, with_history
from app.web.orders_view import order_document, recorded
from app.web.render import OrderView
from app.web.sending import ask_where, send_there

NEVER_LISTED = {"x-robots-tag": "noindex, nofollow", "cache-control": "private, no-store"}


@get("/o/{token:str}")
async def show_linked(token: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    own = await linked_order(token, doors)
    if call.session is not None and call.session.shopper_id == own.shopper_id:
        return redirect(call, f"/orders/{own.order_id}{'?back=1' if call.query('back') else ''}")
    if own.view.moving:
        return unlisted(await checkout(own, call, doors))
    return shown(call, doors, own.view, owner=False)


@get("/o/{token:str}/status")
async def show_linked_status(token: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    return unlisted(status_of(await linked_order(token, doors), call, doors))


@post("/o/{token:str}/pay", status_code=202)
async def pay_linked(token: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    return unlisted(await pay_for(lambda: linked_order(token, doors), call, doors))


@post("/o/{token:str}/cancel", status_code=200)
async def cancel_linked(token: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    return unlisted(await give_back(lambda: linked_order(token, doors), call, doors))


@get("/o/{token:str}/address")
async def ask_for_linked(token: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    return unlisted(await ask_where(await linked_order(token, doors), call, doors))


@post("/o/{token:str}/address", status_code=200)
async def send_linked_to(token: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    return unlisted(await send_there(await linked_order(token, doors), call, doors))


@get("/orders/{order:str}/confirmation")
async def show_confirmation(order: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    return shown(call, doors, (await own_order(order, call, doors)).view, owner=True)


async def linked_order(token: str, doors: Doors) -> Own:
    """-> the order of a link, as its bearer may see it and act on it; NotFound for everything else."""
    order_id = order_of_link(doors.link_key, token)
    row = None if order_id is None else await doors.ledger.order(order_id)
    if row is None:
        raise NotFound("no such link")
    view = await with_history(recorded(row), row.order_id, doors)
    can_send = view.can_send and view.state == OrderState.PENDING_PAYMENT
    return Own(row.order_id, row.shopper_id, replace(view, link=LINK_PREFIX + token, can_send=can_send))


def shown(call: Call, doors: Doors, view: OrderView, *, owner: bool) -> Response:
    if call.wants_json:
        return document(order_document(view), headers=NEVER_LISTED)
    country = country_name(view.address.country, call.language) if view.address else ""
    link = doors.link_of(UUID(view.id))
    return doors.page(call, "confirmation.html", headers=NEVER_LISTED, order=view, owner=owner, country=country, link=link)


def unlisted(response: Response) -> Response:
    response.headers.update(NEVER_LISTED)
    return response
