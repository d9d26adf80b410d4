"""Idempotency keys (R10): what is a key, and the digest of what was asked under it."""

import functools
import hashlib

from app.errors import BadInput

KEY_CHARACTERS_MAX = 64
DIGESTS_CACHED = 1024
PLACE_PREFIX = "place:"  # keys of offers, made by the gate alone: a shopper's key never looks like one


def check_key(key: str) -> str:
    """-> the key itself; BadInput unless it is 1-64 printable ASCII characters (no space)."""
    if not 1 <= len(key) <= KEY_CHARACTERS_MAX or not key.isascii() or not key.isprintable() or " " in key:
        raise BadInput("an idempotency key is 1 to 64 printable ASCII characters without spaces", field="key")
    if key.startswith(PLACE_PREFIX):
        raise BadInput(f"an idempotency key does not start with {PLACE_PREFIX}", field="key")
    return key


@functools.lru_cache(DIGESTS_CACHED)
def digest_of(variant_id: int, quantity: int) -> str:
    """-> 16 hex characters that stand for (variant, quantity): the content that belongs to a key."""
    return hashlib.blake2b(f"{variant_id}:{quantity}".encode(), digest_size=8).hexdigest()
