"""Money is a whole number of minor units and an ISO 4217 code; never a float."""

import re
from decimal import Decimal

from babel.core import get_global
from babel.numbers import format_currency

from app.errors import BadInput

AMOUNT_MINOR_MAX = 99_999_999  # Stripe's own bound for most currencies: eight digits

_AMOUNT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?")  # no exponent: Decimal would take 1e999999 and overflow later
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


def as_decimal(amount_minor: int, currency: str) -> Decimal:
    return Decimal(amount_minor).scaleb(-exponent(currency))


def format_money(amount_minor: int, currency: str, locale: str = "en") -> str:
    """4900, 'EUR', 'en' -> '€49.00'; 1250, 'KWD', 'en' -> 'KWD 1.250' (a code that stands for its sign keeps its distance)."""
    return _CODE_BY_DIGIT.sub("\u00a0", format_currency(as_decimal(amount_minor, currency), currency, locale=locale))
