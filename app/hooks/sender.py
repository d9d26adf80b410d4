"""One POST to somebody else's server, which may be down, slow, lying, or not somebody else's at all.

Guarantees: it ends within `seconds_max` as a whole, however slowly the other side drips; of an answer no more than ANSWER_BYTES_MAX
is read; a redirect is an answer and is not followed; no proxy and no cookie is used. With `outside_only` a connection is made to
nothing but addresses on the internet: a name is resolved here and the address that was looked at is the one that is connected to,
so that a name which changes its mind in between changes nothing.
"""

import asyncio
import socket
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import httpcore

from app.domain.hooks import is_outside

SEND_SECONDS_MAX = 10.0
CONNECT_SECONDS_MAX = 5.0
ANSWER_BYTES_MAX = 2048
ANSWER_CHARACTERS_KEPT = 500
ADDRESSES_TRIED_MAX = 3  # of one name
CONNECTIONS_MAX = 64


class NotSent(Exception):
    """No answer came. The text says why, for the seller who reads the log."""


class Answer(NamedTuple):
    status: int
    text: str  # its beginning, printable


class Sender:
    def __init__(self, *, outside_only: bool, seconds_max: float = SEND_SECONDS_MAX):
        """`outside_only`: refuse whatever is not on the internet."""
        self.seconds_max = seconds_max
        self._pool = httpcore.AsyncConnectionPool(
            max_connections=CONNECTIONS_MAX,
            max_keepalive_connections=0,  # a stale connection looks like a receiver that died
            network_backend=OutsideOnly() if outside_only else None,
        )

    async def close(self) -> None:
        await self._pool.aclose()

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """-> whatever the receiver says, in time. NotSent."""
        try:
            async with asyncio.timeout(self.seconds_max):
                return await self._post(url, headers, body)
        except TimeoutError as error:
            raise NotSent(f"no answer within {self.seconds_max:g} seconds") from error
        except httpcore.ConnectTimeout as error:
            raise NotSent("no connection in time") from error
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, httpcore.UnsupportedProtocol) as error:
            raise NotSent(printable(str(error)) or type(error).__name__) from error
        except OSError as error:
            raise NotSent(printable(str(error))) from error

    async def _post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        sent = [(name.encode(), value.encode()) for name, value in headers.items()]
        times = {"connect": CONNECT_SECONDS_MAX}
        async with self._pool.stream("POST", url, headers=sent, content=body, extensions={"timeout": times}) as answer:
            read = b""
            async for chunk in answer.aiter_stream():
                read += chunk
                if len(read) >= ANSWER_BYTES_MAX:
                    break
            return Answer(answer.status, printable(read[:ANSWER_BYTES_MAX].decode("utf-8", "replace")))


class OutsideOnly(httpcore.AsyncNetworkBackend):
    """Connects to addresses on the internet, and to nothing else."""

    def __init__(self):
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 -- the library's own signature
        local_address: str | None = None,
        socket_options: Iterable | None = None,
    ) -> httpcore.AsyncNetworkStream:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        outside = [address for address in dict.fromkeys(entry[4][0] for entry in found) if is_outside(address)]
        if not outside:
            raise NotSent("the address leads into a private network; nothing was sent")
        for address in outside[: ADDRESSES_TRIED_MAX - 1]:
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._network.connect_tcp(outside[-1], port, timeout, local_address, socket_options)

    async def connect_unix_socket(self, path: str, *options, **more):
        raise NotSent("nothing is sent to a socket of this machine")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


def printable(text: str) -> str:
    """-> its beginning, on one line, without anything a page or a log could stumble over."""
    return "".join(character if character.isprintable() else " " for character in text)[:ANSWER_CHARACTERS_KEPT].strip()
