"""An invoice, or its correction, as a PDF: drawn from what was frozen when it was numbered, so the same paper is the same bytes.

Scripts: Latin with all its accents is printed in the shop's own font, embedded. Chinese, Japanese and Korean are printed in the
standard fonts that PDF readers bring for them (not embedded: a reader without any leaves a gap there, the text itself is in the
file). Anything else is never printed as boxes: `(…)` stands in its place, and a line at the foot says so and where to read it.
"""

import io
import re
import threading
import unicodedata
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from babel import Locale
from babel.dates import format_date
from reportlab.lib.pagesizes import A4
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from app.domain.invoices import Invoice
from app.languages import ENGLISH, _, language_named, money, percent, speaking, spoken

FONTS = Path(__file__).resolve().parents[2] / "static" / "fonts"
REGULAR, BOLD = "instrument-sans-regular", "instrument-sans-bold"
MANDARIN, TAIWANESE, JAPANESE, KOREAN = "STSong-Light", "MSung-Light", "HeiseiKakuGo-W5", "HYGothic-Medium"
TRADITIONAL = ("TW", "HK", "MO")
LEFT, RIGHT, TOP, FOOT = 25 * mm, A4[0] - 20 * mm, A4[1] - 25 * mm, 25 * mm
NOT_PRINTED = "(…)"
SPACES = str.maketrans({"\u202f": "\u00a0", "\u2009": " ", "\u2011": "-", "\t": " "})

_HAN = re.compile(r"[\u2e80-\u2fdf\u3000-\u303f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef]")
_KANA = re.compile(r"[\u3040-\u30ff\u31f0-\u31ff]")
_HANGUL = re.compile(r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]")
_drawing = threading.Lock()  # the library's table of fonts is the process's


def _register() -> None:
    if REGULAR in pdfmetrics.getRegisteredFontNames():
        return
    for name in (REGULAR, BOLD):
        pdfmetrics.registerFont(TTFont(name, FONTS / f"{name}.ttf"))
    for name in (MANDARIN, TAIWANESE, JAPANESE, KOREAN):
        pdfmetrics.registerFont(UnicodeCIDFont(name))


def drawn(invoice: Invoice, buyer_email: str = "") -> bytes:
    """-> the file. `buyer_email`: who bought, where no address was asked for."""
    with _drawing, speaking(language_named(invoice.language) or ENGLISH):
        _register()
        return _Paper(invoice, buyer_email).bytes()


def runs(text: str, font: str, country: str = "") -> Iterator[tuple[str, str]]:
    """-> (font, piece) of a text, in order: each piece in a font that has all of it, NOT_PRINTED for what none has."""
    clean = unicodedata.normalize("NFC", text.translate(SPACES))
    known = pdfmetrics.getFont(font).face.charToGlyph
    asian = _asian_font(clean, country)
    last, piece = None, ""
    for character in clean:
        if ord(character) in known:
            chosen = font
        elif any(kind.match(character) for kind in (_HAN, _KANA, _HANGUL)):
            chosen = KOREAN if _HANGUL.match(character) else asian
        else:
            chosen = ""
        if chosen != last and piece:
            yield (last, piece) if last else (font, NOT_PRINTED)
            piece = ""
        last, piece = chosen, piece + character
    if piece:
        yield (last, piece) if last else (font, NOT_PRINTED)


def _asian_font(text: str, country: str) -> str:
    """-> whose forms of the shared characters these are: by what stands beside them, else by the country."""
    if _KANA.search(text) or country == "JP":
        return JAPANESE
    if _HANGUL.search(text) or country == "KR":
        return KOREAN
    return TAIWANESE if country in TRADITIONAL else MANDARIN


class _Paper:
    def __init__(self, invoice: Invoice, buyer_email: str):
        self.invoice, self.buyer_email = invoice, buyer_email
        self.file = io.BytesIO()
        self.canvas = Canvas(self.file, pagesize=A4, invariant=1, lang=spoken().tag)
        self.y = TOP
        self.incomplete = self.asian = False

    def bytes(self) -> bytes:
        title = self.title()
        self.canvas.setTitle(title)
        self.canvas.setAuthor(self.invoice.seller_name)
        self.canvas.setCreator("Doorman")
        self.seller()
        self.buyer()
        self.facts(title)
        self.amounts()
        self.foot()
        self.canvas.showPage()
        self.canvas.save()
        return self.file.getvalue()

    # ---- parts

    def title(self) -> str:
        number = self.invoice.number
        return _("Correction %(number)s", number=number) if self.invoice.corrects else _("Invoice %(number)s", number=number)

    def seller(self) -> None:
        said = self.invoice
        self.line(said.seller_name, font=BOLD, size=13)
        tax_id = _("Tax number: %(number)s", number=said.tax_id) if said.tax_id else ""
        lines = [*said.seller_address.split("\n"), tax_id, said.contact]
        for line in filter(None, lines):
            self.line(line, size=9, step=4.4)
        self.y -= 10 * mm

    def buyer(self) -> None:
        said = self.invoice
        self.line(_("For"), size=9, step=4.6)
        lines = [*said.buyer, country_name(said.buyer_country)] if said.buyer else [self.buyer_email]
        for line in filter(None, lines):
            self.line(line, country=said.buyer_country)
        self.y -= 12 * mm

    def facts(self, title: str) -> None:
        said = self.invoice
        self.line(title, font=BOLD, size=18, step=10)
        day = format_date(date.fromisoformat(said.day), "long", locale=spoken().dates)
        self.line(_("Date: %(day)s", day=day))
        if said.corrects:
            self.line(_("It corrects invoice %(number)s: this amount was returned.", number=said.corrects))
        self.line(_("Order number: %(number)s", number=said.order_id))
        self.y -= 8 * mm

    def amounts(self) -> None:
        said = self.invoice
        what = said.title if said.variant in ("", "Standard", said.title) else f"{said.title}, {said.variant}"
        if said.corrects:
            self.row(what, self.money(said.amount_minor))
        else:
            each = f" × {said.quantity} ({_('%(price)s each', price=self.money(said.price_minor))})" if said.quantity > 1 else ""
            self.row(f"{what}{each}", self.money(said.goods_minor))
            if said.ships:
                self.row(_("Shipping"), self.money(said.shipping_minor))
        self.rule()
        self.row(_("Total"), self.money(said.amount_minor), font=BOLD, size=13, step=8)
        if said.tax_basis_points:
            self.row(_("Net"), self.money(said.amount_minor - said.tax_minor), size=9, step=4.6)
            self.row(_("VAT %(rate)s, included", rate=percent(said.tax_basis_points)), self.money(said.tax_minor), size=9, step=4.6)
        self.y -= 8 * mm
        paid, returned = _("Paid by card. Nothing is left to pay."), _("It goes back to the card that paid.")
        self.line(returned if said.corrects else paid)

    def foot(self) -> None:
        notes = [_("Chinese, Japanese and Korean words are drawn in the fonts of your PDF reader.")] if self.asian else []
        if self.incomplete:
            notes.append(_("(…) stands for words in a script that this file cannot print; the page of the order shows them."))
        self.y = min(self.y - 10 * mm, FOOT)
        for note in notes:
            self.line(note, size=8, step=4)

    # ---- drawing

    def line(self, text: str, *, font: str = REGULAR, size: float = 10.5, step: float = 5.2, country: str = "") -> None:
        """A line of text, broken where it does not fit."""
        for part in self.broken(text, font, size, RIGHT - LEFT, country):
            self.draw(LEFT, part, size)
            self.y -= step * mm

    def row(self, text: str, amount: str, *, font: str = REGULAR, size: float = 10.5, step: float = 6) -> None:
        """A line with an amount at its right end."""
        numbers = list(self.pieces(amount, font))
        width = self.width(numbers, size)
        for position, part in enumerate(self.broken(text, font, size, RIGHT - LEFT - width - 8 * mm, "")):
            self.draw(LEFT, part, size)
            if position == 0:
                self.draw(RIGHT - width, numbers, size)
            self.y -= step * mm

    def rule(self) -> None:
        self.canvas.setLineWidth(0.6)
        self.canvas.line(LEFT, self.y + 3 * mm, RIGHT, self.y + 3 * mm)
        self.y -= 4 * mm

    def money(self, amount_minor: int) -> str:
        """-> the amount in the paper's language, the code where the font has no sign for the currency."""
        text = money(amount_minor, self.invoice.currency)
        if any(piece == NOT_PRINTED for _font, piece in runs(text, REGULAR)):
            digits = "".join(character for character in text if character.isdigit() or character in ".,-−\u00a0").strip()
            return f"{digits} {self.invoice.currency}"
        return text

    def pieces(self, text: str, font: str, country: str = "") -> Iterator[tuple[str, str]]:
        for chosen, piece in runs(text, font, country):
            self.incomplete |= piece == NOT_PRINTED
            self.asian |= chosen not in (REGULAR, BOLD)
            yield chosen, piece

    def broken(self, text: str, font: str, size: float, width: float, country: str) -> Iterator[list[tuple[str, str]]]:
        """-> the text in lines no wider than that, each as its pieces; a word that is wider alone is cut."""
        line: list[tuple[str, str]] = []
        for chosen, piece in self.pieces(text, font, country):
            for word in re.findall(r"\S+\s*|\s+", piece) if chosen in (REGULAR, BOLD) else piece:
                for bit in [word] if self.width([(chosen, word)], size) <= width else word:
                    if line and self.width([*line, (chosen, bit.rstrip())], size) > width:
                        yield line
                        line = []
                    line.append((chosen, bit))
        yield line

    def width(self, pieces: list[tuple[str, str]], size: float) -> float:
        return sum(pdfmetrics.stringWidth(piece, font, size) for font, piece in pieces)

    def draw(self, x: float, pieces: list[tuple[str, str]], size: float) -> None:
        if self.y < FOOT - 15 * mm:
            self.canvas.showPage()
            self.y = TOP
        text = self.canvas.beginText(x, self.y)
        joined: list[tuple[str, str]] = []
        for font, piece in pieces:
            if joined and joined[-1][0] == font:
                joined[-1] = (font, joined[-1][1] + piece)
            else:
                joined.append((font, piece))
        for font, piece in joined:
            text.setFont(font, size)
            text.textOut(piece)
        self.canvas.drawText(text)


def country_name(code: str) -> str:
    return Locale.parse(spoken().locale).territories.get(code, code) if code else ""
