"""Rehearsals by API: the same as the dashboard's page (app/web/seller/rehearsals.py), whose verbs it calls.

A rehearsal is a process of its own. Only the machine that plays it knows of it, and one is played at a time.
"""

import asyncio
from typing import Any

from app.domain.scopes import Scope
from app.errors import StartFailed
from app.languages import _
from app.rehearsal import shelf
from app.web.api import shapes
from app.web.api.drops import drop_of
from app.web.api.operation import Ask, operation
from app.web.problems import Problem, Refused
from app.web.seller.rehearsals import BUSY, begun_at, data_of, known, note_begun, note_stopped, wish_of


@operation("GET", "/drops/{drop_id:int}/rehearsals", scope=Scope.DROPS, title="List rehearsals", answer=shapes.Rehearsals)
async def list_rehearsals(ask: Ask) -> shapes.Rehearsals:
    """The rehearsals of a drop, the newest first. There are at most 20, on one page."""
    drop = await drop_of(ask)
    found = await asyncio.to_thread(shelf.of_drop, data_of(ask.doors), drop.slug)
    return shapes.Rehearsals(items=[shapes.RehearsalLine(**line_of(one)) for one in found], next=None)


@operation(
    "POST",
    "/drops/{drop_id:int}/rehearsals",
    scope=Scope.DROPS,
    title="Begin a rehearsal",
    body=shapes.NewRehearsal,
    answer=shapes.Rehearsal,
    status=202,
)
async def begin_rehearsal(ask: Ask) -> shapes.Rehearsal:
    """A made-up crowd plays this drop in a shop of its own; no real shopper, order or card is touched, and nothing is left but the
    report. Do not begin it while a drop is open or about to open. 409 while another one runs, or where the machine cannot."""
    drop, doors, wanted = await drop_of(ask), ask.doors, ask.body
    wish = wish_of(drop, wanted.crowd, wanted.seconds, wanted.faults, with_browsers=wanted.browsers)
    try:
        name = await asyncio.to_thread(shelf.begin, data_of(doors), wish)
    except StartFailed as error:
        raise Refused(Problem(409, BUSY if isinstance(error, shelf.Busy) else _(str(error)))) from error
    await note_begun(doors, ask.key, drop, name, wish)
    return shapes.Rehearsal(**line_of(await known(doors, name, drop)), report=None)


@operation(
    "GET",
    "/drops/{drop_id:int}/rehearsals/{rehearsal:str}",
    scope=Scope.DROPS,
    title="Get a rehearsal",
    answer=shapes.Rehearsal,
)
async def get_rehearsal(ask: Ask) -> shapes.Rehearsal:
    """How far it is; once it has ended, with its report."""
    drop, name = await drop_of(ask), ask.path["rehearsal"]
    progress = await known(ask.doors, name, drop)
    report = await asyncio.to_thread(shelf.report_of, data_of(ask.doors), name, drop.slug)
    return shapes.Rehearsal(**line_of(progress), report=report)


@operation(
    "POST",
    "/drops/{drop_id:int}/rehearsals/{rehearsal:str}/stop",
    scope=Scope.DROPS,
    title="Stop a rehearsal",
    answer=shapes.Done,
)
async def stop_rehearsal(ask: Ask) -> shapes.Done:
    """It ends now and removes everything of its own. One that has ended already stays as it is."""
    drop, name = await drop_of(ask), ask.path["rehearsal"]
    await known(ask.doors, name, drop)
    stopped = await asyncio.to_thread(shelf.stop, data_of(ask.doors), name, drop.slug)
    if stopped:
        await note_stopped(ask.doors, ask.key, drop, name)
    return shapes.Done(done=stopped)


def line_of(progress: dict[str, Any]) -> dict[str, Any]:
    taken = ("id", "phase", "running", "verdict", "why", "crowd", "answers", "fault")
    return {name: progress[name] for name in taken} | {"begun_at": begun_at(progress)}


OPERATIONS = [list_rehearsals, begin_rehearsal, get_rehearsal, stop_rehearsal]
