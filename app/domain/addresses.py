"""Where a parcel goes: what was typed becomes an address, or a sentence about the field that is wrong. Pure.

Only what every parcel needs is asked for: a name, a street, a town, a country, and a postal code where the country has them. The
postal codes of some countries are checked and written the way their carriers want them; of others any short code is taken.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from babel import Locale

from app.errors import BadInput
from app.languages import N_

LINE_CHARACTERS_MAX = 100
POSTCODE_CHARACTERS_MAX = 12
NO_COUNTRIES = frozenset({"EU", "EZ", "QO", "UN", "XA", "XB", "ZZ"})  # of CLDR's two-letter territories
COUNTRIES = frozenset(
    code for code in Locale.parse("en").territories if len(code) == 2 and code.isalpha() and code not in NO_COUNTRIES
)
WITHOUT_POSTCODES = frozenset("AE AG AO BS BZ FJ GH HK IE JM KE MO PA QA RW UG ZW".split())
CONTROL_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})  # joiners (Cf) stay: scripts and emoji need them
POSTCODES = {  # country -> what one looks like without spaces and dashes, and how it is written
    "AT": (r"(\d{4})", "{0}"),
    "BE": (r"(\d{4})", "{0}"),
    "CA": (r"([A-Z]\d[A-Z])(\d[A-Z]\d)", "{0} {1}"),
    "CH": (r"(\d{4})", "{0}"),
    "DE": (r"(\d{5})", "{0}"),
    "DK": (r"(\d{4})", "{0}"),
    "ES": (r"(\d{5})", "{0}"),
    "FR": (r"(\d{5})", "{0}"),
    "GB": (r"([A-Z]{1,2}\d[A-Z\d]?)(\d[A-Z]{2})", "{0} {1}"),
    "IT": (r"(\d{5})", "{0}"),
    "JP": (r"(\d{3})(\d{4})", "{0}-{1}"),
    "NL": (r"(\d{4})([A-Z]{2})", "{0} {1}"),
    "NO": (r"(\d{4})", "{0}"),
    "PL": (r"(\d{2})(\d{3})", "{0}-{1}"),
    "SE": (r"(\d{3})(\d{2})", "{0} {1}"),
    "US": (r"(\d{5})(\d{4})?", "{0}-{1}"),
}
ASKED = {  # the sentence when a field that is needed is empty
    "name": N_("Whose name is on the bell?"),
    "street": N_("Which street and number?"),
    "town": N_("Which town?"),
    "country": N_("Which country?"),
    "postcode": N_("Which postal code?"),
}


@dataclass(frozen=True, slots=True)
class Address:
    name: str
    street: str
    more: str  # floor, company, care of; may be empty
    postcode: str  # "" where the country has none
    town: str
    region: str  # state or province; may be empty
    country: str  # ISO 3166-1 alpha-2

    @property
    def lines(self) -> list[str]:
        """-> the address as it stands on a parcel, without the country."""
        town = " ".join(filter(None, (self.postcode, self.town)))
        return [line for line in (self.name, self.street, self.more, ", ".join(filter(None, (town, self.region)))) if line]


FIELDS = tuple(field.name for field in fields(Address))


def address_from(typed: Mapping[str, object]) -> Address:
    """Form fields or JSON members -> the address; BadInput names the first field that is wrong."""
    found = {name: _line(name, typed.get(name, "")) for name in FIELDS}
    for name in ("name", "street", "town", "country"):
        if not found[name]:
            raise BadInput(ASKED[name], field=name)
    found["country"] = found["country"].upper()
    if found["country"] not in COUNTRIES:
        raise BadInput(N_("Choose a country from the list."), field="country")
    found["postcode"] = _postcode(found["postcode"], found["country"])
    return Address(**found)


def is_control(character: str) -> bool:
    return character != "\t" and unicodedata.category(character) in CONTROL_CATEGORIES


def as_stored(address: Address) -> dict[str, str]:
    return asdict(address)


def _line(name: str, value: object) -> str:
    if not isinstance(value, str) or len(value) > LINE_CHARACTERS_MAX or any(map(is_control, value)):
        raise BadInput(N_("A line of an address has at most 100 characters."), field=name)
    return " ".join(value.split())


def _postcode(typed: str, country: str) -> str:
    if not typed:
        if country in WITHOUT_POSTCODES:
            return ""
        raise BadInput(ASKED["postcode"], field="postcode")
    if country not in POSTCODES:
        if len(typed) > POSTCODE_CHARACTERS_MAX:
            raise BadInput(N_("This is no postal code of that country."), field="postcode")
        return typed.upper()
    pattern, written = POSTCODES[country]
    found = re.fullmatch(pattern, re.sub(r"[\s-]", "", typed.upper().removeprefix(f"{country}-")))
    if found is None:
        raise BadInput(N_("This is no postal code of that country."), field="postcode")
    return written.format(*(part or "" for part in found.groups())).rstrip("- ")
