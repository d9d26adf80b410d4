"""The list and the drop pages from memory: drawn once for a burst, sent a thousand times.

Guarantees
- A page is drawn once however many ask at the same moment: in one process because they wait for one drawing, across processes
  because a cold page (nobody here asked for it lately) is drawn by one and taken from it by the others (app/gate/shared.py).
- A write is seen at once: when the feed says that a drop or its stock changed, or a buy was granted here, the page is drawn again
  before the next answer. The clock writes too: no page is shown past the second at which its drop opens or closes, or ten before.
- Without a write a page is fresh for FRESH_SECONDS and may then be shown, while it is drawn again in the background, up to
  STALE_SECONDS; the shop's time in it is that of the answer all the same, and the form's key is fresh (page_bytes.py). Whoever is
  signed out can do nothing with a key, so what was put together for them goes out again for READY_SECONDS.
- Nothing personal is kept. There is one page for everybody signed out and one for everybody signed in who holds nothing in the
  drop and waits for nothing; who does (the gate, and the memory of the lists, tell) gets a page of their own, drawn each time, by
  the router.

The gate gone: pages say `not_ready` and are drawn anew every FRESH_SECONDS. The feed deaf: STALE_SECONDS is the bound. Bounded:
PAGES_MAX pages, the first forgotten first.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

import msgspec

from app import clock
from app.clock import iso, monotonic
from app.domain.drops import LAST_SECONDS, Drop, Phase
from app.errors import GateUnreachable, LedgerUnreachable
from app.gate import Gate, Shared
from app.languages import Language
from app.live import Hub
from app.purchase.waiting import Lists
from app.web.call import Call
from app.web.catalogue import Catalogue
from app.web.finding import in_order, likely_first
from app.web.page_bytes import KEY_HOLE, PageBytes
from app.web.problems import HTML_TYPE
from app.web.ready import Header, Raw, Ready
from app.web.render import EVERYTHING, Mine, Renderer, Scene
from app.web.scenes import Scenes

FRESH_SECONDS = 0.25
STALE_SECONDS = 2.0
READY_SECONDS = 0.05
COLD_SECONDS = 5.0  # a page not drawn here for this long may have been drawn elsewhere just now
PAGES_MAX = 2048
CARDS_MAX = 48
KEY_BYTES = 16
OF_THE_MOMENT = frozenset({"seq", "server_time", "watching"})  # fields of a scene
LIST = ""  # the slug that stands for the list of drops
LIST_PATH = "/"
DROP_PATH = "/drops/"

CACHE_CONTROL = (b"cache-control", b"private, no-cache")
VARY = (b"vary", b"Accept, Accept-Encoding, Accept-Language, HX-Request-Type, Cookie")
GZIP = (b"content-encoding", b"gzip")


@dataclass(frozen=True, slots=True)
class Which:
    """One page: of a drop, or the LIST."""

    slug: str
    language: Language
    signed_in: bool


@dataclass(frozen=True, slots=True)
class Kept:
    page: PageBytes
    drawn_at: float  # monotonic, when its drawing began
    good_until: float  # monotonic: then the clock changes what it says
    server_time: datetime  # the shop's, at `read_at`
    read_at: float  # monotonic
    settled: bool  # the gate could be asked


class PageCache:
    """One per web process."""

    def __init__(
        self, *, catalogue: Catalogue, scenes: Scenes, hub: Hub, renderer: Renderer, gate: Gate, shared: Shared, lists: Lists
    ):
        self.catalogue = catalogue
        self.scenes = scenes
        self.hub = hub
        self.renderer = renderer
        self.gate = gate
        self.shared = shared
        self.lists = lists
        self.pages_drawn = 0  # by this process
        self._kept: dict[Which, Kept] = {}
        self._ready: dict[tuple[Which, str], tuple[Kept, float, Ready]] = {}  # (page, form) -> (of which, monotonic until, answer)
        self._drawing: dict[Which, asyncio.Task] = {}
        self._written: dict[str, float] = {}  # slug -> monotonic of the last write
        self._all_written = 0.0  # monotonic: no drawing that began before is good for any page

    # answers

    async def answer(self, call: Call, slug: str, headers: list[tuple[bytes, bytes]]) -> Raw | None:
        """-> the answer; None: this page is not for everybody, or there is none."""
        if not await self.answers(call, slug):
            return None
        which = Which(slug, call.language, call.session is not None)
        kept = await self.page(which)
        if kept is None:
            return None
        accepts_gzip, known_tags = wishes(headers)
        if which.signed_in and kept.page.tag not in known_tags:
            return put_together(kept, accepts_gzip)
        return self.ready(which, kept, accepts_gzip, known_tags).raw

    def at_once(self, slug: str, call: Call, headers: list[Header]) -> Ready | None:
        """-> the answer, when it stands ready; None: `answer` must be awaited."""
        if call.session is not None or call.query_string or call.partial or call.wants_json:
            return None
        which = Which(slug, call.language, False)
        kept = self.known(which)
        return None if kept is None else self.ready(which, kept, *wishes(headers))

    def ready(self, which: Which, kept: Kept, accepts_gzip: bool, known_tags: bytes) -> Ready:
        """-> a page for those signed out, or, for anybody, that it is the one they have."""
        form = "same" if kept.page.tag in known_tags else "gzip" if accepts_gzip else "plain"
        of, until, ready = self._ready.get((which, form), (None, 0.0, None))
        if of is not kept or (until < monotonic() and form != "same"):
            if len(self._ready) >= PAGES_MAX:
                self._ready.clear()
            ready = Ready(not_modified(kept) if form == "same" else put_together(kept, accepts_gzip))
            self._ready[which, form] = (kept, monotonic() + READY_SECONDS, ready)
        return ready

    async def answers(self, call: Call, slug: str) -> bool:
        """Is this page the same for the caller as for everybody else?"""
        if call.query_string or call.partial or call.wants_json:
            return False
        if call.session is None or slug == LIST:
            return True
        drop = self.catalogue.known(slug)
        if drop is None:
            return True
        if drop.retired:
            return False  # the gate no longer knows who holds what
        try:
            if drop.waiting and await self.lists.waits(drop.id, call.session.shopper_id):
                return False
            return not await self.gate.units_of(drop.id, call.session.shopper_id)
        except (GateUnreachable, LedgerUnreachable):
            return False

    # memory

    async def page(self, which: Which) -> Kept | None:
        """-> the page, drawn when it must be; None: there is no such drop. LedgerUnreachable: that cannot be told."""
        kept = self.known(which)
        if kept is not None:
            return kept
        kept = await asyncio.shield(self._draw_once(which))  # one asker's hanging up is not the others' problem
        if kept is not None and kept.drawn_at <= self._written_at(which.slug):  # it was under way when the write came
            kept = await asyncio.shield(self._draw_once(which))
        return kept

    def known(self, which: Which) -> Kept | None:
        """-> the page from memory alone, while it may be shown; one that is no longer fresh is drawn again in the background."""
        kept, now = self._kept.get(which), monotonic()
        if kept is None or kept.drawn_at <= self._written_at(which.slug) or now >= kept.good_until:
            return None
        age = now - kept.drawn_at
        if age > FRESH_SECONDS:
            if age > STALE_SECONDS or not kept.settled:
                return None
            self._draw_once(which)
        return kept

    def written(self, slug: str) -> None:
        """This drop, or something that its page shows, has changed."""
        if len(self._written) >= PAGES_MAX:
            self.written_all()
        self._written[slug] = self._written[LIST] = monotonic()

    def written_all(self) -> None:
        """Nothing that is kept, or being drawn, can be trusted."""
        self._kept.clear()
        self._written.clear()
        self._all_written = monotonic()

    def _written_at(self, slug: str) -> float:
        return self._written.get(slug, self._all_written)

    def _draw_once(self, which: Which) -> asyncio.Task:
        task = self._drawing.get(which)
        if task is None:
            task = self._drawing[which] = asyncio.create_task(self._draw(which))
            task.add_done_callback(lambda done: self._drawn(which, done))
        return task

    def _drawn(self, which: Which, task: asyncio.Task) -> None:
        del self._drawing[which]
        if not task.cancelled():
            task.exception()  # who waited for it has heard it; a background drawing is tried again by the next request

    async def _draw(self, which: Which) -> Kept | None:
        began_at = monotonic()
        kept = await (self._draw_list(which, began_at) if which.slug == LIST else self._draw_drop(which, began_at))
        if kept is None:
            return None
        if which not in self._kept and len(self._kept) >= PAGES_MAX:
            del self._kept[next(iter(self._kept))]
        self._kept[which] = kept
        return kept

    # drawing

    async def _draw_list(self, which: Which, began_at: float) -> Kept:
        drops = likely_first(self.catalogue.drops(), clock.now())[:CARDS_MAX]
        cards = in_order(await self.scenes.cards(drops, self.hub.watching))

        def draw() -> str:
            return self.renderer.page("index.html", signed_in=which.signed_in, path=LIST_PATH, cards=cards, wanted=EVERYTHING)

        return await self._kept_page(which, began_at, [(card.drop, card.scene) for card in cards], draw)

    async def _draw_drop(self, which: Which, began_at: float) -> Kept | None:
        drop = await self.catalogue.find(which.slug)
        if drop is None:
            return None
        scene = await self.scenes.scene(drop, self.hub.watching(drop.id))
        mine = Mine(signed_in=which.signed_in, key=KEY_HOLE, allowed=drop.per_person, orders=(), said=None)

        def draw() -> str:
            path = DROP_PATH + drop.slug
            return self.renderer.page("drop.html", signed_in=which.signed_in, path=path, drop=drop, scene=scene, mine=mine)

        return await self._kept_page(which, began_at, [(drop, scene)], draw)

    async def _kept_page(self, which: Which, began_at: float, shown: list[tuple[Drop, Scene]], draw: Callable[[], str]) -> Kept:
        read_at = monotonic()

        async def make() -> str:
            self.pages_drawn += 1
            return draw()

        kept = self._kept.get(which)
        cold = kept is None or began_at - kept.drawn_at > COLD_SECONDS
        html = await (self.shared.value(f"page:{contents(which, shown)}", make) if cold else make())
        return Kept(
            page=PageBytes(html),
            drawn_at=began_at,
            good_until=read_at + min((good_seconds(scene) for _, scene in shown), default=float("inf")),
            server_time=shown[0][1].server_time if shown else clock.now(),
            read_at=read_at,
            settled=all(scene.phase is not Phase.NOT_READY for _, scene in shown),
        )


def contents(which: Which, shown: list[tuple[Drop, Scene]]) -> str:
    """-> a hash of everything that a page shows, apart from the moment: two processes that would draw the same have the same."""
    said: list[Any] = [which.slug, which.language.tag, which.signed_in]
    for drop, scene in shown:
        said.append(drop)
        said += (getattr(scene, field.name) for field in fields(scene) if field.name not in OF_THE_MOMENT)
    return hashlib.sha256(msgspec.json.encode(said)).hexdigest()


def good_seconds(scene: Scene) -> float:
    """-> seconds until the clock alone changes the scene's phase."""
    moments = (scene.opens_at - timedelta(seconds=LAST_SECONDS), scene.opens_at, scene.closes_at)
    ahead = ((moment - scene.server_time).total_seconds() for moment in moments if moment is not None)
    return min((seconds for seconds in ahead if seconds > 0), default=float("inf"))


def not_modified(kept: Kept) -> Raw:
    return 304, [(b"etag", kept.page.tag), CACHE_CONTROL, VARY], b""


def put_together(kept: Kept, gzip: bool) -> Raw:
    """-> the answer with the page, its holes filled for this moment."""
    time = iso(kept.server_time + timedelta(seconds=monotonic() - kept.read_at)).encode()
    key = secrets.token_urlsafe(KEY_BYTES).encode()
    body = kept.page.gzipped(time, key) if gzip else kept.page.plain(time, key)
    told = [HTML_TYPE, (b"etag", kept.page.tag), CACHE_CONTROL, VARY, (b"content-length", b"%d" % len(body))]
    return 200, [*told, GZIP] if gzip else told, body


def wishes(headers: list[tuple[bytes, bytes]]) -> tuple[bool, bytes]:
    """-> (does the caller take gzip, the tags of what it has)."""
    accepts_gzip, known_tags = False, b""
    for name, value in headers:
        if name == b"accept-encoding":
            accepts_gzip = b"gzip" in value and b"gzip;q=0" not in value.replace(b" ", b"").replace(b"q=0.", b"q=1")
        elif name == b"if-none-match":
            known_tags = value
    return accepts_gzip, known_tags
