"""Money and parcels through a whole Doorman: notices, refunds, a cancelled drop, workers killed (A05, A08, A10)."""

import asyncio
import json
import os
import signal
import time
from uuid import UUID

import asyncpg
import httpx
import pytest

from tests.house import SETTLED_SECONDS_MAX, House, Shopper

pytestmark = pytest.mark.slow

QUICK_PARCELS = {
    "DOORMAN_WAREHOUSE_TIMEOUT_SECONDS": "1",
    "DOORMAN_PARCEL_JOB_TIMEOUT_SECONDS": "2",
    "DOORMAN_PARCEL_DEAD_SECONDS": "3",
    "DOORMAN_PARCEL_SETTLE_SECONDS": "0.5",
}


@pytest.fixture(scope="module")
def house():
    house = House.made(**QUICK_PARCELS)
    try:
        house.start()
        for name in ("provider", "warehouse"):
            serves(house.parts()[name]["url"])
        yield house
    finally:
        house.tear_down()


def serves(url: str) -> None:
    """Return once somebody listens there: the sandboxes start after the first page is served."""
    give_up_at = time.monotonic() + SETTLED_SECONDS_MAX
    while True:
        try:
            httpx.get(url)
            return
        except httpx.TransportError:
            assert time.monotonic() < give_up_at, f"nobody serves {url}"
            time.sleep(0.05)


@pytest.fixture(autouse=True)
def quiet(house):
    """Both outsides answer at once and truly until a test says otherwise."""
    house.script(latency=[0, 0.05], decline_rate=0, drop_after_capture=0, outage=False, webhooks="normal")
    warehouse(house, lag=0, tracking=0, latency=[0, 0], drop_after_create=0, outage=False)


def warehouse(house, **what) -> None:
    part = house.parts()["warehouse"]
    done = httpx.post(f"{part['url']}/sandbox/script", json=what, headers={"Authorization": f"Bearer {part['token']}"})
    assert done.status_code == 200, done.text


def parcels(house, order) -> list[str]:
    """-> numbers of the parcels that the warehouse really has for this order."""
    part = house.parts()["warehouse"]
    rows = httpx.get(f"{part['url']}/sandbox/ledger", headers={"Authorization": f"Bearer {part['token']}"}).json()
    return [row["number"] for row in rows if row["reference"] == order]


def money(house, order) -> tuple[int, int]:
    """-> minor units captured and given back for this order at the provider."""
    rows = [row for row in house.provider_ledger() if row["order"] == order]
    return sum(row["captured"] for row in rows), sum(row["refunded"] for row in rows)


def told(house, *command, code=0) -> dict:
    return json.loads(house.doorman(*command, check=code == 0))


async def until(condition, what: str) -> None:
    give_up_at = time.monotonic() + SETTLED_SECONDS_MAX
    while not condition():
        assert time.monotonic() < give_up_at, f"never: {what}"
        await asyncio.sleep(0.1)


async def until_async(condition, what: str) -> None:
    give_up_at = time.monotonic() + SETTLED_SECONDS_MAX
    while not await condition():
        assert time.monotonic() < give_up_at, f"never: {what}"
        await asyncio.sleep(0.1)


async def heard(house, order) -> bool:
    """Whether the notice that this order's payment succeeded was handled, once."""
    connection = await asyncpg.connect(house.parts()["postgres"]["dsn"])
    try:
        rows = await connection.fetch(
            "SELECT effect FROM provider_notices WHERE order_id = $1 AND kind = 'payment_intent.succeeded'", UUID(order)
        )
    finally:
        await connection.close()
    return [row["effect"] in ("paid", "already") for row in rows] == [True]


async def held(house, slug, *more) -> tuple[Shopper, str]:
    house.opens_drop(slug, 1, *more)
    shopper = Shopper(house, house.shoppers(1)[0])
    order = (await shopper.buys(slug)).json()["order"]
    await shopper.sees(order, "PENDING_PAYMENT")
    return shopper, order


async def paid(house, slug, *more) -> tuple[Shopper, str]:
    shopper, order = await held(house, slug, *more)
    assert (await shopper.pays(order)).status_code == 202
    await shopper.sees(order, "PAID")
    return shopper, order


async def test_a_paid_order_becomes_one_parcel_and_its_page_shows_the_tracking_number(house):
    shopper, order = await paid(house, "parcel")
    await until(lambda: house.mails(order, "parcel_sent"), "a mail with the tracking number")
    seen = await shopper.order(order)
    assert seen["tracking"].startswith("SBX") and len(parcels(house, order)) == 1
    assert [event["what"] for event in json.loads(house.doorman("order", "history", order))][-3:] == [
        "parcel asked for",
        "parcel made",
        "parcel sent",
    ]


@pytest.mark.parametrize("mode", ["normal", "double", "reorder", "mute"])
async def test_notices_in_any_manner_settle_each_order_once(house, mode):
    house.script(webhooks=mode)
    shopper, order = await paid(house, f"notices-{mode}")
    await until(lambda: len(parcels(house, order)) == 1, "its parcel")
    assert money(house, order) == (4900, 0)
    if mode != "mute":
        await until_async(lambda: heard(house, order), "the notice of its capture")
    kinds = [event["what"] for event in json.loads(house.doorman("order", "history", order))]
    assert kinds.count("paid") == 1
    house.books_at_rest(f"notices-{mode}")


@pytest.mark.parametrize("moment", ["reply-lost", "killed-before-it-landed", "killed-after-it-landed"])
async def test_a_parcel_whose_making_goes_wrong_is_never_made_twice(house, moment):
    slug = f"parcel-{moment}"
    match moment:
        case "reply-lost":
            warehouse(house, drop_after_create=1)
            _, order = await paid(house, slug)
            await until(lambda: parcels(house, order), "made at the warehouse")
        case "killed-before-it-landed":
            warehouse(house, latency=[600, 600])
            _, order = await paid(house, slug)
            await until(lambda: "parcel asked for" in house.doorman("order", "history", order), "asked for")
            os.kill(house.parts()["worker"][0], signal.SIGKILL)
            await until(lambda: shown(house, order), "shown to the seller")
            assert parcels(house, order) == []
            warehouse(house, latency=[0, 0])
            assert told(house, "parcel", "resubmit", order)["parcel"] in ("made", "settling")
        case _:
            warehouse(house, latency=[0.4, 0.4])
            _, order = await paid(house, slug)
            await until(lambda: "parcel asked for" in house.doorman("order", "history", order), "asked for")
            await until(lambda: parcels(house, order), "made at the warehouse")
            os.kill(house.parts()["worker"][0], signal.SIGKILL)
    await until(lambda: "parcel made" in house.doorman("order", "history", order), "attached")
    assert len(parcels(house, order)) == 1
    await until(lambda: not shown(house, order), "nothing left to look at")


def shown(house, order) -> bool:
    return any(row["order"] == order for row in told(house, "attention", "--json", code=1)["attention"])


async def test_a_refund_by_the_seller_goes_back_once_and_puts_the_unit_on_sale(house):
    warehouse(house, outage=True)
    shopper, order = await paid(house, "refund")
    first = told(house, "order", "refund", order, "--restock")
    again = told(house, "order", "refund", order, "--restock")
    assert (first["amount_minor"], first["repeated"], again["repeated"]) == (4900, False, True)
    await shopper.sees(order, "REFUNDED")
    warehouse(house, outage=False)
    books = house.books_at_rest("refund")
    assert (books["gate_left"], books["refunded"]) == (1, 1)
    assert money(house, order) == (4900, 4900) and parcels(house, order) == []


async def test_cancelling_a_drop_refunds_everybody_although_the_worker_dies(house):
    house.opens_drop("cancelled", 6)
    shoppers = [Shopper(house, cookie) for cookie in house.shoppers(6)]
    orders = [(await shopper.buys("cancelled")).json()["order"] for shopper in shoppers]
    for shopper, order in zip(shoppers[:4], orders[:4], strict=True):
        await shopper.sees(order, "PENDING_PAYMENT")
        await shopper.pays(order)
    for shopper, order in zip(shoppers[:4], orders[:4], strict=True):
        await shopper.sees(order, "PAID")
    house.script(latency=[0.5, 0.5])
    house.doorman("drop", "cancel", "cancelled")
    await asyncio.sleep(0.8)
    os.kill(house.parts()["worker"][0], signal.SIGKILL)
    house.script(latency=[0, 0.05])
    done = told(house, "drop", "cancel", "cancelled", "--wait")
    assert (done["orders"], done["open"], done["to_refund"], done["refunded"]) == (6, 0, 0, 4)
    assert [money(house, order) for order in orders] == [(4900, 4900)] * 4 + [(0, 0)] * 2
    books = house.books_at_rest("cancelled")
    assert (books["gate_left"], books["refunded"]) == (6, 4)


def test_the_history_of_everything_above_proves_itself(house):
    proof = told(house, "books", "--verify-log")
    assert proof["proven"] and proof["events"] > 20
