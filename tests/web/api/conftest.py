"""A shop, and programs that hold its keys. Who has which scope is a test's own business: `program(*scopes)`."""

from collections.abc import Callable
from uuid import uuid4

import httpx
import pytest

from app.domain.scopes import Scope
from app.rehearsal import shelf
from app.rehearsal.plan import Wish
from app.web.api.keys import new_key
from tests.rehearsal.history import shelved
from tests.web.conftest import Shop
from tests.web.seller.conftest import doors_of, owner, shop  # noqa: F401 -- fixtures of the dashboard

API = "/api/v1"


class Program(httpx.AsyncClient):
    """Somebody else's program: shows a key, names every POST."""

    key_id: int

    async def post(self, url: str, *, key: str | None = None, **more) -> httpx.Response:
        headers = {"idempotency-key": key or uuid4().hex, **more.pop("headers", {})}
        return await super().post(url, headers=headers, **more)


async def program_of(shop: Shop, *scopes: Scope, shop_id: int | None = None, name: str = "Bot") -> Program:  # noqa: F811
    key = new_key()
    key_id = await shop.ledger.make_api_key(shop_id or shop.shop_id, name, scopes, key, "owner@example.org")
    transport = httpx.ASGITransport(shop.app, raise_app_exceptions=False, client=("127.0.0.1", 50_000))
    program = Program(transport=transport, base_url=f"{shop.settings.public_url}{API}", headers={"authorization": f"Bearer {key}"})
    program.key, program.key_id, program.shop = key, key_id, shop
    return program


@pytest.fixture
async def program(shop) -> Program:  # noqa: F811
    """One that may do everything."""
    return await program_of(shop, *Scope)


@pytest.fixture
def shelving(shop, monkeypatch) -> list[Wish]:  # noqa: F811
    """Rehearsals are begun without playing them: each stands on the shelf, ended, at once -> what was wished for."""
    wishes = []

    def begin(data, wish: Wish) -> str:
        wishes.append(wish)
        name = f"20261130-18{len(wishes):04d}-1-lamp"
        shelved(data, name, wish.slug)
        return name

    monkeypatch.setattr(shelf, "begin", begin)
    return wishes


@pytest.fixture
def unlimited(shop) -> Callable[[], None]:  # noqa: F811
    """For tests that ask more often than any program may."""
    doors = doors_of(shop)

    async def allow(_name) -> int:
        return 0

    doors.api_limiter.allow = allow
    return doors
