"""The most used pictures, in this process's memory: the ledger is asked once for each."""

from collections import OrderedDict

from app.ledger import Ledger, Picture

PICTURES_BYTES_MAX = 64 * 1024 * 1024
HASH_CHARACTERS = 64


class Pictures:
    """The most used pictures, in memory."""

    def __init__(self, ledger: Ledger):
        self.ledger = ledger
        self.bytes_kept = 0
        self._kept: OrderedDict[str, Picture] = OrderedDict()

    async def get(self, hash: str) -> Picture | None:
        if hash in self._kept:
            self._kept.move_to_end(hash)
            return self._kept[hash]
        if len(hash) != HASH_CHARACTERS or not set(hash) <= set("0123456789abcdef"):
            return None
        picture = await self.ledger.picture(hash)
        if picture is not None and hash not in self._kept:
            self._kept[hash] = picture
            self.bytes_kept += len(picture.bytes)
            while self.bytes_kept > PICTURES_BYTES_MAX and len(self._kept) > 1:
                self.bytes_kept -= len(self._kept.popitem(last=False)[1].bytes)
        return picture
