"""The measures themselves, on a Doorman of their own: also the proof that losers cost no SQL and that late jobs charge nobody."""

import json

import pytest

from app.bench import main


def measured(capsys, *arguments):
    """-> (exit code, the numbers)."""
    code = main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture(autouse=True)
def in_a_folder_without_a_doorman(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_2000_buyers_for_100_units_grant_exactly_100_and_cost_no_sql(capsys):
    code, numbers = measured(capsys, "burst", "--buyers", "2000", "--units", "100")
    assert numbers["findings"] == []
    assert code == 0
    assert numbers["answers"]["reserved"] == 100
    assert sum(numbers["answers"].values()) == 2000
    assert numbers["sql_by_losers"] == 0
    assert numbers["recorded"] == 100
    assert numbers["books"]["balanced"] is True


def test_400_starved_payments_lose_to_the_sweeper_and_charge_nobody(capsys):
    code, numbers = measured(capsys, "race", "--buyers", "400", "--units", "400")
    assert numbers["findings"] == []
    assert code == 0
    assert numbers["swept"] == 400
    assert numbers["lost_claims"] == numbers["late_jobs"] >= 400
    assert numbers["payments_of_swept_orders"] == 0
    assert numbers["left"] + numbers["paid"] == 400


def test_the_baseline_sells_exactly_its_units_too(capsys):
    code, numbers = measured(capsys, "naive", "--buyers", "300", "--units", "10")
    assert (code, numbers["findings"]) == (0, [])
    assert numbers["answers"] == {"reserved": 10, "sold_out": 290}
    assert numbers["sold"] == numbers["orders"] == 10


def test_gate_calls_are_measured_at_every_number_of_waiting_buyers(capsys):
    code, numbers = measured(capsys, "gate", "--buyers", "600", "--rounds", "1", "--appendfsync", "everysec")
    assert (code, numbers["findings"]) == (0, [])
    assert [(row["crowd"], row["waiting"]) for row in numbers["waiting"]] == [
        (crowd, waiting) for crowd in ("granted", "refused") for waiting in (1, 16, 64, 256)
    ]
    assert all(row["cpu_us"] > 0 and row["script_us"] > 0 for row in numbers["waiting"])
