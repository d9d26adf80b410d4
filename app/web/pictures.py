"""Bytes that never change under their address: pictures from the ledger by content hash, width and format, the picture beside a
shared link by a hash of what it shows, our own files by hashed query.

A file's name that is not a plain path below `static/` is not there.
"""

import mimetypes
from pathlib import Path

from litestar import Response, get
from litestar.params import FromPath

from app.errors import NotFound
from app.pictures import NAMES
from app.web import share_picture
from app.web.doors import TheseDoors, ThisCall
from app.web.render import STATIC

FOR_EVER = "public, max-age=31536000, immutable"
A_MINUTE = "public, max-age=60"
SUFFIXES = frozenset({".css", ".js", ".svg", ".png", ".webp", ".avif", ".ico", ".woff2", ".txt", ".webmanifest"})


@get("/pictures/{hash:str}")
async def show_picture(hash: FromPath[str], doors: TheseDoors) -> Response:
    picture = await doors.pictures.get(hash)
    if picture is None:
        raise NotFound(hash)
    return Response(picture.bytes, media_type=picture.media_type, headers={"cache-control": FOR_EVER, "etag": f'"{hash[:16]}"'})


@get("/pictures/{hash:str}/{name:str}")
async def show_rendition(hash: FromPath[str], name: FromPath[str], doors: TheseDoors) -> Response:
    """The picture as '800.avif' and the like; the original where that was never made, and then not for ever."""
    if name not in NAMES:
        raise NotFound(name)
    picture, cache = await doors.pictures.rendition(hash, *NAMES[name]), FOR_EVER
    if picture is None:
        picture, cache = await doors.pictures.get(hash), A_MINUTE
    if picture is None:
        raise NotFound(hash)
    return Response(picture.bytes, media_type=picture.media_type, headers={"cache-control": cache})


@get("/drops/{slug:str}/share.jpg")
async def show_share_picture(slug: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    drop = await doors.catalogue.find(slug)
    if drop is None:
        raise NotFound(slug)
    cache = FOR_EVER if call.query("v") == share_picture.tag(drop) else A_MINUTE
    return Response(await doors.share_pictures.get(drop), media_type="image/jpeg", headers={"cache-control": cache})


@get("/static/{name:path}", sync_to_thread=True)
def show_file(name: FromPath[Path], call: ThisCall) -> Response:
    path = (STATIC / str(name).lstrip("/")).resolve()
    if not path.is_relative_to(STATIC) or path.suffix not in SUFFIXES or not path.is_file():
        raise NotFound(str(name))
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    cache = FOR_EVER if call.query("v") else A_MINUTE
    return Response(path.read_bytes(), media_type=media_type, headers={"cache-control": cache})
