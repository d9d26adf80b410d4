"""The door of the dashboard where it is not about roles: sizes, a silent ledger, sockets that wait for a lost right, htmx."""

import asyncio

import pytest

from app.domain.roles import Right
from app.errors import LedgerUnreachable
from app.web.guard import SELLER_BYTES_MAX
from app.web.seller import sessions
from tests.web.conftest import FORM, JSON, PARTIAL
from tests.web.seller.conftest import doors_of


async def test_a_form_of_the_dashboard_may_be_longer_than_a_shoppers(shop):
    client = shop.browser()
    for bytes_sent, refused in ((SELLER_BYTES_MAX - 100, False), (SELLER_BYTES_MAX + 1, True)):
        answer = await client.post("/seller/sign-in", data={"email": "x" * bytes_sent}, headers=FORM)
        assert (answer.status_code == 413) is refused
    assert (await client.post("/sign-in", data={"email": "x" * 10_000}, headers=FORM)).status_code == 413


async def test_with_the_ledger_gone_nobody_comes_in_and_nobody_is_signed_out(shop, viewer, monkeypatch):
    async def silent(session_id):
        raise LedgerUnreachable("gone")

    with monkeypatch.context() as patch:
        patch.setattr(doors_of(shop).sellers.ledger, "seller_of_session", silent)
        answer = await viewer.get("/seller")
        assert answer.status_code == 503 and "retry-after" in answer.headers and "set-cookie" not in answer.headers
    assert (await viewer.get("/seller")).status_code == 200


async def test_htmx_is_led_to_the_sign_in_as_a_page(shop):
    answer = await shop.browser().get("/seller", headers=PARTIAL)
    assert answer.headers["hx-redirect"] == "/seller/sign-in?next=/seller"


@pytest.mark.parametrize("referer", ["http://[", "http://shop.example]/x", "//"])
async def test_a_form_that_comes_from_no_address_leads_to_the_first_page(shop, referer):
    answer = await shop.browser(accept="text/html").post("/seller/staff", data={}, headers=FORM | {"referer": referer})
    assert (answer.status_code, answer.headers["location"]) == (303, "/seller/sign-in?next=/seller")


async def test_a_shoppers_session_is_nobody_here(shop):
    assert (await (await shop.shopper()).get("/seller", headers=JSON)).status_code == 401


@pytest.mark.parametrize("loss", ["session ended", "role changed", "removed", "another shop"])
async def test_whoever_waits_for_a_lost_right_is_told(shop, support, monkeypatch, loss):
    monkeypatch.setattr(sessions, "SOCKET_ASKS_SECONDS", 0.01)
    monkeypatch.setattr(sessions, "MEMORY_SECONDS", 0.0)
    sellers = doors_of(shop).sellers
    seller = await sellers.of(support.session_id)
    waiting = asyncio.create_task(sellers.until_lost(seller, Right.ORDERS))
    await asyncio.sleep(0.1)
    assert not waiting.done(), "the right still holds"
    statement = {
        "session ended": "UPDATE seller_sessions SET ended_at = now() WHERE email = 'support@example.org'",
        "role changed": "UPDATE sellers SET role = 'viewer' WHERE email = 'support@example.org'",
        "removed": "DELETE FROM sellers WHERE email = 'support@example.org'",
        "another shop": "UPDATE seller_sessions SET shop_id = (SELECT max(id) FROM shops) WHERE email = 'support@example.org'",
    }
    await shop.rows(statement[loss])
    async with asyncio.timeout(10):
        await waiting


def test_a_lost_right_closes_a_socket_within_the_promised_time():
    assert sessions.MEMORY_SECONDS + sessions.SOCKET_ASKS_SECONDS < sessions.SELLER_SECONDS_MAX
