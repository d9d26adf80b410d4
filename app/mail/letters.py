"""Mails in words: a message of the outbox becomes a subject, a plain text and an HTML body, in its reader's language.

One template per kind (templates/mail/KIND.html) holds its sentences once, in three blocks: `subject`, `title` and `body`. Both
bodies are made of it: `p(sentence)`, `button(label, url)` and `digits(code)` draw a piece of the one or the other, `_layout.html`
and `_layout.txt` put the shop around them. What a template may say: the columns of the ledger's view `letters`, the message's own
data, `what` (the piece with its variant and number), `link_url` (the order on any device, where it can be paid without
signing in), `drop_url` and `shop_url`; in a mail about no drop, to somebody who works here, `seller_url` and `shop_url`.

Guarantees: a mail says what the ledger says now; links start with the public address, never with a request's; a subject is one
line; everything in the HTML is escaped. A message that was written already is taken as it is.
"""

import textwrap
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol
from uuid import UUID

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from app import languages
from app.domain.invoices import tax_line
from app.domain.links import link_key, order_link

TEMPLATES = Path(__file__).resolve().parents[2] / "templates" / "mail"
TEXT_CHARACTERS = 76  # of a line of plain text
INSTALLATION = "Doorman"  # who writes where no seller does
MOMENTS = ("opens_at", "changed_at")  # out of the message's JSON, where a moment is text
STANDARD = ("", "Standard")  # variants of a drop that has only one and did not name it


class Letter(NamedTuple):
    subject: str
    text: str
    html: str


class Unwritten(Protocol):
    """A message of the outbox. `subject`, `body_text`, `body_html` None: to be written from `facts`."""

    kind: str
    order_id: UUID | None
    language: str
    subject: str | None
    body_text: str | None
    body_html: str | None
    facts: Mapping[str, object]


class Letters:
    """Writes the mails of one installation."""

    def __init__(self, public_url: str, secret: str = "", templates: Path = TEMPLATES):
        """`secret`: the installation's, for the secret links of orders; without one mails lead to the order's own page."""
        self._public_url = public_url
        self._link_key = link_key(secret) if secret else None
        self._html = _environment(templates, autoescape=True, p=_html_paragraph, button=_html_button, digits=_html_digits)
        self._text = _environment(templates, autoescape=False, p=_text_paragraph, button=_text_button, digits=_text_digits)

    def write(self, message: Unwritten) -> Letter:
        """-> the mail; jinja2.TemplateError for a kind nobody has words for."""
        if message.subject is not None:
            return Letter(message.subject, message.body_text, message.body_html)
        with languages.speaking(languages.language_named(message.language) or languages.ENGLISH):
            return self._letter(message.kind, self._facts(message))

    def write_now(self, kind: str, **facts: object) -> Letter:
        """-> a mail about nothing that the ledger knows, in the language of the request."""
        return self._letter(kind, {"shop_name": INSTALLATION, "shop_url": self._public_url, **facts})

    def _letter(self, kind: str, facts: Mapping[str, object]) -> Letter:
        subject = " ".join(_block(self._text, kind, "subject", facts).split())
        text = self._drawn(self._text, "_layout.txt", kind, subject, facts)
        html = self._drawn(self._html, "_layout.html", kind, subject, facts)
        return Letter(subject, text, html)

    def _facts(self, message: Unwritten) -> dict[str, object]:
        facts = dict(message.facts)
        for name in MOMENTS:
            if isinstance(facts.get(name), str):
                facts[name] = datetime.fromisoformat(facts[name])
        if facts.get("drop_slug") is None:  # to somebody who works here, about no drop
            return facts | {"shop_name": INSTALLATION, "shop_url": self._public_url, "seller_url": f"{self._public_url}/seller"}
        drop_url = f"{self._public_url}/drops/{facts['drop_slug']}"
        order_url = f"{self._public_url}/orders/{message.order_id}" if message.order_id else drop_url
        linked = message.order_id and self._link_key
        return facts | {
            "what": _what(facts),
            "order_id": message.order_id,
            "shop_url": self._public_url,
            "drop_url": drop_url,
            "link_url": self._public_url + order_link(self._link_key, message.order_id) if linked else order_url,
        }

    def _drawn(self, environment: Environment, layout: str, kind: str, subject: str, facts: Mapping[str, object]) -> str:
        title = _block(environment, kind, "title", facts).strip()
        body = _block(environment, kind, "body", facts).strip()
        if environment.autoescape:
            title, body = Markup(title), Markup(body)  # escaped by their own template
        return environment.get_template(layout).render(facts, subject=subject, title=title, body=body)


def _environment(templates: Path, *, autoescape: bool, **parts: Callable[..., str]) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(templates),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_gettext_callables(languages._, languages.ngettext, newstyle=True)
    environment.globals.update(
        **parts, money=languages.money, tax_line=tax_line, when=languages.when, clock=_clock, language=languages.spoken
    )
    return environment


def _block(environment: Environment, kind: str, block: str, facts: Mapping[str, object]) -> str:
    template = environment.get_template(f"{kind}.html")
    return "".join(template.blocks[block](template.new_context(dict(facts))))


def _clock(moment: datetime) -> str:
    return f"{moment:%H:%M} UTC"


def _what(facts: Mapping[str, object]) -> str:
    """-> 'Night lamp, Brass × 2'."""
    title, variant, quantity = (facts[name] for name in ("drop_title", "variant", "quantity"))
    named = title if variant in (*STANDARD, title) else f"{title}, {variant}"
    return f"{named} × {quantity}" if quantity > 1 else named


def _text_paragraph(sentence: str) -> str:
    return textwrap.fill(" ".join(str(sentence).split()), TEXT_CHARACTERS, break_long_words=False, break_on_hyphens=False) + "\n"


def _text_button(label: str, url: str) -> str:
    return f"{label}:\n{url}\n"


def _html_paragraph(sentence: str) -> Markup:
    return Markup('<p style="margin:0 0 16px">{}</p>').format(sentence)


def _html_button(label: str, url: str) -> Markup:
    return Markup(
        '<p style="margin:24px 0"><a href="{}" style="display:inline-block;padding:14px 22px;border-radius:10px;background:#1f1a14;'
        'color:#fdf9f0;font-weight:600;text-decoration:none">{}</a></p>'
    ).format(url, label)


def _text_digits(code: str) -> str:
    return f"{code}\n"


def _html_digits(code: str) -> Markup:
    return Markup('<p style="margin:0 0 16px;font-size:36px;line-height:1.2;font-weight:700;letter-spacing:6px">{}</p>').format(
        code
    )
