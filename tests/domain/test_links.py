"""Secret links: whoever has one has it from us."""

import base64
import os
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.links import LINK_PREFIX, link_key, order_link, order_of_link

KEY = link_key("s" * 32)


def token_of(order_id: UUID, key: bytes = KEY) -> str:
    return order_link(key, order_id).removeprefix(LINK_PREFIX)


def test_a_link_leads_to_its_order_and_is_always_the_same():
    order = uuid4()
    assert order_of_link(KEY, token_of(order)) == order
    assert order_link(KEY, order) == order_link(KEY, order)
    assert order_link(KEY, order).startswith("/o/")


def test_a_link_of_another_installation_is_none():
    assert order_of_link(link_key("t" * 32), token_of(uuid4())) is None


@pytest.mark.parametrize("position", range(43))
def test_a_changed_character_makes_it_none(position):
    token = token_of(uuid4())
    changed = token[:position] + ("A" if token[position] != "A" else "B") + token[position + 1 :]
    assert order_of_link(KEY, changed) is None


@given(st.text(max_size=60))
def test_anything_else_is_none(text):
    assert order_of_link(KEY, text) is None


def test_a_link_minus_its_secret_is_none():
    order = uuid4()
    for rest in (b"", b"\0" * 16, os.urandom(16)):
        token = base64.urlsafe_b64encode(order.bytes + rest).rstrip(b"=").decode()
        assert order_of_link(KEY, token) is None
    assert order_of_link(KEY, str(order)) is None
