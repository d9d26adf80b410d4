"""Race control: a drop while it happens, and the four things its seller can do about it.

Guarantees: everything here is read on the office's own pools (R13), once a second per drop and process however many watch; a page
and a socket show the same reading. A socket needs an Origin of ours and a session with the right; it is closed within the
SELLER_SECONDS_MAX of sessions.py once that is lost. What the seller does is done in ledger and gate, told to every process at once,
and audited with what was before and after; doing it again changes nothing.

Without a socket the page asks every few seconds, without JavaScript it loads itself again. The gate gone: the ledger's numbers
stand, and the page says so. The ledger gone: 503, and an open page says how old its numbers are.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from litestar import Response, WebSocket, get, post, websocket
from litestar.exceptions import WebSocketDisconnect
from litestar.params import FromPath

from app.domain.drops import Door, Drop
from app.domain.plan import HAS_ENDED, SOLD_MEANWHILE
from app.domain.roles import Right
from app.errors import BadInput, NotFound
from app.languages import N_, _, ngettext
from app.ledger import Seller
from app.live import RoomFull
from app.purchase.drops import add_units
from app.purchase.planning import move_door
from app.web.call import Call
from app.web.doors import Doors, TheseDoors, ThisCall, document, redirect
from app.web.seller.access import ThisSeller
from app.web.seller.confirm import ask_first, is_sure
from app.web.seller.watch_view import document_of

SEND_SECONDS_MAX = 5.0
CLOSE_SECONDS_MAX = 0.5
UNITS_CHARACTERS_MAX = 8
OP_CHARACTERS_MAX = 64
CLOSE_POLICY, CLOSE_TRY_LATER = 1008, 1013


# looking


@get("/drops/{drop_id:int}/live", right=Right.VIEW)
async def show_live(drop_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    drop = await own_drop(doors, seller.shop_id, drop_id)
    return await shown(call, doors, seller, drop)


@websocket("/drops/{drop_id:int}/live/socket", right=Right.VIEW)
async def follow_live(socket: WebSocket, drop_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> None:
    """The fragment, pushed. Whoever is not let in sees the handshake refused."""
    drop = await doors.office.ledger.seller_drop(seller.shop_id, drop_id)
    if drop is None or not call.origin:  # a page of ours always says where it comes from
        await socket.close(code=CLOSE_POLICY)
        return
    try:
        with doors.watch.room.watching(drop.id, call.language.tag, seller.email) as watcher:
            await socket.accept()
            await until_first(push(socket, watcher.next), until_gone(socket), doors.sellers.until_lost(seller, Right.VIEW))
            with suppress(Exception):  # it may be gone already
                async with asyncio.timeout(CLOSE_SECONDS_MAX):
                    await socket.close(code=CLOSE_POLICY)
    except RoomFull:
        await socket.close(code=CLOSE_TRY_LATER)


async def push(socket: WebSocket, newest: Callable[[], Awaitable[str]]) -> None:
    """Send the newest for ever; a reader who does not take one within SEND_SECONDS_MAX is given up."""
    while True:
        text = await newest()
        async with asyncio.timeout(SEND_SECONDS_MAX):
            await socket.send_text(text)


async def until_gone(socket: WebSocket) -> None:
    """The page has nothing to say: what comes ends the socket, and so does its leaving."""
    with suppress(WebSocketDisconnect):
        await socket.receive_data(mode="text")


async def until_first(*works: Awaitable[None]) -> None:
    """Run them all until one has ended, however it ends."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


# acting


class Action(NamedTuple):
    """Something the seller can do to the door."""

    door: Door
    button: str
    question: str
    consequences: tuple[str, ...]
    done: str


ACTIONS = {
    "pause": Action(
        Door.PAUSED,
        N_("Pause"),
        N_("Pause the drop?"),
        (N_("Nobody gets a piece until you resume."), N_("What is in a checkout stays there and can be paid.")),
        N_("Paused. Every page says so."),
    ),
    "resume": Action(
        Door.OPEN,
        N_("Resume"),
        N_("Resume the drop?"),
        (N_("Buying goes on at once, for everybody who is in front of the page."),),
        N_("Resumed. Every page says so."),
    ),
    "end": Action(
        Door.CLOSED,
        N_("End now"),
        N_("End the drop for good?"),
        (
            N_("Nobody can buy after that, and it cannot be opened again from here."),
            N_("What is in a checkout can still be paid."),
        ),
        N_("Ended. Every page says so."),
    ),
}
UNITS_DONE = N_("Done. Every page shows the new number.")
SAID = {**{verb: action.done for verb, action in ACTIONS.items()}, "units": UNITS_DONE}


@post("/drops/{drop_id:int}/live/pause", right=Right.SELL, status_code=200)
async def pause(drop_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    return await act(drop_id, "pause", call, doors, seller)


@post("/drops/{drop_id:int}/live/resume", right=Right.SELL, status_code=200)
async def resume(drop_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    return await act(drop_id, "resume", call, doors, seller)


@post("/drops/{drop_id:int}/live/end", right=Right.SELL, status_code=200)
async def end(drop_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    return await act(drop_id, "end", call, doors, seller)


async def act(drop_id: int, verb: str, call: Call, doors: Doors, seller: Seller) -> Response:
    """Move the door, once the seller is sure -> the drop afterwards. A door that stands so already is no change and no audit."""
    drop = await own_drop(doors, seller.shop_id, drop_id)
    action = ACTIONS[verb]
    if drop.door in (Door.CLOSED, Door.CANCELLED) and drop.door is not action.door:
        raise BadInput(HAS_ENDED)
    if not is_sure(call):
        return ask_first(
            call,
            doors,
            seller,
            title=_(action.question),
            consequences=[_(sentence) for sentence in action.consequences],
            verb=_(action.button),
            back=page_of(drop),
        )
    await move_door(doors.office, seller.shop_id, drop.id, action.door, seller.actor)
    return await done(call, doors, seller, drop, verb)


@post("/drops/{drop_id:int}/live/units", right=Right.SELL, status_code=200)
async def change_units(drop_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    """Release more units of a variant, or take unsold ones off sale."""
    drop = await own_drop(doors, seller.shop_id, drop_id)
    fields = call.fields()
    units = wished_units(fields)
    name = fields.get("variant") or None
    if name is not None and not isinstance(name, str):
        raise BadInput(_("Choose one of the variants."), field="variant")
    op_id = operation(fields.get("op"))
    if not is_sure(call):
        return ask_first(
            call,
            doors,
            seller,
            title=units_question(units, name),
            consequences=[units_consequence(units)],
            verb=_("Release them") if units > 0 else _("Take them off sale"),
            back=page_of(drop),
        )
    changed = await add_units(doors.office, drop.slug, name, units, op_id)
    if changed.units_total != drop.units_total:
        await doors.office.ledger.audit(
            seller.shop_id,
            seller.actor,
            "units added" if units > 0 else "units taken away",
            drop.slug,
            {"total": drop.units_total},
            {"total": changed.units_total, "variant": name or drop.variants[0].name, "units": units},
        )
    elif await doors.office.ledger.adjustment(op_id) is None:  # the gate had sold them meanwhile, and the wish was undone
        raise BadInput(_(SOLD_MEANWHILE), field="units")
    return await done(call, doors, seller, drop, "units")


def wished_units(fields: dict[str, Any]) -> int:
    """-> how many to add; negative: to take away. BadInput."""
    units = fields.get("units")
    if isinstance(units, str) and len(units) <= UNITS_CHARACTERS_MAX and units.isascii() and units.removeprefix("-").isdigit():
        units = int(units)
    if type(units) is not int or units == 0:
        raise BadInput(_("Say how many pieces: a whole number."), field="units")
    return -units if fields.get("direction") == "less" else units


def units_question(units: int, name: str | None) -> str:
    of = f" {name}" if name else ""
    if units > 0:
        return ngettext("Release %(num)s more piece%(of)s?", "Release %(num)s more pieces%(of)s?", units, of=of)
    return ngettext("Take %(num)s unsold piece%(of)s off sale?", "Take %(num)s unsold pieces%(of)s off sale?", -units, of=of)


def units_consequence(units: int) -> str:
    if units > 0:
        return _("They go to those on the list first, and what is left goes on sale at once.")
    return _("Only what nobody has in a checkout can be taken: all of it, or nothing happens.")


def operation(text: Any) -> UUID:
    """-> the id of the wish, which the form carries so that sending it twice adds once."""
    if text is None:
        return uuid4()
    try:
        if not isinstance(text, str) or len(text) > OP_CHARACTERS_MAX:
            raise ValueError
        return UUID(text)
    except ValueError as error:
        raise BadInput(_("This form is damaged. Load the page again."), field="op") from error


async def done(call: Call, doors: Doors, seller: Seller, drop: Drop, verb: str) -> Response:
    if not call.wants_json:
        return redirect(call, f"{page_of(drop)}?said={verb}")
    doors.watch.forget(drop.id)
    return await shown(call, doors, seller, drop)


# both


async def own_drop(doors: Doors, shop_id: int, drop_id: int) -> Drop:
    """-> a drop of this shop; NotFound for a foreign one as for none."""
    drop = await doors.office.ledger.seller_drop(shop_id, drop_id)
    if drop is None:
        raise NotFound(f"there is no drop {drop_id}")
    return drop


def page_of(drop: Drop) -> str:
    return f"/seller/drops/{drop.id}/live"


async def shown(call: Call, doors: Doors, seller: Seller, drop: Drop) -> Response:
    """The drop as it is now, in the form that was asked for."""
    words = doors.watch.words(await doors.watch.look(drop.id))
    if call.wants_json:
        return document(document_of(words["view"]))
    if call.partial:
        return doors.fragment("watch.html", **words)
    said = SAID.get(call.query("said"))
    return doors.seller_page(
        call,
        seller,
        "seller/watch.html",
        title=drop.title,
        drop=drop,
        actions=ACTIONS,
        may_act=seller.may(Right.SELL),
        said=said and _(said),
        op=uuid4(),
        still=call.query("still") == "yes",
        **words,
    )


ROUTES = [show_live, follow_live, pause, resume, end, change_units]
