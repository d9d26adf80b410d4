"""`doorman bench`: measures that anybody can repeat. Each prints its numbers, and fails when what it measured was not right.

burst   a crowd presses Buy at once: answers by verdict, speed, SQL by losers, books
naive   the same crowd against one conditional UPDATE: the baseline
race    payments starved past their deadline: every hold swept, every late job without a claim, nobody charged
gate    what a call of the gate costs the web process, by the number of waiting buyers
"""

import argparse
import contextlib
import importlib
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

import structlog

MEASURES = {
    "burst": "a crowd presses Buy at once",
    "naive": "the same crowd against one conditional UPDATE (the baseline)",
    "race": "payments starved past their deadline",
    "gate": "CPU of a gate call, by waiting buyers",
    "no": "a refused buy against a bare callable that answers the same bytes",
    "decided": "a granted buy against a handler that only reads the form and verifies the cookie",
    "page": "a drop's page, and the 304, against a bare callable",
    "recorder": "writing granted orders down against one INSERT that checks nothing",
    "fanout": "thousands of sockets told of a change, against websockets.broadcast",
    "start": "how soon doorman up serves, and what it weighs",
}


def main(argv: Sequence[str]) -> int:
    """-> the exit code: 0 measured and right, 1 something was wrong, 2 wrong usage."""
    parser = argparse.ArgumentParser(prog="doorman bench", description="Measures that anybody can repeat.")
    measures = parser.add_subparsers(metavar="MEASURE", required=True)
    for name, help in MEASURES.items():
        module = importlib.import_module(f"app.bench.{name}")
        one = measures.add_parser(name, help=help, description=module.__doc__.partition("\n\n")[0])
        module.options(one)
        one.add_argument("--json", action="store_true", help="print one JSON object")
        one.add_argument("--compare", type=Path, metavar="FILE", help="an earlier --json: fail where a row got worse")
        one.set_defaults(run=module.run)
    arguments = parser.parse_args(argv)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))  # standard output is for the numbers
    _raise_open_files()
    return arguments.run(arguments)


def _raise_open_files() -> None:
    """A crowd needs a descriptor per connection: take as many as the system lets us have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):  # "unlimited" is no number that every kernel takes
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
