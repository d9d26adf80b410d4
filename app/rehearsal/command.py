"""`doorman rehearse`: the command line of a rehearsal. Exit code 0: go. 1: no-go. 2: it could not be run."""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from app import running
from app.errors import BadInput, DoormanError
from app.languages import ENGLISH, LANGUAGES, _, count, language_named, number, speaking
from app.rehearsal import faults, plan
from app.rehearsal.director import Progress, Stopped, new_seed, rehearse
from app.rehearsal.judge import HELD
from app.rehearsal.layout import REPORT_HTML
from app.rehearsal.plan import Wish
from app.rehearsal.report import headline
from app.rehearsal.sayings import again

GO, NO_GO, NOT_RUN, STOPPED = 0, 1, 2, 130
QUIET_SECONDS = 5.0  # between two lines where nobody watches a terminal
COLUMNS = 120
MARK_COLUMNS = 14


def main(argv: Sequence[str]) -> int:
    try:
        arguments = _parser().parse_args(argv)
        wish = _wish(arguments)
        told = Live(sys.stderr) if not arguments.json else _silent
        with speaking(language_named(arguments.language)):
            rehearsed = rehearse(wish, arguments.data, arguments.report, told, arguments.name, arguments.attached)
    except Stopped:
        print("\ndoorman: the rehearsal was stopped; nothing of it is left running", file=sys.stderr)
        return STOPPED
    except DoormanError as error:
        field = f" ({error.field})" if isinstance(error, BadInput) and error.field else ""
        print(f"doorman: {error}{field}", file=sys.stderr)
        return NOT_RUN
    if isinstance(told, Live):
        told.ends()
    report = rehearsed.report
    if arguments.json:
        print(json.dumps({**report, "pictures": [], "folder": str(rehearsed.folder)}, ensure_ascii=False))
    else:
        with speaking(language_named(arguments.language)):
            print("\n".join(_lines(report, rehearsed.folder)))
    return GO if rehearsed.judgement.go else NO_GO


def _lines(report: dict, folder: Path) -> list[str]:
    """-> the report in short, in the language that is spoken."""
    first, second = headline(report)
    memory = report["sentences"]
    lines = ["", f"{_('GO') if report['verdict'] == 'go' else _('NO-GO')}: {first}", second, ""]
    marks = {"held": _("kept"), "broken": _("NOT KEPT")}
    for check in report["checks"]:
        mark = marks.get(check["outcome"], _("COULD NOT TELL"))
        lines.append(f"  {mark:<{MARK_COLUMNS}}  {again(check['promise'], memory)} {again(check['words'], memory)}")
        lines += [f"{'':<{MARK_COLUMNS}}    - {again(one, memory)}" for one in check["examples"] if check["outcome"] != HELD]
    press = report["latency"]["press"]
    speed = _(
        "half within %(half)s ms, 99 of 100 within %(most)s ms, at most %(answers)s a second",
        half=_ms(press["p50_ms"]),
        most=_ms(press["p99_ms"]),
        answers=count(report["timeline"]["answers_per_second_max"]),
    )
    told = [
        (_("answers"), speed),
        (_("generator"), again(report["generator"]["words"], memory)),
        *_about_machine(report),
        (_("report"), str(folder / REPORT_HTML)),
        (_("seed"), str(report["seed"])),
        (_("again"), report["command"]),
    ]
    return [*lines, "", *(f"  {name:<{MARK_COLUMNS}}  {words}" for name, words in told)]


def _ms(milliseconds: float | None) -> str:
    return "–" if milliseconds is None else number(milliseconds)


def _about_machine(report: dict) -> list[tuple[str, str]]:
    load, processors = report["machine"]["load_before"], report["machine"]["processors"]
    if load is None or load <= processors / 2:
        return []
    words = _(
        "other programs were using it when this began (load %(load)s on %(processors)s processors)",
        load=load,
        processors=processors,
    )
    return [(_("machine"), words)]


class Live:
    """What is shown while it runs: one line that is written over on a terminal, a line every few seconds elsewhere."""

    def __init__(self, out):
        self.out = out
        self.live = out.isatty()
        self.said_at = -QUIET_SECONDS
        self.phase = ""

    def __call__(self, progress: Progress) -> None:

        if progress.verdict in ("failed", "stopped"):  # the reason follows as a sentence of its own
            self.ends()
            return
        line = said(progress)
        if self.live:
            self.out.write(f"\r\x1b[K{line[:COLUMNS]}")
            self.out.flush()
        elif progress.phase != self.phase or time.monotonic() - self.said_at >= QUIET_SECONDS:
            self.said_at, self.phase = time.monotonic(), progress.phase
            self.out.write(line + "\n")
            self.out.flush()

    def ends(self) -> None:
        if self.live:
            self.out.write("\r\x1b[K")


def said(progress: Progress) -> str:
    """-> the progress in one line: phase, answers, books."""
    parts = [progress.phase]
    if progress.answers or progress.ended:
        parts[0] += f" {progress.seconds:+.0f} s"
        parts.append(f"{progress.answers:,} answers, {progress.ended:,}/{progress.crowd:,} done")
    if progress.books:
        books = progress.books
        balanced = {True: "balanced", False: "NOT BALANCED", None: "recording"}[books["balanced"]]
        left = "?" if books["gate_left"] is None else books["gate_left"]
        parts.append(f"left {left} held {books['held'] + books['offered']} paid {books['paid']}: {balanced}")
    if progress.fault:
        parts.append(f"! {progress.fault}")
    return " · ".join(parts)


def _silent(progress: Progress) -> None:
    pass


def _wish(arguments) -> Wish:
    names = faults.named(arguments.faults)
    return Wish(
        slug=arguments.slug, crowd=arguments.crowd, units=arguments.units, browsers=arguments.browsers, faults=names,
        seed=arguments.seed if arguments.seed is not None else new_seed(), seconds=arguments.seconds, web=arguments.web,
        connections=arguments.connections, real_times=arguments.real_times,
    )  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="doorman rehearse",
        description="Play a coming drop with a crowd, browsers and faults, apart from the real shop. "
        "Exit code 0: go. 1: no-go. 2: it could not be run.",
    )
    known = ", ".join(faults.named("all"))
    parser.add_argument("slug", nargs="?", help="the drop to rehearse, as the running shop has it (none: a standard drop)")
    parser.add_argument(
        "--crowd", type=_whole(1, plan.CROWD_MAX), default=plan.CROWD_DEFAULT, metavar="N", help="buyers (%(default)s)"
    )
    parser.add_argument("--units", type=_whole(1, 1_000_000), metavar="N", help="units in all (as many as the drop has)")
    parser.add_argument(
        "--browsers", type=_whole(0, plan.BROWSERS_MAX), default=0, metavar="N", help="people with real browsers (0)"
    )
    parser.add_argument("--faults", default="none", metavar="LIST", help=f"all, usual, none (the default), or of: {known}")
    parser.add_argument("--seed", type=_whole(0, plan.SEED_MAX), metavar="S", help="plays the same people and moments again")
    parser.add_argument("--seconds", type=_seconds, default=plan.SECONDS_DEFAULT, help="how long the drop is open (%(default)g)")
    parser.add_argument("--web", type=_whole(1, 64), metavar="N", help="web processes (as the running shop has)")
    parser.add_argument("--connections", type=_whole(1, plan.CONNECTIONS_MAX), default=plan.CONNECTIONS_DEFAULT, metavar="N",
                        help="connections that the crowd shares (%(default)s)")  # fmt: skip
    parser.add_argument(
        "--real-times", action="store_true", help="holds, offers and waits as long as in the real shop (takes long)"
    )
    parser.add_argument("--report", type=Path, metavar="FOLDER", help="put report.html and report.json there as well")
    parser.add_argument(
        "--language", choices=[language.tag for language in LANGUAGES], default=ENGLISH.tag, help="of the report (%(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON, and nothing while it runs")
    parser.add_argument(
        "--data", type=Path, default=running.DATA_DEFAULT, metavar="FOLDER", help="data folder of doorman up (%(default)s)"
    )
    parser.add_argument("--name", type=_name, help=argparse.SUPPRESS)
    parser.add_argument("--attached", action="store_true", help=argparse.SUPPRESS)
    return parser


def _whole(low: int, high: int):
    def parse(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number between {low} and {high}")
        return int(text)

    return parse


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not plan.SECONDS_MIN <= seconds <= plan.SECONDS_MAX:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of seconds between {plan.SECONDS_MIN:g} and {plan.SECONDS_MAX:g}"
        )
    return seconds


def _name(text: str) -> str:
    if not text or os.sep in text or text.startswith("."):
        raise argparse.ArgumentTypeError(f"{text!r} is no name")
    return text
