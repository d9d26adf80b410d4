"""The report comes in the language of whoever reads it: nothing in it is left in English, whatever went wrong."""

import json
import re
from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from app.domain.reasons import known
from app.languages import ENGLISH, GERMAN, MIRRORED, in_zone, speaking
from app.rehearsal import report
from app.rehearsal.faults import FAULTS, starved
from app.rehearsal.sayings import Said, again, remembered, say, say_some
from tests.rehearsal.history import OPENS, fault, outcome, report_of, right, shelved
from tests.rehearsal.test_judge import BROKEN_HISTORIES, UNSEEN
from tests.rehearsal.test_report import Words

HISTORIES = {"everything right": right} | {name: build for name, (build, _) in (BROKEN_HISTORIES | UNSEEN).items()}
# What the histories hold that is no sentence of ours: complaints of browsers and books, answers of servers, names.
DATA = {"one is missing", "a script failed", "no answer", "POST drops: oops", "one key, 2 orders: o0, o9"}
BRACKETS = re.compile(r"⟦[^⟦⟧]*⟧")
NO_SENTENCE = re.compile(
    r"<(style|pre|code)\b.*?</\1>"  # commands, and words of the protocol
    r"|<[^>]*>"
    r"|\d+ web, \d+ worker, \d+ recorder|GiB|\bms\b|\bs\b|\bUTC\b|\bNov\b|\bDec\b|http 500: POST drops: oops",
    re.DOTALL,
)


def through_json(found: dict) -> dict:
    """-> the report as it is read back from the shelf, where a sentence is no more than its text."""
    return json.loads(json.dumps(found))


def said_in(language, found: dict) -> str:
    with speaking(language):
        return report.page(found)


def left_over(page: str, found: dict) -> str:
    """-> the words of a mirrored page that came from no catalog."""
    for own in (found["drop"]["title"], found["machine"]["processor"], found["machine"]["system"], "Python", "web-killed"):
        page = page.replace(str(report.Markup.escape(own)), "")
    attributes = " ".join(re.findall(r'(?:aria-label|alt|title)="([^"]*)"', page))
    text = NO_SENTENCE.sub(" ", page) + attributes
    while BRACKETS.search(text):
        text = BRACKETS.sub("", text)
    return " ".join(re.findall(r"[A-Za-z]{2,}(?: [A-Za-z]+)*", text))


@pytest.mark.parametrize("what", HISTORIES)
def test_no_sentence_of_a_report_is_left_untranslated(what):
    found = through_json(report_of(HISTORIES[what](), id="now"))
    assert left_over(said_in(MIRRORED, found), found) == ""
    for text, made in found["sentences"].items():
        with speaking(MIRRORED):
            assert again(text, found["sentences"]).startswith("⟦")
        for value in made["values"].values():
            for one in value if isinstance(value, list) else [value]:
                nested = isinstance(one, str) and " " in one
                assert not nested or one in found["sentences"] or known(one) or one in DATA, f"{one!r} within {text!r}"


def test_a_sentence_that_is_left_in_english_would_be_found():
    found = through_json(report_of(right(), id="now"))
    found["deeds"] = ["The seller did something by hand."]
    assert left_over(said_in(MIRRORED, found), found) == "The seller did something by hand"


def test_faults_deeds_pictures_and_what_browsers_say_are_translated_too():
    words = [fault.words for fault in (*FAULTS.values(), starved(1.0, 1.0))]
    assert all(isinstance(one, Said) for one in words)
    began = OPENS + 3000
    faults = [
        fault(name, began, began + 1000)
        | {"words": words, "done": name != "web-killed", "why": say("no %(role)s was running", role="web")}
        for name, words in ((one.name, one.words) for one in FAULTS.values())
    ]
    picture = {"who": say("the seller"), "title": say("half-time"), "at": 3.0, "width": 1, "height": 1, "data": "data:,"}
    complaints = [say("a request to a stranger: %(url)s", url="https://example.org/")]
    history = right(
        faults=faults, browsers=[{"who": say("shopper %(number)s", number="1"), "final": "paid", "complaints": complaints}]
    )
    found = through_json(report_of(history, id="now", pictures=[picture], deeds=[say("half-time")]))
    assert left_over(said_in(MIRRORED, found), found) == ""
    german = said_in(GERMAN, found)
    assert "der Zahlungsanbieter ist ausgefallen" in german and 'alt="der Verkäufer: zur Halbzeit"' in german
    assert "Kunde 1: eine Anfrage an einen Fremden: https://example.org/" in german
    assert "kein web lief" in german


def test_a_german_report_writes_numbers_money_and_times_as_germans_do():
    crowded = outcome() | {"latencies": [(0.1, 1.5)], "verdicts": {"reserved": 12345}}
    found = through_json(report_of(right(crowd=6), id="now", outcome=crowded) | {"crowd": 20_000})
    words = Words(said_in(GERMAN, found)).words
    assert words[words.index("LOS") + 1] == "Dieser Drop ist bereit."
    assert words[words.index("LOS") + 2].startswith(
        "20.000 Leute kamen für 3 Stücke, und nichts wurde absichtlich gestört. Alle bekamen"
    )
    assert "1,50 s" in words and "12.345" in words
    assert any("49,00 €" in line.replace("\u00a0", " ") for line in words)
    page = said_in(GERMAN, found)
    assert '<html lang="de" dir="ltr">' in page and "14.11.2023, 22:13 UTC" in page


def test_the_time_of_the_rehearsal_is_told_in_the_zone_that_is_asked_for():
    found = report_of(right(), id="now")
    assert "14 Nov 2023, 22:13 UTC" in report.page(found)
    with in_zone(ZoneInfo("Europe/Berlin")):
        assert "14 Nov 2023, 23:13 CET" in report.page(found)


def test_in_english_a_report_reads_the_same_however_it_was_kept():
    found = report_of(right(at_rest=False), id="now")
    assert said_in(ENGLISH, found) == said_in(ENGLISH, through_json(found))


def test_a_report_of_before_there_were_languages_is_shown_with_what_can_be_said_of_it(tmp_path):
    old = {name: value for name, value in through_json(report_of(right(at_rest=False), id="now")).items() if name != "sentences"}
    old["drop"].pop("price_minor")
    old["checks"][0]["words"] = "All 6 shoppers of those days did."
    page = said_in(GERMAN, old)
    assert "Jede Reservierung, jede Zahlung, jedes Paket und jeder Listenplatz kam von selbst zu einem Ende." in page
    assert "All 6 shoppers of those days did." in page and "€49.00" in page


def test_a_sentence_remembers_its_values_through_json():
    nested = say("%(who)s: %(what)s", who=say("shopper %(number)s", number="3"), what=["o1", say("half-time")])
    counted = say_some("%(num)s parcel is not right.", "%(num)s parcels are not right.", 1200)
    memory = json.loads(json.dumps(remembered({"a": [nested], "b": (counted,)})))
    assert nested == "shopper 3: o1, half-time" and counted == "1,200 parcels are not right."
    with speaking(GERMAN):
        assert again(str(nested), memory) == "Kunde 3: o1, zur Halbzeit"
        assert again(str(counted), memory) == "1.200 Pakete stimmen nicht."
        assert again("nobody said this", memory) == "nobody said this"


def test_a_moment_keeps_its_sign_and_a_sentence_within_itself_ends():
    moment = say("%(at)s s: %(page)s gave no answer", at=2.04, page=say("the list"))
    assert moment == "+2.0 s: the list gave no answer"
    memory = {"loop": {"message": "%(what)s: %(why)s", "values": {"what": "loop", "why": "loop"}}}
    assert "loop" in again("loop", memory)


def test_the_written_page_is_in_the_language_that_is_spoken(tmp_path):
    with speaking(GERMAN):
        folder = shelved(tmp_path, "20261130-180000-1-lamp", "lamp")
    assert '<html lang="de"' in (folder / "report.html").read_text()
    assert replace(right()).crowd == 6 and json.loads((folder / "report.json").read_text())["checks"][0]["promise"].startswith(
        "Every"
    )
