"""Every scene of a drop reaches a page that is open, without a reload, and is what a reload shows."""

from datetime import UTC, datetime, timedelta

import pytest

pytestmark = pytest.mark.slow
ICONS = {"last_seconds": "go", "open": "go", "all_held": "wait", "paused": "wait"}
ICONS |= dict.fromkeys(("announced", "sold_out", "closed", "cancelled"), "plain")


def in_seconds(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


@pytest.fixture
async def stage(comes):
    """`await stage("open")`: the onlooker's page shows the scene, has not been loaded again, and reads like a fresh one."""
    onlooker, newcomer = await comes("onlooker@example.org"), await comes("newcomer@example.org")

    async def shows(phase: str, path: str = "") -> None:
        if path:
            await onlooker.opens(path)
            shows.path, shows.loads = path, onlooker.loads
        await onlooker.sees_phase(phase)
        await newcomer.opens(shows.path)
        await newcomer.sees_phase(phase)
        assert await onlooker.reads() == await newcomer.reads()
        assert await onlooker.tab_icon() == await newcomer.tab_icon() == ICONS[phase]
        assert onlooker.loads == shows.loads, "the scene must change without a reload"

    return shows


async def test_from_the_announcement_to_sold_out(house, stage, shoppers):
    house.ensure_shop()
    house.opens_drop("scenes", 2, "--opens-at", in_seconds(15))
    await stage("announced", "/drops/scenes")
    await stage("last_seconds")
    await stage("open")
    first, second, third = shoppers(3)
    orders = [(await shopper.buys("scenes")).json()["order"] for shopper in (first, second)]
    await stage("all_held")
    await first.sees(orders[0], "PENDING_PAYMENT")
    assert (await first.cancels(orders[0])).status_code == 200
    await stage("open")
    last = (await third.buys("scenes")).json()["order"]
    for shopper, order in ((second, orders[1]), (third, last)):
        await shopper.sees(order, "PENDING_PAYMENT")
        await shopper.pays(order)
        await shopper.sees(order, "PAID")
    await stage("sold_out")


async def test_what_the_seller_does(house, stage):
    house.opens_drop("seller", 5, "--variant", "Brass=3", "Soot=2")
    await stage("open", "/drops/seller")
    house.doorman("drop", "pause", "seller")
    await stage("paused")
    house.doorman("drop", "resume", "seller")
    await stage("open")
    house.doorman("drop", "close", "seller")
    await stage("closed")
    house.opens_drop("called-off", 5, "--opens-at", in_seconds(3600))
    await stage("announced", "/drops/called-off")
    house.doorman("drop", "cancel", "called-off")
    await stage("cancelled")
