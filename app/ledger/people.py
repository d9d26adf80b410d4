"""Shoppers, their sign-in codes, and the pictures of drops.

A code is hashed at rest, bound to the id that the asking browser holds, good for a few minutes, five tries and one use. Addresses
come in twice: normalised (app/domain/emails.py), which is what limits and accounts go by, and as written, which is where mail goes.
"""

import re
from dataclasses import dataclass
from uuid import UUID

from app.ledger.messages import Message, put
from app.ledger.pool import Pool

CODES_PER_HOUR_MAX = 5  # per address
TRIES_MAX = 5  # per code
MINTED_AT_ONCE_MAX = 20_000

HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Shopper:
    id: int
    email: str  # normalised
    email_written: str
    session_epoch: int  # cookies of an older epoch are void
    synthetic: bool


@dataclass(frozen=True, slots=True)
class Picture:
    hash: str  # hex SHA-256 of the bytes; of a rendition: the original's
    media_type: str
    width: int
    height: int
    bytes: bytes


class PeoplePart(Pool):
    async def shopper_for(self, email_norm: str, email_written: str) -> int:
        """-> the shopper's id, made now when this address was never seen."""
        return await self._value("shopper_for", email_norm, email_written)

    async def shopper(self, shopper_id: int) -> Shopper | None:
        row = await self._row("shopper", shopper_id)
        return Shopper(**row) if row else None

    async def mint_shoppers(self, count: int) -> list[int]:
        """-> ids of `count` new synthetic shoppers."""
        minted: list[int] = []
        while len(minted) < count:
            minted += [row["id"] for row in await self._rows("mint_shoppers", min(count - len(minted), MINTED_AT_ONCE_MAX))]
        return minted

    async def signed_out_epochs(self) -> dict[int, int]:
        """-> shopper id -> lowest session epoch that is still good, for everyone who ever signed out everywhere."""
        return {row["id"]: row["session_epoch"] for row in await self._rows("signed_out_epochs")}

    async def sign_out_everywhere(self, shopper_id: int) -> int | None:
        """-> the new session epoch; None for an unknown shopper."""
        return await self._value("sign_out_everywhere", shopper_id)

    async def ask_code(
        self, code_id: UUID, email_norm: str, email_written: str, code_hash: bytes, seconds_valid: float, message: Message | None
    ) -> bool:
        """Note a sign-in code together with the mail that carries it -> False: this address asked too often in the last hour."""
        async with self._transaction() as ask:
            await ask.value("one_code_at_a_time", email_norm)
            await ask.count("forget_old_codes", email_norm)
            if not await ask.count("ask_code", code_id, email_norm, email_written, code_hash, seconds_valid, CODES_PER_HOUR_MAX):
                return False
            if message is not None:
                await put(ask, message)
            return True

    async def try_code(self, code_id: UUID, code_hash: bytes) -> tuple[str, str] | None:
        """-> (normalised, written) address when the code is right; every call counts as a try, a right one uses it up."""
        row = await self._row("try_code", code_id, code_hash, TRIES_MAX)
        return (row["email"], row["email_written"]) if row and row["matches"] else None

    async def put_picture(self, hash: str, media_type: str, width: int, height: int, bytes: bytes) -> bool:
        """-> whether it was new. `hash`: hex SHA-256 of `bytes`."""
        return await self._count("put_picture", hash, media_type, width, height, bytes) == 1

    async def picture(self, hash: str) -> Picture | None:
        row = await self._row("picture", hash) if HASH.fullmatch(hash) else None
        return Picture(**row) if row else None

    async def put_rendition(self, hash: str, width: int, media_type: str, height: int, bytes: bytes) -> bool:
        """Keep the picture `hash` in one width and format (app/pictures.py) -> whether it was new."""
        return await self._count("put_rendition", hash, width, media_type, height, bytes) == 1

    async def rendition(self, hash: str, width: int, media_type: str) -> Picture | None:
        row = await self._row("rendition", hash, width, media_type) if HASH.fullmatch(hash) else None
        return Picture(**row) if row else None
