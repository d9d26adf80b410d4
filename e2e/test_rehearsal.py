"""Drop rehearsals as a seller starts them: small, seeded, every fault once. A failure prints the command that replays it."""

import json
import os
import re
import subprocess
import sys

import pytest

from app.rehearsal import faults
from app.rehearsal.names import BROWSER_CLOCK
from tests.house import ROOT

pytestmark = pytest.mark.slow
SECONDS_MAX = 240
STORES = ("redis-failed-over", "web-killed", "recorder-killed", "redis-restarted", "redis-emptied", "redis-cut", "redis-slow",
          "postgres-cut", "postgres-slow", BROWSER_CLOCK)  # fmt: skip
OUTSIDE = ("worker-killed", "captured-then-dropped", "provider-outage", "webhooks-muted", "webhooks-doubled", "webhooks-reordered",
           "warehouse-lag", "worker-frozen", "queue-starved")  # fmt: skip


def rehearsed(data, *more: str) -> dict:
    """-> the report of a rehearsal that ended in go."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("DOORMAN_", "SANDBOX_", "STRIPE_"))}
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", "rehearse", "--data", data, "--report", data / "report", *more],
        cwd=ROOT, env=clean, capture_output=True, text=True, timeout=SECONDS_MAX,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "GO: This drop is ready." in done.stdout and "doorman rehearse" in done.stdout
    return json.loads((data / "report" / "report.json").read_text())


def test_every_fault_is_caused_by_one_of_these_rehearsals():
    assert set(STORES) | set(OUTSIDE) == set(faults.named("all"))


def test_the_drop_stands_whatever_happens_to_its_stores_and_people_with_browsers_see_it(tmp_path):
    report = rehearsed(tmp_path, "--crowd", "250", "--units", "160", "--browsers", "2", "--seconds", "20", "--seed", "7",
                       "--faults", ",".join(STORES))  # fmt: skip
    assert [fault["name"] for fault in report["faults"] if fault["done"]] == list(STORES)
    assert {check["outcome"] for check in report["checks"]} == {"held"}
    assert {one["who"] for one in report["browsers_seen"]} == {"shopper 1", "shopper 2", "the seller"}
    assert {"before the opening", "half-time"} <= {picture["title"] for picture in report["pictures"]}
    page = (tmp_path / "report" / "report.html").read_text()
    assert "This drop is ready." in page and "data:image/webp" in page
    assert re.findall(r"(?:src|href)=\"(?!data:)[^\"]*", page) == [], "the page must need nothing but itself"
    assert "<script" not in page


def test_the_drop_stands_whatever_happens_to_workers_money_and_parcels(tmp_path):
    report = rehearsed(tmp_path, "--crowd", "250", "--units", "120", "--seconds", "34", "--seed", "3",
                       "--faults", ",".join(OUTSIDE))  # fmt: skip
    assert [fault["name"] for fault in report["faults"] if fault["done"]] == list(OUTSIDE)
    assert {check["outcome"] for check in report["checks"]} == {"held"}
    assert report["finals"]["paid"] > 0
