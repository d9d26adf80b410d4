"""Pairs: the same crowd plays at ours and at a baseline in turn, and what counts is the median of the pairs' ratios.

Both servers stand for the whole measure, pinned to the same core, and only one of them has anything to do at a time; whatever else
the machine does meets both sides alike. The judged number is answers per second of the server's own CPU time: with the core to
itself that is answers per second, and it is also true while others use the core. Both are reported, with the share of the core that
each side had, so that a server which waited for the load generator (or for Valkey beside it) can be told.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.bench import cores
from app.bench.crowd import Ask, Tally, play
from app.bench.report import Row

PAIRS_DEFAULT = 5
CONNECTIONS = 64


@dataclass(frozen=True, slots=True)
class Sample:
    """One side of one pair."""

    tally: Tally
    cpu_seconds: float  # of the server

    @property
    def answers_per_cpu_second(self) -> float:
        return self.tally.answered / self.cpu_seconds

    @property
    def answers_per_second(self) -> float:
        return self.tally.answered / self.tally.wall_seconds

    @property
    def core_share(self) -> float:
        return self.cpu_seconds / self.tally.wall_seconds

    @property
    def generator_share(self) -> float:
        return self.tally.cpu_seconds / self.tally.wall_seconds


Pair = tuple[Sample, Sample]  # ours, theirs


def sample(ask: Ask, pid: int, connections: int = CONNECTIONS) -> Sample:
    """Play one crowd at the server `pid`."""
    before = cores.cpu_seconds(pid)
    tally = play(ask, connections)
    return Sample(tally, cores.cpu_seconds(pid) - before)


def alternate(count: int, ours: Callable[[int], Sample], theirs: Callable[[int], Sample]) -> list[Pair]:
    """-> `count` pairs after one that warms both up and is thrown away; who goes first changes from pair to pair."""
    pairs = []
    for number in range(count + 1):
        if number % 2:
            second = theirs(number)
            pairs.append((ours(number), second))
        else:
            pairs.append((ours(number), theirs(number)))
    return pairs[1:]


def row(name: str, pairs: Sequence[Pair], target: float, against: str) -> Row:
    """-> the pairs as one line of the table: answers per CPU second, ours over theirs."""
    ours, theirs = zip(*pairs, strict=True)
    ratios = [mine.answers_per_cpu_second / other.answers_per_cpu_second for mine, other in pairs]
    walls = [mine.answers_per_second / other.answers_per_second for mine, other in pairs]
    return Row(
        name=name,
        unit="answers a CPU second",
        ours=statistics.median(side.answers_per_cpu_second for side in ours),
        theirs=statistics.median(side.answers_per_cpu_second for side in theirs),
        against=against,
        value=statistics.median(ratios),
        target=target,
        at_least=True,
        spread=(min(ratios), max(ratios)),
        more={
            "cpu_us": [round(1e6 / statistics.median(s.answers_per_cpu_second for s in side), 1) for side in (ours, theirs)],
            "answers_per_second": [round(statistics.median(s.answers_per_second for s in side)) for side in (ours, theirs)],
            "wall_ratio": round(statistics.median(walls), 3),
            "core_share": [round(statistics.median(s.core_share for s in side), 2) for side in (ours, theirs)],
            "generator_share": [round(statistics.median(s.generator_share for s in side), 2) for side in (ours, theirs)],
        },
    )


def wrong_answers(pairs: Sequence[Pair], right: Sequence[str], right_theirs: Sequence[str] | None = None) -> list[str]:
    """-> findings: answers of ours (and of the baseline) that were not what the measure is about."""
    told = []
    for who, kinds, samples in (
        ("ours", right, [pair[0] for pair in pairs]),
        ("the baseline", right_theirs or right, [pair[1] for pair in pairs]),
    ):
        for tally in (one.tally for one in samples):
            odd = {kind: count for kind, count in tally.answers.items() if kind not in kinds}
            if odd or tally.failed or tally.unanswered:
                told.append(f"{who} answered {odd}, {tally.failed} failed, {tally.unanswered} were not answered")
    return told
