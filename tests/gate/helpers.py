"""What the gate's tests share: an armed drop, a way to ask for units, and the arithmetic that must always hold."""

import itertools
from collections import Counter

from app.domain.drops import Door
from app.domain.ids import new_order_id
from app.domain.keys import digest_of
from app.gate import Gate, Image, Reservation

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


async def arm(gate: Gate, totals=None, **changes) -> None:
    assert await gate.mend(DROP, None, image(totals, **changes)) == "mended"


def wants(buyer: int, variant: int = SMALL, quantity: int = 1, key: str | None = None) -> Reservation:
    """A fresh request; `key` None: one nobody has used."""
    return Reservation(buyer, key or f"k{next(_keys)}", digest_of(variant, quantity), variant, quantity, new_order_id(DROP))


async def buy(gate: Gate, buyer: int, variant: int = SMALL, quantity: int = 1, key: str | None = None):
    return await gate.reserve(DROP, wants(buyer, variant, quantity, key))


async def check_arithmetic(gate: Gate, client) -> None:
    """stock + Σ receipts = total, buyers = Σ receipts, held = Σ unpaid receipts, for every variant and buyer."""
    snapshot, peek = await gate.snapshot(DROP), await gate.peek(DROP)
    taken, unpaid, owned = Counter(), Counter(), {}
    for receipt in snapshot.receipts.values():
        taken[receipt.variant_id] += receipt.quantity
        unpaid[receipt.variant_id] += 0 if receipt.paid else receipt.quantity
        owned.setdefault(receipt.buyer, []).append(receipt)
    assert {variant: snapshot.stock[variant] + taken[variant] for variant in snapshot.stock} == snapshot.totals
    assert all(units >= 0 for units in snapshot.stock.values())
    assert peek.held == {variant: unpaid[variant] for variant in snapshot.stock}
    for buyer, value in (await client.hgetall(f"{{drop:{DROP}}}:buyers")).items():
        units, *orders = value.decode().split(" ")
        theirs = owned.pop(int(buyer), [])
        assert int(units) == sum(receipt.quantity for receipt in theirs)
        assert sorted(orders) == sorted(str(receipt.order_id) for receipt in theirs)
    assert owned == {}, "a receipt whose buyer the gate does not know"
