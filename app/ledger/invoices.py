"""Numbered invoices and their corrections.

Guarantees: a paid order has one invoice and a refund of it one correction, each written in the transaction of what it belongs to,
so that neither is ever without the other; the numbers of a shop's year have no gap, because the counter's row is locked until
that transaction is over and a number that was taken in vain goes with it. What stands in a paper is never changed: the database
refuses it. The number is taken last, so that nobody waits for the row while anything else is done; recording never touches it.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from app.domain.invoices import Invoice, number_of, parse_number
from app.domain.money import correction_tax, included_tax
from app.ledger.accounts import address_of
from app.ledger.pool import Asker, Pool

INVOICE = ""  # the purpose of the invoice itself; a correction's is its refund's


@dataclass(frozen=True, slots=True)
class NumberedPaper:
    """An invoice or a correction in a list."""

    number: str
    purpose: str  # INVOICE, or the refund's
    amount_minor: int  # negative in a correction
    tax_minor: int
    currency: str
    made_at: datetime

    @property
    def corrects(self) -> bool:
        return self.purpose != INVOICE


class InvoicesPart(Pool):
    async def invoices_of(self, order_id: UUID) -> list[NumberedPaper]:
        """-> an order's invoice and its corrections, in the order in which they were made; none before it is paid."""
        return [
            NumberedPaper(number_of(row["year"], row["n"]), row["purpose"], row["amount_minor"], row["tax_minor"],
                          row["currency"], row["made_at"])
            for row in await self._rows("invoices_of", order_id)
        ]  # fmt: skip

    async def invoice(self, order_id: UUID, number: str = "") -> Invoice | None:
        """-> the paper of this order with this number, or its invoice without one; None: the order has no such paper."""
        year, n = parse_number(number) or (None, None)
        if number and year is None:
            return None
        stored = await self._value("invoice", order_id, year, n)
        return None if stored is None else msgspec.json.decode(stored, type=Invoice)


async def number_invoice(ask: Asker, order_id: UUID) -> None:
    """An order was paid in the caller's transaction, under its lock: its invoice."""
    facts = await ask.row("invoice_facts", order_id)
    address = address_of(facts["address"])
    amount_minor, shipping_minor = facts["amount_minor"], facts["shipping_minor"]
    await _add(
        ask,
        facts,
        INVOICE,
        dict(
            language=facts["language"],
            seller_name=facts["business_name"] or facts["shop_name"],
            seller_address=facts["business_address"] or "",
            tax_id=facts["tax_id"] or "",
            contact=facts["contact"] or "",
            buyer=address.lines if address else (),
            buyer_country=address.country if address else "",
            order_id=str(order_id),
            title=facts["title"],
            variant=facts["variant"],
            quantity=facts["quantity"],
            price_minor=(amount_minor - shipping_minor) // facts["quantity"],
            goods_minor=amount_minor - shipping_minor,
            shipping_minor=shipping_minor,
            ships=facts["ships"],
            amount_minor=amount_minor,
            tax_basis_points=facts["tax_basis_points"],
            tax_minor=included_tax(amount_minor, facts["tax_basis_points"]),
            currency=facts["currency"],
        ),
    )


async def number_correction(ask: Asker, order_id: UUID, purpose: str, returning_minor: int) -> None:
    """Money of a paid order went back in the caller's transaction, under its lock: the correction, where there is an invoice."""
    row = await ask.row("invoice_to_correct", order_id)
    if row is None:
        return
    invoice = msgspec.json.decode(row["content"], type=Invoice)
    tax_minor = correction_tax(invoice.amount_minor, row["returned_minor"], returning_minor, invoice.tax_basis_points)
    said = msgspec.structs.asdict(invoice) | dict(
        corrects=invoice.number, goods_minor=0, shipping_minor=0, amount_minor=-returning_minor, tax_minor=-tax_minor
    )
    await _add(ask, row, purpose, said)


async def _add(ask: Asker, of, purpose: str, said: dict) -> None:
    """Take the next number of the shop's year and write the paper under it."""
    n = await ask.value("next_invoice_number", of["shop_id"], of["day"].year)
    said |= {"number": number_of(of["day"].year, n), "day": of["day"].isoformat()}
    content = json.dumps(msgspec.to_builtins(Invoice(**said)))
    amounts = said["amount_minor"], said["tax_minor"]
    await ask.count("add_invoice", of["shop_id"], of["day"].year, n, UUID(said["order_id"]), purpose, *amounts, content)
