"""A measure fails when what it measured was not right, whatever its speed."""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest

from app.bench import main, naive, race
from app.bench.burst import Burst
from app.bench.crowd import Tally
from app.bench.report import print_report, table
from app.bench.site import site
from app.errors import StartFailed

BALANCED = {"total": 100, "gate_left": 0, "held": 100, "balanced": True, "findings": []}


EPOCHS = "SELECT id, session_epoch FROM shoppers WHERE session_epoch > 0"


def tally(**changes):
    orders = [f"order-{i}" for i in range(100)]
    answers = Counter(reserved=100, sold_out=900)
    values = {
        "buyers": 1000,
        "answers": answers,
        "statuses": Counter(),
        "orders": orders,
        "seconds": [0.01] * 1000,
        "wall_seconds": 1.0,
    }
    return Tally(**(values | changes))


def burst(**changes):
    values = {"units": 100, "tally": tally(), "sql": [], "sql_reason": None, "web_processes": 2, "drain_seconds": 0.1}
    return Burst(**(values | {"books": BALANCED, "recorded": 100} | changes))


def test_a_right_burst_has_no_findings():
    assert burst().findings() == []


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"units": 99}, "OVERSOLD: 100 buyers were granted 99 units"),
        ({"units": 101}, "only 100 of 101 units were granted"),
        ({"tally": tally(orders=["one"] * 100)}, "100 grants name 1 orders"),
        ({"recorded": 98}, "2 granted orders are not in the ledger"),
        ({"books": BALANCED | {"balanced": False, "findings": ["one too many"]}}, "the books do not balance: one too many"),
        ({"books": BALANCED | {"balanced": None}}, "the books do not balance: the journal did not drain"),
        ({"tally": tally(errors=Counter({"connection lost": 3}), unanswered=2)}, "3 requests failed, 2 were not answered"),
        ({"tally": tally(answers=Counter({"reserved": 100, "http 500": 900}))}, "answers without a verdict: {'http 500': 900}"),
        ({"sql": None, "sql_reason": "no log"}, "SQL statements could not be counted: no log"),
        ({"sql": ["SELECT 1"]}, "1 SQL statements were caused by the crowd, such as: SELECT 1"),
        ({"sql": [EPOCHS, "SELECT 1"]}, "1 SQL statements were caused by the crowd, such as: SELECT 1"),
        ({"sql": [EPOCHS] * 900}, f"900 SQL statements were caused by the crowd, such as: {EPOCHS[:80]}"),
    ],
)
def test_a_wrong_burst_says_what_is_wrong(changes, finding):
    assert burst(**changes).findings() == [finding]


def test_what_a_web_process_asks_by_the_clock_is_not_the_crowds():
    quiet = burst(sql=[EPOCHS, EPOCHS])
    assert quiet.findings() == []
    assert quiet.summary()["sql_by_losers"] == 0
    assert quiet.summary()["sql_by_the_clock"] == 2


def test_units_that_nobody_got_because_requests_failed_are_not_blamed_on_the_gate():
    few = tally(answers=Counter(reserved=60), orders=[f"o{i}" for i in range(60)], errors=Counter(lost=940), seconds=[0.1] * 60)
    assert burst(tally=few, recorded=60).findings() == ["940 requests failed, 0 were not answered"]


RACED = {
    "buyers": 400,
    "units": 400,
    "reserved": 400,
    "payments_submitted": 400,
    "swept": 400,
    "late_jobs": 400,
    "lost_claims": 400,
    "payments_of_swept_orders": 0,
    "left": 400,
    "paid": 0,
    "states": {"EXPIRED": 400},
    "job_results": {"lost": 400},
    "books": {"balanced": True},
}


def race_findings(**changes):
    quiet = SimpleNamespace(failed=0, unanswered=0, statuses=Counter({202: 400}))
    return race._findings(RACED | changes, quiet, quiet, {"gate_left": changes.pop("left_before", 400)})


def test_a_right_race_has_no_findings():
    assert race_findings() == []


def test_jobs_that_came_twice_and_both_lost_are_right():
    assert race_findings(late_jobs=405, lost_claims=405) == []


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"reserved": 399}, "granted a unit"),
        ({"payments_submitted": 390}, "accepted in time"),
        ({"swept": 399}, "were swept"),
        ({"left_before": 399}, "before the worker went on"),
        ({"lost_claims": 399}, "lost their claim"),
        ({"late_jobs": 399, "lost_claims": 399}, "lost their claim"),
        ({"late_jobs": 405, "lost_claims": 404}, "lost their claim"),
        ({"payments_of_swept_orders": 1}, "CHARGED"),
        ({"left": 399}, "books do not close"),
        ({"left": None}, "books do not close"),
        ({"books": {"balanced": None}}, "books do not close"),
    ],
)
def test_a_wrong_race_says_what_is_wrong(changes, word):
    findings = race_findings(**changes)
    assert len(findings) == 1
    assert word in findings[0]


def test_the_baseline_is_checked_too():
    right = tally()
    assert naive._findings(right, 100, 100, 100) == []
    assert naive._findings(right, 100, 101, 101) == ["100 granted, 101 sold, 101 orders of 100"]
    assert naive._findings(replace(right, unanswered=1), 100, 100, 100) == ["0 requests failed, 1 were not answered"]


def test_findings_make_the_exit_code(capsys):
    assert print_report({"findings": []}, ["fine"], False) == 0
    assert print_report({"findings": ["oversold"]}, ["bad"], False) == 1
    assert capsys.readouterr() == ("fine\nbad\n", "FINDING: oversold\n")
    assert print_report({"findings": ["oversold"]}, ["bad"], True) == 1
    assert capsys.readouterr().out == '{"findings": ["oversold"]}\n'


def test_numbers_are_printed_in_a_column():
    assert table([("a", "1"), ("long name", "2")]) == ["a          1", "long name  2"]


def test_a_folder_that_no_up_serves_is_refused_rather_than_replaced(tmp_path):
    with pytest.raises(StartFailed, match="no doorman up serves it"), site(tmp_path, web=1):
        raise AssertionError("must not be reached")


@pytest.mark.parametrize(
    "wrong", [[], ["sprint"], ["burst", "--buyers", "many"], ["race", "--units", "0"], ["naive", "--conns", "-1"]]
)
def test_wrong_usage_is_exit_code_two(wrong, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(wrong)
    assert stopped.value.code == 2
