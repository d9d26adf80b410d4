"""Rows with a target: both sides, met or missed, worse than before; all run with tiny numbers. Times are never judged."""

import json
import os

import pytest

from app.bench import all, cores, main, report, stage
from app.bench.crowd import Tally
from app.bench.paired import Sample, alternate, row, wrong_answers
from app.bench.report import Row, compared, row_lines


def told(value, *, name="a no", at_least=True, target=0.75):
    return Row(name, "answers", 10.0, value, target, at_least, 12.0, "a bare callable", (value, value), {"cpu_us": [1, 2]})


@pytest.mark.parametrize(
    ("value", "at_least", "met"), [(0.75, True, True), (0.74, True, False), (1.3, False, False), (0.75, False, True)]
)
def test_a_target_is_met_at_its_very_value(value, at_least, met):
    assert told(value, at_least=at_least).as_dict()["met"] is met


def test_a_row_prints_both_sides_and_what_it_was_measured_against():
    lines = "\n".join(row_lines([told(0.7).as_dict()]))
    for word in ("a no", "10", "12", "0.7 (0.7-0.7)", ">= 0.75", "MISSED", "a bare callable", "cpu_us: 1 / 2"):
        assert word in lines


@pytest.mark.parametrize(
    ("value", "at_least", "worse"),
    [(0.9, True, 0), (0.84, True, 1), (2.0, True, 0), (1.1, False, 0), (1.2, False, 1), (0.1, False, 0)],
)
def test_only_what_got_worse_by_more_than_noise_is_a_regression(tmp_path, value, at_least, worse):
    (tmp_path / "before.json").write_text(json.dumps({"rows": [told(1.0, at_least=at_least).as_dict()]}))
    found = compared([told(value, at_least=at_least).as_dict()], tmp_path / "before.json")
    assert len(found) == worse


def test_rows_that_the_other_report_does_not_have_are_not_compared(tmp_path):
    (tmp_path / "before.json").write_text(json.dumps({"rows": [told(9.0, name="another").as_dict()]}))
    assert compared([told(0.1).as_dict()], tmp_path / "before.json") == []


def sample(answers, cpu_seconds):
    return Sample(Tally(buyers=answers, answers={"http 409": answers}, seconds=[0.1] * answers, wall_seconds=1.0), cpu_seconds)


def test_a_row_of_pairs_is_the_median_of_their_ratios():
    pairs = [(sample(100, 0.2), sample(100, 0.1)), (sample(100, 0.1), sample(100, 0.1)), (sample(100, 0.4), sample(100, 0.1))]
    one = row("a no", pairs, 0.75, "bare")
    assert (one.value, one.spread, one.met) == (0.5, (0.25, 1.0), False)
    assert (one.ours, one.theirs) == (500.0, 1000.0)
    assert one.more["cpu_us"] == [2000.0, 1000.0]


def test_the_first_pair_is_thrown_away_and_sides_take_turns_to_begin():
    order = []
    pairs = alternate(3, lambda number: order.append(("ours", number)), lambda number: order.append(("theirs", number)))
    assert len(pairs) == 3
    assert [who for who, _ in order] == ["ours", "theirs", "theirs", "ours", "ours", "theirs", "theirs", "ours"]


def test_answers_that_the_measure_is_not_about_are_findings():
    right = (sample(10, 0.1), sample(10, 0.1))
    assert wrong_answers([right], ["http 409"]) == []
    assert len(wrong_answers([right], ["http 200"])) == 2
    assert len(wrong_answers([right], ["http 409"], ["http 200"])) == 1


def test_cpu_time_of_a_process_is_its_own():
    before = cores.cpu_seconds(os.getpid())
    sum(range(300_000))
    assert 0 < cores.cpu_seconds(os.getpid()) - before < 5


def test_a_measure_that_got_worse_exits_with_one(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "before.json").write_text(json.dumps({"rows": [told(1e9, name="recorder").as_dict()]}))
    code = main(["recorder", "--pairs", "1", "--batches", "1", "--json", "--compare", str(tmp_path / "before.json")])
    numbers = json.loads(capsys.readouterr().out)
    assert code == 1
    assert [finding.partition(":")[0] for finding in numbers["findings"]] == ["recorder"]
    assert numbers["rows"][0]["theirs"] > 0


def test_every_paired_measure_runs_with_tiny_numbers_on_one_stage(monkeypatch):
    from app.bench import decided, no, others, page
    from app.bench.growth import Growth

    monkeypatch.setattr(report.Row, "met", property(lambda self: True))
    monkeypatch.setattr("app.bench.growth.SAMPLE_BUYERS", 20)
    monkeypatch.setattr("app.bench.growth.WARM_BUYERS", 40)
    with stage.stage() as place:
        taken = {
            "no": no.take(place, 1, 50),
            "decided": decided.take(place, 1, 50),
            "page": page.take(place, 1, 50),
            "others": others.take(place, 1, 100, 8, 1),
            "growth": Growth(place, 1).take(50, 3, 60),
        }
    assert {name: findings for name, (_, findings) in taken.items()} == dict.fromkeys(taken, [])
    assert {name: len(rows) for name, (rows, _) in taken.items()} == {"no": 1, "decided": 1, "page": 2, "others": 4, "growth": 3}
    for rows, _ in taken.values():
        for one in rows:
            shown = one.as_dict()
            assert shown["ours"] > 0
            assert shown["theirs"] > 0
            json.dumps(shown)


def test_the_fan_out_is_measured_beside_its_baseline(capsys):
    assert main(["fanout", "--pairs", "1", "--sockets", "40", "--ticks", "2", "--json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in numbers["rows"]] == ["fan-out CPU", "fan-out p99", "memory a socket", "fan-out at full speed"]
    assert numbers["findings"] == []


def test_one_process_holds_its_sockets_and_everybody_hears_the_last_count(capsys):
    assert main(["fanout", "--hold", "--sockets", "60", "--json"]) == 0
    [one] = json.loads(capsys.readouterr().out)["rows"]
    assert one["name"] == "60 sockets hear the last count"


def test_all_is_one_table_of_the_measures_that_were_asked_for(capsys, monkeypatch):
    taken = []

    def take(measure, pairs):
        taken.append((measure[0], pairs))
        return {"rows": [told(1.0, name=measure[0]).as_dict()], "findings": []}

    monkeypatch.setattr(all, "take", take)
    code = main(["all", "--only", "recorder", "no", "--pairs", "7", "--json"])
    numbers = json.loads(capsys.readouterr().out)
    assert (code, numbers["findings"]) == (0, [])
    assert [one["name"] for one in numbers["rows"]] == ["no", "recorder"]
    assert taken == [("no", 7), ("recorder", 7)]
    assert "Python" in numbers["machine"]


def test_a_measure_of_all_that_cannot_be_taken_is_a_finding():
    assert all.take(("sprint",), 1)["findings"][0].startswith("sprint could not be taken")


def test_a_measure_leaves_this_process_on_the_cores_it_had():
    had = cores.allowed()
    with cores.kept():
        cores.pin(0, cores.LOAD)
        assert len(cores.allowed()) == 1 or not cores.pinned
    assert cores.allowed() == had
