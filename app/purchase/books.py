"""The books of a drop: the arithmetic that must hold at any moment (DESIGN section 4).

`total = gate_left + offered + held + processing + paid + withdrawn + returning` and `sold = Σ movements <= total`. Gate and
ledger are read without a common clock, so the gate is read before and after: only an unmoved gate gives an answer, otherwise we
read again.
"""

import asyncio

from app.errors import GateUnreachable, NotFound
from app.gate import Gate, Peek
from app.ledger import Ledger, LedgerBooks
from app.purchase.drops import Office

READS_MAX = 20
READ_PAUSE_SECONDS = 0.05


async def books(office: Office, slug: str | None = None) -> dict:
    """-> one drop's books by the public contract, or `{"drops": [...]}` of all. NotFound for an unknown slug."""
    if slug is not None:
        drop = await office.ledger.drop_by_slug(slug)
        if drop is None:
            raise NotFound(f"there is no drop named {slug}")
        return await books_of(office.ledger, office.gate, drop.id, drop.slug)
    return {
        "drops": [
            await books_of(office.ledger, office.gate, drop.id, drop.slug) for drop in await office.ledger.drops(live_only=False)
        ]
    }


async def books_of(ledger: Ledger, gate: Gate, drop_id: int, slug: str, *, reads_max: int = READS_MAX) -> dict:
    """-> the books of one drop. `balanced` is null while the journal is not empty, or the gate is out of reach or moved in each of
    `reads_max` readings."""
    findings: list[str] = []
    for _ in range(reads_max):
        try:
            before = await gate.peek(drop_id)
            rows = await ledger.books(drop_id)
            after = await gate.peek(drop_id)
        except GateUnreachable:
            rows = await ledger.books(drop_id)
            before = after = None
            findings = ["the gate is out of reach"]
            break
        if rows.retired or before is None or after is None or not _moved(before, rows, after):
            break
        await asyncio.sleep(READ_PAUSE_SECONDS)
    moving = before is not None and after is not None and not rows.retired and _moved(before, rows, after)
    if before is None and not rows.retired and not findings:
        findings.append("the gate is empty: not ready until it is rebuilt")
    journal = after.journal if after else 0
    gate_left = sum(after.left.values()) if after else None
    if rows.retired:
        gate_left = rows.total - rows.sold
    accounted = _accounted(rows)
    findings += rows.findings
    if gate_left is not None and not journal and not moving and gate_left + accounted != rows.total:
        findings.append(f"total {rows.total} but {gate_left} left at the gate and {accounted} accounted for")
    if moving:
        findings.append("the gate is moving: read again")
    recording = journal > 0 or moving
    return {
        "drop": slug,
        "total": rows.total,
        "gate_left": gate_left,
        "offered": rows.offered,
        "held": rows.held,
        "processing": rows.processing,
        "paid": rows.paid,
        "withdrawn": rows.withdrawn,
        "returning": rows.returning,
        "refunded": rows.refunded,
        "refused": rows.refused,
        "journal": journal,
        "balanced": None if recording else not findings,
        "findings": findings,
    }


def _accounted(rows: LedgerBooks) -> int:
    return rows.offered + rows.held + rows.processing + rows.paid + rows.withdrawn + rows.returning


def _moved(before: Peek, rows: LedgerBooks, after: Peek) -> bool:
    """Whether gate and ledger were not read as they stood at one moment.

    The gate moved between its two looks; or the recorder wrote what the first look saw in the journal after the ledger was read;
    or the gate has put units back (or handed them on) whose return the ledger has not noted yet, so that they count twice.
    """
    if before.stamp != after.stamp or (before.journal and not after.journal):
        return True
    return not after.journal and 0 < sum(after.left.values()) + _accounted(rows) - rows.total <= rows.returning
