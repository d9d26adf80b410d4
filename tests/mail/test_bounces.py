"""A mail that its server took and could not deliver is shown with those that were refused; a forged report changes nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ledger import Message
from app.mail.bounces import Bounce, read_bounce

OURS = "<12.1764536400000000@doorman>"
RETURNED = """\
--b
Content-Type: {returned_type}

Received: from shop.example
From: Doorman <shop@example.org>
To: ada@example.org
Subject: Your turn
Message-ID: {message_id}

The text.
"""
REPORT = """\
Return-Path: <>
From: MAILER-DAEMON@mx.example.net (Mail Delivery System)
To: shop@example.org
Subject: Undelivered Mail Returned to Sender
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: text/plain

I am sorry to have to inform you of {message_id}.

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example.net
Arrival-Date: Mon, 30 Nov 2026 20:00:00 +0000

Final-Recipient: rfc822; {recipient}
Action: {action}
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 <ada@example.org>:
 Recipient address rejected: User unknown

{returned}--b--
"""


def report(
    *, message_id=OURS, recipient="Ada@example.org", action="failed", returned_type="message/rfc822", returned=True
) -> bytes:
    carried = RETURNED.format(message_id=message_id, returned_type=returned_type) if returned else ""
    return REPORT.format(message_id=message_id, recipient=recipient, action=action, returned=carried).encode()


@pytest.mark.parametrize("returned_type", ["message/rfc822", "text/rfc822-headers"])
def test_a_report_names_the_mail_the_address_and_the_reason_in_one_line(returned_type):
    reason = "5.1.1 550 5.1.1 <ada@example.org>: Recipient address rejected: User unknown"
    assert read_bounce(report(returned_type=returned_type)) == Bounce(OURS, ("ada@example.org",), reason)


def test_an_address_that_was_passed_on_is_known_by_the_one_we_wrote_to():
    assert read_bounce(report(recipient="ada@elsewhere.example")).recipients == ("ada@elsewhere.example", "ada@example.org")


@pytest.mark.parametrize(
    "raw",
    [
        report(action="delayed"),
        report(action="delivered"),
        report(message_id="<20261130.1@another-shop.example>"),
        report(returned=False),
        b"",
        b"\xff\x00" * 100,
        b"From: ada@example.org\r\nSubject: " + OURS.encode() + b"\r\n\r\nAction: failed\r\nMessage-ID: " + OURS.encode(),
        b"Content-Type: multipart/report; boundary=b\r\n\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\n\r\n--b--",
        report().replace(b"multipart/report", b"multipart/mixed"),
    ],
    ids=["delayed", "delivered", "another's", "nothing returned", "empty", "bytes", "a person's", "no status", "not a report"],
)
def test_what_does_not_say_that_a_mail_of_ours_came_back_is_none(raw):
    assert read_bounce(raw) is None


@given(st.binary(max_size=400), st.integers(0, len(report())), st.integers(0, 60))
def test_no_input_breaks_the_reader(noise, at, gone):
    whole = report()
    found = read_bounce(whole[:at] + noise + whole[at + gone :])
    assert found is None or (found.message_id and found.recipients and "\n" not in found.reason)


async def sent_mail(scene):
    await scene.ledger.put(Message("sign_in_code", "1", None, "Ada@Example.org", "subject", "text", "<p>html</p>"))
    (due,) = await scene.ledger.claim_due(10)
    await scene.ledger.sent(due.id)
    return due


async def test_a_mail_that_came_back_stands_with_those_that_were_refused(scene):
    mail = await sent_mail(scene)
    assert await scene.ledger.undelivered(10) == []
    bounce = read_bounce(report(message_id=mail.message_id))
    assert await scene.ledger.came_back(*bounce) == ("Ada@Example.org", "sign_in_code")
    (shown,) = await scene.ledger.undelivered(10)
    assert (shown.id, shown.state) == (mail.id, "failed") and shown.error.startswith("came back: 5.1.1 550") and shown.sent_at
    assert await scene.ledger.came_back(*bounce) is None  # the report came twice
    await scene.hand.execute("UPDATE messages SET next_try_at = now()")
    assert await scene.ledger.claim_due(10) == []  # it is not sent again


async def test_a_forged_report_changes_nothing(scene):
    mail = await sent_mail(scene)
    guessed = f"<{mail.id}.1764536400000000@doorman>"
    for message_id, recipients in (
        (guessed, ("ada@example.org",)),
        (mail.message_id, ("mira@example.org",)),
        (mail.message_id.replace(f"<{mail.id}.", f"<{mail.id + 1}."), ("ada@example.org",)),
        ("<x@doorman>", ("ada@example.org",)),
    ):
        assert await scene.ledger.came_back(message_id, recipients, "5.1.1") is None
    (stored,) = await scene.ledger.newest(1)
    assert (stored.state, stored.error) == ("sent", None)


async def test_a_mail_that_was_not_sent_yet_cannot_come_back(scene):
    await scene.ledger.put(Message("sign_in_code", "1", None, "ada@example.org", "subject", "text", "<p>html</p>"))
    (mail,) = await scene.ledger.newest(1)
    assert await scene.ledger.came_back(mail.message_id, ("ada@example.org",), "5.1.1") is None


async def test_a_mail_that_is_back_before_its_worker_noted_that_it_was_sent_is_not_taken_for_sent(scene):
    await scene.ledger.put(Message("sign_in_code", "1", None, "ada@example.org", "subject", "text", "<p>html</p>"))
    (due,) = await scene.ledger.claim_due(10)
    assert await scene.ledger.sending(due.id, due.tries)
    assert await scene.ledger.came_back(due.message_id, ("ada@example.org",), "5.1.1")
    assert not await scene.ledger.sent(due.id)
    assert [mail.state for mail in await scene.ledger.undelivered(10)] == ["failed"]
