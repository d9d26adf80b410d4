"""Signing in to the dashboard: the journey, what a stranger learns (nothing), and how long a session lasts."""

from datetime import timedelta

from app.domain.roles import Role
from app.web.seller import sessions
from app.web.seller.access import seller_path
from tests.web.conftest import FORM, JSON
from tests.web.seller.conftest import signs_in

OWNER = "owner@example.org"  # of the shop that tests/web makes


async def asks(client, email=OWNER, target="/seller"):
    return await client.post("/seller/sign-in", data={"email": email, "next": target}, headers=FORM)


async def types(client, code):
    return await client.post("/seller/sign-in/code", data={"code": code}, headers=FORM)


async def is_in(client) -> bool:
    return (await client.get("/seller", headers=JSON)).status_code == 200


async def test_the_journey(shop):
    client = shop.browser()
    assert (await client.get("/seller/sign-in?next=/seller/you")).status_code == 200
    answer = await asks(client, "Owner+drops@Example.org", "/seller/you")
    assert (answer.status_code, answer.headers["location"]) == (303, "/seller/sign-in/code")
    assert "Owner+drops@Example.org" in (await client.get("/seller/sign-in/code")).text
    answer = await types(client, await shop.newest_code())
    assert (answer.status_code, answer.headers["location"]) == (303, "/seller/you")
    assert await is_in(client)
    answer = await client.post("/seller/sign-out", headers=FORM)
    assert answer.headers["location"] == "/seller/sign-in" and not await is_in(client)


async def test_the_cookie_is_the_sellers_own(shop, production_shop):
    client = shop.browser()
    await asks(client)
    [cookie] = [one for one in (await types(client, await shop.newest_code())).headers.get_list("set-cookie") if "seller=" in one]
    assert cookie.startswith("seller=") and "HttpOnly" in cookie and "SameSite=lax" in cookie and "Max-Age=43200" in cookie
    assert not (await client.get("/account", headers=JSON)).is_success  # it opens nothing in the shop
    assert sessions.SellerSessions(production_shop.settings, shop.ledger, shop.feed).name == "__Host-seller"


async def test_known_and_unknown_addresses_hear_the_same(shop):
    answers = [await asks(shop.browser(), email) for email in (OWNER, "nobody@example.org")]
    assert len({(a.status_code, a.headers["location"], a.text, tuple(sorted(set(a.headers) - {"date"}))) for a in answers}) == 1
    assert len({len(a.headers["set-cookie"]) // 10 for a in answers}) == 1
    assert len(shop.jobs.jobs) == 2, "the same steps are taken"


async def test_a_stranger_is_mailed_that_the_address_is_unknown_and_gets_no_code(shop):
    client = shop.browser()
    await asks(client, "nobody@example.org")
    [mail] = await shop.ledger.newest(1)
    assert mail.recipient == "nobody@example.org" and "works for no shop" in mail.body_text
    assert not [word for word in (mail.subject + mail.body_text).split() if word.isdigit() and len(word) == 6]
    assert (await types(client, "000000")).status_code == 422


async def test_the_code_goes_to_the_address_that_the_shop_wrote_down(shop):
    await shop.ledger.create_shop("Third", "Ada+shop@Example.org")
    for typed in ("ada@example.org", "ADA+evil@example.org"):
        await asks(shop.browser(), typed)
        assert (await shop.ledger.newest(1))[0].recipient == "Ada+shop@Example.org"


async def test_what_is_refused_is_said_on_a_page_of_the_dashboard(shop, viewer):
    for path, status in (("/seller/staff", 403), ("/seller/nothing", 404)):
        page = await viewer.get(path)
        assert page.status_code == status and 'data-side="seller"' in page.text and 'href="/seller"' in page.text


async def test_a_shoppers_code_does_not_open_the_dashboard(shop):
    client = shop.browser()
    await client.post("/sign-in", data={"email": OWNER, "next": "/"}, headers=FORM)
    code = await shop.newest_code()
    client.cookies.set("seller-asked", client.cookies["asked"])
    assert (await types(client, code)).status_code == 422
    assert not await is_in(client)


async def test_the_limits_are_those_of_the_shops_sign_in(shop):
    client = shop.browser()
    await asks(client)
    code = await shop.newest_code()
    for _ in range(5):
        assert (await types(client, f"{(int(code) + 1) % 1_000_000:06d}")).status_code == 422
    assert (await types(client, code)).status_code == 422, "a sixth try is none"
    for _ in range(5):
        await asks(shop.browser())
    assert len(await shop.ledger.newest(100)) == 5, "a sixth mail in an hour is none"


async def test_somebody_taken_off_the_staff_between_mail_and_code_stays_out(shop):
    client = shop.browser()
    await signs_in(shop, Role.VIEWER, email="gone@example.org")
    await asks(client, "gone@example.org")
    code = await shop.newest_code()
    await shop.rows("DELETE FROM sellers WHERE email = 'gone@example.org'")
    assert (await types(client, code)).status_code == 422


async def test_a_session_ends_after_twelve_hours(shop, viewer):
    assert await is_in(viewer)
    [row] = await shop.rows("SELECT expires_at - started_at AS lasts FROM seller_sessions WHERE id = $1", viewer.session_id)
    assert row["lasts"] == timedelta(hours=12)
    await shop.rows("UPDATE seller_sessions SET expires_at = now() WHERE id = $1", viewer.session_id)
    await shop.forgets_sellers()
    assert not await is_in(viewer)


async def test_a_cookie_that_is_none_of_ours_is_nobody(shop):
    for value in ("", "x", "1.00.AAAA", "1." + "0" * 32 + "." + "A" * 22, "é", "2." + "0" * 32):
        client = shop.browser(f"seller={value}".encode().decode("latin-1"))
        assert (await client.get("/seller", headers=JSON)).status_code == 401, value


async def test_a_revoked_session_is_refused_within_five_seconds_although_the_feed_is_deaf(shop, viewer, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(sessions, "monotonic", lambda: now[0])
    assert await is_in(viewer)
    await shop.rows("UPDATE seller_sessions SET ended_at = now() WHERE id = $1", viewer.session_id)
    now[0] += sessions.SELLER_SECONDS_MAX - 0.1
    assert not await is_in(viewer)


async def test_word_of_another_process_is_heard_at_once(shop, viewer):
    assert await is_in(viewer)
    await shop.rows("UPDATE seller_sessions SET ended_at = now() WHERE id = $1", viewer.session_id)
    assert await is_in(viewer), "remembered for a moment"
    await shop.forgets_sellers()
    assert not await is_in(viewer)


def test_what_comes_next_is_a_page_of_the_dashboard():
    for here in ("/seller", "/seller/staff?x=1", "/seller?a=b"):
        assert seller_path(here) == here
    for elsewhere in ("", "/", "//e.example", "/sellers", "/seller\\e", "https://e.example/seller", "/orders/1", "/seller/ x"):
        assert seller_path(elsewhere) == "/seller"
