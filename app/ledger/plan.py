"""Plans that no gate has heard of, their way into a drop, and what may change about a drop once it is published.

Guarantees: a plan or a drop is changed from the version that its editor saw, or not at all; a plan becomes a drop once, in the
transaction that writes the drop; price, quantity and the gate's rules of a published drop are in no statement here, and its opening
only moves later, while it is still some way off, in the transaction that writes the mails about it. Every change stands in the
audit log with what was before. Every question asks for the shop in the query itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from app.domain.drops import Drop, DropPicture
from app.domain.plan import PLAN_BYTES_MAX, POSTPONE_SECONDS_MIN, TOO_LARGE, TOO_MANY_DRAFTS, Plan
from app.errors import BadInput
from app.ledger.audit import note_audit
from app.ledger.drops import ID_MAX, NewDrop, as_published, check_new_drop, drop_from, hang, known_to_the_ledger, publish
from app.ledger.events import SELLER, note
from app.ledger.pictures import want
from app.ledger.pool import Pool

DRAFTS_MAX = 200  # unpublished ones of a shop
AUDITED_CHARACTERS_MAX = 500  # of a text in the audit log


@dataclass(frozen=True, slots=True)
class Draft:
    id: int
    shop_id: int
    version: int
    plan: Plan
    created_at: datetime
    created_by: str
    updated_at: datetime
    updated_by: str
    drop_id: int | None  # what it was published as


@dataclass(frozen=True, slots=True)
class Words:
    """What may change about a published drop."""

    title: str
    description: str
    pictures: tuple[DropPicture, ...]
    shipping_countries: tuple[str, ...] | None


class PlanPart(Pool):
    async def add_draft(self, shop_id: int, plan: Plan, actor: str) -> int:
        """-> the new draft's id. BadInput when the shop has DRAFTS_MAX of them, or the plan is too large."""
        async with self._transaction() as ask:
            await want(ask, hashes_of(plan))
            draft_id = await ask.value("add_draft", shop_id, _json(plan), actor, DRAFTS_MAX)
        if draft_id is None:
            raise BadInput(TOO_MANY_DRAFTS)
        return draft_id

    async def draft(self, shop_id: int, draft_id: int) -> Draft | None:
        """-> None for one that is unknown or another shop's."""
        return _draft(await self._row("draft", shop_id, draft_id)) if 0 < draft_id <= ID_MAX else None

    async def drafts(self, shop_id: int) -> list[Draft]:
        """-> what is not published yet, the last one touched first."""
        return [_draft(row) for row in await self._rows("drafts_of_shop", shop_id, DRAFTS_MAX)]

    async def save_draft(self, shop_id: int, draft_id: int, version: int, plan: Plan, actor: str) -> bool:
        """-> False: this is not the version that stands there (somebody saved meanwhile), or it is published or gone. BadInput
        for a plan that is too large."""
        async with self._transaction() as ask:
            before = _draft(await ask.row("draft", shop_id, draft_id))
            if before is None or not await ask.count("save_draft", shop_id, draft_id, version, _json(plan), actor):
                return False
            await want(ask, hashes_of(before.plan, plan))
            old, new = _changes(before.plan, plan)
            if new:
                await note_audit(ask, shop_id, actor, "draft saved", plan.title or before.plan.title, old, new)
            return True

    async def delete_draft(self, shop_id: int, draft_id: int, version: int, actor: str) -> bool:
        async with self._transaction() as ask:
            draft = _draft(await ask.row("draft", shop_id, draft_id))
            if draft is None or not await ask.count("delete_draft", shop_id, draft_id, version):
                return False
            await want(ask, hashes_of(draft.plan))
            await note_audit(ask, shop_id, actor, "draft deleted", draft.plan.title, {"title": draft.plan.title}, None)
            return True

    async def publish_draft(self, new: NewDrop, draft_id: int, version: int, actor: str) -> Drop | None:
        """The plan becomes this drop -> None: published, changed or deleted meanwhile. BadInput names the field that is wrong."""
        check_new_drop(new)
        with known_to_the_ledger():
            async with self._transaction() as ask:
                if await ask.value("lock_draft", new.shop_id, draft_id, version) is None:
                    return None
                drop = await publish(ask, new)
                await ask.count("draft_published", draft_id, drop.id, actor)
                await note_audit(ask, new.shop_id, actor, "drop published", drop.title, None, as_published(drop))
                return drop

    async def edit_drop(self, shop_id: int, drop_id: int, version: int, words: Words, actor: str) -> bool:
        """-> False: somebody changed the drop meanwhile, or it is not this shop's."""
        with known_to_the_ledger():
            async with self._transaction() as ask:
                before = drop_from(await ask.row("seller_drop", shop_id, drop_id))
                hero = words.pictures[0].hash if words.pictures else None
                if before is None or not await ask.count(
                    "edit_drop", shop_id, drop_id, version, words.title, words.description, words.shipping_countries, hero, actor
                ):
                    return False
                await want(ask, hashes_of(before))
                await ask.count("take_pictures_down", drop_id)
                await hang(ask, drop_id, words.pictures)
                await note(ask, None, drop_id, "words changed", SELLER)
                await note_audit(ask, shop_id, actor, "drop edited", before.title, *_changes(words_of(before), words))
                return True

    async def postpone_drop(
        self, shop_id: int, drop_id: int, version: int, opens_at: datetime, closes_at: datetime | None, actor: str
    ) -> int | None:
        """A later opening; whoever is concerned is told -> how many; None: changed meanwhile, not later, or too near."""
        async with self._transaction() as ask:
            before = drop_from(await ask.row("seller_drop", shop_id, drop_id))
            if before is None or not await ask.count(
                "postpone_drop", shop_id, drop_id, version, opens_at, closes_at, actor, float(POSTPONE_SECONDS_MIN)
            ):
                return None
            await note(ask, None, drop_id, "postponed", SELLER, opens_at=opens_at.isoformat())
            await note_audit(
                ask, shop_id, actor, "drop postponed", before.title,
                {"opens_at": before.opens_at, "closes_at": before.closes_at}, {"opens_at": opens_at, "closes_at": closes_at},
            )  # fmt: skip
            await ask.count("remind_again", drop_id)
            return await ask.count("tell_of_moved_opening", drop_id)

    async def told_of_opening(self, drop_id: int) -> int:
        """-> how many people would hear of a moved opening."""
        return await self._value("told_of_opening", drop_id)

    async def unsold_units(self, shop_id: int, drop_id: int) -> dict[int, int]:
        """-> variant id -> units that no order counts on."""
        return {row["variant_id"]: row["units"] for row in await self._rows("unsold_units", shop_id, drop_id)}


def hashes_of(*shown: Plan | Words | Drop) -> set[str]:
    """-> the pictures of all of these."""
    return {picture.hash for one in shown for picture in one.pictures}


def words_of(drop: Drop) -> Words:
    return Words(drop.title, drop.description, drop.pictures, drop.shipping_countries)


def _draft(row) -> Draft | None:
    return None if row is None else Draft(**{**row, "plan": msgspec.json.decode(row["plan"], type=Plan)})


def _json(plan: Plan) -> str:
    """BadInput for a plan that is too large."""
    encoded = msgspec.json.encode(plan)
    if len(encoded) > PLAN_BYTES_MAX:
        raise BadInput(TOO_LARGE)
    return encoded.decode()


def _changes(before: Words | Plan, after: Words | Plan) -> tuple[Mapping, Mapping]:
    """-> what differs, as it was and as it is; of a long text its beginning."""
    old, new = (msgspec.to_builtins(words) for words in (before, after))
    changed = [name for name in old if old[name] != new[name]]
    return {name: _short(old[name]) for name in changed}, {name: _short(new[name]) for name in changed}


def _short(value: object) -> object:
    return f"{value[:AUDITED_CHARACTERS_MAX]}…" if isinstance(value, str) and len(value) > AUDITED_CHARACTERS_MAX else value
