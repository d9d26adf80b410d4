"""The faults: what is done to the stage while the crowd plays. Each is begun, and ended again by itself or at the end of all.

A fault says what it touches, so that the judge knows when a gap is the fault's and not the shop's, and whether Redis loses data by
it: only then may a yes be taken back. It tells what it did; what could not be done raises FaultFailed, and is judged as "could not
tell".
"""

import os
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from app.errors import BadInput, StartFailed
from app.rehearsal.names import FAULT_NAMES, QUEUE_STARVED, USUAL
from app.rehearsal.sayings import Said, say, words_of
from app.rehearsal.stage import Stage

DELAY_SECONDS = 0.15
WAREHOUSE_LAG_SECONDS = 1.5
DROPPED_CAPTURES = 3
BACK_SECONDS_MAX = 30.0
ROLES = {  # parts of the stage, as they are called within a sentence
    "web": say("web process"),
    "worker": say("worker"),
    "recorder": say("recorder"),
    "provider": say("payment provider"),
    "warehouse": say("warehouse"),
}


class FaultFailed(Exception):
    """The fault could not be caused; the text says why."""


@dataclass(frozen=True, slots=True)
class Fault:
    """`begin` -> what was done, for those who know the parts. `seconds`: how long it lasts, at least."""

    name: str
    words: Said
    seconds: float
    begin: Callable[[Stage], str]
    end: Callable[[Stage], None] = lambda stage: None
    touches: frozenset[str] = frozenset()
    loses: bool = False
    wire: str | None = None


def _kill(role: str) -> Callable[[Stage], str]:
    def begin(stage: Stage) -> str:
        pids = stage.parts()[role]
        if not pids:
            raise FaultFailed(say("no %(role)s was running", role=ROLES[role]))
        try:
            os.kill(pids[0], signal.SIGKILL)
        except ProcessLookupError as error:
            raise FaultFailed(say("the %(role)s had gone by itself", role=ROLES[role])) from error
        return f"kill -9 {role} {pids[0]}"

    return begin


def _another_works(role: str) -> Callable[[Stage], None]:
    """Wait until the supervisor has started another one and it is at work, so that the next fault meets a whole shop."""

    def end(stage: Stage) -> None:
        give_up_at = time.monotonic() + BACK_SECONDS_MAX
        while not stage.at_work(role):
            if time.monotonic() > give_up_at:
                words = say("no other %(role)s was at work within %(seconds)s s", role=ROLES[role], seconds=BACK_SECONDS_MAX)
                raise FaultFailed(words)
            time.sleep(0.05)

    return end


def _freeze(stage: Stage) -> str:
    pids = stage.parts()["worker"]
    if not pids:
        raise FaultFailed(say("no %(role)s was running", role=ROLES["worker"]))
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    return f"SIGSTOP worker {', '.join(map(str, pids))}"


def _thaw(stage: Stage) -> None:
    for pid in stage.parts()["worker"]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def _restart_redis(stage: Stage) -> str:
    stage.kill_valkey("gate")
    stage.start_valkey("gate")
    return "kill -9 Redis, started again with its data"


def _empty_redis(stage: Stage) -> str:
    stage.kill_valkey("gate")
    shutil.rmtree(stage.folder / "gate")
    stage.start_valkey("gate")
    return "kill -9 Redis, started again empty"


def remember_replica(stage: Stage) -> None:
    """The replica's state: what Redis has now. What is written from here on is what it misses."""
    shutil.rmtree(stage.folder / "replica", ignore_errors=True)
    shutil.copytree(stage.folder / "gate", stage.folder / "replica")


def _fail_over(stage: Stage) -> str:
    if not (stage.folder / "replica").exists():
        raise FaultFailed(say("there is no replica to fail over to"))
    stage.kill_valkey("gate")
    shutil.rmtree(stage.folder / "gate")
    (stage.folder / "replica").rename(stage.folder / "gate")
    try:
        stage.start_valkey("gate")
    except StartFailed as error:
        raise FaultFailed(words_of(error)) from error
    return "kill -9 Redis, a replica that misses the last writes is promoted"


def _tell_wire(name: str, **what) -> Callable[[Stage], str]:
    def tell(stage: Stage) -> str:
        stage.wires[name].tell(**what)
        return f"the wire to {name}: {', '.join(f'{word} {value}' for word, value in what.items())}"

    return tell


def _script(sandbox: str, **what) -> Callable[[Stage], str]:
    def tell(stage: Stage) -> str:
        try:
            stage.script(sandbox, **what)
        except OSError as error:
            words = say("the %(sandbox)s did not take its orders: %(error)s", sandbox=ROLES[sandbox], error=str(error))
            raise FaultFailed(words) from error
        return f"{sandbox}: {', '.join(f'{word} {value}' for word, value in what.items())}"

    return tell


GATE, LEDGER, WEB, FEED, MONEY, PARCELS, QUEUE = "gate", "ledger", "web", "feed", "money", "parcels", "queue"
RECONCILER = "reconciler"  # it lives in the recorder's process
REPLICA_AHEAD_SECONDS = 0.3  # how much a promoted replica misses

FAULTS = {
    fault.name: fault
    for fault in (
        Fault(
            "redis-failed-over",
            say("Redis fails over to a replica that misses the last writes"),
            1.0,
            _fail_over,
            touches=frozenset({GATE, FEED}),
            loses=True,
        ),
        Fault("web-killed", say("a web process is killed"), 1.0, _kill("web"), _another_works("web"), frozenset({WEB})),
        Fault(
            "recorder-killed",
            say("the recorder is killed"),
            1.0,
            _kill("recorder"),
            _another_works("recorder"),
            frozenset({RECONCILER}),
        ),
        Fault(
            "redis-restarted",
            say("Redis is killed and comes back with its data"),
            1.0,
            _restart_redis,
            touches=frozenset({GATE, FEED}),
        ),
        Fault(
            "redis-emptied",
            say("Redis is killed and comes back empty"),
            1.0,
            _empty_redis,
            touches=frozenset({GATE, FEED}),
            loses=True,
        ),
        Fault("worker-killed", say("the worker is killed"), 1.0, _kill("worker"), _another_works("worker"), frozenset({QUEUE})),
        Fault("worker-frozen", say("the worker is stopped and goes on later"), 2.0, _freeze, _thaw, frozenset({QUEUE})),
        Fault(
            "redis-cut",
            say("the wire to Redis is cut"),
            1.5,
            _tell_wire("redis", cut=True),
            _tell_wire("redis", cut=False),
            frozenset({GATE, FEED}),
            wire="redis",
        ),
        Fault(
            "redis-slow",
            say("the wire to Redis takes %(ms)s ms each way", ms=round(DELAY_SECONDS * 1000)),
            2.0,
            _tell_wire("redis", delay_seconds=DELAY_SECONDS),
            _tell_wire("redis", delay_seconds=0),
            frozenset({GATE, FEED}),
            wire="redis",
        ),
        Fault(
            "postgres-cut",
            say("the wire to PostgreSQL is cut"),
            1.5,
            _tell_wire("postgres", cut=True),
            _tell_wire("postgres", cut=False),
            frozenset({LEDGER, WEB}),
            wire="postgres",
        ),
        Fault(
            "postgres-slow",
            say("the wire to PostgreSQL takes %(ms)s ms each way", ms=round(DELAY_SECONDS * 1000)),
            2.0,
            _tell_wire("postgres", delay_seconds=DELAY_SECONDS),
            _tell_wire("postgres", delay_seconds=0),
            frozenset({LEDGER, WEB}),
            wire="postgres",
        ),
        Fault(
            "provider-outage",
            say("the payment provider is down"),
            2.5,
            _script("provider", outage=True),
            _script("provider", outage=False),
            frozenset({MONEY}),
        ),
        Fault(
            "captured-then-dropped",
            say("the provider charges %(times)s times and hangs up without a word", times=DROPPED_CAPTURES),
            1.5,
            _script("provider", drop_after_capture=DROPPED_CAPTURES),
            _script("provider", drop_after_capture=0),
            frozenset({MONEY}),
        ),
        Fault(
            "webhooks-muted",
            say("the provider's notices do not come"),
            2.0,
            _script("provider", webhooks="mute"),
            _script("provider", webhooks="normal"),
            frozenset({MONEY}),
        ),
        Fault(
            "webhooks-doubled",
            say("the provider's notices come twice"),
            2.0,
            _script("provider", webhooks="double"),
            _script("provider", webhooks="normal"),
            frozenset({MONEY}),
        ),
        Fault(
            "webhooks-reordered",
            say("the provider's notices come in another order"),
            2.0,
            _script("provider", webhooks="reorder"),
            _script("provider", webhooks="normal"),
            frozenset({MONEY}),
        ),
        Fault(
            "warehouse-lag",
            say("the warehouse's list lags by %(seconds)s s", seconds=WAREHOUSE_LAG_SECONDS),
            2.0,
            _script("warehouse", lag=WAREHOUSE_LAG_SECONDS),
            _script("warehouse", lag=0),
            frozenset({PARCELS}),
        ),
    )
}


def named(text: str) -> tuple[str, ...]:
    """'all', 'usual', 'none' or names with commas between -> names, in the order in which they can be played. BadInput."""
    if text == "none":
        return ()
    if text == "usual":
        return USUAL
    if text == "all":
        return FAULT_NAMES
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if name not in FAULT_NAMES:
            known = ", ".join(FAULT_NAMES)
            raise BadInput(f"there is no fault named {name}; there are: all, usual, none, {known}", field="faults")
    return names


def starved(hold_seconds: float, sweep_bound_seconds: float) -> Fault:
    """-> the queue that nobody serves until every hold that was being paid has lapsed."""
    return Fault(
        QUEUE_STARVED,
        say("nobody serves the payment queue until holds have lapsed"),
        hold_seconds + sweep_bound_seconds,
        _freeze,
        _thaw,
        frozenset({QUEUE}),
    )
