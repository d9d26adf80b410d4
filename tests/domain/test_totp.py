"""The codes of the second factor against the test vectors of the RFCs."""

import base64
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from app.domain import totp

SECRET = b"12345678901234567890"  # of both RFCs

# RFC 4226 appendix D
COUNTED = ["755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489"]
# RFC 6238 appendix B, SHA-1, the last six of the eight digits
TIMED = {
    59: "287082",
    1111111109: "081804",
    1111111111: "050471",
    1234567890: "005924",
    2000000000: "279037",
    20000000000: "353130",
}
NOW = datetime(2026, 11, 30, 20, 0, tzinfo=UTC)


@pytest.mark.parametrize(("counter", "code"), list(enumerate(COUNTED)))
def test_the_codes_of_rfc_4226(counter, code):
    assert totp.code_at(SECRET, counter) == code


@pytest.mark.parametrize(("seconds", "code"), list(TIMED.items()))
def test_the_codes_of_rfc_6238(seconds, code):
    moment = datetime.fromtimestamp(seconds, UTC)
    assert totp.code_at(SECRET, totp.step_at(moment)) == code
    assert totp.step_of(SECRET, code, moment) == seconds // 30


@pytest.mark.parametrize(("steps", "good"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_a_clock_may_be_off_by_one_step(steps, good):
    step = totp.step_at(NOW)
    there = totp.step_of(SECRET, totp.code_at(SECRET, step + steps), NOW)
    assert there == (step + steps if good else None)


def test_a_code_is_good_for_thirty_seconds_and_then_another_is():
    first = totp.code_at(SECRET, totp.step_at(NOW))
    assert totp.code_at(SECRET, totp.step_at(NOW + timedelta(seconds=29))) == first
    assert totp.code_at(SECRET, totp.step_at(NOW + timedelta(seconds=30))) != first


def test_what_is_no_code_belongs_to_no_step():
    for code in ("", "12345", "abcdef", "１２３４５６", "0" * 100):
        assert totp.step_of(SECRET, code, NOW) is None


def test_the_address_carries_the_secret_as_apps_read_it():
    url = urlsplit(totp.address(SECRET, "Doorman · Atelier", "ada@example.org"))
    asked = {name: value for name, [value] in parse_qs(url.query).items()}
    assert (url.scheme, url.netloc) == ("otpauth", "totp")
    assert asked["issuer"] == "Doorman · Atelier" and (asked["digits"], asked["period"]) == ("6", "30")
    assert base64.b32decode(asked["secret"]) == SECRET
