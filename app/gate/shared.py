"""A value that one process makes and all processes use, for a moment: what a burst of cold requests asks for is made once.

Guarantees: of all processes that want a value at the same time one makes it; the others wait for it, up to WAIT_SECONDS, and then
make it themselves: nobody waits for a process that died. A value lives KEPT_SECONDS and is never written twice under one name with
another meaning: that is the caller's promise (names carry a hash of what the value depends on, or the value may be a moment old).

The gate gone, or slow: everybody makes the value alone, as if there were no other process.
"""

import asyncio
from collections.abc import Awaitable, Callable

from app.errors import GateUnreachable
from app.gate.gate import Gate

KEPT_SECONDS = 1.0
MAKING_SECONDS = 2.0  # so long others wait for the one who makes it, before one of them tries
WAIT_SECONDS = 2.5
LOOK_SECONDS = 0.01

Make = Callable[[], Awaitable[str]]


class Shared:
    """One per process, over the gate connection of the pages."""

    def __init__(self, gate: Gate):
        self._gate = gate

    async def value(self, name: str, make: Make) -> str:
        """-> the value of this name, made here or elsewhere. Raises what `make` raises."""
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                found, ours = await self._gate.take_or_make(name, MAKING_SECONDS)
                while found is None and not ours:
                    await asyncio.sleep(LOOK_SECONDS)
                    found, ours = await self._gate.take_or_make(name, MAKING_SECONDS)
        except (GateUnreachable, TimeoutError):
            return await make()
        return await self._made(name, make) if found is None else found

    async def _made(self, name: str, make: Make) -> str:
        value = None
        try:
            value = await make()
            return value
        finally:
            try:
                await self._gate.made(name, value, KEPT_SECONDS)
            except GateUnreachable:
                pass  # the others stop waiting by themselves
