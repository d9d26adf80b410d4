"""Whose request is it: the caller's address, seen through the proxies that the installation trusts and no others."""

import functools
import ipaddress
from typing import Any

from app.errors import SettingsError
from app.web.call import Call

UNKNOWN = "unknown"  # a unix socket, or a server that does not say
SUBSCRIBER_BITS = 64  # what a provider gives one subscriber in IPv6: to change the rest of the address costs nothing
ADDRESSES_CACHED = 16_384


class Addresses:
    def __init__(self, trusted_proxies: str):
        """`trusted_proxies`: comma-separated addresses or networks; SettingsError for anything else."""
        try:
            self.trusted = [ipaddress.ip_network(part.strip(), strict=False) for part in trusted_proxies.split(",") if part.strip()]
        except ValueError as error:
            raise SettingsError(f"DOORMAN_TRUSTED_PROXIES is not a list of addresses or networks: {error}") from error

    def of(self, scope: dict[str, Any], call: Call) -> str:
        """-> the nearest address that is not a trusted proxy's."""
        client = scope.get("client")
        address = client[0] if client else UNKNOWN
        if not self.trusted or not call.forwarded_for or not self.trusts(address):
            return address
        for hop in reversed(call.forwarded_for.decode("latin-1").split(",")):
            hop = hop.strip()
            if not is_address(hop):
                break  # a proxy of ours does not write that: believe no further
            address = hop
            if not self.trusts(hop):
                break
        return address

    def trusts(self, address: str) -> bool:
        return is_address(address) and any(ipaddress.ip_address(address) in network for network in self.trusted)


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


@functools.lru_cache(ADDRESSES_CACHED)
def limited_as(address: str) -> str:
    """-> under which name an address is counted: an IPv6 caller by the /64, an IPv4 caller however written by the address."""
    if not is_address(address):
        return address
    found = ipaddress.ip_address(address)
    if found.version == 4:
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((int(found), SUBSCRIBER_BITS), strict=False))


def is_loopback(address: str) -> bool:
    return address == "127.0.0.1" or (is_address(address) and ipaddress.ip_address(address).is_loopback)
