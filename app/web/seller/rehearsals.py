"""Rehearsals of a drop: begin one, watch it, read its report, stop it.

A rehearsal is a process of its own (app/rehearsal/shelf.py); these doors start it and read what it writes, so it costs this process
nothing and lives on when it dies. Only the machine that plays it shows it. Another shop's drop, and another drop's rehearsal, are
not there. Where the machine has no servers to rehearse on, the page says so in plain words and offers nothing to press.
"""

import asyncio
import base64
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from litestar import Response, get, post
from litestar.params import FromPath

from app.domain.drops import Drop
from app.domain.roles import Right
from app.errors import BadInput, NotFound, StartFailed
from app.languages import N_, _
from app.ledger import Seller
from app.rehearsal import plan, shelf
from app.rehearsal.names import FAULT_NAMES, USUAL
from app.web.call import Call
from app.web.doors import PRIVATE, Doors, TheseDoors, ThisCall, document, redirect
from app.web.problems import Problem, Refused
from app.web.seller.access import ThisSeller, Who
from app.web.seller.confirm import ask_first, is_sure

BROWSERS = 4
BUSY = N_("Another rehearsal is running on this machine. Wait until it has ended, or stop it.")
FAULTS = {
    "none": N_("Nothing: only the crowd"),
    "usual": N_("The usual: processes killed, Redis restarted, the provider down"),
    "all": N_("Everything that can be broken, one after the other (takes minutes)"),
}
SIZES = (200, 2_000, 10_000, 20_000)
LENGTHS = (20, 45, 90)
SECONDS = range(10, 601)  # that a rehearsed drop may be open
ALL_SECONDS_MIN = 90
PHASES = {
    "starting": N_("Starting"),
    "opening the stage": N_("Setting up a shop of its own"),
    "letting the crowd in": N_("Letting the crowd in"),
    "starting the browsers": N_("Starting the browsers"),
    "before the opening": N_("Before the opening"),
    "the drop is open": N_("The drop is open"),
    "closed; holds and payments end": N_("Closed: holds and payments come to their end"),
    "waiting for the browsers": N_("Waiting for the browsers"),
    "waiting until everything has ended": N_("Waiting until everything has ended"),
    "judging": N_("Judging"),
}
VERDICTS = {
    "go": N_("Go"),
    "no-go": N_("No-go"),
    "stopped": N_("Stopped"),
    "failed": N_("Could not be run"),
}


@get("/drops/{drop_id:int}/rehearse", right=Right.SELL)
async def ask_rehearsal(drop_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    return await wish_page(call, doors, seller, await own_drop(doors, seller, drop_id))


@post("/drops/{drop_id:int}/rehearse", status_code=202, right=Right.SELL)
async def begin(drop_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    drop = await own_drop(doors, seller, drop_id)
    try:
        wish = wished(call, drop)
        if not is_sure(call):
            return ask_first(
                call, doors, seller, title=_("Rehearse “%(title)s”?", title=drop.title), consequences=consequences(wish),
                verb=_("Begin the rehearsal"), back=f"/seller/drops/{drop.id}/rehearse",
            )  # fmt: skip
        name = await asyncio.to_thread(shelf.begin, data_of(doors), wish)
    except (BadInput, StartFailed) as error:
        status = 409 if isinstance(error, StartFailed) else 422
        words = _(BUSY) if isinstance(error, shelf.Busy) else _(str(error))
        if call.wants_json:
            raise Refused(Problem(status, words)) from error
        return await wish_page(call, doors, seller, drop, problem=words, status=status)
    await note_begun(doors, seller, drop, name, wish)
    url = f"/seller/drops/{drop.id}/rehearsals/{name}"
    return document({"rehearsal": name, "url": url}, status=202) if call.wants_json else redirect(call, url)


@get("/drops/{drop_id:int}/rehearsals/{rehearsal:str}", right=Right.SELL)
async def show(drop_id: FromPath[int], rehearsal: FromPath[str], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    """Its progress while it runs, its report from then on."""
    drop = await own_drop(doors, seller, drop_id)
    progress = await known(doors, rehearsal, drop)
    report = await asyncio.to_thread(shelf.report_of, data_of(doors), rehearsal, drop.slug)
    if call.wants_json:
        return document({"progress": progress, "report": report})
    title = _("Rehearsal: %(title)s", title=drop.title)
    if report is None:
        return doors.seller_page(call, seller, "seller/rehearsing.html", title=title, drop=drop, **shown(progress))
    pictures_at = f"/seller/drops/{drop.id}/rehearsals/{rehearsal}/pictures"
    body = await asyncio.to_thread(report_body, report, pictures_at)
    return doors.seller_page(
        call, seller, "seller/rehearsal.html", title=title, drop=drop, rehearsal=rehearsal, report=report, body=body
    )


@get("/drops/{drop_id:int}/rehearsals/{rehearsal:str}/progress", right=Right.SELL)
async def show_progress(
    drop_id: FromPath[int], rehearsal: FromPath[str], call: ThisCall, doors: TheseDoors, seller: ThisSeller
) -> Response:
    """The moving part of the page; once there is a verdict the whole page is loaded anew."""
    drop = await own_drop(doors, seller, drop_id)
    progress = await known(doors, rehearsal, drop)
    response = doors.fragment("rehearsing.html", drop=drop, **shown(progress))
    if not progress["running"]:
        response.headers["hx-refresh"] = "true"
    return response


@get("/drops/{drop_id:int}/rehearsals/{rehearsal:str}/report.html", right=Right.SELL)
async def download(drop_id: FromPath[int], rehearsal: FromPath[str], doors: TheseDoors, seller: ThisSeller) -> Response:
    """The same report as one file, to keep or to send on, in the reader's language."""
    drop = await own_drop(doors, seller, drop_id)
    await known(doors, rehearsal, drop)
    page = await asyncio.to_thread(report_page, data_of(doors), rehearsal, drop.slug)
    return as_file(page, "text/html", f"rehearsal-{rehearsal}.html")


@get("/drops/{drop_id:int}/rehearsals/{rehearsal:str}/pictures/{picture:str}", right=Right.SELL)
async def show_picture(
    drop_id: FromPath[int], rehearsal: FromPath[str], picture: FromPath[str], doors: TheseDoors, seller: ThisSeller
) -> Response:
    drop = await own_drop(doors, seller, drop_id)
    await known(doors, rehearsal, drop)
    return as_file(await asyncio.to_thread(shelf.picture_of, data_of(doors), rehearsal, picture), "image/webp")


@post("/drops/{drop_id:int}/rehearsals/{rehearsal:str}/stop", status_code=200, right=Right.SELL)
async def stop(drop_id: FromPath[int], rehearsal: FromPath[str], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    """End it now; it removes everything of its own. One that has ended already stays as it is."""
    drop = await own_drop(doors, seller, drop_id)
    await known(doors, rehearsal, drop)
    stopped = await asyncio.to_thread(shelf.stop, data_of(doors), rehearsal, drop.slug)
    if stopped:
        await note_stopped(doors, seller, drop, rehearsal)
    return document({"stopped": stopped}) if call.wants_json else redirect(call, f"/seller/drops/{drop.id}/rehearsals/{rehearsal}")


ROUTES = [ask_rehearsal, begin, show, show_progress, download, show_picture, stop]


async def wish_page(
    call: Call, doors: Doors, seller: Seller, drop: Drop, *, problem: str | None = None, status: int = 200
) -> Response:
    from app.rehearsal.stage import what_is_missing

    earlier = await asyncio.to_thread(shelf.of_drop, data_of(doors), drop.slug)
    if call.wants_json:
        return document({"rehearsals": earlier})
    return doors.seller_page(
        call, seller, "seller/rehearse.html", title=_("Rehearse: %(title)s", title=drop.title), status=status, drop=drop,
        earlier=earlier, missing=what_is_missing(), problem=problem, faults=FAULTS, sizes=SIZES, lengths=LENGTHS, verdicts=VERDICTS,
        at_of=begun_at, browsers=find_spec("playwright") is not None, typed=call.fields() if problem else {},
    )  # fmt: skip


def begun_at(progress: dict) -> datetime:
    """-> when it began, as its id says."""
    return datetime.strptime(progress["id"][:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)


def wished(call: Call, drop: Drop) -> plan.Wish:
    """The form -> what is to be played. BadInput names the field that is wrong."""
    fields = call.fields()
    faults = fields.get("faults") or "none"
    if not isinstance(faults, str) or faults not in FAULTS:
        raise BadInput(N_("Choose what is to be broken."), field="faults")
    seconds = whole(fields.get("seconds") or LENGTHS[1], "seconds", SECONDS.start, SECONDS.stop - 1)
    crowd = whole(fields.get("crowd") or SIZES[1], "crowd", 1, plan.CROWD_MAX)
    return wish_of(drop, crowd, seconds, faults, with_browsers=fields.get("browsers") == "yes")


def wish_of(drop: Drop, crowd: int, seconds: int, faults: str, *, with_browsers: bool) -> plan.Wish:
    """-> what is to be played. `faults`: one of FAULTS; everything that can be broken takes ALL_SECONDS_MIN at least."""
    from app.rehearsal.director import new_seed

    if faults == "all":
        seconds = max(seconds, ALL_SECONDS_MIN)
    browsers = BROWSERS if with_browsers else 0
    names = {"none": (), "usual": USUAL, "all": tuple(name for name in FAULT_NAMES if browsers or name != "browser-clock")}[faults]
    return plan.Wish(
        seed=new_seed(), slug=drop.slug, crowd=crowd, browsers=browsers, faults=names, seconds=float(seconds)
    )  # fmt: skip


def whole(value: Any, field: str, low: int, high: int) -> int:
    text = str(value)
    if not (text.isascii() and text.isdecimal() and len(text) < 9 and low <= int(text) <= high):
        raise BadInput(_("Give a whole number from %(low)s to %(high)s.", low=low, high=high), field=field)
    return int(text)


def consequences(wish: plan.Wish) -> list[str]:
    return [
        _(
            "%(crowd)s made-up shoppers play this drop in a shop of its own; no real shopper, order or card is touched.",
            crowd=wish.crowd,
        ),
        _("It uses this machine to the full for a few minutes. Do not begin it while a drop is open or about to open."),
        _("Afterwards nothing of it is left but its report."),
    ]


async def own_drop(doors: Doors, seller: Seller, drop_id: int) -> Drop:
    drop = await doors.office.ledger.seller_drop(seller.shop_id, drop_id)
    if drop is None:
        raise NotFound(f"there is no drop {drop_id}")
    return drop


async def note_begun(doors: Doors, who: Who, drop: Drop, name: str, wish: plan.Wish) -> None:
    after = {"rehearsal": name, "crowd": wish.crowd, "faults": list(wish.faults)}
    await doors.office.ledger.audit(who.shop_id, who.actor, "rehearsal begun", drop.slug, None, after)


async def note_stopped(doors: Doors, who: Who, drop: Drop, name: str) -> None:
    await doors.office.ledger.audit(who.shop_id, who.actor, "rehearsal stopped", drop.slug, None, {"rehearsal": name})


async def known(doors: Doors, rehearsal: str, drop: Drop) -> dict:
    """-> its progress; NotFound for a rehearsal that is none, or another drop's."""
    progress = await asyncio.to_thread(shelf.progress_of, data_of(doors), rehearsal, drop.slug)
    if progress is None:
        raise NotFound(f"there is no rehearsal {rehearsal}")
    return progress


def shown(progress: dict) -> dict[str, Any]:
    """-> what the progress page draws."""
    from app.rehearsal.sayings import again

    return {
        "progress": progress, "phases": PHASES, "verdicts": VERDICTS, "said": lambda text: again(text, progress["sentences"]),
    }  # fmt: skip


def report_body(report: dict, pictures_at: str) -> Any:
    from app.rehearsal.report import body

    return body(report, lambda picture: f"{pictures_at}/{picture['file']}")


def report_page(data: Path, rehearsal: str, slug: str) -> bytes | None:
    """-> the report as a page that needs nothing but itself; None: there is none."""
    from app.rehearsal.report import page

    def inside(picture: dict) -> str:
        content = shelf.picture_of(data, rehearsal, picture["file"]) or b""
        return f"data:image/webp;base64,{base64.b64encode(content).decode()}"

    report = shelf.report_of(data, rehearsal, slug)
    return None if report is None else page(report, inside).encode()


def data_of(doors: Doors) -> Path:
    return Path(doors.settings.data)


def as_file(content: bytes | None, media_type: str, name: str | None = None) -> Response:
    if content is None:
        raise NotFound("there is no such file")
    headers = {**PRIVATE, "cache-control": "no-store"}
    if name is not None:
        headers["content-disposition"] = f'attachment; filename="{name}"'
    return Response(content, media_type=media_type, headers=headers)
