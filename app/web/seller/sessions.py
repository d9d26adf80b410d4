"""Who is signed in to the dashboard.

A session is a row of the ledger; the cookie only carries its id, signed. Each process remembers a row for MEMORY_SECONDS and
forgets all of them whenever any process says that something about sellers changed (the feed), so a revoked session, a role taken
away or somebody removed counts everywhere within SELLER_SECONDS_MAX. Ledger gone: nobody is let in (503), and nobody is signed out.
"""

import asyncio
import hmac
from uuid import UUID

from litestar.datastructures import Cookie

from app.clock import monotonic, now
from app.domain.roles import Right
from app.errors import LedgerUnreachable
from app.ledger import Ledger, Seller
from app.ledger.sellers import SESSION_SECONDS
from app.live import Feed
from app.settings import Settings
from app.web.call import cookie_named
from app.web.signing import derive, mac

SELLER_SECONDS_MAX = 5.0  # a lost right is refused, and closes its sockets, after at most this long
MEMORY_SECONDS = 3.0
SOCKET_ASKS_SECONDS = 1.5  # how often an open socket asks whether its right still holds
SESSIONS_REMEMBERED_MAX = 1000
VERSION = "1"


class SellerSessions:
    """Makes and reads the seller's cookie, and remembers for a moment who a session is."""

    def __init__(self, settings: Settings, ledger: Ledger, feed: Feed):
        self.ledger = ledger
        self.feed = feed
        self.production = settings.production
        self.key = derive(settings.secret, "seller-session")
        self.name = "__Host-seller" if settings.production else "seller"
        self.asked_name = "__Host-seller-asked" if settings.production else "seller-asked"
        self._known: dict[UUID, tuple[Seller | None, float]] = {}

    # the cookie

    def value(self, session_id: UUID) -> str:
        payload = f"{VERSION}.{session_id.hex}"
        return f"{payload}.{mac(self.key, payload.encode()).decode()}"

    def read(self, value: str) -> UUID | None:
        """-> the session's id; None for anything that is not a cookie of ours."""
        payload, _, given = value.rpartition(".")
        if not value.isascii() or not hmac.compare_digest(mac(self.key, payload.encode()), given.encode()):
            return None
        return UUID(payload.partition(".")[2])  # the MAC says that we wrote it

    def fresh_cookie(self, session_id: UUID) -> Cookie:
        return self.cookie(self.name, self.value(session_id), SESSION_SECONDS)

    def no_cookie(self) -> Cookie:
        return self.cookie(self.name, "", 0)

    def cookie(self, name: str, value: str, seconds: int) -> Cookie:
        return Cookie(key=name, value=value, path="/", max_age=seconds, httponly=True, samesite="lax", secure=self.production)

    # who it is

    async def of_cookies(self, header: bytes) -> Seller | None:
        """The Cookie header -> who is signed in; None for nobody. LedgerUnreachable: it cannot be told."""
        session_id = self.read(cookie_named(header, self.name))
        return None if session_id is None else await self.of(session_id)

    async def of(self, session_id: UUID) -> Seller | None:
        """-> who a session is, at most MEMORY_SECONDS old."""
        seller, read_at = self._known.get(session_id, (None, float("-inf")))
        if monotonic() - read_at > MEMORY_SECONDS:
            asked_at = monotonic()
            seller = await self.ledger.seller_of_session(session_id)
            if seller is not None:
                await self.ledger.seen(session_id)
            if len(self._known) >= SESSIONS_REMEMBERED_MAX:
                self._known.clear()
            self._known[session_id] = (seller, asked_at)
        return seller if seller is not None and seller.expires_at > now() else None

    def forget_all(self) -> None:
        """Something about sellers changed somewhere: what was read before is no answer any more."""
        self._known.clear()

    async def changed(self) -> None:
        """Say so to every process, this one included."""
        self.forget_all()
        await self.feed.publish("sellers")

    async def until_lost(self, seller: Seller, right: Right) -> None:
        """Return when this session has lost the right, or is gone: an open socket waits for it and then closes.

        While the ledger is out of reach nothing is known to be lost.
        """
        while True:
            await asyncio.sleep(SOCKET_ASKS_SECONDS)
            try:
                known = await self.of(seller.session_id)
            except LedgerUnreachable:
                continue
            if known is None or known.shop_id != seller.shop_id or not known.may(right):
                return
