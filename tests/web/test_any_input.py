"""Whatever a stranger sends, the answer is never a fault of ours. Requests are damaged at random; a failure prints its seed."""

import random
from urllib.parse import quote_from_bytes

import pytest

from tests.web.conftest import JSON

REQUESTS_PER_SEED = 150
MEDIA = [
    b"application/x-www-form-urlencoded",
    b"application/json",
    b"application/json; charset=\xff",
    b"multipart/form-data",
    b"text/plain",
    b"",
]
BODIES = [
    b"variant=one&quantity=1&key=abc",
    b'{"variant":"one","quantity":1,"key":"abc"}',
    b'{"payment_method":"pm_card_visa"}',
    b"email=a@b.example&code=123456&next=/",
]
ODD = [
    *(b"\x00", b"\xff", b"\r\n", b"\xe2\x80\xae", b"%00", b"%ff", b"%", b"..", b"//", b"\\"),
    *(b"'", b'"', b"<", b"{", b"[", b"&", b"=", b"9" * 30, b"-1", b"null"),
]


def damaged(chance: random.Random, text: bytes) -> bytes:
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(text) + 1)
        match chance.randrange(4):
            case 0:
                text = text[:at] + chance.choice(ODD) + text[at:]
            case 1:
                text = text[:at] + text[at + chance.randrange(1, 6) :]
            case 2:
                text = text[:at] + bytes([chance.randrange(256)]) + text[at + 1 :]
            case 3:
                text = text + text[: chance.randrange(40)]
    return text


@pytest.mark.parametrize("seed", range(4))
async def test_no_damaged_request_is_a_fault_of_ours(shop, seed):
    chance = random.Random(seed)
    drop = await shop.opens(units=1000, limit=5)
    client = await shop.shopper()
    order = await shop.holds(drop, client)
    of_drop = [f"/drops/{drop.slug}{verb}" for verb in ("", "/buy", "/buy", "/stock", "/mine", "/live")]
    of_order = [f"/orders/{order}{verb}" for verb in ("", "/status", "/pay", "/cancel")]
    paths = [
        *of_drop,
        *of_order,
        "/orders",
        "/sign-in",
        "/sign-in/code",
        "/sign-out",
        "/account",
        "/dev/mail",
        "/static/app.css",
        "/",
    ]
    cookie = client.headers.pop("cookie").encode()
    for _ in range(REQUESTS_PER_SEED):
        path = quote_from_bytes(damaged(chance, chance.choice(paths).encode()), safe="/%?&=.-_~")
        headers = [
            (
                b"accept",
                damaged(chance, chance.choice([JSON["accept"].encode(), b"text/html", b"*/*"])).translate(None, b"\r\n\x00"),
            ),
            (b"cookie", damaged(chance, cookie).translate(None, b"\r\n\x00")),
            (b"content-type", chance.choice(MEDIA)),
            (b"idempotency-key", damaged(chance, b"key-1").translate(None, b"\r\n\x00")),
            (b"hx-request-type", chance.choice([b"partial", b"full"])),
        ]
        kept = [header for header in headers if chance.random() < 0.8]
        method, body = chance.choice(["GET", "POST", "POST", "DELETE"]), damaged(chance, chance.choice(BODIES))
        answer = await client.request(method, "/" + path.lstrip("/"), headers=kept, content=body)
        assert answer.status_code < 500, (seed, method, path, kept, body, answer.text)
        assert "Traceback" not in answer.text
