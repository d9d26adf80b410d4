import hmac

import pytest

from app.domain import hooks
from app.domain.hooks import KINDS, check_kinds, check_url, event_name, hook_key, is_outside, secret_of, signature, words_of
from app.errors import BadInput

KEY = hook_key("s" * 32)


@pytest.mark.parametrize("url", ["https://example.com/in", "https://example.com:8443/a?b=c", "https://[2606:4700::1111]/x"])
@pytest.mark.parametrize("production", [True, False])
def test_an_address_on_the_internet_is_taken(url, production):
    assert check_url(f" {url} ", production=production) == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "ftp://example.com",
        "https://",
        "https://a b/",
        "https://user:pw@example.com/",
        "https://ex\u00e4mple.com/",
        "https://example.com/#part",
        "https://example.com:99999/",
        "https://[::1",
        "https://example.com\\@evil/",
        "https://example.com/" + "a" * 2000,
        "https://example.com/\n",
        "javascript:alert(1)",
    ],
)
@pytest.mark.parametrize("production", [True, False])
def test_what_is_no_address_is_refused_everywhere(url, production):
    if url.endswith("\n"):
        url += "x"
    with pytest.raises(BadInput) as refused:
        check_url(url, production=production)
    assert refused.value.field == "url"


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/in",
        "https://localhost/in",
        "https://a.localhost/in",
        "https://127.0.0.1/in",
        "https://10.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://169.254.169.254/latest",
    ],
)
def test_in_production_a_webhook_leads_outside_over_https(url):
    assert check_url(url, production=False) == url
    with pytest.raises(BadInput):
        check_url(url, production=True)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"])
def test_what_is_on_the_internet(address):
    assert is_outside(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "::1",
        "::",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2001:db8::1",
        "fec0::1",
        "192.0.0.192",
        "168.63.129.16",
    ],
)
def test_what_is_not(address):
    assert not is_outside(address)


def test_a_signature_is_an_hmac_of_time_and_body_under_the_secret():
    secret = secret_of(KEY, b"n" * 20)
    expected = hmac.digest(secret.encode(), b'1764532800.{"a":1}', "sha256").hex()
    assert secret.startswith("whsec_") and signature([secret], 1764532800, b'{"a":1}') == f"t=1764532800,v1={expected}"


def test_while_a_secret_is_replaced_both_sign():
    old, new = secret_of(KEY, b"n" * 20), secret_of(KEY, b"m" * 20)
    assert signature([new, old], 1, b"x").count("v1=") == 2 and old != new != secret_of(hook_key("t" * 32), b"m" * 20)


def test_an_event_has_one_name_that_counts_nothing():
    names = {event_name(KEY, number) for number in (1, 2, 3)}
    assert len(names) == 3 and event_name(KEY, 1) in names and event_name(hook_key("t" * 32), 1) not in names


def test_kinds_are_known_and_each_word_of_the_ledger_means_one():
    assert check_kinds(["order.paid", "drop.paused", "order.paid"]) == ("drop.paused", "order.paid")
    words = words_of(KINDS)
    assert len(words) == len(set(words)) and {hooks.kind_of(word) for word in words} == set(KINDS)
    for wrong in ([], ["order.paid", "order.eaten"]):
        with pytest.raises(BadInput):
            check_kinds(wrong)
