"""tests/honest.py, on small suites of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HONEST = Path(__file__).with_name("honest.py")


@pytest.fixture
def suite(tmp_path):
    """Run pytest with the plugin on these files -> the finished process."""
    (tmp_path / "honest.py").write_text(HONEST.read_text())
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\ntestpaths = tests\nmarkers =\n    slow: slow\n    e2e: browser\n    chaos: kills\n"
    )

    def run(*arguments: str, **files: str) -> subprocess.CompletedProcess:
        for name, text in files.items():
            path = tmp_path / "tests" / (name.replace("__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("import pytest\n" + text)
        command = [sys.executable, "-m", "pytest", "-p", "honest", "-p", "no:cacheprovider", *arguments]
        alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True)

    return run


PASSES = "def test_a(): assert True\n"


def test_a_suite_that_passes_is_a_success(suite):
    done = suite(test_a=PASSES)
    assert done.returncode == 0 and "1 passed" in done.stdout


@pytest.mark.parametrize(
    "text",
    [
        "def test_b(): pytest.skip('no server')\n",
        "@pytest.mark.skip(reason='later')\ndef test_b(): pass\n",
        "@pytest.fixture\ndef server(): pytest.skip('no server')\ndef test_b(server): pass\n",
        "pytest.skip('no browser', allow_module_level=True)\ndef test_b(): pass\n",
        "pytest.importorskip('no_such_module')\ndef test_b(): pass\n",
        "@pytest.mark.xfail\ndef test_b(): assert False\n",
        "@pytest.mark.xfail\ndef test_b(): assert True\n",
        "def test_b(): pytest.xfail('known')\n",
    ],
)
def test_what_is_skipped_or_expected_to_fail_fails(suite, text):
    done = suite(test_a=PASSES, test_b=text)
    assert done.returncode in (1, 2), done.stdout
    summary = done.stdout.splitlines()[-1]
    assert ("1 failed" in summary or "1 error" in summary) and "skipped" not in summary and "xfailed" not in summary


@pytest.mark.parametrize(
    "files",
    [
        {"checks": "def test_b(): pass\n"},
        {"sub__b_test_extra": "def test_b(): pass\n"},
        {"test_b": "class Checks:\n    def test_b(self): pass\n"},
    ],
)
def test_a_test_that_is_never_collected_fails_a_run_of_everything(suite, files):
    done = suite(test_a=PASSES, **files)
    assert done.returncode == 4
    assert "but pytest collects none of them: tests/" in done.stderr


def test_two_processes_that_share_a_run_of_everything_notice_it_too(suite):
    shared = ("-p", "xdist.plugin", "-n", "2", "--dist", "loadfile")
    assert suite(*shared, test_a=PASSES, test_b=PASSES).returncode == 0
    done = suite(*shared, test_a=PASSES, checks=PASSES)
    assert done.returncode != 0
    assert "but pytest collects none of them: tests/checks.py" in done.stderr


def test_a_run_of_one_file_says_nothing_about_the_others(suite):
    assert suite("tests/test_a.py", test_a=PASSES, checks="def test_b(): pass\n").returncode == 0


def test_a_hook_that_leaves_tests_out_fails_a_run_of_everything(suite):
    hook = "def pytest_collection_modifyitems(config, items):\n    config.hook.pytest_deselected(items=[items.pop()])\n"
    done = suite(test_a=PASSES + "def test_b(): pass\n", conftest=hook)
    assert done.returncode == 4 and "1 tests were left out of a run of everything" in done.stderr


def test_quick_leaves_out_what_is_slow_and_says_so(suite):
    files = {
        "test_a": PASSES + "@pytest.mark.slow\ndef test_b(): assert False\n@pytest.mark.e2e\ndef test_c(): assert False\n",
        "chaos__test_d": "def test_d(): assert False\n",
    }
    done = suite("--quick", **files)
    assert done.returncode == 0, done.stdout
    assert "--quick left out 3 tests (slow, e2e, chaos); run bin/test for all of them" in done.stdout
    assert "1 passed, 3 deselected" in done.stdout
    assert suite(**files).returncode == 1


def test_a_suite_without_tests_is_a_failure(suite):
    assert suite(test_a="").returncode == 5
