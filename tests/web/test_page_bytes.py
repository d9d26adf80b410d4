"""Bytes that are ready to go: any gunzip reads them, and nothing but the holes is fresh."""

import gzip
import subprocess
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.web.page_bytes import KEY_HOLE, PageBytes

TIME, LATER = b"2026-11-30T20:00:00.000Z", b"2026-11-30T20:00:01.500Z"
PAGE = f'<p>é 👩‍🚀</p><section data-server-time="{TIME.decode()}" data-opens-at="x">' + "<i></i>" * 500
PAGE += f'<input type="hidden" name="key" value="{KEY_HOLE}"><p>{KEY_HOLE}</p>'


def test_the_holes_are_filled_and_nothing_else():
    plain = PageBytes(PAGE).plain(LATER, b"k-1").decode()
    filled = PAGE.replace(TIME.decode(), LATER.decode())
    assert plain == filled.replace(f'value="{KEY_HOLE}"', 'value="k-1"')  # what merely looks like the hole stays


@given(html=st.text(max_size=400).map(lambda text: text.replace('"', "")), key=st.binary(max_size=200), holes=st.integers(0, 3))
def test_the_compressed_page_is_the_plain_one(html, key, holes):
    text = (
        "".join(f'{html}<input name="key" value="{KEY_HOLE}"><b data-server-time="{TIME.decode()}">' for _ in range(holes)) + html
    )
    page = PageBytes(text)
    assert gzip.decompress(page.gzipped(LATER, key)) == page.plain(LATER, key)
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    unpacker.decompress(page.gzipped(LATER, key))
    assert unpacker.eof and not unpacker.unused_data  # one member: what browsers read


def test_gzip_itself_agrees():
    page = PageBytes(PAGE)
    done = subprocess.run(["gzip", "-dc"], input=page.gzipped(TIME, b"k"), capture_output=True, check=True)
    assert done.stdout == page.plain(TIME, b"k")


def test_it_is_smaller():
    page = PageBytes(PAGE)
    assert len(page.gzipped(TIME, b"k")) < len(page.plain(TIME, b"k")) / 5


@pytest.mark.parametrize(("other", "same"), [(PAGE.replace(TIME.decode(), LATER.decode()), True), (PAGE + "!", False)])
def test_the_tag_stands_for_everything_but_the_holes(other, same):
    assert (PageBytes(other).tag == PageBytes(PAGE).tag) is same
