"""`doorman bench no`: the price of a "no". Signed-in buyers press Buy in a drop with nothing left.

Theirs is a bare ASGI callable on the same server with the same settings, which reads the same POST body and answers the same bytes.
Every shopper asks once, so no answer is a limiter's.
"""

import argparse
from dataclasses import replace

from app.bench.paired import PAIRS_DEFAULT, alternate, row, sample, wrong_answers
from app.bench.report import print_rows, whole
from app.bench.stage import Stage, answer_to, stage

TARGET = 0.75
SHOPPERS_WARM = 200


def run(arguments: argparse.Namespace) -> int:
    with stage() as place:
        rows, findings = take(place, arguments.pairs, arguments.buyers)
    return print_rows("no", rows, findings, arguments)


def take(place: Stage, pairs: int, buyers: int):
    """-> (rows, findings)."""
    drop = place.drop("Nothing left", 1)
    cookies = place.shoppers(SHOPPERS_WARM + (pairs + 1) * buyers)
    sample(place.buys(drop, cookies[:SHOPPERS_WARM], "warm"), place.pid)  # one of them buys the only unit
    asks = [place.buys(drop, cookies[first : first + buyers], f"no{first}") for first in range(SHOPPERS_WARM, len(cookies), buyers)]
    answer = answer_to(asks[0].url, asks[0].request(0))
    with place.baseline(answer) as (url, pid):
        taken = alternate(
            pairs,
            lambda number: sample(asks[number], place.pid),
            lambda number: sample(replace(asks[number], url=f"{url}/same"), pid),
        )
    findings = wrong_answers(taken, ["http 409"])
    return [row("sold-out POST buy", taken, TARGET, "a bare ASGI callable: the same body read, the same bytes answered")], findings


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=whole, default=PAIRS_DEFAULT)
    parser.add_argument("--buyers", type=whole, default=10_000, help="buyers a pair and side (%(default)s)")
