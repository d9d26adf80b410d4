"""Every room of the dashboard under one router: a new module's ROUTES are mounted by adding it to ROOMS."""

from litestar import Litestar, Router
from litestar.di import Provide

from app.web.doors import Doors
from app.web.seller import (
    attention,
    audit,
    exports,
    keys,
    law,
    orders,
    overview,
    passkeys,
    people,
    plan,
    plan_changes,
    rehearsals,
    report,
    second_factor,
    staff,
    watch,
    webhooks,
    you,
)
from app.web.seller.access import PREFIX, check_rights, guard_of, seller_of

ROOMS = (
    overview,
    people,
    second_factor,
    passkeys,
    you,
    staff,
    audit,
    watch,
    rehearsals,
    report,
    plan,
    plan_changes,
    orders,
    attention,
    exports,
    keys,
    webhooks,
    law,
)


def router(doors: Doors) -> Router:
    """-> everything below /seller."""
    return Router(
        path=PREFIX,
        route_handlers=[handler for room in ROOMS for handler in room.ROUTES],
        guards=[guard_of(doors)],
        dependencies={"seller": Provide(seller_of, sync_to_thread=False)},
    )


def check(app: Litestar) -> None:
    """StartFailed for a route of ours that names no right."""
    check_rights(app)
