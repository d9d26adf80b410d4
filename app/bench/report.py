"""How a measure is printed: a small table for people, one JSON object for programs, and the findings that make it fail."""

import argparse
import json
import sys


def print_report(summary: dict, lines: list[str], as_json: bool) -> int:
    """-> the exit code: 1 when there are findings."""
    if as_json:
        print(json.dumps(summary))
    else:
        print("\n".join(lines))
        for finding in summary["findings"]:
            print(f"FINDING: {finding}", file=sys.stderr)
    return 1 if summary["findings"] else 0


def whole(text: str) -> int:
    """An option's value -> a whole number of at least 1."""
    if not (text.isascii() and text.isdecimal() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def table(rows: list[tuple[str, str]]) -> list[str]:
    """-> aligned lines of (name, value)."""
    width = max(len(name) for name, _ in rows)
    return [f"{name:<{width}}  {value}" for name, value in rows]
