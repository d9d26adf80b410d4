"""The one guard in front of every path, raw or routed: host, path, address rate, origin, body size and time, session, headers.

Guarantees, for whatever a stranger sends: no handler sees a request with an unknown host, a path or query that is not UTF-8 or
holds control characters, a cross-site unsafe method or socket handshake, or a body that is too large or too slow; every answer
carries the security headers; an exception below becomes a plain 500 without its text. When its neighbours (templates) fail, the
built-in page of problems.py stands in. It asks nobody else, so it works with Redis and Postgres gone.
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Hashable
from datetime import UTC
from typing import Any
from urllib.parse import unquote_to_bytes

import structlog

from app import languages
from app.first_step import first_step, rest_of
from app.gate import ASK, Limiter
from app.languages import N_, _
from app.settings import Settings
from app.web.addresses import Addresses, is_loopback, limited_as
from app.web.call import API_PREFIX, SCOPE_KEY, SELLER_PREFIX, Call
from app.web.problems import FAULT, Problem, Problems, send_answer
from app.web.ready import Later, Ready, lines
from app.web.seats import NoSeat, Seats
from app.web.session import Session, Sessions

BODY_BYTES_MAX = 8 * 1024
BODY_SECONDS_MAX = 5.0
WEBHOOK_PREFIX = "/webhooks/"  # proven by their signature, not by where they come from
WEBHOOK_BYTES_MAX = 256 * 1024
SELLER_BYTES_MAX = 192 * 1024  # people at work, with longer forms: ten thousand characters of any script, percent-encoded, and more
LONG_FORM_PATH = f"{SELLER_PREFIX}shop"  # the texts that law asks for, in one form, from those who are signed in
LONG_FORM_BYTES_MAX = 640 * 1024  # four texts of 15,000 characters, of nine bytes each where they are percent-encoded, and the rest
UPLOAD_PATHS = frozenset({f"{SELLER_PREFIX}pictures", f"{API_PREFIX}pictures"})  # and with pictures, for those who may
UPLOAD_BYTES_MAX = 10 * 1024 * 1024 + 2 * SELLER_BYTES_MAX  # a picture, and the form that carries it
UPLOAD_SECONDS_MAX = 90.0
PACE = (10.0, 64 * 1024)  # seconds of grace; from then on so many bytes a second must have come so far
UPLOAD_RETRY_SECONDS = 3
OTHER_PICTURES = N_("Other pictures are on their way. Send it again in a moment.")
UPLOADS_AT_ONCE_MAX = 6  # that are being received by this process,
UPLOADS_OF_SHOP_MAX = 3  # of a shop,
UPLOADS_OF_SENDER_MAX = 2  # and of one person or key
LARGE_PATHS = UPLOAD_PATHS | {LONG_FORM_PATH}
DRAIN_BYTES_MAX = 16 * 1024 * 1024  # an oversized body is read and dropped up to here, so that its sender can hear the 413
PATH_CHARACTERS_MAX = 1024
QUERY_BYTES_MAX = 2048
TARGETS_CACHED = 1024  # judged lately: a crowd asks for a few

CARD_FORM_SOURCES = (  # what Stripe's card form needs, by Stripe's own list; the first is one more address of connect-src
    b" https://api.stripe.com; script-src 'self' https://js.stripe.com https://*.js.stripe.com"
    b"; frame-src https://js.stripe.com https://*.js.stripe.com https://hooks.stripe.com"
)
HSTS_SECONDS = 365 * 24 * 3600
UNSAFE = frozenset({"POST", "PUT", "PATCH", "DELETE"})
BY_ADDRESS = frozenset({"/healthz", "/servez", "/readyz"})  # load balancers ask by IP: these say nothing that depends on a name
METHODS = UNSAFE | {"GET", "HEAD"}  # no CORS, so nobody need ask with OPTIONS
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")

App = Callable[[dict[str, Any], Callable, Callable], Awaitable[None]]

log = structlog.get_logger("guard")


class Guard:
    """ASGI: `inner` is called with scope["doorman"] = Call, or not at all."""

    def __init__(
        self,
        inner: App,
        settings: Settings,
        sessions: Sessions,
        problems: Problems,
        limiter: Limiter,
        uploader: Callable[[Call], Awaitable[tuple[Hashable, Hashable] | None]] | None = None,
    ):
        """`limiter` counts requests of an address. `uploader`: the shop of whoever sends something large, and who it is; None: this
        request is of nobody who may, or nobody ever may."""
        self.inner = inner
        self.sessions = sessions
        self.problems = problems
        self.production = settings.production
        self.public_origin = settings.public_url.encode()
        self.public_host = settings.public_url.partition("://")[2].encode()
        self.addresses = Addresses(settings.trusted_proxies)
        self.limiter = limiter
        self.uploader = uploader
        self.uploads = Seats(UPLOADS_AT_ONCE_MAX, UPLOADS_OF_SHOP_MAX, UPLOADS_OF_SENDER_MAX)
        self.spare_loopback = not settings.production and not settings.limit_loopback
        self.headers_for = functools.lru_cache(64)(self._headers_for)
        self.lines_for = functools.lru_cache(64)(lambda host, card_form: lines(self.headers_for(host, card_form)))

    async def __call__(self, scope: dict[str, Any], receive: Callable, send: Callable) -> None:
        if scope["type"] == "lifespan":
            await self.inner(scope, receive, send)
            return
        call = scope.get(SCOPE_KEY) or self.call_of(scope)
        chosen = call.choose_language(mirrored=not self.production)
        languages.speak(call.language)
        languages.use_zone(UTC)
        if scope["type"] == "websocket":
            await self.socket(scope, call, receive, send)
        else:
            await self.request(scope, call, receive, send, chosen and not call.partial)

    def call_of(self, scope: dict[str, Any]) -> Call:
        call = scope[SCOPE_KEY] = Call(scope)
        call.address = self.addresses.of(scope, call)
        return call

    def at_once(self, scope: dict[str, Any], body: bytes) -> tuple[int, bytes] | Later | None:
        """-> (status, the rest of the answer behind the server's own headers) for what needs no task (ready.py).

        Later: the same, once a reply is there. None: the request goes the ordinary way, and nothing has happened. It is judged here
        exactly as there, so that whatever is odd about a request is left to the one place that can say what.
        """
        door = self.inner.door_at_once(scope["method"], scope["path"])
        if door is None:
            return None
        call = self.call_of(scope)
        if call.choose_language(mirrored=not self.production) or self.refuse_target(scope, call) is not None:
            return None
        sender = self.counted_sender(call)
        if sender is not None and not self.limiter.has_credit(sender):
            return None
        if scope["method"] == "POST":
            if self.refuse_origin(call) is not None or len(body) > BODY_BYTES_MAX:
                return None
            call.body = body
        call.session = self.session_of(call)
        ready = door(call, scope["headers"])
        if ready is None:
            return None
        if sender is not None:
            self.limiter.look(sender)
        own_lines = self.lines_for(call.host, call.card_form)
        if isinstance(ready, Later):
            return Later(ready.reply, lambda reply: whole(ready.finish(reply), own_lines))
        return whole(ready, own_lines)

    async def socket(self, scope: dict[str, Any], call: Call, receive: Callable, send: Callable) -> None:
        problem = self.refuse_target(scope, call) or await self.refuse_pace(call) or self.refuse_origin(call)
        if problem is None and call.path.startswith(SELLER_PREFIX) and not call.origin:
            problem = Problem(403, "The dashboard's sockets are for browsers.")
        if problem is not None:
            await self.refuse_socket(scope, problem, receive, send)
            return
        call.session = self.session_of(call)
        await self.inner(scope, receive, send)

    async def request(self, scope: dict[str, Any], call: Call, receive: Callable, send: Callable, chosen: bool) -> None:
        """`chosen`: the reader chose a language just now, and the browser is to remember it."""
        call.send = send
        started = False
        head = scope["method"] == "HEAD"
        host = call.host if self.own_host(call.host) else self.public_host
        cookies = ()
        if chosen:
            cookie = self.sessions.cookie(languages.COOKIE, call.language.tag, languages.COOKIE_SECONDS)
            cookies = ((b"set-cookie", cookie.to_encoded_header()[1]),)

        async def send_guarded(message: dict[str, Any]) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", ()), *self.headers_for(host, call.card_form), *cookies]
            elif head:
                message = {**message, "body": b""}
            await send(message)

        problem = self.refuse_target(scope, call) or await self.refuse_pace(call)
        if problem is None and scope["method"] in UNSAFE:
            problem = await self.take_in(call, receive)
        if problem is not None:
            await send_answer(send_guarded, *self.problems.answer(problem, call))
            return
        try:
            call.session = self.session_of(call)
            if scope["method"] in UNSAFE:
                receive = replay(call.body, receive)
            elif head:
                scope = {**scope, "method": "GET"}  # one handler for both
            await self.inner(scope, receive, send_guarded)
        except Exception:
            log.exception("a request failed")
            if started:
                raise  # half an answer is out: the server must cut the connection
            await send_answer(send_guarded, *self.problems.answer(Problem(500, FAULT), call))

    async def take_in(self, call: Call, receive: Callable) -> Problem | None:
        """What only unsafe requests go through: where they come from, and their body."""
        if call.path.startswith(WEBHOOK_PREFIX):
            return await self.read_body(call, receive, WEBHOOK_BYTES_MAX)
        problem = self.refuse_origin(call)
        if problem is None and call.path in LARGE_PATHS and self.uploader and (names := await self.uploader(call)):
            if call.path == LONG_FORM_PATH:
                return await self.read_body(call, receive, LONG_FORM_BYTES_MAX, UPLOAD_SECONDS_MAX, PACE)
            return await self.read_upload(call, receive, names)
        bytes_max = SELLER_BYTES_MAX if call.path.startswith((SELLER_PREFIX, API_PREFIX)) else BODY_BYTES_MAX
        return problem or await self.read_body(call, receive, bytes_max)

    def session_of(self, call: Call) -> Session | None:
        return self.sessions.of_cookies(call.cookie) if call.cookie else None

    def refuse_target(self, scope: dict[str, Any], call: Call) -> Problem | None:
        """Whom and what the request names."""
        if call.repeated:
            return Problem(400, "A header that must stand alone was sent twice.")
        if not self.own_host(call.host) and not (self.production and call.path in BY_ADDRESS):
            return Problem(400, "This shop is not known under that name.")
        if not clean_target(scope.get("raw_path", b""), call.path, call.query_string):
            return Problem(400, "The address holds characters that no address of ours has.")
        if scope["type"] == "http" and scope["method"] not in METHODS:
            return Problem(405, "This method is not used here.")
        return None

    async def refuse_pace(self, call: Call) -> Problem | None:
        """How often the request's sender asks."""
        sender = self.counted_sender(call)
        if sender is None:
            return None
        wait = self.limiter.look(sender)
        if wait == ASK:
            wait = await self.limiter.ask(sender)
        return Problem(429, "Too many requests from your address. Wait a moment.", retry_after_seconds=wait) if wait else None

    def counted_sender(self, call: Call) -> str | None:
        """-> under which name the request's sender is counted; None: not at all."""
        if call.asked or (self.spare_loopback and is_loopback(call.address)):
            return None
        return limited_as(call.address)

    def refuse_origin(self, call: Call) -> Problem | None:
        """Unsafe methods and handshakes: a browser must say that the page it acts for is ours; what is no browser says nothing."""
        if call.origin:
            ours = call.origin == self.public_origin or (not self.production and call.origin == b"http://" + call.host)
        else:
            ours = call.fetch_site in (b"", b"same-origin", b"none")
        return None if ours else Problem(403, "This request came from another site.")

    async def read_upload(self, call: Call, receive: Callable, names: tuple[Hashable, Hashable]) -> Problem | None:
        try:
            with self.uploads.seat(*names):
                return await self.read_body(call, receive, UPLOAD_BYTES_MAX, UPLOAD_SECONDS_MAX, PACE)
        except NoSeat:
            return Problem(503, OTHER_PICTURES, retry_after_seconds=UPLOAD_RETRY_SECONDS)

    async def read_body(
        self,
        call: Call,
        receive: Callable,
        bytes_max: int,
        seconds_max: float | None = None,
        pace: tuple[float, int] | None = None,
    ) -> Problem | None:
        """Fill call.body; a body that is too large is dropped while it comes, so that the sender gets to read the answer.

        `pace`: seconds of grace, and the bytes a second that must have come after them. Most bodies came together with their head:
        those need no timer, which would cost more than all that is done with them here.
        """
        receiving = receive()
        there, message = first_step(receiving)
        if there and not message.get("more_body") and message["type"] == "http.request" and len(message["body"]) <= bytes_max:
            call.body = message["body"]
            return None
        seconds_max = seconds_max or BODY_SECONDS_MAX
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(pace[0] if pace else seconds_max) as bound:
                started = asyncio.get_running_loop().time()
                message = message if there else await rest_of(receiving, message)
                while message["type"] != "http.disconnect":
                    chunk = message.get("body", b"")
                    size += len(chunk)
                    if pace:
                        bound.reschedule(started + min(pace[0] + size / pace[1], seconds_max))
                    if size <= bytes_max:
                        chunks.append(chunk)
                    if not message.get("more_body", False) or size > DRAIN_BYTES_MAX:
                        break
                    message = await receive()
                else:
                    return Problem(400, "The connection was closed before the request was complete.")
        except TimeoutError:
            if size <= bytes_max:
                return Problem(408, "The request took too long to arrive.", headers=((b"connection", b"close"),))
        if size > bytes_max:
            too_large = _("The request is larger than %(bytes)s bytes.", bytes=bytes_max)
            return Problem(413, too_large, headers=((b"connection", b"close"),))
        call.body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        return None

    def own_host(self, host: bytes) -> bool:
        if host == self.public_host:
            return True
        if self.production:
            return False
        name, colon, port = host.rpartition(b":")
        if not colon or host.endswith(b"]"):
            name, port = host, b"0"
        return name.decode("latin-1") in LOOPBACK_NAMES and port.isdigit()

    async def refuse_socket(self, scope: dict[str, Any], problem: Problem, receive: Callable, send: Callable) -> None:
        """Answer a handshake with the status where the server can, else close it unaccepted (the client reads 403)."""
        await receive()
        if "websocket.http.response" not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": 1008})
            return
        status, headers, body = self.problems.answer(problem, None)
        await send({"type": "websocket.http.response.start", "status": status, "headers": headers})
        await send({"type": "websocket.http.response.body", "body": body})

    def _headers_for(self, host: bytes, card_form: bool) -> tuple[tuple[bytes, bytes], ...]:
        """-> what every answer carries; the socket address in the policy is that of the host that was asked.

        `card_form`: the page on which cards are entered, the only one that may load anything from elsewhere.
        """
        socket = (b"wss://" if self.public_origin.startswith(b"https:") else b"ws://") + host
        policy = (
            b"default-src 'self'; connect-src 'self' "
            + socket
            + (CARD_FORM_SOURCES if card_form else b"")
            + b"; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; "
            b"base-uri 'none'; object-src 'none'"
        )
        headers = (
            (b"content-security-policy", policy),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"same-origin"),
        )
        if self.production:
            headers += ((b"strict-transport-security", b"max-age=%d; includeSubDomains" % HSTS_SECONDS),)
        return headers


def whole(ready: Ready | None, own_lines: bytes) -> tuple[int, bytes] | None:
    """-> an answer as the server takes it."""
    return None if ready is None else (ready.status, ready.whole(own_lines))


def clean_target(raw_path: bytes, path: str, query: bytes) -> bool:
    """Is the request's target UTF-8, printable and of sane length, also once unquoted?"""
    return len(path) <= PATH_CHARACTERS_MAX and len(query) <= QUERY_BYTES_MAX and _is_clean(raw_path, path, query)


@functools.lru_cache(TARGETS_CACHED)
def _is_clean(raw_path: bytes, path: str, query: bytes) -> bool:
    unquoted = (unquote_to_bytes(part) for part in (raw_path, query) if b"%" in part)
    return path.isprintable() and printable(query) and all(map(printable, unquoted))


def printable(text: bytes) -> bool:
    try:
        return not any(character < " " or character == "\x7f" for character in text.decode())
    except UnicodeDecodeError:
        return False


def replay(body: bytes, receive: Callable) -> Callable:
    """-> a `receive` that hands out the body once, then what the connection says."""
    handed_out = False

    async def receive_again() -> dict[str, Any]:
        nonlocal handed_out
        if handed_out:
            return await receive()
        handed_out = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again
