"""The crowd's addresses as raw ASGI in front of the router: the pages (from memory), buy, stock, live.

Guarantees: every answer is that of the public contract (DESIGN section 7), in the form the caller asked for (JSON, htmx fragment,
plain form); a loser costs no SQL and one gate call at most; bad input is a 4xx that names the field and reaches neither store. A
caller who hangs up changes nothing: the verdict stands at the gate and the same key finds it. The gate gone: 503 `not_ready`. A 201
is said only for what the gate has granted.
"""

import secrets
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from app.clock import from_ms, iso, now_ms
from app.domain.drops import Drop, Variant
from app.domain.keys import check_key
from app.domain.verdicts import Answer, Verdict
from app.errors import BadInput, DoormanError, NotFound
from app.languages import Language, _, speaking
from app.live import JSON, JSON_SUBPROTOCOL, Hub
from app.purchase.reserving import Counter
from app.web.call import SCOPE_KEY, Call, UnsupportedMedia
from app.web.catalogue import Catalogue
from app.web.demand import Demand
from app.web.metrics import Metrics
from app.web.page_cache import LIST, LIST_PATH, PageCache
from app.web.problems import HTML_TYPE, JSON_TYPE, NO_STORE, VARY, Problem, Problems, problem_of, send_answer
from app.web.ready import Header, Later, Raw, Ready
from app.web.render import Renderer
from app.web.sayings import STATUS, TOO_FEW, refusal_problem, said, said_too_few
from app.web.scenes import Scenes, html_in, stock_json
from app.web.signing import Signer

PREFIX = "/drops/"
SELLER_PREFIX = "/seller/"  # sockets of the dashboard are the router's
QUANTITY_CHARACTERS_MAX = 9
VARIANT_CHARACTERS_MAX = 80
REFUSALS_CACHED = 1024
CLOSED = Answer(Verdict.CLOSED)
NOTHING = frozenset({Verdict.SOLD_OUT, Verdict.ALL_HELD})


class Hot:
    """ASGI: answers what is its own, passes the rest to `inner`."""

    def __init__(
        self,
        inner,
        *,
        counter: Counter,
        catalogue: Catalogue,
        scenes: Scenes,
        hub: Hub,
        renderer: Renderer,
        problems: Problems,
        order_tokens: Signer,
        metrics: Metrics,
        pages: PageCache,
        demand: Demand,
    ):
        self.inner = inner
        self.counter = counter
        self.catalogue = catalogue
        self.scenes = scenes
        self.hub = hub
        self.renderer = renderer
        self.problems = problems
        self.order_tokens = order_tokens
        self.metrics = metrics
        self.pages = pages
        self.demand = demand
        self._refusals: dict[tuple, tuple[Drop, Ready]] = {}  # what is said -> (of which drop, the answer)

    async def __call__(self, scope: dict[str, Any], receive, send) -> None:
        if scope["type"] == "lifespan":
            await self.inner(scope, receive, send)
            return
        path = scope["path"]
        slug, verb = slug_and_verb(path)
        if scope["type"] == "websocket":
            if path.startswith(SELLER_PREFIX):
                await self.inner(scope, receive, send)
            else:
                await self.live(scope, receive, send, slug, verb)
        elif verb == "buy":
            await self.answer(scope, send, self.buy, slug, "POST")
        elif verb == "stock":
            await self.answer(scope, send, self.stock, slug, "GET")
        elif scope["method"] == "GET" and (path == LIST_PATH or (slug and path == PREFIX + slug)):
            await self.page(scope, receive, send, slug or LIST)
        else:
            await self.inner(scope, receive, send)

    async def page(self, scope: dict[str, Any], receive, send, slug: str) -> None:
        """The list, or a drop's page: from memory when it is the same for everybody, else from the router."""
        call: Call = scope[SCOPE_KEY]
        try:
            answer = await self.pages.answer(call, slug, scope["headers"])
        except DoormanError as error:
            answer = self.problems.answer(problem_of(error), call)
        if answer is None:
            await self.inner(scope, receive, send)
        else:
            await send_answer(send, *answer)

    async def answer(self, scope: dict[str, Any], send, door, slug: str, method: str) -> None:
        call: Call = scope[SCOPE_KEY]
        if scope["method"] != method:
            refusal = Problem(405, _("Use %(method)s here.", method=method), headers=((b"allow", method.encode()),))
            await send_answer(send, *self.problems.answer(refusal, call))
            return
        try:
            answer = await door(call, slug)
        except DoormanError as error:
            answer = self.problems.answer(problem_of(error), call)
        await send_answer(send, *answer)

    # at once

    def door_at_once(self, method: str, path: str) -> Callable[[Call, list[Header]], Ready | Later | None] | None:
        """-> who may answer such a request without a task (ready.py): a page or a no from memory, a buy that the gate decides.

        None at once, or from what is called: the request goes the ordinary way, and nothing was counted.
        """
        slug, verb = slug_and_verb(path)
        if method == "GET" and not verb and (slug or path == LIST_PATH):
            return partial(self.pages.at_once, slug or LIST)
        if method == "POST" and verb == "buy":
            drop = self.catalogue.known(slug)
            if drop is not None and not drop.retired:
                return partial(self.buy_at_once, drop)
        return None

    def buy_at_once(self, drop: Drop, call: Call, headers: list[Header]) -> Ready | Later | None:
        if call.session is None:
            return None
        try:
            variant, quantity, key = wish(call, drop)
        except BadInput:
            return None
        shopper_id = call.session.shopper_id
        remembered = self.counter.refuses_at_once(drop.id, shopper_id, variant.id)
        if remembered is not None:
            return self.tell_and_count(call, drop, remembered)
        if quantity > 1 or not has_key(call):
            return None
        reply = self.counter.asks_at_once(drop.id, shopper_id, variant.id, quantity, key)
        if reply is None:
            return None
        call.asked = True
        return Later(reply, partial(self.finish_buy, drop, call))

    def finish_buy(self, drop: Drop, call: Call, reply: Any) -> Ready:
        """The gate has decided."""
        return self.tell_and_count(call, drop, self.counter.heard(drop.id, reply))

    def tell_and_count(self, call: Call, drop: Drop, answer: Answer) -> Ready:
        self.count(drop, answer)
        return self.tell(call, drop, call.session.shopper_id, answer)

    # buy

    def count(self, drop: Drop, answer: Answer) -> None:
        self.metrics.verdict(answer.verdict)
        self.demand.count(drop.id, answer.verdict)

    async def buy(self, call: Call, slug: str) -> Raw:
        drop = self.catalogue.known(slug) or await self.catalogue.find(slug)
        if drop is None:
            raise NotFound(slug)
        if call.session is None:
            return self.sign_in_first(call, drop)
        variant, quantity, key = wish(call, drop)
        buy = self.counter.buy_again if call.asked else self.counter.buy
        answer = CLOSED if drop.retired else await buy(drop, call.session.shopper_id, variant, quantity, key)
        if quantity > 1 and answer.verdict in (Verdict.SOLD_OUT, Verdict.ALL_HELD):
            scene = await self.scenes.scene(drop, self.hub.watching(drop.id))
            left = next((counted.left for counted in scene.variants if counted.id == variant.id), 0)
            if 0 < left < quantity:
                self.count(drop, answer)
                return self.tell_too_few(call, drop, answer, left)
        return self.tell_and_count(call, drop, answer).raw

    def tell(self, call: Call, drop: Drop, shopper_id: int, answer: Answer) -> Ready:
        """The gate's verdict -> the answer in the form the caller asked for."""
        if call.partial and answer.verdict in NOTHING and not call.wants_json:  # what nearly everybody hears, first
            return self.refusal(drop, answer, call.language, self.refusal_in_html)
        match answer.verdict:
            case Verdict.RESERVED:
                return Ready(self.tell_reserved(call, drop, shopper_id, answer))
            case Verdict.ALREADY_YOURS if call.wants_json:
                body = {"verdict": "already_yours", "order": answer.order, "allowed": answer.allowed}
                return Ready(in_json(200, body))
            case Verdict.ALREADY_YOURS if not answer.allowed and answer.order is not None:
                return Ready(go_to(call, f"/orders/{answer.order}", 200))
            case _ if call.wants_json:
                return self.refusal(drop, answer, call.language, self.refusal_in_json)
            case _ if call.partial:
                return self.refusal(drop, answer, call.language, self.refusal_in_html)
        return Ready(go_to(call, f"/drops/{drop.slug}?said={answer.verdict}", 303))

    def tell_too_few(self, call: Call, drop: Drop, answer: Answer, left: int) -> Raw:
        """Some are left, and fewer than were wanted: that is no "nothing is left"."""
        words = said_too_few(answer.verdict, left)
        if call.wants_json:
            problem = refusal_problem(drop, answer)
            more = (problem.more or {}) | {"left": left}
            return self.problems.answer(msgspec.structs.replace(problem, title=words.title, detail=words.detail, more=more), call)
        if call.partial:
            body = self.renderer.fragment("said.html", drop=drop, said=words).encode()
            return STATUS[answer.verdict], [HTML_TYPE, NO_STORE, VARY, (b"content-length", b"%d" % len(body))], body
        return go_to(call, f"/drops/{drop.slug}?said={TOO_FEW}", 303)

    def tell_reserved(self, call: Call, drop: Drop, shopper_id: int, answer: Answer) -> Raw:
        self.scenes.forget(drop.id)  # the buyer's next look must not be older than the buy
        self.pages.written(drop.slug)
        order = answer.order
        order_url = f"/orders/{order}"
        if call.wants_json:
            body = {"verdict": "reserved", "order": order, "pay_by": iso(from_ms(answer.pay_by_ms))}
            return in_json(201, body, (b"location", order_url.encode()))
        token = self.order_tokens.sign([order, shopper_id, drop.id, now_ms()])
        return go_to(call, f"{order_url}?t={token}", 201)

    def refusal(self, drop: Drop, answer: Answer, language: Language, say: Callable[[Drop, Answer], Raw]) -> Ready:
        """-> a no, drawn once for everybody who hears the same while the drop stays as it is."""
        same = (drop.id, answer.verdict, answer.opens_at_ms, answer.retry_after_seconds, language.tag, say.__name__)
        of, ready = self._refusals.get(same, (None, None))
        if of is not drop:
            if len(self._refusals) >= REFUSALS_CACHED:
                self._refusals.clear()
            with speaking(language):
                ready = Ready(say(drop, answer))
            self._refusals[same] = (drop, ready)
        return ready

    def refusal_in_json(self, drop: Drop, answer: Answer) -> Raw:
        status, headers, body = self.problems.answer(refusal_problem(drop, answer), None)
        return status, headers, body

    def refusal_in_html(self, drop: Drop, answer: Answer) -> Raw:
        problem = refusal_problem(drop, answer)
        body = self.renderer.fragment("said.html", drop=drop, said=said(answer.verdict, answer.opens_at_ms)).encode()
        headers = [HTML_TYPE, NO_STORE, VARY, (b"content-length", b"%d" % len(body))]
        if answer.retry_after_seconds is not None:
            headers.append((b"retry-after", b"%d" % answer.retry_after_seconds))
        return problem.status, headers, body

    def sign_in_first(self, call: Call, drop: Drop) -> Raw:
        if call.wants_json:
            return self.problems.answer(Problem(401, "Sign in first."), call)
        return go_to(call, f"/sign-in?next=/drops/{drop.slug}", 401)

    # stock

    async def stock(self, call: Call, slug: str) -> Raw:
        drop = self.catalogue.known(slug) or await self.catalogue.find(slug)
        if drop is None:
            raise NotFound(slug)
        body = stock_json(await self.scenes.scene(drop, self.hub.watching(drop.id)))
        return 200, [JSON_TYPE, NO_STORE, (b"content-length", b"%d" % len(body))], body

    # live

    async def live(self, scope: dict[str, Any], receive, send, slug: str, verb: str) -> None:
        try:
            drop = await self.catalogue.find(slug) if verb == "live" else None
        except DoormanError:
            await refuse_handshake(scope, receive, send, 503)
            return
        if drop is None:
            await refuse_handshake(scope, receive, send, 404)
            return
        call: Call = scope[SCOPE_KEY]
        flavour = JSON if JSON_SUBPROTOCOL in scope.get("subprotocols", ()) else html_in(call.language)
        await self.hub.serve_socket(scope, receive, send, drop.id, flavour, address=call.address)


def slug_and_verb(path: str) -> tuple[str, str]:
    """'/drops/lamp/buy' -> ('lamp', 'buy'); two empty strings for what is no drop's."""
    if not path.startswith(PREFIX):
        return "", ""
    slug, _, verb = path[len(PREFIX) :].partition("/")
    return slug, verb


def wish(call: Call, drop: Drop) -> tuple[Variant, int, str]:
    """The request -> (variant, quantity, idempotency key); BadInput names the field that is wrong."""
    if (call.body or call.content_type) and not (call.sends_form or call.sends_json):
        raise UnsupportedMedia("send a form (application/x-www-form-urlencoded) or JSON")
    fields = call.fields()
    return wished_variant(fields.get("variant"), drop), wished_quantity(fields.get("quantity", 1), drop), wished_key(call, fields)


def wished_variant(name: Any, drop: Drop) -> Variant:
    if name is None or name == "":
        if len(drop.variants) == 1:
            return drop.variants[0]
        raise BadInput("choose a variant", field="variant")
    variant = drop.variant_named(name) if isinstance(name, str) and len(name) <= VARIANT_CHARACTERS_MAX else None
    if variant is None:
        raise BadInput("there is no such variant in this drop", field="variant")
    return variant


def wished_quantity(value: Any, drop: Drop) -> int:
    if value == "1":  # what nearly everybody wants, and everybody may
        return 1
    if isinstance(value, str) and len(value) <= QUANTITY_CHARACTERS_MAX and value.isascii() and value.isdigit():
        value = int(value)
    if type(value) is not int or value < 1:
        raise BadInput("quantity must be a whole number of at least 1", field="quantity")
    if value > drop.per_person:
        raise BadInput(_("at most %(limit)s per person", limit=drop.per_person), field="quantity")
    return value


def wished_key(call: Call, fields: dict[str, Any]) -> str:
    """The header wins; without any key this request is a wish of its own."""
    if call.key is not None:
        return check_key(call.key.decode("latin-1"))
    key = fields.get("key")
    if key is None or key == "":
        return secrets.token_urlsafe(16)
    if not isinstance(key, str):
        raise BadInput("an idempotency key is text", field="key")
    return check_key(key)


def has_key(call: Call) -> bool:
    """Did the caller name an idempotency key? Without one a question that is asked twice is two wishes."""
    return call.key is not None or bool(call.fields().get("key"))


def go_to(call: Call, url: str, partial_status: int) -> Raw:
    """Send a person to another page: 303 for the plain form; for htmx a header (it would swap the target of a redirect)."""
    target = (b"hx-redirect" if call.partial else b"location", url.encode())
    return partial_status if call.partial else 303, [HTML_TYPE, NO_STORE, VARY, target, (b"content-length", b"0")], b""


def in_json(status: int, value: dict[str, Any], *headers: tuple[bytes, bytes]) -> Raw:
    body = msgspec.json.encode(value)
    return status, [JSON_TYPE, NO_STORE, VARY, *headers, (b"content-length", b"%d" % len(body))], body


async def refuse_handshake(scope: dict[str, Any], receive, send, status: int) -> None:
    """Answer with the status where the server can, else close unaccepted (the client reads 403)."""
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1008})
        return
    await send({"type": "websocket.http.response.start", "status": status, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "websocket.http.response.body", "body": b"no socket here\n"})
