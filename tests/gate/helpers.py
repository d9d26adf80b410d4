"""What the gate's tests share: an armed drop, a way to ask for units, and the arithmetic that must always hold."""

import asyncio
import itertools
from collections import Counter
from uuid import UUID

from app.domain.drops import Door
from app.domain.ids import new_order_id
from app.domain.keys import digest_of
from app.gate import Gate, Heir, Image, JournalEntry, KeyRecord, Peek, Receipt, Reservation, Snapshot
from app.gate.keys import key as redis_key

DROP = 7
SMALL, LARGE = 71, 72  # variants

_keys = itertools.count()


def image(totals=None, **changes) -> Image:
    """An open drop with one unit of SMALL, one a person."""
    rules = {
        "door": Door.OPEN, "opens_ms": 0, "closes_ms": None, "per_person": 1, "hold_ms": 60_000, "clock_offset_ms": 0,
        "journal_entries_max": 1000, "totals": {SMALL: 1} if totals is None else totals,
    }  # fmt: skip
    return Image(**{**rules, **changes})


def receipt_of(entry: JournalEntry, paid: bool = False) -> Receipt:
    return Receipt(entry.order_id, entry.buyer, entry.variant_id, entry.quantity, entry.pay_by_ms, paid)


def key_of(entry: JournalEntry) -> KeyRecord:
    return KeyRecord(
        entry.buyer, entry.key, entry.order_id, entry.digest, entry.pay_by_ms, entry.variant_id, entry.quantity
    )  # fmt: skip


async def arm(gate: Gate, totals=None, **changes) -> None:
    assert await gate.mend(DROP, None, image(totals, **changes)) == "mended"


def wants(buyer: int, variant: int = SMALL, quantity: int = 1, key: str | None = None) -> Reservation:
    """A fresh request; `key` None: one nobody has used."""
    return Reservation(buyer, key or f"fresh-{next(_keys)}", digest_of(variant, quantity), variant, quantity, new_order_id(DROP))


async def buy(gate: Gate, buyer: int, variant: int = SMALL, quantity: int = 1, key: str | None = None):
    return await gate.reserve(DROP, wants(buyer, variant, quantity, key))


def heir(place: int, buyer: int, variant: int = SMALL, quantity: int = 1, **changes) -> Heir:
    return Heir(place, buyer, variant, quantity, new_order_id(DROP), **changes)


async def granted(gate: Gate, buyer: int, variant: int = SMALL, quantity: int = 1, key: str | None = None) -> UUID:
    """-> the order id of a purchase that must succeed."""
    answer = await buy(gate, buyer, variant, quantity, key)
    assert answer.verdict == "reserved"
    return answer.order_id


async def record_all(gate: Gate) -> list[JournalEntry]:
    """What the recorder does, without a ledger: read everything, acknowledge it -> the entries."""
    entries = [entry for _, entries in await gate.read_journal([DROP], "one", 1000, 1) for entry in entries]
    await gate.ack(DROP, [entry.entry_id for entry in entries])
    return entries


async def server_ms(client) -> int:
    """The gate's clock."""
    seconds, microseconds = await client.time()
    return seconds * 1000 + microseconds // 1000


async def contents(client) -> dict:
    """Every key of the server with all that is in it: equal before and after means nothing was written."""
    return {name: await client.dump(name) for name in sorted(await client.keys())}


async def until(condition) -> None:
    """Return once the condition holds."""
    async with asyncio.timeout(20):
        for _ in iter(condition, True):
            await asyncio.sleep(0.001)


async def check_arithmetic(gate: Gate, client, drop_id: int = DROP) -> tuple[Snapshot, Peek]:
    """stock + Σ receipts = total, buyers = Σ receipts, held = Σ unpaid receipts, for everyone -> what was looked at."""
    snapshot, peek = await gate.snapshot(drop_id), await gate.peek(drop_id, holders=True)
    taken, unpaid, owned = Counter(), Counter(), {}
    for receipt in snapshot.receipts.values():
        taken[receipt.variant_id] += receipt.quantity
        unpaid[receipt.variant_id] += 0 if receipt.paid else receipt.quantity
        owned.setdefault(receipt.buyer, []).append(receipt)
    assert {variant: snapshot.stock[variant] + taken[variant] for variant in snapshot.stock} == snapshot.totals
    assert all(units >= 0 for units in snapshot.stock.values())
    assert peek.held == {variant: unpaid[variant] for variant in snapshot.stock}
    for buyer, value in (await client.hgetall(redis_key(drop_id, "buyers"))).items():
        units, *orders = value.decode().split(" ")
        theirs = owned.pop(int(buyer), [])
        assert int(units) == sum(receipt.quantity for receipt in theirs)
        assert sorted(orders) == sorted(str(receipt.order_id) for receipt in theirs)
    assert owned == {}, "a receipt whose buyer the gate does not know"
    return snapshot, peek
