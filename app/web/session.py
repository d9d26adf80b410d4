"""Who is asking: the session cookie, and the memory of who was signed out everywhere.

The cookie says `1.<shopper>.<epoch>.<issued>.<mac>` (numbers in hex), so a process knows a shopper without asking anybody, in
under 3 us. It is made new at every sign-in and lives 30 days. A forged, truncated or expired cookie means "not signed in", never
an error.

Revocation: each shopper has an epoch in the ledger, raised by "sign out everywhere". Every process keeps the epochs above 0 in
memory: read at start, told by the feed, read again after every gap of the feed, and polled while the feed is deaf. So a revoked
cookie dies within EPOCH_SECONDS_MAX everywhere, or, while ledger and feed are both gone, as soon as one is back.
"""

import asyncio
import hmac
import time
from collections.abc import Iterable

import msgspec
import structlog
from litestar.datastructures import Cookie

from app.errors import LedgerUnreachable
from app.settings import Settings
from app.web.signing import CLOCK_SKEW_SECONDS, derive, mac

VERSION = b"1"
SESSION_SECONDS = 30 * 24 * 3600
EPOCH_SECONDS_MAX = 5.0  # a revoked cookie is refused after at most this long
EPOCH_POLL_SECONDS = 4.0  # while the feed is deaf
COOKIE_CHARACTERS_MAX = 128
NUMBER_MAX = 2**63 - 1

log = structlog.get_logger("session")


class Session(msgspec.Struct, frozen=True):
    shopper_id: int
    epoch: int
    issued_at: int  # seconds since 1970


class Sessions:
    """Makes and checks session cookies. `epochs`: shopper id -> lowest epoch that is still good."""

    def __init__(self, settings: Settings):
        self.key = derive(settings.secret, "session")
        self.name = "__Host-session" if settings.production else "session"
        self.begins = self.name.encode() + b"="
        self.production = settings.production
        self.epochs: dict[int, int] = {}

    def value(self, shopper_id: int, epoch: int, issued_at: int | None = None) -> str:
        """-> the cookie's value."""
        payload = b"%s.%x.%x.%x" % (VERSION, shopper_id, epoch, int(time.time()) if issued_at is None else issued_at)
        return (payload + b"." + mac(self.key, payload)).decode()

    def read(self, value: bytes) -> Session | None:
        """-> the session; None for anything that is not a cookie of ours that is still good."""
        payload, _, given = value.rpartition(b".")
        if len(value) > COOKIE_CHARACTERS_MAX or not hmac.compare_digest(mac(self.key, payload), given):
            return None
        version, shopper, epoch, issued = payload.split(b".")  # the MAC says that we wrote it
        if version != VERSION:
            return None
        session = Session(int(shopper, 16), int(epoch, 16), int(issued, 16))
        if session.shopper_id > NUMBER_MAX:
            return None  # nobody can have that number, and no store could be asked about it
        age = time.time() - session.issued_at
        if age > SESSION_SECONDS or age < -CLOCK_SKEW_SECONDS or session.epoch < self.epochs.get(session.shopper_id, 0):
            return None
        return session

    def of_cookies(self, header: bytes) -> Session | None:
        """The Cookie header -> the session. Of several cookies with our name the first good one counts."""
        for pair in header.split(b";"):
            pair = pair.strip()
            if pair.startswith(self.begins) and (session := self.read(pair[len(self.begins) :])) is not None:
                return session
        return None

    def fresh_cookie(self, shopper_id: int, epoch: int) -> Cookie:
        """-> the cookie of a new session: made at every sign-in."""
        return self.cookie(self.name, self.value(shopper_id, epoch), SESSION_SECONDS)

    def no_cookie(self) -> Cookie:
        """-> what makes a browser forget its session."""
        return self.cookie(self.name, "", 0)

    def cookie(self, name: str, value: str, seconds: int) -> Cookie:
        return Cookie(key=name, value=value, path="/", max_age=seconds, httponly=True, samesite="lax", secure=self.production)

    def raise_epoch(self, shopper_id: int, epoch: int) -> None:
        """Cookies of this shopper below `epoch` are void from now on; an older message changes nothing."""
        if epoch > self.epochs.get(shopper_id, 0):
            self.epochs[shopper_id] = epoch

    async def load(self, ledger) -> None:
        """Read every epoch from the ledger; LedgerUnreachable leaves the memory as it is."""
        for shopper_id, epoch in (await ledger.signed_out_epochs()).items():
            self.raise_epoch(shopper_id, epoch)

    async def load_if_possible(self, ledger) -> None:
        try:
            await self.load(ledger)
        except LedgerUnreachable as error:
            log.warning("sign-outs elsewhere are unknown right now: ledger out of reach", error=str(error))

    async def poll_while_deaf(self, ledger, feed) -> None:
        """Run for ever: the floor under the feed."""
        while True:
            await asyncio.sleep(EPOCH_POLL_SECONDS)
            if feed.deaf:
                await self.load_if_possible(ledger)


def mint_cookies(settings: Settings, shopper_ids: Iterable[int]) -> list[str]:
    """-> one Cookie header value (`name=value`) per shopper, freshly signed in (epoch 0: minted shoppers never signed out)."""
    sessions = Sessions(settings)
    return [f"{sessions.name}={sessions.value(shopper_id, 0)}" for shopper_id in shopper_ids]
