"""A pytest plugin: what did not run is not a success.

A test that is skipped or expected to fail is reported as failed: a missing requirement (a server, a browser) is a failure, and a
known fault is mended or filed, not marked. On a run of everything, a file in which a test stands but from which none was collected
(a name that pytest does not look for, a class it ignores) is a failure too, and so is a test that a hook or an option left out.

`--quick` leaves out what is marked slow, e2e or chaos, or lies in e2e/ or tests/chaos/, and says how many those are.
"""

import ast
import sys
from pathlib import Path
from typing import NoReturn

import pytest

SLOW_MARKERS = ("slow", "e2e", "chaos")
SLOW_FOLDERS = ("e2e", "tests/chaos")
FULL_RUN = "doorman_full_run"
_quick_left_out = pytest.StashKey[int]()
_left_out = pytest.StashKey[list]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="leave out what is marked slow, e2e or chaos")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("quick"):
        return
    slow = [item for item in items if _is_slow(item)]
    config.stash[_quick_left_out] = len(slow)
    items[:] = [item for item in items if item not in set(slow)]
    config.hook.pytest_deselected(items=slow)


def pytest_deselected(items: list[pytest.Item]) -> None:
    for item in items:
        item.config.stash.setdefault(_left_out, []).append(item)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector):
    report = yield
    if report.skipped:
        report.outcome, report.longrepr = "failed", f"{collector.nodeid} was skipped whole: {_reason(report)}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    report = yield
    if hasattr(report, "wasxfail"):
        report.outcome, report.longrepr = "failed", f"expected to fail ({report.wasxfail}): mend the fault, or the test"
        del report.wasxfail
    elif report.skipped:
        report.outcome, report.longrepr = "failed", f"skipped ({_reason(report)}): what a test needs must be there"
    return report


def pytest_collection_finish(session: pytest.Session) -> None:
    config = session.config
    if session.testsfailed or not _is_full_run(config):  # files that failed to be collected are errors already
        return
    left_out = config.stash.get(_left_out, [])
    collected = {item.path for item in [*session.items, *left_out]}
    missed = [str(path.relative_to(config.rootpath)) for path in _files_with_tests(config) if path not in collected]
    if missed:
        _refuse(config, f"tests stand in these files, but pytest collects none of them: {', '.join(missed)}")
    unannounced = len(left_out) - config.stash.get(_quick_left_out, 0)
    if unannounced:
        _refuse(config, f"{unannounced} tests were left out of a run of everything")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.getoption("quick"):
        count = config.stash.get(_quick_left_out, 0)
        terminalreporter.write_line(f"--quick left out {count} tests (slow, e2e, chaos); run bin/test for all of them")


def _refuse(config: pytest.Config, why: str) -> NoReturn:
    if hasattr(config, "workerinput"):  # xdist ends the run, but shows no reason
        print(why, file=sys.__stderr__, flush=True)
    raise pytest.UsageError(why)


def _is_slow(item: pytest.Item) -> bool:
    folders = [item.config.rootpath / folder for folder in SLOW_FOLDERS]
    return any(map(item.get_closest_marker, SLOW_MARKERS)) or any(item.path.is_relative_to(folder) for folder in folders)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:
    """A process that runs a share of the tests (xdist) is told whether everything was asked for: it cannot see it itself."""
    node.workerinput[FULL_RUN] = _is_full_run(node.config)


def _is_full_run(config: pytest.Config) -> bool:
    """-> whether the whole suite was asked for: no path, no -k, no -m, nothing of the last run."""
    if hasattr(config, "workerinput"):
        return config.workerinput[FULL_RUN]
    narrowing = ("keyword", "markexpr", "lf", "deselect")
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not any(config.getoption(name, None) for name in narrowing)


def _files_with_tests(config: pytest.Config) -> list[Path]:
    folders = [config.rootpath / folder for folder in config.getini("testpaths")]
    return [path for folder in folders for path in sorted(folder.rglob("*.py")) if _holds_a_test(path)]


def _holds_a_test(path: Path) -> bool:
    """-> whether a function named test_... stands in the file, or an assignment such as `TestGate = Gate.TestCase` (Hypothesis)."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            return True
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "").startswith("Test") for target in node.targets):
            return True
    return False


def _reason(report) -> str:
    return str(report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr)
