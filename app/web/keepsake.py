"""An order outside the shop's own pages: the printable confirmation, and the secret link that finds it on any device.

`/o/…` shows one order to whoever holds its link (it is in the mails): what was bought, what became of it, where it goes. It can be
read and printed, nothing can be done with it: paying and giving back need the owner, who is led to the order's own page. A link
that is not ours and an order that is not there are the same 404, and no store is asked before the link has proved itself.
"""

from uuid import UUID

from litestar import Response, get
from litestar.params import FromPath

from app.domain.links import order_of_link
from app.errors import NotFound
from app.web.address_fields import country_name
from app.web.call import Call
from app.web.doors import Doors, TheseDoors, ThisCall, document, redirect
from app.web.orders import own_order
from app.web.orders_view import order_document, recorded
from app.web.render import OrderView

NEVER_LISTED = {"x-robots-tag": "noindex, nofollow", "cache-control": "private, no-store"}


@get("/o/{token:str}")
async def show_linked(token: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    order_id = order_of_link(doors.link_key, token)
    row = None if order_id is None else await doors.ledger.order(order_id)
    if row is None:
        raise NotFound("no such link")
    if call.session is not None and call.session.shopper_id == row.shopper_id:
        return redirect(call, f"/orders/{row.order_id}")
    return shown(call, doors, recorded(row), owner=False)


@get("/orders/{order:str}/confirmation")
async def show_confirmation(order: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    _id, view = await own_order(order, call, doors)
    return shown(call, doors, view, owner=True)


def shown(call: Call, doors: Doors, view: OrderView, *, owner: bool) -> Response:
    if call.wants_json:
        return document(order_document(view), headers=NEVER_LISTED)
    country = country_name(view.address.country, call.language) if view.address else ""
    link = doors.link_of(UUID(view.id))
    return doors.page(call, "confirmation.html", headers=NEVER_LISTED, order=view, owner=owner, country=country, link=link)
