"""The secret link of an order: `/o/` and 43 characters that nobody can guess. Pure.

It is the order's id with 128 bits of a MAC under a key of the installation, so that it exists from the moment the order does, is in
every mail without being stored, and is checked in constant time before any store is asked.
"""

import base64
import binascii
import hmac
from uuid import UUID

LINK_PREFIX = "/o/"
MAC_BYTES = 16
LINK_CHARACTERS = 43  # 16 bytes of id and 16 of MAC as base64url without padding
PURPOSE = b"doorman/order-link"


def link_key(secret: str) -> bytes:
    """-> the key of all links of an installation."""
    return hmac.digest(secret.encode(), PURPOSE, "sha256")


def order_link(key: bytes, order_id: UUID) -> str:
    """-> '/o/…'."""
    token = base64.urlsafe_b64encode(order_id.bytes + _mac(key, order_id.bytes)).rstrip(b"=")
    return LINK_PREFIX + token.decode()


def order_of_link(key: bytes, token: str) -> UUID | None:
    """What stands behind `/o/` -> the order's id; None for anything that is no link of ours."""
    if len(token) != LINK_CHARACTERS or not token.isascii():
        return None
    try:
        found = base64.b64decode(token.encode() + b"=", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    canonical = base64.urlsafe_b64encode(found).rstrip(b"=") == token.encode()
    if not hmac.compare_digest(_mac(key, found[:16]), found[16:]) or not canonical:
        return None
    return UUID(bytes=found[:16])


def _mac(key: bytes, order: bytes) -> bytes:
    return hmac.digest(key, order, "sha256")[:MAC_BYTES]
