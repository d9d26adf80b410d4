"""Who works here: inviting, changing roles, removing; the last owner stays."""

import asyncio
import re
from urllib.parse import urljoin

from app.domain.roles import Role
from app.ledger import Changed
from tests.web.conftest import FORM, JSON
from tests.web.seller.conftest import signs_in


async def invites(client, email="new@example.org", role="support"):
    return await client.post("/seller/staff", data={"email": email, "role": role}, headers=FORM)


async def id_of(shop, email: str) -> int:
    [row] = await shop.rows("SELECT id FROM sellers WHERE email = $1 AND shop_id = $2", email, shop.shop_id)
    return row["id"]


async def role_of(shop, email: str) -> str | None:
    rows = await shop.rows("SELECT role FROM sellers WHERE email = $1 AND shop_id = $2", email, shop.shop_id)
    return rows[0]["role"] if rows else None


async def changes(client, seller_id: int, was: str, role: str):
    return await client.post(f"/seller/staff/{seller_id}/role", data={"was": was, "role": role}, headers=FORM)


async def removes(client, seller_id: int):
    return await client.post(f"/seller/staff/{seller_id}/remove", data={"sure": "yes"}, headers=FORM)


async def test_an_invitation_is_a_mail_and_a_place_in_the_list(shop, owner):
    assert (await invites(owner, "New+work@Example.org")).status_code == 303
    assert await role_of(shop, "new@example.org") == "support"
    [mail] = await shop.ledger.newest(1)
    assert (mail.kind, mail.recipient) == ("staff_invited", "New+work@Example.org")
    assert "Atelier" in mail.body_text and f"{shop.settings.public_url}/seller" in mail.body_text and "Support" in mail.body_text
    page = (await owner.get("/seller/staff")).text
    assert "New+work@Example.org" in page and "invited" in page


async def test_whoever_was_invited_signs_in_with_that_role(shop, owner):
    await invites(owner, "new@example.org", "viewer")
    client = shop.browser()
    await client.post("/seller/sign-in", data={"email": "new@example.org"}, headers=FORM)
    await client.post("/seller/sign-in/code", data={"code": await shop.newest_code()}, headers=FORM)
    assert (await client.get("/seller", headers={"accept": "text/html"})).status_code == 200
    assert (await client.get("/seller/staff", headers=JSON)).status_code == 403
    assert "invited</span>" not in (await owner.get("/seller/staff")).text


async def test_the_mail_carries_no_markup_of_a_shops_name(shop, owner):
    await shop.rows("UPDATE shops SET name = '<img src=x>'")
    await shop.forgets_sellers()
    await invites(owner)
    [mail] = await shop.ledger.newest(1)
    assert "<img" not in mail.body_html and "&lt;img" in mail.body_html


async def test_what_is_no_invitation_is_refused_and_mails_nobody(shop, owner):
    for email, role in (("ada", "viewer"), ("ada@example.org", "king"), ("", "viewer")):
        assert (await invites(owner, email, role)).status_code == 422
    assert not await shop.ledger.newest(10)


async def test_nobody_is_invited_twice(shop, owner, viewer):
    answer = await invites(owner, "VIEWER@example.org", "owner")
    assert answer.status_code == 422 and "works here already" in answer.text
    assert await role_of(shop, "viewer@example.org") == "viewer"
    assert not await shop.ledger.newest(10)


async def test_an_hour_has_twenty_invitations_also_when_they_are_removed_again(shop, owner):
    for n in range(20):
        assert (await invites(owner, f"n{n}@example.org")).status_code == 303
        await shop.rows("DELETE FROM sellers WHERE email = $1", f"n{n}@example.org")
    answer = await invites(owner, "one-more@example.org")
    assert answer.status_code == 422 and await role_of(shop, "one-more@example.org") is None


async def test_a_changed_role_counts_at_the_next_click(shop, owner, viewer):
    assert (await viewer.get("/seller/staff", headers=JSON)).status_code == 403
    assert (await changes(owner, await id_of(shop, viewer.email), "viewer", "owner")).status_code == 303
    assert (await viewer.get("/seller/staff", headers=JSON)).status_code == 200
    assert (await changes(owner, await id_of(shop, viewer.email), "owner", "support")).status_code == 303
    assert (await viewer.get("/seller/staff", headers=JSON)).status_code == 403


async def test_a_role_is_changed_only_from_the_one_that_was_seen(shop, owner, viewer):
    seller_id = await id_of(shop, viewer.email)
    await changes(owner, seller_id, "viewer", "manager")
    answer = await changes(owner, seller_id, "viewer", "support")
    assert answer.status_code == 409 and "meanwhile" in answer.text
    assert await role_of(shop, viewer.email) == "manager"


async def test_removing_asks_first(shop, owner, viewer):
    asked = await owner.post(f"/seller/staff/{await id_of(shop, viewer.email)}/remove", headers=FORM)
    assert asked.status_code == 200 and "viewer@example.org" in asked.text and 'name="sure"' in asked.text
    assert await role_of(shop, viewer.email) == "viewer"
    other_language = re.search(r'href="([^"]*\?lang=de)"', asked.text)[1]
    assert (await owner.get(urljoin(str(asked.url), other_language))).status_code == 200


async def test_whoever_is_removed_is_out_at_once(shop, owner, viewer):
    assert (await viewer.get("/seller")).status_code == 200
    assert (await removes(owner, await id_of(shop, viewer.email))).status_code == 303
    assert (await viewer.get("/seller")).headers["location"].startswith("/seller/sign-in")


async def test_a_session_that_ended_with_a_removal_stays_ended_when_its_owner_is_invited_again(shop, owner, viewer):
    await removes(owner, await id_of(shop, viewer.email))
    await invites(owner, viewer.email, "owner")
    await shop.forgets_sellers()
    assert (await viewer.get("/seller", headers=JSON)).status_code == 401


async def test_removed_from_one_shop_stays_in_the_other(shop, owner):
    both = await signs_in(shop, Role.VIEWER, email="both@example.org")
    await signs_in(shop, Role.MANAGER, shop_id=shop.other_shop_id, email="both@example.org")
    await removes(owner, await id_of(shop, "both@example.org"))
    assert (await both.get("/seller", headers=JSON)).status_code == 401
    assert await shop.rows("SELECT 1 FROM sellers WHERE email = 'both@example.org' AND shop_id = $1", shop.other_shop_id)


async def test_the_last_owner_can_be_neither_removed_nor_demoted(shop, owner):
    seller_id = await id_of(shop, owner.email)
    assert (await removes(owner, seller_id)).status_code == 409
    answer = await changes(owner, seller_id, "owner", "manager")
    assert answer.status_code == 409 and "needs an owner" in answer.text
    assert await role_of(shop, owner.email) == "owner"


async def test_an_owner_who_never_signed_in_is_not_the_one_who_remains(shop, owner):
    await invites(owner, "typo@example.org", "owner")
    assert (await changes(owner, await id_of(shop, owner.email), "owner", "viewer")).status_code == 409


async def test_of_two_owners_one_may_go(shop, owner):
    await signs_in(shop, Role.OWNER, email="second@example.org")
    assert (await changes(owner, await id_of(shop, owner.email), "owner", "viewer")).status_code == 303
    assert await role_of(shop, owner.email) == "viewer"


async def test_two_owners_who_demote_each_other_at_once_leave_one(shop, owner):
    second = await signs_in(shop, Role.OWNER, email="second@example.org")
    ids = [await id_of(shop, owner.email), await id_of(shop, second.email)]
    told = await asyncio.gather(
        *(shop.ledger.change_role(shop.shop_id, seller_id, Role.OWNER, Role.VIEWER, "x") for seller_id in ids)
    )
    assert sorted(told) == [Changed.CHANGED, Changed.LAST_OWNER]


async def test_another_shops_staff_does_not_exist_here(shop, owner, stranger):
    [row] = await shop.rows("SELECT id FROM sellers WHERE shop_id = $1", shop.other_shop_id)
    for seller_id in (row["id"], 999_999, 2**40):
        assert (await changes(owner, seller_id, "owner", "viewer")).status_code == 404
        assert (await removes(owner, seller_id)).status_code == 404
    assert "stranger@example.com" not in (await owner.get("/seller/staff")).text


async def test_a_form_of_another_shop_is_refused(shop, owner):
    form = {"email": "new@example.org", "role": "viewer", "at_shop": str(shop.other_shop_id)}
    answer = await owner.post("/seller/staff", data=form, headers=FORM)
    assert answer.status_code == 409 and not await shop.ledger.newest(10)
    assert (await owner.post("/seller/staff", data=form | {"at_shop": str(shop.shop_id)}, headers=FORM)).status_code == 303
