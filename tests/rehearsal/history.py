"""A history in which everything went right, for the judge's tests to break in one place; and reports made of it."""

import base64
import json
from dataclasses import replace
from pathlib import Path

from app.rehearsal import machine, report
from app.rehearsal.judge import History, judge
from app.rehearsal.plan import STANDARD, Wish
from app.rehearsal.sayings import say

OPENS = 1_700_000_000_000
CLOSES = OPENS + 20_000
ENDED = CLOSES + 10_000
UNITS = 3
PRICE = 4900
THE_LIST = say("the list")
WEBP = b"RIFF....WEBP, as far as a test can tell"
PICTURE = {
    "who": say("shopper %(number)s", number="1"), "title": say("before the opening"), "at": -3.0, "width": 390, "height": 844,
    "data": "data:image/webp;base64," + base64.b64encode(WEBP).decode(),
}  # fmt: skip


def story(number: int, final: str, *, order: str | None = None, **changes) -> dict:
    told = ["reserved"] if order else ["sold_out"]
    values = {
        "number": number, "shopper": 100 + number, "final": final, "orders": [order] if order else [], "order": order, "presses": 1,
        "told": told, "contradictions": [], "heard_ms": 12.0, "meant_to_pay": final == "paid",
    }  # fmt: skip
    return values | changes


def order(name: str, shopper: int, state: str, **changes) -> dict:
    money = PRICE if state == "PAID" else 0
    values = {
        "order_id": name, "shopper_id": shopper, "state": state, "reason": None, "quantity": 1, "amount_minor": PRICE,
        "reserved_ms": OPENS + 10, "released": None if state == "PAID" else True,
        "key": "b", "payment": "captured" if money else "none",
        "captured_minor": money, "refunded_minor": 0, "needs_attention": None, "parcel": "made" if money else None,
    }  # fmt: skip
    return values | changes


def charge(name: str, captured: int, refunded: int = 0, intent: str = "") -> dict:
    return {
        "payment_intent": intent or f"pi_{name}", "order": name, "amount": PRICE, "currency": "eur", "captured": captured,
        "refunded": refunded, "attempts": 1,
    }  # fmt: skip


def books(at: int, **changes) -> dict:
    values = {
        "drop": "rehearsal", "total": UNITS, "gate_left": 0, "offered": 0, "held": 0, "processing": 0, "paid": UNITS,
        "withdrawn": 0,        "returning": 0, "refunded": 0, "refused": 0, "journal": 0, "balanced": True, "findings": [],
    }  # fmt: skip
    return {"at": at, "until": at + 5, "books": values | changes, "why": None}


def fault(name: str, began: int, ended: int, *, touches=(), loses=False, done=True, why=None) -> dict:
    return {
        "name": name, "words": name, "began": began, "ended": ended, "done": done, "why": why, "touches": list(touches),
        "loses": loses,        "told": name,
    }  # fmt: skip


def right(**changes) -> History:
    """Six people for three units: three paid, one let a hold lapse before that, two were told no."""
    moments = range(OPENS - 2000, ENDED + 1, 100)
    gate = [(at, UNITS if at < OPENS else 0, "announced" if at < OPENS else "sold_out") for at in moments]
    watcher = {
        "spans": [[OPENS - 2000, ENDED]],
        "messages": [(OPENS - 1990, UNITS, "announced", 1, 3.0), (OPENS + 90, 0, "sold_out", 2, 4.0)],
    }
    values = {
        "units": UNITS,
        "per_person": 1,
        "opens_ms": OPENS,
        "closes_ms": CLOSES,
        "ended_ms": ENDED,
        "crowd": 6,
        "stories": [
            *(story(number, "paid", order=f"o{number}") for number in range(3)),
            story(3, "expired", order="o3"),
            story(4, "no"),
            story(5, "waited"),
        ],
        "orders": [*(order(f"o{number}", 100 + number, "PAID") for number in range(3)), order("o3", 103, "EXPIRED")],
        "provider": [charge(f"o{number}", PRICE) for number in range(3)],
        "warehouse": [{"number": str(number), "reference": f"o{number}", "created": ""} for number in range(3)],
        "books": [books(at) for at in range(OPENS, ENDED, 1000)],
        "final_books": books(ENDED)["books"],
        "at_rest": True,
        "gate": gate,
        "watchers": [watcher],
        "pages": [(at, THE_LIST, 200, 0.02) for at in range(OPENS, CLOSES, 200)],
    }
    return History(**(values | changes))


BROKEN_ORDERS = [*right().orders, order("o4", 104, "PAID")]  # one more sold than there is


def outcome() -> dict:
    """What the crowd of `right()` wrote down."""
    return {
        "stories": right().stories,
        "intentions": {"style": {"once": 6}},
        "series": {"presses": [[-1, 1], [0, 5]], "verdict reserved": [[0, 4]], "verdict sold_out": [[0, 2]], "pushes": [[0, 2]]},
        "latencies": [(0.1, 0.012), (0.2, 0.034), (0.3, 1.2)],
        "verdicts": {"reserved": 4, "sold_out": 2},
        "statuses": {"201": 4, "409": 2},
        "troubles": {},
        "odd": {},
        "watchers": right().watchers,
        "lag_ms": [(0, 3.0)],
        "cpu_share": [(0, 0.2)],
        "peak_memory_bytes": 50_000_000,
    }


def report_of(
    history: History, *, id: str, slug: str | None = "lamp", title: str = "Night <lamp>", previous=None, **changes
) -> dict:
    """-> the report of a history, as plain values."""
    piece = replace(STANDARD, title=title, variants=(("Standard", UNITS),), of=slug)
    values = {
        "wish": Wish(seed=4711, slug=slug, crowd=6, units=UNITS, faults=tuple(one["name"] for one in history.faults)),
        "piece": piece, "history": history, "judgement": judge(history), "outcome": outcome(), "machine_busy": [],
        "previous": previous, "machine": machine.described(web=2, shop_runs=False, load=0.1), "seconds": 42.0, "id": id,
        "deeds": [], "pictures": [PICTURE], "traces": [],
    }  # fmt: skip
    return report.document(**(values | changes))


def shelved(data: Path, name: str, slug: str, *, verdict: str | None = "go", title: str = "Night <lamp>") -> Path:
    """Put a rehearsal that has ended on the shelf -> its folder. `verdict` None: one whose process is gone without a word."""
    folder = data / "rehearsals" / name
    folder.mkdir(parents=True)
    progress = {
        "id": name, "slug": slug, "title": title, "phase": "done", "began": "2026-11-30T20:00:00+00:00", "crowd": 6, "pid": 2**30,
        "answers": 6, "ended": 6, "fault": None, "books": right().final_books, "verdict": verdict, "why": None, "command": "",
    }  # fmt: skip
    (folder / "progress.json").write_text(json.dumps(progress))
    if verdict in ("go", "no-go"):
        report.write(folder, report_of(right(), id=name, slug=slug, title=title))
    return folder
