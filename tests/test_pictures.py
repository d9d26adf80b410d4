"""Pictures in the widths and formats that browsers ask for: right size, right type, no metadata, never larger than they were."""

import io

from PIL import Image

from app.pictures import FORMATS, NAMES, WIDTHS, renditions

ORIENTATION = 0x0112
DESCRIPTION = 0x010E


def picture(width: int, height: int, mode: str = "RGB", **options) -> bytes:
    buffer = io.BytesIO()
    Image.linear_gradient("L").resize((width, height)).convert(mode).save(buffer, "PNG" if mode == "RGBA" else "JPEG", **options)
    return buffer.getvalue()


def test_a_picture_is_made_in_every_width_and_format_that_an_address_can_name():
    made = renditions(picture(1200, 1500))
    assert sorted((one.width, one.media_type) for one in made) == sorted(NAMES.values())
    for one in made:
        image = Image.open(io.BytesIO(one.bytes))
        assert image.size == (one.width, one.height) == (one.width, one.width * 1500 // 1200)
        assert (one.media_type, image.format) in [(media_type, name) for media_type, name, _ in FORMATS.values()]


def test_the_smaller_the_picture_is_shown_the_fewer_bytes_travel():
    sizes = {one.width: len(one.bytes) for one in renditions(picture(1200, 1500)) if one.media_type == "image/avif"}
    assert list(sizes) == list(WIDTHS) and sorted(sizes.values()) == list(sizes.values())


def test_nothing_is_blown_up():
    assert {one.width for one in renditions(picture(900, 900))} == {480, 800}
    assert renditions(picture(100, 100)) == []


def test_metadata_stays_behind_and_what_it_says_of_the_way_up_is_done():
    exif = Image.Exif()
    exif[ORIENTATION], exif[DESCRIPTION] = 6, "where somebody lives"
    for one in renditions(picture(1500, 1200, exif=exif)):
        assert one.width < one.height
        assert not Image.open(io.BytesIO(one.bytes)).getexif() and b"somebody" not in one.bytes


def test_transparency_is_no_fault():
    assert len(renditions(picture(500, 500, "RGBA"))) == 2
