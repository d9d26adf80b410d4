"""Who may enter which room of the dashboard.

Guarantees: every route below /seller names the one right it needs (`right=Right.SELL` on its handler) or says `public=True`;
without either the process does not start. In this order: no session, to the sign-in; a role without the right, 403, before anything
is looked up, so that it cannot tell what exists; a right that needs the second factor (or a handler that says `fresh=True`), to
where it is shown, unless it was within FRESH_SECONDS. What then is not of the seller's own shop is answered as not there, by the
queries themselves.

From the guard on every time of the request is written in the shop's zone: whoever works for a shop reads the same clock.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, timedelta
from typing import Any
from urllib.parse import quote, urlsplit

from litestar import Litestar
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler
from litestar.types import Scope

from app.clock import now
from app.domain.roles import SECOND_FACTOR, Right
from app.domain.schedule import zone_named
from app.errors import DoormanError, StartFailed
from app.languages import N_, use_zone
from app.ledger import ApiKey, Seller
from app.ledger.sellers import FRESH_SECONDS
from app.web.call import SCOPE_KEY, Call
from app.web.doors import Doors, own_path
from app.web.guard import UNSAFE
from app.web.problems import Problem, Refused

PREFIX = "/seller"
SELLER_KEY = "doorman.seller"
SHOP_FIELD = "at_shop"  # of a form: the shop whose page it stands on

NOT_IN_YOUR_ROLE = N_("Your role in this shop does not include this. An owner can change it.")
SIGN_IN_FIRST = N_("Sign in to the dashboard first.")
SHOW_SECOND_FACTOR = N_("This needs your second factor.")
ANOTHER_SHOP = N_("This page was of another shop than the one you look at now. Nothing was changed; switch shops first.")

ThisSeller = NamedDependency[Seller]
Who = Seller | ApiKey  # a person or a program, where it makes no difference which


class StepNeeded(DoormanError):
    """Something comes first: `status` and the sentence for programs, a page for people."""

    def __init__(self, status: int, sentence: str, page: str, target: str):
        super().__init__(sentence)
        self.status = status
        self.url = f"{page}?next={quote(target, safe='/')}"


def guard_of(doors: Doors) -> Callable[[ASGIConnection, BaseRouteHandler], Awaitable[None]]:
    """-> the guard of the router below /seller: lets the request pass, with who asks in its scope, or raises what comes first."""

    async def guard(connection: ASGIConnection, handler: BaseRouteHandler) -> None:
        if handler.opt.get("public") is True:
            return
        call: Call = connection.scope[SCOPE_KEY]
        right: Right = handler.opt["right"]
        target = wanted_page(connection, call)
        seller = await doors.sellers.of_cookies(call.cookie)
        if seller is None:
            raise StepNeeded(401, SIGN_IN_FIRST, f"{PREFIX}/sign-in", target)
        if not seller.may(right):
            raise Refused(Problem(403, NOT_IN_YOUR_ROLE, title=N_("Not in your role")))
        if (right in SECOND_FACTOR or handler.opt.get("fresh") is True) and not fresh(seller):
            raise StepNeeded(403, SHOW_SECOND_FACTOR, f"{PREFIX}/second-factor", target)
        if connection.scope.get("method") in UNSAFE and call.sends_form:
            shop = call.fields().get(SHOP_FIELD)
            if shop is not None and shop != str(seller.shop_id):
                raise Refused(Problem(409, ANOTHER_SHOP, title=N_("Another shop")))
        connection.scope[SELLER_KEY] = seller
        use_zone(zone_named(seller.time_zone) or UTC)

    return guard


def seller_of(scope: Scope) -> Any:
    """-> who the guard let in."""
    return scope[SELLER_KEY]


def fresh(seller: Seller) -> bool:
    """Whether the second factor was shown recently enough for what needs it."""
    return seller.second_factor and seller.proven_at is not None and now() - seller.proven_at < timedelta(seconds=FRESH_SECONDS)


def wanted_page(connection: ASGIConnection, call: Call) -> str:
    """-> where to go once the step is taken: the page itself, or for a form or a part of a page the page it stood on."""
    if connection.scope.get("method") not in UNSAFE and not call.partial:
        query = f"?{call.query_string.decode('ascii', 'replace')}" if call.query_string else ""
        return seller_path(call.path + query)
    try:
        came_from = urlsplit(connection.headers.get("referer", ""))
    except ValueError:  # no address at all
        return PREFIX
    query = f"?{came_from.query}" if came_from.query else ""
    return seller_path(came_from.path + query) if came_from.netloc.encode() == call.host else PREFIX


def seller_path(target: str) -> str:
    """-> `target` when it is a page of the dashboard, else its first page."""
    lawful = own_path(target)
    return lawful if lawful == PREFIX or lawful.startswith((f"{PREFIX}/", f"{PREFIX}?")) else PREFIX


def check_rights(app: Litestar) -> None:
    """StartFailed for a route below /seller whose handler names neither a right nor that it is public."""
    for route in app.routes:
        for handler in getattr(route, "route_handlers", None) or [route.route_handler]:
            if not (route.path == PREFIX or route.path.startswith(f"{PREFIX}/")) or is_options(handler):
                continue
            if isinstance(handler.opt.get("right"), Right) == (handler.opt.get("public") is True):
                raise StartFailed(f"{route.path}: {handler.handler_name} must name its right, or say public=True")


def is_options(handler: BaseRouteHandler) -> bool:
    """Litestar adds one to every route; the guard in front refuses the method."""
    return getattr(handler, "http_methods", None) == {"OPTIONS"}
