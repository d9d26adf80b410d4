"""The languages of the shop: every sentence that a person reads goes through here.

Catalogs are gettext's (`locale/*/LC_MESSAGES/doorman.po`), read as they are when first needed; locale/README.md says how to change
them. English is the source: a sentence without a translation is shown in English, and a test fails while German lacks one.

The language of a request is chosen once, by its first door: `?lang=`, else the cookie, else Accept-Language, else English. It then
holds for everything that happens in that request's task (a context variable), so that words deep below need not be told. Whoever
draws outside a request says `with speaking(language)`.

The time zone in which times are written is held the same way: UTC, until the page's script writes them in the reader's own; on the
dashboard the shop's, for everybody who looks at it.

In development there is one more language, right to left, made from the English catalog: every sentence comes out in ⟦ ⟧, so
that a page which is not mirrored, or a sentence that does not come from here, is seen at once.
"""

import functools
import gettext as stdlib_gettext
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from babel.dates import format_date
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal, format_percent
from babel.units import format_unit

from app.domain.money import format_money, percent_of

FOLDER = Path(__file__).resolve().parents[1] / "locale"
DOMAIN = "doorman"
COOKIE = "language"
COOKIE_SECONDS = 365 * 24 * 3600
COUNTED_IN_DAYS_SECONDS = 2 * 86400  # what is further away is not counted in hours
HEADER_BYTES_MAX = 256  # of Accept-Language: what stands behind is not looked at


@dataclass(frozen=True, slots=True)
class Language:
    """`tag`: as in <html lang>, in the cookie and in the catalog's folder; `locale` and `dates`: whose rules of CLDR hold."""

    tag: str
    name: str  # in its own words
    locale: str  # money and numbers
    dates: str
    direction: str = "ltr"


ENGLISH = Language("en", "English", "en", "en_GB")  # the day before the month: read the same by everybody
GERMAN = Language("de", "Deutsch", "de", "de")
MIRRORED = Language("ar-XB", "Mirrored", "en", "en_GB", "rtl")  # the pseudo-locale: for tests and for those who draw pages

LANGUAGES = (ENGLISH, GERMAN)
_BY_TAG = {language.tag: language for language in (*LANGUAGES, MIRRORED)}

_spoken: ContextVar[Language] = ContextVar("language", default=ENGLISH)
_zone: ContextVar[tzinfo] = ContextVar("zone", default=UTC)


# ---- which language


def spoken() -> Language:
    """-> the language of this request."""
    return _spoken.get()


def speak(language: Language) -> None:
    """From here on, in this task."""
    _spoken.set(language)


@contextmanager
def speaking(language: Language) -> Iterator[None]:
    token = _spoken.set(language)
    try:
        yield
    finally:
        _spoken.reset(token)


def language_named(tag: str, *, mirrored: bool = False) -> Language | None:
    """-> the language with this tag. `mirrored`: whether the pseudo-locale may be asked for."""
    language = _BY_TAG.get(tag)
    return None if language is MIRRORED and not mirrored else language


@functools.lru_cache(1024)
def accepted(header: bytes) -> Language:
    """An Accept-Language header -> the first language of ours in the reader's order, English without any."""
    wishes = []
    for position, part in enumerate(header[:HEADER_BYTES_MAX].decode("latin-1").split(",")):
        tag, _, weight = part.strip().partition(";")
        found = re.fullmatch(r"\s*q=([01](?:\.[0-9]{0,3})?)", weight)
        quality = float(found[1]) if found else 1.0
        language = _BY_TAG.get(tag.strip().lower().partition("-")[0])
        if language in LANGUAGES and quality > 0:
            wishes.append((-quality, position, language))
    return min(wishes)[2] if wishes else ENGLISH


# ---- sentences


def _(message: str, /, **values: object) -> str:
    """-> the sentence in the language of this request."""
    text = _catalog(_spoken.get()).gettext(message) if message else ""
    return text % values if values else text


def ngettext(one: str, many: str, number: int, /, **values: object) -> str:
    """-> the sentence for this number. `%(num)s` in it is the number, written as the language writes numbers."""
    text = _catalog(_spoken.get()).ngettext(one, many, number)
    return text % {"num": count(number), **values}


def N_(message: str) -> str:  # noqa: N802 -- gettext's own name for it
    """Marks a constant for the catalog; whoever shows it translates it."""
    return message


@functools.cache
def _catalog(language: Language) -> stdlib_gettext.NullTranslations:
    if language is ENGLISH:
        return stdlib_gettext.NullTranslations()
    catalog = mirrored_catalog() if language is MIRRORED else read_catalog(language.tag)
    compiled = io.BytesIO()
    write_mo(compiled, catalog)
    compiled.seek(0)
    return stdlib_gettext.GNUTranslations(compiled)


def catalog_path(tag: str) -> Path:
    return FOLDER / tag / "LC_MESSAGES" / f"{DOMAIN}.po"


def read_catalog(tag: str) -> Catalog:
    with catalog_path(tag).open("rb") as file:
        return read_po(file, locale=tag, domain=DOMAIN)


def mirrored_catalog() -> Catalog:
    """The pseudo-locale, made from the source: the same words between brackets, marked as right to left."""
    catalog = Catalog(locale="en", domain=DOMAIN)
    for message in read_catalog(ENGLISH.tag):
        if message.id:
            ids = message.id if isinstance(message.id, tuple) else (message.id,)
            texts = tuple(f"⟦{text}\u200f⟧" for text in ids)
            catalog.add(message.id, texts if len(texts) > 1 else texts[0], flags=message.flags)
    return catalog


# ---- money, numbers, times


def money(amount_minor: int, currency: str) -> str:
    """4900, 'EUR' -> '€49.00' or '49,00\u00a0€'."""
    return format_money(amount_minor, currency, _spoken.get().locale)


def percent(basis_points: int) -> str:
    """1900 -> '19%' or '19\u00a0%'; 725 -> '7.25%' or '7,25\u00a0%'."""
    return format_percent(percent_of(basis_points) / 100, decimal_quantization=False, locale=_spoken.get().locale)


def count(number: int) -> str:
    """18904 -> '18,904' or '18.904'."""
    return str(number) if -1000 < number < 1000 else format_decimal(number, locale=_spoken.get().locale)


def number(value: float, pattern: str | None = None) -> str:
    """12345.25 -> '12,345.25' or '12.345,25'. `pattern`: CLDR's, where it is to look another way."""
    return format_decimal(value, format=pattern, locale=_spoken.get().locale)


def tenths(number: float) -> str:
    """1.25 -> '1.2' or '1,2'."""
    return format_decimal(round(number, 1), format="#,##0.0", locale=_spoken.get().locale)


def use_zone(zone: tzinfo) -> None:
    """From here on, in this task."""
    _zone.set(zone)


@contextmanager
def in_zone(zone: tzinfo) -> Iterator[None]:
    token = _zone.set(zone)
    try:
        yield
    finally:
        _zone.reset(token)


def here(moment: datetime) -> datetime:
    """-> the same moment in the zone in which times are written."""
    return moment.astimezone(_zone.get())


def when(moment: datetime) -> str:
    """-> '30 Nov 2026, 20:00 UTC', in the zone in which times are written."""
    local = here(moment)
    return f"{day(local)}, {local:%H:%M %Z}"


def clock(moment: datetime) -> str:
    """-> '20:00:00 UTC', in the zone in which times are written."""
    return f"{here(moment):%H:%M:%S %Z}"


def second(moment: datetime) -> str:
    """-> '20:00:00': where the zone is named beside it."""
    return f"{here(moment):%H:%M:%S}"


def day_of(moment: datetime) -> str:
    """-> '30 Nov 2026': the day it was in the zone in which times are written."""
    return day(here(moment))


def until(seconds: int) -> str:
    """767 -> '12:47'; 3767 -> '1:02:47'; from two days on '46 days'. As static/js/countdown.js writes it."""
    if seconds >= COUNTED_IN_DAYS_SECONDS:
        return format_unit(seconds // 86400, "day", length="long", locale=_spoken.get().locale)
    hours, minutes, rest = seconds // 3600, seconds // 60 % 60, seconds % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def day(moment: datetime) -> str:
    """-> '30 Nov 2026' or '30.11.2026', in the zone that `moment` is in."""
    return format_date(moment, "medium", locale=_spoken.get().dates)
