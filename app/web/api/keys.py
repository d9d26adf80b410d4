"""Whose key a request shows.

A key is a secret of 192 bits behind `dm_`, sent as `Authorization: Bearer dm_…`; cookies mean nothing here. Each process remembers
for MEMORY_SECONDS what the ledger said about one and forgets everything whenever any process says that a key was revoked, so a
revoked key opens nothing after KEY_SECONDS_MAX at most. Ledger gone: nobody is let in (503).
"""

import re
import secrets

from app.clock import monotonic
from app.ledger import ApiKey, Ledger
from app.ledger.api import hash_of
from app.live import Feed

KEY_SECONDS_MAX = 5.0  # a revoked key is refused after at most this long
MEMORY_SECONDS = 3.0
KEYS_REMEMBERED_MAX = 1000
KEY_BYTES = 24
BEARER = b"bearer "

_KEY = re.compile(r"dm_[0-9a-f]{48}")


def new_key() -> str:
    return f"dm_{secrets.token_hex(KEY_BYTES)}"


class ApiKeys:
    """Reads keys, and remembers for a moment what they open."""

    def __init__(self, ledger: Ledger, feed: Feed):
        self.ledger = ledger
        self.feed = feed
        self._known: dict[bytes, tuple[ApiKey | None, float]] = {}

    async def of(self, authorization: bytes) -> ApiKey | None:
        """The Authorization header -> who asks; None for nobody. LedgerUnreachable: it cannot be told."""
        if authorization[: len(BEARER)].lower() != BEARER:
            return None
        shown = authorization[len(BEARER) :].strip().decode("latin-1")
        if not _KEY.fullmatch(shown):
            return None
        name = hash_of(shown)
        key, read_at = self._known.get(name, (None, float("-inf")))
        if monotonic() - read_at > MEMORY_SECONDS:
            asked_at = monotonic()
            key = await self.ledger.api_key_shown(shown)
            if len(self._known) >= KEYS_REMEMBERED_MAX:
                self._known.clear()
            self._known[name] = (key, asked_at)
        return key

    def forget_all(self) -> None:
        self._known.clear()

    async def changed(self) -> None:
        """A key was revoked: say so to every process, this one included."""
        self.forget_all()
        await self.feed.publish("sellers")
