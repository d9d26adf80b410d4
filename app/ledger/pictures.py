"""Pictures: kept once under the hash of their bytes, and removed when nothing has shown them for a while.

Guarantees: a picture that a draft, of whatever shop, or a drop shows is never removed, nor one that was put up, planned with or
taken down within UNUSED_SECONDS. Whoever plans with a picture or hangs it `want`s it in the same transaction, and so does whoever
stops to. Who wants one at the very moment in which it would be removed holds it, or finds it gone: its row decides, and no drop is
published with a picture that is not there (a foreign key). A picture is put up whole, with its renditions and its owner, or not at
all.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.ledger.pool import Asker, Pool

HASH = re.compile(r"[0-9a-f]{64}")
PICTURES_A_DAY_MAX = 500  # of a shop
UNUSED_SECONDS = 7 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Picture:
    hash: str  # hex SHA-256 of `bytes`, or of the original's for a rendition
    media_type: str
    width: int
    height: int
    bytes: bytes


class PicturesPart(Pool):
    async def put_up(self, shop_id: int, picture: Picture, renditions: Sequence[Picture]) -> None:
        """A shop puts up a picture, with what app/pictures.py makes of it (their `width`: as addresses name it)."""
        async with self._transaction() as ask:
            await ask.value("put_picture", *_values(picture))
            for one in renditions:
                await ask.count("put_rendition", picture.hash, one.width, one.media_type, one.height, one.bytes)
            await ask.count("own_picture", shop_id, picture.hash)

    async def put_picture(self, hash: str, media_type: str, width: int, height: int, bytes: bytes) -> bool:
        """Of nobody in particular -> whether it was new. `hash`: hex SHA-256 of `bytes`."""
        return await self._value("put_picture", hash, media_type, width, height, bytes)

    async def picture(self, hash: str) -> Picture | None:
        row = await self._row("picture", hash) if HASH.fullmatch(hash) else None
        return Picture(**row) if row else None

    async def put_rendition(self, hash: str, width: int, media_type: str, height: int, bytes: bytes) -> bool:
        """Keep the picture `hash` in one width and format (app/pictures.py) -> whether it was new."""
        return await self._count("put_rendition", hash, width, media_type, height, bytes) == 1

    async def rendition(self, hash: str, width: int, media_type: str) -> Picture | None:
        row = await self._row("rendition", hash, width, media_type) if HASH.fullmatch(hash) else None
        return Picture(**row) if row else None

    async def may_put_up(self, shop_id: int) -> bool:
        """-> False: this shop has put up PICTURES_A_DAY_MAX today."""
        return await self._value("pictures_put_up", shop_id) < PICTURES_A_DAY_MAX

    async def pictures_of_shop(self, shop_id: int, hashes: Sequence[str]) -> set[str]:
        """-> those of these pictures that this shop may show."""
        return {row["hash"] for row in await self._rows("pictures_of_shop", shop_id, list(hashes))}

    async def remove_unused_pictures(self, limit: int) -> int:
        """Some that nothing shows and nobody has wanted for UNUSED_SECONDS, with all that was made of them -> how many went."""
        async with self._transaction() as ask:
            unused = [row["hash"] for row in await ask.rows("lock_unused_pictures", UNUSED_SECONDS, limit)]
            if unused:
                await ask.count("remove_renditions", unused)
                await ask.count("disown_pictures", unused)
                await ask.count("remove_pictures", unused)
            return len(unused)


async def want(ask: Asker, hashes: Iterable[str]) -> None:
    """Somebody plans with these pictures, hangs them, or did until now. Those that are gone stay gone."""
    wanted = sorted(set(hashes))
    if wanted:
        await ask.count("want_pictures", wanted)


def _values(picture: Picture) -> tuple:
    return picture.hash, picture.media_type, picture.width, picture.height, picture.bytes
