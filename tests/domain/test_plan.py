"""A plan says everything that is in the way of publishing it, field by field, and gives what a drop needs once nothing is."""

from dataclasses import replace
from datetime import UTC, datetime

import msgspec
import pytest

from app.domain.drops import DropPicture, Waitlist
from app.domain.names import NOT_SEEN, TURNING
from app.domain.plan import (
    Plan,
    PlannedFee,
    PlannedPicture,
    PlannedVariant,
    checked,
    checked_words,
    copied,
    duration_text,
    plan_of,
    price_typed,
    seconds_of,
    slug_of,
)
from app.languages import GERMAN, speaking
from tests.web.test_templates import a_drop

NOW = datetime(2026, 3, 1, tzinfo=UTC)
HASH = "a" * 64
GOOD = Plan(
    title=" Night  lamp ",
    description="*Brass*\r\n",
    price="49.00",
    time_zone="Europe/Berlin",
    opens="2026-12-01T20:00",
    closes="2026-12-02T20:00",
    per_person="2",
    hold="10:00",
    offer="5",
    attempts="1",
    ships=True,
    served="listed",
    countries=("SE", "DE"),
    variants=(PlannedVariant("S", "5"), PlannedVariant("M", "1,000")),
    pictures=(PlannedPicture(HASH, " a  lamp "),),
)


def changed(**fields) -> Plan:
    return msgspec.structs.replace(GOOD, **fields)


def test_a_complete_plan_is_a_drop():
    found = checked(GOOD, NOW)
    assert found.complete
    assert found.values == {
        "title": "Night lamp",
        "slug": "night-lamp",
        "description": "*Brass*",
        "price_minor": 4900,
        "currency": "EUR",
        "time_zone": "Europe/Berlin",
        "opens_at": datetime(2026, 12, 1, 19, tzinfo=UTC),
        "closes_at": datetime(2026, 12, 2, 19, tzinfo=UTC),
        "per_person": 2,
        "hold_seconds": 600,
        "offer_seconds": 300,
        "payment_attempts": 1,
        "waitlist": Waitlist.OFFERS,
        "ships": True,
        "shipping_countries": ("DE", "SE"),
        "tax_basis_points": 0,
        "shipping_fees": None,
        "variants": (("S", 5), ("M", 1000)),
        "pictures": (DropPicture(HASH, "a lamp"),),
    }


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"title": "  "}, "title"),
        ({"title": "t" * 201}, "title"),
        ({"title": "夜灯"}, "slug"),
        ({"slug": "Upper Case"}, "slug"),
        ({"description": "d" * 10_001}, "description"),
        ({"price": ""}, "price"),
        ({"price": "forty"}, "price"),
        ({"price": "0"}, "price"),
        ({"price": "49.005"}, "price"),
        ({"price": "49.50", "currency": "JPY"}, "price"),
        ({"price": "1.2345", "currency": "KWD"}, "price"),
        ({"price": "1000000"}, "price"),
        ({"currency": "EURO"}, "currency"),
        ({"currency": ""}, "currency"),
        ({"currency": "XAU"}, "currency"),
        ({"currency": "DEM"}, "currency"),
        ({"time_zone": "Berlin"}, "time_zone"),
        ({"opens": ""}, "opens"),
        ({"opens": "soon"}, "opens"),
        ({"opens": "2026-02-01T10:00"}, "opens"),
        ({"opens": "2026-03-29T02:30"}, "opens"),
        ({"opens": "2026-10-25T02:30"}, "opens"),
        ({"closes": "2026-12-01T20:00"}, "closes"),
        ({"closes": "never"}, "closes"),
        ({"per_person": "0"}, "per_person"),
        ({"per_person": "1001"}, "per_person"),
        ({"per_person": "1.5"}, "per_person"),
        ({"per_person": "1000", "price": "999999"}, "per_person"),
        ({"hold": "0:00"}, "hold"),
        ({"hold": "25:00:00"}, "hold"),
        ({"offer": "1441:00"}, "offer"),
        ({"waitlist": "lottery"}, "waitlist"),
        ({"attempts": "11"}, "attempts"),
        ({"countries": ()}, "countries"),
        ({"countries": ("XX",)}, "countries"),
        ({"variants": ()}, "variants"),
        ({"variants": (PlannedVariant("S", "0"), PlannedVariant("M", "0"))}, "variants"),
        ({"variants": (PlannedVariant("S", "1"), PlannedVariant("", "1"))}, "variant-2-name"),
        ({"variants": (PlannedVariant("S", "1"), PlannedVariant(" S ", "1"))}, "variant-2-name"),
        ({"variants": (PlannedVariant("v" * 81, "1"),)}, "variant-1-name"),
        ({"variants": (PlannedVariant("S", "-1"),)}, "variant-1-units"),
        ({"variants": (PlannedVariant("S", "10.5"),)}, "variant-1-units"),
        ({"variants": (PlannedVariant("S", "1000001"),)}, "variant-1-units"),
        ({"pictures": (PlannedPicture(HASH, " "),)}, "picture-1-alt"),
        ({"pictures": (PlannedPicture(HASH, "a" * 301),)}, "picture-1-alt"),
        ({"pictures": (PlannedPicture(HASH, "a"), PlannedPicture(HASH, "b"))}, "pictures"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_nowhere_else(change, field):
    assert list(checked(changed(**change), NOW).problems) == [field]


def test_a_new_plan_says_everything_that_is_missing_at_once():
    assert set(checked(Plan(), NOW).problems) == {"title", "price", "opens", "variant-1-units"}


def test_a_repeated_time_is_asked_about_and_the_answer_counts():
    found = checked(changed(opens="2026-10-25T02:30"), NOW)
    assert (found.asked["opens"].earlier.hour, found.asked["opens"].later.hour) == (0, 1)
    assert checked(changed(opens="2026-10-25T02:30", opens_which="later"), NOW).values["opens_at"].hour == 1


def test_the_gap_names_the_times_beside_it():
    sentence = checked(changed(opens="2026-03-29T02:30"), NOW).problems["opens"]
    assert "01:59" in sentence and "03:00" in sentence and "Europe/Berlin" in sentence


@pytest.mark.parametrize(
    ("typed", "currency", "minor"),
    [("49,00", "EUR", 4900), ("1.250", "KWD", 1_250_000), ("1,250", "KWD", 1250), ("1.200", "JPY", 1200)],
)
def test_a_price_is_read_as_its_seller_writes_numbers(typed, currency, minor):
    with speaking(GERMAN):
        assert (
            checked(changed(price=price_typed(typed, "de"), currency=currency, per_person="1"), NOW).values["price_minor"] == minor
        )


def test_a_price_that_is_no_number_is_kept_as_it_was_typed():
    assert price_typed("about 5", "en") == "about 5" and price_typed("49", "en") == "49"


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Nachtlampe Nº 4, Größe M", "nachtlampe-no-4-grosse-m"),
        ("  --  ", ""),
        ("夜", ""),
        ("x" * 70, "x" * 64),
        ("a" * 63 + " b", "a" * 63),
    ],
)
def test_a_title_makes_an_address(title, slug):
    assert slug_of(title) == slug


@pytest.mark.parametrize(
    ("text", "seconds"), [("10:00", 600), ("10", 600), ("0:30", 30), ("1:5", None), ("", None), ("-1", None), ("x", None)]
)
def test_a_duration_is_minutes_and_seconds(text, seconds):
    assert seconds_of(text) == seconds


def test_a_hold_is_never_written_as_none():
    assert [duration_text(seconds) for seconds in (0.5, 1.5, 90, 3600)] == ["0:01", "0:02", "1:30", "60:00"]


def test_a_published_drop_can_be_planned_again():
    drop = a_drop()
    plan = plan_of(drop, drop.slug)
    assert not {"title", "price", "currency", "per_person", "hold", "variants"} & checked(plan, NOW).problems.keys()
    assert checked(plan, NOW).values["price_minor"] == drop.price_minor
    again = copied(plan)
    assert (again.slug, again.opens, again.closes, again.title) == ("", "", "", drop.title)


@pytest.mark.parametrize(("typed", "points"), [("", 0), ("19", 1900), ("7.25", 725), ("0", 0), ("100", 10_000)])
def test_a_tax_rate_is_percent_with_two_decimals(typed, points):
    assert checked(changed(tax=typed), NOW).values["tax_basis_points"] == points


@pytest.mark.parametrize("typed", ["7.255", "101", "a lot", "-1"])
def test_a_tax_rate_that_is_none_is_said_at_its_field(typed):
    assert list(checked(changed(tax=typed), NOW).problems) == ["tax"]


def fees(*rows: tuple[str, str]) -> tuple[PlannedFee, ...]:
    return tuple(PlannedFee(country, amount) for country, amount in rows)


def test_shipping_fees_are_amounts_of_the_currency_by_country():
    found = checked(changed(fees=fees(("DE", "4.90"), ("*", "0"))), NOW)
    assert found.complete and found.values["shipping_fees"] == {"DE": 490, "*": 0}
    assert checked(changed(ships=False, fees=fees(("DE", "x"))), NOW).values["shipping_fees"] is None


@pytest.mark.parametrize(
    ("rows", "field"),
    [
        ([("", "1"), ("*", "1")], "fee-1-country"),
        ([("XX", "1"), ("*", "1")], "fee-1-country"),
        ([("DE", "1"), ("DE", "2"), ("*", "1")], "fee-2-country"),
        ([("DE", "1.005"), ("*", "1")], "fee-1-amount"),
        ([("DE", ""), ("*", "1")], "fee-1-amount"),
        ([("DE", "1")], "fees"),  # Sweden is listed and has none
        ([("*", "999999.99")], "fees"),
    ],
)
def test_a_fee_that_cannot_be_is_said_in_its_line(rows, field):
    assert list(checked(changed(fees=fees(*rows)), NOW).problems) == [field]


def test_tax_and_fees_of_a_published_drop_are_planned_again():
    drop = replace(a_drop(), ships=True, tax_basis_points=725, shipping_fees={"DE": 490, "*": 1900})
    plan = plan_of(drop)
    assert (plan.tax, plan.fees) == ("7.25", fees(("DE", "4.90"), ("*", "19.00")))


@pytest.mark.parametrize(("odd", "why"), [("\u200b\u2060", NOT_SEEN), ("Lamp\u202e", TURNING), ("\u2067Lamp", TURNING)])
def test_names_that_nobody_sees_or_that_turn_the_writing_are_said_field_by_field(odd, why):
    plan = changed(title=odd, slug="lamp", variants=(PlannedVariant("S", "5"), PlannedVariant(odd, "5")))
    assert checked(plan, NOW).problems == {"title": why, "variant-2-name": why}
    assert checked_words(plan).problems == {"title": why}
    alike = checked(changed(variants=(PlannedVariant("S", "5"), PlannedVariant("S\u200b", "5"))), NOW)
    assert set(alike.problems) == {"variant-2-name"}
