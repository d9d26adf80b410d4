"""Order ids: a UUID (version 8) that names its drop.

The first 32 bits are the drop's id, 90 of the others are random. Whoever holds an order id can find the drop's gate keys without a
look-up (the order page asks the gate before the ledger has the order), and nobody can guess one.
"""

import secrets
from uuid import UUID

from app.errors import BadInput

DROP_ID_MAX = 2**32 - 1


def new_order_id(drop_id: int) -> UUID:
    """-> a fresh order id of this drop. `drop_id`: 1 .. DROP_ID_MAX."""
    if not 1 <= drop_id <= DROP_ID_MAX:
        raise ValueError(f"drop id {drop_id} is outside 1..{DROP_ID_MAX}")
    bits = (drop_id << 96) | int.from_bytes(secrets.token_bytes(12), "big")
    bits = (bits & ~(0xF << 76)) | (0x8 << 76)  # version 8, RFC 9562 section 5.8
    bits = (bits & ~(0x3 << 62)) | (0x2 << 62)  # variant 10
    return UUID(int=bits)


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
