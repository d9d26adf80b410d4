"""Who is told what, when: over sockets without a network, so that the order of things is the test's own."""

import asyncio
import itertools
import time

import pytest

from app.live import hub as hub_module
from app.live.hub import (
    CLOSE_POLICY,
    CLOSE_RESTART,
    CLOSE_TOO_BIG,
    CLOSE_TRY_LATER,
    INBOUND_BYTES_MAX,
    JSON,
    JSON_SUBPROTOCOL,
    PUSHES_PER_SECOND_MAX,
    SOCKETS_PER_ADDRESS_MAX,
)

from .watchers import SECONDS_MAX, YEAR_MS, Shelf, Watcher

STOCK = {"kind": "stock", "drop": 7}


@pytest.fixture
async def shelf():
    return Shelf()


@pytest.fixture
async def hub(shelf):
    hub = shelf.hub()
    yield hub
    await hub.close()


@pytest.fixture
def without_floor(monkeypatch):
    """Only a message or the clock makes the hub read."""
    monkeypatch.setattr(hub_module, "FLOOR_SECONDS", 1_000.0)


async def until(condition):
    async with asyncio.timeout(SECONDS_MAX):
        while not condition():  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(0.005)


def assert_empty(hub):
    assert (hub.sockets_total, hub.channels_total, dict(hub._per_address)) == (0, 0, {})


async def test_a_new_socket_is_told_the_full_state_at_once(hub, shelf):
    watcher = Watcher(hub)
    assert (await watcher.next("websocket.accept"))["subprotocol"] is None
    seen = await watcher.sees()
    assert seen == {"drop": 7, "left": 10, "watching": 1, "seq": seen["seq"], "at_us": seen["seq"]}


async def test_json_is_spoken_under_its_subprotocol(hub):
    watcher = Watcher(hub, flavour=JSON)
    assert (await watcher.next("websocket.accept"))["subprotocol"] == JSON_SUBPROTOCOL
    assert (await watcher.next())["text"].startswith("{")


async def test_a_change_is_rendered_once_and_everyone_gets_the_same_string(hub, shelf, without_floor):
    watchers = [Watcher(hub) for _ in range(50)]
    for watcher in watchers:
        await watcher.sees()
    await until(lambda: hub.sockets_total == 50)
    before = len(shelf.renders)
    shelf.left = 9
    hub.hear(STOCK)
    texts = {id((await watcher.next())["text"]) for watcher in watchers}
    assert len(texts) == 1
    assert len(shelf.renders) == before + 1


async def test_a_change_is_rendered_once_for_each_flavour_that_somebody_watches_in(hub, shelf, without_floor):
    watchers = [Watcher(hub, flavour=flavour) for flavour in ("html:de", "html:en", "html:en", "html:de", "html:en")]
    for watcher in watchers:
        await watcher.sees()
    await until(lambda: hub.sockets_total == 5)
    shelf.flavours.clear()
    shelf.left = 9
    hub.hear(STOCK)
    told = {(watcher.flavour, id((await watcher.next())["text"])) for watcher in watchers}
    assert sorted(shelf.flavours) == ["html:de", "html:en"] and len(told) == 2


async def test_a_newcomer_in_a_flavour_of_their_own_is_shown_the_reading_that_there_is(hub, shelf, without_floor):
    first = Watcher(hub, flavour="html:en")
    seen = await first.sees()
    reads = shelf.reads
    assert (await Watcher(hub, flavour="html:de").sees())["seq"] == seen["seq"]
    assert (shelf.reads, shelf.flavours) == (reads, ["html:en", "html:de"])


async def test_a_reading_that_shows_nothing_new_is_not_pushed(hub, shelf, without_floor):
    watcher = Watcher(hub)
    await watcher.sees()
    reads = shelf.reads
    hub.hear(STOCK)
    await until(lambda: shelf.reads > reads)
    shelf.left = 9
    hub.hear(STOCK)
    await watcher.sees_left(9)
    assert [left for left, _ in shelf.renders] == [10, 9]


async def test_a_changed_drop_is_drawn_again_although_its_counts_are_the_same(hub, shelf, without_floor):
    watcher = Watcher(hub)
    await watcher.sees()
    hub.hear({"kind": "drop", "drop": 7})
    assert (await watcher.sees())["left"] == 10


async def test_a_drop_is_not_troubled_by_the_changes_of_another(hub, shelf, without_floor):
    watcher = Watcher(hub)
    await watcher.sees()
    reads = shelf.reads
    hub.hear({"kind": "stock", "drop": 8})
    hub.hear({"kind": "order", "order": "x"})
    await asyncio.sleep(0.05)
    assert shelf.reads == reads


async def test_a_thousand_changes_in_a_row_are_at_most_ten_pushes_a_second(hub, shelf, without_floor):
    watcher = Watcher(hub)
    await watcher.sees()
    began = time.monotonic()
    for left in range(1_000, 0, -1):
        shelf.left = left
        hub.hear(STOCK)
        await asyncio.sleep(0.001)
    await watcher.sees_left(1)
    elapsed = time.monotonic() - began
    pushes = len(shelf.renders) - 1
    assert 2 <= pushes <= elapsed * PUSHES_PER_SECOND_MAX + 1


async def test_a_change_during_a_reading_is_read_again(hub, shelf, without_floor):
    watcher = Watcher(hub)
    await watcher.sees()
    reads = shelf.reads
    shelf.hold.clear()
    hub.hear(STOCK)
    await until(lambda: shelf.reads == reads + 1)  # this one read 10 and is on its way
    shelf.left = 4
    hub.hear(STOCK)
    shelf.hold.set()
    await watcher.sees_left(4)


async def test_a_lost_message_is_made_good_by_the_floor(hub, shelf, monkeypatch):
    monkeypatch.setattr(hub_module, "FLOOR_SECONDS", 0.05)
    watcher = Watcher(hub)
    await watcher.sees()
    shelf.left = 3  # and nobody says so
    await watcher.sees_left(3)


async def test_everybody_hears_something_although_nothing_changes(hub, shelf, monkeypatch):
    monkeypatch.setattr(hub_module, "FLOOR_SECONDS", 0.02)
    monkeypatch.setattr(hub_module, "HEARTBEAT_SECONDS", 0.2)
    watcher = Watcher(hub)
    first, second = await watcher.sees(), await watcher.sees()
    assert second["left"] == first["left"]
    assert second["at_us"] - first["at_us"] >= 200_000
    assert hub_module.FLOOR_SECONDS < 15


def test_the_heartbeat_and_the_floor_together_keep_the_promise_of_fifteen_seconds():
    assert hub_module.HEARTBEAT_SECONDS + hub_module.FLOOR_SECONDS < 15


@pytest.mark.parametrize("boundary", ["last ten seconds", "opening", "closing"])
async def test_the_page_flips_when_the_clock_says_so_without_any_message(shelf, hub, without_floor, boundary):
    moment_ms = time.time_ns() // 1_000_000 + 400
    if boundary == "last ten seconds":
        shelf.opens_ms = moment_ms + 10_000
    elif boundary == "opening":
        shelf.opens_ms = moment_ms
    else:
        shelf.closes_ms = moment_ms
    watcher = Watcher(hub)
    before, after = await watcher.sees(), await watcher.sees()
    assert before["at_us"] < moment_ms * 1000 <= after["at_us"]
    assert after["at_us"] - moment_ms * 1000 < 1_000_000


async def test_a_rehearsed_drop_flips_by_its_own_clock(shelf, hub, without_floor):
    shelf.clock_offset_ms = YEAR_MS
    shelf.opens_ms = time.time_ns() // 1_000_000 + YEAR_MS + 300
    watcher = Watcher(hub)
    before, after = await watcher.sees(), await watcher.sees()
    assert before["at_us"] // 1000 + YEAR_MS < shelf.opens_ms <= after["at_us"] // 1000 + YEAR_MS


async def test_a_drop_that_opens_next_year_waits_without_spinning(shelf, hub, without_floor):
    shelf.opens_ms = time.time_ns() // 1_000_000 + YEAR_MS
    watcher = Watcher(hub)
    await watcher.sees()
    await asyncio.sleep(0.5)
    assert shelf.reads == 1


async def test_seq_is_the_gates_time_and_grows_also_when_that_clock_goes_back(shelf, hub, without_floor):
    shelf.clock_us = 1_000_000
    watcher = Watcher(hub)
    seen = [await watcher.sees()]
    for left, clock_us in ((9, 2_000_000), (8, 1_500_000), (7, 1_500_000), (6, 3_000_000)):
        shelf.left, shelf.clock_us = left, clock_us
        hub.hear(STOCK)
        seen.append(await watcher.sees_left(left))
    assert [one["seq"] for one in seen] == [1_000_000, 2_000_000, 2_000_001, 2_000_002, 3_000_000]


async def test_a_slow_reader_gets_the_newest_state_only_and_holds_up_nobody(shelf, hub, without_floor):
    slow, quick = Watcher(hub), Watcher(hub)
    await slow.sees()
    await quick.sees()
    slow.readable.clear()
    for left in range(9, 3, -1):
        shelf.left = left
        hub.hear(STOCK)
        await quick.sees_left(left)
    slow.readable.set()
    assert [(await slow.sees())["left"], (await slow.sees())["left"]] == [9, 4]  # the one under way, then the newest
    await asyncio.sleep(0.05)
    assert slow.sent.empty()


async def test_a_reader_that_never_reads_is_cut_off_and_leaves_nothing_behind(shelf, monkeypatch, without_floor):
    monkeypatch.setattr(hub_module, "SEND_SECONDS_MAX", 0.2)

    class Transport:
        def abort(self):
            watcher.leaves()

    hub = shelf.hub()
    watcher = Watcher(hub)
    watcher.transport = Transport()  # as the server's protocol has one
    await watcher.sees()
    watcher.readable.clear()
    shelf.left = 1
    hub.hear(STOCK)
    await watcher.ended()
    assert_empty(hub)


async def test_a_fan_out_lets_others_run_between_its_slices(shelf, hub, without_floor, monkeypatch):
    monkeypatch.setattr(hub_module, "SOCKETS_PER_SLICE", 10)
    monkeypatch.setattr(hub_module, "SOCKETS_PER_ADDRESS_MAX", 1_000)
    watchers = [Watcher(hub) for _ in range(100)]
    for watcher in watchers:
        await watcher.sees()
    shelf.left = 2
    hub.hear(STOCK)
    told_at_once, told = [], 0
    while told < len(watchers):
        await asyncio.sleep(0)
        now = sum(not watcher.sent.empty() for watcher in watchers)
        told_at_once.append(now - told)
        told = now
    assert max(told_at_once) <= 10


async def test_sockets_stay_open_while_the_gate_is_away_and_it_is_said_only_after_a_while(shelf, hub, monkeypatch):
    monkeypatch.setattr(hub_module, "FLOOR_SECONDS", 0.1)
    monkeypatch.setattr(hub_module, "NOT_READY_AFTER_SECONDS", 0.5)
    watcher = Watcher(hub)
    seen = await watcher.sees()
    shelf.reachable = False
    lost = time.monotonic()
    not_ready = await watcher.sees()
    assert not_ready["left"] == -1
    assert time.monotonic() - lost >= 0.5
    assert not_ready["seq"] == seen["seq"] + 1, "so that the first true reading is newer"
    shelf.reachable, shelf.left = True, 5
    assert (await watcher.sees())["left"] == 5
    assert not watcher.task.done()


async def test_a_short_outage_of_the_gate_is_not_shown(shelf, hub, monkeypatch):
    monkeypatch.setattr(hub_module, "FLOOR_SECONDS", 0.03)
    watcher = Watcher(hub)
    await watcher.sees()
    shelf.reachable, reads = False, shelf.reads
    await until(lambda: shelf.reads >= reads + 3)
    shelf.reachable, shelf.left = True, 5
    assert (await watcher.sees())["left"] == 5


async def test_who_comes_during_an_outage_hears_not_ready_at_once(shelf, hub):
    shelf.reachable = False
    watcher = Watcher(hub)
    assert await watcher.sees() == {"drop": 7, "left": -1, "watching": 1, "seq": 0, "at_us": None}


async def test_an_empty_gate_is_not_ready_at_once_and_right_again_when_mended(shelf, hub, without_floor):
    watcher = Watcher(hub)
    await watcher.sees()
    shelf.empty = True
    hub.hear(STOCK)
    await watcher.sees_left(-1)
    shelf.empty = False
    hub.hear({"kind": "gap"})
    await watcher.sees_left(10)


async def test_a_page_that_cannot_be_drawn_is_tried_again(shelf, monkeypatch):
    monkeypatch.setattr(hub_module, "FLOOR_SECONDS", 0.05)
    faults = itertools.chain([True, True], itertools.repeat(False))

    def render(*arguments):
        if next(faults):
            raise RuntimeError("a template's fault")
        return shelf.render(*arguments)

    hub = hub_module.Hub(shelf.read, render)
    assert (await Watcher(hub).sees())["left"] == 10
    await hub.close()


async def test_people_who_leave_are_forgotten_and_the_last_one_stops_the_reading(shelf, hub, monkeypatch):
    monkeypatch.setattr(hub_module, "FLOOR_SECONDS", 0.01)
    watchers = [Watcher(hub), Watcher(hub, flavour=JSON), Watcher(hub, drop_id=8)]
    for watcher in watchers:
        await watcher.sees()
    for watcher in watchers:
        watcher.leaves()
        await watcher.ended()
    assert_empty(hub)
    reads = shelf.reads
    await asyncio.sleep(0.1)
    assert shelf.reads <= reads + 1


@pytest.mark.parametrize("moment", ["before connect", "during the first reading", "at accept", "while open"])
async def test_a_socket_whose_task_is_cancelled_leaves_no_trace(shelf, moment):
    hub = shelf.hub()
    if moment == "during the first reading":
        shelf.hold.clear()
    watcher = Watcher(hub)
    if moment == "before connect":
        watcher.events = asyncio.Queue()
    if moment == "at accept":
        watcher.readable.clear()
    if moment == "while open":
        await watcher.sees()
    else:
        await asyncio.sleep(0.02)
    watcher.task.cancel()
    await watcher.ended()
    assert_empty(hub)


async def test_a_peer_that_is_gone_before_it_was_accepted_leaves_no_trace(shelf):
    hub = shelf.hub()
    watcher = Watcher(hub)
    watcher.gone = True
    await watcher.ended()
    assert_empty(hub)


async def test_a_message_too_big_closes_the_socket(hub):
    watcher = Watcher(hub)
    await watcher.sees()
    watcher.says("x" * INBOUND_BYTES_MAX)
    watcher.says("x" * (INBOUND_BYTES_MAX + 1))
    assert (await watcher.next("websocket.close"))["code"] == CLOSE_TOO_BIG


async def test_two_messages_within_a_second_close_the_socket(hub):
    watcher = Watcher(hub)
    await watcher.sees()
    watcher.says("hello")
    watcher.says("hello?")
    assert (await watcher.next("websocket.close"))["code"] == CLOSE_POLICY


async def test_one_message_a_second_is_borne(hub, monkeypatch):
    now = itertools.count(100)
    watcher = Watcher(hub)
    await watcher.sees()
    socket = next(iter(hub._channels[7].sockets))
    monkeypatch.setattr(hub_module, "monotonic", lambda: next(now))
    codes = [hub_module._judge_inbound(socket, {"text": "hello"}) for _ in range(5)]
    assert codes == [None] * 5


async def test_one_address_has_a_bounded_number_of_sockets_and_gets_room_again_when_one_leaves(hub):
    watchers = [Watcher(hub, address="198.51.100.9") for _ in range(SOCKETS_PER_ADDRESS_MAX)]
    for watcher in watchers:
        await watcher.sees()
    refused = Watcher(hub, address="198.51.100.9")
    assert (await refused.next("websocket.close"))["code"] == CLOSE_POLICY
    assert (await Watcher(hub, address="203.0.113.5").sees())["left"] == 10
    watchers[0].leaves()
    await watchers[0].ended()
    assert (await Watcher(hub, address="198.51.100.9").sees())["left"] == 10


async def test_callers_on_this_machine_are_not_counted_when_they_need_not_be(shelf, monkeypatch):
    monkeypatch.setattr(hub_module, "SOCKETS_PER_ADDRESS_MAX", 1)
    hub = shelf.hub(count_loopback=False)
    for address in ("127.0.0.1", "127.0.0.1", "::1", "::1"):
        assert (await Watcher(hub, address=address).sees())["left"] == 10
    await hub.close()


async def test_a_full_process_refuses_before_accepting(hub, monkeypatch):
    monkeypatch.setattr(hub_module, "SOCKETS_PER_PROCESS_MAX", 1)
    await Watcher(hub).sees()
    plain = Watcher(hub)
    assert (await plain.next("websocket.close"))["code"] == CLOSE_TRY_LATER
    http = Watcher(hub, extensions={"websocket.http.response": {}})
    assert (await http.next("websocket.http.response.start"))["status"] == 503
    await http.ended()
    assert hub.sockets_total == 1
    assert all(message["type"] != "websocket.accept" for message in plain.everything + http.everything)


async def test_shutting_down_closes_every_socket_and_accepts_no_more(shelf):
    hub = shelf.hub()
    watchers = [Watcher(hub) for _ in range(20)]
    for watcher in watchers:
        await watcher.sees()
    await hub.close()
    for watcher in watchers:
        assert (await watcher.next("websocket.close"))["code"] == CLOSE_RESTART
        await watcher.ended()
    late = Watcher(hub)
    await late.next("websocket.close")
    await late.ended()
    assert_empty(hub)
