"""Bars without a library, and what happened in plain words: pure functions."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

import app.ledger
from app.domain.drops import Variant
from app.languages import GERMAN, speaking
from app.ledger import Charge, Happening, Sales, Stretch
from app.purchase.watching import WINDOW_SECONDS, provider_of
from app.web.seller.charts import HEIGHT, WIDTH, bars, mirrored, nice, stacked
from app.web.seller.happenings import QUIET, SENTENCES, TOLD_MAX, tell
from app.web.seller.watch_view import LATE_SECONDS, window_of

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
VARIANTS = (Variant(1, "Black", 5), Variant(2, "White", 5))


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


# charts


@pytest.mark.parametrize(
    ("value", "top"), [(0, 1), (0.2, 1), (1, 1), (2, 2), (7, 8), (9, 10), (11, 12), (23, 25), (26, 30), (81, 100), (18_204, 20_000)]
)
def test_the_upper_edge_is_a_nice_number_that_no_value_is_above(value, top):
    assert nice(value) == top


def test_a_bar_is_as_high_as_its_value_and_the_smallest_can_be_seen():
    drawn = bars([0, 10, 0.001, 5])
    assert drawn.top == 10
    heights = [float(height) for height in re.findall(r"v-([\d.]+)h", drawn.paths[0])]
    assert heights == [HEIGHT, 1, HEIGHT / 2]
    starts = [float(start) for start in re.findall(r"M([\d.]+) ", drawn.paths[0])]
    assert starts == [WIDTH / 4, WIDTH / 2, 3 * WIDTH / 4]


def test_series_that_stand_on_each_other_reach_the_sum():
    drawn = stacked([1, 0], [2, 4], [0, 1])
    assert drawn.top == 5
    tallest = [[float(height) for height in re.findall(r"v-([\d.]+)h", path)] for path in drawn.paths]
    assert tallest == [[HEIGHT / 5], [HEIGHT * 3 / 5, HEIGHT * 4 / 5], [HEIGHT * 3 / 5, HEIGHT]]


def test_what_goes_out_hangs_from_the_middle_to_the_same_scale():
    drawn = mirrored([4], [2])
    assert (drawn.top, drawn.height) == (4, 2 * HEIGHT)
    assert f"v-{HEIGHT}h" in drawn.paths[0]
    assert f"v{HEIGHT // 2}h" in drawn.paths[1]


def test_nothing_to_draw_is_drawn_as_nothing():
    assert bars([]).paths == ("",)
    assert bars([0, 0]).paths == ("",)


# the window


def test_the_window_shows_whole_seconds_and_spreads_minutes_evenly():
    at = after(WINDOW_SECONDS + LATE_SECONDS + 0.4)
    demand = (
        Stretch(after(-30), 60, "sold_out", 60),
        Stretch(after(10), 1, "reserved", 3),
        Stretch(after(10), 1, "sold_out", 7),
        Stretch(after(WINDOW_SECONDS), 1, "sold_out", 99),  # not whole yet
    )
    window = window_of(demand, (Sales(after(12), 2), Sales(after(-5), 9)), at)
    assert window.since == NOON
    assert window.asked[0] == window.asked[29] == 1.0
    assert (window.asked[10], window.taken[10], window.asked[30], window.paid[12]) == (11.0, 3.0, 0.0, 2.0)
    assert sum(window.asked) == 30 + 10
    assert sum(window.paid) == 2
    assert sum(row[1] for row in window.rows) == 40


# what happened


def happened(kind: str, seconds: float, *, order=None, **detail) -> Happening:
    return Happening(1, order, kind, {"by": "somebody"} | detail, after(seconds))


def test_equal_events_within_seconds_are_one_line_and_others_are_not():
    one, two, three = uuid4(), uuid4(), uuid4()
    lines = tell(
        [
            happened("paid", 20, order=three, amount_minor=4900),
            happened("held", 19, order=two),
            happened("paid", 18, order=two, amount_minor=4900),
            happened("paid", 17, order=two, amount_minor=900),
            happened("held", 2, order=one),
        ],
        VARIANTS,
        "EUR",
    )
    told = [(line.sentence, line.detail, line.times, bool(line.order)) for line in lines]
    held = "Somebody has a piece in their checkout"
    assert told == [("Paid", "€49.00", 2, False), (held, "", 1, True), ("Paid", "€9.00", 1, True), (held, "", 1, True)]


def test_what_the_seller_did_always_stands_alone_and_says_of_what():
    lines = tell([happened("units added", 2, units=4, variant=2), happened("units added", 1, units=-4, variant=2)], VARIANTS, "EUR")
    assert [(line.sentence, line.detail) for line in lines] == [("Pieces added", "4 White"), ("Pieces taken away", "4 White")]


def test_a_kind_without_words_is_shown_by_its_name_and_the_feed_is_bounded():
    lines = tell([happened("something new", -20 * place, order=uuid4()) for place in range(100)], VARIANTS, "EUR")
    assert len(lines) == TOLD_MAX
    assert lines[0].sentence == "something new"


def test_steps_that_the_next_line_tells_are_left_out():
    assert tell([happened(kind, 0, order=uuid4()) for kind in QUIET], VARIANTS, "EUR") == []


def test_the_words_are_german_for_those_who_read_german():
    with speaking(GERMAN):
        [line] = tell([happened("paid", 0, order=uuid4(), amount_minor=4900)], VARIANTS, "EUR")
    assert (line.sentence, line.detail) == ("Bezahlt", "49,00\N{NO-BREAK SPACE}€")


def test_every_kind_that_the_ledger_writes_has_words():
    code = "\n".join(path.read_text() for path in Path(app.ledger.__file__).parent.glob("*.py"))
    written = set(re.findall(r"note\(\s*ask, [^,]+, [^,]+, \"([a-z ]+)\"", code))
    assert len(written) > 20
    assert written - set(SENTENCES) == set()


# the provider


def charge(kind: str, seconds_ago: float, took: float | None = 1.0) -> Charge:
    return Charge(kind, after(-seconds_ago), took)


@pytest.mark.parametrize(
    ("charges", "state"),
    [
        ([], "quiet"),
        ([charge("paid", 400)], "quiet"),
        ([charge("paid", 10), charge("declined", 20)], "well"),
        ([charge("paid", 10, 9.0), charge("paid", 20, 8.0)], "slow"),
        ([charge("outcome unknown", 1), charge("paid", 10), charge("outcome unknown", 20)], "silent"),
        ([charge("outcome unknown", 1)], "silent"),
        ([charge("outcome unknown", 1), charge("paid", 2), charge("paid", 3)], "well"),
        ([charge("paid", 1, None)], "well"),
    ],
)
def test_the_provider_is_judged_by_how_the_newest_charges_ended(charges, state):
    assert provider_of(charges, NOON).state == state
