"""Who may do what: every route of the dashboard, asked by every role, about what is its own shop's and what is another's.

The routes come from the application itself. A new one takes part by existing: without a right the process does not start, without
an example for its path parameters (conftest.EXAMPLES) the matrix fails.
"""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from litestar import Router, get
from litestar.handlers import BaseRouteHandler, WebsocketRouteHandler

from app.domain.roles import RIGHTS, SECOND_FACTOR, Right, Role
from app.errors import StartFailed
from app.web.app import create_app
from app.web.seller import rooms
from app.web.seller.access import is_options
from app.wiring import Office, Web
from tests.web.conftest import FORM, HOST, URL
from tests.web.seller.conftest import EXAMPLES, Belongings, signs_in

NOBODY, UNPROVEN = "nobody", "unproven"  # without a session; an owner who has not shown the second factor lately
UNKNOWN = {"int": "2147483000", "uuid": "00000000-0000-4000-8000-000000000000", "str": "zz-unknown"}
ANSWER_SECONDS_MAX = 20


@dataclass(frozen=True)
class Route:
    path: str  # "/seller/drops/{drop_id:int}"
    method: str  # "WS" for a socket
    right: Right | None  # None: public
    fresh: bool

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """-> (name, kind) of each."""
        return re.findall(r"\{(\w+):(\w+)\}", self.path)

    @property
    def needs_second_factor(self) -> bool:
        return self.fresh or self.right in SECOND_FACTOR

    def filled(self, values: dict[str, Any]) -> str:
        return re.sub(r"\{(\w+):\w+\}", lambda found: str(values[found[1]]), self.path)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def routes_of(shop) -> Iterator[Route]:
    for route in shop.app.inner.inner.routes:
        if route.path == "/seller" or route.path.startswith("/seller/"):
            for handler in handlers_of(route):
                methods = ["WS"] if isinstance(handler, WebsocketRouteHandler) else sorted(handler.http_methods)
                public = handler.opt.get("public") is True
                for method in methods:
                    right = None if public else handler.opt["right"]
                    yield Route(written(route), method, right, handler.opt.get("fresh") is True)


def handlers_of(route) -> list[BaseRouteHandler]:
    handlers = getattr(route, "route_handlers", None) or [route.route_handler]
    return [handler for handler in handlers if not is_options(handler)]


def written(route) -> str:
    """-> the path with its parameters as they were declared."""
    return "/" + "/".join(part if isinstance(part, str) else "{" + part.full + "}" for part in route.path_components)


async def answer_of(client, route: Route, path: str) -> tuple[int, str]:
    """-> (status, where to). A socket that is let in counts as 101, one that is not as 403."""
    if route.method == "WS":
        return await handshake(client, path), ""
    answer = await client.request(route.method, path, headers=FORM if route.method != "GET" else None)
    return answer.status_code, answer.headers.get("location", "")


async def handshake(client, path: str) -> int:
    events, sent = asyncio.Queue(), asyncio.Queue()
    events.put_nowait({"type": "websocket.connect"})
    headers = [(b"host", HOST.encode()), (b"origin", URL.encode()), (b"cookie", client.headers.get("cookie", "").encode())]
    scope = {
        "type": "websocket", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "ws", "path": path,
        "raw_path": path.encode(), "root_path": "", "query_string": b"", "headers": headers, "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8000), "subprotocols": [], "extensions": {}, "state": {},
    }  # fmt: skip
    task = asyncio.create_task(client.shop.app(scope, events.get, sent.put))
    try:
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            return 101 if (await sent.get())["type"] == "websocket.accept" else 403
    finally:
        events.put_nowait({"type": "websocket.disconnect", "code": 1001})
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            await asyncio.gather(task, return_exceptions=True)


def email_of(who: str) -> str:
    return f"{who}@matrix.example"


async def asker(shop, who: str):
    """-> a client signed in anew, in its role."""
    if who == NOBODY:
        client = shop.browser(accept="text/html")
    else:
        role = Role.OWNER if who == UNPROVEN else Role(who)
        client = await signs_in(shop, role, email=email_of(who), proven=who != UNPROVEN)
        if who == UNPROVEN:
            await shop.forgets_sellers()
    client.shop = shop
    return client


async def values_of(route: Route, belongings: Belongings) -> dict[str, Any]:
    return {name: await belongings.of(name) for name, _kind in route.parameters}


def expected(route: Route, who: str, whose: str) -> str:
    """-> the rule, in a word. A role without the right is refused before anything is looked up, so it cannot tell what exists."""
    if route.right is None:
        rule = "let in"
    elif who == NOBODY:
        rule = "sign in"
    elif who == UNPROVEN:
        rule = "second factor" if route.needs_second_factor else "let in"
    else:
        rule = "let in" if route.right in RIGHTS[Role(who)] else "forbidden"
    if rule == "let in" and whose != "own":
        rule = "not there"
    return "closed" if route.method == "WS" and rule != "let in" else rule


def heard(route: Route, status: int, location: str) -> str:
    if route.method == "WS":
        return "let in" if status == 101 else "closed"
    if status == 303 and location.startswith("/seller/sign-in?next="):
        return "sign in"
    if status == 303 and location.startswith("/seller/second-factor?next="):
        return "second factor"
    if status == 404 and not route.parameters:  # what it is about stands in the form, which is empty here
        return "let in"
    return {403: "forbidden", 404: "not there"}.get(status, "broken" if status >= 500 else "let in")


async def test_every_route_hears_its_rule_from_every_role_about_its_own_and_about_anothers(shop):
    wrong = []
    untouched = {shop_id: Belongings(shop, shop_id) for shop_id in (shop.shop_id, shop.other_shop_id)}
    askers = {who: await asker(shop, who) for who in (NOBODY, UNPROVEN, *(role.value for role in Role))}
    for route in routes_of(shop):
        missing = [name for name, _kind in route.parameters if name not in EXAMPLES]
        if missing:
            wrong.append(f"{route}: conftest.EXAMPLES says nothing about {missing}")
            continue
        for who, client in askers.items():
            for whose in ("own", "other", "unknown") if route.parameters else ("own",):
                rule = expected(route, who, whose)
                if whose == "unknown":
                    values = {name: UNKNOWN[kind] for name, kind in route.parameters}
                elif whose == "other":
                    values = await values_of(route, untouched[shop.other_shop_id])
                elif rule == "let in":  # it may change what it is about
                    values = await values_of(route, Belongings(shop, shop.shop_id, email=email_of(who)))
                else:
                    values = await values_of(route, untouched[shop.shop_id])
                status, location = await answer_of(client, route, route.filled(values))
                if rule == "let in" and route.method == "POST":  # it may have ended the session, or changed the role
                    client = askers[who] = await asker(shop, who)
                told = heard(route, status, location)
                if told != rule:
                    wrong.append(f"{route} asked by {who} about {whose}: {told} ({status} {location}), not {rule}")
    assert not wrong, "\n".join(wrong)


async def test_there_are_routes_to_ask(shop):
    routes = list(routes_of(shop))
    assert len(routes) > 15 and {route.right for route in routes} >= {Right.VIEW, Right.STAFF, Right.SHOP, None}
    assert {route.path for route in routes if route.right is None} == {"/seller/sign-in", "/seller/sign-in/code"}


@pytest.mark.parametrize("rule", [{}, {"right": "view"}, {"right": Right.VIEW, "public": True}, {"public": "yes"}])
async def test_a_route_without_a_rule_keeps_the_process_from_starting(shop, monkeypatch, rule):
    @get("/forgotten", **rule)
    async def forgotten() -> str:
        return "in"

    whole = rooms.router
    monkeypatch.setattr(rooms, "router", lambda doors: with_route(whole(doors), forgotten))
    parts = Web(
        settings=shop.settings, crowd=shop.gate, gate=shop.gate, ledger=shop.ledger, feed=shop.feed, jobs=shop.jobs, till=shop.till,
        office=Office(shop.settings, shop.ledger, shop.gate, shop.feed),
    )  # fmt: skip
    with pytest.raises(StartFailed, match=r"/seller/forgotten: .*must name its right"):
        create_app(parts)


def with_route(router: Router, handler) -> Router:
    router.register(handler)
    return router


def test_roles_have_the_rights_that_were_agreed():
    assert RIGHTS == {
        Role.VIEWER: {Right.VIEW},
        Role.SUPPORT: {Right.VIEW, Right.ORDERS},
        Role.MANAGER: {Right.VIEW, Right.PLAN, Right.SELL, Right.ORDERS, Right.MONEY},
        Role.OWNER: set(Right),
    }
    assert SECOND_FACTOR == {Right.MONEY, Right.STAFF, Right.KEYS, Right.SHOP}
