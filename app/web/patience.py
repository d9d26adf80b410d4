"""Connections that send nothing, or send a request drop by drop, are not waited for.

uvicorn bounds the pause between two requests; it does not bound how long the first one, or the head of any, may take. Here a head
must be complete HEAD_SECONDS after its connection was made or its first byte came, and must fit into HEAD_BYTES_MAX. Bodies have
their own bound (guard.py). A connection costs a timer only while a head is incomplete.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0
HEAD_BYTES_MAX = 32 * 1024


class Patience(HttpToolsProtocol):
    """HTTP/1.1 by httptools, with a bound on heads."""

    def __init__(self, *arguments: Any, **named: Any):
        super().__init__(*arguments, **named)
        self._head_timer: asyncio.TimerHandle | None = None
        self._head_open = True  # what comes next belongs to a head
        self._head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, error: Exception | None) -> None:
        self._head_arrived()
        super().connection_lost(error)

    def data_received(self, data: bytes) -> None:
        self._head_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            return  # over, or a websocket's now
        if self._head_open and self._head_bytes > HEAD_BYTES_MAX:
            self.send_400_response("The head of the request is too large.")
        elif self._head_open or self.cycle is None or self.cycle.response_complete:
            self._wait_for_head()

    def on_message_begin(self) -> None:
        self._head_open = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head_arrived()
        super().on_headers_complete()

    def _wait_for_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _head_arrived(self) -> None:
        self._head_open, self._head_bytes = False, 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            self.transport.close()
