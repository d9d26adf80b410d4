"""Time-based one-time passwords (RFC 6238 over RFC 4226): six digits, a new one every thirty seconds, SHA-1 as every app expects.

Pure: the caller brings the secret and the clock. A code is good in its own step and the two beside it, for clocks that are a little
off; whoever accepts one must remember its step, so that neither it nor an older one is accepted again.
"""

import base64
import hmac
import struct
from datetime import datetime
from urllib.parse import quote

DIGITS = 6
STEP_SECONDS = 30
STEPS_OFF_MAX = 1  # a phone's clock may be off by this many steps, either way
SECRET_BYTES = 20  # RFC 4226 section 4


def code_at(secret: bytes, step: int) -> str:
    """-> the code of this step, with its leading zeros."""
    digest = hmac.digest(secret, struct.pack(">Q", step), "sha1")
    offset = digest[-1] & 0xF
    (number,) = struct.unpack(">I", digest[offset : offset + 4])
    return f"{(number & 0x7FFFFFFF) % 10**DIGITS:0{DIGITS}d}"


def step_at(moment: datetime) -> int:
    return int(moment.timestamp()) // STEP_SECONDS


def step_of(secret: bytes, code: str, moment: datetime) -> int | None:
    """-> the step that this code belongs to, None for a wrong one. All candidates are compared, each in constant time."""
    here = step_at(moment)
    found = None
    for step in range(here - STEPS_OFF_MAX, here + STEPS_OFF_MAX + 1):
        if hmac.compare_digest(code_at(secret, step).encode(), code.encode()):
            found = step
    return found


def written(secret: bytes) -> str:
    """-> the secret as apps take it when it is typed: base32 without padding."""
    return base64.b32encode(secret).decode().rstrip("=")


def address(secret: bytes, issuer: str, account: str) -> str:
    """-> the otpauth:// address that a QR code carries to the app."""
    label = quote(f"{issuer}:{account}", safe=":@")
    return f"otpauth://totp/{label}?secret={written(secret)}&issuer={quote(issuer, safe='')}&digits={DIGITS}&period={STEP_SECONDS}"
