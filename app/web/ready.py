"""Answers that stand ready, or lack one reply: what a crowd asks for, given to the server without a task in between.

A refusal and a page for those signed out need no waiting: what they say is in this process's memory, put together once and sent
often (`Ready`). A buy lacks the gate's reply and nothing else (`Later`). The guard gives both to the server as bytes
(`Guard.at_once`, called by patience.py when a request is complete). What is neither goes the ordinary way through ASGI; both ways
do the same.
"""

import asyncio
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

HOSTS_MAX = 8  # names under which one shop is asked; a stranger's are refused before

Header = tuple[bytes, bytes]
Raw = tuple[int, list[Header], bytes]  # status, headers, body


class Ready:
    """One answer. `raw` is it for ASGI."""

    __slots__ = ("_whole", "raw")

    def __init__(self, raw: Raw):
        self.raw = raw
        self._whole: dict[bytes, bytes] = {}

    @property
    def status(self) -> int:
        return self.raw[0]

    def whole(self, guards: bytes) -> bytes:
        """-> everything behind the status line and the server's own headers. `guards`: the lines that the guard adds."""
        whole = self._whole.get(guards)
        if whole is None:
            if len(self._whole) >= HOSTS_MAX:
                self._whole.clear()
            _, headers, body = self.raw
            whole = self._whole[guards] = b"%b%b\r\n%b" % (lines(headers), guards, body)
        return whole


class Later(NamedTuple):
    """An answer that lacks one reply. `finish(reply)` -> the answer; None, or a reply that failed: the ordinary way.

    So the question must be one that may be asked twice.
    """

    reply: asyncio.Future
    finish: Callable[[Any], Any]


def lines(headers: Collection[Header]) -> bytes:
    """-> the headers as they go over the wire; ValueError when one of them would end early."""
    text = b"".join([b"%b: %b\r\n" % header for header in headers])
    if text.count(b"\n") != len(headers) or text.count(b"\r") != len(headers):
        raise ValueError("a header holds a line break")
    return text
