"""What a shop says about itself in public: imprint, terms, privacy, refunds; and a buyer's numbered invoices as files.

Guarantees: a page without a text does not exist (404), and nothing links to it; the text is drawn by app/web/markdown.py, which
lets no markup of its author through. `/imprint` and its like lead to the page of the only shop that has one; of several, they list
them.
An invoice is handed to the owner of its order and to whoever has its secret link; a number of another order is not there.

The ledger gone: 503.
"""

import asyncio

from litestar import Response, get
from litestar.params import FromPath

from app.domain.invoices import Invoice
from app.domain.papers import PAGES
from app.errors import NotFound
from app.languages import _
from app.ledger import Ledger, OrderRow
from app.web.call import Call
from app.web.doors import PRIVATE, Doors, TheseDoors, ThisCall, document, redirect
from app.web.invoice_pdf import drawn
from app.web.keepsake import NEVER_LISTED, linked_order
from app.web.orders import Own, own_order

PDF = "application/pdf"
SUFFIX = ".pdf"
THE_INVOICE = "invoice"  # stands for its number in a link that is written before it is known


@get("/shops/{shop_id:int}/{page:str}")
async def show_page(shop_id: FromPath[int], page: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    known = await doors.ledger.papers(shop_id)
    if known is None or page not in known.papers.pages:
        raise NotFound(page)
    text = getattr(known.papers, page)
    if call.wants_json:
        return document({"shop": known.shop_name, "page": page, "version": known.version, "text": text})
    return doors.page(call, "law.html", title=_(PAGES[page]), page=page, known=known, text=text, law=known.papers.pages)


@get("/imprint")
async def show_imprint(call: ThisCall, doors: TheseDoors) -> Response:
    return await of_the_installation("imprint", call, doors)


@get("/terms")
async def show_terms(call: ThisCall, doors: TheseDoors) -> Response:
    return await of_the_installation("terms", call, doors)


@get("/privacy")
async def show_privacy(call: ThisCall, doors: TheseDoors) -> Response:
    return await of_the_installation("privacy", call, doors)


async def of_the_installation(page: str, call: Call, doors: Doors) -> Response:
    shops = await doors.ledger.shops_with_page(page)
    if not shops:
        raise NotFound(page)
    if len(shops) == 1:
        return redirect(call, f"/shops/{shops[0].shop_id}/{page}")
    return doors.page(call, "law_shops.html", title=_(PAGES[page]), page=page, shops=shops)


@get("/orders/{order:str}/invoices/{name:str}")
async def own_invoice(order: FromPath[str], name: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    return await invoice_for(await own_order(order, call, doors), name, doors)


@get("/o/{token:str}/invoices/{name:str}")
async def linked_invoice(token: FromPath[str], name: FromPath[str], doors: TheseDoors) -> Response:
    return await invoice_for(await linked_order(token, doors), name, doors)


async def invoice_for(own: Own, name: str, doors: Doors) -> Response:
    row = await doors.ledger.order(own.order_id)
    if row is None:
        raise NotFound(name)
    return await invoice_file(doors.ledger, row, name)


async def invoice_file(ledger: Ledger, order: OrderRow, name: str) -> Response:
    """-> the paper of this order that `name` names, as a file. NotFound: it has none."""
    invoice = await invoice_named(ledger, order, name)
    body = await asyncio.to_thread(drawn, invoice, "" if invoice.buyer else order.email)
    headers = {**PRIVATE, **NEVER_LISTED, "content-disposition": f'inline; filename="{invoice.number}.pdf"'}
    return Response(body, media_type=PDF, headers=headers)


async def invoice_named(ledger: Ledger, order: OrderRow, name: str) -> Invoice:
    """-> the paper of this order that `name` names: '2026-000012.pdf', or 'invoice.pdf' for the invoice. NotFound: it has none."""
    number = name.removesuffix(SUFFIX)
    wanted = "" if number == THE_INVOICE else number
    invoice = await ledger.invoice(order.order_id, wanted) if number and name.endswith(SUFFIX) else None
    if invoice is None:
        raise NotFound(name)
    return invoice
