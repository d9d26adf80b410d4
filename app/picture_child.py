"""The child process in which a stranger's picture is decoded: a file comes in on standard input, an Answer goes out.

Run by app/web/picture_intake.py, which says what is promised. Here memory, time and the writing of files are bounded by the
operating system before the first byte is read, and whatever a decoder does to this process is this process's end and nobody's else.
"""

import io
import resource
import sys
import warnings

import msgspec
from PIL import Image, ImageCms, ImageOps

from app.pictures import renditions

FILE_BYTES_MAX = 10 * 1024 * 1024
PIXELS_MAX = 40_000_000
SIDE_PIXELS_MIN = 200
KEPT_PIXELS_MAX = 2400  # of the longer side of what is kept
CHILD_SECONDS = 20.0
CHILD_BYTES_MAX = 2 * 1024**3  # of address space
JPEG_QUALITY = 88
NO_PICTURE, TOO_MANY_PIXELS, TOO_FEW_PIXELS = "no_picture", "too_many_pixels", "too_few_pixels"  # why one is refused
KINDS = ("JPEG", "PNG", "WEBP", "AVIF")  # as Pillow calls them


class Answer(msgspec.Struct):
    """What the child says."""

    refused: str = ""  # NO_PICTURE, TOO_MANY_PIXELS or TOO_FEW_PIXELS; "": none
    width: int = 0
    height: int = 0
    jpeg: bytes = b""
    renditions: list[tuple[int, int, str, bytes]] = []


def kind_of(file: bytes) -> str | None:
    """-> which of KINDS the content says it is, None for anything else; nothing is decoded."""
    if file[:3] == b"\xff\xd8\xff":
        return "JPEG"
    if file[:8] == b"\x89PNG\r\n\x1a\n":
        return "PNG"
    if file[:4] == b"RIFF" and file[8:12] == b"WEBP":
        return "WEBP"
    if file[4:8] == b"ftyp" and file[8:12] in (b"avif", b"avis"):
        return "AVIF"
    return None


def main() -> None:
    """Read a file from standard input, write an Answer to standard output."""
    resource.setrlimit(resource.RLIMIT_AS, (CHILD_BYTES_MAX, CHILD_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CPU, (int(CHILD_SECONDS) * 2, int(CHILD_SECONDS) * 2))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # it writes no file
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    file = sys.stdin.buffer.read(FILE_BYTES_MAX + 1)
    sys.stdout.buffer.write(msgspec.msgpack.encode(made_anew(file)))


def made_anew(file: bytes) -> Answer:
    """-> the picture in this file, from its pixels alone."""
    warnings.simplefilter("ignore")
    Image.MAX_IMAGE_PIXELS = None  # our own bound stands before any decoding
    kind = kind_of(file)
    if kind is None:
        return Answer(NO_PICTURE)
    try:
        with Image.open(io.BytesIO(file), formats=(kind,)) as opened:
            if opened.width * opened.height > PIXELS_MAX:
                return Answer(TOO_MANY_PIXELS)
            if min(opened.size) < SIDE_PIXELS_MIN:
                return Answer(TOO_FEW_PIXELS)
            opened.load()
            picture = in_srgb(ImageOps.exif_transpose(opened))
    except Exception:  # noqa: BLE001 -- whatever a stranger's file makes a decoder say, it is no picture
        return Answer(NO_PICTURE)
    picture.info = {}  # comments and the like would be written along
    picture.thumbnail((KEPT_PIXELS_MAX, KEPT_PIXELS_MAX), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=JPEG_QUALITY, progressive=True, optimize=True)
    made = [(one.width, one.height, one.media_type, one.bytes) for one in renditions(buffer.getvalue())]
    return Answer("", picture.width, picture.height, buffer.getvalue(), made)


def in_srgb(picture):
    """-> the picture in the colours that browsers mean, on white where it is transparent, without its profile."""
    profile = picture.info.get("icc_profile")
    if "A" in picture.getbands() or "transparency" in picture.info:
        picture = picture.convert("RGBA")
        ground = Image.new("RGBA", picture.size, "white")
        ground.alpha_composite(picture)
        picture = ground.convert("RGB")
    elif picture.mode not in ("RGB", "CMYK", "L"):
        picture = picture.convert("RGB")
    if profile:
        try:
            own = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            return ImageCms.profileToProfile(picture, own, ImageCms.createProfile("sRGB"), outputMode="RGB")
        except (ImageCms.PyCMSError, OSError):
            pass  # a profile of another kind of picture: its colours are taken as they are
    return picture.convert("RGB")


if __name__ == "__main__":
    main()
