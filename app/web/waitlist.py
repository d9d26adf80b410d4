"""The waitlist's doors: join, leave, look at one's places.

Guarantees: joining again is the same place; a place is given only where there is nothing to buy (who could buy is told so); places
are private. The ledger gone: 503, and nothing is promised.
"""

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath

from app.domain.drops import Drop, Phase, Variant
from app.domain.orders import UNPAID, UNPAID_HOLDS_MAX
from app.domain.verdicts import Answer, Verdict
from app.languages import N_, _
from app.ledger import Place, Wish
from app.web.call import Call
from app.web.doors import Doors, TheseDoors, ThisCall, document, redirect, shopper_of
from app.web.hot import wished_quantity, wished_variant
from app.web.problems import Problem, Refused
from app.web.render import Said, Scene
from app.web.sayings import refusal_problem
from app.web.shop import ORDERS_LOOKED_AT_MAX, drop_or_404, mine_of

CLOSED = {Phase.CLOSED, Phase.CANCELLED}
NOT_YET = {Phase.ANNOUNCED, Phase.LAST_SECONDS}
AVAILABLE = Problem(
    409,
    N_("It can be had right now: there is no need to wait for it."),
    title=N_("Still there"),
    more={"verdict": "available"},
)


@get("/drops/{slug:str}/waitlist")
async def show_places(slug: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    """The shopper's own places, as JSON; people see them on the drop's page."""
    drop = await drop_or_404(doors, slug)
    if not call.wants_json:
        return redirect(call, f"/drops/{drop.slug}")
    places = await doors.ledger.places_of(drop.id, shopper_of(call).shopper_id)
    return document({"places": [place_document(drop, place) for place in places]})


@post("/drops/{slug:str}/waitlist", status_code=201)
async def join(slug: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    drop = await drop_or_404(doors, slug)
    if call.session is None and not call.wants_json:
        return redirect(call, f"/sign-in?next=/drops/{drop.slug}")
    shopper_id = shopper_of(call).shopper_id
    fields = call.fields()
    variant, quantity = wished_variant(fields.get("variant"), drop), wished_quantity(fields.get("quantity", 1), drop)
    scene = await doors.scenes.scene(drop, doors.hub.watching(drop.id))
    problem = await why_not(doors, drop, scene, variant, quantity, shopper_id)
    if problem is not None:
        return await refused(call, doors, drop, problem)
    joined = await doors.lists.join(drop.id, Wish(shopper_id, variant.id, quantity))
    if joined.place is None:
        problem = refusal_problem(drop, Answer(Verdict(joined.why)))
        return await refused(call, doors, drop, msgspec.structs.replace(problem, status=409))
    if call.wants_json:
        return document(joined_document(joined.place), status=201 if joined.fresh else 200)
    return await shown(call, doors, drop, status=201 if joined.fresh else 200)


@post("/drops/{slug:str}/waitlist/leave", status_code=200)
async def leave(slug: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    drop = await drop_or_404(doors, slug)
    shopper_id = shopper_of(call).shopper_id
    variant = wished_variant(call.fields().get("variant"), drop)
    left = await doors.lists.leave(drop.id, variant.id, shopper_id)
    if call.wants_json:
        return document({"left": left})
    return await shown(call, doors, drop)


async def why_not(doors: Doors, drop: Drop, scene: Scene, variant: Variant, quantity: int, shopper_id: int) -> Problem | None:
    """-> why nobody needs, or may have, a place there now; who has one already is never refused."""
    wait = await doors.lists.pace.allow(shopper_id)
    if wait:
        return refusal_problem(drop, Answer(Verdict.TOO_FAST, retry_after_seconds=wait))
    if scene.phase in CLOSED:
        return refusal_problem(drop, Answer(Verdict.CLOSED))
    if scene.phase in NOT_YET:
        return refusal_problem(
            drop,
            Answer(
                Verdict.NOT_OPEN,
                opens_at_ms=round(scene.opens_at.timestamp() * 1000),
                retry_after_seconds=max(1, scene.opens_in_seconds),
            ),
        )
    if scene.phase is Phase.NOT_READY:
        return refusal_problem(drop, Answer(Verdict.NOT_READY, retry_after_seconds=2))
    left = next((counted.left for counted in scene.variants if counted.id == variant.id), 0)
    if scene.phase is Phase.OPEN and left >= quantity:
        places = await doors.ledger.places_of(drop.id, shopper_id)
        waits = any(place.variant_id == variant.id for place in places)
        return None if waits or await must_pay_first(doors, drop, shopper_id) else AVAILABLE
    return None


async def must_pay_first(doors: Doors, drop: Drop, shopper_id: int) -> bool:
    """Has this shopper so many unpaid holds that the gate sells them no more, so that the list is their only way?"""
    rows = await doors.ledger.orders_of(shopper_id, ORDERS_LOOKED_AT_MAX)
    return sum(row.drop_id == drop.id and row.state in UNPAID for row in rows) >= UNPAID_HOLDS_MAX


async def refused(call: Call, doors: Doors, drop: Drop, problem: Problem) -> Response:
    """The refusal in the caller's language: a problem document, or the viewer's own fragment with the words in it."""
    verdict = str((problem.more or {}).get("verdict", ""))
    if call.wants_json or not call.partial and verdict not in VERDICTS:
        raise Refused(problem)
    if not call.partial:
        return redirect(call, f"/drops/{drop.slug}?said={verdict}")
    said = Said(verdict, problem.heading, problem.words)
    return await shown(call, doors, drop, status=problem.status, said=said)


# Makes the address one that no page cache answers: the process that draws the page may not have heard yet that somebody waits.
OWN = "?list=yours"
VERDICTS = frozenset(verdict.value for verdict in Verdict)


async def shown(call: Call, doors: Doors, drop: Drop, *, status: int = 200, said: Said | None = None) -> Response:
    """What is the viewer's own now: the fragment for htmx, else back to the page."""
    if not call.partial:
        return redirect(call, f"/drops/{drop.slug}{OWN}")
    scene = await doors.scenes.scene(drop, doors.hub.watching(drop.id))
    mine = await mine_of(call, doors, drop, scene, said=said)
    return doors.fragment("mine.html", status=status, drop=drop, scene=scene, mine=mine)


def joined_document(place: Place) -> dict[str, object]:
    """The public contract's answer. `place` is the number that is called; an offer names its order."""
    document: dict[str, object] = {"place": place.number, "ahead": place.ahead}
    return document | {"order": str(place.order_id)} if place.order_id else document


def place_document(drop: Drop, place: Place) -> dict[str, object]:
    variant = next((variant.name for variant in drop.variants if variant.id == place.variant_id), _("another one"))
    return joined_document(place) | {"variant": variant, "quantity": place.quantity, "state": place.state}
