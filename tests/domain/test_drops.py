from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.domain.drops import LAST_SECONDS, Door, Drop, Phase, Variant, phase_of

OPENS, CLOSES = 1_000_000, 2_000_000
SOME, NONE = {1: 0, 2: 3}, {1: 0, 2: 0}


@pytest.mark.parametrize(
    ("door", "now_ms", "left", "held", "phase"),
    [
        (Door.OPEN, OPENS - LAST_SECONDS * 1000 - 1, SOME, NONE, Phase.ANNOUNCED),
        (Door.OPEN, OPENS - LAST_SECONDS * 1000, SOME, NONE, Phase.LAST_SECONDS),
        (Door.OPEN, OPENS - 1, SOME, NONE, Phase.LAST_SECONDS),
        (Door.OPEN, OPENS, SOME, NONE, Phase.OPEN),
        (Door.OPEN, CLOSES - 1, SOME, SOME, Phase.OPEN),
        (Door.OPEN, OPENS, NONE, SOME, Phase.ALL_HELD),
        (Door.OPEN, OPENS, NONE, NONE, Phase.SOLD_OUT),
        (Door.OPEN, OPENS - 1, NONE, NONE, Phase.LAST_SECONDS),
        (Door.OPEN, CLOSES, SOME, SOME, Phase.CLOSED),
        (Door.OPEN, CLOSES, NONE, NONE, Phase.CLOSED),
        (Door.PAUSED, OPENS, SOME, NONE, Phase.PAUSED),
        (Door.PAUSED, OPENS - 1, SOME, NONE, Phase.PAUSED),
        (Door.PAUSED, CLOSES, SOME, NONE, Phase.CLOSED),
        (Door.CLOSED, OPENS - 1, SOME, NONE, Phase.CLOSED),
        (Door.NOT_READY, OPENS, SOME, NONE, Phase.NOT_READY),
        (Door.NOT_READY, CLOSES, SOME, NONE, Phase.CLOSED),
        (Door.CANCELLED, OPENS - 1, SOME, NONE, Phase.CANCELLED),
        (Door.CANCELLED, CLOSES, SOME, NONE, Phase.CANCELLED),
    ],
)
def test_the_phase_of_a_drop(door, now_ms, left, held, phase):
    assert phase_of(door, OPENS, CLOSES, now_ms, left, held) is phase


def test_a_drop_without_a_closing_time_never_closes_by_itself():
    assert phase_of(Door.OPEN, OPENS, None, 10**15, SOME, NONE) is Phase.OPEN


def test_a_drop_knows_its_variants():
    moment = datetime(2026, 12, 1, tzinfo=UTC)
    small, medium = Variant(1, "S", 3), Variant(2, "M", 4)
    drop = Drop(1, 1, "Shop", "d", "D", "", 100, "EUR", moment, None, 1, 60, 3, Door.OPEN, 0, None, False, (small, medium))
    assert drop.units_total == 7
    assert drop.variant_named("M") is medium
    assert drop.variant_named("XL") is None
    assert replace(drop, variants=()).units_total == 0
