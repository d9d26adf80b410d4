"""Signed values: whole, fresh and of one purpose, or nothing at all."""

import pytest

from app.web import signing
from app.web.signing import Signer

SECRET = "s" * 32


@pytest.fixture
def signer():
    return Signer(SECRET, "order", seconds_valid=600)


def test_a_signed_value_reads_back(signer):
    assert signer.read(signer.sign(["a", 1])) == ["a", 1]


def test_another_purpose_reads_nothing(signer):
    assert Signer(SECRET, "asked", seconds_valid=600).read(signer.sign(["a", 1])) is None


def test_no_part_can_be_changed_or_cut(signer):
    text = signer.sign(["a", 1])
    for position in range(len(text)):
        changed = text[:position] + ("A" if text[position] != "A" else "B") + text[position + 1 :]
        assert signer.read(changed) is None, position
        assert signer.read(text[:position]) is None, position


@pytest.mark.parametrize("rubbish", [None, "", ".", "..", "é.é", "\x00", "A" * 100_000, "bnVsbA.AAAAAAAAAAAAAAAAAAAAAA"])
def test_rubbish_reads_nothing(signer, rubbish):
    assert signer.read(rubbish) is None


def test_a_value_ends_with_its_time(signer, monkeypatch):
    text = signer.sign("x")
    signed_at = signing.time.time()
    monkeypatch.setattr(signing.time, "time", lambda: signed_at + 599)
    assert signer.read(text) == "x"
    monkeypatch.setattr(signing.time, "time", lambda: signed_at + 602)
    assert signer.read(text) is None
