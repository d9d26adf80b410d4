"""The packer: paid orders become parcels at the warehouse, never blind (R8).

One road, `ship`, for the first try, every later look and the seller's resubmit: claim in the ledger, LIST, then decide.

    lists one        attach to it: its number is ours
    lists several    nobody guesses: shown to the seller
    no answer        nothing is submitted; the next look comes later
    lists none       too early to believe (settle window) → look again
                     never asked to make it → note in the ledger that it is being asked, then ask, once
                     asked before           → shown to the seller, and looked for ever more slowly; only `resubmit` asks once more

A worker that dies, or a reply that is lost, leaves "asked" in the ledger, so the next look can only find, never make. The lease on
the claim is a time in the ledger, never a process number. A listing counts what was made at the payment or later: numbers and
references of old orders are none of ours.
"""

from uuid import UUID, uuid4

import structlog

from app.errors import BadInput, NotFound, WarehouseAway, WarehouseRefused, WarehouseSilent
from app.fulfilment import Asked, Found, Warehouse
from app.ledger import ClaimedParcel, Ledger
from app.live import Feed

SETTLE_POLL_SHARE = 0.25  # of the settle window, between two looks within it
NUMBERS_SHOWN_MAX = 5

log = structlog.get_logger("packer")


class Packer:
    """Makes and follows parcels. Any number may work at once."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        feed: Feed,
        warehouse: Warehouse,
        claim_dead_seconds: float,
        settle_seconds: float,
    ):
        self._ledger, self._feed, self._warehouse = ledger, feed, warehouse
        self._claim_dead, self._settle = claim_dead_seconds, settle_seconds

    async def ship(self, order_id: UUID, *, now: bool = False) -> str:
        """One step with the parcel of this order -> a word for the log. `lost`: nothing to do, or somebody else does it."""
        token = uuid4()
        claimed = await self._ledger.claim_parcel(
            order_id, token, claim_dead_seconds=self._claim_dead, settle_seconds=self._settle, now=now
        )
        if claimed is None:
            return "lost"
        try:
            listed = await self._warehouse.find(order_id, claimed.paid_at)
        except (WarehouseSilent, WarehouseAway, WarehouseRefused) as error:
            log.info("warehouse not listed", order=str(order_id), error=str(error))
            await self._ledger.parcel_waits(order_id, token, str(error))
            return "waits"
        if claimed.state == "made":
            return await self._follow(claimed, token, listed)
        if len(listed) > 1:
            numbers = ", ".join(found.number for found in listed[:NUMBERS_SHOWN_MAX])
            why = f"the warehouse has {len(listed)} parcels for this order ({numbers}): cancel all but one there"
            await self._ledger.parcel_waits(order_id, token, why, show=True)
            return "several"
        if listed:
            return await self._attach(claimed, token, listed[0])
        if not claimed.settled:
            await self._ledger.parcel_settling(order_id, token, max(0.1, SETTLE_POLL_SHARE * self._settle))
            return "settling"
        if claimed.creates:
            why = "the warehouse was asked to make it, gave no answer and lists none: look there, then resubmit"
            await self._ledger.parcel_waits(order_id, token, why, show=True)
            return "unknown"
        return await self._create(claimed, token)

    async def resubmit(self, order_id: UUID, *, actor: str | None = None) -> str:
        """The seller's word: look once more, and make it if the warehouse still lists none -> as `ship`.

        `actor`: who said it, for the audit log. NotFound: the order has no parcel. BadInput: it is made, withdrawn, or somebody
        acts on it just now.
        """
        parcel = await self._ledger.parcel(order_id)
        if parcel is None:
            raise NotFound("this order has no parcel")
        if not await self._ledger.parcel_may_be_made_again(order_id, self._claim_dead):
            doing = "somebody acts on it just now" if parcel.claimed and parcel.number is None else f"it is {parcel.state}"
            raise BadInput(f"the parcel of {order_id} cannot be submitted again: {doing}")
        outcome = await self.ship(order_id, now=True)
        if actor is not None:
            order = await self._ledger.order(order_id)
            before, after = {"parcel": parcel.state}, {"parcel": order.parcel}
            await self._ledger.audit(order.shop_id, actor, "parcel submitted again", f"order {order_id}", before, after)
        return outcome

    async def _create(self, claimed: ClaimedParcel, token: UUID) -> str:
        if not await self._ledger.parcel_creating(claimed.order_id, token):
            return "lost"
        item = claimed.drop_title if claimed.variant in ("", "Standard") else f"{claimed.drop_title}, {claimed.variant}"
        parcel = Asked(claimed.order_id, item, claimed.quantity, claimed.email, claimed.address)
        try:
            made = await self._warehouse.create(parcel)
        except WarehouseAway as error:  # it certainly did not arrive
            await self._ledger.parcel_waits(claimed.order_id, token, str(error), asked=False)
            return "waits"
        except WarehouseRefused as error:
            await self._ledger.parcel_waits(claimed.order_id, token, str(error), asked=False, show=True)
            return "refused"
        except WarehouseSilent as error:
            log.warning("parcel unknown", order=str(claimed.order_id), error=str(error))
            await self._ledger.parcel_waits(claimed.order_id, token, str(error))
            return "unknown"
        return await self._attach(claimed, token, made)

    async def _attach(self, claimed: ClaimedParcel, token: UUID, found: Found) -> str:
        if not await self._ledger.parcel_made(claimed.order_id, token, found.number):
            return "lost"
        log.info("parcel made", order=str(claimed.order_id), number=found.number)
        await self._feed.publish("order", order=str(claimed.order_id))
        return "made"

    async def _follow(self, claimed: ClaimedParcel, token: UUID, listed: list[Found]) -> str:
        """A parcel that is made: has it left?"""
        ours = [found for found in listed if found.number == claimed.number]
        if len(ours) != 1 or ours[0].tracking is None:
            why = "the warehouse has not sent it yet" if ours else "the warehouse does not list it any more"
            await self._ledger.parcel_waits(claimed.order_id, token, why, quiet=True)
            return "packing"
        if not await self._ledger.parcel_sent(claimed.order_id, token, ours[0].tracking):
            return "lost"
        await self._feed.publish("order", order=str(claimed.order_id))
        return "sent"
