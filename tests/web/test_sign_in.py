"""Signing in by an e-mailed code: the journey, and what a stranger cannot do with it."""

import pytest

from app.web import account
from app.web.doors import own_path
from tests.web.conftest import FORM, JSON, PARTIAL


async def asks(client, email="Ada@example.org", target="/"):
    return await client.post("/sign-in", data={"email": email, "next": target}, headers=FORM)


async def types(client, code: str):
    return await client.post("/sign-in/code", data={"code": code}, headers=FORM)


async def is_signed_in(client) -> bool:
    return (await client.get("/account", headers=JSON)).status_code == 200


def other_than(code: str) -> str:
    return f"{(int(code) + 1) % 1_000_000:06d}"


async def test_the_journey(shop):
    client = shop.browser()
    assert (await client.get("/sign-in?next=/drops/lamp")).status_code == 200
    answer = await asks(client, target="/drops/lamp")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in/code")
    assert (await client.get("/sign-in/code")).status_code == 200
    answer = await types(client, await shop.newest_code())
    assert (answer.status_code, answer.headers["location"]) == (303, "/drops/lamp")
    assert await is_signed_in(client)
    assert (await client.get("/account", headers=JSON)).json() == {"email": "Ada@example.org"}


async def test_the_journey_as_json(shop):
    client = shop.browser()
    answer = await client.post("/sign-in", json={"email": "ada@example.org", "next": "/orders"}, headers=JSON)
    assert (answer.status_code, answer.json()) == (202, {"next": "/sign-in/code"})
    answer = await client.post("/sign-in/code", json={"code": await shop.newest_code()}, headers=JSON)
    assert (answer.status_code, answer.json()) == (200, {"signed_in": True, "next": "/orders"})
    assert await is_signed_in(client)


async def test_the_journey_by_htmx_leads_on_by_a_header(shop):
    client = shop.browser()
    answer = await client.post("/sign-in", data={"email": "ada@example.org"}, headers=PARTIAL)
    assert (answer.status_code, answer.headers["hx-redirect"]) == (200, "/sign-in/code")


async def test_spaces_and_dashes_in_a_code_are_nobodys_fault(shop):
    client = shop.browser()
    await asks(client)
    code = await shop.newest_code()
    assert (await types(client, f" {code[:3]}-{code[3:]} ")).status_code == 303


async def test_the_same_person_with_a_tag_or_capitals_is_the_same_shopper(shop):
    ids = set()
    for email in ("ada@example.org", "ADA@example.org", "ada+drops@Example.org"):
        client = shop.browser()
        await asks(client, email)
        await types(client, await shop.newest_code())
        ids.add(shop.sessions.of_cookies(f"session={client.cookies['session']}".encode()).shopper_id)
    assert len(ids) == 1


async def test_a_code_works_once(shop):
    client, again = shop.browser(), shop.browser()
    await asks(client)
    code = await shop.newest_code()
    again.cookies.update(client.cookies)
    assert (await types(client, code)).status_code == 303
    assert (await types(again, code)).status_code == 422
    assert not await is_signed_in(again)


async def test_a_code_only_counts_in_the_browser_that_asked(shop):
    asker, thief = shop.browser(), shop.browser()
    await asks(asker)
    code = await shop.newest_code()
    assert (await types(thief, code)).status_code == 422
    await asks(thief, "thief@example.org")
    assert (await types(thief, code)).status_code == 422
    assert not await is_signed_in(thief)
    assert (await types(asker, code)).status_code == 303


async def test_after_five_tries_the_right_code_is_void_too(shop):
    client = shop.browser()
    await asks(client)
    code = await shop.newest_code()
    for _ in range(5):
        assert (await types(client, other_than(code))).status_code == 422
    answer = await types(client, code)
    assert answer.status_code == 422
    assert not await is_signed_in(client)


async def test_the_fifth_try_may_still_be_right(shop):
    client = shop.browser()
    await asks(client)
    code = await shop.newest_code()
    for _ in range(4):
        await types(client, other_than(code))
    assert (await types(client, code)).status_code == 303


async def test_a_code_dies_after_ten_minutes(shop):
    client = shop.browser()
    await asks(client)
    code = await shop.newest_code()
    await shop.rows("UPDATE sign_in_codes SET expires_at = now() - interval '1 second'")
    assert (await types(client, code)).status_code == 422


async def test_a_sixth_mail_in_an_hour_is_refused_quietly(shop):
    answers = [await asks(shop.browser(), f"ada+{n}@example.org") for n in range(6)]
    shape = {(answer.status_code, answer.headers["location"], answer.text) for answer in answers}
    assert shape == {(303, "/sign-in/code", "")}
    assert len(await shop.ledger.newest(100)) == 5
    assert (await asks(shop.browser(), "grace@example.org")).status_code == 303
    assert len(await shop.ledger.newest(100)) == 6


async def test_known_and_unknown_addresses_hear_the_same(shop):
    known = shop.browser()
    await asks(known, "known@example.org")
    await types(known, await shop.newest_code())
    answers = [await asks(shop.browser(), email) for email in ("known@example.org", "unknown@example.org")]
    assert len({(a.status_code, a.headers["location"], a.text, tuple(sorted(set(a.headers) - {"date"}))) for a in answers}) == 1


async def test_the_code_is_nowhere_at_rest_but_in_the_mail(shop):
    await asks(shop.browser())
    code = await shop.newest_code()
    [row] = await shop.rows("SELECT id::text, code_hash FROM sign_in_codes")
    assert code.encode() not in row["code_hash"] and len(row["code_hash"]) == 32


async def test_the_mail_is_asked_to_be_sent_and_names_the_shops_own_address(shop):
    await shop.browser().post("/sign-in", data={"email": "ada@example.org"}, headers=FORM | {"host": "localhost:9"})
    [message] = await shop.ledger.newest(10)
    assert shop.jobs.jobs == [("deliver",)]
    assert (message.kind, message.recipient) == ("sign_in_code", "ada@example.org")
    assert shop.settings.public_url in message.body_text and "localhost" not in message.body_text + message.body_html


@pytest.mark.parametrize(
    "email", ["", "ada", "@example.org", "ada@", "ada@example", "a b@example.org", "ada@exa\nmple.org", "x" * 300]
)
async def test_what_is_no_address_is_422_and_mails_nobody(shop, email):
    for headers in (FORM, JSON):
        answer = await shop.browser().post("/sign-in", data={"email": email}, headers=headers)
        assert answer.status_code == 422
    assert not await shop.ledger.newest(10)


@pytest.mark.parametrize("code", ["", "12345", "1234567", "abcdef", "١٢٣٤٥٦", "1" * 100, "12\x003456"])
async def test_what_is_no_code_is_422_and_costs_no_try(shop, code):
    client = shop.browser()
    await asks(client)
    assert (await types(client, code)).status_code == 422
    [row] = await shop.rows("SELECT tries FROM sign_in_codes")
    assert row["tries"] == 0


async def test_a_forged_asked_cookie_asks_for_a_new_code(shop):
    client = shop.browser()
    client.cookies.set("asked", "forged.AAAAAAAAAAAAAAAAAAAAAA")
    assert (await types(client, "123456")).status_code == 422
    answer = await client.get("/sign-in/code")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")


PATHS_OF_OURS = ["/", "/drops/lamp", "/orders/1?t=a.b", "/drops/l%C3%A4mp", "/a//b"]
ELSEWHERE = [
    "", "//evil.example", "https://evil.example", "/\\evil.example", "\\\\evil", "/\tevil", "javascript:alert(1)",
    "/a\r\nSet-Cookie: x",
    "/\x00", " /drops", "/ /evil.example", "drops/lamp", "/" + "a" * 600, "/\u2028", "/\u00a0/evil",
]  # fmt: skip


def test_next_leads_to_paths_of_ours_only():
    assert [own_path(path) for path in PATHS_OF_OURS] == PATHS_OF_OURS
    assert {own_path(target) for target in ELSEWHERE} == {"/"}


async def test_next_is_judged_wherever_it_comes_from(shop):
    client = shop.browser()
    assert "evil" not in (await client.get("/sign-in?next=//evil.example")).text
    await client.post("/sign-in", json={"email": "ada@example.org", "next": "//evil.example"}, headers=JSON)
    answer = await types(client, await shop.newest_code())
    assert answer.headers["location"] == "/"


async def test_signing_out_forgets_this_browser(shop):
    client = await shop.shopper()
    answer = await client.post("/sign-out", headers=FORM)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "session=" in answer.headers["set-cookie"] and "Max-Age=0" in answer.headers["set-cookie"]


async def test_signing_out_everywhere_ends_every_session_of_this_shopper_alone(shop):
    client, other = await shop.shopper(), await shop.shopper()
    elsewhere = shop.browser(client.headers["cookie"])
    await client.post("/sign-out/everywhere", headers=FORM)
    assert not await is_signed_in(elsewhere)
    assert await is_signed_in(other)


async def test_a_new_sign_in_after_it_is_good_again(shop):
    client = shop.browser()
    for _ in range(2):
        await asks(client)
        await types(client, await shop.newest_code())
        assert await is_signed_in(client)
        await client.post("/sign-out/everywhere", headers=FORM)
        assert not await is_signed_in(client)


async def test_a_session_planted_in_a_browser_does_not_survive_its_sign_in(shop):
    client = shop.browser()
    planted = shop.sessions.value(4711, 0)
    client.cookies.set("session", planted, domain="127.0.0.1")
    await asks(client)
    answer = await types(client, await shop.newest_code())
    fresh = next(value for value in answer.headers.get_list("set-cookie") if value.startswith("session="))
    assert planted not in fresh and await is_signed_in(client)


def test_a_code_has_six_digits_and_ten_minutes():
    assert (account.CODE_DIGITS, account.CODE_SECONDS) == (6, 600)


async def test_a_mistyped_domain_is_offered_right_with_one_tap_and_never_forced(shop):
    client = shop.browser()
    assert (await asks(client, "Ada@gmial.com", "/drops/lamp")).headers["location"] == "/sign-in/code"  # as it was typed
    assert [mail.recipient for mail in await shop.ledger.newest(9)] == ["Ada@gmial.com"]
    page = (await client.get("/sign-in/code")).text
    assert "Did you mean Ada@gmail.com?" in page and 'name="email" value="Ada@gmail.com"' in page
    code = await shop.newest_code()
    wrong = await types(client, other_than(code))
    assert "Did you mean Ada@gmail.com?" in wrong.text  # still, where the digits never come
    assert (await types(client, code)).headers["location"] == "/drops/lamp"  # it was right after all


async def test_taking_the_likelier_address_sends_the_digits_there_and_keeps_the_place(shop):
    client = shop.browser()
    await asks(client, "ada@gmial.com", "/drops/lamp")
    await asks(client, "ada@gmail.com", "/drops/lamp")  # what the button of the page sends
    page = (await client.get("/sign-in/code")).text
    assert "Did you mean" not in page and "<strong>ada@gmail.com</strong>" in page
    assert (await shop.ledger.newest(1))[0].recipient == "ada@gmail.com"
    assert (await types(client, await shop.newest_code())).headers["location"] == "/drops/lamp"


async def test_the_address_is_corrected_where_the_digits_are_asked_for(shop):
    client = shop.browser()
    await asks(client, "adda@example.org", "/drops/lamp")
    page = (await client.get("/sign-in/code")).text
    form = page.split("<details")[1].split("</details")[0]
    assert 'action="/sign-in"' in form and 'value="adda@example.org"' in form and 'name="next" value="/drops/lamp"' in form
    refused = await asks(client, "ada@", "/drops/lamp")
    assert refused.status_code == 422 and 'value="ada@"' in refused.text


async def test_programs_hear_of_a_likelier_address_too(shop):
    answer = await shop.browser().post("/sign-in", json={"email": "ada@gmial.com"}, headers=JSON)
    assert answer.json() == {"next": "/sign-in/code", "did_you_mean": "ada@gmail.com"}
