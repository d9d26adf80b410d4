"""`doorman up`: everything on one machine, in the foreground.

Order: lock DATA, bind the address, start the servers, migrate, start the web processes and, once they serve (or take too long), the
rest; stop in the opposite order. The listening socket is bound here and handed to the web processes, so connections wait instead of
being refused while one of them restarts.

What another command needs stands in DATA/run.json and DATA/environment.json (app/running.py), written anew whenever a process
number changes. After `kill -9` of this process or of everything, the kernel ends the parts and the lock; the next `up` ends what
may be left elsewhere, and starts on the same data.
"""

import errno
import http.client
import json
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from app import running
from app.embedded import folders, postgres, valkey
from app.embedded.children import end_leftover, started_at
from app.errors import StartFailed
from app.settings import Settings
from app.supervisor import Part, Supervisor, command

HOST = "127.0.0.1"
PORT_DEFAULT = 8000
PORT_MAX = 65_535
WEB_DEFAULT = 2
WEB_MAX = 64
BACKLOG = 4096
PROBE_SECONDS = 1.0
REST_SECONDS = 4.0  # the parts that no first page needs leave the processors to the web processes for at most this long
SLOW_SECONDS = 15.0  # after this long without readiness one line says so
WORKER_MARGIN_SECONDS = 3.0  # to close connections, after the last claimed job has ended
OPEN_FILES_FALLBACK = 10_240  # where the hard limit is "unlimited" but the kernel takes no such value
SERVERS, SANDBOXES, OURS = 2, 1, 0  # stages: who uses a server stops before it
LEFTOVERS = "processes.json"
DEMO_OWNER = "mira@example.org"  # as app/demo.py has it, which is too heavy to import here
DEMO_DONE = "demo"
PACKAGE = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`port` 0: any free one."""

    port: int = PORT_DEFAULT
    data: Path = running.DATA_DEFAULT
    web: int = WEB_DEFAULT
    demo: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """The programs of the parts; None: this installation has none."""

    migrate: list[str] | None
    web: list[str]
    worker: list[str]
    recorder: list[str]
    provider: list[str] | None
    warehouse: list[str] | None
    demo: list[str] | None

    @classmethod
    def ours(cls) -> "Commands":
        def module(name: str, *arguments: str) -> list[str]:
            # -P: a folder named `app` where the command is run must not be taken for ours
            return [sys.executable, "-P", "-m", name, *arguments]

        return cls(
            migrate=module("app.cli", "migrate"),
            web=module("app.web.serve"),
            worker=module("workers.serve", "jobs"),
            recorder=module("workers.serve", "loops"),
            provider=module("app.payments.sandbox") if (PACKAGE / "payments/sandbox/__main__.py").exists() else None,
            warehouse=module("app.fulfilment.sandbox") if (PACKAGE / "fulfilment/sandbox/__main__.py").exists() else None,
            demo=module("app.cli", "demo") if (PACKAGE / "demo").exists() or (PACKAGE / "demo.py").exists() else None,
        )


def up(options: Options, commands: Commands | None = None, environment: Mapping[str, str] | None = None) -> None:
    """Run until told to stop. StartFailed or SettingsError says in one sentence why it did not start."""
    environment = os.environ if environment is None else environment
    Settings.from_environment(environment)
    _raise_open_files()
    try:
        data = folders.make_private(options.data)
        running.lock(data)
        running.withdraw(data)  # what an `up` that was killed left
        _end_leftovers(data)
        folders.check_space(data, first=not (data / "gate").exists())
        with listen(HOST, options.port) as bound:
            _Machine(options, commands or Commands.ours(), environment, data, bound).run()
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StartFailed(f"The disk of {options.data} is full; free some space and start again") from error
        raise


class _Machine:
    """The parts of one `up` and what they need to know of each other."""

    def __init__(self, options: Options, commands: Commands, environment: Mapping[str, str], data: Path, bound: socket.socket):
        self.options, self.commands, self.outside, self.data, self.bound = options, commands, environment, data, bound
        self.url = f"http://{HOST}:{bound.getsockname()[1]}"
        self.supervisor = Supervisor(say=say, changed=self.publish)
        self.environment: dict[str, str] = {}  # what the parts get on top of ours
        self.sandboxes: dict[str, dict] = {}
        self.logs = data / "log"
        self.logs.mkdir(exist_ok=True, mode=0o700)
        self.began = time.monotonic()
        self.complete = False  # every part was started
        self.slow_said = False

    def run(self) -> None:
        try:
            with self.supervisor:
                self.start_servers()
                self.find_provider()
                self.environment["DOORMAN_SECRET"] = self.outside.get("DOORMAN_SECRET") or folders.kept_secret(self.data / "secret")
                self.environment["DOORMAN_DATA"] = str(self.data)
                self.environment["DOORMAN_PUBLIC_URL"] = self.outside.get("DOORMAN_PUBLIC_URL") or self.url
                self.migrate()
                self.start_web()
                if not self.supervisor.stopping:
                    self.supervisor.run(self.is_ready, self.announce)
                say("Stopping.")
        finally:
            running.withdraw(self.data)
            folders.drop_socket_folder(self.data)
        say("Stopped. The data stay in " + str(self.data))

    def start_servers(self) -> None:
        """Valkey for the gate, Valkey for the queue, PostgreSQL: each unless the environment names one."""
        sockets = folders.socket_folder(self.data)
        gate, queue = self.outside.get("REDIS_URL"), self.outside.get("QUEUE_REDIS_URL")
        if not gate:
            appendfsync = Settings.from_environment(self.outside).appendfsync
            self.environment["REDIS_URL"] = self._start_valkey("gate", "redis", sockets, appendfsync)
            if not queue:
                self.environment["QUEUE_REDIS_URL"] = self._start_valkey("queue", "queue", sockets, "everysec")
        else:
            self.environment["REDIS_URL"] = gate
        self.environment.setdefault("QUEUE_REDIS_URL", queue or self.environment["REDIS_URL"])
        self.environment["FEED_REDIS_URL"] = self.outside.get("FEED_REDIS_URL") or self.environment["REDIS_URL"]
        self.environment["DATABASE_URL"] = self.outside.get("DATABASE_URL") or self._start_postgres(sockets)

    def _start_valkey(self, name: str, role: str, sockets: Path, appendfsync: str) -> str:
        password = folders.kept_secret(self.data / f"{name}-password")
        folder, sock, log = self.data / name, sockets / f"{name}.sock", self.logs / f"{name}.log"
        self._start(
            f"Valkey ({name})",
            role,
            lambda: valkey.start(folder, sock, appendfsync, password, log),
            stage=SERVERS,
            stop_seconds=5.0,
        )
        return valkey.url(sock, password)

    def _start_postgres(self, sockets: Path) -> str:
        folder = postgres.folder_for(self.data)
        kept = self.data / "postgres-password"
        if folder.exists() and not kept.exists():
            raise StartFailed(
                f"{folder} is a database whose password is not in {kept}; put it back or choose another folder with --data"
            )
        password = folders.kept_secret(kept)
        dsn = ""

        def launch():
            nonlocal dsn
            process, dsn = postgres.start(folder, sockets / "postgres", password, log=self.logs / "postgres.log")
            return process

        fast_shutdown = signal.SIGINT
        self._start("PostgreSQL", "postgres", launch, stage=SERVERS, stop_signal=fast_shutdown)
        if folder.parent != self.data:
            say(f"The database lies in {folder}, where its account can reach it.")
        return dsn

    def find_provider(self) -> None:
        """The environment's provider (an address, or Stripe's two keys), else the sandbox. Never a sandbox in production."""
        production = self.outside.get("DOORMAN_ENV") == "production"
        given = self.outside.get("STRIPE_API_BASE") or self.outside.get("STRIPE_PUBLISHABLE_KEY")
        if self.commands.provider and not production and not given:
            sandbox = self._sandbox("provider")
            self.environment["STRIPE_API_BASE"] = sandbox["url"]
            self.environment["STRIPE_SECRET_KEY"] = self.outside.get("STRIPE_SECRET_KEY") or sandbox["token"]
            self.environment["STRIPE_WEBHOOK_SECRET"] = folders.kept_secret(self.data / "webhook-secret")
        if self.commands.warehouse and not production:
            sandbox = self._sandbox("warehouse")
            self.environment |= {"DOORMAN_WAREHOUSE_URL": sandbox["url"], "DOORMAN_WAREHOUSE_TOKEN": sandbox["token"]}

    def _sandbox(self, name: str) -> dict[str, str]:
        port = _kept_port(self.data / f"{name}-port")
        self.sandboxes[name] = {"url": f"http://{HOST}:{port}", "token": folders.kept_secret(self.data / f"{name}-token")}
        return self.sandboxes[name]

    def notices_to_us(self, sandbox: str) -> dict[str, str]:
        """-> what the sandbox provider needs in order to tell the web processes what happens to payments."""
        if sandbox != "provider":
            return {}
        secret = self.environment["STRIPE_WEBHOOK_SECRET"]
        return {"SANDBOX_WEBHOOK_URL": f"{self.url}/webhooks/stripe", "SANDBOX_WEBHOOK_SECRET": secret}

    def migrate(self) -> None:
        if self.commands.migrate and not self.supervisor.stopping:
            process = command(
                [*self.commands.migrate, "--data", str(self.data)], self.environment, output=self.logs / "migrate.log"
            )()
            if process.wait() and not self.supervisor.stopping:
                raise StartFailed("The database could not be brought to this version; the line above says why")

    def start_web(self) -> None:
        handed = (self.bound.fileno(),)
        environment = self.environment | {"DOORMAN_LISTEN_FD": str(self.bound.fileno())}
        for number in range(1, self.options.web + 1):
            self._start(f"web {number}", "web", command(self.commands.web, environment, handed=handed))

    def start_rest(self) -> None:
        """What no first page needs: sandboxes, recorder, worker, and on the first start the demo shop."""
        programs = {"provider": self.commands.provider, "warehouse": self.commands.warehouse}
        for name, sandbox in self.sandboxes.items():
            (self.data / name).mkdir(exist_ok=True, mode=0o700)
            arguments = ["--host", HOST, "--port", str(urlsplit(sandbox["url"]).port)]
            arguments += ["--data", str(self.data / name), "--token-file", str(self.data / f"{name}-token")]
            launch = command([*programs[name], *arguments], self.notices_to_us(name), output=self.logs / f"{name}.log")
            self._start(f"Sandbox {name}", name, launch, stage=SANDBOXES, stop_seconds=3.0)
        finishes_seconds = Settings.from_environment(self.outside).job_timeout_seconds + WORKER_MARGIN_SECONDS  # what is claimed
        for name, program in (("recorder", self.commands.recorder), ("worker", self.commands.worker)):
            self._start(name, name, command(program, self.environment), stop_seconds=finishes_seconds)
        done = self.data / DEMO_DONE
        if self.commands.demo and self.options.demo and self.outside.get("DOORMAN_ENV") != "production" and not done.exists():
            launch = command([*self.commands.demo, "--data", str(self.data)], self.environment)
            self._start("The demo shop", "demo", launch, once=True, on_success=done.touch)
        self.complete = True
        self.publish()

    def _start(self, name: str, role: str, launch, *, stage: int = OURS, stop_seconds: float = 10.0, **more) -> None:
        self.supervisor.start(Part(name=name, role=role, launch=launch, stage=stage, stop_seconds=stop_seconds, **more))

    def is_ready(self) -> bool:
        status = _ask(urlsplit(self.url).port, "/readyz")
        waited = time.monotonic() - self.began
        if not self.complete and (status == 200 or waited > REST_SECONDS):
            self.start_rest()
        if status != 200 and not self.slow_said and waited > SLOW_SECONDS:
            self.slow_said = True
            say(f"Not ready yet: {self.url}/readyz answers {status or 'nothing'}. Still trying.")
        return status == 200

    def announce(self) -> None:
        say(f"Doorman serves {self.url} (ready after {time.monotonic() - self.began:.1f} s)")
        demo = self.commands.demo and self.options.demo and self.outside.get("DOORMAN_ENV") != "production"
        say(f"  dashboard  {self.url}/seller" + (f" (the demo's owner is {DEMO_OWNER})" if demo else ""))
        if self.outside.get("DOORMAN_ENV") != "production":
            say(f"  mailbox    {self.url}/dev/mail")
        for name, sandbox in self.sandboxes.items():
            say(f"  {name:<10} {sandbox['url']} (sandbox)")
        say(f"  data       {self.data}")
        say("Ctrl-C stops it; the data stay.")

    def publish(self) -> None:
        """Write what runs: the process numbers for the next `up`; once all parts were started, run.json and the addresses too."""
        known = [{"pid": pid, "started": started_at(pid)} for pid in self.supervisor.all_pids()]
        folders.write_private(self.data / LEFTOVERS, json.dumps(known))
        if not self.complete:
            return
        pids = self.supervisor.pids
        first = {role: next(iter(pids(role)), None) for role in ("redis", "postgres", "provider", "warehouse")}
        outside = {"url": self.environment.get("STRIPE_API_BASE", self.outside.get("STRIPE_API_BASE")), "token": None}
        run = {
            "url": self.url,
            "pid": os.getpid(),
            "web": pids("web"),
            "worker": pids("worker"),
            "recorder": pids("recorder"),
            "redis": {"pid": first["redis"], "url": self.environment["REDIS_URL"]},
            "postgres": {"pid": first["postgres"], "dsn": self.environment["DATABASE_URL"]},
            "provider": {"pid": first["provider"], **self.sandboxes.get("provider", outside)},
            "warehouse": {"pid": first["warehouse"], **self.sandboxes.get("warehouse", {"url": None, "token": None})},
        }
        running.publish(self.data, run, self.environment)


def say(line: str) -> None:
    print(line, flush=True)


def listen(host: str, port: int) -> socket.socket:
    """-> the bound and listening socket. StartFailed names the port that is taken."""
    bound = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(BACKLOG)
    except OSError as error:
        if bound is not None:
            bound.close()
        reason = "it is in use by another program" if error.errno == errno.EADDRINUSE else error.strerror
        raise StartFailed(f"Cannot listen on {host} port {port}: {reason}; choose another with --port") from error
    return bound


def _kept_port(note: Path) -> int:
    """-> a free port, the one of the last run where it is still free: links of the provider to itself live on."""
    with suppress(OSError, ValueError):
        port = int(note.read_text())
        with socket.socket(socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
        return port
    with socket.socket(socket.AF_INET) as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    folders.write_private(note, str(port))
    return port


def _ask(port: int, path: str) -> int | None:
    """-> the status of a GET, None when nobody answered."""
    connection = http.client.HTTPConnection(HOST, port, timeout=PROBE_SECONDS)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _end_leftovers(data: Path) -> None:
    """End the parts of an `up` that was killed, where the kernel did not. We hold the lock, so they serve nobody."""
    try:
        known = json.loads((data / LEFTOVERS).read_text())
    except (OSError, ValueError):
        return
    for entry in known:
        if entry["started"] is not None:
            end_leftover(entry["pid"], entry["started"])


def _raise_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (ValueError, OSError):
            with suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, OPEN_FILES_FALLBACK), hard))
