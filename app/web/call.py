"""One request as the doors need it: its headers read once, its body whole, who asks, and what kind of answer is wanted.

The guard makes it and puts it into the ASGI scope under SCOPE_KEY; raw and routed paths read nothing but this.
"""

import functools
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from app import languages
from app.errors import BadInput
from app.languages import _
from app.web.session import Session

SCOPE_KEY = "doorman"
FIELDS_MAX = 32
SELLER_PREFIX = "/seller/"  # people at work, with longer forms
API_PREFIX = "/api/v1/"  # their programs
SELLER_FIELDS_MAX = 1000
CONTROL = frozenset(map(chr, [*range(0x20), 0x7F])) - {"\t", "\n", "\r"}  # what no field may hold

ALONE = frozenset({b"host", b"origin", b"idempotency-key"})  # headers that must not come twice
JOINED_BY = {b"cookie": b"; ", b"x-forwarded-for": b","}
MEDIA_TYPES_CACHED = 256

LANGUAGE_COOKIE = languages.COOKIE.encode()

FORM = b"application/x-www-form-urlencoded"
JSON = b"application/json"
NO_WEIGHT = re.compile(rb"(?:^|;)\s*q=0(?:\.0{0,3})?\s*(?:;|$)")


class Call:
    """Filled by the guard. Header values are bytes as they came, b"" when absent."""

    __slots__ = (
        "_fields",
        "accept",
        "address",
        "asked",
        "authorization",
        "body",
        "card_form",
        "content_length",
        "content_type",
        "cookie",
        "fetch_site",
        "forwarded_for",
        "host",
        "key",
        "language",
        "origin",
        "partial",
        "path",
        "query_string",
        "repeated",
        "send",
        "session",
    )

    def __init__(self, scope: dict[str, Any]):
        self.path: str = scope["path"]
        self.query_string: bytes = scope["query_string"]
        self.body = b""
        self.session: Session | None = None
        self._fields: dict[str, Any] | None = None  # once they are read
        self.asked = False  # the gate was asked already, and its reply was lost
        self.card_form = False  # the answer is the page with the payment provider's card form: the policy lets that in
        self.address = ""
        self.send: Any = None  # the server's own, of a request: whoever must cut the connection asks behind it
        sent = scope["headers"]
        headers = dict(sent)
        self.repeated = False  # a header that must stand alone came twice
        if len(headers) != len(sent):
            headers, self.repeated = joined(sent)
        told = headers.get
        self.host = told(b"host", b"")
        self.cookie = told(b"cookie", b"")
        self.origin = told(b"origin", b"")
        self.fetch_site = told(b"sec-fetch-site", b"")
        self.accept = told(b"accept", b"")
        self.content_type = told(b"content-type", b"")
        self.content_length = told(b"content-length", b"")
        self.forwarded_for = told(b"x-forwarded-for", b"")
        self.authorization = told(b"authorization", b"")
        self.key: bytes | None = told(b"idempotency-key")
        self.partial = told(b"hx-request-type") == b"partial"
        self.language = languages.accepted(told(b"accept-language", b""))

    def choose_language(self, mirrored: bool) -> bool:
        """The reader's own choice, by `?lang=` or by the cookie of an earlier one, wins over what the browser asks for.

        -> whether the choice was made now. `mirrored`: whether the pseudo-locale may be chosen.
        """
        if b"lang=" in self.query_string:
            chosen = languages.language_named(self.query("lang"), mirrored=mirrored)
            if chosen is not None:
                self.language = chosen
                return True
        if LANGUAGE_COOKIE in self.cookie:
            for pair in self.cookie.split(b";"):
                name, _, value = pair.strip().partition(b"=")
                if name == LANGUAGE_COOKIE:
                    self.language = languages.language_named(value.decode("latin-1"), mirrored=mirrored) or self.language
        return False

    @property
    def wants_json(self) -> bool:
        """JSON for those who ask for it by name, and for programs that send it (a browser's */* is HTML)."""
        if b"q=0" in self.accept:  # hardly anybody says what they do not want
            return self.accepts(JSON) or (self.sends_json and not self.accepts(b"text/html"))
        return JSON in self.accept or (self.sends_json and b"text/html" not in self.accept)

    def accepts(self, wanted: bytes) -> bool:
        """Does Accept name this media type, and not with a weight of nought?"""
        for part in self.accept.split(b","):
            named, _, parameters = part.partition(b";")
            if named.strip().lower() == wanted:
                return NO_WEIGHT.search(parameters) is None
        return False

    @property
    def sends_json(self) -> bool:
        return self.content_type != FORM and media_type(self.content_type) == JSON

    @property
    def sends_form(self) -> bool:
        return self.content_type == FORM or media_type(self.content_type) == FORM

    def query(self, name: str) -> str:
        """-> the query parameter's value, "" when absent (the guard has refused a query that is not UTF-8)."""
        pairs = parse_qsl(self.query_string.decode("ascii", "replace")) if self.query_string else ()
        return next((value for found, value in pairs if found == name), "")

    def fields(self) -> dict[str, Any]:
        """-> the body's fields: text for a form, JSON values for JSON; BadInput for a body that is not what it says it is."""
        if self._fields is not None:
            return self._fields
        if self.sends_json:
            fields = read_json(self.body)
        elif self.sends_form or not self.body:
            fields = read_form(self.body, SELLER_FIELDS_MAX if self.path.startswith(SELLER_PREFIX) else FIELDS_MAX)
        else:
            raise UnsupportedMedia("send a form (application/x-www-form-urlencoded) or JSON")
        self._fields = fields
        return fields

    def text_field(self, name: str, characters_max: int) -> str:
        """-> the field as text, "" when absent; BadInput names the field when it is not text or too long."""
        value = self.fields().get(name, "")
        if not isinstance(value, str) or len(value) > characters_max:
            too_long = _("%(field)s must be text of at most %(characters)s characters.", field=name, characters=characters_max)
            raise BadInput(too_long, field=name)
        return value


def cookie_named(header: bytes, name: str) -> str:
    """The Cookie header -> the value of the first cookie of this name, "" without one."""
    wanted = name.encode()
    for pair in header.split(b";"):
        found, _, value = pair.strip().partition(b"=")
        if found == wanted:
            return value.decode("latin-1")
    return ""


def joined(headers: Iterable[tuple[bytes, bytes]]) -> tuple[dict[bytes, bytes], bool]:
    """Headers of which some came more than once -> (one value each, whether one did that must stand alone)."""
    found: dict[bytes, bytes] = {}
    repeated = False
    for name, value in headers:
        if name in found and name in JOINED_BY:
            value = found[name] + JOINED_BY[name] + value
        repeated |= name in found and name in ALONE
        found[name] = value
    return found, repeated


@functools.lru_cache(MEDIA_TYPES_CACHED)
def media_type(content_type: bytes) -> bytes:
    """b'Text/HTML; charset=x' -> b'text/html'."""
    return content_type.partition(b";")[0].strip().lower()


class UnsupportedMedia(BadInput):
    """The body is neither a form nor JSON (415)."""


_json_object = msgspec.json.Decoder(dict[str, Any])


def read_json(body: bytes) -> dict[str, Any]:
    try:
        fields = _json_object.decode(body)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise BadInput("the body is not a JSON object") from error
    for name, value in fields.items():
        if isinstance(value, str) and not CONTROL.isdisjoint(value):
            raise BadInput(_("%(field)s holds control characters.", field=name[:80]), field=name[:80])
    return fields


def read_form(body: bytes, fields_max: int = FIELDS_MAX) -> dict[str, str]:
    """The bytes of a form -> its fields. A field given twice is a mistake or an attack, never a choice of ours."""
    try:
        text = body.decode("ascii")
        if "%" in text or "+" in text or text.count("&") >= fields_max:
            pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=fields_max)
        else:  # nothing to unquote, as in our own forms: the same pairs at a third of the cost
            pairs = [field.partition("=")[::2] for field in text.split("&") if field]
    except ValueError as error:  # not ASCII, not UTF-8 once unquoted, or too many fields
        invalid = _("The form is not valid: percent-encoded UTF-8 and at most %(fields)s fields.", fields=fields_max)
        raise BadInput(invalid) from error
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise BadInput("a field of the form was given twice")
    if "%" in text or not text.isprintable():
        for name, value in pairs:
            if not CONTROL.isdisjoint(value):
                raise BadInput(_("%(field)s holds control characters.", field=name[:80]), field=name[:80])
    return fields
