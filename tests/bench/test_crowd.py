"""The load generator accounts for every buyer, whatever the server does to it."""

import asyncio
import itertools
import json
import math
from collections import Counter

import pytest

from app.bench.crowd import Ask, Crowd, Tally, main
from app.errors import BrokenInvariant


class Server:
    """Answers each request with what `reply(number, request)` returns: bytes, or None to hang up, or ... to stay silent."""

    def __init__(self, reply):
        self.reply = reply
        self.numbers = itertools.count()
        self.requests = []

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/buy"
        return self

    async def __aexit__(self, *error):
        self.server.close()

    async def serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = next((int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length:")), 0)
                body = (await reader.readexactly(length)).decode()
                self.requests.append((head, body))
                answer = self.reply(next(self.numbers), body)
                if answer is ...:
                    await asyncio.sleep(60)
                if answer is None:
                    return
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def said(verdict, status=200, **more):
    body = json.dumps({"verdict": verdict, **more}).encode()
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


async def play(server, buyers, connections=8, seconds_max=20.0, **ask):
    return await Crowd(Ask(url=server.url, buyers=buyers, **ask), connections, seconds_max).play()


async def test_every_buyer_asks_once_with_a_cookie_and_a_body_of_their_own():
    async with Server(lambda number, body: said("sold_out", 409)) as server:
        tally = await play(server, 500, cookies=[f"session=c{i}" for i in range(500)], body="key=k{i}")
    assert tally.answers == {"sold_out": 500}
    assert tally.statuses == {409: 500}
    cookies = Counter(line for head, _ in server.requests for line in head.split("\r\n") if line.startswith("Cookie"))
    assert cookies == {f"Cookie: session=c{i}": 1 for i in range(500)}
    pairs = {(head.split("session=c")[1].split("\r")[0], body.removeprefix("key=k")) for head, body in server.requests}
    assert all(cookie == key for cookie, key in pairs)


async def test_answers_are_counted_by_verdict_and_orders_are_kept():
    def reply(number, body):
        return said("reserved", 201, order=f"{number:08x}-0000-8000-8000-000000000000") if number < 7 else said("all_held", 409)

    async with Server(reply) as server:
        tally = await play(server, 100)
    assert tally.answers == {"reserved": 7, "all_held": 93}
    assert len(set(tally.orders)) == 7
    assert len(tally.seconds) == 100
    assert 0 < tally.percentile_ms(0.5) <= tally.percentile_ms(0.99) <= tally.percentile_ms(1.0)


async def test_bodies_are_kept_per_buyer_when_asked_for():
    async with Server(lambda number, body: said("reserved", 201, echo=body)) as server:
        tally = await play(server, 20, body="{i}", keep_bodies=True)
    assert {buyer: json.loads(body)["echo"] for buyer, body in tally.bodies.items()} == {i: str(i) for i in range(20)}


async def test_each_buyer_may_have_a_path_of_their_own():
    async with Server(lambda number, body: said("paused", 409)) as server:
        await play(server, 3, connections=1, paths=["/orders/a", "/orders/b", "/orders/c"], method="GET")
    assert [head.partition(" HTTP")[0] for head, _ in server.requests] == ["GET /orders/a", "GET /orders/b", "GET /orders/c"]


async def test_an_answer_without_a_verdict_is_counted_by_its_status_and_kept_to_look_at():
    async with Server(lambda number, body: b"HTTP/1.1 500 X\r\nContent-Length: 4\r\n\r\noops") as server:
        tally = await play(server, 5)
    assert tally.answers == {"http 500": 5}
    assert tally.odd == {"http 500": "oops"}


async def test_a_lost_connection_is_an_error_of_its_buyer_and_is_not_asked_again():
    async with Server(lambda number, body: None if number % 10 == 0 else said("sold_out")) as server:
        tally = await play(server, 200)
    assert tally.errors == {"connection lost": 20}
    assert tally.answered == 180
    assert len(server.requests) == 200


async def test_a_server_that_falls_silent_leaves_unanswered_buyers_not_wrong_numbers():
    async with Server(lambda number, body: said("sold_out") if number < 30 else ...) as server:
        tally = await play(server, 50, connections=4, seconds_max=0.5)
    assert (tally.answered, tally.failed, tally.unanswered) == (30, 0, 20)


async def test_nobody_listening_is_an_error_of_every_buyer():
    async with Server(lambda number, body: said("sold_out")) as server:
        url = server.url
        server.server.close()
        await server.server.wait_closed()
        tally = await Crowd(Ask(url=url, buyers=9), 3).play()
    assert tally.errors == {"no connection: ConnectionRefusedError": 9}


async def test_chunked_answers_and_closing_servers_are_understood():
    chunked = (
        b'HTTP/1.1 409 X\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n12\r\n{"verdict":"paused\r\n2\r\n"}\r\n0\r\n\r\n'
    )
    async with Server(lambda number, body: chunked) as server:
        tally = await play(server, 20)
    assert tally.answers == {"paused": 20}


async def test_something_that_is_not_http_is_an_error():
    async with Server(lambda number, body: b"220 mail.example ESMTP\r\n") as server:
        tally = await play(server, 3)
    assert tally.failed == 3
    assert all(reason.startswith("not HTTP") for reason in tally.errors)


async def test_no_more_connections_than_asked_for_are_open_at_once():
    open_now, most = set(), 0

    async def serve(reader, writer):
        nonlocal most
        open_now.add(writer)
        most = max(most, len(open_now))
        while await reader.read(65_536):
            writer.write(said("sold_out"))
        open_now.discard(writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    await Crowd(Ask(url=url, buyers=300), 17).play()
    assert most == 17
    server.close()


def test_a_tally_that_does_not_add_up_is_refused():
    with pytest.raises(BrokenInvariant):
        Tally(buyers=3, answers=Counter(sold_out=2), seconds=[0.1, 0.1]).check()
    with pytest.raises(BrokenInvariant):
        Tally(buyers=2, answers=Counter(sold_out=2), seconds=[0.1]).check()
    assert math.isnan(Tally(buyers=0).percentile_ms(0.5))


def test_an_ask_with_the_wrong_number_of_cookies_is_refused():
    with pytest.raises(ValueError, match="2 cookies for 3 buyers"):
        Ask(url="http://127.0.0.1/", buyers=3, cookies=["a", "b"])


async def test_it_runs_as_a_process_of_its_own(tmp_path, capsys):
    (tmp_path / "cookies").write_text("session=a\nsession=b\n")
    async with Server(lambda number, body: said("sold_out", 409)) as server:
        code = await asyncio.to_thread(main, [server.url, "--cookies", str(tmp_path / "cookies"), "--connections", "2"])
    assert code == 0
    assert json.loads(capsys.readouterr().out)["answers"] == {"sold_out": 2}
