"""Reading what mail servers send back: a delivery report (RFC 3464) becomes the mail that did not arrive, and why. Pure.

A mail server may take a mail and say hours later, by a mail of its own, that nobody has that address. Such a report names the
recipient and carries the returned mail or its headers, by whose Message-ID ours is known again.

Guarantees: whatever is handed in, the answer is a Bounce or None and no exception; a report of a delay or of a success is None, and
so is a mail of a person or one of another sender's. A Bounce is what the report says, no more: whether there is such a mail to such
an address is the ledger's to know, and a forged one names none.
"""

import email
import email.message
import email.policy
import re
from collections.abc import Iterator
from typing import NamedTuple

BOUNCE_BYTES_MAX = 1024 * 1024  # of a report; the returned mail stands at its end and only its headers are wanted
REASON_CHARACTERS_MAX = 300
PARTS_MAX = 50
OUR_MESSAGE_ID = re.compile(r"<[0-9]{1,18}\.[0-9]{1,20}@doorman>")


class Bounce(NamedTuple):
    """A mail that came back."""

    message_id: str  # of the mail, with its angle brackets
    recipients: tuple[str, ...]  # lower case: all addresses under which the report knows whom it was meant for
    reason: str  # '5.1.1 550 No such user here'


def read_bounce(raw: bytes) -> Bounce | None:
    """One RFC 822 message -> the mail of ours that it says did not arrive; None when it says no such thing."""
    try:
        report = email.message_from_bytes(raw[:BOUNCE_BYTES_MAX], policy=email.policy.compat32)
        return _read(report)
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ):  # the parser takes everything; its answers may be odd
        return None


def _read(report: email.message.Message) -> Bounce | None:
    recipients: list[str] = []
    reason = None
    message_id = ""
    for part in _parts(report):
        match part.get_content_type():
            case "message/delivery-status":
                for group in _groups(part):
                    if _words(group["Action"]).lower() == "failed":
                        recipients += [_address(group[name]) for name in ("Final-Recipient", "Original-Recipient") if group[name]]
                        reason = reason or _reason(group)
            case "message/rfc822" | "text/rfc822-headers" | "message/global-headers" | "message/global":
                returned = _returned(part)
                found = OUR_MESSAGE_ID.fullmatch(_words(returned["Message-ID"]))
                if found:
                    message_id = found[0]
                    recipients.append(_address(returned["To"]))
    known = tuple(dict.fromkeys(address for address in recipients if "@" in address))
    return Bounce(message_id, known, reason) if message_id and known and reason else None


def _parts(report: email.message.Message) -> Iterator[email.message.Message]:
    """-> the parts of a multipart/report, one level deep: what a returned mail holds in turn is not the report's word."""
    if report.get_content_type() == "multipart/report" and report.is_multipart():
        yield from report.get_payload()[:PARTS_MAX]


def _groups(part: email.message.Message) -> list[email.message.Message]:
    """-> the groups of fields of a delivery status: one about the report, then one for each recipient."""
    payload = part.get_payload()
    return payload[1 : PARTS_MAX + 1] if isinstance(payload, list) else []


def _returned(part: email.message.Message) -> email.message.Message:
    payload = part.get_payload()
    if isinstance(payload, list):
        return payload[0]
    return email.message_from_string(payload, policy=email.policy.compat32)


def _reason(group: email.message.Message) -> str:
    """-> '5.1.1 550 No such user here', one line."""
    diagnostic = _words(group["Diagnostic-Code"]).partition(";")[2].strip()
    said = f"{_words(group['Status'])} {diagnostic}".strip() or "no reason given"
    return "".join(character for character in said if character.isprintable())[:REASON_CHARACTERS_MAX]


def _address(field: object) -> str:
    """'rfc822; Ada@Example.org' or '<ada@example.org>' -> 'ada@example.org'"""
    words = _words(field)
    words = words.rpartition(";")[2] if ";" in words else words
    return words.strip().strip("<>").strip().lower()


def _words(field: object) -> str:
    return " ".join(str(field or "").split())
