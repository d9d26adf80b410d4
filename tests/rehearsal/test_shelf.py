"""The shelf: what the dashboard reads of rehearsals, and how it begins and stops one."""

import json
import os
import signal
import subprocess
import sys

import pytest

from app import running
from app.rehearsal import shelf
from app.rehearsal.plan import Wish
from tests.rehearsal.history import WEBP, shelved

NAME, OTHER = "20261130-180000-1-lamp", "20261130-190000-1-lamp"
SECONDS_MAX = 20.0


@pytest.fixture
def data(tmp_path):
    (tmp_path / "rehearsals").mkdir()
    return tmp_path


@pytest.fixture
def busy(data):
    """A living rehearsal, as far as lock and process number can tell; it ends when it is asked to."""
    program = (
        "import fcntl, os, sys, time; handle = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT);"
        "fcntl.flock(handle, fcntl.LOCK_EX); print('here', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", program, data / "rehearsals" / "lock"], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"here\n"
    folder = data / "rehearsals" / NAME
    folder.mkdir()
    progress = {"id": NAME, "slug": "lamp", "phase": "the drop is open", "pid": process.pid, "crowd": 6, "verdict": None}
    (folder / "progress.json").write_text(json.dumps(progress))
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_rehearsals_of_a_drop_are_listed_newest_first_and_no_other_drops(data):
    shelved(data, NAME, "lamp")
    shelved(data, OTHER, "lamp", verdict="no-go")
    shelved(data, "20261130-200000-1-chair", "chair")
    (data / "rehearsals" / "notes").mkdir()
    assert [(one["id"], one["verdict"]) for one in shelf.of_drop(data, "lamp")] == [(OTHER, "no-go"), (NAME, "go")]
    assert shelf.of_drop(data / "nowhere", "lamp") == []


def test_another_drops_rehearsal_is_not_there(data):
    shelved(data, NAME, "lamp")
    assert shelf.progress_of(data, NAME, "chair") is None
    assert shelf.report_of(data, NAME, "chair") is None
    assert shelf.report_of(data, NAME, "lamp")["verdict"] == "go"


@pytest.mark.parametrize("name", ["..", "../lamp", "lock", "", "20261130-180000-1-lamp/..", "20261130-180000-1-la/mp"])
def test_a_name_that_is_none_leads_nowhere(data, name):
    shelved(data, NAME, "lamp")
    assert shelf.progress_of(data, name, "lamp") is None
    assert shelf.report_of(data, name, "lamp") is None
    assert shelf.picture_of(data, name, "01.webp") is None


@pytest.mark.parametrize(
    ("file", "content"), [("01.webp", WEBP), ("02.webp", None), ("../report.json", None), ("report.json", None)]
)
def test_only_pictures_are_pictures(data, file, content):
    shelved(data, NAME, "lamp")
    assert shelf.picture_of(data, NAME, file) == content


def test_one_whose_process_is_gone_without_a_word_counts_as_broken_off_and_says_what_is_known(data):
    folder = shelved(data, NAME, "lamp", verdict=None)
    (folder / "rehearse.log").write_text("opening the stage\ndoorman: the disk is full\n")
    progress = shelf.progress_of(data, NAME, "lamp")
    assert (progress["running"], progress["verdict"], progress["why"]) == (False, "failed", "the disk is full")


def test_a_running_one_is_shown_as_running_stopped_on_request_and_keeps_others_from_starting(data, busy):
    assert shelf.progress_of(data, NAME, "lamp")["running"]
    with pytest.raises(shelf.Busy, match="another rehearsal is running"):
        shelf.begin(data, Wish(seed=1, slug="lamp"))
    assert not shelf.stop(data, NAME, "chair") and busy.poll() is None
    assert shelf.stop(data, NAME, "lamp")
    assert busy.wait(SECONDS_MAX) == -signal.SIGTERM
    assert not shelf.stop(data, NAME, "lamp")


def test_a_process_number_is_believed_only_while_a_rehearsal_holds_the_lock(data):
    folder = shelved(data, NAME, "lamp", verdict=None)
    progress = json.loads((folder / "progress.json").read_text())
    (folder / "progress.json").write_text(json.dumps(progress | {"pid": os.getpid()}))  # somebody else's by now: ours
    assert not shelf.stop(data, NAME, "lamp")


@pytest.fixture
def begun(monkeypatch):
    """(the command, whether it got a session of its own) of whatever was begun, without beginning it."""
    asked = []

    class Begun:
        pid = 2**30

        def __init__(self, argv, **more):
            asked.append((argv, more["start_new_session"]))

        def poll(self):
            return 0

    monkeypatch.setattr(shelf.subprocess, "Popen", Begun)
    return asked


def test_it_begins_the_command_with_the_same_wish_in_a_session_of_its_own(data, begun):
    name = shelf.begin(data, Wish(seed=9, slug="lamp", crowd=50, faults=("web-killed",), seconds=20))
    [(argv, apart)] = begun
    words = "rehearse lamp --crowd 50 --faults web-killed --seconds 20 --seed 9 --data"
    assert apart and " ".join(argv[4:]).startswith(words) and argv[-2:] == ["--name", name]
    assert shelf.of_drop(data, "lamp")[0]["id"] == name


def test_begun_beside_an_up_it_ends_with_it(data, monkeypatch, begun):
    monkeypatch.setattr(running, "is_served", lambda data: True)
    shelf.begin(data, Wish(seed=9, slug="lamp"))
    [(argv, _)] = begun
    assert argv[-1] == "--attached"
