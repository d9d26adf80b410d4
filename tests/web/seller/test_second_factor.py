"""The second factor: setting it up, showing it, its limits, and what it protects."""

import re

import pytest

from app import clock
from app.domain import totp
from app.domain.roles import Role
from app.mail.letters import Letters
from app.web.seller import second_factor
from tests.web.conftest import FORM, JSON
from tests.web.seller.conftest import doors_of, signs_in

PAGE = "/seller/second-factor"


@pytest.fixture
async def newcomer(shop):
    """An owner who has no second factor yet."""
    return await signs_in(shop, Role.OWNER, email="newcomer@example.org", proven=False)


async def secret_of(shop, client) -> bytes:
    [row] = await shop.rows("SELECT nonce FROM second_factors WHERE email = $1", client.email)
    return second_factor.secret_of(doors_of(shop), row["nonce"])


async def shows(client, code: str, target: str = "/seller/staff"):
    return await client.post(PAGE, data={"code": code, "next": target}, headers=FORM)


def code_of(secret: bytes, steps: int = 0) -> str:
    return totp.code_at(secret, totp.step_at(clock.now()) + steps)


async def sets_up(shop, client) -> tuple[bytes, list[str]]:
    """-> (the secret, the recovery codes)."""
    await client.get(PAGE)
    secret = await secret_of(shop, client)
    page = await shows(client, code_of(secret, -1))  # the step before: this one is still good afterwards
    assert page.status_code == 200, page.text
    keeps_cookie(client)
    return secret, re.findall(r"<li>([a-z2-9 ]{14})</li>", page.text)


def keeps_cookie(client) -> None:
    """The jar's newer cookie instead of the one the test began with."""
    if "seller" in client.cookies:
        client.headers.pop("cookie", None)


async def needs_it(client) -> bool:
    answer = await client.get("/seller/staff")
    return answer.status_code == 303 and answer.headers["location"] == f"{PAGE}?next=/seller/staff"


async def test_an_owner_without_one_is_led_to_set_it_up(newcomer):
    assert (await newcomer.get("/seller")).status_code == 200, "looking needs none"
    assert await needs_it(newcomer)
    assert (await newcomer.get("/seller/staff", headers=JSON)).status_code == 403
    page = (await newcomer.get(f"{PAGE}?next=/seller/staff")).text
    assert "<svg" in page and "style=" not in page, "a QR code that the policy lets through"


async def test_setting_it_up_opens_the_door_and_hands_out_recovery_codes(shop, newcomer):
    secret, codes = await sets_up(shop, newcomer)
    assert len(set(codes)) == 10
    assert (await newcomer.get("/seller/staff")).status_code == 200
    rows = await shop.rows("SELECT * FROM second_factors NATURAL JOIN recovery_codes")
    at_rest = repr([dict(row) for row in rows])
    assert secret.hex() not in at_rest and repr(secret) not in at_rest
    assert not [code for code in codes if code.replace(" ", "") in at_rest]


async def test_the_page_shows_the_same_secret_until_it_is_in_use_and_never_after(shop, newcomer):
    shown = [re.search(r"data-secret>([A-Z2-7 ]+)<", (await newcomer.get(PAGE)).text)[1] for _ in range(2)]
    assert shown[0] == shown[1] and shown[0].replace(" ", "") == totp.written(await secret_of(shop, newcomer))
    await sets_up(shop, newcomer)
    assert "data-secret" not in (await newcomer.get(PAGE)).text


async def test_a_code_works_once_and_so_does_none_before_it(shop, newcomer):
    secret, _ = await sets_up(shop, newcomer)
    now = code_of(secret)
    assert (await shows(newcomer, now)).status_code == 303
    keeps_cookie(newcomer)
    assert (await shows(newcomer, now)).status_code == 422, "the same again"
    assert (await shows(newcomer, code_of(secret, -1))).status_code == 422, "an older one"
    assert (await shows(newcomer, code_of(secret, 1))).status_code == 303, "the next one"


async def test_after_five_wrong_codes_the_right_one_is_refused_in_every_session(shop, newcomer):
    secret, codes = await sets_up(shop, newcomer)
    elsewhere = await signs_in(shop, Role.OWNER, email=newcomer.email, proven=False)
    wrong = f"{(int(code_of(secret)) + 1) % 1_000_000:06d}"
    for client in (newcomer, elsewhere, newcomer, elsewhere, newcomer):
        assert (await shows(client, wrong)).status_code == 422
    answer = await shows(elsewhere, code_of(secret))
    assert answer.status_code == 422 and "Too many wrong codes" in answer.text
    assert (await shows(elsewhere, codes[0])).status_code == 422, "a recovery code is no way round"
    await shop.rows("UPDATE second_factors SET tries_since = now() - interval '16 minutes'")
    assert (await shows(elsewhere, code_of(secret))).status_code == 303, "a quarter of an hour later"


async def test_a_recovery_code_opens_once(shop, newcomer):
    _, codes = await sets_up(shop, newcomer)
    elsewhere = await signs_in(shop, Role.OWNER, email=newcomer.email, proven=False)
    assert (await shows(elsewhere, codes[3].upper())).status_code == 303
    keeps_cookie(elsewhere)
    assert (await elsewhere.get("/seller/staff")).status_code == 200
    assert (await shows(elsewhere, codes[3])).status_code == 422
    assert "9 recovery codes left" in (await elsewhere.get("/seller/you")).text


async def test_somebody_elses_code_opens_nothing(shop, newcomer):
    secret, codes = await sets_up(shop, newcomer)
    other = await signs_in(shop, Role.OWNER, email="other@example.org", proven=False)
    await sets_up(shop, other)
    assert (await shows(other, code_of(secret, 1))).status_code == 422
    assert (await shows(other, codes[0])).status_code == 422


async def test_showing_it_gives_the_session_a_new_cookie_and_voids_the_old_one(shop, newcomer):
    stolen = shop.browser(newcomer.headers["cookie"], accept="text/html")
    assert (await stolen.get("/seller")).status_code == 200
    await sets_up(shop, newcomer)
    assert (await newcomer.get("/seller")).status_code == 200
    assert (await stolen.get("/seller")).headers["location"].startswith("/seller/sign-in")


async def test_after_a_quarter_of_an_hour_it_is_asked_for_again(shop, owner):
    assert not await needs_it(owner)
    await shop.rows("UPDATE seller_sessions SET proven_at = now() - interval '16 minutes'")
    await shop.forgets_sellers()
    assert await needs_it(owner)
    assert (await owner.get("/seller")).status_code == 200


async def test_a_form_that_needed_it_leads_back_to_the_page_it_stood_on(shop, owner):
    await shop.rows("UPDATE seller_sessions SET proven_at = NULL")
    here = {"referer": "http://127.0.0.1:8000/seller/staff?x=1"}
    answer = await owner.post("/seller/staff", data={"email": "a@example.org", "role": "viewer"}, headers=FORM | here)
    assert answer.headers["location"] == f"{PAGE}?next=/seller/staff%3Fx%3D1"
    elsewhere = {"referer": "https://evil.example/seller/audit"}
    answer = await owner.post("/seller/staff", data={"email": "a@example.org", "role": "viewer"}, headers=FORM | elsewhere)
    assert answer.headers["location"] == f"{PAGE}?next=/seller"


async def test_new_recovery_codes_void_the_old_ones(shop, newcomer):
    _, old = await sets_up(shop, newcomer)
    page = await newcomer.post("/seller/second-factor/renew-codes", headers=FORM)
    new = re.findall(r"<li>([a-z2-9 ]{14})</li>", page.text)
    assert len(new) == 10 and not set(new) & set(old)
    assert (await shows(newcomer, old[0])).status_code == 422
    assert (await shows(newcomer, new[0])).status_code == 303


async def test_beginning_anew_asks_first_and_then_nothing_counts_as_shown(shop, newcomer):
    secret, _ = await sets_up(shop, newcomer)
    asked = await newcomer.post("/seller/second-factor/remove", headers=FORM)
    assert "Begin anew" in asked.text and not await needs_it(newcomer)
    answer = await newcomer.post("/seller/second-factor/remove", data={"sure": "yes"}, headers=FORM)
    assert answer.status_code == 303
    assert await needs_it(newcomer)
    await newcomer.get(PAGE)
    assert await secret_of(shop, newcomer) != secret


async def test_what_was_shown_long_ago_does_not_let_anybody_begin_anew(shop, owner):
    await shop.rows("UPDATE seller_sessions SET proven_at = now() - interval '16 minutes'")
    answer = await owner.post("/seller/second-factor/remove", data={"sure": "yes"}, headers=FORM)
    assert answer.headers["location"].startswith(PAGE)
    assert await shop.rows("SELECT 1 FROM second_factors WHERE email = $1", owner.email)


# ---- its owner is told


async def told(shop) -> list[tuple]:
    """-> (to whom, in which language, what changed) of the mails about second factors, oldest first."""
    mails = [mail for mail in reversed(await shop.ledger.newest(50)) if mail.kind == "second_factor"]
    return [(mail.recipient, mail.language, mail.facts["what_changed"]) for mail in mails]


async def test_its_owner_is_told_by_mail_of_every_change(shop, newcomer):
    await shop.rows("UPDATE sellers SET email_written = 'New.Comer@Example.org' WHERE email = $1", newcomer.email)
    newcomer.headers["accept-language"] = "de"
    secret, codes = await sets_up(shop, newcomer)
    await shows(newcomer, code_of(secret))  # to show it is no change
    keeps_cookie(newcomer)
    await shows(newcomer, "000000")
    await shows(newcomer, codes[0])
    keeps_cookie(newcomer)
    await newcomer.post("/seller/second-factor/renew-codes", headers=FORM)
    await newcomer.post("/seller/second-factor/remove", headers=FORM)  # only asked
    await newcomer.post("/seller/second-factor/remove", data={"sure": "yes"}, headers=FORM)
    to = ("New.Comer@Example.org", "de")
    assert await told(shop) == [(*to, "set_up"), (*to, "code_used"), (*to, "codes_renewed"), (*to, "removed")]
    letters = [Letters("https://shop.example").write(mail) for mail in await shop.ledger.newest(50) if mail.kind == "second_factor"]
    assert "Noch 9 Ersatzcodes." in letters[2].text and "in deinem Namen" in letters[0].text
    assert not [code for code in codes for letter in letters if code in letter.text or code.replace(" ", "") in letter.text]


async def test_whoever_lost_it_is_told_of_the_reset_in_the_language_in_which_it_was_set_up(shop, newcomer):
    newcomer.headers["accept-language"] = "de"
    await sets_up(shop, newcomer)
    assert await shop.ledger.remove_second_factor(newcomer.email, "command line")
    assert not await shop.ledger.remove_second_factor(newcomer.email, "command line")
    assert [mail[1:] for mail in await told(shop)] == [("de", "set_up"), ("de", "removed")]
    [mail, *_] = await shop.ledger.newest(1)
    letter = Letters("https://shop.example").write(mail)
    assert "Wer https://shop.example betreibt" in " ".join(letter.text.split())
