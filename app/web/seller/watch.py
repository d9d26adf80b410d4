"""Race control: a drop while it happens, and what its seller can do about its door; its pieces are changed in plan_changes.py.

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
from typing import NamedTuple
from uuid import uuid4

from litestar import Response, WebSocket, get, post, websocket
from litestar.exceptions import WebSocketDisconnect
from litestar.params import FromPath

from app import clock
from app.domain.drops import Door, Drop
from app.domain.plan import HAS_ENDED
from app.domain.roles import Right
from app.errors import BadInput, NotFound
from app.languages import N_, _
from app.ledger import Seller
from app.live import RoomFull
from app.purchase.planning import move_door
from app.web.call import Call
from app.web.doors import Doors, TheseDoors, ThisCall, document, redirect
from app.web.seller.access import ThisSeller
from app.web.seller.confirm import ask_first, is_sure
from app.web.seller.watch_room import flavour_of
from app.web.seller.watch_view import document_of

SEND_SECONDS_MAX = 5.0
CLOSE_SECONDS_MAX = 0.5
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
        with doors.watch.room.watching(drop.id, flavour_of(call.language, seller.time_zone), seller.email) as watcher:
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
            N_("Nobody can buy after that, and it cannot be opened again."),
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
    if drop.over(clock.now()) and drop.door is not action.door:  # said before anybody is asked whether they are sure
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


ROUTES = [show_live, follow_live, pause, resume, end]
