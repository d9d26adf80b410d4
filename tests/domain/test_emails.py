import pytest

from app.domain.emails import normalise, written
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
