"""The director: opens the stage, sends in crowd and browsers, causes the faults, calls the witness and the judge, cleans up.

Guarantees: one rehearsal at a time and data folder; whatever ends it (the last curtain, Ctrl-C, SIGTERM, an error) the stage is
removed, and the next rehearsal removes what a kill -9 left; what it promises to show (`progress.json`, the report) is written whole
or not at all. Of the real shop it reads one row, the drop, and nothing else.
"""

import asyncio
import fcntl
import json
import logging
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import structlog

from app import running, wiring
from app.embedded.folders import make_private, write_private
from app.errors import BadInput, NotFound, StartFailed
from app.rehearsal import browsers, machine, plan, report
from app.rehearsal import faults as causes
from app.rehearsal.judge import History, Judgement, judge
from app.rehearsal.layout import FOLDER, KEPT_MAX, LOCK, NOTE, PROGRESS, TRACES, UP_LOG, new_id
from app.rehearsal.names import BROWSER_CLOCK, QUEUE_STARVED
from app.rehearsal.plan import Piece, Wish
from app.rehearsal.sayings import remembered, say, say_some, words_of
from app.rehearsal.stage import Stage, remove_leftovers, what_is_missing
from app.rehearsal.witness import Witness
from app.settings import Settings

BROWSERS_LEAD_SECONDS = 6.0  # more, so that people with browsers see the page before its last ten seconds
LEAD_SECONDS = 2.0 + plan.EARLY_SECONDS  # from "everybody is ready" to the opening
READY_SECONDS_MAX = 120.0
FINISH_SECONDS = 10.0  # on top of the bound within which everything ends
TICK_SECONDS = 0.05
LATE_SECONDS = 0.25  # of a fault behind its moment, that nobody minds
TOLD_SECONDS = 0.5
SLUG = "rehearsal"
OTHER_SLUG = "another-drop"
HELPERS = {"crowd": say("crowd"), "browsers": say("browsers")}  # as they are called within a sentence


class Stopped(BaseException):
    """Somebody asked us to stop."""


@dataclass
class Progress:
    """What people are shown while it runs, as it stands in progress.json."""

    id: str
    slug: str | None
    title: str
    seed: int
    crowd: int
    pid: int
    phase: str = "opening the stage"
    began: str = ""
    seconds: float = 0.0  # of the drop's time that have passed; negative: until it opens
    seconds_total: float = 0.0
    answers: int = 0
    ended: int = 0
    sockets: int = 0
    fault: str | None = None
    books: dict | None = None
    verdict: str | None = None  # go | no-go | stopped | failed
    why: str | None = None
    command: str = ""

    def plain(self) -> dict:
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return found | {"sentences": remembered(found)}


@dataclass
class Rehearsed:
    """What became of it. `folder` holds report.html and report.json."""

    folder: Path
    judgement: Judgement
    report: dict = field(default_factory=dict)


def rehearse(
    wish: Wish,
    data: Path,
    report_to: Path | None = None,
    tell: Callable[[Progress], None] = lambda _: None,
    name: str | None = None,
    attached: bool = False,
) -> Rehearsed:
    """Play it from beginning to end. DoormanError says in one sentence why it could not be; Stopped when told to stop.

    `name`: its id, where somebody has announced it already. `attached`: stop when the `up` that serves `data` ends.
    """
    missing = what_is_missing() or (browsers.what_is_missing() if wish.browsers else None)
    if missing:
        raise StartFailed(missing)
    home = make_private(data) / FOLDER
    home.mkdir(mode=0o700, exist_ok=True)
    quiet = logging.getLogger("doorman")  # what breaks on purpose is no news
    quiet.propagate = False
    quiet.addHandler(logging.NullHandler())
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    with _only_one(home), _stoppable():
        remove_leftovers(home / NOTE)
        name = name or new_id(wish.slug)
        folder = home / name
        folder.mkdir(mode=0o700, exist_ok=True)
        director = _Director(wish, data, home, folder, tell, attached)
        try:
            rehearsed = director.play()
        except BaseException as error:
            director.failed(error)
            raise
        if report_to is not None:
            report.copy(folder, report_to)
        _forget_oldest(home)
        return rehearsed


class _Director:
    def __init__(self, wish: Wish, data: Path, home: Path, folder: Path, tell, attached: bool):
        self.wish, self.data, self.home, self.folder, self.tell, self.attached = wish, data, home, folder, tell, attached
        self.progress = Progress(
            id=folder.name, slug=wish.slug, title="", seed=wish.seed, crowd=wish.crowd, pid=os.getpid(), command=wish.command(),
            began=datetime.now(UTC).isoformat(timespec="seconds"),
        )  # fmt: skip
        self.told_at = 0.0
        self.faults: list[dict] = []
        self.crowd_buffer = b""
        self.deeds: list[str] = []  # what the seller had to do by hand

    def play(self) -> Rehearsed:
        began = time.monotonic()
        load = machine.load_average()
        wish = self.wish
        shop_runs = running.is_served(self.data)
        piece, deployed = self.read_the_shop()
        piece = plan.with_units(piece, wish.units)
        if not wish.real_times:
            piece = plan.in_quick_motion(piece, wish.seconds)
        self.progress.title, self.progress.seconds_total = piece.title, wish.seconds
        planned = self.planned_faults(piece)
        wired = frozenset(fault.wire for _, fault in planned if fault.wire)
        self.show("opening the stage")
        stage = Stage(web=wish.web or deployed, seed=wish.seed, real_times=wish.real_times, wired=wired, note=self.home / NOTE)
        try:
            stage.open()
            history, outcome, witness = self.play_on(stage, piece, planned)
            self.show("judging")
            judgement = judge(history)
        finally:
            stage.keep_log(self.folder / UP_LOG)
            stage.close()
        document = report.document(
            wish=wish, piece=piece, history=history, judgement=judgement, outcome=outcome, machine_busy=witness.machine,
            machine=machine.described(web=stage.web, shop_runs=shop_runs, load=load), seconds=time.monotonic() - began,
            previous=report.previous_of(self.home, self.folder, wish.slug), id=self.folder.name, deeds=self.deeds,
            pictures=outcome["pictures"], traces=sorted(f"{TRACES}/{path.name}" for path in self.folder.glob(f"{TRACES}/*.zip")),
        )  # fmt: skip
        report.write(self.folder, document)
        self.progress.verdict = "go" if judgement.go else "no-go"
        self.show("done")
        return Rehearsed(self.folder, judgement, document)

    # ---- before --------------------------------------------------------------------------------------------------------------

    def read_the_shop(self) -> tuple[Piece, int]:
        """-> (the drop to rehearse, web processes as deployed). NotFound for a slug that the shop does not know."""
        web = 2
        if running.is_served(self.data):
            with suppress(OSError, ValueError, KeyError):
                web = len(json.loads((self.data / running.RUN).read_text())["web"]) or web
        if self.wish.slug is None:
            return plan.STANDARD, web
        settings = Settings.from_environment(running.environment_with(self.data, os.environ))
        drop = asyncio.run(_read_drop(settings, self.wish.slug))
        if drop is None:
            raise NotFound(say("there is no drop named %(slug)s", slug=self.wish.slug))
        return piece_of(drop), web

    def planned_faults(self, piece: Piece) -> list[tuple[plan.Moment, causes.Fault]]:
        settings = self.stage_times()
        bound = settings.grace_seconds + 2 * settings.sweep_seconds
        known = causes.FAULTS | {QUEUE_STARVED: causes.starved(piece.hold_seconds, bound)}
        chosen = [known[name] for name in self.wish.faults if name != BROWSER_CLOCK]
        if BROWSER_CLOCK in self.wish.faults and not self.wish.browsers:
            raise BadInput("browser-clock needs a browser: add --browsers 2", field="faults")
        moments = plan.moments(self.wish.seed, [(fault.name, fault.seconds) for fault in chosen], self.wish.seconds)
        return list(zip(moments, chosen, strict=True))

    def stage_times(self) -> Settings:
        from app.rehearsal.stage import QUICK, TIMES

        deployed = {name: os.environ[name] for name in TIMES if name in os.environ}
        return Settings.from_environment(deployed if self.wish.real_times else {**QUICK})

    # ---- the play ------------------------------------------------------------------------------------------------------------

    def play_on(self, stage: Stage, piece: Piece, planned) -> tuple[History, dict, Witness]:
        wish, settings = self.wish, stage.settings()
        self.show("letting the crowd in")
        shoppers, cookies = asyncio.run(_mint(settings, wish.crowd))
        parts = stage.parts()
        given = {
            "url": parts["url"], "slug": SLUG, "seed": wish.seed, "seconds": wish.seconds, "piece": plan.as_plain(piece),
            "connections": wish.connections, "cookies": cookies, "shoppers": shoppers,
        }  # fmt: skip
        write_private(stage.folder / "crowd.json", json.dumps(given))
        output = stage.folder / "outcome.json"
        crowd = stage.help_with(["app.rehearsal.crowd", str(stage.folder / "crowd.json"), str(output)], "crowd")
        self.wait_for_line(crowd, "crowd", stage)
        browsers = self.let_browsers_in(stage, settings, parts)
        lead = LEAD_SECONDS + (BROWSERS_LEAD_SECONDS if browsers else 0.0)
        opens_at = datetime.fromtimestamp(time.time() + lead, UTC)
        opens_ms = round(opens_at.timestamp() * 1000)
        closes_ms = round(opens_ms + wish.seconds * 1000)
        settle = piece.hold_seconds + piece.offer_seconds + settings.settled_within_seconds + FINISH_SECONDS
        drop_id = asyncio.run(_publish(settings, piece, opens_at, datetime.fromtimestamp(closes_ms / 1000, UTC)))
        times = {"opens_ms": opens_ms, "closes_ms": closes_ms, "gives_up_ms": round(closes_ms + settle * 1000)}
        pages = {say("the list"): "/", say("another drop"): f"/drops/{OTHER_SLUG}", say("the page to sign in"): "/sign-in"}
        witness = Witness(settings, drop_id, SLUG, pages, piece.units)
        witness.start()
        try:
            for helper in filter(None, (crowd, browsers)):
                helper.stdin.write(json.dumps({**times, "drop_id": drop_id}).encode() + b"\n")
                helper.stdin.flush()
            self.run_until_done(stage, crowd, witness, planned, times)
            seen = self.hear_browsers(stage, browsers, times)
            at_rest = self.wait_for_rest(settings, drop_id, witness, times)
        finally:
            witness.stop()
        if crowd.poll() not in (None, 0) or not output.exists():
            raise StartFailed(say("the crowd broke down; its last words: %(words)s", words=stage.last_words("crowd")))
        outcome = json.loads(output.read_text())
        outcome["pictures"] = seen["pictures"] if seen else []
        outcome["sentences"] |= seen["sentences"] if seen else {}
        history = History(
            units=piece.units, per_person=piece.per_person, opens_ms=opens_ms, closes_ms=closes_ms, ended_ms=_now_ms(),
            crowd=wish.crowd + wish.browsers, variants=len(piece.variants),
            stories=[*outcome["stories"], *(seen["stories"] if seen else [])], browsers=seen and seen["people"],
            orders=witness.final and witness.final["orders"], provider=_or_none(lambda: stage.ledger_of("provider")),
            warehouse=_or_none(lambda: stage.ledger_of("warehouse")),
            books=witness.books, final_books=witness.final and witness.final["books"], at_rest=at_rest, gate=witness.gate,
            watchers=outcome["watchers"], pages=witness.page_looks, faults=self.faults, odd=outcome["odd"],
        )  # fmt: skip
        return history, outcome, witness

    def let_browsers_in(self, stage: Stage, settings: Settings, parts: dict) -> subprocess.Popen | None:
        """Start the people with browsers, where they are wanted -> their process, once they are ready."""
        if not self.wish.browsers:
            return None
        self.show("starting the browsers")
        shoppers, cookies = asyncio.run(_mint(settings, self.wish.browsers))
        given = {
            "url": parts["url"], "bank": parts["provider"]["url"], "slug": SLUG, "crowd": self.wish.crowd, "cookies": cookies,
            "shoppers": shoppers, "clock": BROWSER_CLOCK in self.wish.faults, "seconds": self.wish.seconds,
            "dashboard": True,
        }  # fmt: skip
        write_private(stage.folder / "browsers.json", json.dumps(given))
        process = stage.help_with(
            ["app.rehearsal.browsers", str(stage.folder / "browsers.json"), str(stage.folder / "seen.json")], "browsers"
        )
        self.wait_for_line(process, "browsers", stage)
        return process

    def wait_for_line(self, process: subprocess.Popen, name: str, stage: Stage) -> None:
        """Return when a helper says that it is ready; StartFailed with its own reason when it cannot be."""
        readable, _, _ = select.select([process.stdout], [], [], READY_SECONDS_MAX)
        line = process.stdout.readline() if readable else b""
        told = json.loads(line) if line else {}
        if not told.get("ready"):
            never = say("the %(helper)s did not come; last words: %(words)s", helper=HELPERS[name], words=stage.last_words(name))
            raise StartFailed(told.get("failed") or never)

    def hear_browsers(self, stage: Stage, browsers: subprocess.Popen | None, times: dict) -> dict | None:
        """-> what the people with browsers saw, once they are done; None: none were wanted."""
        if browsers is None:
            return None
        self.show("waiting for the browsers")
        with suppress(subprocess.TimeoutExpired):
            browsers.wait(max(1.0, times["gives_up_ms"] / 1000 + FINISH_SECONDS - time.time()))
        found = _or_none(lambda: json.loads((stage.folder / "seen.json").read_text()))
        if (stage.folder / TRACES).exists():
            shutil.copytree(stage.folder / TRACES, self.folder / TRACES, dirs_exist_ok=True)
        if BROWSER_CLOCK in self.wish.faults:
            record = {"began": None, "ended": None, "done": False, "why": say("the browsers told nothing")} | (found or {}).get(
                "clock", {}
            )
            words = say("the clock of a browser is an hour ahead, then jumps")
            self.faults.append({"name": BROWSER_CLOCK, "words": words, "told": words, "touches": [], "loses": False, **record})
        return found or {"stories": [], "people": [], "pictures": [], "sentences": {}}

    def run_until_done(self, stage: Stage, crowd, witness: Witness, planned, times: dict) -> None:
        """Cause what is due, listen to the crowd, until it has nothing more to tell."""
        due = sorted(self.acts(planned), key=lambda act: act[0])
        os.set_blocking(crowd.stdout.fileno(), False)
        opens = times["opens_ms"] / 1000
        late = 0.0  # a fault that takes longer to end than planned moves the later ones
        ended = False
        try:
            while not ended or due:
                now = time.time() - opens
                while due and due[0][0] + late <= now:
                    planned_at, act = due.pop(0)
                    act(stage)
                    stage.write_note()
                    now = time.time() - opens
                    if now - planned_at > late + LATE_SECONDS:
                        late = now - planned_at
                self.show(_phase(now, self.wish.seconds), now, witness)
                ended = ended or self.listen(crowd)
                if time.time() * 1000 > times["gives_up_ms"] + 1000 * FINISH_SECONDS:
                    break
                wait = min(TICK_SECONDS * 4, max(0.0, due[0][0] + late - now) if due else 1.0)
                if ended:
                    time.sleep(wait)
                else:
                    select.select([crowd.stdout], [], [], max(TICK_SECONDS / 10, wait))
        finally:
            for _, act in due:
                if act.ends:
                    act(stage)

    def listen(self, crowd) -> bool:
        """Take in what the crowd says -> whether it has ended."""
        ended = False
        with suppress(BlockingIOError):
            while piece := os.read(crowd.stdout.fileno(), 1 << 16):
                self.crowd_buffer += piece
            ended = True
        *lines, self.crowd_buffer = self.crowd_buffer.split(b"\n")
        for line in lines:
            told = json.loads(line)
            self.progress.answers = told.get("answered", self.progress.answers)
            self.progress.ended = told.get("ended", self.progress.ended)
            self.progress.sockets = told.get("sockets", self.progress.sockets)
        return ended and crowd.wait() is not None

    def acts(self, planned):
        """-> (seconds from the opening, what to do to the stage) for each beginning and end of a fault."""
        for moment, fault in planned:
            record = {
                "name": fault.name, "words": fault.words, "began": None, "ended": None, "done": False, "why": None, "told": None,
                "touches": sorted(fault.touches), "loses": fault.loses,
            }  # fmt: skip
            self.faults.append(record)
            if fault.name == "redis-failed-over":
                yield moment.begins - causes.REPLICA_AHEAD_SECONDS, _Act(self, fault, record, causes.remember_replica)
            yield moment.begins, _Act(self, fault, record, fault.begin, begins=True)
            yield moment.ends, _Act(self, fault, record, fault.end, ends=True)

    def wait_for_rest(self, settings: Settings, drop_id: int, witness: Witness, times: dict) -> bool:
        """Wait until nothing of the drop can move any more -> whether that came in time."""
        give_up_at = times["gives_up_ms"] / 1000 + FINISH_SECONDS

        async def rests() -> bool:
            async with wiring.office(settings, "director") as office, wiring.packing(settings) as packer:
                while time.time() < give_up_at:
                    books = witness.books_now
                    unfinished = await office.ledger.unfinished_of_drop(drop_id)
                    if unfinished.nothing and books and not books["journal"] and books["balanced"]:
                        return True
                    for order_id in unfinished.parcels_shown:
                        with suppress(BadInput, NotFound):  # the sandbox warehouse knows for certain; a seller looks there first
                            await packer.resubmit(order_id)
                            made.add(order_id)
                    self.show("waiting until everything has ended", time.time() - times["opens_ms"] / 1000, witness)
                    await asyncio.sleep(0.2)
            return False

        made: set = set()
        rested = asyncio.run(rests())
        if made:
            self.deeds.append(
                say_some(
                    "After the faults %(num)s parcel was shown as needing a person, because nobody could know whether the "
                    "warehouse had been reached. The seller had it submitted again, as in the real shop.",
                    "After the faults %(num)s parcels were shown as needing a person, because nobody could know whether the "
                    "warehouse had been reached. The seller had them submitted again, as in the real shop.",
                    len(made),
                )
            )
        return rested

    # ---- telling -------------------------------------------------------------------------------------------------------------

    def show(self, phase: str, seconds: float = 0.0, witness: Witness | None = None) -> None:
        progress = self.progress
        changed = progress.phase != phase
        progress.phase, progress.seconds = phase, round(seconds, 1)
        if witness is not None:
            progress.books = witness.books_now
        if changed or time.monotonic() - self.told_at > TOLD_SECONDS:
            self.told_at = time.monotonic()
            if self.attached and self.progress.verdict is None and not running.is_served(self.data):
                raise Stopped
            write_private(self.folder / PROGRESS, json.dumps(progress.plain()))
            self.tell(progress)

    def failed(self, error: BaseException) -> None:
        stopped = isinstance(error, Stopped | KeyboardInterrupt)
        self.progress.verdict, self.progress.why = ("stopped", None) if stopped else ("failed", words_of(error))
        with suppress(OSError):
            self.show("stopped" if stopped else "failed")


@dataclass
class _Act:
    """One beginning or end of a fault. Failures are noted, never raised: the play goes on, and the judge hears of it."""

    director: _Director
    fault: causes.Fault
    record: dict
    work: Callable[[Stage], object]
    begins: bool = False
    ends: bool = False

    def __call__(self, stage: Stage) -> None:
        record = self.record
        if self.ends and record["began"] is None:
            return
        try:
            if self.begins:
                record["began"] = _now_ms()
                self.director.progress.fault = self.fault.words
            told = self.work(stage)
            if self.begins:
                record["told"], record["done"] = told, True
        except (causes.FaultFailed, StartFailed, OSError, ValueError, KeyError) as error:
            record["done"], record["why"] = False, words_of(error)
        if self.ends or not record["done"]:
            record["ended"] = _now_ms()
            self.director.progress.fault = None


def piece_of(drop) -> Piece:
    """-> the seller's drop (app.domain.drops.Drop) as it is rehearsed."""
    return Piece(
        title=drop.title,
        variants=tuple((variant.name, variant.units_total) for variant in drop.variants),
        price_minor=drop.price_minor,
        currency=drop.currency,
        per_person=drop.per_person,
        hold_seconds=drop.hold_seconds,
        offer_seconds=drop.offer_seconds,
        payment_attempts=drop.payment_attempts,
        waitlist=drop.waitlist.value,
        ships=drop.ships,
        of=drop.slug,
    )


async def _read_drop(settings: Settings, slug: str):
    from app.ledger import Ledger

    ledger = await Ledger.open(settings.database_url, name="rehearsal", connections_max=1)
    try:
        return await ledger.drop_by_slug(slug)
    finally:
        await ledger.close()


async def _mint(settings: Settings, count: int) -> tuple[list[int], list[str]]:
    from app.web.session import mint_cookies

    async with wiring.office(settings, "director") as office:
        shoppers = await office.ledger.mint_shoppers(count)
    return shoppers, mint_cookies(settings, shoppers)


async def _publish(settings: Settings, piece: Piece, opens_at: datetime, closes_at: datetime) -> int:
    """Publish the rehearsal's drop, and another one beside it that nobody wants -> the drop's number."""
    from app.ledger import NewDrop
    from app.purchase.drops import create_drop

    async with wiring.office(settings, "director") as office:
        shop_id = await office.ledger.first_shop() or await office.ledger.create_shop("Rehearsal", "owner@example.org")
        new = NewDrop(
            shop_id=shop_id, slug=SLUG, title=piece.title, price_minor=piece.price_minor, currency=piece.currency,
            opens_at=opens_at, closes_at=closes_at, variants=piece.variants, per_person=piece.per_person,
            hold_seconds=piece.hold_seconds, offer_seconds=piece.offer_seconds, payment_attempts=piece.payment_attempts,
            waitlist=piece.waitlist, ships=piece.ships,
        )  # fmt: skip
        drop = await create_drop(office, new)
        await create_drop(office, replace(new, slug=OTHER_SLUG, title="Another drop", closes_at=None))
        return drop.id


@contextmanager
def _only_one(home: Path):
    """StartFailed while another rehearsal of this data folder runs."""
    handle = os.open(home / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise StartFailed(f"another rehearsal is running on {home.parent}; wait until it has ended, or stop it") from None
    finally:
        os.close(handle)


@contextmanager
def _stoppable():
    """Ctrl-C, SIGTERM and SIGHUP raise Stopped, once; further ones are heard no more while we clean up."""

    def stop(*_) -> None:
        for signum in known:
            signal.signal(signum, signal.SIG_IGN)
        raise Stopped

    known = {signum: signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for signum in known:
        signal.signal(signum, stop)
    try:
        yield
    finally:
        for signum, before in known.items():
            signal.signal(signum, before)


def _forget_oldest(home: Path) -> None:
    kept = sorted((path for path in home.iterdir() if path.is_dir()), key=lambda path: path.name)
    for path in kept[:-KEPT_MAX]:
        shutil.rmtree(path, ignore_errors=True)


def _phase(seconds: float, total: float) -> str:
    if seconds < 0:
        return "before the opening"
    return "the drop is open" if seconds < total else "closed; holds and payments end"


def _or_none(read):
    try:
        return read()
    except (OSError, ValueError, KeyError):
        return None


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def new_seed() -> int:
    return random.SystemRandom().randint(1, 999_999)


def is_terminal() -> bool:
    return sys.stderr.isatty()
