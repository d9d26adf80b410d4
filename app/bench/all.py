"""`doorman bench all`: every measure that has a target, one after the other, each in a process of its own.

Prints one table; `--json` one object whose rows are those of all measures, which `--compare` takes again.
"""

import argparse
import json
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from app.bench.report import compared, print_report, row_lines, whole

MEASURES = (
    ("no",),
    ("decided",),
    ("page",),
    ("burst", "--web", "1", "--conns", "2000"),
    ("burst", "--web", "1", "--buyers", "900", "--units", "900"),
    ("gate",),
    ("recorder",),
    ("fanout",),
    ("others",),
    ("start",),
    ("growth",),
)
PAIRED = frozenset({"no", "decided", "page", "burst", "recorder", "fanout", "others", "growth"})


def run(arguments: argparse.Namespace) -> int:
    wanted = [measure for measure in MEASURES if not arguments.only or measure[0] in arguments.only]
    rows, findings = [], []
    for measure in wanted:
        told = take(measure, arguments.pairs)
        rows += told["rows"]
        findings += told["findings"]
        if not arguments.json:
            print(f"{' '.join(measure)}: {sum(row['met'] for row in told['rows'])} of {len(told['rows'])} met", file=sys.stderr)
    findings += compared(rows, arguments.compare)
    summary = {"measure": "all", "at": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine(), "rows": rows}
    return print_report(summary | {"findings": findings}, row_lines(rows), arguments.json)


def take(measure: tuple[str, ...], pairs: int) -> dict:
    """-> the measure's JSON; one that could not be taken is a finding."""
    name, *options = measure
    command = [sys.executable, "-P", "-m", "app.bench", name, *options, "--json"]
    command += ["--pairs", str(pairs)] if name in PAIRED else []
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        return json.loads(done.stdout)
    except ValueError:
        last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        return {"rows": [], "findings": [f"{' '.join(measure)} could not be taken: {last[0]}"]}


def machine() -> str:
    """-> what kind of machine this is: a figure without it says little."""
    model = next((line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")), platform.machine())
    return f"{model}, {platform.system()} {platform.release()}, Python {platform.python_version()}"


def _cpuinfo() -> list[str]:
    try:
        return Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=whole, default=5, help="pairs of each measure (%(default)s)")
    parser.add_argument("--only", nargs="+", choices=sorted({measure[0] for measure in MEASURES}), help="just these")
