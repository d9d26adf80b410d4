"""The picture that stands beside a shared link: the drop's own picture, its name and price, and its wristbands.

It shows what seldom changes, so its address (`share.jpg?v=TAG`, TAG a hash of everything on it) may be kept for ever. Each process
draws it when it is first asked for, in a thread, and keeps the last PICTURES_MAX; a stranger cannot make it draw anything but the
drop as it is. A drop without a picture, or with one that cannot be read, gets the lower half of the card alone.
"""

import asyncio
import hashlib
import io
from collections import OrderedDict
from pathlib import Path

import msgspec
from PIL import Image, ImageDraw, ImageFont, ImageOps

from app.domain.drops import Drop
from app.domain.money import format_money
from app.web.picture_memory import Pictures

WIDTH, HEIGHT = 1200, 630  # what link previews are made for
PICTURES_MAX = 64
TAG_CHARACTERS = 12
LOOK = 1  # raise it when the drawing changes: every address changes with it
BANDS_MAX = 200

PAPER, INK, SOFT, GO = "#f6f1e7", "#1a1511", "#655b51", "#ff4b1f"
FONTS = Path(__file__).resolve().parents[2] / "static" / "fonts"
LOUD = FONTS / "bricolage-grotesque-latin.woff2"
READING = FONTS / "instrument-sans-latin.woff2"
MARGIN, PICTURE_WIDTH, QUALITY = 56, 504, 85


def tag(drop: Drop) -> str:
    """-> a hash of everything that the picture shows."""
    shown = [LOOK, drop.title, drop.shop_name, drop.price_minor, drop.currency, drop.opens_at, drop.units_total, drop.picture]
    return hashlib.sha256(msgspec.json.encode(shown)).hexdigest()[:TAG_CHARACTERS]


def address(drop: Drop) -> str:
    return f"/drops/{drop.slug}/share.jpg?v={tag(drop)}"


class SharePictures:
    """One per web process."""

    def __init__(self, pictures: Pictures):
        self.pictures = pictures
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._drawing = asyncio.Lock()  # one at a time: it is no reason to keep every core busy

    async def get(self, drop: Drop) -> bytes:
        """-> JPEG bytes."""
        name = tag(drop)
        async with self._drawing:
            if name not in self._kept:
                picture = await self.pictures.get(drop.picture) if drop.picture else None
                self._kept[name] = await asyncio.to_thread(draw, drop, picture.bytes if picture else None)
                if len(self._kept) > PICTURES_MAX:
                    self._kept.popitem(last=False)
        return self._kept[name]


def draw(drop: Drop, picture: bytes | None) -> bytes:
    """-> JPEG bytes of WIDTH x HEIGHT."""
    card = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    left = MARGIN + (hang(card, picture) if picture else 0)
    pen = ImageDraw.Draw(card)
    across = WIDTH - left - MARGIN
    pen.ellipse((left, 60, left + 28, 88), outline=GO, width=10)
    pen.text((left + 42, 74), drop.shop_name, INK, font(LOUD, 34), anchor="lm")
    below = title(pen, drop.title, left, 140, across)
    facts = f"{format_money(drop.price_minor, drop.currency)}  ·  {drop.opens_at:%-d %b %Y, %H:%M} UTC"
    pen.text((left, below + 18), facts, SOFT, font(READING, 30))
    strip(pen, drop.units_total, left, HEIGHT - MARGIN, across)
    buffer = io.BytesIO()
    card.save(buffer, "JPEG", quality=QUALITY, optimize=True)
    return buffer.getvalue()


def hang(card: Image.Image, picture: bytes) -> int:
    """Put the drop's picture on the left -> how wide it is; 0 when it cannot be read."""
    try:
        with Image.open(io.BytesIO(picture)) as opened:
            fitted = ImageOps.fit(opened.convert("RGB"), (PICTURE_WIDTH, HEIGHT), Image.Resampling.LANCZOS)
    except OSError:
        return 0
    card.paste(fitted, (0, 0))
    return PICTURE_WIDTH


def title(pen: ImageDraw.ImageDraw, text: str, left: int, top: int, across: int) -> int:
    """At most three lines, as large as they can be -> where they end."""
    for size in (104, 84, 68, 54, 44):
        face = font(LOUD, size)
        lines = wrapped(pen, text, face, across)
        if len(lines) <= 3 and all(pen.textlength(line, face) <= across for line in lines):
            break
    for narrower in range(across, 0, -20):  # the same lines, of like length: no number stands alone below
        tried = wrapped(pen, text, face, narrower)
        if len(tried) > len(lines) or any(pen.textlength(line, face) > narrower for line in tried):
            break
        lines = tried
    for line in lines[:3]:
        pen.text((left, top), line, INK, face)
        top += round(size * 1.02)
    return top


def wrapped(pen: ImageDraw.ImageDraw, text: str, face: ImageFont.FreeTypeFont, across: int) -> list[str]:
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if pen.textlength(longer, face) <= across or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def strip(pen: ImageDraw.ImageDraw, units: int, left: int, bottom: int, across: int) -> None:
    """All of the drop's wristbands, none of them taken; above BANDS_MAX a band stands for a share."""
    bands = min(units, BANDS_MAX)
    columns = min(bands, 12 if bands <= 12 else 25 if bands <= 100 else 40)
    step = across / max(columns, 12)
    gap, rows = step * 0.14, -(-bands // columns)
    for band in range(bands):
        x, y = left + band % columns * step, bottom - (rows - band // columns) * step * 8 / 7
        pen.rounded_rectangle((x, y, x + step - gap, y + step * 8 / 7 - gap), step * 0.16, fill=GO)


def font(path, size: int) -> ImageFont.FreeTypeFont:
    face = ImageFont.truetype(path, size)
    if path == LOUD:
        face.set_variation_by_axes([800])
    return face
