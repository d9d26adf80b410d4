"""The only code that talks to the Redis of the drops: one method per script, keys in one file, one shared connection."""

from app.gate.gate import Gate, answer_of
from app.gate.limiter import ASK, Limiter
from app.gate.records import Heir, Image, JournalEntry, KeyRecord, Peek, Receipt, Released, Reservation, Snapshot
from app.gate.shared import Shared
from app.gate.wire import ConnectionLost, Wire

__all__ = [
    "ASK", "ConnectionLost", "Gate", "Heir", "Image", "JournalEntry", "KeyRecord", "Limiter",
    "Peek", "Receipt", "Released", "Reservation", "Shared", "Snapshot", "Wire",
    "answer_of",
]  # fmt: skip
