"""The shared connection: answers never shift, nothing waits for ever, and it comes back from every kind of loss."""

import asyncio
import random
import shutil
import tempfile
from pathlib import Path

import hiredis
import pytest
import redis.asyncio
import uvloop

from app.embedded import valkey
from app.errors import GateUnreachable, SettingsError
from app.gate import ConnectionLost, Gate, Wire
from app.gate.scripts import command

from .helpers import DROP, SMALL, arm, buy, check_arithmetic, contents, granted, image, record_all, until, wants
from .proxy import Proxy

NAME = "doorman-test"


@pytest.fixture
async def proxy(redis_url):
    """A proxy before the shared server, and `proxy.url` to reach it."""
    folder = Path(tempfile.mkdtemp(prefix="dm-"))
    proxy = Proxy(redis_url.removeprefix("unix://"))
    await proxy.listen_unix(f"{folder}/p.sock")
    proxy.url = f"unix://{folder}/p.sock"
    yield proxy
    await proxy.close()
    shutil.rmtree(folder)


@pytest.fixture
async def far_gate(proxy):
    """A gate behind the proxy, quick to give up."""
    gate = await Gate.open(proxy.url, name="test", timeout_seconds=0.3)
    yield gate
    await gate.close()


class Server:
    """A Valkey of the test's own, which may be killed, emptied and started again."""

    def __init__(self, folder: Path, password: str | None = None):
        self.folder, self.password = folder, password
        self.url = valkey.url(folder / "s.sock", password)
        self.process = None

    def start(self) -> None:
        self.process = valkey.start(self.folder / "data", self.folder / "s.sock", "always", self.password)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def empty(self) -> None:
        shutil.rmtree(self.folder / "data")


@pytest.fixture
def own_server():
    folder = Path(tempfile.mkdtemp(prefix="dm-"))
    server = Server(folder)
    server.start()
    yield server
    server.kill()
    shutil.rmtree(folder)


async def back_again(gate: Gate) -> None:
    """Return once the gate reaches its server."""
    while True:
        try:
            return await gate._wire.call(command("PING"), patient=True)
        except GateUnreachable:
            continue


# ---- one write, many callers ---------------------------------------------------------------------------------------------


async def test_all_calls_of_one_loop_turn_leave_in_one_write_in_their_order(proxy, far_gate):
    proxy.chunks.clear()
    answers = await asyncio.gather(*(far_gate._wire.call(command("ECHO", n)) for n in range(100)))
    assert answers == [str(n) for n in range(100)]
    assert proxy.chunks == [b"".join(command("ECHO", n) for n in range(100))]


async def test_five_hundred_calls_cancelled_at_random_never_shift_anybodys_answer(gate, client):
    await _storm(gate, client)


def test_the_same_storm_on_uvloop(redis_url):
    async def storm():
        gate = await Gate.open(redis_url, name="test")
        client = redis.asyncio.Redis.from_url(redis_url)
        await _storm(gate, client)
        await gate.close()
        await client.aclose()

    uvloop.run(storm())


async def _storm(gate: Gate, client) -> None:
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    await arm(gate, {SMALL: 200})
    for n in range(20):
        await client.set(f"control:{n}", f"value of {n}")
    over = asyncio.Event()

    async def control(n: int) -> int:
        reads = 0
        while not over.is_set():
            assert await gate._wire.call(command("GET", f"control:{n}")) == f"value of {n}", f"seed {seed}"
            reads += 1
        return reads

    async def shopper(buyer: int):
        return await buy(gate, buyer, key="storm")

    async def cancelled(task: asyncio.Task, turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()

    controls = [asyncio.create_task(control(n)) for n in range(20)]
    shoppers = [asyncio.create_task(shopper(buyer)) for buyer in range(500)]
    await asyncio.gather(*(cancelled(task, chance.randrange(12)) for task in shoppers))
    heard = await asyncio.gather(*shoppers, return_exceptions=True)
    over.set()
    assert all(await asyncio.gather(*controls)), f"seed {seed}"
    assert {type(answer) for answer in heard} >= {asyncio.CancelledError}, f"seed {seed}"

    retried = [await shopper(buyer) for buyer in range(500)]
    assert [answer.verdict for answer in retried].count("reserved") == 200
    for answer, again in zip(heard, retried, strict=True):
        assert isinstance(answer, asyncio.CancelledError) or answer.order_id == again.order_id, f"seed {seed}"
    await check_arithmetic(gate, client)


async def test_a_cancelled_buy_stands_at_the_gate_and_its_key_finds_it(proxy, far_gate):
    await arm(far_gate)
    wanted = wants(1, key="mine")
    await buy(far_gate, 1, variant=999)  # the server knows the script
    proxy.withhold()
    buying = asyncio.create_task(far_gate.reserve(DROP, wanted))
    await proxy.something_is_withheld()
    buying.cancel()
    await asyncio.gather(buying, return_exceptions=True)
    proxy.let_go()
    assert (await buy(far_gate, 1, key="mine")).order_id == wanted.order_id


async def test_an_error_reaches_the_caller_who_caused_it_and_nobody_else(gate):
    good, bad, also_good = await asyncio.gather(
        *(gate._wire.call(command(*words)) for words in (("ECHO", "a"), ("NONSENSE",), ("ECHO", "b"))), return_exceptions=True
    )
    assert (good, also_good) == ("a", "b")
    assert isinstance(bad, hiredis.ReplyError)


# ---- time and bounds -----------------------------------------------------------------------------------------------------


async def test_a_caller_gives_up_in_time_and_the_late_answer_reaches_nobody(proxy, far_gate):
    proxy.withhold()
    with pytest.raises(GateUnreachable, match="in time"):
        await far_gate._wire.call(command("ECHO", "late"))
    proxy.let_go()
    assert await far_gate._wire.call(command("ECHO", "next")) == "next"
    assert proxy.connections == 1, "the connection stayed in step"


async def test_a_server_that_stays_silent_loses_the_connection_and_a_new_one_works(proxy, far_gate):
    proxy.withhold()
    with pytest.raises(GateUnreachable):
        await far_gate._wire.call(command("ECHO", "late"))
    await until(lambda: proxy.connections == 2)
    proxy.let_go()
    await back_again(far_gate)
    assert await far_gate._wire.call(command("ECHO", "next")) == "next"


async def test_more_callers_than_may_wait_are_refused_at_once(proxy):
    wire = await Wire.open(proxy.url, timeout_seconds=5, name=NAME, waiting_max=3)
    proxy.withhold()
    waiting = [asyncio.create_task(wire.call(command("ECHO", n))) for n in range(3)]
    await proxy.something_is_withheld()
    with pytest.raises(GateUnreachable, match="3 calls already wait"):
        await wire.call(command("ECHO", 3))
    proxy.let_go()
    assert await asyncio.gather(*waiting) == ["0", "1", "2"]
    assert await wire.call(command("ECHO", 4)) == "4"
    await wire.close()


# ---- forgotten scripts ---------------------------------------------------------------------------------------------------


async def test_script_flush_under_load_is_invisible_to_buyers(gate, client):
    await arm(gate, {SMALL: 150})
    over = asyncio.Event()

    async def flush() -> int:
        flushes = 0
        while not over.is_set():
            await client.script_flush()
            flushes += 1
        return flushes

    flushing = asyncio.create_task(flush())
    answers = []
    for first in range(0, 600, 20):
        answers += await asyncio.gather(*(buy(gate, buyer) for buyer in range(first, first + 20)))
    over.set()
    assert await flushing > 10
    assert [answer.verdict for answer in answers].count("reserved") == 150
    await check_arithmetic(gate, client)


async def test_a_forgotten_script_is_sent_again_with_its_source_exactly_once(proxy, far_gate, client):
    await arm(far_gate)
    await client.script_flush()
    proxy.chunks.clear()
    assert (await buy(far_gate, 1)).verdict == "reserved"
    assert [b"EVALSHA" in chunk for chunk in proxy.chunks] == [True, False]
    proxy.chunks.clear()
    assert (await buy(far_gate, 2)).verdict == "all_held"
    assert [b"EVALSHA" in chunk for chunk in proxy.chunks] == [True]


# ---- lost connections ----------------------------------------------------------------------------------------------------


async def test_a_buy_whose_answer_was_lost_finds_its_own_order_by_itself(proxy, far_gate, client):
    await arm(far_gate, {SMALL: 5}, per_person=5)
    wanted = wants(1)
    await buy(far_gate, 1, variant=999)  # the server knows the script
    proxy.withhold()
    buying = asyncio.create_task(far_gate.reserve(DROP, wanted))
    await proxy.something_is_withheld()
    proxy.cut()
    answer = await buying
    assert (answer.verdict, answer.order_id) == ("reserved", wanted.order_id)
    assert (await far_gate.peek(DROP)).left == {SMALL: 4}
    await check_arithmetic(far_gate, client)


async def test_a_release_whose_answer_was_lost_is_left_to_the_caller_and_may_be_repeated(proxy, far_gate, client):
    await arm(far_gate)
    order = await granted(far_gate, 1)
    await far_gate.release(DROP, wants(1).order_id)  # the server knows the script
    proxy.withhold()
    releasing = asyncio.create_task(far_gate.release(DROP, order))
    await proxy.something_is_withheld()
    proxy.cut()
    with pytest.raises(ConnectionLost):
        await releasing
    await back_again(far_gate)
    assert (await far_gate.release(DROP, order)).verdict == "absent"
    assert (await far_gate.peek(DROP)).left == {SMALL: 1}
    await check_arithmetic(far_gate, client)


async def test_client_kill_mid_flight_costs_no_unit_and_no_verdict(gate, client):
    await arm(gate, {SMALL: 200})
    await client.execute_command("CLIENT", "PAUSE", 60_000, "WRITE")
    buying = [asyncio.create_task(buy(gate, buyer, key="mine")) for buyer in range(400)]
    while not await _queued(client):
        pass
    await client.execute_command("CLIENT", "KILL", "ID", await _id_of(client, NAME))
    await client.execute_command("CLIENT", "UNPAUSE")
    answers = await asyncio.gather(*buying)
    assert [answer.verdict for answer in answers].count("reserved") == 200
    await check_arithmetic(gate, client)
    assert [await buy(gate, buyer, key="mine") for buyer in range(200)] == answers[:200]


async def _queued(client) -> bool:
    """-> whether the gate's calls have reached the paused server."""
    return any(entry["name"] == NAME and int(entry["qbuf"]) > 0 for entry in await client.client_list())


async def _id_of(client, name: str) -> int:
    (found,) = [entry["id"] for entry in await client.client_list() if entry["name"] == name]
    return int(found)


async def test_a_server_killed_and_started_again_with_its_data_goes_on_where_it_was(own_server):
    gate = await Gate.open(own_server.url, name="test", timeout_seconds=0.2)
    await arm(gate, {SMALL: 2})
    first = await buy(gate, 1, key="mine")
    own_server.kill()
    with pytest.raises(GateUnreachable):
        await gate.peek(DROP)
    own_server.start()
    await back_again(gate)
    assert await buy(gate, 1, key="mine") == first
    assert (await buy(gate, 2)).verdict == "reserved"
    assert (await buy(gate, 3)).verdict == "all_held"
    assert [entry.buyer for entry in await record_all(gate)] == [1, 2]
    await gate.close()


async def test_a_server_that_comes_back_empty_keeps_the_gate_shut_until_it_is_rebuilt(own_server):
    gate = await Gate.open(own_server.url, name="test", timeout_seconds=1)
    await arm(gate, {SMALL: 2})
    order = await granted(gate, 1)
    own_server.kill()
    own_server.empty()
    own_server.start()
    await back_again(gate)
    assert (await buy(gate, 2)).verdict == "not_ready"
    assert (await gate.release(DROP, order)).verdict == "not_ready"
    assert (await gate.settle(DROP, order), await gate.peek(DROP)) == ("not_ready", None)
    await arm(gate, {SMALL: 2})
    assert (await buy(gate, 2)).verdict == "reserved"
    await gate.close()


async def test_while_the_server_is_down_callers_are_told_at_once(own_server):
    gate = await Gate.open(own_server.url, name="test", timeout_seconds=30)
    own_server.kill()
    with pytest.raises(GateUnreachable):
        await gate._wire.call(command("PING"))
    async with asyncio.timeout(5):
        for _ in range(50):
            with pytest.raises(GateUnreachable, match="out of reach"):
                await gate._wire.call(command("PING"))
    own_server.start()
    await back_again(gate)
    await gate.close()


async def test_a_gate_opens_before_its_server_does(own_server):
    own_server.kill()
    gate = await Gate.open(own_server.url, name="test")
    with pytest.raises(GateUnreachable):
        await gate.settle(DROP, wants(1).order_id)
    own_server.start()
    await back_again(gate)
    await arm(gate)
    await gate.close()


async def test_a_closed_gate_fails_its_callers_and_leaves_no_connection(redis_url, client):
    gate = await Gate.open(redis_url, name="short-lived")
    reading = asyncio.create_task(gate.read_journal([DROP], "one", 1, 1))
    await reading
    await gate.close()
    with pytest.raises(GateUnreachable):
        await gate._wire.call(command("PING"))
    while any("short-lived" in entry["name"] for entry in await client.client_list()):
        pass


# ---- servers that cannot serve -------------------------------------------------------------------------------------------


async def test_a_full_server_refuses_whole_scripts_and_writes_nothing(own_server):
    gate = await Gate.open(own_server.url, name="test")
    client = redis.asyncio.Redis.from_url(own_server.url)
    await arm(gate, {SMALL: 2})
    order = await granted(gate, 1)
    entries = await record_all(gate)
    before = await contents(client)
    await client.config_set("maxmemory", 1)
    for call in (buy(gate, 2), gate.release(DROP, order), gate.settle(DROP, order), gate.mend(DROP, None, image())):
        with pytest.raises(GateUnreachable, match="OOM"):
            await call
    await gate.ack(DROP, [entry.entry_id for entry in entries])
    assert (await gate.snapshot(DROP)).receipts.keys() == {order}
    await client.config_set("maxmemory", 0)
    assert await contents(client) == before
    assert (await buy(gate, 2)).verdict == "reserved"
    await client.aclose()
    await gate.close()


async def test_a_master_that_became_a_replica_is_left_and_tried_again(own_server):
    gate = await Gate.open(own_server.url, name="test")
    client = redis.asyncio.Redis.from_url(own_server.url)
    await arm(gate)
    first_connection = await _id_of(client, NAME)
    await client.execute_command("REPLICAOF", "127.0.0.1", "1")
    with pytest.raises(GateUnreachable, match="READONLY"):
        await buy(gate, 1)
    await client.execute_command("REPLICAOF", "NO", "ONE")
    await back_again(gate)
    assert (await buy(gate, 1)).verdict == "reserved"
    assert await _id_of(client, NAME) != first_connection
    await client.aclose()
    await gate.close()


@pytest.mark.parametrize("code", ["LOADING", "MASTERDOWN", "READONLY", "BUSY", "MISCONF"])
async def test_a_server_that_says_it_cannot_serve_is_out_of_reach(code):
    async def answer(reader, writer):
        while (data := await reader.read(65536)) and not writer.is_closing():
            writer.write(b"+OK\r\n" if b"SETNAME" in data else b"-%b for now\r\n" % code.encode())

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    gate = await Gate.open(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}", name="test")
    with pytest.raises(GateUnreachable, match=code):
        await buy(gate, 1)
    await gate.close()
    server.close()


async def test_a_server_that_speaks_out_of_turn_is_not_believed():
    greeted = 0

    async def answer(reader, writer):
        nonlocal greeted
        while await reader.read(65536):
            greeted += 1
            writer.write(b"+OK\r\n+OK\r\n" if greeted == 1 else b"+OK\r\n")

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    wire = await Wire.open(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}", timeout_seconds=1, name=NAME)
    await until(lambda: greeted > 1 and wire.connected)
    assert await wire.call(command("PING")) == "OK"
    await wire.close()
    server.close()


# ---- addresses -----------------------------------------------------------------------------------------------------------


async def test_tcp_works_like_a_unix_socket(redis_url):
    proxy = Proxy(redis_url.removeprefix("unix://"))
    gate = await Gate.open(f"redis://127.0.0.1:{await proxy.listen_tcp()}/0", name="test")
    await arm(gate)
    assert (await buy(gate, 1)).verdict == "reserved"
    await gate.close()
    await proxy.close()


async def test_the_address_may_name_a_database(redis_url):
    gate = await Gate.open(f"{redis_url}?db=3", name="test")
    await gate.mend(DROP, None, image())
    await gate.close()
    client = redis.asyncio.Redis.from_url(redis_url, db=3)
    assert await client.exists(f"{{drop:{DROP}}}:rules")
    await client.aclose()


async def test_a_password_opens_the_server_and_never_stands_in_an_error():
    folder = Path(tempfile.mkdtemp(prefix="dm-"))
    server = Server(folder, "p/s w@rd:%")
    server.start()
    gate = await Gate.open(server.url, name="test")
    await arm(gate)
    await gate.close()
    intruder = await Gate.open(valkey.url(folder / "s.sock", "guessed"), name="test")
    with pytest.raises(GateUnreachable) as caught:
        await intruder.settle(DROP, wants(1).order_id)
    assert "WRONGPASS" in str(caught.value)
    assert "guessed" not in str(caught.value)
    await intruder.close()
    server.kill()
    shutil.rmtree(folder)


@pytest.mark.parametrize("url", ["http://127.0.0.1", "127.0.0.1:6379", "redis://127.0.0.1/first", ""])
async def test_an_address_that_is_none_is_refused_with_a_sentence(url):
    with pytest.raises(SettingsError):
        await Gate.open(url, name="test")
