import asyncio

from app.ledger import Message
from app.ledger.messages import TRIES_MAX


def message(subject_id: str, kind: str = "confirmation") -> Message:
    return Message(kind, subject_id, None, "ada@example.org", "It is yours", "text", "<p>html</p>")


async def test_a_message_is_written_once_per_kind_and_subject(scene):
    assert await scene.ledger.put(message("1"))
    assert not await scene.ledger.put(message("1"))
    assert await scene.ledger.put(message("1", kind="refund"))
    assert await scene.ledger.put(message("2"))
    newest = await scene.ledger.newest(2)
    assert [(stored.kind, stored.subject_id) for stored in newest] == [("confirmation", "2"), ("refund", "1")]
    assert len({stored.message_id for stored in await scene.ledger.newest(10)}) == 3


async def test_a_due_message_is_delivered_by_one_worker(scene):
    for n in range(6):
        await scene.ledger.put(message(str(n)))
    first, second = await asyncio.gather(scene.ledger.claim_due(4), scene.ledger.claim_due(4))
    claimed = [stored.subject_id for stored in first + second]
    assert sorted(set(claimed)) == sorted(claimed)
    rest = await scene.ledger.claim_due(10)
    assert sorted(claimed + [stored.subject_id for stored in rest]) == list("012345")


async def test_a_sent_message_is_not_due_again(scene):
    await scene.ledger.put(message("1"))
    (due,) = await scene.ledger.claim_due(10)
    assert await scene.ledger.sent(due.id)
    assert not await scene.ledger.sent(due.id)
    assert not await scene.ledger.failed(due.id, "late")
    await make_due(scene)
    assert await scene.ledger.claim_due(10) == []
    (stored,) = await scene.ledger.newest(1)
    assert (stored.state, stored.tries, stored.error) == ("sent", 1, None)


async def test_a_worker_that_dies_leaves_its_message_due_under_the_same_message_id(scene):
    await scene.ledger.put(message("1"))
    (first,) = await scene.ledger.claim_due(10)
    assert await scene.ledger.claim_due(10) == []
    await make_due(scene)
    (again,) = await scene.ledger.claim_due(10)
    assert (again.id, again.message_id, again.tries) == (first.id, first.message_id, 2)


async def test_a_failed_message_waits_longer_each_time_and_is_given_up_in_the_end(scene):
    await scene.ledger.put(message("1"))
    waits = []
    for _ in range(TRIES_MAX):
        (due,) = await scene.ledger.claim_due(10)
        assert await scene.ledger.failed(due.id, "451 try again\x00")
        waits.append(await scene.hand.fetchval("SELECT extract(epoch FROM next_try_at - now())::float FROM messages"))
        await make_due(scene)
    for wait, expected in zip(waits, [5, 10, 20, 40, 80, 160, 320, 640, 900, 900], strict=True):
        assert expected - 4 < wait <= expected
    assert await scene.ledger.claim_due(10) == []
    (stored,) = await scene.ledger.newest(1)
    assert (stored.state, stored.error, stored.tries) == ("failed", "451 try again", TRIES_MAX)


async def make_due(scene):
    await scene.hand.execute("UPDATE messages SET next_try_at = now()")
