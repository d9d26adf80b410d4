"""Passkeys of sellers: the credentials, their counters, and the challenges that browsers are to sign.

Guarantees: a challenge belongs to one session and one purpose, is gone once it was looked at, whatever came of it, and is void
after CHALLENGE_SECONDS. A passkey counts only for the person who added it, and only while its counter moves on, which is asked in
the very statement that notes the use: of two copies that sign with the same count, one is let in. They go when the second factor
that they stand beside is removed. What changes them is in the audit log, and told to their owner by mail, in the same transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from app.ledger.audit import note_audit
from app.ledger.drops import ID_MAX
from app.ledger.pool import Pool
from app.ledger.sellers import ENGLISH, Seller, tell_of_second_factor

PASSKEYS_MAX = 10  # of one person
NAME_CHARACTERS_MAX = 60
CREDENTIAL_BYTES_MAX = 1023  # WebAuthn's own bound of a credential's id
CHALLENGE_BYTES = 32
CHALLENGE_SECONDS = 5 * 60


class Purpose(StrEnum):
    """What a challenge is for: one is never good for the other."""

    ADD = "add"
    SHOW = "show"


class Added(StrEnum):
    """What became of a new passkey."""

    ADDED = "added"
    TOO_MANY = "too_many"
    KNOWN = "known"  # somebody has this credential already
    NOTHING_BESIDE = "nothing_beside"  # no second factor is set up, so it would stand alone


@dataclass(frozen=True, slots=True)
class Passkey:
    id: int
    name: str
    credential_id: bytes
    public_key: bytes  # COSE
    sign_count: int
    transports: list[str]
    made_at: datetime
    used_at: datetime | None  # None: not yet


class PasskeysPart(Pool):
    async def passkeys(self, email_norm: str) -> list[Passkey]:
        """-> those of this person, the oldest first."""
        return [Passkey(**row) for row in await self._rows("passkeys", email_norm)]

    async def passkey(self, email_norm: str, credential_id: bytes) -> Passkey | None:
        """-> the passkey with this credential; None for one that is unknown or somebody else's."""
        row = await self._row("passkey", email_norm, credential_id)
        return None if row is None else Passkey(**row)

    async def challenge(self, seller: Seller, purpose: Purpose, challenge: bytes) -> bool:
        """Keep what this session's browser is to sign; an earlier one is void -> False: the session has ended."""
        return await self._count("put_passkey_challenge", seller.session_id, seller.email, purpose.value, challenge) == 1

    async def take_challenge(self, session_id: UUID, purpose: Purpose) -> bytes | None:
        """-> what this session's browser was to sign, this once; None: nothing, or too long ago."""
        row = await self._row("take_passkey_challenge", session_id, purpose.value, CHALLENGE_SECONDS)
        return row["challenge"] if row is not None and row["timely"] else None

    async def add_passkey(
        self,
        seller: Seller,
        name: str,
        credential_id: bytes,
        public_key: bytes,
        sign_count: int,
        transports: Sequence[str],
        language: str = ENGLISH,
    ) -> Added:
        """`language`, here and below: the tag of the mail that tells the person."""
        async with self._transaction() as ask:
            if await ask.value("lock_second_factor", seller.email) is None:
                return Added.NOTHING_BESIDE
            if await ask.value("count_passkeys", seller.email) >= PASSKEYS_MAX:
                return Added.TOO_MANY
            if not await ask.count("add_passkey", seller.email, credential_id, public_key, sign_count, list(transports), name):
                return Added.KNOWN
            await note_audit(ask, seller.shop_id, seller.actor, "passkey added", seller.email, None, {"passkey": name})
            await tell_of_second_factor(ask, seller.email, language, "passkey_added", passkey=name)
            return Added.ADDED

    async def prove_by_passkey(self, seller: Seller, passkey_id: int, sign_count: int, fresh_id: UUID) -> bool:
        """A good signature of theirs -> the session lives on as `fresh_id`; False: the counter did not move on, or it is gone."""
        async with self._transaction() as ask:
            if not await ask.count("use_passkey", seller.email, passkey_id, sign_count):
                return False
            return await ask.count("prove_session", seller.session_id, seller.email, fresh_id) == 1

    async def remove_passkey(self, seller: Seller, passkey_id: int, language: str = ENGLISH) -> bool:
        """-> False: there is none, or it is somebody else's."""
        if not 0 < passkey_id <= ID_MAX:
            return False
        async with self._transaction() as ask:
            name = await ask.value("remove_passkey", seller.email, passkey_id)
            if name is None:
                return False
            await note_audit(ask, seller.shop_id, seller.actor, "passkey removed", seller.email, {"passkey": name}, None)
            await tell_of_second_factor(ask, seller.email, language, "passkey_removed", passkey=name)
            return True
