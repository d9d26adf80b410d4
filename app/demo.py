"""The demo shop of the first start: a drop that is open, one that opens in two minutes, one that sells out to demo shoppers.

Guarantees: nothing happens where any other shop exists; called again it makes only the drops that are missing. Every unit of the
sold-out drop goes the way of any other: granted by the gate, written by the recorder, charged by a worker at the provider, asked
again when the card is declined. So the books of the demo balance like those of any drop. While that takes (some seconds, the
provider is slow on purpose) the drop is in the state it is truly in: all in checkouts.

A part that does not answer: the shop and its drops stand all the same; a unit that could not be paid within SELL_SECONDS_MAX goes
back on sale when its hold ends, and nothing is pretended.
"""

import asyncio
import hashlib
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import structlog

from app.clock import monotonic, now
from app.domain.drops import Drop
from app.domain.orders import OrderState
from app.domain.verdicts import Verdict
from app.ledger import NewDrop
from app.pictures import renditions
from app.purchase.drops import Office, create_drop
from app.purchase.reserving import Counter

PICTURES = Path(__file__).resolve().parents[1] / "static" / "img" / "demo"  # drawn by app/demo_pictures.py
PICTURE_WIDTH, PICTURE_HEIGHT = 1200, 1500

SHOP, OWNER = "Atelier Lindqvist", "mira@example.org"
OPENS_IN = timedelta(minutes=2)
SOLD_OUT_UNITS = 12
SOLD_OUT_ATTEMPTS = 10  # the sandbox declines one card in five on purpose
CARD = "pm_card_visa"
SELL_SECONDS_MAX = 90.0
LOOK_SECONDS = 0.5

log = structlog.get_logger("demo")


async def ensure(office: Office) -> bool:
    """Make the demo shop where there is no shop at all, or what is missing of it -> whether anything was made."""
    if office.settings.production:
        return False
    shop_id = await office.ledger.shop_named(SHOP)
    if shop_id is None:
        if await office.ledger.first_shop() is not None:
            return False
        shop_id = await office.ledger.create_shop(SHOP, OWNER)
    made = False
    for draft in (carafe, moka_pot, night_lamp):
        new = await draft(office, shop_id)
        if await office.ledger.drop_by_slug(new.slug) is None:
            await create_drop(office, new)
            made = True
    await sell_out(office, await office.ledger.drop_by_slug((await carafe(office, shop_id)).slug))
    return made


# ---- three drops


async def night_lamp(office: Office, shop_id: int) -> NewDrop:
    return NewDrop(
        shop_id=shop_id,
        slug="night-lamp",
        title="Night lamp Nº 4",
        description="Spun shell, hand-bent arm, one warm pane. Numbered under the foot.\n"
        "Each takes a day and a half to make, so there are a hundred, and then there are none.",
        price_minor=14_900,
        currency="EUR",
        opens_at=now(),
        variants=(("Brass", 40), ("Chrome", 30), ("Soot", 20), ("Bone", 10)),
        picture=await hang(office, "lamp"),
    )


async def moka_pot(office: Office, shop_id: int) -> NewDrop:
    return NewDrop(
        shop_id=shop_id,
        slug="moka-pot",
        title="Moka pot, eight sides",
        description="Cast in one piece, turned by hand, with a handle that stays cool.\n"
        "Sixty from the first pour of the new mould.",
        price_minor=8_900,
        currency="EUR",
        opens_at=now() + OPENS_IN,
        per_person=2,
        variants=(("Six cups", 60),),
        picture=await hang(office, "moka"),
    )


async def carafe(office: Office, shop_id: int) -> NewDrop:
    return NewDrop(
        shop_id=shop_id,
        slug="carafe",
        title="Carafe, smoked",
        description="Mouth-blown, smoked in the kiln, stopper of pear wood. Twelve survived the cooling.",
        price_minor=21_000,
        currency="EUR",
        opens_at=now() - timedelta(hours=1),
        payment_attempts=SOLD_OUT_ATTEMPTS,
        variants=(("Half a litre", SOLD_OUT_UNITS),),
        picture=await hang(office, "carafe"),
    )


async def hang(office: Office, name: str) -> str:
    """Put the picture into the ledger -> its content hash."""
    picture = await asyncio.to_thread((PICTURES / f"{name}.webp").read_bytes)
    content_hash = hashlib.sha256(picture).hexdigest()
    await office.ledger.put_picture(content_hash, "image/webp", PICTURE_WIDTH, PICTURE_HEIGHT, picture)
    for made in await asyncio.to_thread(renditions, picture):
        await office.ledger.put_rendition(content_hash, made.width, made.media_type, made.height, made.bytes)
    return content_hash


# ---- the sold-out one


async def sell_out(office: Office, drop: Drop) -> bool:
    """Demo shoppers buy every unit and pay -> whether all of them are paid."""
    give_up_at = monotonic() + SELL_SECONDS_MAX
    counter = Counter(office.gate, office.settings.buy_limit)
    books = await office.ledger.books(drop.id)
    shoppers = await office.ledger.mint_shoppers(drop.units_total - books.sold)
    paid = await asyncio.gather(*(buy_and_pay(office, counter, drop, shopper, give_up_at) for shopper in shoppers))
    if not all(paid):
        log.warning("the demo's sold-out drop is not sold out yet", paid=sum(paid), units=drop.units_total)
    return all(paid)


async def buy_and_pay(office: Office, counter: Counter, drop: Drop, shopper_id: int, give_up_at: float) -> bool:
    """One demo shopper, as patient as a person: ask the door, then the till, until it is paid or too late."""
    order_id: UUID | None = None
    while monotonic() < give_up_at:
        if order_id is None:
            answer = await counter.buy(drop, shopper_id, drop.variants[0], 1, "demo")
            order_id = answer.order_id if answer.verdict is Verdict.RESERVED else None
        elif (order := await office.ledger.order(order_id)) is not None:
            if order.state is OrderState.PAID:
                return True
            if order.state is OrderState.PENDING_PAYMENT and order.attempt_n is None:
                await office.ledger.submit_attempt(order_id, shopper_id, CARD)
            elif order.state not in (OrderState.PENDING_PAYMENT, OrderState.PROCESSING):
                return False
        await asyncio.sleep(LOOK_SECONDS)
    return False
