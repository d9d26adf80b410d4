"""Whose request is it: the caller's address, seen through the proxies that the installation trusts and no others."""

import ipaddress
from typing import Any

from app.errors import SettingsError
from app.web.call import Call

UNKNOWN = "unknown"  # a unix socket, or a server that does not say


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


def is_loopback(address: str) -> bool:
    return address == "127.0.0.1" or (is_address(address) and ipaddress.ip_address(address).is_loopback)
