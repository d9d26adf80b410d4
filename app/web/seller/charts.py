"""Bars per second as one SVG path each: drawn by the server, without a library, a script or an inline style.

A chart is WIDTH x HEIGHT units that its page stretches to any size; its words (axis, legend, table) are HTML beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 480
HEIGHT = 60
GAP = 0.25  # of a bar's place
NICE = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)  # and each times 10, 100, ...


@dataclass(frozen=True, slots=True)
class Bars:
    """Some series of one chart, drawn over each other: an SVG path each, and the value that the upper edge stands for."""

    paths: tuple[str, ...]
    top: int
    height: int = HEIGHT

    width = WIDTH


def bars(*series: Sequence[float]) -> Bars:
    """Values per place (all series equally many) -> bars from the baseline up, the later series in front."""
    top = top_of(*series)
    return Bars(tuple(path(values, top) for values in series), top)


def mirrored(up: Sequence[float], down: Sequence[float]) -> Bars:
    """Two series to one scale, one from the middle up, the other from there down."""
    top = top_of(up, down)
    return Bars((path(up, top), path(down, top, sign="")), top, 2 * HEIGHT)


def stacked(*series: Sequence[float]) -> Bars:
    """The same, each series standing on those before it."""
    sums: list[list[float]] = []
    for values in series:
        sums.append([value + (sums[-1][place] if sums else 0) for place, value in enumerate(values)])
    drawn = bars(*reversed(sums))  # the tallest first: the others stand in front
    return Bars(tuple(reversed(drawn.paths)), drawn.top)


def path(values: Sequence[float], top: int, sign: str = "-") -> str:
    """-> one bar per value above 0, however small, up from HEIGHT (`sign` "-") or down from there ("")."""
    if not values:
        return ""
    place = WIDTH / len(values)
    width = round(place * (1 - GAP), 2)
    back = "" if sign else "-"
    drawn = []
    for index, value in enumerate(values):
        if value > 0:
            height = round(max(1.0, min(1.0, value / top) * HEIGHT), 1)
            drawn.append(f"M{index * place:.4g} {HEIGHT}v{sign}{height:g}h{width:g}v{back}{height:g}z")
    return "".join(drawn)


def top_of(*series: Sequence[float]) -> int:
    """-> what the upper edge stands for: the nearest nice whole number that no value is above."""
    return nice(max((max(values, default=0) for values in series), default=0))


def nice(value: float) -> int:
    """-> the smallest of 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, ... that is not below."""
    scale = 1
    while True:
        for step in NICE:
            if step * scale >= value and step * scale == int(step * scale):
                return int(step * scale)
        scale *= 10
