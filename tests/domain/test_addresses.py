"""What was typed becomes an address, or a sentence about the field that is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.addresses import COUNTRIES, FIELDS, POSTCODES, Address, address_from, as_stored
from app.errors import BadInput

TYPED = {"name": "Zoë 👩‍🚀", "street": " Torsgatan  1 ", "postcode": "11362", "town": "Stockholm", "country": "se"}


def test_an_address_is_tidied():
    address = address_from(TYPED)
    assert address == Address("Zoë 👩‍🚀", "Torsgatan 1", "", "113 62", "Stockholm", "", "SE")
    assert address.lines == ["Zoë 👩‍🚀", "Torsgatan 1", "113 62 Stockholm"]
    assert address_from(as_stored(address)) == address


@pytest.mark.parametrize("field", ["name", "street", "town", "country", "postcode"])
def test_what_every_parcel_needs_is_asked_for_by_name(field):
    for empty in ("", "   "):
        with pytest.raises(BadInput) as refused:
            address_from(TYPED | {field: empty})
        assert refused.value.field == field
    with pytest.raises(BadInput):
        address_from({name: value for name, value in TYPED.items() if name != field})


@pytest.mark.parametrize(
    ("country", "typed", "written"),
    [
        ("DE", "10115", "10115"),
        ("DE", "D-1011", None),
        ("DE", "DE-10115", "10115"),
        ("GB", "sw1a1aa", "SW1A 1AA"),
        ("GB", "SW1A", None),
        ("US", "94107", "94107"),
        ("US", "94107 1234", "94107-1234"),
        ("US", "9410", None),
        ("NL", "1012ab", "1012 AB"),
        ("JP", "1000001", "100-0001"),
        ("CA", "k1a 0b1", "K1A 0B1"),
        ("BR", "01310-100", "01310-100"),
        ("BR", "x" * 13, None),
        ("HK", "", ""),
        ("IE", "D02 X285", "D02 X285"),
    ],
)
def test_postal_codes_are_written_as_their_country_writes_them(country, typed, written):
    address = TYPED | {"country": country, "postcode": typed}
    if written is None:
        with pytest.raises(BadInput) as refused:
            address_from(address)
        assert refused.value.field == "postcode"
    else:
        assert address_from(address).postcode == written


@pytest.mark.parametrize("country", ["XX", "ZZ", "EU", "Germany", "D", 7, None])
def test_a_country_is_one_of_the_list(country):
    with pytest.raises(BadInput) as refused:
        address_from(TYPED | {"country": country})
    assert refused.value.field == "country"


@given(st.dictionaries(st.sampled_from(FIELDS), st.one_of(st.text(max_size=120), st.integers(), st.none())))
def test_anything_at_all_is_an_address_or_a_sentence(typed):
    try:
        address = address_from({**TYPED, **typed})
    except BadInput as error:
        assert error.field in FIELDS and str(error)
    else:
        assert not any("\n" in line or "\0" in line or line != line.strip() for line in address.lines)
        assert address_from(as_stored(address)) == address


def test_the_countries_are_the_worlds():
    assert COUNTRIES >= POSTCODES.keys() and {"TW", "XK", "PS"} <= COUNTRIES and 240 < len(COUNTRIES) < 270
