"""Every sentence has its German, German keeps every placeholder, and the rules of numbers, money and dates are the reader's."""

import re
import runpy
from datetime import UTC, datetime

import pytest

from app.languages import (
    ENGLISH,
    GERMAN,
    MIRRORED,
    _,
    accepted,
    count,
    day,
    language_named,
    money,
    ngettext,
    read_catalog,
    speaking,
    spoken,
    when,
)
from app.web.render import ROOT

MESSAGES = runpy.run_path(str(ROOT / "bin/messages"))
MOMENT = datetime(2026, 11, 3, 20, 5, tzinfo=UTC)
PLACEHOLDER = re.compile(r"%\(\w+\)s|\{n\}")


def ids(catalog) -> set:
    return {message.id for message in catalog if message.id}


def test_the_catalogs_hold_the_sentences_that_stand_in_the_code():
    collected = ids(MESSAGES["collected"]())
    assert len(collected) > 150
    for language in (ENGLISH, GERMAN):
        assert ids(read_catalog(language.tag)) == collected, "run .venv/bin/python bin/messages"


def test_every_sentence_has_its_german():
    assert MESSAGES["untranslated"](read_catalog(GERMAN.tag)) == []


def test_a_sentence_without_a_translation_is_named():
    catalog = MESSAGES["collected"]()
    catalog.add("A sentence that nobody has translated.")
    assert "A sentence that nobody has translated." in MESSAGES["untranslated"](catalog)


def test_german_keeps_every_placeholder_and_never_shouts():
    for message in read_catalog(GERMAN.tag):
        if message.id:
            wanted = message.id if isinstance(message.id, tuple) else (message.id,)
            for text in MESSAGES["texts"](message):
                assert "!" not in text
                assert any(sorted(PLACEHOLDER.findall(text)) == sorted(PLACEHOLDER.findall(one)) for one in wanted), message.id


@pytest.mark.parametrize(
    ("header", "language"),
    [
        (b"", ENGLISH),
        (b"de", GERMAN),
        (b"de-AT,de;q=0.9,en;q=0.8", GERMAN),
        (b"en-US,en;q=0.9,de;q=0.8", ENGLISH),
        (b"fr, en;q=0.5, de;q=0.7", GERMAN),
        (b"DE-ch", GERMAN),
        (b"de;q=0", ENGLISH),
        (b"fr,*;q=0.1", ENGLISH),
        (b"ar-XB", ENGLISH),
        (b"de;q=x,\xff;;q=,,", GERMAN),
        (b"," * 10_000, ENGLISH),
    ],
)
def test_the_browser_says_which_languages_its_reader_knows(header, language):
    assert accepted(header) is language


def test_the_mirrored_language_is_for_development_only():
    assert language_named("ar-XB") is None
    assert language_named("ar-XB", mirrored=True) is MIRRORED
    assert language_named("xx", mirrored=True) is None


def test_sentences_follow_the_language_that_is_spoken():
    assert _("Sold out") == "Sold out"
    with speaking(GERMAN):
        assert spoken() is GERMAN
        assert _("Sold out") == "Ausverkauft"
        assert _("Order and pay %(amount)s", amount="5") == "Zahlungspflichtig bestellen: 5"
        assert ngettext("%(num)s person at the door.", "%(num)s people at the door.", 18_904) == "18.904 Leute an der Tür."
        assert ngettext("%(num)s person at the door.", "%(num)s people at the door.", 1) == "1 Person an der Tür."
    with speaking(MIRRORED):
        assert _("Sold out") == "⟦Sold out\u200f⟧"
        assert _("Order and pay %(amount)s", amount="5") == "⟦Order and pay 5\u200f⟧"
    assert spoken() is ENGLISH


def test_what_is_nobody_s_sentence_passes_through():
    with speaking(GERMAN):
        assert _("Brass") == "Brass" and _("") == ""


@pytest.mark.parametrize(
    ("minor", "currency", "english", "german"),
    [
        (80, "JPY", "¥80", "80\u00a0¥"),
        (1250, "KWD", "KWD\u00a01.250", "1,250\u00a0KWD"),
        (1999, "EUR", "€19.99", "19,99\u00a0€"),
        (123_456, "EUR", "€1,234.56", "1.234,56\u00a0€"),
    ],
)
def test_money_has_the_decimals_of_its_currency_and_the_signs_of_the_reader(minor, currency, english, german):
    assert money(minor, currency) == english
    with speaking(GERMAN):
        assert money(minor, currency) == german


def test_times_name_their_zone_and_days_read_one_way_only():
    assert when(MOMENT) == "3 Nov 2026, 20:05 UTC"
    assert (day(MOMENT), count(18_904), count(999)) == ("3 Nov 2026", "18,904", "999")
    with speaking(GERMAN):
        assert when(MOMENT) == "03.11.2026, 20:05 UTC"
        assert (day(MOMENT), count(18_904)) == ("03.11.2026", "18.904")
