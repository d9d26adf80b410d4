"""`doorman rehearse`: what is understood, what is shown while it runs, and the exit code that a script reads."""

import io
import json
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from app.cli import main as doorman
from app.errors import StartFailed
from app.rehearsal import command, director
from app.rehearsal.command import Live, said
from app.rehearsal.director import Progress, Stopped
from app.rehearsal.judge import judge
from tests.rehearsal.history import report_of, right

PROGRESS = Progress(
    id="now", slug="lamp", title="Lamp", seed=1, crowd=20_000, pid=1, phase="the drop is open", seconds=12.4, answers=18_231,
    ended=912, fault="the worker is killed",
    books={"gate_left": 3, "held": 40, "offered": 2, "paid": 55, "balanced": True},
)  # fmt: skip


@pytest.fixture
def ends(monkeypatch):
    """`ends(history)`: the rehearsal that is asked for will have gone like this; `ends.wishes`: what was asked for."""
    wishes = []

    def prepare(outcome):
        def rehearse(wish, data, report_to, tell, name, attached):
            wishes.append(SimpleNamespace(wish=wish, data=data, report=report_to, attached=attached))
            tell(PROGRESS)
            if isinstance(outcome, BaseException):
                raise outcome
            return SimpleNamespace(
                folder=data / "rehearsals" / "now", judgement=judge(outcome), report=report_of(outcome, id="now")
            )

        monkeypatch.setattr(command, "rehearse", rehearse)

    prepare.wishes = wishes
    return prepare


@pytest.mark.parametrize(
    ("outcome", "code"),
    [(right(), 0), (right(at_rest=False), 1), (right(provider=None), 1), (StartFailed("no room"), 2), (Stopped(), 130)],
)
def test_the_exit_code_says_go_no_go_not_run_or_stopped(ends, capsys, outcome, code):
    ends(outcome)
    assert doorman(["rehearse", "--seed", "1"]) == code


def test_it_prints_the_verdict_every_promise_the_seed_and_the_command_that_plays_it_again(ends, capsys):
    ends(right(at_rest=False))
    doorman(["rehearse", "lamp"])
    shown = capsys.readouterr().out
    assert "NO-GO: Do not open this drop yet." in shown
    assert shown.count("  kept  ") == 12 and "NOT KEPT" in shown
    assert re.search(r"^  seed +4711$", shown, re.MULTILINE)
    again = "doorman rehearse lamp --crowd 6 --units 3 --faults none --seconds 45 --seed 4711"
    assert re.search(rf"^  again +{again}$", shown, re.MULTILINE)


def test_json_is_the_report_and_nothing_else(ends, capsys):
    ends(right())
    assert doorman(["rehearse", "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["verdict"] == "go" and shown.err == ""


def test_what_is_asked_for_is_what_is_played(ends, tmp_path):
    ends(right())
    words = (
        "rehearse lamp --crowd 500 --units 40 --browsers 2 --faults web-killed,redis-cut --seed 9 --seconds 20 --web 3 --real-times"
    )
    doorman([*words.split(), "--data", str(tmp_path), "--report", str(tmp_path / "kept")])
    [asked] = ends.wishes
    wish = asked.wish
    assert (wish.slug, wish.crowd, wish.units, wish.browsers, wish.seed, wish.seconds, wish.web) == ("lamp", 500, 40, 2, 9, 20.0, 3)
    assert wish.faults == ("web-killed", "redis-cut") and wish.real_times
    assert (asked.data, asked.report, asked.attached) == (tmp_path, tmp_path / "kept", False)


def test_without_a_seed_one_is_drawn(ends):
    ends(right())
    for _ in range(2):
        doorman(["rehearse"])
    assert ends.wishes[0].wish.seed != ends.wishes[1].wish.seed


def test_wrong_usage_says_what_is_lawful(ends, capsys):
    ends(right())
    for words, sentence in (
        (["--faults", "earthquake"], "there is no fault named earthquake"),
        (["--crowd", "0"], "'0' is not a whole number between 1 and"),
        (["--seconds", "1"], "'1' is not a number of seconds between 5 and"),
    ):
        try:
            code = doorman(["rehearse", *words])
        except SystemExit as ended:
            code = ended.code
        assert code == 2 and sentence in capsys.readouterr().err
    assert ends.wishes == []


def test_a_browsers_clock_needs_a_browser(tmp_path, capsys):
    assert doorman(["rehearse", "--faults", "browser-clock", "--data", str(tmp_path)]) == 2
    assert "browser-clock needs a browser: add --browsers" in capsys.readouterr().err
    assert not list(tmp_path.glob("rehearsals/stage.json"))


def test_a_second_rehearsal_at_the_same_time_is_refused(tmp_path, capsys):
    (tmp_path / "rehearsals").mkdir()
    with director._only_one(tmp_path / "rehearsals"):
        assert doorman(["rehearse", "--data", str(tmp_path)]) == 2
    assert "another rehearsal is running" in capsys.readouterr().err


def test_the_progress_is_one_line_with_phase_answers_and_books():
    line = "the drop is open +12 s · 18,231 answers, 912/20,000 done · left 3 held 42 paid 55: balanced · ! the worker is killed"
    assert said(PROGRESS) == line


def test_a_terminal_sees_one_line_that_changes_and_a_file_a_line_now_and_then():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal, file = Terminal(), io.StringIO()
    for out in (terminal, file):
        live = Live(out)
        for answers in range(5):
            live(replace(PROGRESS, answers=answers))
        live(replace(PROGRESS, phase="judging"))
        if out is file:
            live(replace(PROGRESS, phase="failed", verdict="failed"))
    assert terminal.getvalue().count("\r") == 6 and "\n" not in terminal.getvalue()
    assert file.getvalue().count("\n") == 2


def test_in_german_everything_that_it_prints_of_the_report_is_german(ends, capsys):
    ends(right(at_rest=False))
    assert doorman(["rehearse", "lamp", "--language", "de"]) == 1
    shown = capsys.readouterr().out
    assert "HALT: Diesen Drop noch nicht öffnen." in shown
    assert "Als die Zeit um war, bewegte sich noch etwas." in shown and "NICHT GEHALTEN" in shown
    assert shown.count("  gehalten  ") == 12
    assert not re.search(r"\b(the|was|kept|were|and)\b", re.sub(r"doorman rehearse .*", "", shown))


def test_a_language_that_there_is_none_of_is_refused(capsys):
    with pytest.raises(SystemExit) as stopped:
        doorman(["rehearse", "--language", "xx"])
    assert stopped.value.code == 2
    assert "--language" in capsys.readouterr().err
