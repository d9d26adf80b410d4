"""What belongs to a shopper: addresses, reminders, and the end of an account.

Guarantees: an address is kept once, however often it is used, and at most ADDRESSES_MAX of them; the order's own copy is taken
when it is given and never follows later changes of the list. Deleting an account is one transaction that takes every trace of the
person: address of mail, addresses of parcels, codes, mails, reminders, places, and where an order that was never paid would have
gone. Orders stay, as the books need them, and paid ones keep where they went, as an invoice must. History (events) never held
anything personal.
"""

import json
import secrets
from dataclasses import dataclass
from uuid import UUID

from app.domain.addresses import Address, as_stored
from app.domain.orders import OrderState
from app.ledger.events import SHOPPER, note
from app.ledger.pool import Pool

ADDRESSES_MAX = 10
REMIND_SECONDS = 15 * 60.0  # before the opening
GONE_DOMAIN = "deleted.invalid"


@dataclass(frozen=True, slots=True)
class KeptAddress:
    id: int
    address: Address


@dataclass(frozen=True, slots=True)
class InTheWay:
    """An order because of which an account cannot go yet."""

    order_id: UUID
    state: OrderState
    drop_title: str


class AccountsPart(Pool):
    async def addresses_of(self, shopper_id: int) -> list[KeptAddress]:
        """-> the last one used first."""
        rows = await self._rows("addresses_of", shopper_id, ADDRESSES_MAX)
        return [KeptAddress(row["id"], address_of(row["address"])) for row in rows]

    async def keep_address(self, shopper_id: int, address: Address) -> bool:
        async with self._transaction() as ask:
            kept = await ask.count("keep_address", shopper_id, _stored(address))
            await ask.count("forget_oldest_addresses", shopper_id, ADDRESSES_MAX)
            return kept == 1

    async def forget_address(self, shopper_id: int, address_id: int) -> bool:
        return await self._count("forget_address", shopper_id, address_id) == 1

    async def send_to(self, order_id: UUID, shopper_id: int, address: Address, *, keep: bool = True) -> bool:
        """Where this order goes -> False: too late, not theirs, or nothing is sent. `keep`: the address is there the next time."""
        async with self._transaction() as ask:
            drop_id = await ask.value("send_to", order_id, shopper_id, _stored(address))
            if drop_id is None:
                return False
            await note(ask, order_id, drop_id, "address given", SHOPPER)
            if keep:
                await ask.count("keep_address", shopper_id, _stored(address))
                await ask.count("forget_oldest_addresses", shopper_id, ADDRESSES_MAX)
            return True

    async def orders_in_the_way(self, shopper_id: int) -> list[InTheWay]:
        """-> the orders because of which this account cannot go yet."""
        return [_in_the_way(row) for row in await self._rows("orders_in_the_way", shopper_id)]

    async def forget_shopper(self, shopper_id: int) -> int | list[InTheWay] | None:
        """Delete an account -> the session epoch that voids every cookie; the orders in the way; None: it is gone already."""
        async with self._transaction() as ask:
            email = await ask.value("lock_shopper", shopper_id)
            if email is None:
                return None
            in_the_way = await ask.rows("orders_in_the_way", shopper_id)
            if in_the_way:
                return [_in_the_way(row) for row in in_the_way]
            written = (await ask.row("shopper", shopper_id))["email_written"]
            gone = f"{shopper_id}-{secrets.token_hex(8)}@{GONE_DOMAIN}"
            epoch = await ask.value("forget_shopper", shopper_id, gone)
            await ask.count("forget_addresses", shopper_id)
            await ask.count("forget_order_addresses", shopper_id)
            await ask.count("forget_reminders", shopper_id)
            await ask.count("forget_places", shopper_id)
            await ask.count("forget_codes", email)
            await ask.count("forget_mails", email, gone, written)
            return epoch

    async def remind(self, drop_id: int, shopper_id: int) -> bool:
        """Tell this shopper before the drop opens -> False: it will not open any more, or they are on the list already."""
        return await self._count("remind", drop_id, shopper_id) == 1

    async def remind_due(self) -> int:
        """Write the mails to everybody whose drop opens within REMIND_SECONDS, each once -> how many."""
        return await self._count("remind_due", REMIND_SECONDS)

    async def reminded(self, drop_id: int, shopper_id: int) -> bool:
        return await self._value("reminded", drop_id, shopper_id)


def address_of(stored: str | None) -> Address | None:
    return None if stored is None else Address(**json.loads(stored))


def _stored(address: Address) -> str:
    return json.dumps(as_stored(address))


def _in_the_way(row) -> InTheWay:
    return InTheWay(row["order_id"], OrderState(row["state"]), row["drop_title"])
