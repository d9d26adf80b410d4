"""One request as the doors need it: its headers read once, its body whole, who asks, and what kind of answer is wanted.

The guard makes it and puts it into the ASGI scope under SCOPE_KEY; raw and routed paths read nothing but this.
"""

from typing import Any
from urllib.parse import parse_qsl

import msgspec

from app import languages
from app.errors import BadInput
from app.web.session import Session

SCOPE_KEY = "doorman"
FIELDS_MAX = 32
CONTROL = frozenset(map(chr, [*range(0x20), 0x7F])) - {"\t", "\n", "\r"}  # what no field may hold

LANGUAGE_COOKIE = languages.COOKIE.encode()

FORM = b"application/x-www-form-urlencoded"
JSON = b"application/json"


class Call:
    """Filled by the guard. Header values are bytes as they came, b"" when absent."""

    __slots__ = (
        "accept",
        "address",
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
        "session",
    )

    def __init__(self, scope: dict[str, Any]):
        self.path: str = scope["path"]
        self.query_string: bytes = scope["query_string"]
        self.body = b""
        self.session: Session | None = None
        self.card_form = False  # the answer is the page with the payment provider's card form: the policy lets that in
        self.address = ""
        self.host = self.origin = self.fetch_site = self.accept = self.cookie = self.content_type = self.content_length = b""
        self.forwarded_for = self.authorization = b""
        self.key: bytes | None = None
        self.partial = False
        accept_language = b""
        self.repeated = False  # a header that must stand alone came twice
        for name, value in scope["headers"]:
            if name == b"host":
                self.repeated |= bool(self.host)
                self.host = value
            elif name == b"cookie":
                self.cookie = self.cookie + b"; " + value if self.cookie else value
            elif name == b"origin":
                self.repeated |= bool(self.origin)
                self.origin = value
            elif name == b"sec-fetch-site":
                self.fetch_site = value
            elif name == b"accept":
                self.accept = value
            elif name == b"content-type":
                self.content_type = value
            elif name == b"content-length":
                self.content_length = value
            elif name == b"idempotency-key":
                self.repeated |= self.key is not None
                self.key = value
            elif name == b"accept-language":
                accept_language = value
            elif name == b"hx-request-type":
                self.partial = value == b"partial"
            elif name == b"authorization":
                self.authorization = value
            elif name == b"x-forwarded-for":
                self.forwarded_for = self.forwarded_for + b"," + value if self.forwarded_for else value
        self.language = languages.accepted(accept_language)

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
        return JSON in self.accept or (self.sends_json and b"text/html" not in self.accept)

    @property
    def sends_json(self) -> bool:
        return self.content_type.partition(b";")[0].strip().lower() == JSON

    @property
    def sends_form(self) -> bool:
        return self.content_type.partition(b";")[0].strip().lower() == FORM

    def query(self, name: str) -> str:
        """-> the query parameter's value, "" when absent (the guard has refused a query that is not UTF-8)."""
        pairs = parse_qsl(self.query_string.decode("ascii", "replace")) if self.query_string else ()
        return next((value for found, value in pairs if found == name), "")

    def fields(self) -> dict[str, Any]:
        """-> the body's fields: text for a form, JSON values for JSON; BadInput for a body that is not what it says it is."""
        if self.sends_json:
            fields = read_json(self.body)
        elif self.sends_form or not self.body:
            fields = read_form(self.body)
        else:
            raise UnsupportedMedia("send a form (application/x-www-form-urlencoded) or JSON")
        return fields

    def text_field(self, name: str, characters_max: int) -> str:
        """-> the field as text, "" when absent; BadInput names the field when it is not text or too long."""
        value = self.fields().get(name, "")
        if not isinstance(value, str) or len(value) > characters_max:
            raise BadInput(f"{name} must be text of at most {characters_max} characters", field=name)
        return value


def cookie_named(header: bytes, name: str) -> str:
    """The Cookie header -> the value of the first cookie of this name, "" without one."""
    wanted = name.encode()
    for pair in header.split(b";"):
        found, _, value = pair.strip().partition(b"=")
        if found == wanted:
            return value.decode("latin-1")
    return ""


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
            raise BadInput(f"{name} holds control characters", field=name[:80])
    return fields


def read_form(body: bytes) -> dict[str, str]:
    """The bytes of a form -> its fields. A field given twice is a mistake or an attack, never a choice of ours."""
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX)
    except ValueError as error:  # not ASCII, not UTF-8 once unquoted, or too many fields
        raise BadInput("the form is not valid: percent-encoded UTF-8 and at most 32 fields") from error
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise BadInput("a field of the form was given twice")
    for name, value in pairs:
        if not CONTROL.isdisjoint(value):
            raise BadInput(f"{name} holds control characters", field=name[:80])
    return fields
