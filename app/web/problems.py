"""Answers that say what is wrong: RFC 9457 problem details for JSON, the error page for people, a line of text for htmx.

Guarantees: no stack trace and no words of an exception that was not meant for the caller; drawing an error page cannot fail (when
the template does, a built-in page stands in).
"""

import html
from collections.abc import Iterable
from http import HTTPStatus

import msgspec
import structlog
from litestar.exceptions import HTTPException

from app.errors import BadInput, DoormanError, GateUnreachable, LedgerUnreachable, NotFound
from app.languages import N_, _, spoken
from app.web.call import API_PREFIX, Call, UnsupportedMedia
from app.web.render import Renderer

HTML_TYPE = (b"content-type", b"text/html; charset=utf-8")
JSON_TYPE = (b"content-type", b"application/json")
PROBLEM_TYPE = (b"content-type", b"application/problem+json")
NO_STORE = (b"cache-control", b"no-store")
VARY = (b"vary", b"Accept, Accept-Language, HX-Request-Type, Cookie")
SELLER_PREFIX = "/seller"
RETRY_SECONDS = 2  # after a neighbour of ours did not answer
NOT_HERE = N_("There is nothing here, or it is not yours.")
FAULT = N_("Something went wrong on our side. Nothing was charged by this request; it has been written down.")
NO_ANSWER = N_("One moment: a part of the shop is not answering. Try again shortly.")
REFUSED = N_("The request was refused.")
REFUSALS = {  # what the framework refuses, in our words
    400: N_("The request is not one that can be understood."),
    405: N_("This method is not used here."),
    413: N_("The request is too large."),
}

HEADINGS = {
    400: N_("Not understood"),
    401: N_("Sign in first"),
    403: N_("Not from here"),
    404: N_("Nothing here"),
    405: N_("Not that way"),
    408: N_("Too slow"),
    409: N_("Not as things stand"),
    413: N_("Too large"),
    415: N_("Not understood"),
    422: N_("That does not work"),
    429: N_("Slow down"),
    500: N_("Our fault"),
    503: N_("One moment"),
}

Headers = list[tuple[bytes, bytes]]

log = structlog.get_logger("problems")


class Problem(msgspec.Struct, frozen=True):
    """What is wrong, before anybody decided how to say it. Its sentences are the catalog's, or already in the reader's language."""

    status: int
    detail: str
    title: str = ""
    field: str | None = None
    retry_after_seconds: int | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()
    more: dict[str, object] | None = None  # extension members of the problem document

    @property
    def heading(self) -> str:
        return _(self.title or HEADINGS.get(self.status) or HTTPStatus(self.status).phrase)

    @property
    def words(self) -> str:
        return _(self.detail)


class Refused(DoormanError):
    """A door's refusal that is a whole problem already."""

    def __init__(self, problem: Problem):
        super().__init__(problem.detail)
        self.problem = problem


def problem_of(error: Exception) -> Problem:
    """-> what the caller may know of an exception."""
    match error:
        case Refused():
            return error.problem
        case UnsupportedMedia():
            return Problem(415, str(error))
        case BadInput():
            return Problem(422, str(error), field=error.field)
        case NotFound():
            return Problem(404, NOT_HERE)
        case GateUnreachable() | LedgerUnreachable():
            return Problem(503, NO_ANSWER, retry_after_seconds=RETRY_SECONDS)
        case HTTPException() if error.status_code == 404:
            return Problem(404, NOT_HERE)
        case HTTPException() if error.status_code < 500:
            methods = allowed_by(error)
            return Problem(
                error.status_code,
                REFUSALS.get(error.status_code, REFUSED),
                headers=((b"allow", ", ".join(methods).encode()),) if methods else (),
                more={"allowed": methods} if methods else None,
            )
        case _:
            kind = "expected" if isinstance(error, DoormanError) else "unexpected"
            log.error("a request failed", kind=kind, exc_info=error)
            return Problem(500, FAULT)


def allowed_by(error: HTTPException) -> list[str]:
    """-> the methods that an address knows, of a refusal that names them: HEAD wherever GET is, and OPTIONS never (guard.py)."""
    named = next((value for name, value in (error.headers or {}).items() if name.lower() == "allow"), "")
    methods = {method.strip() for method in named.split(",")} - {"", "OPTIONS"}
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()))


class Problems:
    """Puts a Problem into the words the caller asked for."""

    def __init__(self, renderer: Renderer):
        self.renderer = renderer

    def answer(self, problem: Problem, call: Call | None) -> tuple[int, Headers, bytes]:
        """-> status, headers, body. `call` None: the request was refused before it could be read."""
        headers: Headers = [NO_STORE, VARY, *problem.headers]
        if problem.retry_after_seconds is not None:
            headers.append((b"retry-after", b"%d" % problem.retry_after_seconds))
        if call is None or call.wants_json or call.path.startswith(API_PREFIX):
            headers.append(PROBLEM_TYPE)
            body = self.document(problem)
        elif call.partial:
            headers.append(HTML_TYPE)
            body = f'<p class="problem" role="alert">{html.escape(problem.words)}</p>'.encode()
        else:
            headers.append(HTML_TYPE)
            body = self.page(problem, call)
        headers.append((b"content-length", b"%d" % len(body)))
        return problem.status, headers, body

    def document(self, problem: Problem) -> bytes:
        members = {"type": "about:blank", "title": problem.heading, "status": problem.status, "detail": problem.words}
        if problem.field is not None:
            members["field"] = problem.field
        return msgspec.json.encode(members | (problem.more or {}))

    def page(self, problem: Problem, call: Call) -> bytes:
        try:
            return self.renderer.page(
                "seller/error.html" if call.path.startswith(SELLER_PREFIX) else "error.html",
                signed_in=call.session is not None,
                path=call.path,
                status=problem.status,
                title=problem.heading,
                detail=problem.words,
            ).encode()
        except Exception:
            log.exception("the error page could not be drawn")
            return built_in_page(problem)


def built_in_page(problem: Problem) -> bytes:
    heading, detail = html.escape(problem.heading), html.escape(problem.words)
    return (
        f'<!doctype html><html lang="{spoken().tag}" dir="{spoken().direction}"><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width">'
        f'<title>{heading}</title><main><h1>{heading}</h1><p>{detail}</p><p><a href="/">{_("See the drops")}</a></p></main></html>'
    ).encode()


async def send_answer(send, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
