"""Webhooks: which events are told, how a telling is signed, and where it may go. Pure.

A receiver proves that we sent a body by its signature, `t=SECONDS,v1=HEX`: the HMAC-SHA-256 of `SECONDS.BODY` under the secret it
was shown once. While a secret is being replaced, the old one signs beside the new one.

Who runs a shop here is not who runs the machine: in production a webhook leads out of the house, or nowhere. `check_url` refuses
what can be seen from the address itself; what a name stands for is looked at when connecting, by `is_outside`.
"""

import base64
import hmac
import ipaddress
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from app.errors import BadInput
from app.languages import N_

URL_CHARACTERS_MAX = 2000
SECRET_PREFIX = "whsec_"
NONCE_BYTES = 20
OLD_SECRET_SECONDS = 24 * 3600  # a replaced secret signs so long beside the new one
PURPOSE = b"doorman/webhook"

# What a receiver may ask for -> the ledger's own words for it (app/ledger/events.py).
KINDS: dict[str, tuple[str, ...]] = {
    "drop.published": ("published",),
    "drop.paused": ("door paused",),
    "drop.resumed": ("door open",),
    "drop.closed": ("door closed",),
    "drop.cancelled": ("door cancelled",),
    "drop.postponed": ("postponed",),
    "drop.units_changed": ("units added",),
    "order.held": ("held", "offered"),
    "order.paid": ("paid",),
    "order.declined": ("declined",),
    "order.outcome_unknown": ("outcome unknown",),
    "order.expired": ("expired",),
    "order.failed": ("failed",),
    "order.cancelled": ("cancelled",),
    "order.refused": ("refused",),
    "order.refunded": ("refunded", "refunded elsewhere"),
    "parcel.made": ("parcel made",),
    "parcel.sent": ("parcel sent",),
}
_KIND_OF = {word: kind for kind, words in KINDS.items() for word in words}

TOO_MANY_HOOKS = N_("This shop has as many webhooks as it can. Remove one that is not needed any more.")
NO_KIND = N_("Choose at least one kind of event.")
NOT_A_URL = N_("This is no address that can be sent to, such as https://example.com/doorman.")
NOT_HTTPS = N_("The address must begin with https://.")
NOT_OUTSIDE = N_("This address leads into a private network. A webhook must be reachable from the internet.")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try, as the log keeps it."""

    at: str  # ISO 8601
    seconds: float
    status: int | None = None  # None: there was no answer
    answer: str = ""  # its beginning
    error: str = ""

    def as_json(self) -> str:
        kept = {name: getattr(self, name) for name in ("at", "seconds", "status", "answer", "error")}
        return json.dumps({name: value for name, value in kept.items() if value not in (None, "")})


def kind_of(word: str) -> str:
    """The ledger's word -> the kind that is told."""
    return _KIND_OF[word]


def words_of(kinds: Iterable[str]) -> list[str]:
    """-> the ledger's words for these kinds."""
    return [word for kind in kinds for word in KINDS[kind]]


def check_kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    """-> each once, in the order above; BadInput for none, or one that does not exist."""
    if not kinds or not set(kinds) <= KINDS.keys():
        raise BadInput(NO_KIND, field="kinds")
    return tuple(kind for kind in KINDS if kind in kinds)


def check_url(url: str, *, production: bool) -> str:
    """-> the address; BadInput says what is wrong with it."""
    url = url.strip()
    try:
        parts = urlsplit(url)
        lawful = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        lawful = False
    odd = not url.isascii() or not url.isprintable() or any(mark in url for mark in ' \\#"<>')
    if not lawful or odd or len(url) > URL_CHARACTERS_MAX or "@" in parts.netloc:
        raise BadInput(NOT_A_URL, field="url")
    if production and parts.scheme != "https":
        raise BadInput(NOT_HTTPS, field="url")
    if production and (parts.hostname.rpartition(".")[2] == "localhost" or _is_inside(parts.hostname)):
        raise BadInput(NOT_OUTSIDE, field="url")
    return url


def _is_inside(hostname: str) -> bool:
    try:
        return not is_outside(hostname)
    except ValueError:  # a name, not an address
        return False


def is_outside(address: str) -> bool:
    """Whether an IP address is somewhere on the internet, whatever it is wrapped in; ValueError for what is none."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo and ip.teredo[1])
        if not inner and (ip in _NAT64 or ip in _COMPATIBLE):
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner:
            return is_outside(str(inner))
    return ip.is_global and not ip.is_multicast and not ip.is_reserved and not any(ip in network for network in _NOT_OUTSIDE)


# What counts as global and yet leads to no place on the internet: IETF's own and site-local addresses, and, as clouds use them,
# the metadata of Oracle's (192.0.0.192) and the wire server of Azure's machines.
_NOT_OUTSIDE = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "fec0::/10", "168.63.129.16/32")))
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE = ipaddress.ip_network("::/96")


def hook_key(secret: str) -> bytes:
    """-> the key that all webhook secrets of an installation are made with."""
    return hmac.digest(secret.encode(), PURPOSE, "sha256")


def secret_of(key: bytes, nonce: bytes) -> str:
    """-> 'whsec_…', what the receiver holds."""
    return SECRET_PREFIX + base64.urlsafe_b64encode(hmac.digest(key, nonce, "sha256")).rstrip(b"=").decode()


def event_name(key: bytes, event_id: int) -> str:
    """-> 'evt_…', the same for every delivery of an event; it does not tell how many others there are."""
    return f"evt_{hmac.digest(key, b'event %d' % event_id, 'sha256')[:12].hex()}"


def signature(secrets: Sequence[str], at_seconds: int, body: bytes) -> str:
    """-> 't=1764532800,v1=…', with a v1 of each secret."""
    signed = b"%d." % at_seconds + body
    proofs = (hmac.digest(secret.encode(), signed, "sha256").hex() for secret in secrets)
    return ",".join((f"t={at_seconds}", *(f"v1={proof}" for proof in proofs)))
