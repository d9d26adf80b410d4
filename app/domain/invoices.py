"""What an invoice, or the correction of one, says: frozen when it is numbered, whatever becomes of the shop, the drop or the order.

Amounts are minor units of `currency`. In a correction they are negative, and nothing is said about goods and shipping apart.
"""

import re

import msgspec

from app.domain.money import included_tax
from app.languages import _, money, percent

NUMBER = re.compile(r"([0-9]{4})-([0-9]{6,9})")


class Invoice(msgspec.Struct, frozen=True, kw_only=True):
    number: str  # '2026-000012': the shop's own series of the year, without a gap
    corrects: str | None = None  # the number of the invoice that this one corrects; None: it is an invoice itself
    day: str  # ISO date, by the shop's calendar
    language: str  # tag
    seller_name: str
    seller_address: str = ""  # lines
    tax_id: str = ""
    contact: str = ""
    buyer: tuple[str, ...] = ()  # lines of the address; none: no address was asked for
    buyer_country: str = ""  # ISO 3166-1 alpha-2
    order_id: str
    title: str
    variant: str
    quantity: int
    price_minor: int  # of one
    goods_minor: int
    shipping_minor: int
    ships: bool = False
    amount_minor: int  # all of it, tax included
    tax_basis_points: int
    tax_minor: int
    currency: str


def number_of(year: int, n: int) -> str:
    """2026, 12 -> '2026-000012'."""
    return f"{year}-{n:06d}"


def parse_number(text: str) -> tuple[int, int] | None:
    """'2026-000012' -> (2026, 12); None for what is no number of an invoice."""
    found = NUMBER.fullmatch(text)
    return (int(found[1]), int(found[2])) if found else None


def tax_line(gross_minor: int, currency: str, basis_points: int) -> str:
    """4900, 'EUR', 1900 -> 'incl. 19% VAT: €7.82', in the reader's language; "" without a rate."""
    if not basis_points:
        return ""
    tax = money(included_tax(gross_minor, basis_points), currency)
    return _("incl. %(rate)s VAT: %(tax)s", rate=percent(basis_points), tax=tax)
