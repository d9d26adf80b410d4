"""The report of a rehearsal: one document of plain values (report.json), and the same as one self-contained page (report.html).

The page needs nothing but itself: styles, chart and pictures are inside, there is no script, and it can be printed. Its first words
are the verdict. Both files are written whole; figures of the previous rehearsal of the same drop stand beside this one's.

The document's sentences are English, and beside them stands what each was made of (sayings.py): the page is drawn from the document
in whichever language is spoken, also long afterwards.
"""

import base64
import functools
import json
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import jinja2
from markupsafe import Markup

from app.domain.money import format_money
from app.embedded.folders import write_private
from app.languages import N_, _, money, ngettext, number, spoken, when
from app.rehearsal import chart
from app.rehearsal.judge import HELD, UNTOLD, History, Judgement
from app.rehearsal.layout import PICTURES, REPORT_HTML, REPORT_JSON
from app.rehearsal.plan import Piece, Wish
from app.rehearsal.sayings import SIGNED, Said, again, remembered, say

FORMAT = 1  # of report.json; an older one is not compared with
BUSY_CPU_SHARE = 0.9  # of one processor: the crowd's process can do no more
BUSY_LAG_MS = 100.0
SECONDS_SHOWN_MAX = 900
STATIC = Path(__file__).parents[2] / "static"
FONT = STATIC / "fonts" / "bricolage-grotesque-latin.woff2"
SHEET = STATIC / "css" / "seller" / "rehearsal.css"
FINALS = {  # the last word -> how it is said of many
    "paid": N_("paid and have their unit"),
    "no": N_("were told no"),
    "waited": N_("waited on the list until it closed"),
    "expired": N_("let their hold lapse"),
    "cancelled": N_("gave their unit back"),
    "failed": N_("could not pay"),
    "refunded": N_("were refunded"),
    "refused": N_("had a yes taken back, uncharged, after Redis lost data"),
    "lost": N_("were told that their place was lost when Redis lost data"),
    "unheard": N_("never got a final answer"),
}
COMPARED = (  # name, where in the document, unit, is less better
    (N_("answers within (half of all)"), ("latency", "press", "p50_ms"), "ms", True),
    (N_("answers within (99 of 100)"), ("latency", "press", "p99_ms"), "ms", True),
    (N_("answers a second, at most"), ("timeline", "answers_per_second_max"), "", False),
    (N_("other pages within (95 of 100)"), ("latency", "pages", "p95_ms"), "ms", True),
    (N_("pushes on the way (99 of 100)"), ("latency", "push", "p99_ms"), "ms", True),
    (N_("promises not kept"), ("promises_broken",), "", True),
    (N_("units paid for"), ("books", "paid"), "", False),
)
TIMES = {  # of the document's latencies, what each is the time to
    "press": N_("an answer to Buy"),
    "press_in_the_spike": N_("an answer in the first three seconds"),
    "push": N_("a change on an open page"),
    "pages": N_("another page of the shop"),
}
BOOKS = {  # columns of the books
    "total": N_("all"),
    "gate_left": N_("left"),
    "offered": N_("offered"),
    "held": N_("held"),
    "processing": N_("processing"),
    "paid": N_("paid"),
    "withdrawn": N_("withdrawn"),
    "returning": N_("coming back"),
    "refunded": N_("refunded"),
    "refused": N_("refused"),
}


def document(
    *, wish: Wish, piece: Piece, history: History, judgement: Judgement, outcome: dict, machine_busy: list, machine: dict,
    seconds: float, previous: dict | None, id: str, deeds: list[str], pictures: list[dict],
    traces: list[str],
) -> dict:  # fmt: skip
    """-> the report as plain values; `pictures` come in as they are and are left out of report.json."""
    finals = Counter(story["final"] for story in history.stories)
    found = {
        "format": FORMAT,
        "id": id,
        "verdict": "go" if judgement.go else "no-go",
        "at": datetime.fromtimestamp(history.opens_ms / 1000, UTC).isoformat(timespec="seconds"),
        "took_seconds": round(seconds, 1),
        "seed": wish.seed,
        "command": wish.command(),
        "drop": {
            "slug": piece.of, "title": piece.title, "units": piece.units, "variants": [list(one) for one in piece.variants],
            "price": format_money(piece.price_minor, piece.currency), "price_minor": piece.price_minor, "currency": piece.currency,
            "per_person": piece.per_person,
            "hold_seconds": piece.hold_seconds, "offer_seconds": piece.offer_seconds, "payment_attempts": piece.payment_attempts,
            "ships": piece.ships, "quick_motion": not wish.real_times,
        },
        "crowd": wish.crowd,
        "connections": wish.connections,
        "seconds": wish.seconds,
        "browsers": wish.browsers,
        "checks": [
            {"name": one.name, "promise": one.promise, "outcome": one.outcome, "words": one.words, "examples": list(one.examples)}
            for one in judgement.checks
        ],
        "promises_broken": len(judgement.broken),
        "finals": {word: finals[word] for word in FINALS if finals[word]},
        "funnel": _funnel(history, outcome),
        "verdicts": outcome["verdicts"],
        "statuses": outcome["statuses"],
        "without_an_answer": outcome["troubles"],
        "odd": outcome["odd"],
        "intentions": outcome["intentions"],
        "books": history.final_books,
        "faults": [_fault(history, fault) for fault in history.faults],
        "deeds": deeds,
        "timeline": _timeline(history, outcome),
        "latency": {
            "press": _spread([seconds for _, seconds in outcome["latencies"]]),
            "press_in_the_spike": _spread([seconds for at, seconds in outcome["latencies"] if 0 <= at < 3]),
            "push": _spread([message[4] / 1000 for watcher in history.watchers for message in watcher["messages"]]),
            "pages": _spread([look[3] for look in history.pages if look[2] == 200]),
        },
        "generator": _generator(outcome),
        "machine": {**machine, "busy_share": machine_busy},
        "browsers_seen": history.browsers,
        "pictures": pictures,
        "traces": traces,
    }  # fmt: skip
    found["previous"] = _compared(found, previous)
    found["sentences"] = outcome.get("sentences", {}) | remembered(found)
    return found


def write(folder: Path, found: dict) -> None:
    """Write both forms, and the pictures beside them; in the page they are inside."""
    plain = {**found, "pictures": [_kept(folder, number, one) for number, one in enumerate(found["pictures"], 1)]}
    write_private(folder / REPORT_JSON, json.dumps(plain, indent=1, ensure_ascii=False))
    write_private(folder / REPORT_HTML, page(found))


def _kept(folder: Path, number: int, picture: dict) -> dict:
    """Write a picture as a file -> the picture with the file's name instead of its data."""
    name = f"{number:02d}.webp"
    (folder / PICTURES).mkdir(exist_ok=True, mode=0o700)
    (folder / PICTURES / name).write_bytes(base64.b64decode(picture["data"].partition(",")[2]))
    return {**{key: value for key, value in picture.items() if key != "data"}, "file": name}


def page(found: dict, picture: Callable[[dict], str] = lambda one: one["data"]) -> str:
    """-> the report as one page of HTML that needs nothing but itself, in the language that is spoken and the zone in which times
    are written. `picture`: as for `body`."""
    inside = body(found, picture)
    sheet = Markup(SHEET.read_text())
    return _template("report.html").render(found=found, body=inside, font=_font(), sheet=sheet, language=spoken())


def body(found: dict, picture: Callable[[dict], str]) -> Markup:
    """-> the report without what stands around it. `picture`: a picture -> the address it is loaded from, or its data."""
    memory = found.get("sentences", {})
    drawn = _template("report_body.html").render(
        found=found, chart=chart.timeline(found), strip=chart.strip(found), headline=headline(found), final_words=FINALS,
        untold=UNTOLD, held=HELD, picture=picture, times=TIMES, columns=BOOKS, price=_price(found["drop"]),
        said=lambda text: again(text, memory), moment=lambda at: when(datetime.fromisoformat(at)),
    )  # fmt: skip
    return Markup(drawn)


def _price(drop: dict) -> str:
    return money(drop["price_minor"], drop["currency"]) if "price_minor" in drop else drop["price"]


def _template(name: str) -> jinja2.Template:
    return _environment().get_template(name)


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"number": _number, "duration": _duration, "signed": lambda seconds: number(seconds, SIGNED)}
    environment.globals |= {"_": _, "ngettext": ngettext}
    return environment


def _font() -> Markup:
    """-> the face of the headings, inside the page; nothing where this installation has no fonts."""
    with suppress(OSError):
        data = base64.b64encode(FONT.read_bytes()).decode()
        face = f'font-family:"Bricolage Grotesque";font-weight:200 800;font-stretch:75% 100%;src:url(data:font/woff2;base64,{data})'
        return Markup(f"@font-face{{{face}}}")
    return Markup("")


def headline(found: dict) -> tuple[str, str]:
    """-> the verdict in two sentences for somebody who runs a shop, not a server."""
    memory, many = found.get("sentences", {}), len(found["faults"])
    came = _(
        "%(crowd)s people came for %(units)s units, and %(faults)s.",
        crowd=_number(found["crowd"]),
        units=_number(found["drop"]["units"]),
        faults=ngettext("%(num)s thing was broken on purpose meanwhile", "%(num)s things were broken on purpose meanwhile", many)
        if many
        else _("nothing was broken on purpose"),
    )
    if found["verdict"] == "go":
        rest = _(
            "Every one of them got one true answer, %(paid)s paid and have their unit, nobody was charged for nothing, and the "
            "books balance.",
            paid=_number(found["finals"].get("paid", 0)),
        )
        return _("This drop is ready."), f"{came} {rest}"
    broken = [check for check in found["checks"] if check["outcome"] != HELD]
    counted = {"all": _number(len(found["checks"]))}
    if all(check["outcome"] == UNTOLD for check in broken):
        what = ngettext(
            "%(num)s of %(all)s promises could not be proven:",
            "%(num)s of %(all)s promises could not be proven:",
            len(broken),
            **counted,
        )
    else:
        what = ngettext(
            "%(num)s of %(all)s promises was not kept:", "%(num)s of %(all)s promises were not kept:", len(broken), **counted
        )
    named = (f"{again(check['promise'], memory).rstrip('.')}: {again(check['words'], memory)}" for check in broken[:3])
    return _("Do not open this drop yet."), " ".join((came, what, *named))


def copy(folder: Path, to: Path) -> None:
    """Put the two files where the person who asked wants them as well."""
    to.mkdir(parents=True, exist_ok=True)
    for name in (REPORT_JSON, REPORT_HTML):
        shutil.copyfile(folder / name, to / name)


def read(folder: Path) -> dict | None:
    """-> the report in this folder, None where there is none (yet)."""
    with suppress(OSError, ValueError):
        return json.loads((folder / REPORT_JSON).read_text())
    return None


def previous_of(home: Path, folder: Path, slug: str | None) -> dict | None:
    """-> the latest report of an earlier rehearsal of the same drop."""
    earlier = sorted((path for path in home.iterdir() if path.is_dir() and path.name < folder.name), reverse=True)
    for path in earlier:
        found = read(path)
        if found is not None and found.get("format") == FORMAT and found["drop"]["slug"] == slug:
            return found
    return None


# ---- the figures -----------------------------------------------------------------------------------------------------------------


def _funnel(history: History, outcome: dict) -> list[tuple[str, int]]:
    stories = history.stories
    orders = history.orders or []
    return [
        (N_("people came"), len(stories)),
        (N_("heard an answer"), sum(story["heard_ms"] is not None for story in stories)),
        (N_("were given a unit at first"), sum("reserved" in story["told"] for story in stories)),
        (N_("were offered one later"), outcome_total(outcome, "offers")),
        (N_("paid"), sum(order["state"] == "PAID" for order in orders)),
    ]


def outcome_total(outcome: dict, name: str) -> int:
    return sum(count for _, count in outcome["series"].get(name, ()))


def _timeline(history: History, outcome: dict) -> dict:
    """-> counts per second since the opening, from `first` on."""
    last = round((history.closes_ms - history.opens_ms) / 1000) + 2
    series = {name: dict(counts) for name, counts in outcome["series"].items()}
    answers: Counter = Counter()
    for name, counts in series.items():
        if name.startswith("verdict "):
            answers.update(counts)
    first = max(-10, min([0, *series.get("presses", {})]))
    seconds = list(range(first, min(last, SECONDS_SHOWN_MAX) + 1))
    left: dict[int, int] = {}
    for at, units, _phase in history.gate:
        if units is not None:
            left[(at - history.opens_ms) // 1000] = units
    return {
        "first": first,
        "presses": [series.get("presses", {}).get(second, 0) for second in seconds],
        "answers": [answers[second] for second in seconds],
        "grants": [series.get("verdict reserved", {}).get(second, 0) for second in seconds],
        "pushes": [series.get("pushes", {}).get(second, 0) for second in seconds],
        "left": [left.get(second) for second in seconds],
        "answers_per_second_max": max(answers.values(), default=0),
    }


def _spread(seconds: list[float]) -> dict:
    """-> {"n", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "max_ms"}; None where there is nothing."""
    ordered = sorted(seconds)

    def at(share: float) -> float | None:
        return round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1) if ordered else None

    return {
        "n": len(ordered),
        **{f"{name}_ms": at(share) for name, share in (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))},
    }


def _generator(outcome: dict) -> dict:
    """Was it the crowd's own process that could do no more? Judged by the seconds in which somebody pressed."""
    presses = dict(outcome["series"].get("presses", ()))
    busiest = sorted(presses, key=presses.get, reverse=True)[: max(1, len(presses) // 4)]
    cpu, lag = dict(outcome["cpu_share"]), dict(outcome["lag_ms"])
    at_limit = [second for second in busiest if cpu.get(second, 0) >= BUSY_CPU_SHARE or lag.get(second, 0) >= BUSY_LAG_MS]
    bottleneck = bool(at_limit)
    words: Said = (
        say(
            "In %(number)s of the %(all)s busiest seconds the crowd's own process was at its limit: the shop may be faster than "
            "these figures say.",
            number=len(at_limit),
            all=len(busiest),
        )
        if bottleneck
        else say("The crowd's own process was never at its limit: the figures are the shop's.")
    )
    return {
        "bottleneck": bottleneck,
        "words": words,
        "cpu_share_max": max(cpu.values(), default=0.0),
        "lag_ms_max": max(lag.values(), default=0.0),
        "peak_memory_bytes": outcome["peak_memory_bytes"],
    }


def _fault(history: History, fault: dict) -> dict:
    def seconds(at_ms: int | None) -> float | None:
        return None if at_ms is None else round((at_ms - history.opens_ms) / 1000, 1)

    return {**fault, "began": seconds(fault["began"]), "ended": seconds(fault["ended"])}


def _compared(found: dict, previous: dict | None) -> dict | None:
    """-> this rehearsal beside the one before: {"id", "at", "verdict", "same_conditions", "figures"}."""
    if previous is None:
        return None
    figures = []
    for name, path, unit, less_is_better in COMPARED:
        before, now = _at(previous, path), _at(found, path)
        if before is not None and now is not None:
            better = None if before == now else (now < before) == less_is_better
            figures.append({"name": name, "before": before, "now": now, "unit": unit, "better": better})
    same = all(_at(previous, path) == _at(found, path) for path in (("crowd",), ("drop", "units"), ("seconds",), ("connections",)))
    same = same and [one["name"] for one in previous["faults"]] == [one["name"] for one in found["faults"]]
    return {
        "id": previous["id"], "at": previous["at"], "verdict": previous["verdict"], "seed": previous["seed"],
        "same_conditions": same, "figures": figures,
    }  # fmt: skip


def _at(document: dict, path: tuple[str, ...]):
    for name in path:
        document = (document or {}).get(name)
    return document


def _number(value) -> str:
    """12345.0 -> '12,345'; None -> an en dash."""
    return "–" if value is None else number(value, "#,##0.#")


def _duration(milliseconds) -> str:
    if milliseconds is None:
        return "–"
    return f"{number(milliseconds / 1000, '#,##0.00')} s" if milliseconds >= 1000 else f"{number(milliseconds, '#,##0')} ms"
