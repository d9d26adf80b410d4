"""How a measure is printed: a small table for people, one JSON object for programs, and the findings that make it fail.

A measure against a target prints rows: both sides, the number that is judged, the target, met or missed. A missed target is news,
not a failure (a busy machine misses some); what fails is a wrong answer, or with `--compare FILE` a row that got worse than in it.
"""

import argparse
import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

WORSE_SHARE_MAX = 0.15  # a row this much worse than in the compared file is a regression


@dataclass(frozen=True, slots=True)
class Row:
    """One number that has a target. `value` is judged: a ratio of ours to theirs, or ours itself where there is no other side."""

    name: str
    unit: str  # of `ours` and `theirs`
    ours: float
    value: float
    target: float
    at_least: bool  # else: at most
    theirs: float | None = None
    against: str | None = None  # what `theirs` is
    spread: tuple[float, float] | None = None  # smallest and largest value of the pairs
    more: dict = field(default_factory=dict)

    @property
    def met(self) -> bool:
        return self.value >= self.target if self.at_least else self.value <= self.target

    def as_dict(self) -> dict:
        return {**asdict(self), "met": self.met}


def print_report(summary: dict, lines: list[str], as_json: bool) -> int:
    """-> the exit code: 1 when there are findings."""
    if as_json:
        print(json.dumps(summary))
    else:
        print("\n".join(lines))
        for finding in summary["findings"]:
            print(f"FINDING: {finding}", file=sys.stderr)
    return 1 if summary["findings"] else 0


def print_rows(measure: str, rows: list[Row], findings: list[str], arguments: argparse.Namespace, **more) -> int:
    """Print a measure made of rows -> the exit code."""
    told = [row.as_dict() for row in rows]
    findings = [*findings, *compared(told, arguments.compare)]
    summary = {"measure": measure, **more, "rows": told, "findings": findings}
    return print_report(summary, row_lines(told), arguments.json)


def row_lines(rows: list[dict]) -> list[str]:
    """-> the table, then what else is known of each row."""
    cells = [("", "ours", "theirs", "value", "target", "")]
    for row in rows:
        cells.append(
            (
                row["name"],
                _short(row["ours"]),
                "-" if row["theirs"] is None else _short(row["theirs"]),
                _value(row),
                f"{'>=' if row['at_least'] else '<='} {row['target']:g}",
                "met" if row["met"] else "MISSED",
            )
        )
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]
    for row in rows:
        against = f"; theirs: {row['against']}" if row["against"] else ""
        lines.append(f"{row['name']}: {row['unit']}{against}")
        lines += [f"    {name}: {_told(value)}" for name, value in row["more"].items()]
    return lines


def compared(rows: list[dict], file: Path | None) -> list[str]:
    """-> what got worse than in an earlier report (`--json` of the same measure, or of `all`)."""
    if file is None:
        return []
    earlier = {row["name"]: row for row in json.loads(file.read_text())["rows"]}
    told = []
    for row in rows:
        before = earlier.get(row["name"])
        if before is None or not before["value"]:
            continue
        change = row["value"] / before["value"] - 1
        if (-change if row["at_least"] else change) > WORSE_SHARE_MAX:
            told.append(f"{row['name']}: {_short(row['value'])} where it was {_short(before['value'])} ({change:+.0%})")
    return told


def _value(row: dict) -> str:
    spread = f" ({_short(row['spread'][0])}-{_short(row['spread'][1])})" if row["spread"] else ""
    return _short(row["value"]) + spread


def _short(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def _told(value) -> str:
    return " / ".join(map(str, value)) if isinstance(value, list) else str(value)


def whole(text: str) -> int:
    """An option's value -> a whole number of at least 1."""
    if not (text.isascii() and text.isdecimal() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def table(rows: list[tuple[str, str]]) -> list[str]:
    """-> aligned lines of (name, value)."""
    width = max(len(name) for name, _ in rows)
    return [f"{name:<{width}}  {value}" for name, value in rows]
