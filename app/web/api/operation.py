"""One operation of the API: what it takes, what it says, who may ask, and how it is carried out.

An operation is declared once, with `operation(...)` over a function from `Ask` to the answer. The declaration is everything: the
route, the check of its input, the scope that its key needs, and its part of the OpenAPI document (document.py), so that none of
them can say something else than the others.

Guarantees, in this order: no key or a revoked one, 401; too many calls, 429; a key without the scope, 403; input that is not as
declared, 422, before anything is looked up. What changes something takes an Idempotency-Key, and a POST must have one: the first
request under it is carried out, repeats get the same answer for a day, another request under it is 422, and while the first is
under way 409 says when to ask again. As everywhere, only what came to something is kept: after a refusal the key is free. Who died
in the middle, or lost the ledger there, is followed after a minute by whoever repeats the request, with the same wish, so that
money, units and mails are moved once even then. What is changed by version is changed in the one that the request names, or not at
all: 409 says which one stands there now.
"""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl
from uuid import UUID, uuid4

import msgspec
from litestar import Litestar, Request, Response
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler

from app.domain.keys import check_key
from app.domain.scopes import Scope
from app.errors import BadInput, DoormanError, GateUnreachable, LedgerUnreachable, StartFailed
from app.languages import N_
from app.ledger import ApiKey, Repeated
from app.web.call import API_PREFIX, SCOPE_KEY, Call, media_type
from app.web.doors import JSON, Doors, TheseDoors, ThisCall
from app.web.problems import Problem, Refused, problem_of
from app.web.seller.access import is_options

PREFIX = API_PREFIX.rstrip("/")
KEY_KEY = "doorman.api_key"
NO_STORE = {"cache-control": "no-store"}
IN_FLIGHT_RETRY_SECONDS = 1

SHOW_A_KEY = N_("Show an API key of the shop: Authorization: Bearer dm_… The dashboard makes them.")
NOT_IN_SCOPE = N_("This key may not do that. An owner can make another one.")
TOO_OFTEN = N_("Too many requests under this key. Wait a moment.")
NAME_THE_REQUEST = N_("Send an Idempotency-Key with every POST: 1 to 64 printable ASCII characters that name this very request.")
ANOTHER_REQUEST = N_("This Idempotency-Key was used for another request. Take a new one.")
UNDER_WAY = N_("The first request under this Idempotency-Key is still under way. Ask again in a moment.")
CHANGED_MEANWHILE = N_("Somebody changed it meanwhile. Nothing was overwritten; read it again.")
NO_BODY = N_("Send a JSON object.")
NO_FILE = N_("Send the file itself as the body, with its Content-Type.")
TAKES_JSON = ((b"accept", b"application/json"),)  # of a 415: what would be taken (RFC 9110, 15.5.16)
FILES = ("image/jpeg", "image/png", "image/webp", "image/avif", "application/octet-stream")  # what a body of bytes may say it is
TAKES_FILES = ((b"accept", ", ".join(FILES).encode()),)

ThisKey = NamedDependency[ApiKey]
Body, Query = TypeVar("Body"), TypeVar("Query")


@dataclass(frozen=True, slots=True)
class Ask(Generic[Body, Query]):
    """One request, read and let in."""

    doors: Doors
    key: ApiKey
    call: Call
    path: dict[str, Any]
    body: Body
    query: Query
    wish: UUID  # names what is to be done: the same for every repeat of the request


Work = Callable[[Ask], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class File:
    """An answer that is no JSON."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Operation:
    """What is known of one operation before anybody asks."""

    method: str
    path: str  # below PREFIX, as Litestar writes it: '/drops/{drop_id:int}'
    scope: Scope
    title: str
    about: str
    work: Work
    query: type | None
    body: type | None  # bytes: a file
    answer: type | None  # None: nothing is said (204); File: a `media`
    status: int
    media: str
    secret_again: Callable[[Ask, Any], Awaitable[str]] | None  # of an answer with a secret, which is never kept

    def __deepcopy__(self, memo: dict) -> "Operation":
        """Litestar copies what its handlers carry; there is one of each all the same."""
        return self

    @property
    def name(self) -> str:
        return self.work.__name__

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """-> (name, kind) of each in the path."""
        return re.findall(r"\{(\w+):(\w+)\}", self.path)

    @property
    def takes_key(self) -> bool:
        """Whether repeats of a request can be told by an Idempotency-Key."""
        return self.method != "GET"

    @property
    def needs_key(self) -> bool:
        """Whether a request without one is refused: doing it twice is more than doing it once."""
        return self.method == "POST"

    @cached_property
    def _body_decoder(self) -> msgspec.json.Decoder:
        return msgspec.json.Decoder(self.body)

    @cached_property
    def answer_decoder(self) -> msgspec.json.Decoder:
        return msgspec.json.Decoder(self.answer)

    def read_body(self, call: Call) -> Any:
        if self.body is None:
            return None
        if self.body is bytes:
            if media_type(call.content_type).decode("latin-1") not in FILES:
                raise Refused(Problem(415, NO_FILE, headers=TAKES_FILES))
            return call.body
        if not call.sends_json:
            raise Refused(Problem(415, NO_BODY, headers=TAKES_JSON))
        try:
            body = self._body_decoder.decode(call.body)
        except msgspec.ValidationError as error:
            raise invalid(error) from error
        except (msgspec.DecodeError, RecursionError) as error:
            raise BadInput(NO_BODY) from error
        refuse_control_characters(body)
        return body

    def read_query(self, call: Call) -> Any:
        pairs = parse_qsl(call.query_string.decode("ascii", "replace"), keep_blank_values=True)
        fields = dict(pairs)
        if len(fields) != len(pairs):
            raise BadInput("a parameter of the address was given twice")
        fields.pop("lang", None)
        if self.query is None and not fields:
            return None
        try:
            return msgspec.convert(fields, self.query or Nothing, strict=False)
        except msgspec.ValidationError as error:
            raise invalid(error) from error


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No parameter is known."""


def operation(
    method: str,
    path: str,
    *,
    scope: Scope,
    title: str,
    query: type | None = None,
    body: type | None = None,
    answer: type | None,
    status: int | None = None,
    media: str = JSON,
    secret_again: Callable[[Ask, Any], Awaitable[str]] | None = None,
) -> Callable[[Work], HTTPRouteHandler]:
    """Declare one. The function's docstring is what the documentation says about it."""

    def declared(work: Work) -> HTTPRouteHandler:
        about = " ".join((work.__doc__ or "").split())
        said = status or (204 if answer is None else 200)
        one = Operation(method, path, scope, title, about, work, query, body, answer, said, media, secret_again)

        async def door(request: Request, call: ThisCall, doors: TheseDoors, key: ThisKey) -> Response:
            return await carried_out(one, request, call, doors, key)

        door.__name__ = work.__name__
        return HTTPRouteHandler(path, http_method=method, status_code=200, opt={"operation": one})(door)

    return declared


# ---- who may ask


def guard_of(doors: Doors) -> Callable[[ASGIConnection, BaseRouteHandler], Awaitable[None]]:
    """-> the guard of the router: lets the request pass, with the key in its scope, or refuses it."""

    async def guard(connection: ASGIConnection, handler: BaseRouteHandler) -> None:
        if handler.opt.get("public") is True:
            return
        call: Call = connection.scope[SCOPE_KEY]
        key = await doors.api_keys.of(call.authorization)
        if key is None:
            raise Refused(Problem(401, SHOW_A_KEY, headers=((b"www-authenticate", b'Bearer realm="doorman"'),)))
        wait = await doors.api_limiter.allow(key.id)
        if wait:
            raise Refused(Problem(429, TOO_OFTEN, retry_after_seconds=wait))
        one: Operation = handler.opt["operation"]
        if not key.may(one.scope):
            raise Refused(Problem(403, NOT_IN_SCOPE, title=N_("Not in the key's scopes"), more={"scope": one.scope.value}))
        connection.scope[KEY_KEY] = key

    return guard


def check_scopes(app: Litestar) -> None:
    """StartFailed for a route below PREFIX that is neither an operation, which has a scope, nor says that it is public."""
    for route in app.routes:
        for handler in getattr(route, "route_handlers", None) or [route.route_handler]:
            if not route.path.startswith(PREFIX) or is_options(handler):
                continue
            if isinstance(handler.opt.get("operation"), Operation) == (handler.opt.get("public") is True):
                raise StartFailed(f"{route.path}: {handler.handler_name} must be an operation, or say public=True")


# ---- carrying out


async def carried_out(one: Operation, request: Request, call: Call, doors: Doors, key: ApiKey) -> Response:
    query, body = one.read_query(call), one.read_body(call)
    path = dict(request.path_params)

    def ask_as(wish: UUID) -> Ask:
        return Ask(doors, key, call, path, body, query, wish)

    if one.needs_key or (one.takes_key and call.key is not None):
        return await once(one, ask_as, call, doors, key)
    return said(one, await one.work(ask_as(uuid4())))


async def once(one: Operation, ask_as: Callable[[UUID], Ask], call: Call, doors: Doors, key: ApiKey) -> Response:
    """Carry the first request under its key out; give repeats the same answer."""
    ledger, name, token = doors.office.ledger, key_of(call), uuid4()
    digest = await asyncio.to_thread(digest_of, one, call) if one.body is bytes else digest_of(one, call)
    found = await ledger.begin_repeatable(key.shop_id, name, digest, token)
    if isinstance(found, Repeated):
        return await repeated(one, ask_as(token), found, digest)
    ask = ask_as(found)
    try:
        answer = await one.work(ask)
    except (GateUnreachable, LedgerUnreachable):
        raise  # something may have been done: only the same request may follow
    except DoormanError:
        await ledger.forget_repeatable(key.shop_id, name, token)
        raise
    kept = answer if one.secret_again is None else msgspec.structs.replace(answer, secret="")
    await ledger.keep_answer(key.shop_id, name, token, one.status, encoded(kept))
    return said(one, answer)


async def repeated(one: Operation, ask: Ask, found: Repeated, digest: bytes) -> Response:
    if found.digest != digest:
        raise Refused(Problem(422, ANOTHER_REQUEST, field="Idempotency-Key"))
    if found.status is None:
        raise Refused(Problem(409, UNDER_WAY, retry_after_seconds=IN_FLIGHT_RETRY_SECONDS))
    body = found.body
    if one.secret_again is not None:
        answer = one.answer_decoder.decode(body)
        body = encoded(msgspec.structs.replace(answer, secret=await one.secret_again(ask, answer)))
    return Response(body, status_code=found.status, media_type=JSON, headers=NO_STORE | {"idempotency-replayed": "true"})


def said(one: Operation, answer: Any) -> Response:
    if one.answer is None:
        return Response(b"", status_code=204, media_type=JSON, headers=NO_STORE)
    if isinstance(answer, File):
        headers = NO_STORE | {"content-disposition": f'attachment; filename="{answer.name}"'}
        return Response(answer.content, status_code=one.status, media_type=one.media, headers=headers)
    return Response(encoded(answer), status_code=one.status, media_type=JSON, headers=NO_STORE)


def encoded(answer: Any) -> bytes:
    return b"" if answer is None else msgspec.json.encode(answer)


def key_of(call: Call) -> str:
    try:
        return check_key((call.key or b"").decode("latin-1"))
    except BadInput as error:
        raise Refused(Problem(400, NAME_THE_REQUEST, field="Idempotency-Key")) from error


def digest_of(one: Operation, call: Call) -> bytes:
    """-> what stands for the whole request."""
    digest = hashlib.sha256()
    for part in (one.method.encode(), call.path.encode(), call.query_string, call.body):
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.digest()


def changed_meanwhile(**stands: Any) -> Refused:
    """-> the refusal of a request about something older than what `stands` there now: a version, an address."""
    return Refused(Problem(409, CHANGED_MEANWHILE, field=next(iter(stands)), more=stands))


def refuse_with_words(error: DoormanError) -> Problem:
    """-> an error of ours as a problem document, with every field that is wrong."""
    problem = problem_of(error)
    problems = getattr(error, "problems", None)
    return problem if problems is None else msgspec.structs.replace(problem, more={"problems": problems})


def invalid(error: msgspec.ValidationError) -> BadInput:
    """'Expected `int`, got `str` - at `$.units`' -> the same, about the field it names."""
    text, _, place = str(error).partition(" - at `$")
    field = place.rstrip("`").lstrip(".").partition(".")[0].partition("[")[0]
    return BadInput(f"{text} at {place.rstrip('`').lstrip('.')}" if field else text, field=field or None)


def refuse_control_characters(value: Any) -> None:
    """BadInput for a text that no form of ours could hold either."""
    match value:
        case str():
            if not all(character.isprintable() or character in "\n\r\t" or ord(character) > 0x9F for character in value):
                raise BadInput(N_("A text holds control characters."))
        case list() | tuple():
            for one in value:
                refuse_control_characters(one)
        case dict():
            for one in (*value, *value.values()):
                refuse_control_characters(one)
        case msgspec.Struct():
            for name in value.__struct_fields__:
                refuse_control_characters(getattr(value, name))
