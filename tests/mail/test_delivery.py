"""Mails leave the outbox once; after a crash, or a mail server that takes one and dies, at most once more, under the same name."""

import pytest

from app.ledger import Message
from app.mail import delivery
from app.mail.delivery import deliver_waiting
from app.mail.letters import Letters
from tests.doubles import Died

SENDER = "Doorman <shop@example.org>"
LETTERS = Letters("https://shop.example")


async def written(scene, subject_id="1", *, recipient="ada@example.org", subject="It is yours") -> None:
    await scene.ledger.put(Message("sign_in_code", subject_id, None, recipient, subject, "text", "<p>html</p>"))


async def delivers(scene, sink, outbox=None) -> int:
    await scene.hand.execute("UPDATE messages SET next_try_at = now()")
    return await deliver_waiting(outbox or scene.ledger, LETTERS, sink.url, SENDER)


async def fate(scene) -> tuple[str, int]:
    return tuple(await scene.hand.fetchrow("SELECT state, doubts FROM messages"))


async def test_a_mail_leaves_once_as_text_and_html(scene, sink):
    await written(scene)
    assert await delivers(scene, sink) == 1
    assert await delivers(scene, sink) == 0
    (mail,) = sink.mails
    (stored,) = await scene.ledger.newest(1)
    assert (mail["To"], mail["From"], mail["Message-ID"]) == ("ada@example.org", SENDER, stored.message_id)
    assert mail.get_body(("plain",)).get_content().strip() == "text"
    assert mail.get_body(("html",)).get_content().strip() == "<p>html</p>"
    assert await fate(scene) == ("sent", 0)


async def test_many_mails_share_a_connection(scene, sink):
    for n in range(10):
        await written(scene, str(n))
    assert await delivers(scene, sink) == 10
    assert sink.connections == 1


async def test_a_mail_server_that_takes_a_mail_and_dies_gets_it_once_more_and_never_a_third_time(scene, sink):
    await written(scene)
    sink.faults = ["takes it and dies"] * 5
    assert [await delivers(scene, sink) for _ in range(4)] == [0, 0, 0, 0]
    assert len(sink.mails) == 2
    assert len({mail["Message-ID"] for mail in sink.mails}) == 1
    assert await fate(scene) == ("unknown", 2)
    assert [mail.kind for mail in await scene.ledger.undelivered(10)] == ["sign_in_code"]


async def test_one_that_dies_once_is_sent_again_and_then_known_to_be_sent(scene, sink):
    await written(scene)
    sink.faults = ["takes it and dies"]
    assert [await delivers(scene, sink) for _ in range(3)] == [0, 1, 0]
    assert len(sink.mails) == 2
    assert await fate(scene) == ("sent", 1)


async def test_a_mail_server_that_hangs_up_before_the_mail_raises_no_doubt_that_matters(scene, sink):
    await written(scene)
    sink.faults = ["hangs up before data"]
    assert [await delivers(scene, sink) for _ in range(2)] == [0, 1]
    assert len(sink.mails) == 1


@pytest.mark.parametrize("fault", ["no such person", "refuses the mail"])
async def test_a_mail_refused_for_good_is_shown_to_the_seller_and_not_sent_again(scene, sink, fault):
    await written(scene)
    await written(scene, "2", recipient="bob@example.org")
    sink.faults = [fault]
    assert await delivers(scene, sink) == 1
    assert await delivers(scene, sink) == 0
    (refused,) = await scene.ledger.undelivered(10)
    assert (refused.state, refused.recipient) == ("failed", "ada@example.org")
    assert refused.error.startswith(("550", "554"))
    assert [mail["To"] for mail in sink.mails] == ["bob@example.org"]


async def test_a_busy_mail_server_gets_it_later(scene, sink):
    await written(scene)
    sink.faults = ["busy", "busy"]
    assert [await delivers(scene, sink) for _ in range(3)] == [0, 0, 1]
    assert len(sink.mails) == 1


async def test_a_mail_server_that_is_away_costs_tries_and_no_doubts(scene, sink):
    await written(scene)
    await sink.close()
    assert await deliver_waiting(scene.ledger, LETTERS, "smtp://127.0.0.1:1", SENDER) == 0
    assert await fate(scene) == ("waiting", 0)


STEPS = {
    "before it is handed over": ("sending", "before", 1),
    "after it is noted as being sent": ("sending", "after", 1),
    "after the mail server took it": ("sent", "before", 2),
    "after that is noted": ("sent", "after", 1),
}


@pytest.mark.parametrize("step", STEPS)
async def test_a_worker_that_dies_between_any_two_steps_repeats_a_mail_at_most_once(scene, sink, step):
    await written(scene)
    method, when, copies = STEPS[step]

    class Dying:
        def __getattr__(self, name):
            real = getattr(scene.ledger, name)

            async def call(*arguments, **more):
                if name == method and when == "before":
                    raise Died
                answer = await real(*arguments, **more)
                if name == method:
                    raise Died
                return answer

            return call

    with pytest.raises(Died):
        await delivers(scene, sink, Dying())
    for _ in range(3):
        await delivers(scene, sink)
    assert len(sink.mails) == copies
    assert (await fate(scene))[0] == "sent"


async def test_a_worker_that_was_overtaken_sends_nothing(scene, sink):
    await written(scene)
    (slow,) = await scene.ledger.claim_due(10)
    assert await delivers(scene, sink) == 1
    assert not await scene.ledger.sending(slow.id, slow.tries)


async def test_what_is_not_sent_in_time_is_left_to_the_next_claim(scene, sink, monkeypatch):
    await written(scene)
    monkeypatch.setattr(delivery, "BATCH_SECONDS_MAX", -1.0)
    assert await delivers(scene, sink) == 0
    monkeypatch.undo()
    assert await delivers(scene, sink) == 1


async def test_a_mail_nobody_can_write_is_shown_and_holds_up_no_other(scene, sink):
    order = await scene.hold()
    await scene.hand.execute("UPDATE messages SET kind = 'nonsense', state = 'waiting' WHERE order_id = $1", order)
    await written(scene)
    assert await delivers(scene, sink) == 1
    assert [mail.kind for mail in await scene.ledger.undelivered(10)] == ["nonsense"]


@pytest.mark.parametrize("recipient", ["ada@example.org\nBcc: eve@example.org", "ada@example.org\r\n\r\nbody"])
async def test_no_header_can_be_injected(scene, sink, recipient):
    await written(scene, recipient=recipient)
    await written(scene, "2", subject="Hello\nBcc: eve@example.org")
    assert await delivers(scene, sink) == 0
    assert sink.mails == []
    assert len(await scene.ledger.undelivered(10)) == 2


async def test_synthetic_shoppers_get_no_mail(scene, sink):
    await scene.hold()
    assert await delivers(scene, sink) == 0
    (kept,) = await scene.ledger.newest(1)
    assert (kept.kind, kept.state) == ("hold", "withheld")


async def test_a_hold_of_a_person_is_written_when_it_is_sent(scene, sink):
    ada = await scene.ledger.shopper_for("ada@example.org", "Ada@example.org")
    order = await scene.hold(ada)
    assert await delivers(scene, sink) == 1
    (mail,) = sink.mails
    assert f"https://shop.example/orders/{order}" in mail.get_body(("plain",)).get_content()
    assert mail["To"] == "Ada@example.org"
