"""The Lua scripts: which there are, which keys each gets, and how a call to one is written on the wire.

A call is sent as EVALSHA. A server that has forgotten the script (restart, SCRIPT FLUSH) answers NOSCRIPT without having run
anything; the wire then sends the same call once more as EVAL, which also teaches the server the script again.
"""

import hashlib
from pathlib import Path

from app.gate.keys import NAMES, key, limit_key

FOLDER = Path(__file__).resolve().parents[2] / "lua"
DROPS_REMEMBERED_MAX = 1024  # drops whose constant part of a call is kept encoded


class Script:
    """One verb. `key_names` in the order of its KEYS; `source` None: lua/NAME.lua."""

    def __init__(self, name: str, *key_names: str, source: bytes | None = None):
        self.name, self.key_names = name, key_names
        self.source = (FOLDER / f"{name}.lua").read_bytes() if source is None else source
        self.sha = hashlib.sha1(self.source, usedforsecurity=False).hexdigest()
        self._by_sha = b"$7\r\nEVALSHA\r\n$40\r\n%b\r\n" % self.sha.encode()
        self._by_source = b"$4\r\nEVAL\r\n$%d\r\n%b\r\n" % (len(self.source), self.source)
        self._keys: dict[int, bytes] = {}

    def keys_of(self, drop_id: int) -> list[str]:
        return [key(drop_id, name) for name in self.key_names]

    def head(self, drop_id: int, arguments: int) -> bytes:
        """-> the call up to and with its keys; `arguments` encoded values must follow."""
        encoded_keys = self._keys.get(drop_id)
        if encoded_keys is None:
            if len(self._keys) >= DROPS_REMEMBERED_MAX:
                self._keys.clear()
            encoded_keys = self._keys[drop_id] = encode(len(self.key_names), *self.keys_of(drop_id))
        return b"*%d\r\n%b%b" % (3 + len(self.key_names) + arguments, self._by_sha, encoded_keys)

    def call(self, drop_id: int, *arguments: str | int) -> bytes:
        """-> the whole call."""
        return self.head(drop_id, len(arguments)) + encode(*arguments)

    def with_source(self, call: bytes) -> bytes | None:
        """-> the same call as EVAL; None if it already is one."""
        if self._by_sha not in call:
            return None
        return call.replace(self._by_sha, self._by_source, 1)


class NamedScript(Script):
    """A script whose one key belongs to a name instead of a drop: there are too many names to keep their calls encoded."""

    def keys_of(self, name: str | int) -> list[str]:
        return [limit_key(str(name))]

    def head(self, name: str | int, arguments: int) -> bytes:
        return b"*%d\r\n%b%b" % (4 + arguments, self._by_sha, encode(1, limit_key(str(name))))


def encode(*values: str | int) -> bytes:
    """-> the values as RESP bulk strings."""
    parts = []
    for value in values:
        data = str(value).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)


def command(*words: str | int) -> bytes:
    """-> a whole command that is not a script."""
    return b"*%d\r\n" % len(words) + encode(*words)


RESERVE = Script("reserve", "rules", "stock", "held", "receipts", "buyers", "keys", "journal")
RELEASE = Script("release", "rules", "stock", "held", "receipts", "buyers", "places", "journal")
SETTLE = Script("settle", "rules", "held", "receipts")
DOOR = Script("door", "rules")
PEEK = Script("peek", "rules", "totals", "stock", "held", "buyers", "journal")
SNAPSHOT = Script("snapshot", "rules", "totals", "stock", "receipts", "adjustments", "journal")
MEND = Script("mend", *NAMES)
ADJUST = Script("adjust", "rules", "totals", "stock", "adjustments")
RETIRE = Script("retire", *NAMES)
ACK = Script("ack", "journal")
LIMIT = NamedScript("limit", "calls")

SCRIPTS = (RESERVE, RELEASE, SETTLE, DOOR, PEEK, SNAPSHOT, MEND, ADJUST, RETIRE, ACK, LIMIT)
