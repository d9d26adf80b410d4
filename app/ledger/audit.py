"""The audit log: every action of a shop's staff, with what it was before and after.

Append-only (the database refuses anything else). Where the action is a transaction of the ledger, its entry is written in it with
`note_audit`; otherwise after it with `audit`, so that an entry never tells of something that did not happen.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.ledger.pool import Asker, Pool

AUDIT_ENTRIES_MAX = 200  # of one page
SUBJECT_CHARACTERS_MAX = 300


@dataclass(frozen=True, slots=True)
class AuditEntry:
    id: int
    at: datetime
    actor: str
    action: str  # 'role changed', 'units added', ...
    subject: str  # what it was about, as people would call it
    before: Mapping[str, Any]
    after: Mapping[str, Any]


class AuditPart(Pool):
    async def audit(
        self, shop_id: int, actor: str, action: str, subject: str, before: Mapping | None = None, after: Mapping | None = None
    ) -> None:
        """Write one entry. `before`, `after`: what changed, as small JSON objects; None where there was or is nothing."""
        async with self._asking() as ask:
            await note_audit(ask, shop_id, actor, action, subject, before, after)

    async def audit_log(
        self, shop_id: int, *, actor: str = "", action: str = "", words: str = "", before_id: int | None = None, limit: int = 50
    ) -> list[AuditEntry]:
        """-> the newest first. `actor`, `action`: exactly this one; `words`: anywhere in the subject; `before_id`: older than."""
        rows = await self._rows("audit_log", shop_id, actor, action, words, before_id, min(limit, AUDIT_ENTRIES_MAX))
        return [_entry(row) for row in rows]

    async def audit_choices(self, shop_id: int) -> tuple[list[str], list[str]]:
        """-> (actors, actions) that stand in this shop's log, in alphabetical order."""
        rows = await self._rows("audit_choices", shop_id)
        return ([row["word"] for row in rows if row["kind"] == kind] for kind in ("actor", "action"))


async def note_audit(
    ask: Asker,
    shop_id: int,
    actor: str,
    action: str,
    subject: str,
    before: Mapping | None = None,
    after: Mapping | None = None,
) -> None:
    """Write one entry in the caller's transaction."""
    subject = subject[:SUBJECT_CHARACTERS_MAX]
    await ask.count("note_audit", shop_id, actor, action, subject, _json(before), _json(after))


def _json(values: Mapping | None) -> str | None:
    return None if values is None else json.dumps(values, default=str)


def _entry(row) -> AuditEntry:
    before, after = (json.loads(row[name]) if row[name] else {} for name in ("before", "after"))
    return AuditEntry(row["id"], row["at"], row["actor"], row["action"], row["subject"], before, after)
