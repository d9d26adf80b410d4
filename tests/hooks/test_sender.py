import asyncio
import socket

import pytest

from app.hooks import NotSent, Sender
from app.hooks.sender import ANSWER_CHARACTERS_KEPT

from .receiver import Receiver, drips, floods, hangs, hangs_up, says


async def posted(sender, receiver, body=b"{}"):
    return await sender.post(receiver.url, {"content-type": "application/json", "x-one": "1"}, body)


async def refused(sender, url) -> str:
    with pytest.raises(NotSent) as failure:
        await sender.post(url, {}, b"{}")
    return str(failure.value)


async def test_what_is_sent_arrives_whole(sender, receiver):
    assert await posted(sender, receiver, b'{"a":1}') == (200, "ok")
    [got] = receiver.received
    assert (got.path, got.body, got.headers["x-one"], got.headers["host"]) == ("/in", b'{"a":1}', "1", f"127.0.0.1:{receiver.port}")
    assert "cookie" not in got.headers


async def test_a_redirect_is_an_answer_and_is_not_followed(sender, receiver):
    elsewhere = await Receiver().open()
    receiver.answers = [says(302, f"location: {elsewhere.url}", "set-cookie: a=b"), says(307, f"location: {elsewhere.url}")]
    assert [(await posted(sender, receiver)).status for _ in range(2)] == [302, 307]
    assert elsewhere.received == [] and "cookie" not in receiver.received[1].headers
    await elsewhere.close()


async def test_a_receiver_that_is_down_is_not_sent_to(sender, receiver):
    await receiver.close()
    assert await refused(sender, receiver.url)


@pytest.mark.parametrize("how", [hangs, drips])
async def test_one_that_is_slow_is_given_up_as_a_whole_in_time(sender, receiver, how):
    receiver.answers = [how]
    async with asyncio.timeout(5):
        assert "no answer within 0.5 seconds" in await refused(sender, receiver.url)


async def test_one_that_hangs_up_gave_no_answer(sender, receiver):
    receiver.answers = [hangs_up, b"nonsense\r\n\r\n"]
    assert await refused(sender, receiver.url) and await refused(sender, receiver.url)


async def test_of_an_endless_answer_the_beginning_is_kept_and_nothing_odd_in_it(sender, receiver):
    receiver.answers = [floods]
    status, text = await posted(sender, receiver)
    assert status == 500 and text.startswith("no no") and len(text) <= ANSWER_CHARACTERS_KEPT and text.isprintable()


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "169.254.169.254", "10.1.2.3", "2130706433"]
)
async def test_in_production_nothing_inside_is_connected_to(receiver, host):
    sender = Sender(outside_only=True, seconds_max=5)
    assert "private network" in await refused(sender, f"http://{host}:{receiver.port}/in")
    assert receiver.received == []
    await sender.close()


async def test_a_name_is_judged_by_what_it_stands_for_when_connecting(receiver, monkeypatch):
    """First it leads outside, as when the webhook was added; then inside."""
    loop, asked = asyncio.get_running_loop(), []

    async def turned(host, port, **_):
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in ("127.0.0.1", "192.168.0.1")]

    monkeypatch.setattr(loop, "getaddrinfo", turned)
    sender = Sender(outside_only=True, seconds_max=5)
    assert "private network" in await refused(sender, f"http://rebound.example:{receiver.port}/in")
    assert asked == ["rebound.example"] and receiver.received == []
    await sender.close()


async def test_the_address_that_was_judged_is_the_one_that_is_connected_to(receiver, monkeypatch):
    """The name is asked once; whatever it would say next does not matter."""
    loop, connected = asyncio.get_running_loop(), []

    async def outside_at_first(host, port, **_):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in ("127.0.0.1", "93.184.216.34")]

    monkeypatch.setattr(loop, "getaddrinfo", outside_at_first)
    sender = Sender(outside_only=True, seconds_max=5)

    async def connect_tcp(address, port, *_):
        connected.append((address, port))
        raise OSError("no route")

    monkeypatch.setattr(sender._pool._network_backend._network, "connect_tcp", connect_tcp)
    assert await refused(sender, "http://shop.example/in") == "no route"
    assert connected == [("93.184.216.34", 80)]
    await sender.close()
