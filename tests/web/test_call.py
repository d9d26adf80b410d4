"""Fields of a body: strict about what they are, silent about nothing."""

import pytest

from app.errors import BadInput
from app.web.call import Call, read_form, read_json


def call_with(body=b"", **headers) -> Call:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    call = Call({"path": "/", "query_string": b"a=1&b=%C3%A9&a=2", "headers": raw})
    call.body = body
    return call


def test_a_form_is_unquoted():
    assert read_form(b"variant=Gr%C3%B6%C3%9Fe+M&quantity=2&key=") == {"variant": "Größe M", "quantity": "2", "key": ""}


@pytest.mark.parametrize(
    "body",
    [b"a=%00", b"a=%ff", b"a=\xff", b"a=1&a=2", b"&".join(b"f%d=1" % n for n in range(40)), b"a=%c3", "a=é".encode("latin-1")],
)
def test_a_broken_form_is_bad_input(body):
    with pytest.raises(BadInput):
        read_form(body)


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"1", b"{", b'{"a":1}x', b'{"a":"\xff"}', b'{"a":"\\u0000"}', b"[" * 5000, b'{"a":' * 2000 + b"1" + b"}" * 2000],
)
def test_broken_json_is_bad_input(body):
    with pytest.raises(BadInput):
        read_json(body)


def test_json_is_wanted_by_name_or_by_sending_it():
    assert call_with(accept="application/json").wants_json
    assert call_with(content_type="application/json; charset=utf-8").wants_json
    assert not call_with(content_type="application/json", accept="text/html").wants_json
    assert not call_with(accept="text/html,*/*").wants_json
    assert not call_with().wants_json


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("application/json;q=0", False),
        ("application/json; q=0.000, text/html", False),
        ("application/json;q=0.1, text/html;q=0", True),
        ("text/html;q=0, application/json", True),
        ("application/json;q=0.05", True),
        ("*/*;q=0", False),
    ],
)
def test_a_weight_of_nought_says_what_is_not_wanted(accept, wanted):
    assert call_with(accept=accept).wants_json is wanted


def test_a_program_that_refuses_html_hears_json():
    assert call_with(content_type="application/json", accept="text/html;q=0").wants_json


def test_a_query_parameter_is_read_by_name():
    assert (call_with().query("b"), call_with().query("a"), call_with().query("c")) == ("é", "1", "")


def test_a_header_that_must_stand_alone_is_noticed_when_it_comes_twice():
    for name in (b"host", b"origin", b"idempotency-key"):
        scope = {"path": "/", "query_string": b"", "headers": [(name, b"x"), (name, b"x")]}
        assert Call(scope).repeated, name
