from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.money import (
    AMOUNT_MINOR_MAX,
    as_decimal,
    basis_points_of,
    correction_tax,
    current_currencies,
    exponent,
    format_money,
    included_tax,
    minor_of,
    parse_minor,
    percent_of,
    read_amount,
)
from app.errors import BadInput


@pytest.mark.parametrize(("currency", "decimals"), [("EUR", 2), ("USD", 2), ("JPY", 0), ("KWD", 3)])
def test_a_currency_has_its_own_decimals(currency, decimals):
    assert exponent(currency) == decimals


@pytest.mark.parametrize("currency", ["", "eur", "EURO", "ZZQ", "E R", "ÉUR", "12E"])
def test_what_is_no_currency_is_refused(currency):
    with pytest.raises(BadInput) as caught:
        exponent(currency)
    assert caught.value.field == "currency"


@pytest.mark.parametrize(
    ("text", "currency", "minor"),
    [
        ("49.00", "EUR", 4900),
        ("49", "EUR", 4900),
        ("0.01", "EUR", 1),
        ("0", "EUR", 0),
        ("49.0", "EUR", 4900),
        ("1.10", "EUR", 110),
        ("1200", "JPY", 1200),
        ("1200.00", "JPY", 1200),
        ("1.234", "KWD", 1234),
        ("999999.99", "EUR", AMOUNT_MINOR_MAX),
        (" 49.00 ", "EUR", 4900),
    ],
)
def test_an_amount_becomes_minor_units(text, currency, minor):
    assert parse_minor(text, currency) == minor


@pytest.mark.parametrize(
    ("text", "currency"),
    [
        ("-1", "EUR"), ("1.001", "EUR"), ("0.5", "JPY"), ("1.2345", "KWD"), ("1000000.00", "EUR"), ("1e9", "EUR"), ("NaN", "EUR"),
        ("Infinity", "EUR"), ("", "EUR"), ("4,90", "EUR"), ("€5", "EUR"), ("0x10", "EUR"), ("1e999999", "EUR"),
        ("1e-999999999", "EUR"), ("1_000", "EUR"), ("٣", "EUR"), ("9" * 5000, "EUR"), (".", "EUR"), ("1.", "EUR"),
    ],
)  # fmt: skip
def test_an_odd_amount_is_refused(text, currency):
    with pytest.raises(BadInput) as caught:
        parse_minor(text, currency)
    assert caught.value.field == "price"


@pytest.mark.parametrize(("minor", "currency"), [(0, "EUR"), (1, "EUR"), (4900, "EUR"), (1200, "JPY"), (1234, "KWD")])
def test_minor_units_survive_the_way_through_text(minor, currency):
    assert parse_minor(str(as_decimal(minor, currency)), currency) == minor


def test_an_amount_is_exact():
    assert as_decimal(110, "EUR") == Decimal("1.10")


@pytest.mark.parametrize(
    ("minor", "currency", "locale", "shown"),
    [
        (4900, "EUR", "en", "€49.00"),
        (4900, "EUR", "de", "49,00\xa0€"),
        (1200, "JPY", "en", "¥1,200"),
        (1234, "KWD", "en", "KWD\u00a01.234"),
    ],
)
def test_money_is_shown_in_the_reader_s_way(minor, currency, locale, shown):
    assert format_money(minor, currency, locale) == shown


@pytest.mark.parametrize(
    ("typed", "english", "german"),
    [
        ("49", "49", "49"),
        (" 49,00 ", "49.00", "49.00"),
        ("49.00", "49.00", "49.00"),
        ("0.5", "0.5", "0.5"),
        ("1.234,50", "1234.50", "1234.50"),
        ("1,234.50", "1234.50", "1234.50"),
        ("1\u2019234.50", "1234.50", "1234.50"),
        ("1\u202f234,5", "1234.5", "1234.5"),
        ("1.234.567", "1234567", "1234567"),
        ("1.250", "1.250", "1250"),  # the one that a language decides
        ("1,250", "1250", "1.250"),
    ],
)
def test_an_amount_is_read_as_people_write_it(typed, english, german):
    assert (str(read_amount(typed, "en")), str(read_amount(typed, "de"))) == (english, german)


@pytest.mark.parametrize(
    "typed",
    [
        "",
        ".",
        "1.",
        ",5",
        "-1",
        "+1",
        "1e5",
        "NaN",
        "Infinity",
        "\u0664\u0669",
        "49.5.5",
        "1.234,567.8",
        "12,34,567",
        "1 00",
        "\u20ac5",
        "9" * 31,
    ],
)
def test_what_could_be_anything_is_no_amount(typed):
    assert read_amount(typed, "en") is None and read_amount(typed, "de") is None


@pytest.mark.parametrize(
    ("amount", "currency", "minor"), [("49.00", "EUR", 4900), ("49.00", "JPY", 49), ("49.5", "JPY", None), ("1.2345", "KWD", None)]
)
def test_an_amount_has_no_more_decimals_than_its_currency(amount, currency, minor):
    assert minor_of(Decimal(amount), currency) == minor


def test_currencies_that_are_tender_today_are_offered():
    assert {"EUR", "JPY", "KWD", "SEK"} <= current_currencies() and not {"DEM", "ITL", "XAU"} & current_currencies()


GROSS = st.integers(0, AMOUNT_MINOR_MAX)
RATES = st.integers(0, 10_000)
CURRENCIES = st.sampled_from(["JPY", "EUR", "KWD"])


@pytest.mark.parametrize(
    ("gross", "points", "tax"),
    [(4900, 1900, 782), (119, 1900, 19), (110, 1000, 10), (1100, 1000, 100), (10_000, 0, 0), (1, 10_000, 1), (3, 10_000, 2)],
)
def test_tax_that_an_amount_includes_is_rounded_half_up(gross, points, tax):
    assert included_tax(gross, points) == tax and included_tax(-gross, points) == -tax


@given(GROSS, RATES, CURRENCIES)
def test_tax_is_what_exact_decimals_say_whatever_the_currency(gross, points, currency):
    decimals = exponent(currency)
    exact = as_decimal(gross, currency) * points / (10_000 + points)
    rounded = exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    assert as_decimal(included_tax(gross, points), currency) == rounded
    assert 0 <= included_tax(gross, points) <= gross


@given(RATES, st.lists(st.integers(1, 5_000_000), min_size=1, max_size=12))
def test_the_taxes_of_all_parts_that_go_back_are_the_tax_of_the_whole(points, parts):
    gross, returned, taxes = sum(parts), 0, []
    for part in parts:
        taxes.append(correction_tax(gross, returned, part, points))
        returned += part
    assert sum(taxes) == included_tax(gross, points) and min(taxes) >= 0


@given(RATES)
def test_a_rate_survives_the_way_through_percent(points):
    assert basis_points_of(percent_of(points)) == points


@pytest.mark.parametrize("percent", ["19.001", "-1", "100.01"])
def test_what_is_no_rate_is_none(percent):
    assert basis_points_of(Decimal(percent)) is None


def test_a_rate_is_written_as_short_as_it_can_be():
    assert [str(percent_of(points)) for points in (1900, 725, 550, 0, 10_000)] == ["19", "7.25", "5.5", "0", "100"]
