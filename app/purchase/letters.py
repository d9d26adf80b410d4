"""The mails that tell a buyer what became of their parcel and of their money, as plain text and HTML."""

import html
from uuid import UUID

from app.domain.money import format_money
from app.domain.orders import Refusal
from app.ledger import Message, OrderRow
from app.ledger.refunds import DROP_CANCELLED, LATE_MONEY

SELLER = "seller:"  # how the purposes of the seller's own refunds begin


def parcel_sent(order_id: UUID, email: str, title: str, tracking: str, public_url: str) -> Message:
    return _letter(
        "parcel_sent",
        str(order_id),
        order_id,
        email,
        f"On its way: {title}",
        [f"{title} has left the warehouse.", f"Tracking number: {tracking}"],
        f"{public_url}/orders/{order_id}",
    )


def money_back(order: OrderRow, purpose: str, amount_minor: int, public_url: str) -> Message:
    amount = format_money(amount_minor, order.currency)
    return _letter(
        "money_back",
        f"{order.order_id}:{purpose}",
        order.order_id,
        order.email,
        f"{amount} returned: {order.drop_title}",
        [_why_back(order, purpose), f"{amount} went back to the card you paid with. Banks take a few days to show it."],
        f"{public_url}/orders/{order.order_id}",
    )


def _why_back(order: OrderRow, purpose: str) -> str:
    if purpose == DROP_CANCELLED:
        return "The seller has cancelled this drop, and everybody's money goes back."
    if purpose == LATE_MONEY and order.reason == Refusal.LATE_MONEY:
        return "Your payment came through after the piece had gone back on sale, so the order could not be kept."
    if purpose.startswith(SELLER):
        return "The seller has returned money for your order."
    return "A payment reached us that does not match your order, so it was returned."


def _letter(kind: str, subject_id: str, order_id: UUID, email: str, subject: str, lines: list[str], link: str) -> Message:
    text = "\n\n".join([*lines, f"Your order: {link}"])
    paragraphs = "".join(f"<p>{html.escape(line)}</p>" for line in lines)
    body = f'{paragraphs}<p><a href="{html.escape(link)}">Your order</a></p>'
    plain = subject.replace("\n", " ").replace("\r", " ")
    return Message(kind, subject_id, order_id, email, plain, text, body)
