"""Every operation of the API, its OpenAPI document and the page that shows it to people."""

from litestar import Litestar, Request, Response, Router, get
from litestar.di import Provide
from litestar.types import Scope

from app.errors import DoormanError
from app.languages import _
from app.web.api import attention, drafts, drops, money, orders, rehearsals, webhooks
from app.web.api.document import REFUSALS, document_of, encoded
from app.web.api.operation import KEY_KEY, PREFIX, Operation, check_scopes, guard_of, refuse_with_words
from app.web.api.reading import EVENT_EXAMPLE, answers_of, chapters_of
from app.web.doors import JSON, Doors, TheseDoors, ThisCall
from app.web.problems import Refused

ROOMS = (drops, drafts, orders, attention, money, rehearsals, webhooks)
HANDLERS = [handler for room in ROOMS for handler in room.OPERATIONS]
OPERATIONS: tuple[Operation, ...] = tuple(handler.opt["operation"] for handler in HANDLERS)
DOCUMENT_SECONDS = 300
WORDS_CHARACTERS_MAX = 80


@get("/openapi.json", public=True)
async def show_document(doors: TheseDoors) -> Response:
    body = encoded(OPERATIONS, doors.settings.public_url)
    return Response(body, media_type=JSON, headers={"cache-control": f"public, max-age={DOCUMENT_SECONDS}"})


@get("/docs", public=True)
async def show_docs(call: ThisCall, doors: TheseDoors) -> Response:
    """The document for people. `?q=` leaves what has these words in it."""
    words = call.query("q").strip()[:WORDS_CHARACTERS_MAX]
    known = document_of(OPERATIONS, doors.settings.public_url)
    chapters = chapters_of(known, words, doors.settings.public_url + PREFIX)
    return doors.seller_page(
        call,
        None,
        "api/docs.html",
        title=_("API"),
        known=known,
        chapters=chapters,
        schemas=answers_of(known),
        refusals=REFUSALS,
        event_example=EVENT_EXAMPLE,
        words=words,
        prefix=PREFIX,
    )


def router(doors: Doors) -> Router:
    """-> everything below PREFIX."""

    def refuse(request: Request, error: Exception) -> Response:
        return request.app.exception_handlers[Exception](request, refused_as(error))

    return Router(
        path=PREFIX,
        route_handlers=[*HANDLERS, show_document, show_docs],
        guards=[guard_of(doors)],
        dependencies={"key": Provide(key_of, sync_to_thread=False)},
        exception_handlers={DoormanError: refuse},
    )


def refused_as(error: DoormanError) -> Exception:
    """-> the same error as a whole problem, with all that a program can use of it."""
    return Refused(refuse_with_words(error))


def key_of(scope: Scope):
    """-> the key that the guard let in."""
    return scope[KEY_KEY]


def check(app: Litestar) -> None:
    """StartFailed for a route of ours without a scope."""
    check_scopes(app)
