"""The crowd: every buyer of a rehearsal in one process, each with intentions of their own (plan.py), over raw connections.

It only causes; it judges nothing. Every buyer's story ends with the last word they were given, or with `unheard` when none came
until the end; what they were told is written down as it was said. Requests of all share a bounded number of keep-alive connections.
Latency counts from the moment a buyer presses, the wait for a free connection included, so a slow server cannot hide behind a full
house. The generator watches itself: its share of a processor and how late its own loop runs, second by second.

`python -m app.rehearsal.crowd INPUT OUTPUT`: prints `{"ready": true}`, waits for a line with the times, plays, prints progress as
lines of JSON, writes OUTPUT and ends.
"""

import asyncio
import base64
import gc
import json
import os
import resource
import sys
import time
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import httptools
import uvloop

from app.rehearsal.plan import Person, people, piece_from
from app.rehearsal.sayings import Said, remembered, say, words_of

ANSWER_SECONDS_MAX = 10.0  # then a person gives this request up and asks again
CONNECT_SECONDS_MAX = 5.0
LOST_REPLY_SECONDS = 0.004  # who hangs up does so after this long
HAMMER_PRESSES, HAMMER_SECONDS = 6, 0.08
LOOK_SECONDS = (1.0, 4.0)  # between two looks at an order: with few holders, and with many
LIST_LOOK_SECONDS = (2.5, 6.0)  # between two looks at one's place: with few who wait, and with many
LOOKS_PER_SECOND_MAX = 200  # of either kind, about: people look, they do not hammer the pages of their orders
PERSISTENCE = 3  # presses of somebody who presses again after a no
GONE_SECONDS = 6.0  # an order that nobody knows for so long is lost
LAG_SECONDS = 0.05
PROGRESS_SECONDS = 0.5
RECONNECT_SECONDS = 0.5
GC_THRESHOLDS = (50_000, 20, 100)
ADDRESS = {"name": "Robin Crowd", "street": "Rehearsal Lane 1", "postcode": "10115", "town": "Berlin", "country": "DE"}
NOES = ("sold_out", "all_held", "closed")
ENDED = ("PAID", "EXPIRED", "FAILED", "CANCELLED", "REFUNDED", "REFUSED")


CONNECTION_LOST, HUNG_UP, NO_ANSWER = say("connection lost"), say("hung up"), say("no answer in time")


@cache
def _no_connection(error: str) -> Said:
    return say("no connection: %(error)s", error=error)


@cache
def _refusing(verb: str) -> Said:
    """-> what was refused with 503: a press of this verb, or (empty) a page."""
    return say("503 from %(where)s", where=verb) if verb else say("503 from a page of theirs")


class Lost(Exception):
    """No answer came; the text says why."""


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes
    retry_after: float

    def json(self) -> dict:
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


class Line(asyncio.Protocol):
    """One keep-alive connection: one request at a time."""

    def __init__(self):
        self.transport: asyncio.Transport | None = None
        self.answer: asyncio.Future | None = None

    async def ask(self, request: bytes) -> Reply:
        self.answer = asyncio.get_running_loop().create_future()
        self.body: list[bytes] = []
        self.retry_after = 0.0
        self.parser = httptools.HttpResponseParser(self)
        self.transport.write(request)
        return await self.answer

    def hang_up(self) -> None:
        transport, self.transport = self.transport, None
        if transport is not None:
            transport.abort()

    def connection_made(self, transport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self.answer is None or self.answer.done():
            self.hang_up()
            return
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError as error:
            self.end(Lost(say("not HTTP: %(error)s", error=type(error).__name__)))
            self.hang_up()

    def connection_lost(self, error: Exception | None) -> None:
        self.transport = None
        self.end(Lost(CONNECTION_LOST))

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"retry-after" and value.isdigit():
            self.retry_after = float(value)

    def on_body(self, body: bytes) -> None:
        self.body.append(body)

    def on_message_complete(self) -> None:
        keep = self.parser.should_keep_alive()
        self.end(Reply(self.parser.get_status_code(), b"".join(self.body), self.retry_after))
        if not keep:
            self.hang_up()

    def end(self, outcome: Reply | Lost) -> None:
        if self.answer is not None and not self.answer.done():
            if isinstance(outcome, Lost):
                self.answer.set_exception(outcome)
            else:
                self.answer.set_result(outcome)


class Lines:
    """The connections of the whole crowd, never more than `most`."""

    def __init__(self, host: str, port: int, most: int):
        self.host, self.port = host, port
        self.places = asyncio.Semaphore(most)
        self.idle: deque[Line] = deque()

    async def ask(self, request: bytes, hang_up_after: float | None = None) -> Reply:
        """-> the answer. Lost: none came in time, or (`hang_up_after`) nobody waited for it."""
        async with self.places:
            line = await self.free_line()
            try:
                async with asyncio.timeout(ANSWER_SECONDS_MAX if hang_up_after is None else hang_up_after):
                    return await line.ask(request)
            except TimeoutError:
                line.hang_up()
                raise Lost(HUNG_UP if hang_up_after is not None else NO_ANSWER) from None
            except asyncio.CancelledError:
                line.hang_up()
                raise
            finally:
                if line.transport is not None:
                    self.idle.append(line)

    async def free_line(self) -> Line:
        while self.idle:
            line = self.idle.pop()
            if line.transport is not None and not line.transport.is_closing():
                return line
        try:
            async with asyncio.timeout(CONNECT_SECONDS_MAX):
                _, line = await asyncio.get_running_loop().create_connection(Line, self.host, self.port)
        except OSError as error:  # TimeoutError too
            raise Lost(_no_connection(type(error).__name__)) from None
        return line


class Series:
    """Counts per second since the opening; the seconds before it are negative."""

    def __init__(self):
        self.by_second: dict[str, Counter] = {}

    def count(self, name: str, at: float, n: int = 1) -> None:
        self.by_second.setdefault(name, Counter())[int(at // 1)] += n


@dataclass(slots=True)
class Story:
    """What became of one buyer, in the words they were given."""

    number: int
    shopper: int
    final: str = "unheard"  # no | paid | expired | failed | cancelled | refunded | refused | lost | waited | unheard
    orders: list[str] = field(default_factory=list)  # ids that they were told are theirs
    order: str | None = None  # the one that `final` speaks of
    presses: int = 0
    meant_to_pay: bool = False  # had a hold and meant to pay it in good time
    told: list[str] = field(default_factory=list)  # verdicts, in order, repeats once
    contradictions: list[str] = field(default_factory=list)  # what cannot both be true
    heard_ms: float | None = None  # from the first press to the first answer that is one


class Crowd:
    def __init__(self, given: dict):
        url = urlsplit(given["url"])
        self.slug, self.netloc = given["slug"], url.netloc
        self.host, self.port = url.hostname, url.port
        self.seconds = given["seconds"]
        self.piece = piece_from(given["piece"])
        self.lines = Lines(url.hostname, url.port, given["connections"])
        self.random = Random(f"{given['seed']}:patience")
        self.people = list(people(given["seed"], len(given["shoppers"]), self.piece, self.seconds))
        self.cookies = given["cookies"]
        waiting = sum(person.after_no.startswith("waits") for person in self.people)
        self.look_seconds = _within(self.piece.units / LOOKS_PER_SECOND_MAX, *LOOK_SECONDS)
        self.list_look_seconds = _within(waiting / LOOKS_PER_SECOND_MAX, *LIST_LOOK_SECONDS)
        self.stories = [Story(person.number, given["shoppers"][person.number]) for person in self.people]
        self.series = Series()
        self.latencies: list[tuple[float, float]] = []  # (pressed at, seconds) of every answered press
        self.verdicts: Counter = Counter()
        self.statuses: Counter = Counter()
        self.troubles: Counter = Counter()  # requests that got no answer, by reason
        self.odd: dict[str, str] = {}  # one answer of each kind that has no place in the contract
        self.watchers: list[Watcher] = []
        self.pressed = self.answered = self.ended = 0
        self.lags: Counter = Counter()  # second -> the loop's worst delay, ms
        self.cpu: dict[int, float] = {}
        self.opens_at = self.closes_at = self.gives_up_at = 0.0  # loop time

    # ---- playing -------------------------------------------------------------------------------------------------------------

    async def play(self, times: dict) -> None:
        """`times`: opens_ms, closes_ms, gives_up_ms since 1970."""
        loop = asyncio.get_running_loop()
        shift = loop.time() - time.time()
        self.opens_at, self.closes_at, self.gives_up_at = (
            times[name] / 1000 + shift for name in ("opens_ms", "closes_ms", "gives_up_ms")
        )
        self.opens_ms = times["opens_ms"]
        beside = [asyncio.create_task(work) for work in (self.watch_self(), self.tell_progress())]
        playing = [asyncio.create_task(self.person(person)) for person in self.people]
        _, late = await asyncio.wait(playing, timeout=max(0.0, self.gives_up_at - loop.time()))
        for task in (*late, *beside, *(watcher.task for watcher in self.watchers)):
            task.cancel()
        for result in await asyncio.gather(*playing, return_exceptions=True):
            if isinstance(result, Exception):
                raise result
        await asyncio.gather(*beside, *(watcher.task for watcher in self.watchers), return_exceptions=True)
        self.tell({"answered": self.answered, "ended": self.ended, "done": True})

    async def person(self, person: Person) -> None:
        story = self.stories[person.number]
        watcher = None
        if person.sits:
            await self.until(person.comes - 1.0)
            watcher = Watcher(self, self.cookies[person.number])
            self.watchers.append(watcher)
        await self.until(person.comes)
        try:
            await self.lives(person, story)
        except asyncio.CancelledError:
            return
        finally:
            self.ended += story.final != "unheard"
        if watcher is not None:
            await self.until(self.seconds + 1.0)
            watcher.task.cancel()

    async def lives(self, person: Person, story: Story) -> None:
        order = await self.presses(person, story)
        again = PERSISTENCE if person.after_no == "presses_again" else 0
        while order is None and story.final == "no" and again and self.now() < self.closes_at:
            again -= 1
            await asyncio.sleep(1.0 + 3.0 * person.salt)
            order = await self.presses(person, story, f"a{again}")
        if order is None and story.final == "no" and person.after_no.startswith("waits"):
            order, misses = await self.waits(person, story), person.after_no == "waits_and_misses"
            if order is not None:
                await self.owns(person, story, order, "abandons" if misses else "at_once")
            return
        if order is not None:
            await self.owns(person, story, order, person.pays)

    # ---- pressing Buy --------------------------------------------------------------------------------------------------------

    async def presses(self, person: Person, story: Story, word: str = "b") -> str | None:
        """-> the order that is theirs; None: `story.final` says what they heard instead."""
        key = f"{word}{person.number}"
        first = True
        while True:
            replies = await self.press_as(person, story, key) if first else [await self.press(person, story, key)]
            first = False
            order, wait = self.understood(story, [reply for reply in replies if reply is not None])
            if order is not None or wait is None:
                return order
            await asyncio.sleep(wait + 0.3 * person.salt)

    async def press_as(self, person: Person, story: Story, key: str) -> list[Reply | None]:
        match person.style:
            case "double":
                return list(await asyncio.gather(*(self.press(person, story, key) for _ in range(2))))
            case "hammer":
                presses = []
                for _ in range(HAMMER_PRESSES):
                    presses.append(asyncio.ensure_future(self.press(person, story, key)))
                    await asyncio.sleep(HAMMER_SECONDS)
                return list(await asyncio.gather(*presses))
            case "lost_reply":
                await self.press(person, story, key, hang_up_after=LOST_REPLY_SECONDS)
                await asyncio.sleep(0.2 + 1.5 * person.salt)
        return [await self.press(person, story, key)]

    async def press(self, person: Person, story: Story, key: str, hang_up_after: float | None = None) -> Reply | None:
        body = f"quantity={person.quantity}&variant={_quoted(person.variant)}&key={key}"
        story.presses += 1
        self.pressed += 1
        pressed_at = self.now()
        self.series.count("presses", pressed_at - self.opens_at)
        reply = await self.asks(person, "POST", f"/drops/{self.slug}/buy", body, hang_up_after)
        if reply is None:
            return None
        at = self.now()
        self.answered += 1
        self.latencies.append((pressed_at - self.opens_at, at - pressed_at))
        verdict = str(reply.json().get("verdict") or f"http {reply.status}")
        self.verdicts[verdict] += 1
        self.series.count(f"verdict {verdict}", at - self.opens_at)
        if story.heard_ms is None and reply.status < 500:
            story.heard_ms = round((at - pressed_at) * 1000, 1)
        return reply

    def understood(self, story: Story, replies: list[Reply]) -> tuple[str | None, float | None]:
        """What a person makes of the answers to presses under one key -> (their order, seconds until they ask again)."""
        said = [(str(reply.json().get("verdict") or f"http {reply.status}"), reply) for reply in replies]
        for verdict, _ in said:
            if not story.told or story.told[-1] != verdict:
                story.told.append(verdict)
        orders = {str(reply.json()["order"]) for verdict, reply in said if verdict == "reserved" and "order" in reply.json()}
        if len(orders) > 1:
            story.contradictions.append(say("one key, %(number)s orders: %(orders)s", number=len(orders), orders=sorted(orders)))
        for verdict, reply in said:
            if verdict in ("reserved", "already_yours") and reply.json().get("order"):
                order = str(reply.json()["order"])
                if order not in story.orders:
                    story.orders.append(order)
                story.order = order
                return order, None
        for verdict, reply in said:
            if verdict in NOES:
                story.final = "no"
                return None, None
            if verdict == "not_open":
                return None, max(0.05, self.opens_at - self.now())
            if verdict in ("not_ready", "too_fast", "paused"):
                return None, reply.retry_after or 1.0
            if 400 <= reply.status < 500:
                self.odd.setdefault(verdict, reply.body[:300].decode(errors="replace"))
                story.final = "no"
                return None, None
        return None, 0.5

    # ---- a hold --------------------------------------------------------------------------------------------------------------

    async def owns(self, person: Person, story: Story, order: str, pays: str) -> None:
        """Do with a hold what this person means to do, and look until it has ended."""
        story.final, story.order = "unheard", order
        story.meant_to_pay = pays in ("at_once", "declined_first")
        unknown_since: float | None = None
        submitted = declined = False
        while True:
            reply = await self.asks(person, "GET", f"/orders/{order}")
            seen = reply.json() if reply is not None and reply.status == 200 else {}
            state, payment = seen.get("state"), seen.get("payment")
            if reply is not None and reply.status == 404:
                unknown_since = unknown_since or self.now()
                if self.now() - unknown_since > GONE_SECONDS:
                    story.final = "lost"
                    return
            elif state:
                unknown_since = None
            if state in ENDED and (state == "PAID" or payment in ("none", "refunded")):
                story.final = state.lower()
                return
            if state == "LOST":
                story.final = "lost"
                return
            if state == "PENDING_PAYMENT" and payment != "unknown":
                wait = 0.0
                if pays == "late" and not submitted:
                    wait = 0.7 * self.piece.hold_seconds
                elif not submitted:
                    wait = 0.2 + 1.5 * person.salt
                if pays == "gives_back" and not submitted:
                    await asyncio.sleep(wait)
                    await self.asks(person, "POST", f"/orders/{order}/cancel", "")
                    submitted = True
                elif pays in ("at_once", "late", "declined_first") and seen.get("attempts_left", 0) > 0:
                    await asyncio.sleep(wait)
                    bad = pays == "declined_first" and not declined and seen["attempts_left"] > 1
                    sent = await self.pay(person, order, "pm_card_chargeDeclined" if bad else "pm_card_visa")
                    submitted = True
                    declined = declined or (bad and sent)
            await asyncio.sleep(self.look_seconds * (0.75 + 0.5 * person.salt))

    async def pay(self, person: Person, order: str, card: str) -> bool:
        body = f"payment_method={card}"
        if self.piece.ships:
            body += "".join(f"&{name}={_quoted(value)}" for name, value in ADDRESS.items())
        reply = await self.asks(person, "POST", f"/orders/{order}/pay", body)
        if reply is not None and reply.status == 202:
            self.series.count("payments", self.now() - self.opens_at)
        return reply is not None and reply.status == 202

    # ---- the list ------------------------------------------------------------------------------------------------------------

    async def waits(self, person: Person, story: Story) -> str | None:
        """Join the list and look at one's place until it is one's turn -> the order held for them, None: it never came."""
        joined = False
        while self.now() < self.gives_up_at:
            if not joined:
                body = f"quantity={person.quantity}&variant={_quoted(person.variant)}"
                reply = await self.asks(person, "POST", f"/drops/{self.slug}/waitlist", body)
                verdict = reply.json().get("verdict") if reply is not None else None
                if reply is not None and reply.status in (200, 201):
                    joined = True
                    self.series.count("joined", self.now() - self.opens_at)
                    story.final = "unheard"
                elif verdict == "available":
                    story.final = "unheard"
                    order = await self.presses(person, story, f"w{story.presses}-")
                    if order is not None:
                        return order
                elif reply is not None and reply.status < 500 and verdict not in ("too_fast", "not_open"):
                    story.final = "no"
                    return None
            else:
                reply = await self.asks(person, "GET", f"/drops/{self.slug}/waitlist")
                if reply is not None and reply.status == 200:
                    places = reply.json().get("places", [])
                    offered = next((str(place["order"]) for place in places if place.get("order")), None)
                    if offered is not None:
                        story.orders.append(offered)
                        self.series.count("offers", self.now() - self.opens_at)
                        return offered
                    if not places:  # the list has ended
                        story.final = "waited"
                        return None
            await asyncio.sleep(self.list_look_seconds * (0.5 + person.salt))
        return None

    # ---- asking --------------------------------------------------------------------------------------------------------------

    async def asks(
        self, person: Person, method: str, path: str, body: str | None = None, hang_up_after: float | None = None
    ) -> Reply | None:
        """-> the answer, None when there was none: it is counted, and a person asks again in their own time."""
        lines = f"{method} {path} HTTP/1.1\r\nHost: {self.netloc}\r\nAccept: application/json\r\n"
        lines += f"Cookie: {self.cookies[person.number]}\r\n"
        if body is not None:
            lines += f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n"
        try:
            reply = await self.lines.ask(f"{lines}\r\n{body or ''}".encode(), hang_up_after)
        except Lost as error:
            if hang_up_after is None:
                self.troubles[words_of(error)] += 1
                self.series.count("unanswered", self.now() - self.opens_at)
            return None
        self.statuses[reply.status] += 1
        if reply.status == 503:
            self.troubles[_refusing("" if method == "GET" else path.rsplit("/", 1)[1])] += 1
        if reply.status >= 500 and reply.status != 503:
            self.odd.setdefault(
                f"http {reply.status}", f"{method} {path.split('/')[1]}: {reply.body[:300].decode(errors='replace')}"
            )
        return reply

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    async def until(self, seconds_from_opening: float) -> None:
        await asyncio.sleep(max(0.0, self.opens_at + seconds_from_opening - self.now()))

    # ---- about itself --------------------------------------------------------------------------------------------------------

    async def watch_self(self) -> None:
        before, second = time.process_time(), None
        while True:
            asked = self.now()
            await asyncio.sleep(LAG_SECONDS)
            at = int((self.now() - self.opens_at) // 1)
            self.lags[at] = max(self.lags[at], round((self.now() - asked - LAG_SECONDS) * 1000, 1))
            if at != second:
                spent = time.process_time()
                if second is not None:
                    self.cpu[second] = round((spent - before) / max(1, at - second), 3)
                before, second = spent, at

    async def tell_progress(self) -> None:
        while True:
            self.tell(
                {
                    "pressed": self.pressed,
                    "answered": self.answered,
                    "ended": self.ended,
                    "sockets": sum(w.open for w in self.watchers),
                }
            )
            await asyncio.sleep(PROGRESS_SECONDS)

    def tell(self, what: dict) -> None:
        print(json.dumps(what), flush=True)

    def outcome(self) -> dict:
        """-> everything that was seen, as plain values."""
        return {
            "stories": [
                {
                    "number": story.number, "shopper": story.shopper, "final": story.final, "orders": story.orders,
                    "order": story.order, "presses": story.presses, "told": story.told, "heard_ms": story.heard_ms,
                    "contradictions": story.contradictions, "meant_to_pay": story.meant_to_pay,
                }
                for story in self.stories
            ],
            "intentions": {
                name: dict(Counter(str(getattr(person, name)) for person in self.people))
                for name in ("style", "pays", "after_no", "sits")
            },
            "sentences": remembered([[story.contradictions for story in self.stories], self.troubles]),
            "series": {name: sorted(counts.items()) for name, counts in self.series.by_second.items()},
            "latencies": [(round(at, 2), round(seconds, 4)) for at, seconds in self.latencies],
            "verdicts": dict(self.verdicts),
            "statuses": {str(status): count for status, count in self.statuses.items()},
            "troubles": dict(self.troubles),
            "odd": self.odd,
            "watchers": [watcher.seen() for watcher in self.watchers],
            "lag_ms": sorted(self.lags.items()),
            "cpu_share": sorted(self.cpu.items()),
            "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }  # fmt: skip


class Watcher(asyncio.Protocol):
    """Somebody who sits on the drop's socket: every message with the moment it came, and the times without a connection.

    Speaks just enough of the protocol: one handshake, whole unmasked text frames in, pongs out. Comes back after a loss.
    """

    def __init__(self, crowd: Crowd, cookie: str):
        self.crowd, self.cookie = crowd, cookie
        self.messages: list[tuple[int, int, str, int, float]] = []  # ms, left, phase, seq, ms from the server's clock to here
        self.spans: list[list[int]] = []  # connected from, until (ms)
        self.open = False
        self.task = asyncio.create_task(self.run())

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self.buffer = bytearray()
            self.greeted = False
            self.gone = loop.create_future()
            with suppress(OSError):
                transport, _ = await loop.create_connection(lambda: self, self.crowd.host, self.crowd.port)
                key = base64.b64encode(os.urandom(16)).decode()
                transport.write(
                    f"GET /drops/{self.crowd.slug}/live HTTP/1.1\r\nHost: {self.crowd.netloc}\r\nUpgrade: websocket\r\n"
                    f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
                    f"Sec-WebSocket-Protocol: doorman.json\r\nCookie: {self.cookie}\r\n\r\n".encode()
                )
                try:
                    await self.gone
                finally:
                    transport.abort()
                    self.closed()
            await asyncio.sleep(RECONNECT_SECONDS)

    def closed(self) -> None:
        if self.open:
            self.open = False
            self.spans[-1][1] = time.time_ns() // 1_000_000

    def connection_made(self, transport) -> None:
        self.transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        self.closed()
        if not self.gone.done():
            self.gone.set_result(None)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if not self.greeted:
            head, end, rest = bytes(self.buffer).partition(b"\r\n\r\n")
            if not end:
                return
            if not head.startswith(b"HTTP/1.1 101"):
                self.transport.abort()
                return
            self.greeted = self.open = True
            self.spans.append([time.time_ns() // 1_000_000, 0])
            self.buffer = bytearray(rest)
        while (frame := _frame(self.buffer)) is not None:
            self.hear(*frame)

    def hear(self, opcode: int, payload: bytes) -> None:
        if opcode == 8:
            self.transport.abort()
        elif opcode == 9:
            self.transport.write(bytes((0x8A, 0x80 | len(payload), 0, 0, 0, 0)) + payload)  # masked with zeros: as it is
        elif opcode == 1:
            now = time.time_ns() // 1_000_000
            state = json.loads(payload)
            left = sum(variant["left"] for variant in state["variants"])
            self.messages.append((now, left, state["phase"], state["seq"], now - _ms(state["server_time"])))
            self.crowd.series.count("pushes", (now - self.crowd.opens_ms) / 1000)

    def seen(self) -> dict:
        if self.open:
            self.closed()
        return {"spans": self.spans, "messages": self.messages}


def _within(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _frame(buffer: bytearray) -> tuple[int, bytes] | None:
    """Take one whole frame from the front -> (opcode, payload); None: it has not all come yet."""
    if len(buffer) < 2:
        return None
    length, start = buffer[1] & 0x7F, 2
    if length == 126:
        length, start = int.from_bytes(buffer[2:4], "big"), 4
    elif length == 127:
        length, start = int.from_bytes(buffer[2:10], "big"), 10
    if len(buffer) < start + length or (start > 2 and len(buffer) < start):
        return None
    opcode, payload = buffer[0] & 0x0F, bytes(buffer[start : start + length])
    del buffer[: start + length]
    return opcode, payload


def _ms(iso: str) -> int:
    from datetime import datetime

    return round(datetime.fromisoformat(iso).timestamp() * 1000)


def _quoted(text: str) -> str:
    from urllib.parse import quote_plus

    return quote_plus(text)


async def main(given: dict, output: Path) -> None:
    crowd = Crowd(given)
    gc.freeze()  # the people stay to the end: looking through all of them again and again would be felt by everybody
    gc.set_threshold(*GC_THRESHOLDS)
    crowd.tell({"ready": True})
    line = await asyncio.to_thread(sys.stdin.readline)
    if not line:
        return
    await crowd.play(json.loads(line))
    draft = output.with_suffix(".draft")
    draft.write_text(json.dumps(crowd.outcome()))
    draft.rename(output)


if __name__ == "__main__":
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    uvloop.run(main(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])))
