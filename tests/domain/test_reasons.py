"""What the shop wrote down in English is said in the reader's language; a sentence that is written anywhere is known."""

import ast
from pathlib import Path

import pytest

from app.domain.reasons import in_words, known
from app.languages import GERMAN, MIRRORED, speaking

ROOT = Path(__file__).resolve().parents[2] / "app"
# Where such sentences are written: assigned to a name, given to an exception or to a function.
ASSIGNED = ("why",)
CALLED = ("ProviderSilent", "ProviderRefused", "WarehouseSilent", "WarehouseAway", "WarehouseRefused", "NotSent", "_NotTaken",
          "money_disputed", "money_unknown", "parcel_waits", "failed")  # fmt: skip
ROOMS = ("purchase", "ledger", "payments", "fulfilment", "mail", "hooks")
NO_SENTENCES = ("payments/sandbox", "fulfilment/sandbox")


def sentence(node: ast.AST) -> str | None:
    """-> the sentence that a piece of code writes, with a 7 where a value stands; None: it writes none."""
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "7" for part in node.values)
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
        return node.value
    return None


def written_in(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Assign) and any(isinstance(target, ast.Name) and target.id in ASSIGNED for target in node.targets):
            value = node.value
            found += [sentence(part) for part in ((value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,))]
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in CALLED:
                found += [sentence(argument) for argument in node.args]
            if name == "append" and "books" in path.name:
                found += [sentence(argument) for argument in node.args]
        elif isinstance(node, ast.List) and "books" in path.name:
            found += [sentence(part) for part in node.elts]
        elif isinstance(node, ast.FunctionDef) and node.name == "_attention" and path.name == "money.py":
            found += [sentence(part.value) for part in ast.walk(node) if isinstance(part, ast.Return) and part.value]
    return [text for text in found if text and text.strip("7 :")]


def written() -> list[tuple[str, str]]:
    paths = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    texts = [(str(path.relative_to(ROOT)), text) for path in paths for text in written_in(path)]
    return [(place, text) for place, text in texts if not place.startswith(NO_SENTENCES)]


def test_every_sentence_that_is_written_anywhere_is_known():
    found = written()
    assert len(found) > 35, "the code is read another way now"
    assert [(place, text) for place, text in found if not known(text)] == []


@pytest.mark.parametrize(
    ("text", "german"),
    [
        ("no answer", "keine Antwort"),
        (
            "outcome unknown: the payment provider gave no answer within 12.5 s",
            "Ausgang unbekannt: der Zahlungsanbieter hat innerhalb von 12,5 s nicht geantwortet",
        ),
        ("captured 4900 EUR, owed 100 EUR", "49,00\u00a0€ eingegangen, 1,00\u00a0€ geschuldet"),
        (
            "variant 7: sold 1200, live orders and withdrawn units are 3",
            "Variante 7: 1.200 verkauft, laufende Bestellungen und zurückgezogene Stücke ergeben 3",
        ),
        (
            "total 12 but 3 left at the gate and 4 accounted for",
            "12 insgesamt, aber 3 übrig am Tor und 4 nachgewiesen",
        ),
    ],
)
def test_a_sentence_is_said_anew_with_its_values(text, german):
    assert known(text)
    with speaking(GERMAN):
        assert in_words(text) == german


def test_sentences_within_sentences_are_said_anew_too():
    with speaking(MIRRORED):
        said = in_words("refund not confirmed: the payment provider refused (resource_missing): No such charge")
    assert said.count("⟦") == 2
    assert "No such charge" in said and "resource_missing" in said


@pytest.mark.parametrize("text", ["550 5.1.1 No such user", "", "a" * 5000, "100% (really) \x00 %(why)s", "12 QQQ"])
def test_what_is_nobody_s_sentence_stays_as_it_is(text):
    with speaking(GERMAN):
        assert in_words(text) == text


def test_amounts_of_no_currency_stay_as_they_were_written():
    with speaking(GERMAN):
        assert "12 QQQ" in in_words("captured 12 QQQ, owed 4900 EUR")


def test_in_english_amounts_are_written_for_people_and_the_rest_stands_as_it_was():
    assert in_words("captured 4900 EUR, owed 100 EUR") == "captured €49.00, owed €1.00"
    assert in_words("the warehouse has not sent it yet") == "the warehouse has not sent it yet"
