"""Requests, replies and routes of a sandbox, straight on ASGI.

`HangUp` closes the connection without a reply. ASGI has no word for that, so the connection's transport is put into the scope by
`Protocol`, a uvicorn protocol that differs from the standard one in nothing else.
"""

import json
import re
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

BODY_BYTES_MAX = 64 * 1024
TRANSPORT = "sandbox.transport"


class Protocol(HttpToolsProtocol):
    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope[TRANSPORT] = self.transport


class HangUp(Exception):
    """Close the connection now, without a reply."""


@dataclass(frozen=True, slots=True)
class Request:
    """`form` and `query` are flat: the nested names of a form stay as they were sent (`metadata[order]`)."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def form(self) -> dict[str, str]:
        """The body's form fields. UnicodeDecodeError or ValueError for a body that is no form."""
        return dict(parse_qsl(self.body.decode("utf-8"), keep_blank_values=True, errors="strict"))

    def json(self):
        """ValueError for a body that is not JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


def json_reply(value, status: int = 200, headers: dict[str, str] | None = None) -> Reply:
    return Reply(status, json.dumps(value, separators=(",", ":")).encode(), headers=headers or {})


def html_reply(markup: str, status: int = 200) -> Reply:
    policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'"
    headers = {"content-security-policy": policy, "cache-control": "no-store"}
    return Reply(status, markup.encode(), "text/html; charset=utf-8", headers)


Handler = Callable[..., Awaitable[Reply]]


class Application:
    """An ASGI application of routes such as ("GET", "/orders/{number}"); the names in braces become arguments of the handler."""

    def __init__(self, routes: list[tuple[str, str, Handler]], unknown: Callable[[Request], Reply]):
        self._routes = [(method, re.compile(_pattern(path)), handler) for method, path, handler in routes]
        self._unknown = unknown

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"a sandbox speaks http, not {scope['type']}")
        body = await _read(receive)
        try:
            if body is None:
                reply = json_reply({"error": {"message": f"The body is larger than {BODY_BYTES_MAX} bytes."}}, 413)
            else:
                reply = await self._answer(_request(scope, body))
        except HangUp:
            scope[TRANSPORT].abort()
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        except Exception:
            traceback.print_exc()
            reply = json_reply({"error": {"type": "api_error", "message": "The sandbox itself failed; its log says why."}}, 500)
        await _send(reply, send)

    async def _answer(self, request: Request) -> Reply:
        for method, pattern, handler in self._routes:
            match = pattern.fullmatch(request.path)
            if match and method == request.method:
                return await handler(request, **match.groupdict())
        return self._unknown(request)


def _pattern(path: str) -> str:
    return re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path)


def _request(scope, body: bytes) -> Request:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    return Request(scope["method"], scope["path"], query, headers, body)


async def _read(receive) -> bytes | None:
    """-> the whole body, or None when it is too large."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > BODY_BYTES_MAX:
            return None
        if not message.get("more_body"):
            return bytes(body)


async def _send(reply: Reply, send) -> None:
    headers = {"content-type": reply.content_type, "content-length": str(len(reply.body)), **reply.headers}
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": encoded})
    await send({"type": "http.response.body", "body": reply.body})
