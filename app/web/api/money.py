"""What drops brought in, and money as it moved: the numbers of the dashboard's accounts and of its files, as JSON."""

from dataclasses import asdict
from uuid import UUID

from app.domain.scopes import Scope
from app.ledger import MoneyLine, MoneySpot
from app.web.api import shapes
from app.web.api.drops import account_told
from app.web.api.operation import Ask, operation
from app.web.api.orders import check_span
from app.web.api.paging import PURPOSE, cursor_of, page_of, place_in
from app.web.seller.report import totals_of

OF_A_CAPTURE = ":in"  # ends the ledger's name for money that came in and that no order wanted


@operation("GET", "/accounts", scope=Scope.READ, title="Get the accounts", answer=shapes.Accounts)
async def get_accounts(ask: Ask) -> shapes.Accounts:
    """What every drop brought in, the latest opening first, and the sums of each currency, never across. There are at most 1000, on
    one page. What the payment provider keeps for itself is not known here."""
    accounts = await ask.doors.office.ledger.accounts(ask.key.shop_id)
    totals = [shapes.Total(**asdict(one)) for one in totals_of(accounts)]
    return shapes.Accounts(items=[account_told(account) for account in accounts], totals=totals, next=None)


@operation("GET", "/money", scope=Scope.ORDERS, title="List money as it moved", query=shapes.MovesWanted, answer=shapes.Moves)
async def list_moves(ask: Ask) -> shapes.Moves:
    """Payments and refunds of a drop or of the shop, the oldest first: what the dashboard's file of payments says."""
    wanted, place = ask.query, place_in(ask.query.cursor, tuple[shapes.Moment, UUID, PURPOSE])
    check_span(wanted)
    found = await ask.doors.office.ledger.shop_money(
        ask.key.shop_id,
        drop_id=wanted.drop,
        since=wanted.since,
        until=wanted.until,
        after=place and MoneySpot(*place),
        limit=wanted.limit + 1,
    )
    page, more = page_of(found, wanted.limit)
    return shapes.Moves(items=[move_told(line) for line in page], next=cursor_of(*page[-1].spot) if more else None)


def move_told(line: MoneyLine) -> shapes.Move:
    return shapes.Move(
        at=line.at,
        kind=line.kind,
        order_id=line.order_id,
        drop=line.drop_slug,
        drop_title=line.drop_title,
        variant=line.variant,
        quantity=line.quantity,
        amount_minor=line.amount_minor,
        currency=line.currency,
        purpose=line.purpose.removesuffix(OF_A_CAPTURE),
        reference=line.reference,
        shipping_minor=line.shipping_minor,
        tax_minor=line.tax_minor,
        invoice=line.invoice or None,
    )


OPERATIONS = [get_accounts, list_moves]
