"""The most used pictures, in this process's memory: the ledger is asked once for each."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable

from app.ledger import Ledger, Picture

PICTURES_BYTES_MAX = 64 * 1024 * 1024
HASH_CHARACTERS = 64


class Pictures:
    """The most used pictures, in memory."""

    def __init__(self, ledger: Ledger):
        self.ledger = ledger
        self.bytes_kept = 0
        self._kept: OrderedDict[tuple, Picture] = OrderedDict()

    async def get(self, hash: str) -> Picture | None:
        return await self._get((hash,), self.ledger.picture)

    async def rendition(self, hash: str, width: int, media_type: str) -> Picture | None:
        """-> the picture in one width and format, None when it was never made."""
        return await self._get((hash, width, media_type), self.ledger.rendition)

    async def _get(self, name: tuple, ask: Callable[..., Awaitable[Picture | None]]) -> Picture | None:
        if name in self._kept:
            self._kept.move_to_end(name)
            return self._kept[name]
        if len(name[0]) != HASH_CHARACTERS or not set(name[0]) <= set("0123456789abcdef"):
            return None
        picture = await ask(*name)
        if picture is not None and name not in self._kept:
            self._kept[name] = picture
            self.bytes_kept += len(picture.bytes)
            while self.bytes_kept > PICTURES_BYTES_MAX and len(self._kept) > 1:
                self.bytes_kept -= len(self._kept.popitem(last=False)[1].bytes)
        return picture
