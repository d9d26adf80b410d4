"""Names that people can see and that leave the sentence around them alone."""

import pytest

from app.domain.names import CONTROL, NOT_SEEN, TURNING, as_seen, refuse_name


@pytest.mark.parametrize(
    "name",
    [
        "Night lamp Nº 4",
        "מנורת לילה\u200f (5)",
        "می\u200cخواهم",
        "क्\u200dष",
        "👩\u200d🚀",
        "ไทย\u200bแลนด์",
        "½",
        "e\u0301",
        "★",
        "-",
    ],
)
def test_what_people_read_is_a_name(name):
    assert refuse_name(name) == ""


@pytest.mark.parametrize(
    "name",
    [
        " ",
        "\u00a0",
        "\u200b",
        "\u200b\u200d\u2060\ufeff",
        "\u00ad",
        "\u3164",
        "\u2800",
        "\u115f\u1160",
        "\u0301",
        "\ufe0f",
        "\U000e0041",
        "\u180e",
    ],
)
def test_what_nobody_sees_is_none(name):
    assert refuse_name(name) == NOT_SEEN


@pytest.mark.parametrize("turn", "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
def test_what_turns_the_writing_is_refused_wherever_it_stands(turn):
    for name in (turn, f"{turn}Lamp", f"La{turn}mp", f"Lamp{turn}"):
        assert refuse_name(name) == TURNING


@pytest.mark.parametrize("control", ["\n", "\r", "\t", "\x00", "\x1b", "\x7f", "\x85", "\u2028", "\u2029", "\ud800"])
def test_control_characters_are_refused(control):
    assert refuse_name(f"La{control}mp") == CONTROL


def test_two_names_that_look_alike_are_one():
    assert as_seen("M") == as_seen("M\u200b") == as_seen(" M\u3164") != as_seen("m")
    assert as_seen("e\u0301") == as_seen("é")
