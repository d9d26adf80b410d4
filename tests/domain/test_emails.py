import pytest

from app.domain.emails import COMMON_DOMAINS, REAL_DOMAINS, likelier, normalise, written
from app.errors import BadInput


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("ada@example.org", "ada@example.org"),
        (" Ada@Example.ORG\n", "ada@example.org"),
        ("ada+drops@example.org", "ada@example.org"),
        ("ada+a+b@example.org", "ada@example.org"),
        ("+ada@example.org", "+ada@example.org"),
        ("a.b-c_d@mail.example.co.uk", "a.b-c_d@mail.example.co.uk"),
        ("o'hara@example.org", "o'hara@example.org"),
        ("ada@xn--bcher-kva.example", "ada@xn--bcher-kva.example"),
        ("x" * 64 + "@example.org", "x" * 64 + "@example.org"),
    ],
)
def test_addresses_are_compared_without_case_and_tag(text, normal):
    assert normalise(text) == normal
    assert normalise(normal) == normal


def test_an_address_is_written_to_as_its_owner_wrote_it():
    assert written("  Ada+Drops@Example.org ") == "Ada+Drops@Example.org"


@pytest.mark.parametrize(
    "text",
    [
        "", "ada", "@example.org", "ada@", "ada@localhost", "ada@@example.org", "a b@example.org", "ada@exa mple.org",
        "ada@.org", "ada@example..org", "ada@-example.org", "ada@example-.org", ".ada@example.org", "ada.@example.org",
        "a..b@example.org",
        "ada@example.org\nBcc: x@example.org", "ada@example.org, bob@example.org", "Ada <ada@example.org>", "ada\x00@example.org",
        "ada@example.org\x00", "x" * 65 + "@example.org", "ada@" + "a." * 130 + "org", "ada@" + "a" * 64 + ".org",
        "adé@example.org", "ada@exämple.org",
    ],
)  # fmt: skip
@pytest.mark.parametrize("read", [normalise, written])
def test_what_is_no_address_is_refused(read, text):
    with pytest.raises(BadInput) as caught:
        read(text)
    assert caught.value.field == "email"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("ada@gmial.com", "ada@gmail.com"),
        ("Ada+drops@gmail.con", "Ada+drops@gmail.com"),
        ("ada@gamil.co", "ada@gmail.com"),
        ("ada@gnail.com", "ada@gmail.com"),
        ("ada@gmaill.com", "ada@gmail.com"),
        ("ada@gmail.de", "ada@gmail.com"),
        ("ada@GMAIL.CMO", "ada@gmail.com"),
        ("ada@hotmial.com", "ada@hotmail.com"),
        ("ada@outlok.com", "ada@outlook.com"),
        ("ada@yaho.com", "ada@yahoo.com"),
        ("ada@wbe.de", "ada@web.de"),
        ("ada@gmx.dee", "ada@gmx.de"),
        ("ada@t-onlin.de", "ada@t-online.de"),
        ("ada@iclod.com", "ada@icloud.com"),
    ],
)
def test_a_slip_of_the_finger_has_a_likelier_spelling(typed, meant):
    assert likelier(typed) == meant


@pytest.mark.parametrize(
    "address",
    [
        *(f"ada@{domain}" for domain in (*COMMON_DOMAINS, *sorted(REAL_DOMAINS))),
        "ada@example.org", "ada@kunsthalle.de", "ada@atelier-lind.se", "ada@uni-ulm.de", "ada@xn--mller-kva.example",
        "ada@bbc.co.uk",
    ],
)  # fmt: skip
def test_an_address_that_may_well_be_right_is_left_alone(address):
    assert likelier(address) is None
