"""Pictures in the widths and formats that browsers ask for.

Pure Pillow: bytes in, bytes out, no metadata carried over. It takes some tenths of a second of a core for one picture, so whoever
calls it on a loop does so in a thread. What a picture needs before it comes here (is it one, how large) is the
upload's business (app/picture_child.py).
"""

import io
from dataclasses import dataclass

from PIL import Image, ImageOps

WIDTHS = (480, 800, 1200)
FALLBACK_WIDTH = 1200
FORMATS = {  # suffix -> (media type, Pillow's name, how it is written)
    "avif": ("image/avif", "AVIF", {"quality": 55, "speed": 8}),
    "webp": ("image/webp", "WEBP", {"quality": 78, "method": 4}),
    "jpg": ("image/jpeg", "JPEG", {"quality": 80, "progressive": True, "optimize": True}),
}
NAMES = {  # what stands in an address -> (width, media type)
    f"{width}.{suffix}": (width, FORMATS[suffix][0])
    for suffix in FORMATS
    for width in (WIDTHS if suffix != "jpg" else (FALLBACK_WIDTH,))
}


@dataclass(frozen=True, slots=True)
class Rendition:
    width: int  # as asked for in the address
    height: int
    media_type: str
    bytes: bytes


def renditions(original: bytes) -> list[Rendition]:
    """-> the picture under every name of NAMES that is not wider than the picture itself."""
    with Image.open(io.BytesIO(original)) as opened:
        picture = ImageOps.exif_transpose(opened).convert("RGB")
    picture.info = {}
    made = []
    for width in WIDTHS:
        if width > picture.width:
            continue
        height = round(picture.height * width / picture.width)
        scaled = picture if width == picture.width else picture.resize((width, height), Image.Resampling.LANCZOS)
        for suffix, (media_type, name, options) in FORMATS.items():
            if f"{width}.{suffix}" in NAMES:
                buffer = io.BytesIO()
                scaled.save(buffer, name, **options)
                made.append(Rendition(width, height, media_type, buffer.getvalue()))
    return made
