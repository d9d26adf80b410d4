"""Order ids: a UUID (version 8) that names its drop.

The first 32 bits are the drop's id, 90 of the others are random. Whoever holds an order id can find the drop's gate keys without a
look-up (the order page asks the gate before the ledger has the order), and nobody can guess one.
"""

import os
import secrets
from uuid import UUID

from app.errors import BadInput

DROP_ID_MAX = 2**32 - 1
RANDOM_DIGITS = 24  # drawn for an id; 90 bits of them are used
IDS_AHEAD = 256
VARIANT = {digit: "89ab"[int(digit, 16) % 4] for digit in "0123456789abcdef"}


class _Randomness:
    """The system's random digits, drawn for some hundred ids at once: asking the kernel for each would cost more than the id."""

    def __init__(self) -> None:
        self.forget()
        os.register_at_fork(after_in_child=self.forget)  # or parent and child would hand out the same ones

    def forget(self) -> None:
        self._digits, self._at = "", 0

    def digits(self) -> str:
        """-> RANDOM_DIGITS hexadecimal digits that were never handed out before."""
        if self._at >= len(self._digits):
            self._digits, self._at = secrets.token_hex(RANDOM_DIGITS // 2 * IDS_AHEAD), 0
        begin, self._at = self._at, self._at + RANDOM_DIGITS
        return self._digits[begin : self._at]


_randomness = _Randomness()


def new_order_text(drop_id: int) -> str:
    """-> a fresh order id of this drop, in the canonical form of a UUID. `drop_id`: 1 .. DROP_ID_MAX."""
    if not 1 <= drop_id <= DROP_ID_MAX:
        raise ValueError(f"drop id {drop_id} is outside 1..{DROP_ID_MAX}")
    random = _randomness.digits()  # the 8 is the version, the digit out of VARIANT the variant 10: RFC 9562 section 5.8
    return f"{drop_id:08x}-{random[:4]}-8{random[4:7]}-{VARIANT[random[7]]}{random[8:11]}-{random[11:23]}"


def new_order_id(drop_id: int) -> UUID:
    """As `new_order_text`."""
    return UUID(new_order_text(drop_id))


def drop_of(order_id: UUID) -> int:
    """-> the id of the drop that this order id was made for (0 or a drop that does not exist for a foreign uuid)."""
    return order_id.int >> 96


def parse_order_id(text: str) -> UUID:
    """-> the id; raises BadInput for anything that is not the canonical form of a UUID."""
    try:
        parsed = UUID(text)
    except ValueError as error:
        raise BadInput("this is not an order number", field="order") from error
    if str(parsed) != text.lower():
        raise BadInput("this is not an order number", field="order")
    return parsed
