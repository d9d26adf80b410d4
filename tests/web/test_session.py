"""The session cookie: who made it, how long it is good, and that nothing a stranger sends is more than "not signed in"."""

import asyncio
import time

import pytest

from app.errors import LedgerUnreachable
from app.settings import Settings
from app.web.session import SESSION_SECONDS, Sessions, mint_cookies

SETTINGS = Settings(secret="s" * 32)
PRODUCTION = Settings(env="production", secret="s" * 32, public_url="https://shop.example")
SHOPPER = 4711


@pytest.fixture
def sessions():
    return Sessions(SETTINGS)


def read(sessions, value: str):
    return sessions.of_cookies(f"theme=dark; {sessions.name}={value}".encode())


def test_a_cookie_of_ours_names_its_shopper(sessions):
    session = read(sessions, sessions.value(SHOPPER, 2))
    assert (session.shopper_id, session.epoch) == (SHOPPER, 2)


def test_minted_cookies_are_signed_in(sessions):
    assert [sessions.of_cookies(cookie.encode()).shopper_id for cookie in mint_cookies(SETTINGS, [1, 2, 3])] == [1, 2, 3]


@pytest.mark.parametrize("position", range(len(Sessions(SETTINGS).value(SHOPPER, 0, 1_700_000_000))))
def test_no_character_of_a_cookie_can_be_changed_or_cut(sessions, position):
    value = sessions.value(SHOPPER, 0)
    other = "0" if value[position] != "0" else "1"
    assert read(sessions, value[:position] + other + value[position + 1 :]) is None
    assert read(sessions, value[:position]) is None


@pytest.mark.parametrize(
    "header",
    [
        b"", b";", b"=", b"session", b"session=", b"session=.", b"session=....", b"session=1.1.0.1.", b"session=\xff\xfe.\x00",
        b"session=" + b"A" * 10_000, b"session=1.1.0.zz.AAAAAAAAAAAAAAAAAAAAAA", b";;;session==;;",
    ],
)  # fmt: skip
def test_rubbish_is_not_signed_in(sessions, header):
    assert sessions.of_cookies(header) is None


@pytest.mark.parametrize("number", [2**63, 2**64, 16**16])
def test_a_number_that_nobody_can_have_is_not_signed_in(sessions, number):
    assert read(sessions, sessions.value(number, 0)) is None


def test_a_cookie_of_another_installation_is_a_forgery(sessions):
    assert read(sessions, Sessions(Settings(secret="t" * 32)).value(SHOPPER, 0)) is None


def test_a_value_signed_for_another_purpose_is_a_forgery(sessions):
    from app.web.signing import Signer

    assert read(sessions, Signer(SETTINGS.secret, "order", seconds_valid=60).sign([SHOPPER])) is None


def test_a_cookie_dies_after_thirty_days(sessions):
    now = int(time.time())
    assert read(sessions, sessions.value(SHOPPER, 0, now - SESSION_SECONDS + 60)) is not None
    assert read(sessions, sessions.value(SHOPPER, 0, now - SESSION_SECONDS - 1)) is None


def test_a_cookie_from_the_future_is_refused(sessions):
    assert read(sessions, sessions.value(SHOPPER, 0, int(time.time()) + 3600)) is None


def test_signing_out_everywhere_voids_older_cookies_and_no_others(sessions):
    before, other = sessions.value(SHOPPER, 0), sessions.value(SHOPPER + 1, 0)
    sessions.raise_epoch(SHOPPER, 1)
    assert read(sessions, before) is None
    assert read(sessions, sessions.value(SHOPPER, 1)) is not None
    assert read(sessions, other) is not None


def test_an_older_message_of_the_feed_does_not_bring_a_void_cookie_back(sessions):
    sessions.raise_epoch(SHOPPER, 3)
    sessions.raise_epoch(SHOPPER, 2)
    assert read(sessions, sessions.value(SHOPPER, 2)) is None


def test_a_good_cookie_counts_behind_a_stale_one_of_the_same_name(sessions):
    sessions.raise_epoch(SHOPPER, 1)
    both = f"session={sessions.value(SHOPPER, 0)}; session={sessions.value(SHOPPER, 1)}"
    assert sessions.of_cookies(both.encode()).epoch == 1


def test_the_cookie_is_bound_to_host_and_scheme_in_production():
    cookie = Sessions(PRODUCTION).fresh_cookie(SHOPPER, 0).to_header(header="")
    for part in ("__Host-session=", "HttpOnly", "SameSite=lax", "Path=/", "Secure"):
        assert part in cookie
    assert "Domain" not in cookie


def test_the_cookie_works_without_tls_in_development():
    cookie = Sessions(SETTINGS).fresh_cookie(SHOPPER, 0).to_header(header="")
    assert cookie.startswith("session=") and "HttpOnly" in cookie and "SameSite=lax" in cookie and "Secure" not in cookie


async def test_while_the_feed_is_deaf_sign_outs_are_read_from_the_ledger(sessions, monkeypatch):
    monkeypatch.setattr("app.web.session.EPOCH_POLL_SECONDS", 0.0)
    value, asked = sessions.value(SHOPPER, 0), asyncio.Event()

    class Ledger:
        gone = True

        async def signed_out_epochs(self):
            if self.gone:
                self.gone = False
                raise LedgerUnreachable("back at the next look")
            asked.set()
            return {SHOPPER: 1}

    class Feed:
        deaf = True

    polling = asyncio.create_task(sessions.poll_while_deaf(Ledger(), Feed()))
    async with asyncio.timeout(5):
        await asked.wait()
        await asyncio.sleep(0)
    polling.cancel()
    assert read(sessions, value) is None
