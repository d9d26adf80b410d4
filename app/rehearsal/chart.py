"""The pictures of the report as SVG: the timeline with its faults, and the strip of units. Colours are the page's own classes."""

from markupsafe import Markup, escape

from app.languages import _, count, tenths
from app.rehearsal.sayings import again

WIDTH, LEFT, RIGHT = 960, 76, 12
PANEL, GAP, TOP, FOOT = 110, 34, 50, 34
BANDS_MAX = 200


def timeline(found: dict) -> Markup:
    """-> demand, grants, stock and pushes per second, one above the other, with a numbered mark for every fault."""
    line = found["timeline"]
    seconds = len(line["presses"])
    panels = (
        (_("Demand: presses of Buy a second"), line["presses"], "bars demand"),
        (_("Granted a second"), line["grants"], "bars grants"),
        (_("Units left"), line["left"], "area left"),
        (_("Messages pushed to open pages a second"), line["pushes"], "bars pushes"),
    )
    height = TOP + len(panels) * (PANEL + GAP) + FOOT
    step = (WIDTH - LEFT - RIGHT) / max(1, seconds)

    def x(second: float) -> float:
        return LEFT + (second - line["first"]) * step

    bottom = height - FOOT - GAP
    drawn = [_faults(found["faults"], found.get("sentences", {}), x, bottom)]
    for number, (title, values, kind) in enumerate(panels):
        drawn.append(_panel(title, values, kind, TOP + number * (PANEL + GAP), step))
    drawn.append(_axis(line["first"], seconds, x, bottom))
    return Markup(  # every text inside is escaped
        f'<svg class="rehearsal__chart" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(_said(found))}">'
        f"{''.join(drawn)}</svg>"
    )


def _panel(title: str, values: list, kind: str, top: float, step: float) -> str:
    most = max([value or 0 for value in values], default=0)
    scale = (PANEL - 4) / most if most else 0.0
    floor = top + PANEL
    drawn = [
        f'<text class="title" x="{LEFT}" y="{top - 8}">{escape(title)}</text>',
        f'<text class="scale" x="{LEFT - 8}" y="{top + 8}">{count(most)}</text>',
        f'<text class="scale" x="{LEFT - 8}" y="{floor}">0</text>',
        f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{floor}" y2="{floor}"/>',
    ]
    if kind.startswith("bars"):
        width = max(0.8, step - min(2.0, step * 0.25))
        bars = [
            f"M{LEFT + index * step:.1f} {floor:.1f}h{width:.1f}v{-max(1.0, value * scale):.1f}h{-width:.1f}z"
            for index, value in enumerate(values)
            if value
        ]
        drawn.append(f'<path class="{kind}" d="{"".join(bars)}"/>')
    else:
        points, known = [], None
        for index, value in enumerate(values):
            known = value if value is not None else known
            if known is not None:
                points.append(f"{LEFT + index * step:.1f} {floor - known * scale:.1f}H{LEFT + (index + 1) * step:.1f}")
        if points:
            path = "L".join(points)
            drawn.append(f'<path class="{kind}" d="M{path}V{floor}H{points[0].split(" ")[0]}z"/>')
    return "".join(drawn)


def _faults(faults: list[dict], memory: dict, x, bottom: float) -> str:
    drawn = []
    for number, fault in enumerate(faults, 1):
        if fault["began"] is None:
            continue
        began = x(fault["began"])
        width = max(2.0, x(fault["ended"] if fault["ended"] is not None else fault["began"]) - began)
        drawn.append(
            f'<g class="fault"><title>{escape(again(fault["words"], memory))}</title>'
            f'<rect x="{began:.1f}" y="12" width="{width:.1f}" height="{bottom - 12:.1f}"/>'
            f'<circle cx="{began + width / 2:.1f}" cy="12" r="9"/>'
            f'<text x="{began + width / 2:.1f}" y="16">{number}</text></g>'
        )
    return "".join(drawn)


def _axis(first: int, seconds: int, x, bottom: float) -> str:
    every = next(step for step in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 3600) if seconds / step <= 16 or step == 3600)
    marks = [second for second in range(first, first + seconds + 1) if second % every == 0]
    drawn = [f'<text class="axis" x="{x(second):.1f}" y="{bottom + 20}">{second} s</text>' for second in marks]
    drawn.append(f'<line class="opening" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="{TOP - 8}" y2="{bottom}"/>')
    return "".join(drawn)


def _said(found: dict) -> str:
    line = found["timeline"]
    peak = max(line["presses"], default=0)
    at = line["first"] + line["presses"].index(peak) if peak else 0
    return _(
        "Timeline of %(seconds)s seconds. Most presses in one second: %(peak)s, %(at)s s after the opening. "
        "Granted in all: %(granted)s. Faults: %(faults)s. The figures stand in the table below.",
        seconds=count(len(line["presses"])),
        peak=count(peak),
        at=count(at),
        granted=count(sum(line["grants"])),
        faults=count(len(found["faults"])),
    )


def strip(found: dict) -> Markup:
    """-> the units of the drop as bands: paid for, left, and what is neither."""
    books = found["books"] or {}
    units = found["drop"]["units"]
    bands = min(units, BANDS_MAX)
    paid = round(bands * (books.get("paid") or 0) / units) if units else 0
    left = round(bands * (books.get("gate_left") or 0) / units) if units else 0
    kinds = ["paid"] * paid + ["else"] * max(0, bands - paid - left) + ["left"] * min(left, bands - paid)
    step = WIDTH / max(1, bands)
    width = max(1.0, step - min(3.0, step * 0.3))
    drawn = "".join(
        f'<rect class="{kind}" x="{index * step:.2f}" y="0" width="{width:.2f}" height="26" rx="2"/>'
        for index, kind in enumerate(kinds)
    )
    label = _(
        "%(paid)s of %(units)s units are paid for, %(left)s are left.",
        paid=count(books.get("paid") or 0),
        units=count(units),
        left=count(books.get("gate_left") or 0),
    )
    if units > bands:
        label += " " + _("Each band stands for %(units)s units.", units=tenths(units / bands))
    shape = f'viewBox="0 0 {WIDTH} 26" preserveAspectRatio="none" role="img" aria-label="{escape(label)}"'
    return Markup(f'<svg class="rehearsal__strip" {shape}>{drawn}</svg>')
