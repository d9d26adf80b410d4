"""The web application of one process: guard, hot paths, router, and the tasks that keep its memories fresh.

    guard ─▶ hot (buy, stock, live) ─▶ Litestar (everything else)

Start-up fills the memories (drops, session epochs) before the first request is served and needs the ledger once. Afterwards the
feed tells what changed; each memory has a floor of its own for when the feed is deaf. Stopping closes the sockets, so that
browsers reconnect to another process, and ends the tasks.
"""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import structlog
from litestar import Litestar, Request, Response
from litestar.di import Provide
from litestar.types import Scope

from app import wiring
from app.domain.hooks import hook_key
from app.domain.links import link_key
from app.domain.roles import Right
from app.domain.scopes import Scope as KeyScope
from app.errors import LedgerUnreachable
from app.gate import Limiter, Shared
from app.live import Hub
from app.mail.letters import Letters
from app.purchase.reserving import Counter
from app.purchase.waiting import Lists
from app.web import account, calendar, dev, farewell, health, keepsake, law, orders, pictures, sending, shop, waitlist, webhooks
from app.web.api import router as api
from app.web.api.keys import ApiKeys
from app.web.call import API_PREFIX, SCOPE_KEY, Call
from app.web.catalogue import Catalogue
from app.web.demand import Demand
from app.web.doors import Doors, SignInNeeded, redirect
from app.web.guard import Guard
from app.web.hot import Hot
from app.web.metrics import Metrics
from app.web.page_cache import PageCache
from app.web.picture_intake import Intake
from app.web.picture_memory import Pictures
from app.web.problems import Problem, Problems, problem_of
from app.web.render import Renderer
from app.web.scenes import Scenes
from app.web.seller import rooms
from app.web.seller.access import StepNeeded
from app.web.seller.sessions import SellerSessions
from app.web.seller.watch_room import Watch
from app.web.session import Sessions
from app.web.share_picture import SharePictures
from app.web.signing import Signer, derive

ORDER_TOKEN_SECONDS = 24 * 3600

log = structlog.get_logger("web")

ROUTES = [
    shop.list_drops,
    shop.show_drop,
    shop.show_mine,
    waitlist.show_places,
    waitlist.join,
    waitlist.leave,
    orders.list_orders,
    orders.show_order,
    orders.show_status,
    orders.pay,
    orders.cancel,
    sending.ask_for_order,
    sending.send_order_to,
    sending.ask_for_account,
    sending.keep_address,
    sending.forget_address,
    keepsake.show_linked,
    keepsake.show_linked_status,
    keepsake.pay_linked,
    keepsake.cancel_linked,
    keepsake.ask_for_linked,
    keepsake.send_linked_to,
    keepsake.show_confirmation,
    law.show_page,
    law.show_imprint,
    law.show_terms,
    law.show_privacy,
    law.own_invoice,
    law.linked_invoice,
    calendar.remind,
    farewell.ask_first,
    farewell.delete_account,
    account.ask_address,
    account.send_code,
    account.ask_code,
    account.try_code,
    account.sign_out,
    account.sign_out_everywhere,
    account.show_account,
    webhooks.stripe_notice,
    health.alive,
    health.serving,
    health.ready,
    health.metrics,
    pictures.show_picture,
    pictures.show_rendition,
    pictures.show_share_picture,
    pictures.show_file,
]
DEVELOPMENT_ROUTES = [dev.show_mail]


def create_app(parts: wiring.Web) -> Guard:
    """-> the ASGI application over a web process's parts (`wiring.web`)."""
    settings = parts.settings
    renderer = Renderer(development=not settings.production, public_url=settings.public_url)
    kept_pictures = Pictures(parts.ledger)
    problems = Problems(renderer)
    sessions = Sessions(settings)
    counter = Counter(parts.crowd, settings.buy_limit)
    metrics = Metrics()
    shared = Shared(parts.gate)
    catalogue = Catalogue(parts.ledger, shared)
    scenes = Scenes(parts.gate, catalogue, renderer)
    hub = Hub(scenes.read, scenes.draw, parts.feed, count_loopback=settings.production or settings.limit_loopback)
    lists = Lists(parts.ledger, parts.gate, parts.feed, settings.buy_limit)
    demand = Demand(parts.office.ledger, lambda drop_id: drop.opens_at if (drop := catalogue.by_id(drop_id)) else None)
    pages = PageCache(catalogue=catalogue, scenes=scenes, hub=hub, renderer=renderer, gate=parts.gate, shared=shared, lists=lists)
    metrics.gauge("doorman_pages_drawn", "List and drop pages drawn by this process", lambda: pages.pages_drawn)
    metrics.gauge("doorman_sockets", "Open sockets of this process", lambda: hub.sockets_total)
    metrics.gauge("doorman_answers_from_memory", "Buys answered without the gate", lambda: counter.answers_from_memory)
    order_tokens = Signer(settings.secret, "order", seconds_valid=ORDER_TOKEN_SECONDS)
    doors = Doors(
        settings=settings,
        ledger=parts.ledger,
        gate=parts.gate,
        feed=parts.feed,
        jobs=parts.jobs,
        till=parts.till,
        hub=hub,
        catalogue=catalogue,
        scenes=scenes,
        renderer=renderer,
        sessions=sessions,
        metrics=metrics,
        pictures=kept_pictures,
        intake=Intake(),
        share_pictures=SharePictures(kept_pictures),
        letters=Letters(settings.public_url, settings.secret),
        lists=lists,
        office=parts.office,
        sellers=SellerSessions(settings, parts.office.ledger, parts.office.feed),
        watch=Watch(parts.office, parts.jobs, hub, renderer),
        api_keys=ApiKeys(parts.office.ledger, parts.office.feed),
        api_limiter=Limiter(parts.office.gate, "key", *settings.api_limit),
        order_tokens=order_tokens,
        asked_tokens=Signer(settings.secret, "asked", seconds_valid=account.CODE_SECONDS),
        seller_asked_tokens=Signer(settings.secret, "seller-asked", seconds_valid=account.CODE_SECONDS),
        code_key=derive(settings.secret, "code"),
        second_factor_key=derive(settings.secret, "second-factor"),
        link_key=link_key(settings.secret),
        hook_key=hook_key(settings.secret),
    )
    memory = Memory(doors, counter, pages, demand)
    router = Litestar(
        route_handlers=[*ROUTES, rooms.router(doors), api.router(doors), *([] if settings.production else DEVELOPMENT_ROUTES)],
        dependencies={"doors": Provide(lambda: doors, sync_to_thread=False), "call": Provide(call_of, sync_to_thread=False)},
        exception_handlers={Exception: refuse_with(problems)},
        lifespan=[memory.kept],
        openapi_config=None,
        logging_config=None,
        debug=False,
    )
    rooms.check(router)
    api.check(router)
    hot = Hot(
        router,
        counter=counter,
        catalogue=catalogue,
        scenes=scenes,
        hub=hub,
        renderer=renderer,
        problems=problems,
        order_tokens=order_tokens,
        metrics=metrics,
        pages=pages,
        demand=demand,
    )
    limiter = Limiter(parts.gate, "address", *settings.address_limit)
    return Guard(hot, settings, sessions, problems, limiter, uploader=functools.partial(uploader, doors))


async def uploader(doors: Doors, call: Call) -> tuple[int, str] | None:
    """-> the shop of whoever sends pictures or long texts, and who it is: a program by its key, a person by their cookie. None:
    nobody who may."""
    try:
        if call.path.startswith(API_PREFIX):
            key = await doors.api_keys.of(call.authorization)
            return (key.shop_id, f"key {key.id}") if key is not None and key.may(KeyScope.DROPS) else None
        seller = await doors.sellers.of_cookies(call.cookie)
        return (seller.shop_id, seller.email) if seller is not None and seller.may(Right.PLAN) else None
    except LedgerUnreachable:
        return 0, "nobody can tell"  # and whoever acts on it is told so


def call_of(scope: Scope) -> Call:
    return scope[SCOPE_KEY]


def refuse_with(problems: Problems):
    def refuse(request: Request, error: Exception) -> Response:
        call: Call = request.scope[SCOPE_KEY]
        if isinstance(error, SignInNeeded):
            if call.wants_json:
                return raw_response(*problems.answer(Problem(401, "Sign in first."), call))
            return redirect(call, f"/sign-in?next={here(call)}")
        if isinstance(error, StepNeeded) and not call.wants_json:
            return redirect(call, error.url)
        if isinstance(error, StepNeeded):
            return raw_response(*problems.answer(Problem(error.status, str(error)), call))
        return raw_response(*problems.answer(problem_of(error), call))

    return refuse


def raw_response(status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> Response:
    """An answer of the raw doors for Litestar, which counts the bytes and adds the charset itself."""
    told = {name.decode(): value.decode() for name, value in headers if name != b"content-length"}
    return Response(body, status_code=status, media_type=told.pop("content-type").partition(";")[0], headers=told)


def here(call: Call) -> str:
    """-> this page's own address, as a query value."""
    query = f"?{call.query_string.decode('ascii', 'replace')}" if call.query_string else ""
    return quote(call.path + query, safe="/")


class Memory:
    """Keeps what this process remembers (drops, epochs, nothing-left) true to the stores."""

    def __init__(self, doors: Doors, counter: Counter, pages: PageCache, demand: Demand):
        self.doors = doors
        self.counter = counter
        self.pages = pages
        self.demand = demand
        self.tasks: set[asyncio.Task] = set()

    @asynccontextmanager
    async def kept(self, app: Litestar) -> AsyncIterator[None]:
        doors = self.doors
        await doors.catalogue.load()
        await doors.sessions.load(doors.ledger)
        self.start(doors.feed.subscribe(self.hear))
        self.start(doors.catalogue.reload_for_ever())
        self.start(doors.sessions.poll_while_deaf(doors.ledger, doors.feed))
        self.start(self.demand.hand_in_for_ever())
        try:
            yield
        finally:
            await doors.hub.close()
            for task in self.tasks:
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(*self.tasks, return_exceptions=True)
            await self.demand.stop()

    def hear(self, message: dict[str, Any]) -> None:
        """One message of the feed. It is a hint from another process of ours: an odd one is dropped by the feed's own guard."""
        match message:
            case {"kind": "gap"}:
                self.counter.forget_all()
                self.doors.sellers.forget_all()
                self.doors.api_keys.forget_all()
                self.doors.lists.forget_all()
                self.pages.written_all()
                self.start(self.reload())
                self.start(self.doors.sessions.load_if_possible(self.doors.ledger))
            case {"kind": "drop", "drop": int(drop_id)}:
                self.counter.forget(drop_id)
                self.doors.lists.forget(drop_id)
                self.doors.watch.hear(message)
                self.start(self.refresh(drop_id, message))
                return  # the hub redraws once the drop has been read again
            case {"kind": "stock", "drop": int(drop_id)}:
                self.counter.forget(drop_id)
                self.written(drop_id)
            case {"kind": "sellers"}:
                self.doors.sellers.forget_all()
                self.doors.api_keys.forget_all()
                return
            case {"kind": "epoch", "shopper": int(shopper_id), "epoch": int(epoch)}:
                self.doors.sessions.raise_epoch(shopper_id, epoch)
        self.doors.hub.hear(message)

    async def refresh(self, drop_id: int, message: dict[str, Any]) -> None:
        await self.doors.catalogue.refresh_if_possible(drop_id)
        self.written(drop_id)
        self.doors.hub.hear(message)

    async def reload(self) -> None:
        await self.doors.catalogue.load_if_possible()
        self.pages.written_all()

    def written(self, drop_id: int) -> None:
        """Pages and readings of this drop are of yesterday."""
        self.doors.scenes.forget(drop_id)
        drop = self.doors.catalogue.by_id(drop_id)
        if drop is not None:
            self.pages.written(drop.slug)

    def start(self, work) -> None:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
