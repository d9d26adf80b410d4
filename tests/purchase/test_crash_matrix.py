"""Every call to the outside × every way it can go wrong: one outcome, the same every time, and nothing done twice (A08, A10).

The table below is the specification; it is printed at the end of the run. Ways:

    before        the call never arrived, no reply
    reply lost    it landed, no reply
    after         it landed, the reply came, and the process died before it wrote anything down
    killed before the process was killed while the call was on its way, and it never arrived
    killed after  the same, and it landed
    refused       the outside refused the request itself
"""

import inspect
import re

import pytest

from app.domain.orders import OrderState, Refusal
from app.errors import BadInput, ProviderRefused, ProviderSilent, WarehouseRefused, WarehouseSilent
from app.purchase import fulfilling, paying
from app.purchase.refunding import refund_order
from tests.doubles import Died, ListQueue

ROUNDS_MAX = 4
WAYS = ("before", "reply lost", "after", "killed before", "killed after", "refused")
PAID, EXPIRED, REFUNDED = "PAID captured, 1 parcel", "EXPIRED none, 0 parcels", "REFUNDED refunded, 0 parcels"
SENT = "PAID captured, 1 parcel sent"
SEEN_TO = "PAID captured, shown, then 1 parcel"
EXPECTED = {
    "charge: create intent": dict.fromkeys(WAYS, PAID),
    "charge: confirm": dict.fromkeys(WAYS, PAID),
    "take over: retrieve": dict.fromkeys(WAYS, PAID),
    "back from the bank: retrieve": dict.fromkeys(WAYS, PAID),
    "give back: cancel": dict.fromkeys(WAYS, EXPIRED),
    "give back: cancel, but paid": dict.fromkeys(WAYS, PAID),
    "refund": dict.fromkeys(WAYS, REFUNDED),
    "parcel: list": dict.fromkeys(WAYS, PAID),
    "parcel: create": {
        "before": SEEN_TO,
        "reply lost": PAID,
        "after": PAID,
        "killed before": SEEN_TO,
        "killed after": PAID,
        "refused": PAID,
    },
    "parcel: follow": dict.fromkeys(WAYS, SENT),
}


class DyingLedger:
    """The ledger of a process that dies as soon as the outside has answered: nothing is written any more."""

    def __init__(self, ledger):
        self._ledger, self.dead = ledger, False

    def __getattr__(self, name):
        method = getattr(self._ledger, name)

        async def write(*arguments, **more):
            if self.dead:
                raise Died()
            return await method(*arguments, **more)

        return write


def break_call(shop, outside, call: str, way: str) -> None:
    """The next `call` to the outside goes wrong in this way."""
    silent, refused = (ProviderSilent, ProviderRefused) if outside is shop.provider else (WarehouseSilent, WarehouseRefused)
    match way:
        case "before":
            outside.faults[(call, "before")] = silent("no reply")
        case "reply lost":
            outside.faults[(call, "after")] = silent("no reply")
        case "killed before":
            outside.faults[(call, "before")] = Died()
        case "killed after":
            outside.faults[(call, "after")] = Died()
        case "refused":
            outside.faults[(call, "before")] = refused("no")
        case "after":
            shop.ledger = dying = DyingLedger(shop.ledger)
            answer = getattr(outside, call)

            async def answers_and_dies(*arguments):
                reply = await answer(*arguments)
                dying.dead = True
                return reply

            setattr(outside, call, answers_and_dies)


def mend_call(shop, outside, call: str, ledger) -> None:
    """The process that died is replaced by another, and the outside is itself again."""
    shop.ledger = ledger
    vars(outside).pop(call, None)
    outside.faults.clear()


async def submitted(shop, method="pm_card_visa"):
    drop = await shop.opens()
    shopper = await shop.shopper()
    order = await shop.holds(drop, shopper)
    await shop.till(ListQueue()).submit(order, shopper, method)
    return drop, order


async def charging(shop):
    drop, order = await submitted(shop)
    return drop, order, lambda: shop.till().charge(order, 1)


async def taking_over(shop):
    drop, order = await submitted(shop)
    shop.provider.faults[("confirm", "after")] = Died()
    with pytest.raises(Died):
        await shop.till().charge(order, 1)
    await shop.time_passes()
    return drop, order, lambda: shop.till().take_over(order)


async def coming_back(shop):
    drop, order = await submitted(shop, "pm_card_authenticationRequired")
    await shop.till().charge(order, 1)
    shop.provider.complete_authentication(order)
    return drop, order, lambda: shop.till().look_up(order)


async def giving_back(shop, *, paid=False):
    drop, order = await submitted(shop, "pm_card_authenticationRequired")
    await shop.till().charge(order, 1)
    await shop.deadline_passes(order)
    if paid:
        shop.provider.complete_authentication(order)
    return drop, order, lambda: shop.till().give_back(order, OrderState.EXPIRED, Refusal.DEADLINE)


async def giving_back_what_was_paid(shop):
    return await giving_back(shop, paid=True)


async def refunding(shop):
    drop, order, charge = await charging(shop)
    await charge()
    wanted = await refund_order(shop.ledger, order, restock=True)
    return drop, order, lambda: shop.till().refund(order, wanted.purpose)


async def shipping(shop):
    drop, order, charge = await charging(shop)
    await charge()
    await shop.time_passes()
    return drop, order, lambda: shop.packer().ship(order)


async def following(shop):
    drop, order, ship = await shipping(shop)
    assert await ship() == "made"
    shop.warehouse.sends = True
    await shop.time_passes()
    return drop, order, lambda: shop.packer().ship(order)


SCENES = {
    "charge: create intent": (charging, "create_intent"),
    "charge: confirm": (charging, "confirm"),
    "take over: retrieve": (taking_over, "retrieve"),
    "back from the bank: retrieve": (coming_back, "retrieve"),
    "give back: cancel": (giving_back, "cancel"),
    "give back: cancel, but paid": (giving_back_what_was_paid, "cancel"),
    "refund": (refunding, "refund"),
    "parcel: list": (shipping, "find"),
    "parcel: create": (shipping, "create"),
    "parcel: follow": (following, "find"),
}


def test_every_call_that_the_shop_makes_to_the_outside_stands_in_the_table():
    made = set()
    for module in (paying, fulfilling):
        made |= set(re.findall(r"self\._(?:provider|warehouse)\.(\w+)\(", inspect.getsource(module)))
    assert made == {call for _, call in SCENES.values()}
    assert {len(by_way) for by_way in EXPECTED.values()} == {len(WAYS)} and EXPECTED.keys() == SCENES.keys()


@pytest.fixture(scope="module")
def table(request):
    """Outcomes by scene and way, printed when the module is done."""
    outcomes: dict[str, dict[str, str]] = {}
    yield outcomes
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print()
        for scene, by_way in outcomes.items():
            for way, outcome in by_way.items():
                print(f"{scene:<28} {way:<14} {outcome}")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scene", SCENES)
async def test_whatever_goes_wrong_ends_with_the_outcome_of_the_table(shop, table, scene, way):
    make, call = SCENES[scene]
    outside = shop.warehouse if scene.startswith("parcel") else shop.provider
    drop, order, step = await make(shop)
    ledger = shop.ledger
    break_call(shop, outside, call, way)
    died = False
    try:
        await step()
    except Died:
        died = True
    assert died == (way in ("after", "killed before", "killed after")), "the fault was never met"
    assert not outside.faults, "the fault was never met"
    mend_call(shop, outside, call, ledger)
    outcome = await settled(shop, order)
    table.setdefault(scene, {})[way] = outcome
    assert outcome == EXPECTED[scene][way]
    row = await shop.ledger.order(order)
    kept = shop.provider.captures(order) * 4900 - shop.provider.refunded_minor(order)
    assert kept == (4900 if row.state is OrderState.PAID else 0)
    assert shop.provider.captures(order) <= 1 and shop.provider.refunded(order) <= 1
    assert (await shop.books_close(drop))["findings"] == []
    assert (await shop.ledger.verify_history()).broken == []


async def settled(shop, order) -> str:
    """Sweep until nothing changes any more, see to what is shown -> the outcome in words."""
    for _ in range(ROUNDS_MAX):
        await shop.time_passes()
        await shop.sweeps()
    shown = [found for found in await shop.ledger.attention(10) if found.order_id == order]
    words = ""
    if shown:
        assert [found.kind for found in shown] == ["parcel"] and len(shop.warehouse.numbers(order)) == 0
        words = "shown, then "
        assert await shop.packer().resubmit(order) == "made"
        with pytest.raises(BadInput, match="it is made"):
            await shop.packer().resubmit(order)
        assert await shop.ledger.attention(10) == []
    row = await shop.ledger.order(order)
    parcels = len(shop.warehouse.numbers(order))
    sent = " sent" if row.parcel == "sent" else ""
    return f"{row.state} {row.payment}, {words}{parcels} parcel{'' if parcels == 1 else 's'}{sent}"
