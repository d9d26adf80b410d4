"""One's own account: sessions and shops."""

from app.domain.roles import Role
from tests.web.conftest import FORM
from tests.web.seller.conftest import signs_in


async def is_in(client) -> bool:
    return (await client.get("/seller")).status_code == 200


async def test_ending_one_session_leaves_the_others(shop, viewer):
    phone = await signs_in(shop, Role.VIEWER)
    assert await is_in(phone)
    answer = await viewer.post(f"/seller/sessions/{phone.session_id}/end", headers=FORM)
    assert answer.status_code == 303 and await is_in(viewer) and not await is_in(phone)


async def test_ending_this_one_is_signing_out(viewer):
    answer = await viewer.post(f"/seller/sessions/{viewer.session_id}/end", headers=FORM)
    assert answer.headers["location"] == "/seller/sign-in" and not await is_in(viewer)


async def test_ending_all_others(shop, viewer):
    others = [await signs_in(shop, Role.VIEWER) for _ in range(2)]
    await viewer.post("/seller/sessions/end-others", headers=FORM)
    assert await is_in(viewer) and not [client for client in others if await is_in(client)]


async def test_somebody_elses_session_does_not_exist(shop, viewer, owner):
    assert (await owner.post(f"/seller/sessions/{viewer.session_id}/end", headers=FORM)).status_code == 404
    assert (await owner.post("/seller/sessions/nonsense/end", headers=FORM)).status_code == 404
    assert await is_in(viewer)
    assert str(viewer.session_id) not in (await owner.get("/seller/you")).text


async def test_one_address_in_two_shops_switches_and_gets_a_new_cookie(shop):
    both = await signs_in(shop, Role.VIEWER, email="both@example.org")
    await signs_in(shop, Role.OWNER, shop_id=shop.other_shop_id, email="both@example.org")
    page = (await both.get("/seller/you")).text
    assert "Go to Elsewhere" in page
    old = shop.browser(both.headers["cookie"], accept="text/html")
    answer = await both.post(f"/seller/shops/{shop.other_shop_id}/enter", headers=FORM)
    assert answer.headers["location"] == "/seller"
    both.headers["cookie"] = f"seller={answer.cookies['seller']}"
    assert "Elsewhere" in (await both.get("/seller")).text
    assert not await is_in(old), "the cookie of before is void"


async def test_a_shop_where_one_does_not_work_does_not_exist(shop, owner):
    for shop_id in (shop.other_shop_id, 999_999, 2**40):
        assert (await owner.post(f"/seller/shops/{shop_id}/enter", headers=FORM)).status_code == 404


async def test_the_list_names_browsers_in_two_words(shop):
    client = shop.browser(**{"user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"})
    await client.post("/seller/sign-in", data={"email": "owner@example.org"}, headers=FORM)
    await client.post("/seller/sign-in/code", data={"code": await shop.newest_code()}, headers=FORM)
    assert "Firefox, Linux" in (await client.get("/seller/you")).text


async def test_the_shop_that_is_entered_knows_who_came_and_nothing_of_where_from(shop):
    both = await signs_in(shop, Role.VIEWER, email="both@example.org")
    await signs_in(shop, Role.OWNER, shop_id=shop.other_shop_id, email="both@example.org")
    assert (await both.post(f"/seller/shops/{shop.shop_id}/enter", headers=FORM)).status_code == 303  # where they are already
    both.headers.pop("cookie", None)
    assert (await both.post(f"/seller/shops/{shop.other_shop_id}/enter", headers=FORM)).status_code == 303
    assert await shop.ledger.audit_log(shop.shop_id) == []
    [entry] = await shop.ledger.audit_log(shop.other_shop_id)
    assert (entry.actor, entry.action, entry.subject) == ("both@example.org", "shop entered", "both@example.org")
    assert (entry.before, entry.after) == ({}, {})
