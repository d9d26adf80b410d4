"""The gate: one method per script. Nothing else in Doorman talks to the Redis of the drops.

Guarantees
- A verdict is a value; GateUnreachable means "no answer": the call may or may not have run.
- `reserve` asks once more by itself after a lost connection: its key makes that harmless. So do the reads. Everything else is left
  to the caller, who knows whether the question still stands (release, settle, ack and adjust may be repeated at any time).
- A drop without rules (an empty or reset gate) answers not_ready, or None to reads, until `mend` has loaded the ledger's image.

Redis dies: calls fail with GateUnreachable within the timeout, or at once while it is known to be down; the connection comes back
by itself.
"""

import asyncio
import contextlib
import functools
import random
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Literal
from uuid import UUID

import hiredis

from app.domain.drops import Door
from app.domain.verdicts import Answer, Verdict
from app.errors import BadInput, BrokenInvariant, GateUnreachable
from app.gate import scripts
from app.gate.keys import RECORDERS, key, shared_key
from app.gate.records import PLACE, Heir, Image, JournalEntry, KeyRecord, Peek, Receipt, Released, Reservation, Snapshot
from app.gate.wire import ConnectionLost, Wire

STAMP_BYTES = 8
NOT_WANTED = "-"  # peek.lua: no stamp
RETRY_NOT_READY_SECONDS = 2  # longer than a process's memory of "nothing left" lives
WHOLE_DROP_SECONDS = 20.0  # timeout of a snapshot or a mend: they carry every receipt of the drop
TAKE_OVER_PAGES_MAX = 100  # XAUTOCLAIM pages walked in search of idle entries

RESERVE_ARGUMENTS = 7
WISHES_CACHED = 1024
_PLAIN = {  # the answers that carry nothing
    "sold_out": Answer(Verdict.SOLD_OUT),
    "all_held": Answer(Verdict.ALL_HELD),
    "paused": Answer(Verdict.PAUSED),
    "closed": Answer(Verdict.CLOSED),
    "key_conflict": Answer(Verdict.KEY_CONFLICT),
    "not_ready": Answer(Verdict.NOT_READY, retry_after_seconds=RETRY_NOT_READY_SECONDS),
}
_MISSING_GROUP = re.compile(r"NOGROUP No such key '([^']+)'")


class Gate:
    """Make it with `await Gate.open(url, name=…)`; one per process and purpose, shared by all its tasks."""

    def __init__(self, wire: Wire, url: str, timeout_seconds: float, name: str):
        self._wire, self._url, self._timeout, self._name = wire, url, timeout_seconds, name
        self._idle_wires: list[Wire] = []
        self._side_wires: set[Wire] = set()

    @classmethod
    async def open(cls, url: str, *, timeout_seconds: float = 2.0, name: str) -> "Gate":
        """Does not fail when the server is down. SettingsError for an address that is none."""
        wire = await Wire.open(url, timeout_seconds=timeout_seconds, name=f"doorman-{name}")
        return cls(wire, url, timeout_seconds, name)

    async def close(self) -> None:
        await asyncio.gather(self._wire.close(), *(wire.close() for wire in self._side_wires))
        self._side_wires.clear()
        self._idle_wires.clear()

    # ---- the crowd ---------------------------------------------------------------------------------------------------
    async def reserve(self, drop_id: int, reservation: Reservation) -> Answer:
        """-> the verdict. Asking again under the same key is harmless; a granted key answers the same order for ever.

        BadInput: a key that only the waitlist may use. GateUnreachable: no answer in time, or the connection was lost twice.
        """
        try:
            return answer_of(await self._wire.call(_reserve_call(drop_id, reservation), scripts.RESERVE))
        except ConnectionLost:
            return await self.reserve_again(drop_id, reservation)

    async def reserve_again(self, drop_id: int, reservation: Reservation) -> Answer:
        """As `reserve`, by one whose connection was lost: waits for a new one."""
        return answer_of(await self._wire.call(_reserve_call(drop_id, reservation), scripts.RESERVE, patient=True))

    @property
    def listens(self) -> bool:
        """Would `ask_to_reserve` ask?"""
        return self._wire.listens

    def ask_to_reserve(self, drop_id: int, reservation: Reservation) -> asyncio.Future:
        """As `reserve`, but asked now and once -> the reply to come, which `answer_of` understands.

        The future fails as `reserve` does, and with ConnectionLost; then ask again under the same key.
        """
        return self._wire.ask(_reserve_call(drop_id, reservation), scripts.RESERVE)

    async def peek(self, drop_id: int, *, holders: bool = False, known: Peek | None = None) -> Peek | None:
        """-> one atomic look; None: no rules. `holders`: once nothing is left, name everyone who was ever granted units.

        `known`: an earlier look at them; they are not sent again if nothing has changed since.
        """
        known_stamp = known.stamp if known is not None and not any(known.left.values()) else ""
        reply = await self._ask_twice(scripts.PEEK, scripts.PEEK.call(drop_id, known_stamp if holders else NOT_WANTED))
        if reply is None:
            return None
        seconds, microseconds, stamp, door, opens_ms, closes_ms, clock_offset_ms, journal, totals, stock, held, named = reply
        left = _units(stock)
        if named is not None:
            granted = frozenset(map(int, named))
        else:
            granted = known.holders if known is not None and stamp == known_stamp else frozenset()
        return Peek(
            drop_id=drop_id, time_us=_time_us(seconds, microseconds), stamp=stamp, door=Door(door), opens_ms=int(opens_ms),
            closes_ms=_optional(closes_ms), left=left, held={**dict.fromkeys(left, 0), **_units(held)}, total=_units(totals),
            holders=granted, journal=journal, clock_offset_ms=int(clock_offset_ms),
        )  # fmt: skip

    async def receipt(self, drop_id: int, order_id: UUID) -> Receipt | None:
        value = await self._ask_twice(None, scripts.command("HGET", key(drop_id, "receipts"), str(order_id)))
        return None if value is None else _receipt(str(order_id), value)

    async def limit(self, name: str, calls_max: int, window_us: int, calls: Sequence[tuple[str, int]]) -> int:
        """Count calls of `name` in a sliding window -> 0, or the microseconds until the last of `calls` may be made.

        `calls`: (its own name, how many µs ago it was made). A call that is counted already is not counted again.
        """
        arguments = [word for call in calls for word in call]
        payload = scripts.LIMIT.call(name, calls_max, window_us, *arguments)
        return int(await self._ask_twice(scripts.LIMIT, payload))

    async def units_of(self, drop_id: int, buyer: int) -> int:
        """-> units that this buyer holds in the drop, paid or not; 0 without rules."""
        value = await self._ask_twice(None, scripts.command("HGET", key(drop_id, "buyers"), buyer))
        return int(value.partition(" ")[0]) if value else 0

    # ---- between processes -------------------------------------------------------------------------------------------
    async def take_or_make(self, name: str, making_seconds: float) -> tuple[str | None, bool]:
        """-> (the shared value or None, whether the caller is the one to make it now)."""
        value = await self._ask_twice(None, scripts.command("GET", shared_key(name, "value")))
        if value is not None:
            return value, False
        maker = scripts.command("SET", shared_key(name, "maker"), 1, "NX", "PX", round(making_seconds * 1000))
        return None, await self._wire.call(maker) is not None

    async def made(self, name: str, value: str | None, kept_seconds: float) -> None:
        """The caller has made the value; None: it could not, and somebody else may try."""
        if value is not None:
            await self._wire.call(
                scripts.command("SET", shared_key(name, "value"), value, "PX", max(1, round(kept_seconds * 1000)))
            )
        await self._wire.call(scripts.command("DEL", shared_key(name, "maker")))

    # ---- what the ledger has decided ---------------------------------------------------------------------------------
    async def release(self, drop_id: int, order_id: UUID, heirs: Iterable[Heir] = ()) -> Released:
        """Put the units of an order back that is final in the ledger, or hand them to the first heirs who may have them.

        Safe at any later time, any number of times. Only not_ready and GateUnreachable leave the question open.
        """
        return await self._release(drop_id, str(order_id), tuple(heirs))

    async def move(self, drop_id: int, order_id: UUID, heir: Heir) -> Released:
        """Hand one receipt's units to one person; what that person may not have becomes public stock."""
        return await self._release(drop_id, str(order_id), (heir,))

    async def offer(self, drop_id: int, heirs: Iterable[Heir]) -> Released:
        """Hand public stock to the first heirs who may have it; 'absent': to nobody."""
        return await self._release(drop_id, "", tuple(heirs))

    async def offered_places(self, drop_id: int, place_ids: Sequence[int]) -> frozenset[int]:
        """-> those of these places that were offered units already, whether or not the ledger knows it yet."""
        if not place_ids:
            return frozenset()
        offers = await self._ask_twice(None, scripts.command("HMGET", key(drop_id, "places"), *place_ids))
        return frozenset(place for place, offer in zip(place_ids, offers, strict=True) if offer is not None)

    async def _release(self, drop_id: int, order: str, heirs: tuple[Heir, ...]) -> Released:
        verdict, *offered = await self._ask(scripts.RELEASE, drop_id, *_release_arguments(order, heirs))
        served = set(map(UUID, offered))
        return Released(verdict, tuple(heir for heir in heirs if heir.order_id in served))

    async def settle(self, drop_id: int, order_id: UUID) -> Literal["settled", "absent", "not_ready"]:
        """Mark the receipt as paid, so that its units no longer count as held."""
        return await self._ask(scripts.SETTLE, drop_id, str(order_id), _stamp())

    async def set_door(
        self, drop_id: int, door: Door, opens_ms: int, closes_ms: int | None
    ) -> Literal["done", "closed", "not_ready"]:
        """`closed`: it has ended, and only a mend moves its door."""
        closes = "" if closes_ms is None else closes_ms
        return await self._ask(scripts.DOOR, drop_id, Door(door).value, opens_ms, closes, _stamp())

    async def adjust(
        self, drop_id: int, operation_id: UUID, variant_id: int, units: int, heirs: Sequence[Heir] = ()
    ) -> Literal["done", "repeated", "too_few", "not_ready"]:
        """Add units, or take unsold ones away (negative), once per operation id. The ledger has counted them before.

        With heirs, what is added is offered to them in the same atomic step: nobody sees it in public stock before.
        """
        arguments = (str(operation_id), variant_id, units, _stamp())
        if not heirs:
            return await self._ask(scripts.ADJUST, drop_id, *arguments)
        both = (
            scripts.ADJUST.call(drop_id, *arguments),
            scripts.RELEASE.call(drop_id, *_release_arguments("", tuple(heirs))),
        )
        steps = (scripts.command("MULTI"), *both, scripts.command("EXEC"))
        scripted = (None, scripts.ADJUST, scripts.RELEASE, None)
        async with self._side_wire() as wire:  # its own connection: nobody else's command may come in between
            *_, (adjusted, _) = await asyncio.gather(
                *(
                    wire.call(script.with_source(step) if script else step, patient=True)  # a script the server forgot would end it
                    for step, script in zip(steps, scripted, strict=True)
                )
            )
        if isinstance(adjusted, hiredis.ReplyError):
            raise adjusted
        return adjusted

    # ---- reconcile, rebuild, retire ----------------------------------------------------------------------------------
    async def snapshot(self, drop_id: int) -> Snapshot | None:
        """-> everything the reconciler compares, read at one moment; None: no rules."""
        async with self._side_wire() as wire:
            reply = await wire.call(
                scripts.SNAPSHOT.call(drop_id), scripts.SNAPSHOT, timeout_seconds=self._timeout + WHOLE_DROP_SECONDS
            )
        return None if reply is None else await asyncio.to_thread(_snapshot, reply)

    async def mend(self, drop_id: int, expected_stamp: str | None, image: Image) -> Literal["mended", "moved"]:
        """Make the gate equal to the image. `expected_stamp`: of the snapshot taken before the image; None: there were no rules.

        'moved': something happened since, or the journal is not empty; nothing changed. BrokenInvariant: the image holds more live
        units than its totals.
        """
        payload = await asyncio.to_thread(_mend_call, drop_id, expected_stamp or "", image)
        async with self._side_wire() as wire:
            return await wire.call(payload, scripts.MEND, timeout_seconds=WHOLE_DROP_SECONDS, patient=True)

    async def retire(self, drop_id: int, expected_stamp: str) -> Literal["retired", "moved", "absent"]:
        """Delete every key of the drop, if nothing has happened since `expected_stamp` and the journal is empty."""
        return await self._ask(scripts.RETIRE, drop_id, expected_stamp)

    # ---- the journal -------------------------------------------------------------------------------------------------
    async def read_journal(
        self, drop_ids: Sequence[int], consumer: str, count: int, block_ms: int
    ) -> list[tuple[int, list[JournalEntry]]]:
        """-> entries nobody has read yet, at most `count` a drop, waiting up to `block_ms` for the first.

        A drop whose group is missing (an empty gate) is left out. Entries stay pending until `ack`. The wait has a connection of
        its own; cancelling it loses nothing: what was on its way stays pending and is taken over later.
        """
        drops = {key(drop_id, "journal"): drop_id for drop_id in drop_ids}
        async with self._side_wire() as wire:
            while drops:
                words = ["XREADGROUP", "GROUP", RECORDERS, consumer, "COUNT", count, "BLOCK", max(1, block_ms), "STREAMS"]
                payload = scripts.command(*words, *drops, *(">" for _ in drops))
                try:
                    reply = await wire.call(payload, timeout_seconds=self._timeout + block_ms / 1000, patient=True)
                except hiredis.ReplyError as error:
                    if (missing := _MISSING_GROUP.match(str(error))) and missing[1] in drops:
                        del drops[missing[1]]
                        continue
                    if not str(error).startswith(("NOGROUP", "UNBLOCKED")):
                        raise
                    reply = None  # a journal went away while we waited
                return [(drops[name], [_entry(entry_id, flat) for entry_id, flat in entries]) for name, entries in reply or ()]
        await asyncio.sleep(block_ms / 1000)
        return []

    async def take_over(self, drop_id: int, consumer: str, idle_ms: int, count: int) -> list[JournalEntry]:
        """-> up to `count` entries that another consumer has read and left alone for `idle_ms`; they are this consumer's now."""
        journal, cursor, found = key(drop_id, "journal"), "0-0", []
        for _ in range(TAKE_OVER_PAGES_MAX):
            words = scripts.command("XAUTOCLAIM", journal, RECORDERS, consumer, idle_ms, cursor, "COUNT", count - len(found))
            try:
                cursor, entries, *_ = await self._wire.call(words)
            except hiredis.ReplyError as error:
                if str(error).startswith("NOGROUP"):
                    break
                raise
            found += [_entry(entry_id, flat) for entry_id, flat in entries]
            if cursor == "0-0" or len(found) >= count:
                break
        return found

    async def ack(self, drop_id: int, entry_ids: Sequence[str]) -> None:
        """The ledger has these entries: acknowledge and delete them in one step. Any number of times."""
        if entry_ids:
            await self._ask(scripts.ACK, drop_id, RECORDERS, *entry_ids)

    async def journal_length(self, drop_id: int) -> int:
        """-> entries the ledger does not have yet."""
        return await self._ask_twice(None, scripts.command("XLEN", key(drop_id, "journal")))

    # ---- below -------------------------------------------------------------------------------------------------------
    async def _ask(self, script: scripts.Script, drop_id: int, *arguments: str | int):
        return await self._wire.call(script.call(drop_id, *arguments), script)

    async def _ask_twice(self, script: scripts.Script | None, payload: bytes):
        """For what may run twice: once more on a new connection, within one more timeout."""
        try:
            return await self._wire.call(payload, script)
        except ConnectionLost:
            return await self._wire.call(payload, script, patient=True)

    @contextlib.asynccontextmanager
    async def _side_wire(self) -> AsyncIterator[Wire]:
        """A connection for one call that blocks or carries a whole drop, so that nobody else waits behind it."""
        while (
            self._idle_wires and not self._idle_wires[-1].connected
        ):  # it lost its server: a new one tries at once, it would pause
            await self._discard(self._idle_wires.pop())
        if self._idle_wires:
            wire = self._idle_wires.pop()
        else:
            wire = await Wire.open(self._url, timeout_seconds=self._timeout, name=f"doorman-{self._name}-side")
            self._side_wires.add(wire)
        try:
            yield wire
        except (GateUnreachable, asyncio.CancelledError):  # the call may still be running there
            await self._discard(wire)
            raise
        except BaseException:
            self._idle_wires.append(wire)
            raise
        self._idle_wires.append(wire)

    async def _discard(self, wire: Wire) -> None:
        self._side_wires.discard(wire)
        await wire.close()


def _release_arguments(order: str, heirs: tuple[Heir, ...]) -> list[str | int]:
    arguments: list[str | int] = [order, _stamp()]
    for heir in heirs:
        hold_ms = "" if heir.hold_ms is None else heir.hold_ms
        arguments += (heir.place_id, heir.buyer, heir.variant_id, heir.quantity, str(heir.order_id), heir.digest, hold_ms)
    return arguments


def _stamp() -> str:
    """Fresh and random, never a counter: a replica that lost writes would count to the same number again."""
    return f"{random.getrandbits(8 * STAMP_BYTES):0{2 * STAMP_BYTES}x}"  # seeded by the system; unlike an order's id no secret


def _reserve_call(drop_id: int, reservation: Reservation) -> bytes:
    if reservation.key.startswith(PLACE):
        raise BadInput("this idempotency key is reserved", field="key")
    return scripts.RESERVE.head(drop_id, RESERVE_ARGUMENTS) + reserve_arguments(reservation)


def reserve_arguments(wanted: Reservation) -> bytes:
    """The RESERVE_ARGUMENTS values of one buyer, encoded; by hand, because the whole crowd passes here."""
    buyer, key = str(wanted.buyer), wanted.key
    wish = _encoded_wish(wanted.digest, wanted.variant_id, wanted.quantity)
    fresh = f"$36\r\n{wanted.order_id}\r\n${2 * STAMP_BYTES}\r\n{_stamp()}\r\n"
    return f"${len(buyer)}\r\n{buyer}\r\n${len(key)}\r\n{key}\r\n{wish}{fresh}".encode("ascii")


@functools.lru_cache(WISHES_CACHED)
def _encoded_wish(digest: str, variant_id: int, quantity: int) -> str:
    """-> the three arguments that say what is wanted; a crowd wants the same few things."""
    return scripts.encode(digest, variant_id, quantity).decode()


def answer_of(reply: list[str]) -> Answer:
    """What reserve.lua returned -> Answer."""
    word = reply[0]
    plain = _PLAIN.get(word)
    if plain is not None:
        return plain
    if word == "reserved":
        return Answer(Verdict.RESERVED, order=reply[1], pay_by_ms=int(reply[2]))
    if word == "already_yours":
        return Answer(Verdict.ALREADY_YOURS, allowed=int(reply[1]), order=reply[2] or None)
    opens_ms, now_ms = int(reply[1]), int(reply[2])
    return Answer(Verdict(word), opens_at_ms=opens_ms, retry_after_seconds=-(-(opens_ms - now_ms) // 1000))


def _snapshot(reply: list) -> Snapshot:
    """What snapshot.lua returned -> Snapshot. In a thread, as `_mend_call`: a large drop has a hundred thousand receipts."""
    seconds, microseconds, flat_rules, journal, totals, stock, receipts, adjustments = reply
    rules = dict(_pairs(flat_rules))
    return Snapshot(
        stamp=rules["stamp"], journal=journal, stock=_units(stock),
        receipts={receipt.order_id: receipt for receipt in (_receipt(order, value) for order, value in _pairs(receipts))},
        door=Door(rules["door"]), opens_ms=int(rules["opens_ms"]), closes_ms=_optional(rules["closes_ms"]),
        adjustments=frozenset(map(UUID, adjustments)), time_us=_time_us(seconds, microseconds), totals=_units(totals),
        per_person=int(rules["per_person"]), hold_ms=int(rules["hold_ms"]), clock_offset_ms=int(rules["clock_offset_ms"]),
        journal_entries_max=int(rules["journal_entries_max"]),
    )  # fmt: skip


def _mend_call(drop_id: int, expected_stamp: str, image: Image) -> bytes:
    arguments = [expected_stamp, RECORDERS]
    for section in _sections(image, _stamp()):
        arguments.append(len(section))
        arguments += section
    return scripts.MEND.call(drop_id, *arguments)


def _sections(image: Image, stamp: str) -> tuple[list, ...]:
    """The image as the nine sections of mend.lua: flat lists of field, value (adjustments: ids)."""
    stock, held = dict(image.totals), dict.fromkeys(image.totals, 0)
    owned: dict[int, list[Receipt]] = {record.buyer: [] for record in image.keys}  # everyone ever granted stays known, with 0 units
    for receipt in image.receipts:
        stock[receipt.variant_id] = stock.get(receipt.variant_id, 0) - receipt.quantity
        if not receipt.paid:
            held[receipt.variant_id] = held.get(receipt.variant_id, 0) + receipt.quantity
        owned.setdefault(receipt.buyer, []).append(receipt)
    if (least := min(stock.values(), default=0)) < 0:
        raise BrokenInvariant(f"the ledger's image has {-least} more live units of a variant than its total")
    rules = {
        "stamp": stamp, "door": Door(image.door).value, "opens_ms": image.opens_ms,
        "closes_ms": "" if image.closes_ms is None else image.closes_ms, "per_person": image.per_person, "hold_ms": image.hold_ms,
        "clock_offset_ms": image.clock_offset_ms, "journal_entries_max": image.journal_entries_max,
    }  # fmt: skip
    receipts, buyers, keys, places = [], [], [], []
    for receipt in image.receipts:
        value = f"{receipt.buyer} {receipt.variant_id} {receipt.quantity} {receipt.pay_by_ms} {int(receipt.paid)}"
        receipts += (str(receipt.order_id), value)
    for buyer, theirs in owned.items():
        buyers += (
            buyer,
            " ".join((str(sum(receipt.quantity for receipt in theirs)), *(str(receipt.order_id) for receipt in theirs))),
        )
    for record in image.keys:
        value = f"{record.order_id} {record.digest} {record.pay_by_ms} {record.variant_id} {record.quantity}"
        if (place := _place_of(record)) is None:
            keys += (f"{record.buyer}:{record.key}", value)
        else:
            places += (place, value)
    return (
        _flat(rules), _flat(image.totals), _flat(stock), _flat(held), receipts, buyers, keys, places,
        [str(operation) for operation in image.adjustments],
    )  # fmt: skip


def _place_of(record: KeyRecord) -> str | None:
    return record.key.removeprefix(PLACE) if record.key.startswith(PLACE) else None


def _flat(values: dict) -> list:
    return [item for pair in values.items() for item in pair]


def _pairs(flat: list[str]) -> Iterable[tuple[str, str]]:
    return zip(flat[::2], flat[1::2], strict=True)


def _units(flat: list[str]) -> dict[int, int]:
    return {int(variant): int(units) for variant, units in _pairs(flat)}


def _optional(text: str) -> int | None:
    return int(text) if text else None


def _time_us(seconds: str, microseconds: str) -> int:
    return int(seconds) * 1_000_000 + int(microseconds)


def _receipt(order: str, value: str) -> Receipt:
    buyer, variant, quantity, pay_by_ms, paid = value.split(" ")
    return Receipt(UUID(order), int(buyer), int(variant), int(quantity), int(pay_by_ms), paid == "1")


def _entry(entry_id: str, flat: list[str]) -> JournalEntry:
    """One stream entry. What is no reservation of ours is kept with its fault: one bad entry must not hide the others."""
    raw = dict(zip(flat[::2], flat[1::2], strict=False))
    try:
        return JournalEntry(
            entry_id=entry_id, order_id=UUID(raw["order"]), buyer=int(raw["buyer"]), variant_id=int(raw["variant"]),
            quantity=int(raw["quantity"]), key=raw["key"], digest=raw["digest"], reserved_ms=int(raw["reserved_ms"]),
            pay_by_ms=int(raw["pay_by_ms"]), place_id=int(raw["place"]) if "place" in raw else None, raw=raw,
        )  # fmt: skip
    except (KeyError, ValueError) as error:
        fault = f"{type(error).__name__}: {error}"
        return JournalEntry(entry_id, UUID(int=0), 0, 0, 0, "", "", 0, 0, None, raw, fault)
