from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from app.domain.ids import new_order_id
from app.domain.money import AMOUNT_MINOR_MAX
from app.domain.orders import Refusal
from app.ledger.deciding import BadEntry, Entry, Fate, check_entries, decide

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ADA, BOB, CYD = 1, 2, 3
RED, BLUE = 11, 12
HELD, KNOWN = (Fate.HELD, None), (Fate.KNOWN, None)
LEAKED, DUPLICATE = (Fate.REFUSED, Refusal.GATE_LEAKED), (Fate.REFUSED, Refusal.DUPLICATE_BUYER)


def entry(buyer: int, key: str, *, n: int = 0, variant: int = RED, quantity: int = 1) -> Entry:
    """`n`: the order's id, distinct per (buyer, key) unless told."""
    order_id = UUID(int=n or buyer * 1000 + ord(key))
    return Entry(order_id, buyer, variant, quantity, key, "digest", NOW, NOW + timedelta(minutes=10))


@pytest.mark.parametrize(
    ("sentence", "entries", "ledger", "expected"),
    [
        ("one unit, one buyer", [entry(ADA, "a")], {}, [HELD]),
        ("the first in the journal wins", [entry(ADA, "a"), entry(BOB, "b")], {"left": {RED: 1}}, [HELD, LEAKED]),
        ("nothing left", [entry(ADA, "a")], {"left": {RED: 0}}, [LEAKED]),
        ("a refusal takes nothing", [entry(ADA, "a", quantity=2), entry(BOB, "b")], {"left": {RED: 1}, "limit": 2}, [LEAKED, HELD]),
        ("whole or not at all", [entry(ADA, "a", quantity=3)], {"left": {RED: 2}, "limit": 3}, [LEAKED]),
        ("exactly the rest", [entry(ADA, "a", quantity=3)], {"left": {RED: 3}, "limit": 3}, [HELD]),
        ("units are per variant", [entry(ADA, "a"), entry(BOB, "b", variant=BLUE)], {"left": {RED: 0, BLUE: 1}}, [LEAKED, HELD]),
        ("recorded before", [entry(ADA, "a", n=7)], {"known": {UUID(int=7)}, "left": {RED: 0}}, [KNOWN]),
        ("the same entry twice in a batch", [entry(ADA, "a"), entry(ADA, "a")], {}, [HELD, KNOWN]),
        ("a refused entry twice in a batch", [entry(ADA, "a"), entry(ADA, "a")], {"left": {RED: 0}}, [LEAKED, KNOWN]),
        ("the limit counts the ledger's live units", [entry(ADA, "a")], {"live": {ADA: 1}}, [DUPLICATE]),
        ("another's units do not count", [entry(ADA, "a")], {"live": {BOB: 1}}, [HELD]),
        ("the limit counts this batch", [entry(ADA, "a"), entry(ADA, "b")], {}, [HELD, DUPLICATE]),
        ("a limit of two", [entry(ADA, "a"), entry(ADA, "b"), entry(ADA, "c")], {"limit": 2}, [HELD, HELD, DUPLICATE]),
        ("the limit is one over all variants", [entry(ADA, "a"), entry(ADA, "b", variant=BLUE)], {}, [HELD, DUPLICATE]),
        ("the limit is in units", [entry(ADA, "a", quantity=2), entry(ADA, "b")], {"limit": 2}, [HELD, DUPLICATE]),
        ("one order over the limit", [entry(ADA, "a", quantity=2)], {}, [DUPLICATE]),
        ("over the limit takes no unit", [entry(ADA, "a", quantity=2), entry(BOB, "b")], {"left": {RED: 1}}, [DUPLICATE, HELD]),
        ("a key that was used, by an order that has ended", [entry(ADA, "a")], {"keys": {(ADA, "a")}}, [DUPLICATE]),
        ("another's equal key", [entry(ADA, "a")], {"keys": {(BOB, "a")}}, [HELD]),
        ("one key twice in a batch", [entry(ADA, "a"), entry(ADA, "a", n=9)], {"limit": 2}, [HELD, DUPLICATE]),
        ("a refused key is free", [entry(ADA, "a", quantity=9), entry(ADA, "a", n=9)], {"limit": 9}, [LEAKED, HELD]),
        ("over the limit is said before nothing left", [entry(ADA, "a")], {"live": {ADA: 1}, "left": {RED: 0}}, [DUPLICATE]),
        ("known is said before everything", [entry(ADA, "a", n=7)], {"known": {UUID(int=7)}, "live": {ADA: 1}}, [KNOWN]),
        ("nothing to decide", [], {}, []),
    ],
)  # fmt: skip
def test_the_recorder_decides(sentence, entries, ledger, expected):
    decisions = decide(
        entries,
        known=ledger.get("known", ()),
        units_left={RED: 5, BLUE: 5} | ledger.get("left", {}),
        live_units=ledger.get("live", {}),
        taken_keys=ledger.get("keys", ()),
        per_person=ledger.get("limit", 1),
    )
    assert [decision.entry for decision in decisions] == entries
    assert [(decision.fate, decision.reason) for decision in decisions] == expected, sentence


def good(**changes) -> Entry:
    fields = dict(order_id=new_order_id(5), buyer=ADA, variant_id=RED, quantity=1, key="k", digest="d", reserved_at=NOW, pay_by=NOW)
    return Entry(**fields | changes)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (good(order_id=new_order_id(6)), "was not made for drop 5"),
        (good(variant_id=99), "has no variant 99"),
        (good(buyer=99), "no shopper 99"),
        (good(buyer=2**70), "no shopper"),
        (good(quantity=0), "not a quantity"),
        (good(quantity=-1), "not a quantity"),
        (good(quantity=2**40), "not a quantity"),
        (good(quantity=3), "not a quantity"),  # the amount would be above the largest
        (good(key=""), "malformed"),
        (good(key="k" * 71), "malformed"),
        (good(key="a\x00"), "malformed"),
        (good(digest="\x00"), "malformed"),
    ],
)
def test_an_entry_that_no_table_could_hold_is_named(bad, why):
    with pytest.raises(BadEntry, match=why) as caught:
        check_entries(5, [good(), bad], variants=[RED], shoppers=[ADA], price_minor=AMOUNT_MINOR_MAX // 2)
    assert caught.value.order_id == bad.order_id
