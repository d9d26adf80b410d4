"""The report: the verdict first and in plain words, everything inside, beside the rehearsal before."""

import json
import re
from html.parser import HTMLParser

import pytest

from app.rehearsal import report
from tests.rehearsal.history import BROKEN_ORDERS, PRICE, WEBP, charge, fault, outcome, report_of, right, shelved

OVERSOLD = {
    "orders": BROKEN_ORDERS,
    "provider": [*right().provider, charge("o4", PRICE)],
    "warehouse": [*right().warehouse, {"number": "4", "reference": "o4", "created": ""}],
    "stories": [*right().stories[:4], right().stories[4] | {"final": "paid", "orders": ["o4"], "order": "o4"}, right().stories[5]],
}


class Words(HTMLParser):
    """What a person reads of a page, and what it loads."""

    def __init__(self, page: str):
        super().__init__()
        self.words, self.loads, self.open, self.inside = [], [], [], 0
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.loads += [value for name in ("src", "href") if (value := found.get(name))]
        self.inside += tag in ("style", "script")
        assert tag != "script"

    def handle_endtag(self, tag):
        self.inside -= tag in ("style", "script")

    def handle_data(self, data):
        if not self.inside and data.strip():
            self.words.append(" ".join(data.split()))


def read(found: dict) -> Words:
    return Words(report.page(found))


def test_the_verdict_comes_first_and_in_plain_words():
    words = read(report_of(right(), id="now")).words
    shown = words[words.index("GO") :]
    assert shown[1] == "This drop is ready."
    assert shown[2].startswith(
        "6 people came for 3 units, and nothing was broken on purpose. Every one of them got one true answer"
    )


def test_a_no_go_says_what_was_not_kept_and_shows_it_first():
    found = report_of(right(**OVERSOLD), id="now")
    words = read(found).words
    assert words[words.index("NO-GO") + 1] == "Do not open this drop yet."
    assert "1 of 13 promises was not kept: Never more sold than there is" in words[words.index("NO-GO") + 2]
    assert words[words.index("The promises") + 1] == "✗ not kept"
    assert "4 units are in live orders, 3 were released" in words


def test_what_could_not_be_proven_is_not_called_broken():
    found = report_of(right(provider=None), id="now")
    assert found["verdict"] == "no-go"
    assert "1 of 13 promises could not be proven" in report.headline(found)[1]
    assert "? could not tell" in read(found).words


def test_the_page_needs_nothing_but_itself():
    page = read(report_of(right(), id="now"))
    assert [address for address in page.loads if not address.startswith("data:image/webp;base64,")] == []
    assert "shopper 1: before the opening (-3.0 s)" in page.words


def test_hostile_names_stay_text():
    assert "Night <lamp>" not in report.page(report_of(right(), id="now"))
    assert "Rehearsal of Night <lamp> ·" in " ".join(read(report_of(right(), id="now")).words)


def test_the_chart_says_in_a_sentence_what_it_shows_and_numbers_the_faults():
    began = right().opens_ms + 3000
    page = report.page(report_of(right(faults=[fault("web-killed", began, began + 1000, touches=("web",))]), id="now"))
    [label] = re.findall(r'class="rehearsal__chart"[^>]*aria-label="([^"]*)"', page)
    assert label.startswith("Timeline of 24 seconds. Most presses in one second: 5, 0 s after the opening. Granted in all: 4.")
    assert '<g class="fault"><title>web-killed</title>' in page
    assert "(+3.0 s to +4.0 s)" in page


def test_the_seed_and_the_command_that_plays_it_again_are_there():
    words = read(report_of(right(), id="now")).words
    assert "doorman rehearse lamp --crowd 6 --units 3 --faults none --seconds 45 --seed 4711" in words


def test_a_generator_at_its_limit_says_so_itself():
    busy = outcome() | {"cpu_share": [(0, 0.97)]}
    assert report_of(right(), id="now")["generator"]["bottleneck"] is False
    found = report_of(right(), id="now", outcome=busy)["generator"]
    assert found["bottleneck"] is True and "the shop may be faster than these figures say" in found["words"].replace("\n", " ")


def test_it_stands_beside_the_latest_earlier_one_of_the_same_drop(tmp_path):
    home = tmp_path / "rehearsals"
    shelved(tmp_path, "20261130-180000-1-lamp", "lamp")
    shelved(tmp_path, "20261130-190000-1-lamp", "lamp")
    shelved(tmp_path, "20261130-193000-1-chair", "chair")
    shelved(tmp_path, "20261130-194000-1-lamp", "lamp", verdict="stopped")
    now = home / "20261130-200000-1-lamp"
    previous = report.previous_of(home, now, "lamp")
    assert previous["id"] == "20261130-190000-1-lamp"
    found = report_of(right(**OVERSOLD), id=now.name, previous=previous)["previous"]
    assert (found["verdict"], found["same_conditions"]) == ("go", True)
    [broken] = [one for one in found["figures"] if one["name"] == "promises not kept"]
    assert (broken["before"], broken["now"], broken["better"]) == (0, 1, False)
    assert report.previous_of(home, home / "20261130-170000-1-lamp", "lamp") is None


def test_other_conditions_are_said(tmp_path):
    before = report_of(right(), id="before")
    assert report_of(right(crowd=6), id="now", previous=before | {"crowd": 600})["previous"]["same_conditions"] is False


def test_both_forms_are_written_and_pictures_lie_beside_the_plain_one(tmp_path):
    folder = shelved(tmp_path, "20261130-180000-1-lamp", "lamp")
    plain = json.loads((folder / "report.json").read_text())
    assert [one["file"] for one in plain["pictures"]] == ["01.webp"]
    assert (folder / "pictures" / "01.webp").read_bytes() == WEBP
    assert "data" not in plain["pictures"][0]
    report.copy(folder, tmp_path / "kept")
    assert (tmp_path / "kept" / "report.html").read_text() == (folder / "report.html").read_text()


@pytest.mark.parametrize(("value", "text"), [(None, "–"), (12345, "12,345"), (12.0, "12"), (1234.56, "1,234.6")])
def test_numbers_are_written_for_people(value, text):
    assert report._number(value) == text
