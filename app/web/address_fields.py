"""An address as requests carry it, and the countries as pages name them."""

import functools
from collections.abc import Mapping
from uuid import UUID

from babel import Locale

from app.domain.addresses import COUNTRIES, address_from
from app.domain.drops import Drop, fee_in
from app.domain.ids import drop_of
from app.domain.orders import OrderState
from app.errors import BadInput, NotFound
from app.languages import N_, Language, _, spoken
from app.web.call import Call
from app.web.doors import Doors

ID_CHARACTERS_MAX = 18
OTHER_FEE = N_(
    "Sending it there costs another fee, and the amount stands since the payment began. Choose a country of the same fee."
)


async def give_address(call: Call, doors: Doors, order_id: UUID, shopper_id: int, *, keep: bool) -> bool:
    """The address that a request carries (typed, or `address_id` of a kept one) becomes the order's -> False: too late, or no need.

    `keep`: the owner is signed in; a typed address is kept for the next time and a kept one may be chosen. Whoever comes by the
    order's link touches nothing but the order. BadInput names the field that is wrong.
    """
    fields = call.fields()
    if keep and fields.get("address_id") not in (None, ""):
        wanted = id_of(str(fields["address_id"]))
        kept = next((one for one in await doors.ledger.addresses_of(shopper_id) if one.id == wanted), None)
        if kept is None:
            raise BadInput("This address is not kept any more. Choose another.", field="address_id")
        address = kept.address
    else:
        nested = fields.get("address")
        address = address_from(nested if isinstance(nested, Mapping) else fields)
    await check_served(doors, order_id, address.country)
    if await doors.ledger.send_to(order_id, shopper_id, address, keep=keep):
        return True
    await check_fee(doors, order_id, address.country)
    return False


async def check_served(doors: Doors, order_id: UUID, country: str) -> None:
    """BadInput when the order's drop is not sent to this country; the sentence says where it is sent."""
    drop = await doors.catalogue.find_by_id(drop_of(order_id))
    if drop is None or drop.shipping_to(country) is not None:
        return
    language = spoken()
    there = ", ".join(name for _code, name in countries_of(drop, language))
    sentence = _("It is not sent to %(country)s, only to: %(countries)s.", country=country_name(country, language), countries=there)
    raise BadInput(sentence, field="country")


async def check_fee(doors: Doors, order_id: UUID, country: str) -> None:
    """BadInput when an address came too late for what sending there costs: the amount stands from the first attempt to pay."""
    order = await doors.ledger.order(order_id)
    if order is None or order.state not in (OrderState.PENDING_PAYMENT, OrderState.PAID):
        return
    if fee_in(order.shipping_fees, country) != order.shipping_minor and (order.attempts or order.state is OrderState.PAID):
        raise BadInput(_(OTHER_FEE), field="country")


def countries_of(drop: Drop | None, language: Language) -> tuple[tuple[str, str], ...]:
    """-> the countries that this drop is sent to, by name; all of them for one that goes everywhere."""
    everywhere = countries_in(language)
    if drop is None:
        return everywhere
    return tuple(country for country in everywhere if drop.shipping_to(country[0]) is not None)


def carries_address(call: Call) -> bool:
    fields = call.fields()
    return bool(fields.get("address_id")) or "address" in fields or "street" in fields


@functools.cache
def countries_in(language: Language) -> tuple[tuple[str, str], ...]:
    """-> (code, name) of every country, by name in this language."""
    names = Locale.parse(language.locale).territories
    return tuple(sorted(((code, names[code]) for code in COUNTRIES), key=lambda country: country[1].casefold()))


def country_name(code: str, language: Language) -> str:
    return Locale.parse(language.locale).territories.get(code, code)


def id_of(text: str) -> int:
    """-> the number; NotFound for anything that no row can have."""
    if not (text.isascii() and text.isdigit() and len(text) <= ID_CHARACTERS_MAX):
        raise NotFound(text)
    return int(text)
