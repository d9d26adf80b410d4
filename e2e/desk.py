"""A seat at the dashboard for somebody of the staff, without the way in: signed in, the second factor set up."""

from uuid import uuid4

import asyncpg

from app import running, wiring
from app.settings import Settings
from app.web.seller.sessions import SellerSessions
from tests.house import House


async def seat(house: House, email: str = "owner@example.org", *, proven: bool = True) -> str:
    """-> the cookie of a new session of this seller, as `name=value`. `proven`: the second factor was shown in it just now."""
    settings = Settings.from_environment(running.environment_with(house.data, house.environment))
    session_id = uuid4()
    async with wiring.office(settings, "e2e") as office:
        assert await office.ledger.open_seller_session(session_id, email, "e2e"), f"{email} works for no shop"
        sessions = SellerSessions(settings, office.ledger, office.feed)
        hand = await asyncpg.connect(settings.database_url)
        await hand.execute(
            "INSERT INTO second_factors (email, nonce, confirmed_at) VALUES ($1, $2, now()) ON CONFLICT DO NOTHING",
            email,
            bytes(20),
        )
        if proven:
            await hand.execute("UPDATE seller_sessions SET proven_at = now() WHERE id = $1", session_id)
        await hand.close()
        return f"{sessions.name}={sessions.value(session_id)}"
