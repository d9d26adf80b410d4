"""The table of faults from the field: all twenty, each with tests that exist."""

import re
from pathlib import Path

TESTS = Path(__file__).parent
ROWS = re.findall(r"^\| (A\d\d) [^|]+\| ([^|]+) \|$", (TESTS / "README.md").read_text(), re.M)


def test_every_fault_from_the_field_has_a_test_and_none_is_told_twice():
    assert [name for name, _ in ROWS] == [f"A{number:02d}" for number in range(1, 21)]


def test_every_test_that_is_named_exists():
    for name, where in ROWS:
        files = re.findall(r"`([^`]+)`", where)
        assert files, name
        for file in files:
            assert re.search(r"^(async )?def test_", (TESTS / file).read_text(), re.M), f"{name}: {file} holds no test"
