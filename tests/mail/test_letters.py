"""Every kind of mail has words, as text and as HTML, with a link that leads to where its reader must go."""

import re
from datetime import UTC, datetime
from types import SimpleNamespace
from uuid import uuid4

import pytest

from app.domain.links import link_key, order_link
from app.mail.letters import TEMPLATES, Letters

KINDS = sorted(path.stem for path in TEMPLATES.glob("[a-z]*.html"))
ABOUT_A_DROP = [kind for kind in KINDS if kind != "second_factor"]
LETTERS = Letters("https://shop.example")
PAY = {"hold", "declined", "expires_soon", "your_turn"}


def message(kind, *, order=True, language="en", **facts):
    facts = {
        "drop_slug": "night-lamp", "drop_title": "Night <b>lamp</b>\nNo 4", "shop_name": "Atelier & Co", "variant": "Brass",
        "quantity": 2, "amount_minor": 9800, "currency": "EUR", "pay_by": datetime(2026, 11, 30, 20, 0, tzinfo=UTC),
        "attempts_left": 2, "order_reason": None, "charged": False, "closes_at": None, "offer_seconds": 600.0, "waitlist": "offers",
        "opens": "20:00 UTC", "opens_at": "2026-12-01T20:00:00Z", "place_number": 7, "tracking": "SBX000000001",
        "shipping_minor": 490, "tax_basis_points": 1900, "invoiced": True, "ships_for_fee": True,
        "why": "seller", "returned_minor": 4900, "code": "012345", "minutes": 10,
        "asked_at": datetime(2026, 11, 30, 19, 0, tzinfo=UTC), **facts,
    }  # fmt: skip
    return SimpleNamespace(
        kind=kind, order_id=uuid4() if order else None, language=language, subject=None, body_text=None, body_html=None, facts=facts
    )


def test_the_kinds_of_the_outbox_all_have_words():
    from pathlib import Path

    sources = "".join(path.read_text() for path in Path("app/ledger").rglob("*") if path.suffix in (".py", ".sql"))
    told = set(re.findall(r'tell\(ask, [^,]+, "(\w+)"', sources)) | set(re.findall(r'offer="(\w+)"', sources))
    told |= {"hold", "your_turn", "refused", "waitlist_joined", "waitlist_closed", "drop_cancelled", "units_back", "expires_soon"}
    told |= {"money_back", "opens_soon", "sign_in_code", "opening_moved", "second_factor"}
    assert set(KINDS) == told


@pytest.mark.parametrize("kind", ABOUT_A_DROP)
def test_a_mail_is_one_line_of_subject_and_the_same_words_twice(kind):
    letter = LETTERS.write(message(kind))
    assert letter.subject and "\n" not in letter.subject
    assert letter.html.startswith("<!doctype html>") and "<b>lamp</b>" not in letter.html
    assert "Atelier &amp; Co" in letter.html and "Atelier & Co" in letter.text
    assert "{{" not in letter.text and "None" not in letter.text
    if kind == "sign_in_code":
        assert (
            "href" not in letter.html and "012345" in letter.html and "012345" in letter.text
        )  # nobody learns to follow one from it
    else:
        link = re.search(r"https://\S+/(orders|drops)/\S+|https://shop.example", letter.text)[0]
        assert f'href="{link}"' in letter.html


@pytest.mark.parametrize("kind", sorted(PAY))
def test_a_mail_about_a_hold_says_until_when_and_leads_straight_to_paying(kind):
    told = message(kind)
    letter = LETTERS.write(told)
    assert f"https://shop.example/orders/{told.order_id}" in letter.text
    assert "20:00 UTC" in " ".join(letter.text.split())


@pytest.mark.parametrize("kind", [*sorted(PAY), "confirmation", "drop_cancelled", "money_back", "parcel_sent"])
def test_a_mail_about_an_order_finds_it_on_any_device(kind):
    told = message(kind)
    letter = Letters("https://shop.example", "s" * 32).write(told)
    link = "https://shop.example" + order_link(link_key("s" * 32), told.order_id)
    assert link in letter.text and f'href="{link}"' in letter.html


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize(
    ("change", "subject", "sentence"),
    [
        (
            {"what_changed": "set_up"},
            {"en": "was set up", "de": "wurde eingerichtet"},
            {"en": "From now on the codes of an app", "de": "Ab jetzt"},
        ),
        (
            {"what_changed": "removed", "itself": True},
            {"en": "was removed", "de": "wurde entfernt"},
            {"en": "in your name, to be set up anew", "de": "in deinem Namen"},
        ),
        (
            {"what_changed": "removed", "itself": False},
            {"en": "was removed", "de": "wurde entfernt"},
            {"en": "Whoever runs https://shop.example", "de": "Wer https://shop.example betreibt"},
        ),
        (
            {"what_changed": "codes_renewed"},
            {"en": "codes for the dashboard were renewed", "de": "wurden erneuert"},
            {"en": "The earlier ones do not work", "de": "Die früheren gelten nicht mehr."},
        ),
        (
            {"what_changed": "code_used", "left": 1},
            {"en": "was used", "de": "wurde benutzt"},
            {"en": "1 recovery code left.", "de": "Noch 1 Ersatzcode."},
        ),
        (
            {"what_changed": "passkey_added", "passkey": "Key ring"},
            {"en": "was added", "de": "wurde hinzugefügt"},
            {"en": "“Key ring” was added", "de": "„Key ring“ wurde"},
        ),
        (
            {"what_changed": "passkey_removed", "passkey": "Key ring"},
            {"en": "was removed", "de": "wurde entfernt"},
            {"en": "opens nothing there any more", "de": "öffnet dort nichts mehr"},
        ),
    ],
)
def test_a_change_of_the_second_factor_is_told_in_its_readers_language(language, change, subject, sentence):
    at = {"changed_at": "2026-12-01T20:00:00Z"}
    letter = LETTERS.write(message("second_factor", order=False, language=language, drop_slug=None, shop_name=None, **change, **at))
    assert subject[language] in letter.subject and "\n" not in letter.subject
    text = " ".join(letter.text.split())
    for body in (text, letter.html):
        assert sentence[language] in body and "20:00 UTC" in body and "https://shop.example/seller" in body
    assert text.endswith("Doorman https://shop.example") and f'lang="{language}"' in letter.html
    assert {"en": "If that was not you", "de": "Warst du das nicht"}[language] in text


def test_the_mail_of_a_place_leads_to_the_drop():
    assert "https://shop.example/drops/night-lamp" in LETTERS.write(message("waitlist_joined", order=False)).text


def test_money_that_was_taken_is_said_to_come_back():
    assert "goes back" in LETTERS.write(message("expired", charged=True)).text
    assert "not charged" in LETTERS.write(message("expired")).text


def test_a_message_that_is_written_already_is_taken_as_it_is():
    stored = message("sign_in_code")
    stored.subject, stored.body_text, stored.body_html = "s", "t", "<p>h</p>"
    assert LETTERS.write(stored) == ("s", "t", "<p>h</p>")


@pytest.mark.parametrize(
    ("why", "words"),
    [
        ("late", "after your hold had ended"),
        ("drop_cancelled", "cancelled this drop"),
        ("seller", "The seller returns money"),
        ("mismatch", "does not match your order"),
        ("foreign", "does not match your order"),
    ],
)
def test_money_that_went_back_is_said_with_its_amount_and_why(why, words):
    letter = LETTERS.write(message("money_back", why=why, returned_minor=80, currency="JPY"))
    assert words in " ".join(letter.text.split()) and "¥80" in letter.text


def test_a_parcel_on_its_way_names_its_tracking_number():
    assert "SBX7" in LETTERS.write(message("parcel_sent", tracking="SBX7")).text
