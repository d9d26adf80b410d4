"""Passkeys: adding, showing and removing them, with answers as a browser gives them, and everything that is not good enough."""

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from uuid import uuid4

import pytest

from app import clock
from app.domain import totp
from app.domain.roles import Role
from app.mail.letters import Letters
from app.settings import Settings
from app.web.seller import second_factor
from app.web.seller.passkey_signing import Site, site_of
from app.web.seller.sessions import SellerSessions
from tests.web.conftest import FORM, JSON, open_shop, settings_with
from tests.web.seller.authenticator import Authenticator, written
from tests.web.seller.conftest import doors_of, forgets_sellers, signs_in

ORIGIN = "http://localhost:8000"
TO_ADD, ADD = "/seller/passkeys/challenge", "/seller/passkeys"
TO_SHOW, SHOW = "/seller/second-factor/passkey/challenge", "/seller/second-factor/passkey"
STAFF, YOU, CODE = "/seller/staff", "/seller/you", "/seller/second-factor"
WRONG = {
    "another origin": {"origin": "https://localhost.example"},
    "another port": {"origin": "http://localhost:8001"},
    "another challenge": {"challenge": written(bytes(32))},
    "another site": {"site": "localhost.example"},
    "another kind of question": {"kind": "payment.get"},
}


@pytest.fixture
async def shop(redis_url, database_url, tmp_path):
    """The two shops of this folder at an address with a name, where browsers give passkeys."""
    settings = replace(settings_with(redis_url, database_url, data=str(tmp_path)), public_url=ORIGIN)
    async with open_shop(settings) as shop:
        shop.other_shop_id = await shop.ledger.create_shop("Elsewhere", "stranger@example.com")
        shop.seller_sessions = SellerSessions(shop.settings, shop.ledger, shop.feed)
        yield shop


@pytest.fixture
def device():
    return Authenticator(ORIGIN)


async def tells(client, path: str, **fields):
    return await client.post(path, json=fields, headers=JSON)


async def asks(client, path: str) -> dict:
    """-> what the browser is told to do."""
    answer = await tells(client, path)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def adds(client, device, name="Key ring", **changed):
    return await tells(client, ADD, name=name, credential=device.adds(await asks(client, TO_ADD), **changed))


async def shows(client, device, **changed):
    answer = await tells(client, SHOW, next=STAFF, credential=device.shows(await asks(client, TO_SHOW), **changed))
    if "seller" in client.cookies:  # the jar's newer cookie instead of the one the test began with
        client.headers.pop("cookie", None)
    return answer


async def grows_stale(shop, client) -> None:
    """A quarter of an hour passes."""
    await shop.rows("UPDATE seller_sessions SET proven_at = now() - interval '16 minutes' WHERE email = $1", client.email)
    await forgets_sellers(shop)


async def is_fresh(client) -> bool:
    return (await client.get(STAFF)).status_code == 200


async def names(shop, client) -> list[str]:
    return [passkey.name for passkey in await shop.ledger.passkeys(client.email)]


async def test_a_passkey_is_added_listed_and_opens_the_door_under_a_new_session(shop, owner, device):
    answer = await adds(owner, device, name="  Key   ring <1> ")
    assert answer.status_code == 201 and answer.json() == {"to": YOU}
    page = (await owner.get(YOU)).text
    assert "Key ring &lt;1&gt;" in page and "never" in page
    await grows_stale(shop, owner)
    assert not await is_fresh(owner)
    assert "data-passkey" in (await owner.get(CODE)).text
    answer = await shows(owner, device)
    assert answer.status_code == 200 and answer.json() == {"to": STAFF}
    assert await is_fresh(owner)
    assert await shop.ledger.seller_of_session(owner.session_id) is None, "the cookie of before opens nothing"
    [passkey] = await shop.ledger.passkeys(owner.email)
    assert passkey.used_at is not None and passkey.sign_count == 2 and passkey.transports == ["internal"]
    assert "never" not in (await owner.get(YOU)).text.partition('id="sessions"')[0]


async def test_what_the_browser_is_asked_names_the_site_and_prefers_that_the_person_is_verified(shop, owner, device):
    await adds(owner, device)
    to_add, to_show = await asks(owner, TO_ADD), await asks(owner, TO_SHOW)
    assert to_add["rp"]["id"] == to_show["rpId"] == "localhost" and to_add["attestation"] == "none"
    assert to_add["authenticatorSelection"]["userVerification"] == to_show["userVerification"] == "preferred"
    known = [one["id"] for one in to_add["excludeCredentials"]]
    assert known == [one["id"] for one in to_show["allowCredentials"]] == [written(device.credential_id)]
    challenges = {to_add["challenge"], to_show["challenge"], (await asks(owner, TO_SHOW))["challenge"]}
    assert len(challenges) == 3 and {len(one) for one in challenges} == {43}
    assert owner.email not in to_add["user"]["id"]


@pytest.mark.parametrize("changed", WRONG.values(), ids=WRONG)
async def test_a_passkey_is_not_added_by_an_answer_to(shop, owner, device, changed):
    assert (await adds(owner, device, **changed)).status_code == 422
    assert await names(shop, owner) == []


@pytest.mark.parametrize("changed", [*WRONG.values(), {"signature": b"forged"}, {"signature": b""}], ids=[*WRONG, "forged", "none"])
async def test_a_passkey_does_not_open_the_door_by_an_answer_to(shop, owner, device, changed):
    await adds(owner, device)
    await grows_stale(shop, owner)
    assert (await shows(owner, device, **changed)).status_code == 422
    assert not await is_fresh(owner)
    assert (await shows(owner, device)).status_code == 200, "and the right one does"


@pytest.mark.parametrize(
    "credential", [None, "text", [], {}, {"rawId": 7}, {"rawId": "é"}, {"rawId": "A" * 5000}, {"rawId": "AAAA"}]
)
async def test_what_is_no_answer_at_all_is_refused_and_breaks_nothing(shop, owner, device, credential):
    await adds(owner, device)
    for to_ask, path in ((TO_ADD, ADD), (TO_SHOW, SHOW)):
        await asks(owner, to_ask)
        assert (await tells(owner, path, name="x", credential=credential)).status_code == 422
    good = device.adds(await asks(owner, TO_ADD))
    good["response"]["attestationObject"] = written(b"\x9f" * 2000)
    assert (await tells(owner, ADD, name="x", credential=good)).status_code == 422
    assert len(await names(shop, owner)) == 1


async def test_an_answer_works_once(shop, owner, device):
    first = device.adds(await asks(owner, TO_ADD))
    assert (await tells(owner, ADD, name="Key ring", credential=first)).status_code == 201
    assert (await tells(owner, ADD, name="Again", credential=first)).status_code == 422
    shown = device.shows(await asks(owner, TO_SHOW))
    assert (await tells(owner, SHOW, credential=shown)).status_code == 200
    owner.headers.pop("cookie")
    assert (await tells(owner, SHOW, credential=shown)).status_code == 422, "its challenge is gone"
    await asks(owner, TO_SHOW)
    assert (await tells(owner, SHOW, credential=shown)).status_code == 422, "and another one is another one"


async def test_a_challenge_is_used_up_by_a_wrong_answer_too(shop, owner, device):
    await adds(owner, device)
    options = await asks(owner, TO_SHOW)
    assert (await tells(owner, SHOW, credential=device.shows(options, signature=b"x"))).status_code == 422
    assert (await tells(owner, SHOW, credential=device.shows(options))).status_code == 422


async def test_a_challenge_is_good_for_five_minutes_in_its_own_session_and_for_its_purpose(shop, owner, device):
    await adds(owner, device)
    options = await asks(owner, TO_SHOW)
    await shop.rows("UPDATE passkey_challenges SET made_at = now() - interval '301 seconds'")
    assert (await tells(owner, SHOW, credential=device.shows(options))).status_code == 422, "too late"

    elsewhere = await signs_in(shop, Role.OWNER)
    options = await asks(owner, TO_SHOW)
    assert (await tells(elsewhere, SHOW, credential=device.shows(options))).status_code == 422, "another session of the same person"

    options = await asks(elsewhere, TO_ADD)
    answer = await tells(elsewhere, SHOW, credential=device.shows({**options, "rpId": "localhost"}))
    assert answer.status_code == 422, "a challenge for adding"
    assert (await tells(owner, SHOW, credential=device.shows(await asks(owner, TO_SHOW)))).status_code == 200


async def test_a_counter_that_does_not_move_on_is_a_copy_and_is_refused(shop, owner, device):
    await adds(owner, device)
    assert (await shows(owner, device, count=7)).status_code == 200
    for count in (7, 6, 0):
        assert (await shows(owner, device, count=count)).status_code == 422
    assert (await shows(owner, device, count=8)).status_code == 200


async def test_an_authenticator_that_does_not_count_says_nought_for_ever(shop, owner):
    device = Authenticator(ORIGIN, counts=False)
    await adds(owner, device)
    for _ in range(2):
        assert (await shows(owner, device)).status_code == 200


async def test_of_two_copies_that_sign_with_the_same_count_one_is_let_in(shop, owner, device):
    await adds(owner, device)
    [passkey] = await shop.ledger.passkeys(owner.email)
    other = await signs_in(shop, Role.OWNER)
    sellers = [await shop.ledger.seller_of_session(client.session_id) for client in (owner, other)]
    shown = await asyncio.gather(*(shop.ledger.prove_by_passkey(seller, passkey.id, 9, uuid4()) for seller in sellers))
    assert sorted(shown) == [False, True]


async def test_the_passkey_of_somebody_else_opens_nothing_and_cannot_be_taken_away(shop, owner, stranger, device):
    theirs = Authenticator(ORIGIN)
    await adds(owner, device)
    await adds(stranger, theirs)
    await grows_stale(shop, owner)
    assert (await shows(owner, theirs)).status_code == 422
    assert not await is_fresh(owner)
    await shop.rows("UPDATE seller_sessions SET proven_at = now() WHERE email = $1", owner.email)
    await forgets_sellers(shop)
    [passkey] = await shop.ledger.passkeys(stranger.email)
    assert (await owner.post(f"{ADD}/{passkey.id}/remove", data={"sure": "yes"}, headers=FORM)).status_code == 404
    assert (await adds(owner, theirs)).status_code == 422, "a credential is one person's"
    assert await names(shop, stranger) == ["Key ring"] == await names(shop, owner)


async def test_ten_are_enough_and_each_has_a_name(shop, owner):
    for name in ("", "   ", "x" * 61):
        answer = await adds(owner, Authenticator(ORIGIN), name=name)
        assert answer.status_code == 422 and answer.json()["field"] == "name"
    for number in range(9):
        assert (await adds(owner, Authenticator(ORIGIN), name=f"No {number}")).status_code == 201
    late, tenth = Authenticator(ORIGIN), Authenticator(ORIGIN)
    other = await signs_in(shop, Role.OWNER)
    asked = await asks(other, TO_ADD)  # while there was room
    assert (await adds(owner, tenth, name="x" * 60)).status_code == 201
    assert (await tells(other, ADD, name="Eleventh", credential=late.adds(asked))).status_code == 422
    assert (await tells(owner, TO_ADD)).status_code == 422
    assert len(await names(shop, owner)) == 10


async def test_adding_and_removing_take_a_second_factor_shown_just_now_and_showing_takes_none(shop, owner, device):
    await adds(owner, device)
    [passkey] = await shop.ledger.passkeys(owner.email)
    await grows_stale(shop, owner)
    for path in (TO_ADD, ADD, f"{ADD}/{passkey.id}/remove"):
        assert (await tells(owner, path)).status_code == 403
    assert await names(shop, owner) == ["Key ring"]
    assert (await shows(owner, device)).status_code == 200
    assert (await tells(owner, f"{ADD}/{passkey.id}/remove")).status_code == 303
    assert await names(shop, owner) == []


async def test_whoever_has_set_up_no_second_factor_gets_no_passkey(shop):
    newcomer = await signs_in(shop, Role.OWNER, email="newcomer@example.org", proven=False)
    assert (await tells(newcomer, TO_ADD)).status_code == 403
    assert (await tells(newcomer, TO_SHOW)).status_code == 422
    assert "data-passkey" not in (await newcomer.get(YOU)).text + (await newcomer.get(CODE)).text


async def test_what_changes_passkeys_is_in_the_log_with_before_and_after_and_told_by_mail(shop, owner, device):
    owner.headers["accept-language"] = "de"
    await adds(owner, device)
    [passkey] = await shop.ledger.passkeys(owner.email)
    asked = await owner.post(f"{ADD}/{passkey.id}/remove", headers=FORM)
    assert asked.status_code == 200 and await names(shop, owner) == ["Key ring"], "asked first"
    await owner.post(f"{ADD}/{passkey.id}/remove", data={"sure": "yes"}, headers=FORM)
    removed, added = [entry for entry in await shop.ledger.audit_log(shop.shop_id) if entry.action.startswith("passkey")]
    assert (added.action, added.before, added.after) == ("passkey added", {}, {"passkey": "Key ring"})
    assert (removed.action, removed.before, removed.after) == ("passkey removed", {"passkey": "Key ring"}, {})
    mails = [mail for mail in await shop.ledger.newest(10) if mail.kind == "second_factor"]
    letters = [Letters("https://shop.example").write(mail) for mail in mails]
    assert [letter.subject for letter in letters] == [
        "Ein Passkey für das Dashboard wurde entfernt",
        "Ein Passkey für das Dashboard wurde hinzugefügt",
    ]
    assert all("„Key ring“" in letter.text for letter in letters)


async def test_beginning_anew_takes_the_passkeys_along(shop, owner, device):
    await adds(owner, device)
    await owner.post("/seller/second-factor/remove", data={"sure": "yes"}, headers=FORM)
    assert await names(shop, owner) == []
    [entry] = await shop.ledger.audit_log(shop.shop_id, action="second factor removed")
    assert entry.before == {"passkeys": ["Key ring"]}


async def test_a_reset_from_the_command_line_takes_them_along_too(shop, owner, device):
    await adds(owner, device)
    assert await shop.ledger.remove_second_factor(owner.email, "command line")
    assert await names(shop, owner) == []
    await forgets_sellers(shop)
    assert (await tells(owner, TO_SHOW)).status_code == 422


async def test_wrong_passkeys_use_up_none_of_the_tries_of_codes(shop, owner, device):
    await adds(owner, device)
    await grows_stale(shop, owner)
    for _ in range(6):
        assert (await shows(owner, device, signature=b"x")).status_code == 422
    key = second_factor.secret_of(doors_of(shop), bytes(20))
    code = totp.code_at(key, totp.step_at(clock.now()))
    assert (await owner.post(CODE, data={"code": code, "next": STAFF}, headers=FORM)).status_code == 303


async def test_at_an_ip_address_none_is_offered_and_the_page_says_why(redis_url, database_url, tmp_path):
    async with open_shop(settings_with(redis_url, database_url, data=str(tmp_path))) as shop:
        shop.seller_sessions = SellerSessions(shop.settings, shop.ledger, shop.feed)
        owner = await signs_in(shop, Role.OWNER)
        page = (await owner.get(YOU)).text
        assert "Browsers give passkeys only to a shop that is reached by name" in page and "data-passkey=" not in page
        for path in (TO_ADD, ADD, SHOW):
            assert (await tells(owner, path, name="x", credential={})).status_code == 422


@pytest.mark.parametrize(
    ("public_url", "site"),
    [
        ("https://shop.example", Site("shop.example", "https://shop.example")),
        ("https://Shop.example:443", Site("shop.example", "https://shop.example")),
        ("https://shop.example:8443", Site("shop.example", "https://shop.example:8443")),
        ("http://localhost:8000", Site("localhost", "http://localhost:8000")),
        ("http://shop.example", None),
        ("http://127.0.0.1:8000", None),
        ("https://192.0.2.1", None),
        ("https://[2001:db8::1]:8443", None),
    ],
)
def test_the_site_is_that_of_the_installations_address(public_url, site):
    assert site_of(replace(Settings(secret="s" * 32), public_url=public_url)) == site


def test_the_library_is_not_loaded_before_somebody_asks():
    code = "import json, sys, app.web.app, app.cli; print(json.dumps(sorted({'webauthn', 'cbor2', 'OpenSSL'} & set(sys.modules))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
