"""What a drop looks like afterwards, from counts: the funnel, the chart's span, tax, spans of time."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from app.ledger import Account, OrdersLike, Stretch
from app.purchase.reporting import BARS_MAX, Tally, accounting_of, funnel_of, series_of, span_of

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def orders(state: str, number: int = 1, *, reason: str = "", offered=False, tried=False, paid=False) -> OrdersLike:
    return OrdersLike(state, reason, offered, tried, paid, number, 2 * number)


@pytest.mark.parametrize(
    ("row", "where"),
    [
        (orders("PENDING_PAYMENT"), "open"),
        (orders("PROCESSING", tried=True), "open"),
        (orders("EXPIRED", reason="deadline"), "expired_untried"),
        (orders("EXPIRED", reason="deadline", tried=True), "expired_tried"),
        (orders("FAILED", reason="declined", tried=True), "declined"),
        (orders("FAILED", reason="amount_mismatch", tried=True), "other"),
        (orders("CANCELLED", reason="by_shopper"), "by_shopper"),
        (orders("CANCELLED", reason="by_seller"), "by_seller"),
        (orders("REFUNDED", tried=True, paid=True), "refunded"),
        (orders("REFUSED", reason="gate_leaked"), "refused"),
        (orders("CANCELLED", reason="left_list", offered=True), "unwanted"),
    ],
)
def test_every_order_ends_in_exactly_one_place(row, where):
    funnel = funnel_of([row], presses=7)
    ends = (
        "open",
        "expired_untried",
        "expired_tried",
        "declined",
        "by_shopper",
        "by_seller",
        "other",
        "refunded",
        "refused",
        "unwanted",
    )
    assert {name for name in ends if getattr(funnel, name).orders} == {where}
    assert getattr(funnel, where) == Tally(1, 2)
    assert funnel.presses == 7


def test_steps_count_everyone_who_came_that_far_and_what_was_in_nobodys_hands_counts_nowhere():
    rows = [
        orders("PAID", 5, tried=True, paid=True),
        orders("PAID", 1, tried=True, paid=True, offered=True),
        orders("REFUNDED", 1, tried=True, paid=True),
        orders("EXPIRED", 3, reason="deadline"),
        orders("REFUSED", 9, reason="gate_leaked"),
        orders("CANCELLED", 9, reason="left_list", offered=True),
    ]
    funnel = funnel_of(rows, presses=0)
    assert (funnel.taken.orders, funnel.tried.orders, funnel.paid.orders, funnel.offered.orders) == (10, 7, 7, 1)
    assert funnel.taken.units == 20


def test_nobody_asked_and_there_is_nothing_to_draw():
    assert span_of(None) == (None, 1, 0)
    assert series_of([], None, 1, 0) == ([], [], [])


@pytest.mark.parametrize("seconds", [0, 1, 29, 100, 239, 240, 5000, 86_400])
def test_the_chart_holds_all_that_it_promises_in_bars_of_equal_length(seconds):
    since, bucket, places = span_of((NOON, after(seconds)))
    assert since == NOON
    assert places <= BARS_MAX
    assert bucket * places > min(seconds, 600 * BARS_MAX - 1)


def test_answers_fall_into_the_series_of_their_meaning():
    verdicts = ["reserved", "sold_out", "all_held", "paused", "too_fast"]
    buckets = [Stretch(after(10), 5, verdict, place + 1) for place, verdict in enumerate(verdicts)]
    assert series_of(buckets, NOON, 5, 4) == ([0, 0, 1, 0], [0, 0, 5, 0], [0, 0, 9, 0])


def account(gross: int, refunded: int = 0, *, points: int = 0, tax: int = 0) -> Account:
    return Account(1, "lamp", "Lamp", "EUR", NOON, 1, 1, gross, refunded, 0, 490, points, tax)


@pytest.mark.parametrize(("points", "rate"), [(1900, "19"), (725, "7.25")])
def test_tax_is_what_the_papers_say_beside_its_rate(points, rate):
    accounting = accounting_of(account(5400, 500, points=points, tax=782))
    assert (accounting.tax_minor, accounting.tax_rate_percent) == (782, Decimal(rate))


def test_without_a_rate_nothing_is_said_about_tax():
    accounting = accounting_of(account(4900))
    assert (accounting.net_minor, accounting.tax_minor, accounting.tax_rate_percent) == (4900, None, None)
