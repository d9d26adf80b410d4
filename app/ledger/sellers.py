"""Who works for a shop: staff, their sessions, their second factor; and a shop's drops as its staff sees them.

Guarantees: every question takes the shop and asks for it in the query itself, so that what belongs to another shop is answered as
what does not exist. A session names the person and the shop it looks at, and is good only while that person staffs that shop, so
taking somebody off the staff ends what they can do at the next reading. A shop never loses its last owner: both changes that could
do so hold the shop's row and count.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from uuid import UUID, uuid4

from app.domain.drops import Drop
from app.domain.roles import RIGHTS, Right, Role
from app.ledger.audit import note_audit
from app.ledger.drops import DROPS_MAX, ID_MAX, drop_from
from app.ledger.messages import Message, put
from app.ledger.pool import Asker, Pool

SESSION_SECONDS = 12 * 3600  # of a seller
FRESH_SECONDS = 15 * 60  # after this the second factor is asked for again
SEEN_SECONDS = 60  # how exactly a session's last use is known
BROWSER_CHARACTERS_MAX = 200
SESSIONS_SHOWN_MAX = 50
STAFF_MAX = 200  # of one shop
INVITES_PER_HOUR_MAX = 20  # of one shop: each is a mail to somebody who may not expect it
SECOND_FACTOR_TRIES_MAX = 5  # wrong codes of one person in SECOND_FACTOR_TRIES_SECONDS, whatever the session
SECOND_FACTOR_TRIES_SECONDS = 15 * 60
INVITED = "staff invited"
ENGLISH = "en"


class Invited(StrEnum):
    """What became of an invitation."""

    INVITED = "invited"
    ALREADY = "already"  # works here
    TOO_MANY = "too_many"
    TOO_OFTEN = "too_often"


class Changed(StrEnum):
    """What became of a change to the staff."""

    CHANGED = "changed"
    GONE = "gone"  # not there, or another shop's
    STALE = "stale"  # somebody else changed it meanwhile
    LAST_OWNER = "last_owner"  # the shop would have no owner who ever signed in


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
    email_written: str  # where this shop writes to them


@dataclass(frozen=True, slots=True)
class Staff:
    """Somebody who works for a shop, as its owner sees them."""

    id: int
    email: str  # normalised
    email_written: str
    role: Role
    invited_by: str | None  # None: the shop's first owner
    invited_at: datetime
    joined_at: datetime | None  # None: never signed in yet
    second_factor: bool
    seen_at: datetime | None  # at this shop


@dataclass(frozen=True, slots=True)
class SellerSession:
    """An open session, as its owner sees it."""

    id: UUID
    shop_name: str
    browser: str
    started_at: datetime
    seen_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class SecondFactor:
    nonce: bytes  # what its secret is made of
    confirmed: bool  # in use, not just being set up


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
        return [Workplace(row["shop_id"], row["shop_name"], Role(row["role"]), row["email_written"]) for row in rows]

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

    async def switch_shop(self, session_id: UUID, shop_id: int, fresh_id: UUID) -> bool:
        """Look at another shop; the session lives on as `fresh_id` -> False: its owner does not work there."""
        if not 0 < shop_id <= ID_MAX:
            return False
        async with self._transaction() as ask:
            switched = await ask.row("switch_shop", session_id, shop_id, fresh_id)
            if switched is None:
                return False
            if switched["shop_before"] != shop_id:  # in the log of the shop that is looked at from now on, as a sign-in would be
                await note_audit(ask, shop_id, switched["email"], "shop entered", switched["email"])
            return True

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

    # staff

    async def staff(self, shop_id: int) -> list[Staff]:
        """-> everybody who works for this shop, owners first."""
        return [Staff(**{**row, "role": Role(row["role"])}) for row in await self._rows("staff", shop_id, STAFF_MAX)]

    async def staff_member(self, shop_id: int, seller_id: int) -> Staff | None:
        async with self._asking() as ask:
            row = await _member(ask, shop_id, seller_id)
        return None if row is None else Staff(**{**row, "role": Role(row["role"])})

    async def invite(
        self, shop_id: int, email_norm: str, email_written: str, role: Role, actor: str, message: Message | None
    ) -> Invited:
        """Put somebody on the staff and tell them by mail; `message.subject_id` is filled here."""
        async with self._transaction() as ask:
            await ask.value("lock_shop", shop_id)
            if await ask.value("staff_size", shop_id) >= STAFF_MAX:
                return Invited.TOO_MANY
            if await ask.value("invited_lately", shop_id) >= INVITES_PER_HOUR_MAX:
                return Invited.TOO_OFTEN
            seller_id = await ask.value("invite", shop_id, email_norm, email_written, role.value, actor)
            if seller_id is None:
                return Invited.ALREADY
            if message is not None:
                await put(ask, replace(message, subject_id=str(seller_id)))
            await note_audit(ask, shop_id, actor, INVITED, email_written, None, {"role": role.value})
            return Invited.INVITED

    async def change_role(self, shop_id: int, seller_id: int, was: Role, role: Role, actor: str) -> Changed:
        """Give somebody another role, if they still have the one that the actor saw."""
        async with self._transaction() as ask:
            await ask.value("lock_shop", shop_id)
            row = await _member(ask, shop_id, seller_id)
            if row is None:
                return Changed.GONE
            if row["role"] != was.value:
                return Changed.STALE
            if was is Role.OWNER and role is not Role.OWNER and not await ask.value("other_owners", shop_id, seller_id):
                return Changed.LAST_OWNER
            await ask.count("change_role", shop_id, seller_id, was.value, role.value)
            await note_audit(ask, shop_id, actor, "role changed", row["email_written"], {"role": was.value}, {"role": role.value})
            return Changed.CHANGED

    async def remove_staff(self, shop_id: int, seller_id: int, actor: str) -> Changed:
        """Take somebody off the staff: their sessions at this shop end with it."""
        async with self._transaction() as ask:
            await ask.value("lock_shop", shop_id)
            row = await _member(ask, shop_id, seller_id)
            if row is None:
                return Changed.GONE
            if row["role"] == Role.OWNER.value and not await ask.value("other_owners", shop_id, seller_id):
                return Changed.LAST_OWNER
            await ask.count("remove_staff", shop_id, seller_id)
            await ask.count("end_sessions_at_shop", row["email"], shop_id)
            await note_audit(ask, shop_id, actor, "staff removed", row["email_written"], {"role": row["role"]}, None)
            return Changed.CHANGED

    # second factor

    async def begin_second_factor(self, email_norm: str, nonce: bytes) -> bytes | None:
        """-> the nonce of the second factor being set up, `nonce` itself when it begins now; None: one is in use already."""
        return await self._value("begin_second_factor", email_norm, nonce)

    async def try_second_factor(self, email_norm: str) -> SecondFactor | None:
        """Count a try -> what a code is held against; None: too many wrong ones of late, or none is set up or begun."""
        row = await self._row("try_second_factor", email_norm, SECOND_FACTOR_TRIES_MAX, SECOND_FACTOR_TRIES_SECONDS)
        return None if row is None else SecondFactor(row["nonce"], row["confirmed"])

    async def prove(
        self, seller: Seller, step: int, fresh_id: UUID, recovery_hashes: Sequence[bytes], language: str = ENGLISH
    ) -> bool:
        """A right code of this step -> the session lives on as `fresh_id`; False: that step, or a later one, was used before.

        The first one ever puts the second factor into use, with these recovery codes. `language`, here and below: the tag, such as
        'de', of the mail that tells the person.
        """
        async with self._transaction() as ask:
            if not await ask.count("use_step", seller.email, step):
                return False
            if await ask.count("confirm_second_factor", seller.email, language):
                await ask.count("put_recovery_codes", seller.email, list(recovery_hashes))
                await note_audit(ask, seller.shop_id, seller.actor, "second factor set up", seller.email)
                await tell_of_second_factor(ask, seller.email, language, "set_up")
            return await ask.count("prove_session", seller.session_id, seller.email, fresh_id) == 1

    async def prove_by_recovery(self, seller: Seller, code_hash: bytes, fresh_id: UUID, language: str = ENGLISH) -> bool:
        """A recovery code instead -> the session lives on as `fresh_id`; False: it is none of theirs, or was used."""
        async with self._transaction() as ask:
            if not await ask.count("use_recovery_code", seller.email, code_hash):
                return False
            await ask.count("forgive_tries", seller.email)
            left = await ask.value("recovery_codes_left", seller.email)
            await note_audit(
                ask, seller.shop_id, seller.actor, "recovery code used", seller.email, {"left": left + 1}, {"left": left}
            )
            await tell_of_second_factor(ask, seller.email, language, "code_used", left=left)
            return await ask.count("prove_session", seller.session_id, seller.email, fresh_id) == 1

    async def recovery_codes_left(self, email_norm: str) -> int:
        return await self._value("recovery_codes_left", email_norm)

    async def renew_recovery_codes(self, seller: Seller, hashes: Sequence[bytes], language: str = ENGLISH) -> None:
        """Every earlier recovery code is void."""
        async with self._transaction() as ask:
            await ask.count("forget_recovery_codes", seller.email)
            await ask.count("put_recovery_codes", seller.email, list(hashes))
            await note_audit(ask, seller.shop_id, seller.actor, "recovery codes renewed", seller.email)
            await tell_of_second_factor(ask, seller.email, language, "codes_renewed")

    async def remove_second_factor(self, email_norm: str, actor: str, language: str | None = None) -> bool:
        """Its owner begins anew: passkeys go too, and nothing counts as shown any more -> False: there was none.

        `language` None: the one in which it was set up.
        """
        async with self._transaction() as ask:
            passkeys = [row["name"] for row in await ask.rows("passkeys", email_norm)]
            known = await ask.value("remove_second_factor", email_norm)
            if known is None:
                return False
            before = {"passkeys": passkeys} if passkeys else None
            await tell_of_second_factor(ask, email_norm, language or known, "removed", itself=actor == email_norm)
            await ask.count("nothing_proven", email_norm)
            for workplace in await ask.rows("workplaces", email_norm):
                await note_audit(ask, workplace["shop_id"], actor, "second factor removed", email_norm, before)
            return True

    # sessions, as their owner sees them

    async def seller_sessions(self, email_norm: str) -> list[SellerSession]:
        """-> the open sessions of this person, the last one used first."""
        return [SellerSession(**row) for row in await self._rows("seller_sessions", email_norm, SESSIONS_SHOWN_MAX)]


async def tell_of_second_factor(ask: Asker, email_norm: str, language: str, what: str, **more: object) -> None:
    """The person hears of it by mail (templates/mail/second_factor.html), in the transaction of the change."""
    await ask.count("tell_of_second_factor", email_norm, uuid4().hex, language, json.dumps({"what_changed": what, **more}))


async def _member(ask: Asker, shop_id: int, seller_id: int):
    """-> None for a number that nobody can have, too."""
    return await ask.row("staff_member", shop_id, seller_id) if 0 < seller_id <= ID_MAX else None
