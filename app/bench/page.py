"""`doorman bench page`: the drop's page as everybody who is signed out gets it, compressed; and the 304 for who has it already.

Theirs is a bare ASGI callable on the same server with the same settings that answers the same bytes.
"""

import argparse
from dataclasses import replace

from app.bench.paired import PAIRS_DEFAULT, alternate, row, sample, wrong_answers
from app.bench.report import Row, print_rows, whole
from app.bench.stage import Stage, answer_to, stage

TARGET = 0.8
TARGET_UNCHANGED = 1.0  # "no slower" than the page itself


def run(arguments: argparse.Namespace) -> int:
    with stage() as place:
        rows, findings = take(place, arguments.pairs, arguments.views)
    return print_rows("page", rows, findings, arguments)


def take(place: Stage, pairs: int, views: int) -> tuple[list[Row], list[str]]:
    drop = place.drop("Looked at", 100)
    ask = place.views(drop, views)
    answer = answer_to(ask.url, ask.request(0))
    tag = next(value for name, value in answer["headers"] if name == "etag")
    known = place.views(drop, views, ("If-None-Match", tag))
    with place.baseline(answer) as (url, pid):
        pages = alternate(
            pairs, lambda _: sample(ask, place.pid), lambda _: sample(replace(ask, url=f"{url}/same"), pid)
        )  # fmt: skip
    unchanged = alternate(pairs, lambda _: sample(known, place.pid), lambda _: sample(ask, place.pid))
    findings = [*wrong_answers(pages, ["http 200"]), *wrong_answers(unchanged, ["http 304"], ["http 200"])]
    size = f"{len(answer['body_hex']) // 2:,} bytes"
    return [
        row("drop page GET", pages, TARGET, f"a bare ASGI callable that answers the same {size}"),
        row("drop page 304", unchanged, TARGET_UNCHANGED, "the page itself"),
    ], findings


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=whole, default=PAIRS_DEFAULT)
    parser.add_argument("--views", type=whole, default=10_000, help="page views a pair and side (%(default)s)")
