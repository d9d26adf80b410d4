"""The caller's address is believed only through proxies of ours."""

import pytest

from app.errors import SettingsError
from app.web.addresses import Addresses, is_loopback, limited_as
from app.web.call import Call


def address_of(trusted: str, peer: str | None, forwarded: str = "") -> str:
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    scope = {"path": "/", "query_string": b"", "headers": headers, "client": (peer, 1) if peer else None}
    return Addresses(trusted).of(scope, Call(scope))


@pytest.mark.parametrize(
    ("trusted", "peer", "forwarded", "address"),
    [
        ("", "203.0.113.9", "198.51.100.1", "203.0.113.9"),  # nobody is trusted: the header is only a claim
        ("10.0.0.0/8", "10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.0/8", "10.0.0.1", "198.51.100.7, 198.51.100.1", "198.51.100.1"),  # the left part is the caller's own invention
        ("10.0.0.0/8", "10.0.0.1", "198.51.100.1, 10.0.0.2", "198.51.100.1"),  # two proxies of ours
        ("10.0.0.0/8", "203.0.113.9", "198.51.100.1", "203.0.113.9"),  # not through our proxy
        ("10.0.0.0/8", "10.0.0.1", "not an address", "10.0.0.1"),
        ("10.0.0.0/8", "10.0.0.1", "", "10.0.0.1"),
        ("2001:db8::/32", "2001:db8::1", "2001:db9::5", "2001:db9::5"),
        ("", None, "", "unknown"),
    ],
)
def test_the_nearest_untrusted_hop_is_the_caller(trusted, peer, forwarded, address):
    assert address_of(trusted, peer, forwarded) == address


def test_a_list_that_is_none_is_refused_at_start():
    with pytest.raises(SettingsError):
        Addresses("10.0.0.0/8, proxy.example")


def test_a_subscriber_is_counted_once_however_the_address_is_written():
    assert limited_as("2001:db8:1:2::1") == limited_as("2001:db8:1:2:ffff::9") == "2001:db8:1:2::/64"
    assert limited_as("2001:db8:1:3::1") != limited_as("2001:db8:1:2::1")
    assert limited_as("::ffff:192.0.2.1") == limited_as("192.0.2.1") == "192.0.2.1"
    assert limited_as("unknown") == "unknown"


def test_loopback_is_known_in_both_families():
    assert is_loopback("127.0.0.1") and is_loopback("127.8.8.8") and is_loopback("::1")
    assert not is_loopback("192.0.2.1") and not is_loopback("unknown")
