"""The shop's settings: who it is, its tax number, whom to write to, the texts that law and buyers ask for, and its clock.

Guarantees: every change is a new version, audited with what was before; a form of an older version writes nothing, and what was
typed in it stays on the page. Four texts of full length arrive in any script, and what is longer stays on the page as well. A text
that is empty is a page that does not exist. The pages of the drops learn of it at once.

The ledger gone: 503, and what was typed still stands in the browser.
"""

from collections.abc import Mapping

from litestar import Response, get, post
from litestar.params import FromPath

from app.domain.papers import PAGES, Papers, papers_from
from app.domain.roles import Right
from app.domain.schedule import zone_named, zones
from app.languages import N_, _
from app.ledger import Seller, ShopPapers
from app.web.call import Call
from app.web.doors import Doors, TheseDoors, ThisCall, document, redirect
from app.web.law import invoice_file
from app.web.problems import Problem, Refused
from app.web.seller.access import ThisSeller
from app.web.seller.orders import story_of
from app.web.seller.plan_form import version_from

ZONE_CHARACTERS_MAX = 64
NO_ZONE = N_("A time zone from the list, such as Europe/Berlin.")
STALE = N_("Somebody saved other settings meanwhile. Nothing was overwritten: what holds now is version %(number)s by %(by)s.")
STALE_FOR_PROGRAMS = N_("Somebody saved other settings meanwhile. Nothing was overwritten; read them again.")


@get("/shop", right=Right.SHOP)
async def show_shop(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    known = await doors.office.ledger.papers(seller.shop_id)
    return shop_page(call, doors, seller, known, known.papers, known.version, said=_("Saved.") if call.query("saved") else "")


@post("/shop", status_code=200, right=Right.SHOP)
async def save_shop(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    ledger, fields, version = doors.office.ledger, call.fields(), version_from(call.fields())
    typed = {name: call.text_field(name, 10**6) for name in Papers.__slots__}
    papers, problems = papers_from(typed)
    known = await ledger.papers(seller.shop_id)
    if problems:
        if call.wants_json:
            field, sentence = next(iter(problems.items()))
            raise Refused(Problem(422, sentence, more={"field": field}))
        return shop_page(call, doors, seller, known, typed, version, status=422, problems=problems)
    if "version" not in fields or not await ledger.write_papers(seller.shop_id, version, papers, seller.actor):
        known = await ledger.papers(seller.shop_id)
        if call.wants_json:
            raise Refused(Problem(409, STALE_FOR_PROGRAMS, more={"version": known.version}))
        stale = _(STALE, number=known.version, by=known.written_by or "–")
        return shop_page(call, doors, seller, known, typed, known.version, status=409, stale=stale)
    for drop in await ledger.seller_drops(seller.shop_id):
        if not drop.retired and drop.law != papers.pages:
            await doors.office.feed.publish("drop", drop=drop.id)
    return document({"saved": True}) if call.wants_json else redirect(call, "/seller/shop?saved=1")


@post("/shop/time-zone", status_code=200, right=Right.SHOP)
async def save_time_zone(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    """The zone in which the dashboard tells times. What is planned stays where it is: a drop has a zone of its own."""
    zone = call.text_field("time_zone", ZONE_CHARACTERS_MAX).strip()
    if zone_named(zone) is None:
        problem = _(NO_ZONE)
        if call.wants_json:
            raise Refused(Problem(422, problem, more={"field": "time_zone"}))
        known = await doors.office.ledger.papers(seller.shop_id)
        return shop_page(
            call, doors, seller, known, known.papers, known.version, status=422, problems={"time_zone": problem}, zone=zone
        )
    await doors.office.ledger.set_time_zone(seller.shop_id, zone, seller.actor)
    await doors.sellers.changed()
    return document({"saved": True}) if call.wants_json else redirect(call, "/seller/shop?saved=1")


@get("/orders/{order:str}/invoices/{name:str}", right=Right.ORDERS)
async def show_invoice(order: FromPath[str], name: FromPath[str], doors: TheseDoors, seller: ThisSeller) -> Response:
    story = await story_of(order, doors, seller)
    return await invoice_file(doors.office.ledger, story.order, name)


def shop_page(
    call: Call,
    doors: Doors,
    seller: Seller,
    known: ShopPapers,
    typed: Papers | Mapping[str, str],
    version: int,
    *,
    status: int = 200,
    said: str = "",
    stale: str = "",
    problems: Mapping[str, str] | None = None,
    zone: str | None = None,
) -> Response:
    shown = typed if isinstance(typed, Mapping) else {name: getattr(typed, name) for name in Papers.__slots__}
    return doors.seller_page(
        call,
        seller,
        "seller/shop.html",
        title=_("Shop settings"),
        status=status,
        known=known,
        typed=shown,
        version=version,
        said=said,
        stale=stale,
        problems=problems or {},
        pages=PAGES,
        zone=seller.time_zone if zone is None else zone,
        zones=zones(),
    )


ROUTES = [show_shop, save_shop, save_time_zone, show_invoice]
