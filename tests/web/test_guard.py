"""The guard, asked through a raw path and through a routed one: the same table, the same answers."""

import asyncio

import pytest

from app.web import guard
from tests.web.conftest import HOST, JSON, URL

# both are unsafe and need a session; without one a request that passed the guard hears 401
PATHS = ["/drops/{slug}/buy", "/orders/00000001-0000-8000-8000-000000000000/pay"]
PASSED = 401


@pytest.fixture(params=PATHS, ids=["raw", "routed"])
async def path(request, shop):
    drop = await shop.opens()
    return request.param.format(slug=drop.slug)


HOSTS = [
    (HOST, PASSED),
    ("localhost:8000", PASSED),
    ("[::1]:8000", PASSED),
    ("127.0.0.1", PASSED),
    ("evil.example", 400),
    ("127.0.0.1.evil.example", 400),
    ("127.0.0.1:80a", 400),
    ("localhost@evil.example", 400),
    ("", 400),
]
ORIGINS = [
    ({}, PASSED),  # no browser
    ({"origin": URL}, PASSED),
    ({"origin": URL, "sec-fetch-site": "same-origin"}, PASSED),
    ({"sec-fetch-site": "same-origin"}, PASSED),
    ({"sec-fetch-site": "none"}, PASSED),
    ({"origin": "null"}, 403),
    ({"origin": "https://evil.example"}, 403),
    ({"origin": "http://127.0.0.1:9999"}, 403),  # another program on the same machine
    ({"origin": "https://127.0.0.1:8000"}, 403),
    ({"origin": f"{URL}.evil.example"}, 403),
    ({"sec-fetch-site": "cross-site"}, 403),
    ({"sec-fetch-site": "same-site"}, 403),
    ({"origin": "null", "sec-fetch-site": "same-origin"}, 403),
]


async def test_only_our_own_names_are_served(shop, path):
    heard = [(host, (await shop.browser().post(path, headers=JSON | {"host": host})).status_code) for host, _ in HOSTS]
    assert heard == HOSTS


async def test_an_unsafe_request_comes_from_our_own_pages_or_from_no_browser(shop, path):
    heard = [(headers, (await shop.browser().post(path, headers=JSON | headers)).status_code) for headers, _ in ORIGINS]
    assert heard == ORIGINS


async def test_a_link_from_another_site_may_still_be_followed(shop):
    drop = await shop.opens()
    for address in (f"/drops/{drop.slug}/stock", "/sign-in"):
        answer = await shop.browser().get(address, headers={"sec-fetch-site": "cross-site"})
        assert answer.status_code == 200, address


async def test_a_large_body_is_refused(shop, path):
    sizes = [(guard.BODY_BYTES_MAX, PASSED), (guard.BODY_BYTES_MAX + 1, 413), (10 * 1024 * 1024, 413)]
    heard = [(size, (await shop.browser().post(path, content=b"a" * size, headers=JSON)).status_code) for size, _ in sizes]
    assert heard == sizes


async def test_a_large_body_without_a_length_is_refused(shop, path):
    async def chunks():
        for _ in range(40):
            yield b"a" * 1024

    answer = await shop.browser().post(path, content=chunks(), headers=JSON)
    assert answer.status_code == 413


async def test_a_body_that_never_ends_is_refused(shop, path, monkeypatch):
    monkeypatch.setattr(guard, "BODY_SECONDS_MAX", 0.05)
    told = await ask(shop.app, path, receive=first_half_then_silence())
    assert told["status"] == 408


async def test_a_caller_who_hangs_up_half_way_reaches_nobody(shop, path):
    messages = [{"type": "http.request", "body": b"a", "more_body": True}, {"type": "http.disconnect"}]

    async def receive():
        return messages.pop(0)

    assert (await ask(shop.app, path, receive=receive))["status"] == 400


async def test_an_address_that_none_of_ours_could_be_is_refused(shop, path):
    for tail in ("%00", "%ff", "%0d%0aSet-Cookie:x", "%7f", "a" * 2000, "?q=%00", "?q=%fe", "?" + "q" * 3000):
        assert (await shop.browser().post(path + tail, headers=JSON)).status_code == 400, tail


async def test_odd_methods_are_refused(shop, path):
    for method in ("TRACE", "CONNECT", "PROPFIND", "QUERY", "OPTIONS"):
        assert (await shop.browser().request(method, path, headers=JSON)).status_code == 405


async def test_a_known_address_names_its_methods(shop, path):
    answer = await shop.browser().request("DELETE", path, headers=JSON)
    assert answer.status_code == 405
    assert "POST" in answer.headers["allow"]


async def test_a_header_that_must_stand_alone_is_refused_twice(shop, path):
    for twice in (OUR_HOST, (b"origin", URL.encode()), (b"idempotency-key", b"k")):
        headers = [twice, twice] if twice is OUR_HOST else [OUR_HOST, twice, twice]
        assert (await ask(shop.app, path, headers=headers))["status"] == 400, twice


async def test_every_answer_carries_the_security_headers(shop, path):
    client = shop.browser()
    answers = [
        await client.post(path, headers=JSON),
        await client.post(path),
        await client.post(path, headers={"host": "evil.example"}),
        await client.post(path, content=b"a" * 20_000),
        await client.get("/nowhere"),
        await client.get("/healthz"),
    ]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        for part in ("default-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'", "object-src 'none'"):
            assert part in policy
        assert f"connect-src 'self' ws://{HOST};" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert "strict-transport-security" not in answer.headers
        assert "server" not in answer.headers


async def test_a_foreign_host_never_gets_into_an_answer(shop, path):
    answer = await shop.browser().post(path, headers={"host": "evil.example"})
    assert "evil" not in answer.text + str(answer.headers)


async def test_an_address_that_asks_too_often_waits(shop, path):
    strangers, loopback = shop.browser(peer="203.0.113.9"), shop.browser()
    calls, seconds = shop.settings.address_limit
    for _ in range(calls):
        assert (await strangers.post(path, headers=JSON)).status_code == PASSED
    refused = await strangers.post(path, headers=JSON)
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["retry-after"]) <= seconds
    assert (await shop.browser(peer="203.0.113.10").post(path, headers=JSON)).status_code == PASSED
    assert (await loopback.post(path, headers=JSON)).status_code == PASSED


async def test_a_fault_of_ours_is_a_plain_500(shop, path, monkeypatch):
    def breaks(_):
        raise RuntimeError("the secret of this shop")

    monkeypatch.setattr(guard.Guard, "session_of", lambda self, call: breaks(call))
    answer = await shop.browser().post(path, headers=JSON)
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert "secret" not in answer.text and "Traceback" not in answer.text


async def test_a_page_that_cannot_be_drawn_is_a_plain_500_too(shop, monkeypatch):
    from app.web.render import Renderer

    def breaks(*_, **__):
        raise RuntimeError("the secret of this shop")

    monkeypatch.setattr(Renderer, "page", breaks)
    answer = await shop.browser().get("/")
    assert answer.status_code == 500
    assert answer.headers["content-type"].startswith("text/html")
    assert "secret" not in answer.text and "<h1>" in answer.text


async def test_head_is_get_without_the_body(shop):
    drop = await shop.opens()
    for address in ("/", f"/drops/{drop.slug}", f"/drops/{drop.slug}/stock", "/healthz"):
        answer = await shop.browser().head(address)
        assert (answer.status_code, answer.content) == (200, b""), address
    assert (await shop.browser().head(f"/drops/{drop.slug}/buy")).status_code == 405


async def test_production_is_https_and_goes_by_one_name(production_shop):
    client = production_shop.browser()
    refused = await client.get("/sign-in")
    assert refused.status_code == 400
    answer = await client.get("/healthz", headers={"host": "shop.example"})
    assert answer.status_code == 200
    assert answer.headers["strict-transport-security"].startswith("max-age=31536000")
    assert "connect-src 'self' wss://shop.example;" in answer.headers["content-security-policy"]
    for origin, status in (("https://shop.example", 401), ("http://shop.example", 403), ("https://shop.example:8443", 403)):
        answer = await client.post("/orders/1/pay", headers=JSON | {"host": "shop.example", "origin": origin})
        assert answer.status_code == status, origin


@pytest.mark.parametrize("host", ["10.0.3.7:8000", "10.0.3.7", "[fd00::7]:8000", "balancer.internal", ""])
async def test_a_load_balancer_asks_by_address_whether_a_process_of_production_serves(production_shop, host):
    client = production_shop.browser(host=host)
    async with asyncio.timeout(10):
        while (await client.get("/readyz")).status_code != 200:  # its feed may still be subscribing
            await asyncio.sleep(0.01)
    assert [(await client.get(path)).status_code for path in ("/healthz", "/servez", "/readyz")] == [200, 200, 200]
    assert [(await client.get(path)).status_code for path in ("/", "/orders", "/healthz/x", "/metrics")] == [400] * 4
    assert (await client.post("/healthz")).status_code in (403, 405)


async def test_production_has_no_development_doors(production_shop):
    client = production_shop.browser(host="shop.example")
    assert (await client.get("/dev/mail")).status_code == 404
    assert (await client.get("/metrics")).status_code == 404


# the socket handshake


async def test_a_handshake_from_elsewhere_is_refused(shop):
    drop = await shop.opens()
    for headers, status in (
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"host": "evil.example"}, 400),
    ):
        raw = [(name.encode(), value.encode()) for name, value in ({"host": HOST} | headers).items()]
        assert (await shake_hands(shop.app, f"/drops/{drop.slug}/live", raw))["status"] == status, headers


async def test_a_handshake_for_no_drop_is_not_found(shop):
    drop = await shop.opens()
    for path in ("/drops/nowhere/live", f"/drops/{drop.slug}/other", "/live"):
        assert (await shake_hands(shop.app, path, [OUR_HOST, (b"origin", URL.encode())]))["status"] == 404, path


OUR_HOST = (b"host", HOST.encode())


async def ask(app, path: str, *, headers=(OUR_HOST,), receive=None) -> dict:
    """POST by hand -> the start of the answer."""

    async def empty():
        return {"type": "http.request", "body": b"", "more_body": False}

    told = []

    async def send(message):
        told.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "headers": [(b"accept", b"application/json"), *headers],
        "client": ("127.0.0.1", 1),
        "http_version": "1.1",
        "state": {},
    }
    async with asyncio.timeout(10):
        await app(scope, receive or empty, send)
    return told[0]


async def shake_hands(app, path: str, headers) -> dict:
    told = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        told.append(message)

    scope = {
        "type": "websocket",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "ws",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "subprotocols": [],
        "extensions": {"websocket.http.response": {}},
        "state": {},
    }
    async with asyncio.timeout(10):
        await app(scope, receive, send)
    return told[0]


def first_half_then_silence():
    asked = 0

    async def receive():
        nonlocal asked
        asked += 1
        if asked == 1:
            return {"type": "http.request", "body": b"a", "more_body": True}
        await asyncio.Event().wait()

    return receive
