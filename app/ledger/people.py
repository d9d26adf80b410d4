"""Shoppers and their sign-in codes.

A code is hashed at rest, bound to the id that the asking browser holds, good for a few minutes, five tries and one use. Addresses
come in twice: normalised (app/domain/emails.py), which is what limits and accounts go by, and as written, which is where mail goes.
"""

from dataclasses import dataclass
from uuid import UUID

from app.ledger.messages import Message, put
from app.ledger.pool import Pool

CODES_PER_HOUR_MAX = 5  # per address
TRIES_MAX = 5  # per code
MINTED_AT_ONCE_MAX = 20_000


@dataclass(frozen=True, slots=True)
class Shopper:
    id: int
    email: str  # normalised
    email_written: str
    session_epoch: int  # cookies of an older epoch are void
    synthetic: bool


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
