"""The API's own part of the ledger: keys, and answers that are given again.

Guarantees: a key is known by its hash alone, and only while it is in use. Of all requests under one Idempotency-Key of a shop one
is carried out at a time; its answer is kept for a day and given to every repeat of the same request. Whoever dies in the middle
leaves the key free again after a minute; what moves money, units or mails is named by the key too, so it happens once even then.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.domain.drops import Drop
from app.domain.scopes import TOO_MANY_KEYS, Scope
from app.errors import BadInput
from app.ledger.audit import note_audit
from app.ledger.drops import ID_MAX, drop_from
from app.ledger.pool import Pool

KEYS_MAX = 50  # in use, of a shop
KEYS_SHOWN_MAX = 200
DROPS_LISTED_MAX = 201
USED_SECONDS = 60  # how exactly a key's last use is known
REPEAT_SECONDS = 24 * 3600  # an answer is given again for so long
AT_IT_SECONDS = 60  # whoever has carried a request out for longer is dead


@dataclass(frozen=True, slots=True)
class ApiKey:
    """Who asks, when a program asks."""

    id: int
    shop_id: int
    time_zone: str  # IANA name, of the shop
    name: str
    scopes: frozenset[Scope]

    @property
    def actor(self) -> str:
        """Who did it, for the audit log."""
        return f"API key {self.name}"

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A key as its shop's owner sees it."""

    id: int
    name: str
    scopes: tuple[Scope, ...]
    hint: str  # its last characters
    made_at: datetime
    made_by: str
    used_at: datetime | None
    revoked_at: datetime | None
    revoked_by: str | None


@dataclass(frozen=True, slots=True)
class Repeated:
    """What stands under an Idempotency-Key. `status` None: somebody is at it."""

    digest: bytes
    status: int | None
    body: bytes | None


class ApiPart(Pool):
    # keys

    async def make_api_key(self, shop_id: int, name: str, scopes: Sequence[Scope], key: str, actor: str) -> int:
        """-> its id. `key`: what will be shown; only its hash is kept. BadInput when the shop has KEYS_MAX of them."""
        async with self._transaction() as ask:
            await ask.value("lock_shop", shop_id)
            words = [scope.value for scope in scopes]
            key_id = await ask.value("make_api_key", shop_id, name, words, hash_of(key), key[-4:], actor, KEYS_MAX)
            if key_id is None:
                raise BadInput(TOO_MANY_KEYS)
            await note_audit(ask, shop_id, actor, "API key made", name, None, {"key": key_id, "scopes": words})
            return key_id

    async def api_keys(self, shop_id: int) -> list[KnownKey]:
        """-> the newest first, those in use before those that were revoked."""
        return [_known(row) for row in await self._rows("api_keys", shop_id, KEYS_SHOWN_MAX)]

    async def api_key(self, shop_id: int, key_id: int) -> KnownKey | None:
        """-> None for one that is unknown or another shop's."""
        return _known(await self._row("api_key", shop_id, key_id)) if 0 < key_id <= ID_MAX else None

    async def revoke_api_key(self, shop_id: int, key_id: int, actor: str) -> bool:
        """-> False: it was revoked before."""
        async with self._transaction() as ask:
            if not await ask.count("revoke_api_key", shop_id, key_id, actor):
                return False
            key = _known(await ask.row("api_key", shop_id, key_id))
            await note_audit(ask, shop_id, actor, "API key revoked", key.name, {"key": key_id, "scopes": list(key.scopes)}, None)
            return True

    async def api_key_shown(self, key: str) -> ApiKey | None:
        """-> whose key this is; None for one that is none, or is revoked."""
        row = await self._row("api_key_shown", hash_of(key))
        if row is None:
            return None
        await self._count("api_key_used", row["id"], USED_SECONDS)
        return ApiKey(**dict(row) | {"scopes": frozenset(map(Scope, row["scopes"]))})

    # lists

    async def drops_from(self, shop_id: int, after: tuple[datetime, int] | None, limit: int) -> list[Drop]:
        """-> this shop's drops, the latest openings first. `after`: opening and id of the last one that was seen."""
        rows = await self._rows("drops_from", shop_id, *(after or (None, None)), min(limit, DROPS_LISTED_MAX))
        return [drop_from(row) for row in rows]

    # requests that may be repeated

    async def begin_repeatable(self, shop_id: int, key: str, digest: bytes, token: UUID) -> UUID | Repeated:
        """Begin a request under its key, as `token` -> the wish to carry out, or what the first request under this key left.

        Whoever follows somebody who died at it is given the same wish.
        """
        async with self._asking() as ask:
            while True:
                wish = await ask.value("begin_repeatable", shop_id, key, digest, token, REPEAT_SECONDS, AT_IT_SECONDS)
                if wish is not None:
                    return wish
                row = await ask.row("repeated", shop_id, key)
                if row is not None:  # else it was forgotten this moment: begin again
                    return Repeated(**row)

    async def keep_answer(self, shop_id: int, key: str, token: UUID, status: int, body: bytes) -> bool:
        """-> False: somebody else took it over."""
        return await self._count("keep_answer", shop_id, key, token, status, body) == 1

    async def forget_repeatable(self, shop_id: int, key: str, token: UUID) -> None:
        await self._count("forget_repeatable", shop_id, key, token)

    async def forget_old_answers(self) -> int:
        return await self._count("forget_old_answers", REPEAT_SECONDS)


def hash_of(key: str) -> bytes:
    """What is kept of a key. It is random enough (app/web/api/keys.py) that nothing slower than SHA-256 is needed."""
    return hashlib.sha256(key.encode()).digest()


def _known(row) -> KnownKey | None:
    return None if row is None else KnownKey(**dict(row) | {"scopes": tuple(map(Scope, row["scopes"]))})
