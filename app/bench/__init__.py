"""`doorman bench`: measures that anybody can repeat. Each prints its numbers, and fails when what it measured was not right.

With a target, and a baseline in the same run:
no        a refused buy against a bare callable on the same server        decided   a granted one against reading form and cookie
page      a drop's page, and its 304                                      recorder  against one INSERT that checks nothing
fanout    thousands of sockets, against websockets.broadcast              gate      CPU of a gate call, by waiting buyers
burst     a crowd presses Buy at once: speed, SQL by losers, books        others    other pages during a burst
start     how soon `up` serves, what it weighs                            growth    more buyers, more drops, more orders
all       all of these, one table
Without:
naive     the same crowd against one conditional UPDATE                   race      payments starved past their deadline
"""

import argparse
import contextlib
import importlib
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

import structlog

from app.bench import cores

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
    "others": "other people's pages during a burst",
    "start": "how soon doorman up serves, and what it weighs",
    "growth": "more buyers, more drops, more past orders",
    "all": "every measure that has a target, one table",
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
    with cores.kept():
        return arguments.run(arguments)


def _raise_open_files() -> None:
    """A crowd needs a descriptor per connection: take as many as the system lets us have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):  # "unlimited" is no number that every kernel takes
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
