"""POST /drops/{slug}/buy: the public contract for every verdict, in each of the three languages, and every kind of bad input."""

import asyncio
import json
from uuid import UUID, uuid4

from app.clock import from_ms, iso
from app.domain.drops import Door
from app.domain.verdicts import Answer, Verdict
from app.gate import Gate
from app.ledger.pool import Pool
from app.purchase.reserving import Counter
from tests.web.conftest import FORM, JSON, PARTIAL


async def buys(client, drop, headers=JSON, **fields):
    return await client.post(f"/drops/{drop.slug}/buy", json=fields, headers=headers)


async def submits(client, drop, headers=FORM, **fields):
    return await client.post(f"/drops/{drop.slug}/buy", data=fields, headers=headers)


# every verdict, as JSON


async def test_reserved_is_201_with_order_and_deadline(shop):
    drop = await shop.opens()
    answer = await buys(await shop.shopper(), drop)
    order = UUID(answer.json()["order"])
    receipt = await shop.gate.receipt(drop.id, order)
    assert answer.status_code == 201
    assert answer.json() == {"verdict": "reserved", "order": str(order), "pay_by": iso(from_ms(receipt.pay_by_ms))}
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["location"] == f"/orders/{order}"


async def test_already_yours_is_200_with_the_order_and_what_is_left_of_the_limit(shop):
    drop = await shop.opens(units=9, limit=3)
    client = await shop.shopper()
    order = (await buys(client, drop, quantity=2)).json()["order"]
    answer = await buys(client, drop, quantity=2)
    assert (answer.status_code, answer.json()) == (200, {"verdict": "already_yours", "order": order, "allowed": 1})


async def test_all_held_and_sold_out_are_409_apart(shop):
    drop = await shop.opens()
    order = (await buys(await shop.shopper(), drop)).json()["order"]
    held = await buys(await shop.shopper(), drop)
    assert (held.status_code, held.json()["verdict"]) == (409, "all_held")
    await shop.gate.settle(drop.id, UUID(order))
    await shop.feed.publish("stock", drop=drop.id)
    sold = await until(lambda: buys_as_someone(shop, drop), lambda answer: answer.json()["verdict"] == "sold_out")
    assert sold.status_code == 409
    body = sold.json()
    assert body.pop("title") and body.pop("detail")
    assert body == {"type": "about:blank", "status": 409, "verdict": "sold_out", "drop": drop.slug}
    assert sold.headers["content-type"] == "application/problem+json"


async def test_not_open_says_when_and_when_to_ask_again(shop):
    drop = await shop.opens(opens_in_seconds=90)
    answer = await buys(await shop.shopper(), drop)
    body = answer.json()
    assert (answer.status_code, body["verdict"], body["opens_at"]) == (409, "not_open", iso(drop.opens_at))
    assert 1 <= int(answer.headers["retry-after"]) <= 90


async def test_paused_and_closed_are_409(shop):
    for door, verdict in ((Door.PAUSED, "paused"), (Door.CLOSED, "closed")):
        drop = await shop.opens()
        await shop.gate.set_door(drop.id, door, int(drop.opens_at.timestamp() * 1000), None)
        answer = await buys(await shop.shopper(), drop)
        assert (answer.status_code, answer.json()["verdict"]) == (409, verdict)


async def test_not_ready_is_503_with_retry_after(shop):
    drop = await shop.opens()
    await shop.gate.retire(drop.id, (await shop.gate.peek(drop.id)).stamp)
    answer = await buys(await shop.shopper(), drop)
    assert (answer.status_code, answer.json()["verdict"]) == (503, "not_ready")
    assert int(answer.headers["retry-after"]) >= 1


async def test_too_fast_is_429_with_retry_after(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    calls, seconds = shop.settings.buy_limit
    answers = [await buys(client, drop, key="k") for _ in range(calls + 1)]
    assert [answer.status_code for answer in answers] == [201] * calls + [429]
    assert answers[-1].json()["verdict"] == "too_fast"
    assert 1 <= int(answers[-1].headers["retry-after"]) <= seconds


async def test_a_key_with_other_content_is_422(shop):
    drop = await shop.opens(units=5, limit=3)
    client = await shop.shopper()
    await buys(client, drop, key="k", quantity=1)
    answer = await buys(client, drop, key="k", quantity=2)
    assert (answer.status_code, answer.json()["verdict"], answer.json()["field"]) == (422, "key_conflict", "key")


# idempotency


async def test_the_same_key_hears_the_same_answer_also_in_parallel(shop):
    drop = await shop.opens(units=20, limit=20)
    client = await shop.shopper()
    answers = await asyncio.gather(*(buys(client, drop, key="one wish".replace(" ", "-")) for _ in range(20)))
    assert {(answer.status_code, answer.text) for answer in answers} == {(201, answers[0].text)}
    assert (await shop.gate.peek(drop.id)).left == {drop.variants[0].id: 19}


async def test_the_header_wins_over_the_field(shop):
    drop = await shop.opens(units=5, limit=5)
    client = await shop.shopper()
    first = await buys(client, drop, JSON | {"idempotency-key": "header"}, key="a")
    again = await buys(client, drop, JSON | {"idempotency-key": "header"}, key="b")
    other = await buys(client, drop, key="a")
    assert first.text == again.text != other.text


async def test_without_a_key_each_request_is_a_wish_of_its_own(shop):
    drop = await shop.opens(units=5, limit=5)
    client = await shop.shopper()
    assert (await buys(client, drop)).json()["order"] != (await buys(client, drop)).json()["order"]


async def test_an_equal_key_of_another_shopper_is_another_key(shop):
    drop = await shop.opens(units=5)
    one, other = await buys(await shop.shopper(), drop, key="k"), await buys(await shop.shopper(), drop, key="k")
    assert one.json()["order"] != other.json()["order"]


async def test_a_caller_who_hangs_up_finds_the_verdict_under_the_same_key(shop, monkeypatch):
    drop = await shop.opens()
    client = await shop.shopper()
    granted, real = asyncio.Event(), Gate.reserve

    async def reply_never_arrives(self, *wish):
        await real(self, *wish)
        granted.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(Gate, "reserve", reply_never_arrives)
    impatient = asyncio.create_task(buys(client, drop, key="k"))
    await granted.wait()
    impatient.cancel()
    monkeypatch.setattr(Gate, "reserve", real)
    answer = await buys(client, drop, key="k")
    assert answer.status_code == 201
    assert await shop.gate.receipt(drop.id, UUID(answer.json()["order"])) is not None
    assert (await shop.gate.peek(drop.id)).left == {drop.variants[0].id: 0}


# without a session


async def test_without_a_session_json_hears_401(shop):
    drop = await shop.opens()
    answer = await buys(shop.browser(), drop)
    assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")


async def test_without_a_session_a_form_is_sent_to_sign_in_and_back(shop):
    drop = await shop.opens()
    answer = await submits(shop.browser(), drop)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/sign-in?next=/drops/{drop.slug}")


async def test_without_a_session_htmx_is_told_to_go_and_sign_in(shop):
    drop = await shop.opens()
    answer = await submits(shop.browser(), drop, PARTIAL)
    assert (answer.status_code, answer.headers["hx-redirect"]) == (401, f"/sign-in?next=/drops/{drop.slug}")


# the plain form and htmx


async def test_a_plain_form_is_led_to_the_order_with_our_word_for_it(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    answer = await submits(client, drop, key="k", quantity="1", variant="one")
    assert answer.status_code == 303
    path, _, token = answer.headers["location"].partition("?t=")
    page = await client.get(f"{path}?t={token}", headers=JSON)
    assert page.json()["state"] == "CONFIRMING"


async def test_a_refused_plain_form_goes_back_to_the_drop_and_is_told_why(shop):
    drop = await shop.opens(opens_in_seconds=90)
    client = await shop.shopper()
    answer = await submits(client, drop, key="k")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/drops/{drop.slug}?said=not_open")
    assert "Not open yet" in (await client.get(answer.headers["location"])).text


async def test_a_plain_form_for_what_is_yours_already_leads_there(shop):
    drop = await shop.opens(units=5)
    client = await shop.shopper()
    order = (await buys(client, drop, key="a")).json()["order"]
    answer = await submits(client, drop, key="b")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/orders/{order}")


async def test_htmx_is_sent_to_the_order_by_a_header(shop):
    drop = await shop.opens()
    answer = await submits(await shop.shopper(), drop, PARTIAL)
    assert answer.status_code == 201
    assert answer.headers["hx-redirect"].startswith("/orders/")


async def test_a_refusal_for_htmx_is_a_fragment_with_the_contracts_status(shop):
    drop = await shop.opens(opens_in_seconds=90)
    answer = await submits(await shop.shopper(), drop, PARTIAL)
    assert answer.status_code == 409
    assert "<html" not in answer.text and "Not open yet" in answer.text
    assert answer.headers["vary"] == "Accept, Accept-Language, HX-Request-Type, Cookie"
    assert "retry-after" in answer.headers


# bad input


async def test_an_unknown_drop_is_404_for_everyone(shop):
    for client in (shop.browser(), await shop.shopper()):
        for slug in ("nowhere", "N0", "-", "a" * 65, "..", "%2e%2e", "drop;DROP TABLE orders"):
            answer = await client.post(f"/drops/{slug}/buy", json={}, headers=JSON)
            assert answer.status_code == 404, slug
            assert answer.headers["content-type"] == "application/problem+json"


async def test_bad_fields_are_422_name_the_field_and_write_nothing(shop):
    drop = await shop.opens(variants=(("S", 5), ("M", 5)), limit=2)
    client = await shop.shopper()
    fine = {"variant": "S", "quantity": 1, "key": "k"}
    for field, value in (
        *(
            ("quantity", bad)
            for bad in (0, -1, 1.5, 1.0, 3, 10**30, "0", "-1", "1.5", "+1", "1e1", "٣", " 1", "9" * 40, True, None, [], {})
        ),
        *(("variant", bad) for bad in ("XL", "", None, "s", 1, [], {"S": 1}, "S" * 5000, "S ")),
        *(("key", bad) for bad in ("k k", "é", "k" * 65, 7, [], {}, "place:1")),
    ):
        answer = await buys(client, drop, **(fine | {field: value}))
        assert (answer.status_code, answer.json().get("field")) == (422, field), (field, value, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
    for control in ("S\x00", "\x07", "a\x1b[0m"):
        for field in ("variant", "key", "quantity"):
            answer = await buys(client, drop, **(fine | {field: control}))
            assert answer.status_code == 422, (field, control)
    assert await shop.nothing_was_written(drop)


async def test_bad_fields_of_a_form_are_422_too(shop):
    drop = await shop.opens(variants=(("S", 5), ("M", 5)), limit=2)
    client = await shop.shopper()
    for body in (
        b"variant=XL", b"", b"variant=S&quantity=0", b"variant=S&quantity=-1", b"variant=S&quantity=1.5", b"variant=S&quantity=3",
        b"variant=S%00", b"variant=%ff", b"variant=S&variant=M", b"variant=S&key=a+b", b"variant=S&quantity=99999999999999999999",
    ):  # fmt: skip
        answer = await client.post(f"/drops/{drop.slug}/buy", content=body, headers=FORM)
        assert answer.status_code == 422, body
        assert answer.headers["content-type"].startswith("text/html")
    assert await shop.nothing_was_written(drop)


async def test_a_header_key_is_as_strict(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    for key in ("", "k k", "k" * 65, "é", "place:1"):
        answer = await client.post(
            f"/drops/{drop.slug}/buy", json={}, headers=[("accept", JSON["accept"]), ("idempotency-key", key.encode())]
        )
        assert (answer.status_code, answer.json()["field"]) == (422, "key"), key
    assert await shop.nothing_was_written(drop)


async def test_a_body_that_is_no_object_is_422(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    for body in (b"", b"[]", b"null", b"1", b"{", b'"x"', b'{"quantity":1}}', b'{"key":"\xff"}', b"[" * 3000, b'{"a":' * 1000):
        answer = await client.post(f"/drops/{drop.slug}/buy", content=body, headers=JSON | {"content-type": "application/json"})
        assert answer.status_code == 422, body[:40]
    assert await shop.nothing_was_written(drop)


async def test_other_media_are_415(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    for media in ("text/plain", "multipart/form-data; boundary=x", "application/xml", "application/octet-stream", "nonsense"):
        answer = await client.post(f"/drops/{drop.slug}/buy", content=b"x=1", headers=JSON | {"content-type": media})
        assert answer.status_code == 415, media
    assert await shop.nothing_was_written(drop)


async def test_a_bad_cookie_is_no_session_and_writes_nothing(shop):
    drop = await shop.opens()
    good = shop.sessions.value(1, 0)
    expired = shop.sessions.value(1, 0, issued_at=1)
    for value in (good[:-1], good + "A", "", "x", expired, good.replace("1.1.", "1.2.", 1), "\x7f"):
        answer = await buys(shop.browser(f"session={value}"), drop)
        assert answer.status_code == 401, value
    assert await shop.nothing_was_written(drop)


async def test_losers_cost_no_sql(shop, monkeypatch):
    drop = await shop.opens()
    await buys(await shop.shopper(), drop)
    losers = [await shop.shopper() for _ in range(20)]

    def no_sql(*_, **__):
        raise AssertionError("a loser asked the ledger")

    monkeypatch.setattr(Pool, "_asking", no_sql)
    monkeypatch.setattr(Pool, "_transaction", no_sql)
    answers = await asyncio.gather(*(buys(loser, drop) for loser in losers))
    assert {answer.status_code for answer in answers} == {409}


async def test_the_books_of_a_crowd_are_exact(shop):
    drop = await shop.opens(units=7)
    crowd = [await shop.shopper() for _ in range(40)]
    answers = await asyncio.gather(*(buys(client, drop, key=str(uuid4())) for client in crowd))
    assert sorted(answer.status_code for answer in answers) == [201] * 7 + [409] * 33
    assert len({answer.json()["order"] for answer in answers if answer.status_code == 201}) == 7


async def test_every_verdict_has_its_words(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    statuses = {}
    for verdict in set(Verdict) - {Verdict.RESERVED, Verdict.ALREADY_YOURS}:

        async def says(self, *wish, verdict=verdict):
            return Answer(verdict)

        real, Counter.buy = Counter.buy, says
        try:
            answers = [await buys(client, drop), await submits(client, drop, PARTIAL), await submits(client, drop)]
        finally:
            Counter.buy = real
        statuses[verdict.value] = [answer.status_code for answer in answers]
        assert json.loads(answers[0].text)["verdict"] == verdict
    assert statuses == {
        "sold_out": [409, 409, 303],
        "all_held": [409, 409, 303],
        "not_open": [409, 409, 303],
        "paused": [409, 409, 303],
        "closed": [409, 409, 303],
        "not_ready": [503, 503, 303],
        "too_fast": [429, 429, 303],
        "key_conflict": [422, 422, 303],
    }


async def buys_as_someone(shop, drop):
    return await buys(await shop.shopper(), drop)


async def until(ask, fits, tries: int = 200):
    """Ask again until the answer fits; fails when it never does."""
    for _ in range(tries):
        answer = await ask()
        if fits(answer):
            return answer
        await asyncio.sleep(0.02)
    raise AssertionError(f"the last answer was {answer.status_code} {answer.text}")


async def test_who_wants_more_than_is_left_hears_how_many_are_left(shop):
    drop, client = await shop.opens(units=3, limit=9), await shop.shopper()
    await shop.holds(drop, await shop.shopper())
    answer = await buys(client, drop, quantity=5)
    assert (answer.status_code, answer.json()["verdict"], answer.json()["left"]) == (409, "all_held", 2)
    assert answer.json()["detail"] == "2 are left: take fewer."
    partial = await client.post(f"/drops/{drop.slug}/buy", data={"quantity": "5"}, headers=PARTIAL)
    assert partial.status_code == 409 and "2 are left: take fewer." in partial.text and "Nothing is left" not in partial.text
    plain = await client.post(f"/drops/{drop.slug}/buy", data={"quantity": "5"}, headers=FORM)
    assert "Fewer are left than you want" in (await client.get(plain.headers["location"])).text
    assert (await buys(client, drop, quantity=2)).status_code == 201
    assert "left" not in (await buys(await shop.shopper(), drop, quantity=2)).json()  # now nothing is


async def test_a_refusal_varies_by_what_its_page_varies_by(shop):
    drop = await shop.opens(opens_in_seconds=900)
    client = await shop.shopper()
    for headers in (JSON, FORM, PARTIAL):
        answers = [
            await client.get("/no-such-page", headers=headers),
            await client.post(f"/drops/{drop.slug}/buy", headers=headers),
        ]
        for answer in answers:
            assert answer.headers.get_list("vary") == ["Accept, Accept-Language, HX-Request-Type, Cookie"], answer.text
