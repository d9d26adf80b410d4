"""The ledger's half of the books (DESIGN section 4): `sold = Σ movements = offered + held + processing + paid + withdrawn ≤ total`,
per variant.

The gate's half is added by purchase. What the ledger can find wrong about itself stands in `findings`, in sentences.
"""

from dataclasses import dataclass

from app.errors import NotFound
from app.ledger.pool import Pool


@dataclass(frozen=True, slots=True)
class VariantBooks:
    """Units of one variant."""

    variant_id: int
    total: int  # released by the seller
    sold: int  # by the counter
    offered: int  # in PENDING_PAYMENT, held for the person whose turn it is on the waitlist
    held: int  # in PENDING_PAYMENT otherwise
    processing: int
    paid: int
    withdrawn: int  # refunded without restock
    returning: int  # given back here, not yet confirmed by the gate
    movements_sum: int


@dataclass(frozen=True, slots=True)
class LedgerBooks:
    """Units of a drop, summed over its variants; `refunded`, `refused`, `needs_attention` and `rejects` are counts, not units."""

    drop_id: int
    slug: str
    retired: bool
    total: int
    sold: int
    offered: int  # held for the person whose turn it is on the waitlist
    held: int
    processing: int
    paid: int
    withdrawn: int
    returning: int
    movements_sum: int
    refunded: int  # all the money went back
    refused: int
    needs_attention: int
    rejects: int
    over_limit: tuple[int, ...]  # shopper ids
    findings: list[str]
    variants: tuple[VariantBooks, ...]


class BooksPart(Pool):
    async def books(self, drop_id: int) -> LedgerBooks:
        """-> the books at one moment. NotFound: there is no such drop."""
        async with self._snapshot() as ask:
            drop = await ask.row("books_drop", drop_id)
            if drop is None:
                raise NotFound(f"there is no drop {drop_id}")
            rows = await ask.rows("books_variants", drop_id)
            orders = await ask.row("books_orders", drop_id)
            over_limit = tuple(row["shopper_id"] for row in await ask.rows("books_over_limit", drop_id, drop["per_person"]))
            rejects = await ask.value("books_rejects", drop_id)
        variants = tuple(
            VariantBooks(
                row["variant_id"], row["total"], row["sold"], row["offered"], row["held"], row["processing"], row["paid"],
                row["withdrawn"], row["returning_units"], row["movements_sum"],
            )
            for row in rows
        )  # fmt: skip
        names = ("total", "sold", "offered", "held", "processing", "paid", "withdrawn", "returning", "movements_sum")
        return LedgerBooks(
            drop_id=drop_id,
            slug=drop["slug"],
            retired=drop["retired"],
            **{name: sum(getattr(variant, name) for variant in variants) for name in names},
            refunded=orders["refunded"],
            refused=orders["refused"],
            needs_attention=orders["needs_attention"],
            rejects=rejects,
            over_limit=over_limit,
            findings=[
                *(finding for variant in variants for finding in _findings(variant)),
                *([f"{len(over_limit)} shoppers hold more than {drop['per_person']}"] if over_limit else []),
                *([f"{rejects} journal entries could not be recorded"] if rejects else []),
                *(
                    [f"{orders['paid_without_capture']} paid orders without their capture"]
                    if orders["paid_without_capture"]
                    else []
                ),
                *([f"{orders['money_kept']} ended orders whose money was kept"] if orders["money_kept"] else []),
            ],
            variants=variants,
        )


def _findings(variant: VariantBooks) -> list[str]:
    """-> what does not add up for one variant."""
    accounted = variant.offered + variant.held + variant.processing + variant.paid + variant.withdrawn
    found = []
    if variant.sold != variant.movements_sum:
        found.append(f"variant {variant.variant_id}: sold {variant.sold}, movements sum to {variant.movements_sum}")
    if variant.sold != accounted:
        found.append(f"variant {variant.variant_id}: sold {variant.sold}, live orders and withdrawn units are {accounted}")
    if variant.sold > variant.total:
        found.append(f"variant {variant.variant_id}: sold {variant.sold} of {variant.total}")
    return found
