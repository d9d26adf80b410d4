"""The saq jobs: unpack, call purchase, return a word. Every job may be lost, late or doubled; a lost claim is a normal answer."""

from uuid import UUID

from app.domain.orders import OrderState, Refusal
from app.mail.delivery import deliver_waiting
from app.wiring import Work


async def charge(context: dict, *, order_id: str, n: int) -> str:
    work: Work = context["work"]
    return await work.till.charge(UUID(order_id), n)


async def refund(context: dict, *, order_id: str, purpose: str) -> str:
    work: Work = context["work"]
    return await work.till.refund(UUID(order_id), purpose)


async def give_back(context: dict, *, order_id: str) -> str:
    work: Work = context["work"]
    return await work.till.give_back(UUID(order_id), OrderState.EXPIRED, Refusal.DEADLINE)


async def take_over(context: dict, *, order_id: str) -> str:
    work: Work = context["work"]
    return await work.till.take_over(UUID(order_id))


async def look_up(context: dict, *, order_id: str) -> str:
    work: Work = context["work"]
    return await work.till.look_up(UUID(order_id))


async def ship(context: dict, *, order_id: str) -> str:
    work: Work = context["work"]
    return await work.packer.ship(UUID(order_id)) if work.packer else "no warehouse"


async def deliver(context: dict) -> int:
    work: Work = context["work"]
    return await deliver_waiting(work.ledger, work.letters, work.settings.smtp_url, work.settings.mail_from)
