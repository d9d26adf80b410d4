"""`doorman bench decided`: a buy that the gate decides. Every buyer is somebody else, asks once under a key, and gets a unit.

Theirs is a raw ASGI handler on the same server that only reads the form and verifies the cookie, and then answers a yes of the same
bytes: what any honest shop must do before it may say anything at all.
"""

import argparse
from dataclasses import replace

from app.bench.paired import PAIRS_DEFAULT, alternate, row, sample, wrong_answers
from app.bench.report import Row, print_rows, whole
from app.bench.stage import Stage, answer_to, stage

TARGET = 0.6
CONNECTIONS = 256  # a crowd: as many wait for the gate at the same time


def run(arguments: argparse.Namespace) -> int:
    with stage() as place:
        rows, findings = take(place, arguments.pairs, arguments.buyers)
    return print_rows("decided", rows, findings, arguments)


def take(place: Stage, pairs: int, buyers: int) -> tuple[list[Row], list[str]]:
    cookies = place.shoppers((pairs + 1) * buyers + 1)
    drop = place.drop("One for everybody", len(cookies))
    first = place.buys(drop, cookies[:1], "first")
    answer = answer_to(first.url, first.request(0))
    asks = [place.buys(drop, cookies[at : at + buyers], f"yes{at}") for at in range(1, len(cookies), buyers)]
    with place.baseline(answer) as (url, pid):
        taken = alternate(
            pairs,
            lambda number: sample(asks[number], place.pid, CONNECTIONS),
            lambda number: sample(replace(asks[number], url=f"{url}/form"), pid, CONNECTIONS),
        )
    findings = wrong_answers(taken, ["http 201"])
    against = "a raw ASGI handler that reads the form and verifies the cookie"
    return [row("buy decided by the gate", taken, TARGET, against)], findings


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=whole, default=PAIRS_DEFAULT)
    parser.add_argument("--buyers", type=whole, default=5_000, help="buyers a pair and side (%(default)s)")
