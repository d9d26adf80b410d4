"""Bars per second as one SVG path each: drawn by the server, without a library, a script or an inline style.

A chart is WIDTH x HEIGHT units that its page stretches to any size; its words (axis, legend, table) are HTML beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 480
HEIGHT = 60
GAP = 0.25  # of a bar's place
NICE = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Bars:
    """Some series of one chart, drawn over each other: an SVG path each, and the value that the upper edge stands for."""

    paths: tuple[str, ...]
    top: int
    places: int

    width = WIDTH
    height = HEIGHT


def bars(*series: Sequence[float], top: int | None = None) -> Bars:
    """Values per place (all series equally many) -> bars from the baseline up. `top` None: the nearest nice number above all."""
    top = nice(max((max(values, default=0) for values in series), default=0)) if top is None else top
    return Bars(tuple(path(values, top) for values in series), top, len(series[0]) if series else 0)


def stacked(*series: Sequence[float]) -> Bars:
    """The same, each series standing on those before it."""
    sums: list[list[float]] = []
    for values in series:
        sums.append([value + (sums[-1][place] if sums else 0) for place, value in enumerate(values)])
    drawn = bars(*reversed(sums))  # the tallest first: the others stand in front
    return Bars(tuple(reversed(drawn.paths)), drawn.top, drawn.places)


def path(values: Sequence[float], top: int) -> str:
    """-> one bar per value above 0; any value above 0 is visible."""
    if not values or top <= 0:
        return ""
    place = WIDTH / len(values)
    width = round(place * (1 - GAP), 2)
    drawn = []
    for index, value in enumerate(values):
        if value > 0:
            height = round(max(1.0, min(1.0, value / top) * HEIGHT), 1)
            drawn.append(f"M{index * place:.4g} {HEIGHT}v-{height:g}h{width:g}v{height:g}z")
    return "".join(drawn)


def nice(value: float) -> int:
    """-> the smallest of 1, 2, 5, 10, 20, 50, ... that is not below."""
    scale = 1
    while True:
        for step in NICE:
            if step * scale >= value:
                return step * scale
        scale *= 10
