import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import asyncpg
import pytest

from app.embedded import postgres
from app.embedded.children import started_at, wait_gone
from app.errors import StartFailed


@pytest.fixture(scope="module")
def made(folder):
    """A data folder as `start` makes it, stopped; tests copy it."""
    process, _ = postgres.start(folder / "made", folder / "made-s", "secret")
    process.terminate()
    process.wait()
    return folder / "made"


@pytest.fixture
def place(folder, made, request):
    path = folder / f"p{abs(hash(request.node.name)) % 10**6}"
    path.mkdir()
    path.chmod(0o711)
    subprocess.run(["cp", "-a", made, path / "d"], check=True)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def started():
    processes = []

    def start(*arguments, **options):
        process, dsn = postgres.start(*arguments, **options)
        processes.append(process)
        return process, dsn

    yield start
    for process in processes:
        process.terminate()
        process.wait()


async def ask(dsn: str, statement: str):
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def test_what_was_committed_survives_kill_9(place, started):
    process, dsn = started(place / "d", place / "s", "secret")
    await ask(dsn, "CREATE TABLE kept AS SELECT 42 AS answer")
    process.kill()
    process.wait()
    _, dsn = started(place / "d", place / "s", "secret")
    assert await ask(dsn, "SELECT answer FROM kept") == 42


async def test_nobody_enters_with_another_password(place, started):
    _, dsn = started(place / "d", place / "s", "secret")
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(dsn.replace(":secret@", ":guess@"))


async def test_it_is_small_and_vacuums_a_hot_row_within_seconds(place, started):
    _, dsn = started(place / "d", place / "s", "secret")
    shown = [await ask(dsn, f"SHOW {name}") for name in ("shared_buffers", "max_connections", "autovacuum_naptime", "fsync")]
    assert shown == ["64MB", "120", "5s", "on"]
    assert await ask(dsn, "SHOW listen_addresses") == ""


def test_the_password_is_in_no_command_line_and_in_no_file_of_the_server(place, started):
    process, _ = started(place / "d", place / "s", "a-secret-to-find")
    assert b"a-secret-to-find" not in Path(f"/proc/{process.pid}/cmdline").read_bytes()


def test_a_folder_of_another_version_is_refused_and_left_alone(place):
    (place / "d" / "PG_VERSION").write_text("15\n")
    before = sorted(path.name for path in (place / "d").iterdir())
    with pytest.raises(StartFailed, match=r"was made by PostgreSQL 15 and this Doorman brings 18\.\d+; move it away"):
        postgres.start(place / "d", place / "s", "secret")
    assert sorted(path.name for path in (place / "d").iterdir()) == before


def test_a_folder_that_is_no_database_is_refused(folder, place):
    (place / "other").mkdir(mode=0o700)
    shutil.chown(place / "other", *_owner(place / "d"))
    (place / "other" / "photo.jpg").touch()
    with pytest.raises(StartFailed, match="is no PostgreSQL data folder"):
        postgres.start(place / "other", place / "s", "secret")
    assert (place / "other" / "photo.jpg").exists()


def test_a_folder_of_another_account_is_refused(place):
    other, owner = (place / "d", 12345) if os.geteuid() == 0 else (Path("/usr"), 0)
    if os.geteuid() == 0:
        os.chown(other, owner, owner)
    with pytest.raises(StartFailed, match=f"The database folder {other} belongs to (user 12345|root), not to"):
        postgres.start(other, place / "s", "secret")
    assert other.stat().st_uid == owner


def test_a_folder_that_a_living_server_serves_is_refused(place, started, monkeypatch):
    monkeypatch.setattr(postgres, "PREDECESSOR_SECONDS", 0.2)
    process, _ = started(place / "d", place / "s", "secret")
    with pytest.raises(StartFailed, match=f"is already served by process {process.pid}"):
        postgres.start(place / "d", place / "t", "secret")


def test_a_stale_pid_that_another_program_has_now_is_no_obstacle(place, started):
    process, _ = started(place / "d", place / "s", "secret")
    noted = (place / "d" / "postmaster.pid").read_text()
    process.kill()
    process.wait()
    other = subprocess.Popen(["/bin/sleep", "600"], **postgres._as(_account()))
    try:
        (place / "d" / "postmaster.pid").write_text(noted.replace(str(process.pid), str(other.pid), 1))
        assert started(place / "d", place / "s", "secret")[0].poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_folder_whose_making_was_cut_off_is_made_anew(folder, started):
    place = folder / "cut-off"
    (place / "d.new" / "base").mkdir(parents=True)
    (place / "d.new" / "PG_VERSION").write_text("18\n")
    place.chmod(0o711)
    started(place / "d", place / "s", "secret")
    assert (place / "d" / "PG_VERSION").exists()
    assert not (place / "d.new").exists()


def test_a_server_dies_with_its_parent_however_that_ends(place):
    code = (
        "import os, sys; from pathlib import Path; from app.embedded import postgres\n"
        f"process, _ = postgres.start(Path({str(place / 'd')!r}), Path({str(place / 's')!r}), 'secret')\n"
        "print(process.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    pid = int(shown.stdout)
    assert wait_gone(pid, started_at(pid), 5.0)


def test_below_a_private_folder_the_data_lie_where_their_account_can_reach_them(started):
    private = Path(tempfile.mkdtemp(prefix="doorman-private-"))  # 0700
    sockets = Path(tempfile.mkdtemp(prefix="doorman-"))
    sockets.chmod(0o711)
    for name in ("first", "second"):
        (private / name).mkdir()
    first, second = postgres.folder_for(private / "first"), postgres.folder_for(private / "second")
    try:
        assert postgres.folder_for(private / "first") == first, "DATA remembers its folder"
        assert second != first, "a fresh DATA gets a fresh one"
        assert first.parent == (postgres.SHARED if os.geteuid() == 0 else private / "first")
        assert started(first, sockets / "s", "secret")[0].poll() is None
    finally:
        for folder in (first, private, sockets):
            shutil.rmtree(folder, ignore_errors=True)
        postgres._remove_throwaways()


def test_what_a_deleted_throwaway_left_behind_is_removed_and_nothing_else(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(postgres, "SHARED", tmp_path / "shared")
    monkeypatch.setattr(postgres, "_reachable_by_all", lambda folder: False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))

    def made(data: Path) -> Path:
        data.mkdir(parents=True)
        folder = postgres.folder_for(data)
        folder.mkdir()
        return folder

    deleted, living = made(tmp_path / "tmp" / "deleted"), made(tmp_path / "tmp" / "living")
    elsewhere = made(tmp_path / "srv" / "unmounted")
    shutil.rmtree(tmp_path / "tmp" / "deleted")
    shutil.rmtree(tmp_path / "srv" / "unmounted")
    made(tmp_path / "tmp" / "next")
    assert [folder.exists() for folder in (deleted, living, elsewhere)] == [False, True, True]


def test_binaries_that_the_account_cannot_read_are_copied_to_where_it_can(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(postgres, "SHARED", tmp_path / "shared")
    monkeypatch.setattr(postgres, "_reachable_by_all", lambda folder: False)
    copied = postgres._programs()
    assert copied.is_relative_to(tmp_path / "shared")
    assert postgres._programs() == copied
    assert [path.name for path in (tmp_path / "shared").iterdir()] == [copied.parents[2].name], "no draft is left"
    assert subprocess.run([copied / "postgres", "--version"], capture_output=True).returncode == 0


def _owner(path: Path) -> tuple[int, int]:
    seen = path.stat()
    return seen.st_uid, seen.st_gid


def _account():
    return pwd.getpwnam(postgres.UNPRIVILEGED) if os.geteuid() == 0 else None
