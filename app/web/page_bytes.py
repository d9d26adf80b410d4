"""A drawn page as bytes that are ready to go, plain and compressed, with holes for what must be fresh in every answer.

Two things of a page may not be old: the shop's time (the countdown goes by it) and the form's idempotency key. They are cut out of
the drawn page, everything between them is compressed once, and an answer is put together from the pieces: in a gzip stream a piece
compressed on its own, a hole as a stored block, and the checksum carried on. That costs microseconds instead of a compression.
"""

import hashlib
import re
import struct
import zlib

KEY_HOLE = "hole-for-a-key"  # the key that a page with holes is drawn with
HOLES = {  # what stands before a hole (a quote: nobody can write that into a page), and how long the hole is
    "time": ('data-server-time="', len("2026-11-30T20:00:00.000Z")),
    "key": ('name="key" value="', len(KEY_HOLE)),
}
READING = re.compile(rb'data-seq="\d*"')  # new at every drawing: two pages that differ in nothing else are the same page
GZIP_LEVEL = 9
TAG_CHARACTERS = 20

_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_LAST_BLOCK = b"\x03\x00"


class PageBytes:
    """A page and its `tag`, the ETag of its contents without the holes and without the number of the reading it shows."""

    def __init__(self, html: str):
        self.pieces, self.holes = cut(html)
        told = READING.sub(b"", b"\0".join(self.pieces))
        self.tag = b'W/"%b"' % hashlib.sha256(told).hexdigest()[:TAG_CHARACTERS].encode()
        self._packed = [deflated(piece) for piece in self.pieces]
        self._first_checksum = zlib.crc32(self.pieces[0])
        self._last_piece = len(self.pieces) - 1

    def plain(self, time: bytes, key: bytes) -> bytes:
        """`time`: as iso() writes it; `key`: the form's."""
        return b"".join(self._filled(self.pieces, {"time": time, "key": key}))

    def gzipped(self, time: bytes, key: bytes) -> bytes:
        fill = {"time": time, "key": key}
        parts, checksum, size = [_GZIP_HEADER, self._packed[0]], self._first_checksum, len(self.pieces[0])
        for hole, piece, packed in zip(self.holes, self.pieces[1:], self._packed[1:], strict=True):
            filling = fill[hole]
            parts += (stored(filling), packed)
            checksum = zlib.crc32(piece, zlib.crc32(filling, checksum))
            size += len(filling) + len(piece)
        parts += (_LAST_BLOCK, struct.pack("<II", checksum, size & 0xFFFFFFFF))
        return b"".join(parts)

    def _filled(self, pieces: list[bytes], fill: dict[str, bytes]) -> list[bytes]:
        parts = [pieces[0]]
        for hole, piece in zip(self.holes, pieces[1:], strict=True):
            parts += (fill[hole], piece)
        return parts


def cut(html: str) -> tuple[list[bytes], list[str]]:
    """-> the pieces between the holes, and which hole stands between them."""
    pieces, holes, rest = [], [], html
    while found := sorted((rest.find(before), hole) for hole, (before, _) in HOLES.items() if before in rest):
        at, hole = found[0]
        before, characters = HOLES[hole]
        begins = at + len(before)
        pieces.append(rest[:begins].encode())
        holes.append(hole)
        rest = rest[begins + characters :]
    return [*pieces, rest.encode()], holes


def deflated(piece: bytes) -> bytes:
    """-> raw deflate blocks that end on a byte and look back at nothing before them."""
    packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)


def stored(data: bytes) -> bytes:
    """-> the data as one stored block of a deflate stream."""
    return b"\x00" + struct.pack("<HH", len(data), len(data) ^ 0xFFFF) + data
