"""Who works for a shop: staff, their sessions, their second factor; and a shop's drops as its staff sees them.

Guarantees: every question takes the shop and asks for it in the query itself, so that what belongs to another shop is answered as
what does not exist. A session names the person and the shop it looks at, and is good only while that person staffs that shop, so
taking somebody off the staff ends what they can do at the next reading. A shop never loses its last owner: both changes that could
do so hold the shop's row and count.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.domain.drops import Drop
from app.domain.roles import RIGHTS, Right, Role
from app.ledger.drops import DROPS_MAX, ID_MAX, drop_from
from app.ledger.pool import Pool

SESSION_SECONDS = 12 * 3600  # of a seller
FRESH_SECONDS = 15 * 60  # after this the second factor is asked for again
SEEN_SECONDS = 60  # how exactly a session's last use is known
BROWSER_CHARACTERS_MAX = 200
SESSIONS_SHOWN_MAX = 50
STAFF_MAX = 200  # of one shop


@dataclass(frozen=True, slots=True)
class Seller:
    """Somebody who is signed in and works for a shop, as of a moment ago."""

    id: int
    shop_id: int
    shop_name: str
    role: Role
    email: str  # normalised
    session_id: UUID
    time_zone: str  # IANA name, of the shop
    second_factor: bool  # one is set up
    proven_at: datetime | None  # the second factor was shown last, in this session
    expires_at: datetime

    @property
    def actor(self) -> str:
        """Who did it, for the audit log."""
        return self.email

    def may(self, right: Right) -> bool:
        return right in RIGHTS[self.role]


@dataclass(frozen=True, slots=True)
class Workplace:
    """A shop that one person staffs."""

    shop_id: int
    shop_name: str
    role: Role


@dataclass(frozen=True, slots=True)
class DropCounts:
    """Units of a drop as the ledger counts them: what is on its way through a checkout, and what is paid."""

    held: int
    paid: int


class SellersPart(Pool):
    # sessions

    async def staffs(self, email_norm: str) -> list[Workplace]:
        """-> the shops that this person works for, the first one joined first."""
        rows = await self._rows("workplaces", email_norm)
        return [Workplace(row["shop_id"], row["shop_name"], Role(row["role"])) for row in rows]

    async def open_seller_session(self, session_id: UUID, email_norm: str, browser: str) -> bool:
        """Sign in, at the shop they looked at last -> False: this address works for no shop."""
        async with self._transaction() as ask:
            shop_id = await ask.value("shop_of_sign_in", email_norm)
            if shop_id is None:
                return False
            await ask.count("join_staff", email_norm)
            await ask.count("forget_old_seller_sessions", email_norm)
            browser = browser[:BROWSER_CHARACTERS_MAX]
            await ask.count("open_seller_session", session_id, email_norm, shop_id, SESSION_SECONDS, browser)
            return True

    async def seller_of_session(self, session_id: UUID) -> Seller | None:
        """-> who it is; None for a session that ended, ran out, or whose owner no longer works for its shop."""
        row = await self._row("seller_of_session", session_id)
        return None if row is None else Seller(**{**row, "role": Role(row["role"])})

    async def seen(self, session_id: UUID) -> None:
        """It was used just now (noted at most every SEEN_SECONDS)."""
        await self._count("seller_session_seen", session_id, SEEN_SECONDS)

    async def end_seller_session(self, session_id: UUID, email_norm: str) -> bool:
        """End one session of its owner -> False: it had ended, or is not theirs."""
        return await self._count("end_seller_session", session_id, email_norm) == 1

    async def end_other_seller_sessions(self, session_id: UUID, email_norm: str) -> list[UUID]:
        """End every session of this person but this one -> those that ended."""
        return [row["id"] for row in await self._rows("end_other_seller_sessions", session_id, email_norm)]

    async def switch_shop(self, session_id: UUID, shop_id: int) -> bool:
        """Look at another shop -> False: its owner does not work there."""
        return 0 < shop_id <= ID_MAX and await self._count("switch_shop", session_id, shop_id) == 1

    # drops

    async def seller_drop(self, shop_id: int, drop_id: int) -> Drop | None:
        """-> a drop of this shop; None for one that is unknown or another shop's."""
        return drop_from(await self._row("seller_drop", shop_id, drop_id)) if 0 < drop_id <= ID_MAX else None

    async def seller_drops(self, shop_id: int, limit: int = DROPS_MAX) -> list[Drop]:
        """-> this shop's drops, the latest openings first."""
        return [drop_from(row) for row in await self._rows("seller_drops", shop_id, limit)]

    async def seller_counts(self, shop_id: int) -> dict[int, DropCounts]:
        """-> drop id -> units on their way and paid, for every drop of this shop."""
        return {row["drop_id"]: DropCounts(row["held"], row["paid"]) for row in await self._rows("seller_counts", shop_id)}
