"""Not missing an opening: a calendar file for anybody, a mail for whoever is signed in."""

from datetime import datetime, timedelta

from litestar import Response, post
from litestar.params import FromPath

from app.clock import now
from app.domain.drops import Drop
from app.errors import NotFound
from app.languages import _
from app.web.doors import Doors, TheseDoors, ThisCall, document, redirect, shopper_of
from app.web.sayings import REMINDED

SUFFIX = ".ics"
LINE_BYTES_MAX = 75  # RFC 5545: longer lines are folded
LASTS = timedelta(minutes=15)
WARN_MINUTES = 5


@post("/drops/{slug:str}/remind", status_code=200)
async def remind(slug: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    """Tell the shopper by mail before the opening. Asking twice is asking once."""
    shopper_id = shopper_of(call).shopper_id
    drop = await doors.catalogue.find(slug)
    if drop is None or not (await doors.ledger.remind(drop.id, shopper_id) or await doors.ledger.reminded(drop.id, shopper_id)):
        raise NotFound("no such drop, or it has opened")
    return document({"reminded": True}) if call.wants_json else redirect(call, f"/drops/{drop.slug}?said={REMINDED}")


def calendar_file(doors: Doors, drop: Drop) -> Response:
    """-> what `/drops/{slug}.ics` answers."""
    return Response(
        calendar(drop, f"{doors.settings.public_url}/drops/{drop.slug}", now()).encode(),
        media_type="text/calendar",
        headers={"content-disposition": f'attachment; filename="{drop.slug}.ics"', "cache-control": "private, no-cache"},
    )


def calendar(drop: Drop, url: str, made_at: datetime) -> str:
    """-> an iCalendar file with the opening, and an alarm before it. The event keeps its identity when the times move."""
    words = _("The door opens. Sign in a few minutes before:")
    ends_at = drop.opens_at + LASTS
    if drop.closes_at is not None:
        ends_at = min(ends_at, drop.closes_at)
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Doorman//Drops//EN",
        "METHOD:PUBLISH",
        "BEGIN:VEVENT",
        f"UID:drop-{drop.id}@{url.split('/')[2].split(':')[0]}",
        f"DTSTAMP:{moment(made_at)}",
        f"DTSTART:{moment(drop.opens_at)}",
        f"DTEND:{moment(ends_at)}",
        f"SUMMARY:{text(drop.title)}",
        f"DESCRIPTION:{text(words)} {url}",
        f"URL:{url}",
        f"STATUS:{'CANCELLED' if drop.door == 'cancelled' else 'CONFIRMED'}",
        "BEGIN:VALARM",
        "ACTION:DISPLAY",
        f"DESCRIPTION:{text(drop.title)}",
        f"TRIGGER:-PT{WARN_MINUTES}M",
        "END:VALARM",
        "END:VEVENT",
        "END:VCALENDAR",
    ]
    return "".join(f"{folded(line)}\r\n" for line in lines)


def moment(at: datetime) -> str:
    return f"{at:%Y%m%dT%H%M%SZ}"


def text(value: str) -> str:
    """-> a TEXT value: what separates values and lines is escaped."""
    escaped = value.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,")
    return escaped.replace("\r\n", "\\n").replace("\n", "\\n").replace("\r", "\\n")


def folded(line: str) -> str:
    """-> the line in pieces of at most LINE_BYTES_MAX, no character cut in two."""
    pieces, piece = [], b""
    for character in line:
        encoded = character.encode()
        if len(piece) + len(encoded) > LINE_BYTES_MAX:
            pieces.append(piece)
            piece = b" "
        piece += encoded
    return b"\r\n".join([*pieces, piece]).decode()
