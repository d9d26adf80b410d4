"""Signed values that shoppers carry for us: one key per purpose, derived from the installation's secret.

Guarantees: a value signed for one purpose never passes for another; a changed, truncated or foreign value reads as None, in
constant time; nothing here raises for what a stranger sends.
"""

import base64
import binascii
import functools
import hashlib
import hmac
import time
from typing import Any

import msgspec

BLOCK_BYTES = 64  # of SHA-256; our keys are shorter
MAC_BYTES = 16  # 128 bits of the HMAC-SHA-256
MAC_CHARACTERS = 22  # the same as base64url without padding
CLOCK_SKEW_SECONDS = 60  # two web machines may disagree by this much
SIGNED_CHARACTERS_MAX = 2048  # longer values are not even looked at
KEYS_CACHED = 16  # one a purpose
_URL_SAFE = bytes.maketrans(b"+/", b"-_")


def derive(secret: str, purpose: str) -> bytes:
    """-> the 32-byte key of this purpose."""
    return hmac.digest(secret.encode(), b"doorman/" + purpose.encode(), "sha256")


def mac(key: bytes, payload: bytes) -> bytes:
    """-> MAC_CHARACTERS of base64url that only a holder of the key can make."""
    keyed_inner, keyed_outer = _keyed(key)
    inner, outer = keyed_inner.copy(), keyed_outer.copy()
    inner.update(payload)
    outer.update(inner.digest())
    return binascii.b2a_base64(outer.digest()[:MAC_BYTES], newline=False).translate(_URL_SAFE)[:MAC_CHARACTERS]


@functools.lru_cache(KEYS_CACHED)
def _keyed(key: bytes) -> tuple:
    """-> the two hashes of HMAC-SHA-256 (RFC 2104) once they have read the key: half the work for payloads as short as ours."""
    block = key.ljust(BLOCK_BYTES, b"\0")
    return hashlib.sha256(bytes(byte ^ 0x36 for byte in block)), hashlib.sha256(bytes(byte ^ 0x5C for byte in block))


class Signer:
    """Signs small JSON values for a while: `<base64url JSON>.<mac>`; the time of signing is part of what is signed."""

    def __init__(self, secret: str, purpose: str, *, seconds_valid: int):
        self.key = derive(secret, purpose)
        self.seconds_valid = seconds_valid

    def sign(self, value: Any) -> str:
        body = msgspec.json.encode([int(time.time()), value])
        payload = base64.urlsafe_b64encode(body).rstrip(b"=")
        return (payload + b"." + mac(self.key, payload)).decode()

    def read(self, text: str | None) -> Any | None:
        """-> the value; None when it is missing, not ours, or older than `seconds_valid`."""
        if not text or len(text) > SIGNED_CHARACTERS_MAX or not text.isascii():
            return None
        payload, _, given = text.encode().rpartition(b".")
        if not hmac.compare_digest(mac(self.key, payload), given):
            return None
        signed_at, value = msgspec.json.decode(base64.urlsafe_b64decode(payload + b"=" * (-len(payload) % 4)))
        if not -CLOCK_SKEW_SECONDS <= time.time() - signed_at <= self.seconds_valid:
            return None
        return value
