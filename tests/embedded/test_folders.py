import os
import shutil
import stat
import tempfile
from collections import namedtuple
from pathlib import Path

import pytest

from app.embedded import folders
from app.errors import StartFailed

Usage = namedtuple("Usage", "total used free")


def test_sockets_of_a_deep_data_folder_lie_on_a_short_path(tmp_path):
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    found = folders.socket_folder(deep)
    try:
        assert len(os.fsencode(found / folders.LONGEST_SOCKET_NAME)) <= folders.SOCKET_PATH_BYTES_MAX
        assert stat.S_IMODE(found.stat().st_mode) == (0o711 if os.geteuid() == 0 else 0o700)
    finally:
        folders.drop_socket_folder(deep)
    assert not found.exists()


def test_the_socket_folder_of_a_killed_run_is_removed_by_the_next(tmp_path):
    killed = folders.socket_folder(tmp_path)
    current = folders.socket_folder(tmp_path)
    try:
        assert not killed.exists() and current.exists()
    finally:
        folders.drop_socket_folder(tmp_path)


def test_a_note_that_names_a_folder_that_is_not_ours_removes_nothing(tmp_path):
    innocent = tmp_path / "photos"
    innocent.mkdir()
    (tmp_path / "sockets").write_text(str(innocent))
    folders.drop_socket_folder(tmp_path)
    assert innocent.exists()


def test_a_long_temporary_folder_is_passed_over(tmp_path, monkeypatch):
    long = tmp_path / ("t" * 90)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    found = folders.socket_folder(tmp_path)
    folders.drop_socket_folder(tmp_path)
    assert found.parent == Path("/tmp")


def test_a_full_disk_is_refused_with_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 10**9 - 2**20, 2**20))
    with pytest.raises(StartFailed, match=r"^The disk of .* is full: 1 MB are free and 200 MB are needed to start$"):
        folders.check_space(tmp_path, first=True)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 0, 100 * 2**20))
    folders.check_space(tmp_path, first=False)


def test_the_line_about_a_full_disk_is_found_among_others(tmp_path):
    log = tmp_path / "log"
    log.write_text("old: FATAL: earlier\n")
    since = log.stat().st_size
    log.write_text(log.read_text() + "LOG: starting\nPANIC: could not write: No space left on device\nLOG: shut down\n")
    assert folders.reason_in(log, since) == "PANIC: could not write: No space left on device"
    stamp = "2026-11-30 18:53:41.152 UTC [9145] "
    log.write_text("old: FATAL: earlier\n" + f"{stamp}LOG:  starting\n{stamp}FATAL:  no such role\n{stamp}LOG:  shut down\n")
    assert folders.reason_in(log, since) == "FATAL: no such role"
    assert folders.reason_in(log, log.stat().st_size) == "no output"


def test_a_log_over_its_bound_starts_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "LOG_BYTES_MAX", 10)
    (tmp_path / "log").write_text("x" * 11)
    file, written = folders.open_log(tmp_path / "log")
    file.close()
    assert (written, (tmp_path / "log").stat().st_size) == (0, 0)


def test_a_data_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "data").touch()
    with pytest.raises(StartFailed, match="is not a folder; choose another with --data"):
        folders.make_private(tmp_path / "data")
    with pytest.raises(StartFailed, match="Cannot make the data folder"):
        folders.make_private(tmp_path / "data" / "below")
