"""The shop window: the list of drops, a drop's page, and the private fragment of what is the viewer's own in it."""

import secrets

from litestar import Response, get
from litestar.params import FromPath

from app.domain.drops import Drop
from app.domain.orders import LIVE, UNPAID, UNPAID_HOLDS_MAX
from app.errors import LedgerUnreachable, NotFound
from app.web.calendar import SUFFIX, calendar_file
from app.web.call import Call
from app.web.doors import PRIVATE, Doors, TheseDoors, ThisCall, document
from app.web.finding import found, wanted_by
from app.web.orders_view import recorded
from app.web.page_cache import CARDS_MAX
from app.web.render import Mine, PlaceView, Said, Scene
from app.web.sayings import said_by_name
from app.web.scenes import stock_json

ORDERS_LOOKED_AT_MAX = 100


@get("/")
async def list_drops(call: ThisCall, doors: TheseDoors) -> Response:
    wanted = wanted_by(call)
    cards = await found(doors, wanted, CARDS_MAX)
    if call.wants_json:
        return document(
            {"drops": [{"slug": card.drop.slug, "title": card.drop.title, "phase": card.scene.phase} for card in cards]}
        )
    return doors.page(call, "index.html", cards=cards, wanted=wanted)


@get("/drops/{slug:str}")
async def show_drop(slug: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    drop = await drop_or_404(doors, slug.removesuffix(SUFFIX))
    if slug.endswith(SUFFIX):
        return calendar_file(doors, drop)
    scene = await doors.scenes.scene(drop, doors.hub.watching(drop.id))
    if call.wants_json:
        headers = {**PRIVATE, "cache-control": "no-store"}
        return Response(stock_json(scene), media_type="application/json", headers=headers)
    if call.partial:
        return doors.fragment("scene.html", drop=drop, scene=scene)
    return doors.page(call, "drop.html", drop=drop, scene=scene, mine=await mine_of(call, doors, drop, scene))


@get("/drops/{slug:str}/mine")
async def show_mine(slug: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    drop = await drop_or_404(doors, slug)
    scene = await doors.scenes.scene(drop, doors.hub.watching(drop.id))
    return doors.fragment("mine.html", drop=drop, scene=scene, mine=await mine_of(call, doors, drop, scene))


async def mine_of(call: Call, doors: Doors, drop: Drop, scene: Scene, *, said: Said | None = None) -> Mine:
    """What is this viewer's own. With the ledger gone it is empty: the page stays up and the gate still knows who has what."""
    rows, places = [], []
    if call.session is not None:
        try:
            rows = await doors.ledger.orders_of(call.session.shopper_id, ORDERS_LOOKED_AT_MAX)
            places = await doors.ledger.places_of(drop.id, call.session.shopper_id)
        except LedgerUnreachable:
            rows, places = [], []
    live = [recorded(row) for row in rows if row.drop_id == drop.id and row.state in LIVE]
    return Mine(
        signed_in=call.session is not None,
        key=secrets.token_urlsafe(16),
        allowed=max(0, drop.per_person - sum(order.quantity for order in live)),
        orders=tuple(live),
        must_pay_first=sum(order.state in UNPAID for order in live) >= UNPAID_HOLDS_MAX,
        said=said or said_by_name(call.query("said"), scene.phase),
        places={place.variant_id: PlaceView(place.number, place.ahead) for place in places if place.state == "waiting"},
    )


async def drop_or_404(doors: Doors, slug: str) -> Drop:
    drop = await doors.catalogue.find(slug)
    if drop is None:
        raise NotFound(slug)
    return drop
