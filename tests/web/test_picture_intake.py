"""What strangers' files can hold: only pixels come through, nothing takes long, nothing is believed because of its name (A17)."""

import asyncio
import gzip
import hashlib
import io
import struct
import time
import zlib

import pytest
from PIL import Image, ImageCms

from app.errors import BadInput
from app.languages import GERMAN, _, speaking
from app.ledger import Picture
from app.picture_child import FILE_BYTES_MAX, KEPT_PIXELS_MAX, kind_of
from app.web import picture_intake
from app.web.picture_intake import (
    BUSY,
    NO_PICTURE,
    OF_SHOP_MAX,
    TOO_FEW_PIXELS,
    TOO_MANY_BYTES,
    TOO_MANY_PIXELS,
    TOO_SLOW,
    WAITING_MAX,
    Intake,
    put_up,
)

ORIENTATION, DESCRIPTION, GPS = 0x0112, 0x010E, 0x8825


def drawn(kind: str = "JPEG", size: tuple[int, int] = (640, 480), mode: str = "RGB", **options) -> bytes:
    buffer = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert(mode).save(buffer, kind, **options)
    return buffer.getvalue()


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png_of(width: int, height: int, rows: bytes) -> bytes:
    """A grey PNG that says it is this large, whatever its rows hold."""
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def photograph() -> bytes:
    """A JPEG that says where it was taken, and which way is up."""
    exif = Image.Exif()
    exif[ORIENTATION], exif[DESCRIPTION] = 6, "our kitchen"
    exif.get_ifd(GPS)[2] = (59.0, 19.0, 47.0)
    return drawn(exif=exif, comment=b"secret comment")


def opened(taken) -> Image.Image:
    return Image.open(io.BytesIO(taken.bytes))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "AVIF"])
async def test_the_four_kinds_come_out_as_our_own_jpeg(kind):
    taken = await Intake().take(drawn(kind))
    assert (taken.width, taken.height, opened(taken).format) == (640, 480, "JPEG")
    assert taken.hash == hashlib.sha256(taken.bytes).hexdigest()
    assert {(one.width, one.media_type) for one in taken.renditions} == {(480, "image/webp"), (480, "image/avif")}


async def test_where_a_photograph_was_taken_stays_behind_and_it_stands_upright():
    file = photograph()
    assert b"our kitchen" in file and Image.open(io.BytesIO(file)).getexif().get_ifd(GPS)
    taken = await Intake().take(file)
    assert (taken.width, taken.height) == (480, 640)
    for one in (taken.bytes, *(made.bytes for made in taken.renditions)):
        assert not Image.open(io.BytesIO(one)).getexif()
        assert b"kitchen" not in one and b"secret" not in one and b"Exif" not in one[:400]


async def test_what_hides_behind_the_picture_stays_behind():
    page = b"<html><script>alert(1)</script>"
    for file in (drawn() + page, drawn("PNG") + b"PK\x03\x04" + page, drawn(comment=page)):
        taken = await Intake().take(file)
        assert page not in taken.bytes and b"PK\x03\x04" not in taken.bytes


async def test_text_chunks_of_a_png_stay_behind():
    file = drawn("PNG")
    taken = await Intake().take(file[:33] + chunk(b"tEXt", b"Comment\x00<script>") + file[33:])
    assert b"<script>" not in taken.bytes


@pytest.mark.parametrize(
    "file",
    [
        b"",
        b"hello",
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"<?xml version='1.0'?><!DOCTYPE svg [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><svg>&x;</svg>",
        b"\xff\xd8\xff" + b"<svg onload=alert(1)>" * 20,
        b"GIF89a<script>alert(1)</script>",
        drawn("GIF"),
        drawn("BMP"),
        drawn("TIFF"),
        gzip.compress(b"\0" * 10_000_000),
        drawn()[:300],
        drawn("PNG")[:-40],
        drawn("WEBP")[:200],
        drawn("AVIF")[:120],
        b"\x89PNG\r\n\x1a\n" + b"\0" * 100,
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 100 100\n",
        b"\x00\x00\x00\x20ftypheic" + b"\0" * 100,
    ],
)
async def test_what_is_none_of_the_four_or_is_broken_is_refused(file):
    with pytest.raises(BadInput) as caught:
        await Intake().take(file)
    assert (str(caught.value), caught.value.field) == (NO_PICTURE, "file")


@pytest.mark.parametrize(
    "file",
    [
        png_of(40_001, 1000, b"\0" * 1000),
        png_of(2**31 - 1, 2**31 - 1, b"\0"),
        png_of(20_000, 20_000, b"\0" * 20_001 * 2000),  # 40 KB that become 400 MB
    ],
)
async def test_a_bomb_is_refused_by_what_it_says_before_it_is_decoded(file, monkeypatch):
    began = time.process_time()
    with pytest.raises(BadInput) as caught:
        await Intake().take(file)
    assert str(caught.value) in (TOO_MANY_PIXELS, NO_PICTURE)  # Pillow itself does not open the second
    assert time.process_time() - began < 1.0  # nothing of it was decoded here


async def test_forty_megapixels_are_a_picture():
    file = png_of(8000, 5000, b"\0" * 8001 * 5000)
    taken = await Intake().take(file)
    assert (taken.width, taken.height) == (KEPT_PIXELS_MAX, 1500)


@pytest.mark.parametrize("size", [(199, 800), (1, 1)])
async def test_a_speck_is_refused(size):
    with pytest.raises(BadInput, match=TOO_FEW_PIXELS):
        await Intake().take(drawn("PNG", size))


async def test_a_file_that_is_too_large_starts_nothing(monkeypatch):
    monkeypatch.setattr(Intake, "_ask", None)
    with pytest.raises(BadInput, match=TOO_MANY_BYTES):
        await Intake().take(drawn() + b"\0" * FILE_BYTES_MAX)


async def test_what_takes_too_long_is_killed(monkeypatch):
    intake, pids = Intake(seconds=0.0), []
    spawn = asyncio.create_subprocess_exec

    async def watched(*arguments, **options):
        child = await spawn(*arguments, **options)
        pids.append(child)
        return child

    monkeypatch.setattr(asyncio, "create_subprocess_exec", watched)
    with pytest.raises(BadInput, match=TOO_SLOW):
        await intake.take(drawn())
    assert [child.returncode for child in pids] == [-9]


async def test_a_child_that_dies_of_the_file_is_a_refusal(monkeypatch):
    monkeypatch.setattr(picture_intake.sys, "executable", "/bin/false")
    with pytest.raises(BadInput, match=NO_PICTURE):
        await Intake().take(drawn())


async def test_only_so_many_wait_and_one_shop_leaves_seats_for_others():
    intake = Intake()
    gate = asyncio.Event()
    intake._ask = lambda file: gate.wait()
    waiting = [asyncio.create_task(intake.take(drawn(), 1)) for _ in range(OF_SHOP_MAX)]
    await asyncio.sleep(0)
    with pytest.raises(BadInput, match=BUSY):
        await intake.take(drawn(), 1)
    waiting += [asyncio.create_task(intake.take(drawn(), shop_id)) for shop_id in range(2, 2 + WAITING_MAX - OF_SHOP_MAX)]
    await asyncio.sleep(0)
    with pytest.raises(BadInput, match=BUSY):
        await intake.take(drawn(), 99)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert not intake._seats.taken and not intake._seats.seated


async def test_the_loop_goes_on_meanwhile():
    ticks, task = 0, asyncio.create_task(Intake().take(drawn("PNG", (2000, 2000))))
    while not task.done():
        await asyncio.sleep(0.001)
        ticks += 1
    assert ticks > 20 and task.result().width == 2000


async def test_transparent_becomes_white_and_other_colours_are_taken_along():
    clear = Image.new("RGBA", (300, 300), (255, 0, 0, 0))
    buffer = io.BytesIO()
    clear.save(buffer, "PNG")
    assert opened(await Intake().take(buffer.getvalue())).getpixel((150, 150)) == (255, 255, 255)
    assert opened(await Intake().take(drawn("JPEG", mode="CMYK"))).mode == "RGB"
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    assert "icc_profile" not in opened(await Intake().take(drawn(icc_profile=profile))).info
    assert (await Intake().take(drawn(icc_profile=b"no profile at all"))).width == 640


async def test_of_a_moving_picture_the_first_frame_is_kept():
    frames = [Image.new("RGB", (300, 300), colour) for colour in ("red", "blue")]
    buffer = io.BytesIO()
    frames[0].save(buffer, "WEBP", save_all=True, append_images=frames[1:], lossless=True)
    red, green, blue = opened(await Intake().take(buffer.getvalue())).getpixel((10, 10))
    assert red > 200 and blue < 60


def test_a_kind_is_known_by_its_content():
    assert [kind_of(drawn(kind)) for kind in ("JPEG", "PNG", "WEBP", "AVIF", "GIF")] == ["JPEG", "PNG", "WEBP", "AVIF", None]


class KeptPictures:
    """A ledger that keeps pictures and nothing else."""

    def __init__(self, may=True):
        self.may, self.kept = may, []

    async def may_put_up(self, shop_id):
        return self.may

    async def put_up(self, *kept):
        self.kept.append(kept)


async def test_a_shops_picture_is_kept_with_its_renditions_and_its_owner():
    ledger = KeptPictures()
    taken = await put_up(ledger, 7, Intake(), drawn())
    [(shop_id, picture, renditions)] = ledger.kept
    assert (shop_id, picture) == (7, Picture(taken.hash, "image/jpeg", 640, 480, taken.bytes))
    assert [(one.hash, one.width, one.media_type) for one in renditions] == [
        (taken.hash, 480, "image/avif"), (taken.hash, 480, "image/webp"),
    ]  # fmt: skip


async def test_a_shop_that_puts_up_too_many_is_told():
    with pytest.raises(BadInput, match="too many pictures today"):
        await put_up(KeptPictures(may=False), 7, Intake(), drawn())


def test_the_refusals_are_sentences_of_the_catalog():
    with speaking(GERMAN):
        assert _(NO_PICTURE) != NO_PICTURE
