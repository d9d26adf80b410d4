"""Money is a whole number of minor units and an ISO 4217 code; never a float."""

import re
from decimal import Decimal

from babel.core import get_global
from babel.numbers import format_currency, get_decimal_symbol

from app.errors import BadInput

AMOUNT_CHARACTERS_MAX = 30
AMOUNT_MINOR_MAX = 99_999_999  # Stripe's own bound for most currencies: eight digits
BASIS_POINTS = 10_000  # of the whole: 1900 are 19 %

_AMOUNT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?")  # no exponent: Decimal would take 1e999999 and overflow later
_BETWEEN_DIGITS = re.compile(r"(?<=[0-9])[    '’](?=[0-9]{3}(?![0-9]))")
_TYPED = re.compile(r"[0-9][0-9.,]*[0-9]|[0-9]")
_GROUPED = re.compile(r"[0-9]+|[0-9]{1,3}(\.[0-9]{3})+|[0-9]{1,3}(,[0-9]{3})+")
_CODE_BY_DIGIT = re.compile(r"(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Z])")


def exponent(currency: str) -> int:
    """-> decimals of the currency (EUR 2, JPY 0, KWD 3), from the CLDR data; BadInput for a code that does not exist."""
    known = get_global("currency_fractions")
    if len(currency) != 3 or not currency.isascii() or not currency.isupper() or currency not in get_global("all_currencies"):
        raise BadInput(f"{currency!r} is not an ISO 4217 currency code such as EUR, JPY or KWD", field="currency")
    return known.get(currency, known["DEFAULT"])[0]


def parse_minor(text: str, currency: str) -> int:
    """'49.00', 'EUR' -> 4900. BadInput for a negative, too precise, too large or non-decimal amount."""
    decimals = exponent(currency)
    if not _AMOUNT.fullmatch(text.strip()):
        raise BadInput(f"{text!r} is not an amount such as 49.00", field="price")
    amount = Decimal(text.strip())
    minor = amount.scaleb(decimals)
    if minor != minor.to_integral_value():
        raise BadInput(f"{currency} has {decimals} decimals, {text!r} has more", field="price")
    if minor > AMOUNT_MINOR_MAX:
        raise BadInput(f"{text!r} is above the largest amount", field="price")
    return int(minor)


def read_amount(text: str, locale: str) -> Decimal | None:
    """An amount as people type it, whatever marks they use -> the number; None for what is none, or could be two.

    '1.234,50', '1,234.50' and "1’234.50" are the same everywhere. One mark with three digits behind it means what it means in
    `locale`: '1.250' is 1250 in German and 1.25 in English.
    """
    digits = _BETWEEN_DIGITS.sub("", text.strip())
    if len(digits) > AMOUNT_CHARACTERS_MAX or not _TYPED.fullmatch(digits):
        return None
    marks = [character for character in digits if character in ".,"]
    if not marks:
        return Decimal(digits)
    last, tail = marks[-1], re.split(r"[.,]", digits)[-1]
    if len(set(marks)) == 2:
        decimal = last
    elif len(marks) > 1:
        decimal = ""
    else:
        decimal = last if len(tail) != 3 else get_decimal_symbol(locale)
    whole, _, fraction = digits.rpartition(decimal) if decimal in marks else (digits, "", "")
    if not _GROUPED.fullmatch(whole) or decimal and decimal in whole:
        return None
    return Decimal(f"{whole.replace('.', '').replace(',', '')}{f'.{fraction}' if fraction else ''}")


def minor_of(amount: Decimal, currency: str) -> int | None:
    """-> the amount in minor units; None when the currency has fewer decimals than that."""
    minor = amount.scaleb(exponent(currency))
    return int(minor) if minor == minor.to_integral_value() else None


def current_currencies() -> frozenset[str]:
    """-> the ISO 4217 codes that are legal tender somewhere today."""
    used = get_global("territory_currencies").values()
    return frozenset(code for known in used for code, _, end, tender in known if end is None and tender)


def as_decimal(amount_minor: int, currency: str) -> Decimal:
    return Decimal(amount_minor).scaleb(-exponent(currency))


def format_money(amount_minor: int, currency: str, locale: str = "en") -> str:
    """4900, 'EUR', 'en' -> '€49.00'; 1250, 'KWD', 'en' -> 'KWD 1.250' (a code that stands for its sign keeps its distance)."""
    return _CODE_BY_DIGIT.sub("\u00a0", format_currency(as_decimal(amount_minor, currency), currency, locale=locale))


def included_tax(gross_minor: int, basis_points: int) -> int:
    """-> the tax within an amount that includes it: 4900, 1900 -> 782, half a minor unit up. -4900 -> -782."""
    whole = BASIS_POINTS + basis_points
    tax = (2 * abs(gross_minor) * basis_points + whole) // (2 * whole)
    return tax if gross_minor >= 0 else -tax


def correction_tax(gross_minor: int, returned_minor: int, returning_minor: int, basis_points: int) -> int:
    """-> the tax that goes back with `returning_minor`, after `returned_minor` of `gross_minor` did: whatever the parts, together
    they return exactly the tax of the whole."""
    left = gross_minor - returned_minor
    return included_tax(left, basis_points) - included_tax(left - returning_minor, basis_points)


def basis_points_of(percent: Decimal) -> int | None:
    """Decimal('19') -> 1900; None: more than two decimals, or no share of a whole."""
    points = percent * 100
    return int(points) if points == points.to_integral_value() and 0 <= points <= BASIS_POINTS else None


def percent_of(basis_points: int) -> Decimal:
    """1900 -> Decimal('19'); 725 -> Decimal('7.25')."""
    percent = Decimal(basis_points).scaleb(-2)
    return percent.to_integral_value() if percent == percent.to_integral_value() else percent.normalize()
