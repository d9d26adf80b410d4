"""The dashboard's first page: this shop's drops, each with its phase, its strip and its three numbers.

The gate out of reach: the phases say so and the numbers are the ledger's alone.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from litestar import Response, get

from app.domain.drops import Drop, Phase
from app.domain.roles import Right
from app.errors import GateUnreachable
from app.gate import Peek
from app.languages import _
from app.ledger.sellers import DropCounts
from app.web.doors import Doors, TheseDoors, ThisCall
from app.web.render import Scene
from app.web.scenes import scene_of
from app.web.seller.access import ThisSeller

DROPS_SHOWN_MAX = 200
OVER = (Phase.SOLD_OUT, Phase.CLOSED, Phase.CANCELLED)


@dataclass(frozen=True, slots=True)
class Row:
    """A drop of the list. Units."""

    drop: Drop
    scene: Scene
    left: int
    held: int
    paid: int


@get("/", right=Right.VIEW)
async def show_overview(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    drops = await doors.office.ledger.seller_drops(seller.shop_id, DROPS_SHOWN_MAX)
    counts = await doors.office.ledger.seller_counts(seller.shop_id)
    peeks = await asyncio.gather(*(peek_of(doors, drop) for drop in drops))
    rows = [row_of(drop, peek, counts) for drop, peek in zip(drops, peeks, strict=True)]
    return doors.seller_page(
        call,
        seller,
        "seller/overview.html",
        title=_("Drops"),
        rows=rows,
        next_opening=next_opening(rows),
        over_phases=OVER,
        may_plan=seller.may(Right.PLAN),
        may_sell=seller.may(Right.SELL),
        may_see_orders=seller.may(Right.ORDERS),
    )


async def peek_of(doors: Doors, drop: Drop) -> Peek | None:
    if drop.retired:
        return None
    try:
        return await doors.office.gate.peek(drop.id)
    except GateUnreachable:
        return None


def row_of(drop: Drop, peek: Peek | None, counts: Mapping[int, DropCounts]) -> Row:
    counted = counts.get(drop.id, DropCounts(0, 0))
    scene = scene_of(drop, peek, watching=0, seq=0 if peek is None else peek.time_us)
    if peek is None:
        total = sum(variant.total for variant in scene.variants)
        return Row(drop, scene, max(0, total - counted.held - counted.paid), counted.held, counted.paid)
    return Row(drop, scene, sum(peek.left.values()), sum(peek.held.values()), counted.paid)


def next_opening(rows: list[Row]) -> datetime | None:
    """-> the next moment at which a drop of this shop opens."""
    return min((row.scene.opens_at for row in rows if row.scene.phase in (Phase.ANNOUNCED, Phase.LAST_SECONDS)), default=None)


ROUTES = [show_overview]
