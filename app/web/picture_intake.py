"""A picture that a stranger's file claims to be: looked at in a process of its own, and made anew before anybody else sees it.

Guarantees: what is kept was written by us, from pixels alone. No byte of the file is passed on, so metadata (where a photograph was
taken), what hides behind the picture, and a second meaning of the file (HTML, a script, an archive) stay behind. Only JPEG, PNG,
WebP and AVIF are read, by their content, whatever the file is called; its size in bytes is checked before anything is started, its
size in pixels before anything is decoded. Decoding has CHILD_SECONDS and CHILD_BYTES_MAX of memory and dies with whatever it does
to itself: this process waits, bounded, and is never slowed. At most CHILDREN_MAX pictures are looked at at once; a few more wait,
at most OF_SHOP_MAX of a shop.

The child cannot start, is killed or does not answer: the file is refused with a sentence, nothing is kept.
"""

import asyncio
import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec

from app.errors import BadInput
from app.languages import N_, _
from app.ledger import Ledger, Picture
from app.picture_child import CHILD_SECONDS, FILE_BYTES_MAX, Answer, kind_of
from app.pictures import Rendition
from app.web.seats import NoSeat, Seats

CHILDREN_MAX = 2
ROOT = Path(__file__).resolve().parents[2]
WAITING_MAX = 8
OF_SHOP_MAX = 3  # looked at, or waiting

NO_PICTURE = N_("This is no picture that we can read. Send a JPEG, PNG, WebP or AVIF.")
TOO_MANY_BYTES = N_("The file is larger than 10 MB. Send a smaller one.")
TOO_MANY_PIXELS = N_("The picture has more than 40 megapixels. Send a smaller one.")
TOO_FEW_PIXELS = N_("The picture is smaller than 200 pixels. Send a larger one.")
TOO_SLOW = N_("Reading this picture took too long. Send a simpler one, such as a JPEG.")
BUSY = N_("Several pictures are being looked at already. Send it again in a moment.")
SENTENCES = {"no_picture": NO_PICTURE, "too_many_pixels": TOO_MANY_PIXELS, "too_few_pixels": TOO_FEW_PIXELS}


@dataclass(frozen=True, slots=True)
class Taken:
    """What is kept of an uploaded picture: a JPEG of ours and its renditions."""

    hash: str  # hex SHA-256 of `bytes`
    width: int
    height: int
    bytes: bytes
    renditions: list[Rendition]

    media_type = "image/jpeg"


class Intake:
    """One per web process."""

    def __init__(self, seconds: float = CHILD_SECONDS):
        self.seconds = seconds
        self._free = asyncio.Semaphore(CHILDREN_MAX)
        self._seats = Seats(WAITING_MAX, OF_SHOP_MAX)

    async def take(self, file: bytes, shop_id: int | None = None) -> Taken:
        """-> the picture in this shop's file, made anew; BadInput says why there is none."""
        if len(file) > FILE_BYTES_MAX:
            raise BadInput(TOO_MANY_BYTES, field="file")
        if kind_of(file) is None:
            raise BadInput(NO_PICTURE, field="file")
        try:
            with self._seats.seat(shop_id):
                async with self._free:
                    answer = await self._ask(file)
        except NoSeat as error:
            raise BadInput(BUSY, field="file") from error
        if answer.refused:
            raise BadInput(SENTENCES.get(answer.refused, NO_PICTURE), field="file")
        made = [Rendition(*one) for one in answer.renditions]
        return Taken(hashlib.sha256(answer.jpeg).hexdigest(), answer.width, answer.height, answer.jpeg, made)

    async def _ask(self, file: bytes) -> Answer:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "app.picture_child", cwd=ROOT, env={},
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            async with asyncio.timeout(self.seconds):
                said, _nothing = await child.communicate(file)
        except TimeoutError as error:
            raise BadInput(TOO_SLOW, field="file") from error
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        try:
            return msgspec.msgpack.decode(said, type=Answer)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:  # it died, of whatever the file did to it
            raise BadInput(NO_PICTURE, field="file") from error


async def put_up(ledger: Ledger, shop_id: int, intake: Intake, file: bytes) -> Taken:
    """Take a shop's picture in and keep it, with its renditions -> it. BadInput: none, or too many of this shop today."""
    if not await ledger.may_put_up(shop_id):
        raise BadInput(_("This shop has put up too many pictures today. Go on tomorrow."), field="file")
    taken = await intake.take(file, shop_id)
    renditions = [Picture(taken.hash, one.media_type, one.width, one.height, one.bytes) for one in taken.renditions]
    await ledger.put_up(shop_id, Picture(taken.hash, taken.media_type, taken.width, taken.height, taken.bytes), renditions)
    return taken
