"""All screenshots of a run on one sheet, small: for each page the phone and the desktop, in light and in dark."""

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, ImageOps

from app.web.share_picture import INK, PAPER, READING, SOFT

PHONE_SIZE, DESKTOP_SIZE = (112, 242), (168, 118)
GAP, LABEL, COLUMNS, MARGIN = 6, 26, 4, 28
CELL = (2 * PHONE_SIZE[0] + DESKTOP_SIZE[0] + 2 * GAP, PHONE_SIZE[1] + LABEL)
WEBP_QUALITY = 62


def lay_out(screens: Path, names: list[str], to: Path) -> None:
    """`screens`: folder with LOOK/NAME.jpg; the sheet is written to `to` as WebP."""
    rows = -(-len(names) // COLUMNS)
    size = (MARGIN * 2 + COLUMNS * CELL[0] + (COLUMNS - 1) * 4 * GAP, MARGIN * 2 + rows * (CELL[1] + 3 * GAP))
    sheet = Image.new("RGB", size, PAPER)
    pen, face = ImageDraw.Draw(sheet), ImageFont.truetype(READING, 14)
    for index, name in enumerate(names):
        left = MARGIN + index % COLUMNS * (CELL[0] + 4 * GAP)
        top = MARGIN + index // COLUMNS * (CELL[1] + 3 * GAP)
        pen.text((left, top), name.replace("-", " "), INK, face)
        top += LABEL
        wide = left + 2 * (PHONE_SIZE[0] + GAP)
        hang(sheet, screens / "phone-light" / f"{name}.jpg", (left, top), PHONE_SIZE)
        hang(sheet, screens / "phone-dark" / f"{name}.jpg", (left + PHONE_SIZE[0] + GAP, top), PHONE_SIZE)
        hang(sheet, screens / "desktop-light" / f"{name}.jpg", (wide, top), DESKTOP_SIZE)
        hang(sheet, screens / "desktop-dark" / f"{name}.jpg", (wide, top + PHONE_SIZE[1] - DESKTOP_SIZE[1]), DESKTOP_SIZE)
    sheet.save(to, "WEBP", quality=WEBP_QUALITY, method=6)


def hang(sheet: Image.Image, screen: Path, at: tuple[int, int], size: tuple[int, int]) -> None:
    with Image.open(screen) as opened:
        small = ImageOps.fit(opened.convert("RGB"), size, Image.Resampling.LANCZOS, centering=(0.5, 0))
    sheet.paste(small, at)
    ImageDraw.Draw(sheet).rectangle((at[0] - 1, at[1] - 1, at[0] + size[0], at[1] + size[1]), outline=SOFT)
