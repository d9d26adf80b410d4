"""Nothing of a person or a secret gets into a log, whoever writes the line."""

import asyncio
import os
import sys
from uuid import UUID

import pytest

from app.domain.links import link_key, order_link
from app.logs import masked
from app.settings import Settings
from app.web.session import mint_cookies
from app.web.signing import Signer

SECRET = "s" * 32
LINK = order_link(link_key(SECRET), UUID(int=7))
COOKIE = mint_cookies(Settings(secret=SECRET), [77])[0]
TOKEN = Signer(SECRET, "order", seconds_valid=60).sign(["order", 1])


@pytest.mark.parametrize(
    ("line", "kept", "gone"),
    [
        ("mail to mira.lind+x@mail.example.org failed", "m***@mail.example.org failed", "ira.lind"),
        (f"GET {LINK} 404", "GET /o/*** 404", LINK[3:]),
        (f"cookie {COOKIE}; x", "; x", COOKIE.partition("=")[2]),
        (f"/orders/1?t={TOKEN}&x=1", "&x=1", TOKEN),
        ("key sk_live_51H8abcdefghijklmnop used", "sk_*** used", "51H8"),
        ("secret pi_3Nabcdefghijkl_secret_abcdefghijklmnop", "pi_***", "Nabc"),
        ("redis://:hunter2@cache:6379/0 and postgres://doorman:hunter2@db/x", "redis://:***@cache:6379/0", "hunter2"),
        ("Authorization: Bearer abcdef0123456789", "Bearer ***", "abcdef0123456789"),
        ("card 4242 4242 4242 4242 declined", "card *** declined", "4242"),
        ("card 5555-5555-5555-4444.", "***.", "5555"),
    ],
    ids=["address", "link", "cookie", "token", "key", "intent", "password", "bearer", "card", "card with dashes"],
)
def test_it_is_masked(line, kept, gone):
    assert kept in masked(line) and gone not in masked(line)


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-30T19:47:13.412Z [warning  ] gate unreachable drop=7 error=the gate did not answer in time",
        "order 00000004-5d2a-8c11-9e07-3f6b1c2d4e5f paid at 1796068033412 (seq 1796068033412001)",
        "loops restarted on unix:///tmp/dm/g.sock @ 19:00",
    ],
)
def test_what_is_harmless_stays(line):
    assert masked(line) == line


PROGRAM = """
import logging, structlog
from app.logs import configure_log
configure_log()
secret_cookie = "session=1.4d.0.66b1f0aa.AAAAAAAAAAAAAAAAAAAAAA"
try:
    raise ValueError("mail to mira@example.org")
except ValueError:
    structlog.get_logger("x").exception("failed", recipient="mira@example.org")
    logging.getLogger("library").exception("failed for mira@example.org")
structlog.get_logger("x").warning("plain", link="/o/" + "A" * 43)
"""


async def test_every_line_of_a_process_is_masked_and_no_traceback_shows_local_variables():
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env={**os.environ}
    )
    out, said = await process.communicate()
    text = said.decode()
    assert out == b"" and process.returncode == 0, text
    assert text.count("Traceback") == 2 and text.count("m***@example.org") >= 4
    assert "mira" not in text.replace('raise ValueError("mail to m***', "") and "AAAA" not in text and "secret_cookie" not in text
