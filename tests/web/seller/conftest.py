"""Two shops on one installation, and a signed-in client for each role: what every test of the dashboard starts from.

`owner`, `manager`, `support`, `viewer` work for `shop.shop_id`; `stranger` owns `shop.other_shop_id`. All have shown their second
factor just now. EXAMPLES says how a path parameter of a route is filled with something that exists in a shop; a room with a new
parameter adds a line.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pytest

from app.domain.drops import Drop
from app.domain.plan import Plan
from app.domain.roles import Role
from app.domain.scopes import Scope
from app.web.api.keys import new_key
from app.web.doors import Doors
from app.web.seller.sessions import SellerSessions
from tests.rehearsal.history import shelved
from tests.web.conftest import Shop


@dataclass
class Belongings:
    """What one shop owns in the tests about rights; made on first use."""

    shop: Shop
    shop_id: int
    email: str = "somebody@example.net"  # who asks: for what belongs to a person, not to a shop
    made: dict[str, object] = field(default_factory=dict)

    async def of(self, parameter: str) -> object:
        """-> a value for this path parameter that exists in this shop."""
        if parameter not in self.made:
            self.made[parameter] = await EXAMPLES[parameter](self)
        return self.made[parameter]

    async def drop(self) -> Drop:
        if "drop" not in self.made:
            home, self.shop.shop_id = self.shop.shop_id, self.shop_id
            self.made["drop"] = await self.shop.opens(units=5)
            self.shop.shop_id = home
        return self.made["drop"]


async def drop_id(belongings: Belongings) -> int:
    return (await belongings.drop()).id


async def order(belongings: Belongings) -> UUID:
    """-> a paid order."""
    order_id = await belongings.shop.holds(await belongings.drop(), await belongings.shop.shopper())
    await belongings.shop.pays(order_id)
    return order_id


async def order_id(belongings: Belongings) -> UUID:
    """-> the same, as the API calls it."""
    return await belongings.of("order")


async def mail_id(belongings: Belongings) -> int:
    """-> the confirmation of that order."""
    [mail] = await belongings.shop.rows(
        "SELECT id FROM messages WHERE order_id = $1 AND kind = 'confirmation'", await belongings.of("order")
    )
    return mail["id"]


async def seller_id(belongings: Belongings) -> int:
    """-> somebody on the staff."""
    [row] = await belongings.shop.rows(
        "INSERT INTO sellers (shop_id, email, role) VALUES ($1, $2, 'viewer') RETURNING id",
        belongings.shop_id,
        f"{uuid4().hex}@example.net",
    )
    return row["id"]


async def session_id(belongings: Belongings) -> UUID:
    """-> another session of whoever asks."""
    session_id = uuid4()
    await belongings.shop.rows(
        "INSERT INTO seller_sessions (id, email, shop_id, expires_at) VALUES ($1, $2, $3, now() + interval '1 hour')",
        session_id,
        belongings.email,
        belongings.shop_id,
    )
    return session_id


async def shop_id(belongings: Belongings) -> int:
    return belongings.shop_id


async def draft_id(belongings: Belongings) -> int:
    return await belongings.shop.ledger.add_draft(belongings.shop_id, Plan(title="A draft"), belongings.email)


async def rehearsal(belongings: Belongings) -> str:
    """-> a rehearsal of its drop that has ended."""
    drop = await belongings.drop()
    name = f"20261130-200000-{drop.id}-example"
    shelved(Path(belongings.shop.settings.data), name, drop.slug, title=drop.title)
    return name


async def name(belongings: Belongings) -> str:
    """-> the file of that order's invoice."""
    [paper] = await belongings.shop.ledger.invoices_of(await belongings.of("order"))
    return f"{paper.number}.pdf"


async def picture(belongings: Belongings) -> str:
    await belongings.of("rehearsal")
    return "01.webp"


async def key_id(belongings: Belongings) -> int:
    return await belongings.shop.ledger.make_api_key(belongings.shop_id, "Bot", [Scope.READ], new_key(), belongings.email)


async def hook_id(belongings: Belongings) -> int:
    return await belongings.shop.ledger.add_hook(belongings.shop_id, "https://example.com/in", ("order.paid",), bytes(20), "x")


async def delivery_id(belongings: Belongings) -> int:
    """-> an event that is on its way to the webhook."""
    [row] = await belongings.shop.rows(
        "INSERT INTO hook_deliveries (hook_id, event_id) "
        "SELECT $1, id FROM events WHERE order_id = $2 AND kind = 'paid' RETURNING id",
        await belongings.of("hook_id"),
        await belongings.of("order"),
    )
    return row["id"]


async def passkey_id(belongings: Belongings) -> int:
    """-> a passkey of whoever asks."""
    await belongings.shop.rows(
        "INSERT INTO second_factors (email, nonce, confirmed_at) VALUES ($1, $2, now()) ON CONFLICT DO NOTHING",
        belongings.email,
        bytes(20),
    )
    [row] = await belongings.shop.rows(
        "INSERT INTO passkeys (email, credential_id, public_key, sign_count, name) VALUES ($1, $2, '', 0, 'Key ring') RETURNING id",
        belongings.email,
        uuid4().bytes,
    )
    return row["id"]


EXAMPLES: dict[str, Callable[[Belongings], Awaitable[object]]] = {
    "drop_id": drop_id,
    "draft_id": draft_id,
    "rehearsal": rehearsal,
    "picture": picture,
    "order": order,
    "name": name,
    "mail_id": mail_id,
    "seller_id": seller_id,
    "passkey_id": passkey_id,
    "session_id": session_id,
    "shop_id": shop_id,
    "key_id": key_id,
    "hook_id": hook_id,
    "delivery_id": delivery_id,
    "order_id": order_id,
}


@pytest.fixture
async def shop(shop):
    """The shop of tests/web, with another one beside it: `shop.other_shop_id`."""
    shop.other_shop_id = await shop.ledger.create_shop("Elsewhere", "stranger@example.com")
    shop.seller_sessions = SellerSessions(shop.settings, shop.ledger, shop.feed)
    shop.forgets_sellers = lambda: forgets_sellers(shop)
    return shop


async def forgets_sellers(shop: Shop) -> None:
    """What the feed says to the web process when something about sellers changed, without waiting for the feed."""
    doors_of(shop).sellers.forget_all()


def doors_of(shop: Shop) -> Doors:
    """-> the parts that the web process's handlers share."""
    return shop.app.inner.inner.dependencies["doors"].dependency()


async def signs_in(
    shop: Shop, role: Role, *, shop_id: int | None = None, email: str = "", proven: bool = True
) -> httpx.AsyncClient:
    """Somebody with this role -> their client, with `email` and `session_id`. `proven`: the second factor is set up and shown."""
    email = email or f"{role}@example.org"
    await shop.rows(
        "INSERT INTO sellers (shop_id, email, role) VALUES ($1, $2, $3) ON CONFLICT (shop_id, email) DO UPDATE SET role = $3",
        shop_id or shop.shop_id,
        email,
        role,
    )
    session_id = uuid4()
    assert await shop.ledger.open_seller_session(session_id, email, "tests")
    await shop.rows("UPDATE seller_sessions SET shop_id = $2 WHERE id = $1", session_id, shop_id or shop.shop_id)
    if proven:
        await shop.rows(
            "INSERT INTO second_factors (email, nonce, confirmed_at) VALUES ($1, $2, now()) ON CONFLICT (email) DO NOTHING",
            email,
            bytes(20),
        )
        await shop.rows("UPDATE seller_sessions SET proven_at = now() WHERE id = $1", session_id)
    client = shop.browser(f"{shop.seller_sessions.name}={shop.seller_sessions.value(session_id)}", accept="text/html")
    client.email, client.session_id = email, session_id
    return client


@pytest.fixture
async def owner(shop):
    return await signs_in(shop, Role.OWNER)


@pytest.fixture
async def manager(shop):
    return await signs_in(shop, Role.MANAGER)


@pytest.fixture
async def support(shop):
    return await signs_in(shop, Role.SUPPORT)


@pytest.fixture
async def viewer(shop):
    return await signs_in(shop, Role.VIEWER)


@pytest.fixture
async def stranger(shop):
    return await signs_in(shop, Role.OWNER, shop_id=shop.other_shop_id, email="stranger@example.com")
