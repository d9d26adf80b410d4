import os
from uuid import UUID

import pytest

from app.domain.ids import DROP_ID_MAX, drop_of, new_order_id, new_order_text, parse_order_id
from app.errors import BadInput

A_UUID = UUID("0f8fad5b-d9cb-469f-a165-70867728950e")


@pytest.mark.parametrize("drop_id", [1, 2, 77, 2**31, DROP_ID_MAX])
def test_an_order_id_names_its_drop(drop_id):
    order_id = new_order_id(drop_id)
    assert drop_of(order_id) == drop_id
    assert (order_id.version, order_id.variant) == (8, "specified in RFC 4122")


def test_the_text_of_a_fresh_id_is_canonical():
    for text in {new_order_text(77) for _ in range(1000)}:
        order_id = parse_order_id(text)
        assert (str(order_id), drop_of(order_id)) == (text, 77)
        assert (order_id.version, order_id.variant) == (8, "specified in RFC 4122")


def test_two_processes_never_hand_out_the_same_ids():
    new_order_id(1)  # some are drawn ahead
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, "\n".join(new_order_text(1) for _ in range(300)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as told:
        theirs = set(told.read().split("\n"))
    assert len(theirs) == 300
    assert theirs.isdisjoint(new_order_text(1) for _ in range(300))


def test_order_ids_are_distinct():
    assert len({new_order_id(1) for _ in range(10_000)}) == 10_000


@pytest.mark.parametrize("drop_id", [0, -1, DROP_ID_MAX + 1])
def test_a_drop_id_that_does_not_fit_is_refused(drop_id):
    with pytest.raises(ValueError, match="outside"):
        new_order_id(drop_id)


def test_an_order_number_is_read_in_either_case():
    order_id = new_order_id(9)
    assert parse_order_id(str(order_id)) == parse_order_id(str(order_id).upper()) == order_id


@pytest.mark.parametrize(
    "text", ["", "1", "not-a-uuid", f"{{{A_UUID}}}", f"urn:uuid:{A_UUID}", A_UUID.hex, f"{A_UUID} ", "\x00" * 36]
)
def test_what_is_no_order_number_is_refused(text):
    with pytest.raises(BadInput) as caught:
        parse_order_id(text)
    assert caught.value.field == "order"


def test_a_foreign_uuid_belongs_to_a_drop_that_cannot_exist():
    assert drop_of(UUID(int=0)) == 0
