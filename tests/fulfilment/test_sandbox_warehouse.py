"""The sandbox warehouse behaves as badly as a real one, and only as badly as it is told to."""

import asyncio
from datetime import datetime, timedelta

import httpx
import pytest

from tests.fulfilment.conftest import connected
from tests.sandboxes import seen

ADDRESS = {"name": "Zoë 漢", "lines": ["1 Example Street"], "country": "DE"}
LINES = [{"item": "Mug, blue", "quantity": 2}]


async def order(client, reference: str) -> dict:
    response = await client.post("/orders", json={"reference": reference, "lines": LINES, "address": ADDRESS})
    assert response.status_code == 201, response.text
    return response.json()


async def listed(client, **query) -> list[dict]:
    response = await client.get("/orders", params=query)
    assert response.status_code == 200, response.text
    return response.json()["orders"]


async def test_an_order_gets_a_number_and_is_listed_under_its_reference(client, warehouse):
    made = await order(client, "listed")
    [found] = await listed(client, reference="listed")
    assert (found["number"], found["created"], found["lines"], found["tracking"]) == (made["number"], made["created"], LINES, None)
    assert {"number": made["number"], "reference": "listed", "created": made["created"]} in warehouse.ledger()


async def test_it_sends_two_parcels_to_who_asks_twice(client):
    numbers = {(await order(client, "twice"))["number"] for _ in range(2)}
    assert {found["number"] for found in await listed(client, reference="twice")} == numbers
    assert len(numbers) == 2


async def test_a_fresh_order_is_not_listed_until_the_lag_has_passed(client, warehouse):
    warehouse.script(lag=600)
    await order(client, "lagging")
    assert await listed(client, reference="lagging") == []
    assert "lagging" in {row["reference"] for row in warehouse.ledger()}
    warehouse.script(lag=0)
    assert len(await listed(client, reference="lagging")) == 1


async def test_since_leaves_out_what_is_older(client):
    made = await order(client, "since")
    moment = datetime.fromisoformat(made["created"])
    assert len(await listed(client, reference="since", since=made["created"])) == 1
    assert await listed(client, reference="since", since=(moment + timedelta(milliseconds=1)).isoformat()) == []


async def test_a_reply_may_be_lost_although_the_order_was_made(client, warehouse):
    warehouse.script(drop_after_create=1)
    with pytest.raises(httpx.RemoteProtocolError):
        await order(client, "lost")
    assert len(await listed(client, reference="lost")) == 1
    await order(client, "not lost")


async def test_a_create_that_times_out_lands_all_the_same(client, warehouse):
    warehouse.script(latency=[0.5, 0.5])
    with pytest.raises(httpx.ReadTimeout):
        await client.post("/orders", json={"reference": "late", "lines": LINES, "address": ADDRESS}, timeout=0.1)
    assert "late" not in {row["reference"] for row in warehouse.ledger()}
    await seen(lambda: "late" in {row["reference"] for row in warehouse.ledger()})


async def test_an_outage_answers_503_and_changes_nothing(client, warehouse):
    warehouse.script(outage=True)
    before = warehouse.ledger()
    for call in (client.post("/orders", json={"reference": "out", "lines": LINES, "address": ADDRESS}), client.get("/orders")):
        assert (await call).status_code == 503
    assert warehouse.ledger() == before


async def test_an_outage_that_begins_during_a_create_stops_it(client, warehouse):
    warehouse.script(latency=[0.5, 0.5])
    creating = asyncio.ensure_future(client.post("/orders", json={"reference": "caught", "lines": LINES, "address": ADDRESS}))
    await client.get("/orders")
    warehouse.script(outage=True)
    assert (await creating).status_code == 503
    assert "caught" not in {row["reference"] for row in warehouse.ledger()}


async def test_a_tracking_number_comes_after_a_while(client, warehouse):
    await order(client, "tracked")
    warehouse.script(tracking=600)
    assert [found["state"] for found in await listed(client, reference="tracked")] == ["packing"]
    warehouse.script(tracking=0)
    [found] = await listed(client, reference="tracked")
    assert (found["state"], found["tracking"][:3]) == ("sent", "SBX")


async def test_numbers_may_be_used_again(client, warehouse):
    warehouse.script(numbers=1)
    assert (await order(client, "reused-a"))["number"] == (await order(client, "reused-b"))["number"]


async def test_killed_it_keeps_its_books_and_forgets_its_script(mortal):
    async with connected(mortal) as client:
        await order(client, "kept")
        mortal.script(outage=True)
        before = mortal.ledger()
        mortal.killed()
        mortal.start()
        assert mortal.ledger() == before
        assert len(await listed(client, reference="kept")) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'{"reference":"","lines":[{"item":"x","quantity":1}],"address":{}}',
        b'{"reference":7,"lines":[{"item":"x","quantity":1}],"address":{}}',
        b'{"reference":"x","lines":[],"address":{}}',
        b'{"reference":"x","lines":[{"item":"x","quantity":0}],"address":{}}',
        b'{"reference":"x","lines":[{"item":"x","quantity":true}],"address":{}}',
        b'{"reference":"x","lines":[{"item":"x","quantity":1}],"address":"home"}',
        b"\xff",
    ],
)
async def test_a_faulty_order_is_refused_and_writes_nothing(client, warehouse, body):
    before = warehouse.ledger()
    response = await client.post("/orders", content=body)
    assert response.status_code == 400 and response.json()["error"]["message"]
    assert warehouse.ledger() == before


async def test_a_moment_that_is_none_is_refused(client):
    assert (await client.get("/orders", params={"since": "yesterday"})).status_code == 400


async def test_orders_and_doors_need_the_token(warehouse):
    async with httpx.AsyncClient(base_url=warehouse.url, headers={"Authorization": "Bearer wrong"}) as stranger:
        for response in (
            await stranger.get("/orders"),
            await stranger.post("/orders", json={}),
            await stranger.get("/sandbox/ledger"),
            await stranger.post("/sandbox/script", json={"outage": True}),
        ):
            assert response.status_code == 401
    assert warehouse.script()["outage"] is False


@pytest.mark.parametrize("script", [{"lag": -1}, {"drop_after_create": "1"}, {"numbers": 0}, {"outage": 1}, {"lagg": 1}])
def test_a_faulty_script_is_refused_whole(warehouse, script):
    before = warehouse.script()
    response = httpx.post(f"{warehouse.url}/sandbox/script", json=script, headers=warehouse.bearer)
    assert response.status_code == 400
    assert warehouse.script() == before


async def test_nothing_else_is_there(client):
    assert (await client.get("/nothing")).status_code == 404
