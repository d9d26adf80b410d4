"""Answers that stand ready: put together once, sent often, and the same for everybody who is told them.

A refusal and a page for those signed out need no waiting: what they say is in this process's memory. The guard can therefore give
them to the server at once (`Guard.at_once`, called by patience.py when a request is complete), as bytes, without a task, a queue or
a message in between. What is not ready goes the ordinary way through ASGI; both ways read the same memory and answer the same.
"""

HOSTS_MAX = 8  # names under which one shop is asked; a stranger's are refused before

Header = tuple[bytes, bytes]
Raw = tuple[int, list[Header], bytes]  # status, headers, body


class Ready:
    """One answer. `raw` is it for ASGI."""

    __slots__ = ("_whole", "raw")

    def __init__(self, raw: Raw):
        self.raw = raw
        self._whole: dict[tuple[Header, ...], bytes] = {}

    @property
    def status(self) -> int:
        return self.raw[0]

    def whole(self, guards: tuple[Header, ...]) -> bytes:
        """-> everything behind the status line and the server's own headers. `guards`: the headers that the guard adds."""
        whole = self._whole.get(guards)
        if whole is None:
            if len(self._whole) >= HOSTS_MAX:
                self._whole.clear()
            _, headers, body = self.raw
            whole = self._whole[guards] = b"".join(map(line, (*headers, *guards))) + b"\r\n" + body
        return whole


def line(header: Header) -> bytes:
    name, value = header
    if b"\n" in name + value or b"\r" in name + value:
        raise ValueError(f"header {name!r} would end early")
    return b"%b: %b\r\n" % header
