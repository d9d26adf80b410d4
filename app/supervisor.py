"""Keeps the parts of one machine running: starts them, restarts what dies, stops everything in order.

Plain processes and one `select`: nothing is imported that the supervisor does not need, and everything is forked from the main
thread, because the kernel ties a child to the thread that made it.

Guarantees: a part that dies is started again, after a pause that doubles while it keeps dying; Ctrl-C, SIGTERM and SIGHUP stop the
parts stage by stage (whoever uses a server goes before it), and a part that does not stop in time is killed; nothing outlives the
supervisor. Parts stand in process groups of their own, so that Ctrl-C in a terminal reaches only the supervisor.
"""

import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from app.embedded.children import tied
from app.errors import StartFailed

RESTART_SECONDS_FIRST = 0.1
RESTART_SECONDS_MAX = 5.0
STEADY_SECONDS = 10.0  # a part that lived this long starts again without having to wait for its earlier deaths
DEATHS_AT_START_MAX = 3  # before the first readiness: then it is a fault of the installation, not a crash
TICK_SECONDS = 0.05  # between two looks for readiness
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """`launch` starts it (a server's waits until it answers). Stages stop in ascending order, each within `stop_seconds`."""

    name: str
    role: str
    launch: Callable[[], subprocess.Popen]
    stage: int
    stop_seconds: float = 5.0
    stop_signal: signal.Signals = signal.SIGTERM
    once: bool = False  # does its work and ends; never restarted
    on_success: Callable[[], None] | None = None


def command(
    argv: Sequence[str | Path], environment: Mapping[str, str], *, handed: tuple[int, ...] = (), output: Path | None = None
) -> Callable[[], subprocess.Popen]:
    """-> a `launch` for a program. `handed`: descriptors it inherits. `output`: where its standard output goes."""

    def launch() -> subprocess.Popen:
        stdout = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600) if output else None
        try:
            return subprocess.Popen(
                argv, env={**os.environ, **environment}, pass_fds=handed, stdin=subprocess.DEVNULL, stdout=stdout,
                preexec_fn=tied(), process_group=0,
            )  # fmt: skip
        finally:
            if stdout is not None:
                os.close(stdout)

    return launch


@dataclass(slots=True)
class _State:
    process: subprocess.Popen | None = None
    began: float = 0.0
    deaths: int = 0
    due: float = 0.0  # when it is started again; 0: not waiting


@dataclass(slots=True)
class Supervisor:
    """`say` prints a line; `changed` is called after the process numbers changed."""

    say: Callable[[str], None]
    changed: Callable[[], None] = lambda: None
    stopping: bool = False
    _states: dict[Part, _State] = field(default_factory=dict)
    _ready: bool = False
    _wake: tuple[socket.socket, socket.socket] | None = None
    _kill: bool = False

    def __enter__(self) -> "Supervisor":
        self._wake = socket.socketpair()
        for end in self._wake:
            end.setblocking(False)
        signal.set_wakeup_fd(self._wake[1].fileno(), warn_on_full_buffer=False)
        for signum in STOP_SIGNALS:
            signal.signal(signum, self._asked_to_stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # the byte in the wake-up socket is what counts
        return self

    def __exit__(self, *_) -> None:
        try:
            self.stop()
        finally:
            signal.set_wakeup_fd(-1)
            for end in self._wake:
                end.close()

    def start(self, part: Part) -> None:
        """Start a part now. StartFailed or OSError when it cannot be."""
        state = self._states.setdefault(part, _State())
        state.process, state.began, state.due = part.launch(), time.monotonic(), 0.0

    def pids(self, role: str) -> list[int]:
        """-> the process numbers of the running parts of this role."""
        return [s.process.pid for part, s in self._states.items() if part.role == role and s.process is not None]

    def all_pids(self) -> list[int]:
        return [state.process.pid for state in self._states.values() if state.process is not None]

    def run(self, ready: Callable[[], bool], on_ready: Callable[[], None]) -> None:
        """Keep the parts running until told to stop. `on_ready` is called once, when `ready` first says so."""
        self.changed()
        while not self.stopping:
            self._look_after()
            if not self._ready and not self.stopping and ready():
                self._ready = True
                on_ready()
            self._wait()

    def stop(self) -> None:
        """Stop every part, stage by stage. A second Ctrl-C kills what is left."""
        self.stopping, self._kill = True, False
        for stage in sorted({part.stage for part in self._states}):
            group = {
                p: s for p, s in self._states.items() if p.stage == stage and s.process is not None and s.process.poll() is None
            }
            for part, state in group.items():
                with suppress(ProcessLookupError):
                    state.process.send_signal(part.stop_signal)
            began = time.monotonic()
            while alive := {part: s for part, s in group.items() if s.process.poll() is None}:
                for part, state in alive.items():
                    if self._kill or time.monotonic() - began > part.stop_seconds:
                        self.say(f"{part.name} did not stop in time and is killed")
                        state.process.kill()
                        state.process.wait()
                self._select(TICK_SECONDS)

    def _asked_to_stop(self, *_) -> None:
        self._kill = self.stopping
        self.stopping = True

    def _look_after(self) -> None:
        """Notice the dead, start those whose pause is over."""
        before = self.all_pids()
        for part, state in self._states.items():
            if state.process is not None and state.process.poll() is not None:
                self._buried(part, state)
            if state.process is None and state.due and time.monotonic() >= state.due and not self.stopping:
                try:
                    self.start(part)
                    self.say(f"{part.name} runs again (process {state.process.pid})")
                except (StartFailed, OSError) as error:
                    self._later(part, state, str(error))
        if self.all_pids() != before:
            self.changed()

    def _buried(self, part: Part, state: _State) -> None:
        code, state.process = state.process.returncode, None
        if part.once:
            if code == 0 and part.on_success:
                part.on_success()
            elif code:
                self.say(f"{part.name} failed ({_how(code)}); it is tried again at the next start")
            return
        if time.monotonic() - state.began > STEADY_SECONDS:
            state.deaths = 0
        self._later(part, state, _how(code))

    def _later(self, part: Part, state: _State, why: str) -> None:
        state.deaths += 1
        if not self._ready and state.deaths >= DEATHS_AT_START_MAX:
            raise StartFailed(f"{part.name} keeps stopping at start: {why}")
        pause = min(RESTART_SECONDS_MAX, RESTART_SECONDS_FIRST * 2 ** (state.deaths - 1))
        state.due = time.monotonic() + pause
        self.say(f"{part.name} stopped ({why}); it starts again in {pause:g} s")

    def _wait(self) -> None:
        """Sleep until a signal, a child's end, the next restart, or (before readiness) the next look."""
        due = [state.due - time.monotonic() for state in self._states.values() if state.process is None and state.due]
        timeout = max(0.0, min(due)) if due else None
        if not self._ready:
            timeout = TICK_SECONDS if timeout is None else min(timeout, TICK_SECONDS)
        if not self.stopping:
            self._select(timeout)

    def _select(self, timeout: float | None) -> None:
        readable, _, _ = select.select([self._wake[0]], [], [], timeout)
        if readable:
            with suppress(BlockingIOError):
                self._wake[0].recv(4096)


def _how(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
