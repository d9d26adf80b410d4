"""The crowd against a shop that says what a test wants: intentions are kept to, and every answer is written down as it was said."""

import asyncio
import json
import time
from collections import defaultdict
from dataclasses import replace
from urllib.parse import parse_qs

import pytest

from app.rehearsal import crowd as crowds
from app.rehearsal.crowd import Crowd, _frame
from app.rehearsal.plan import STANDARD, Person, as_plain

ORDER = "00000001-0000-8000-8000-00000000000a"
OTHER_ORDER = "00000001-0000-8000-8000-00000000000b"
SOMEBODY = Person(0, 0.0, "once", "at_once", "leaves", False, "Standard", 1, 0.0)


class Shop:
    """Answers each address with the next of its answers, then with the last one for ever. "silence": never."""

    def __init__(self, **answers):
        self.answers = {path: list(said) for path, said in answers.items()}
        self.asked = defaultdict(list)  # path -> forms

    async def opens(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    async def serve(self, reader, writer):
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
                body = (await reader.readexactly(length)).decode()
                method, path, _ = head.split(b" ", 2)
                name = f"{method.decode().lower()}_{path.decode().strip('/').split('/')[-1].split('-')[0]}"
                self.asked[name].append({key: value[0] for key, value in parse_qs(body).items()})
                said = self.answers[name]
                answer = said.pop(0) if len(said) > 1 else said[0]
                if answer == "silence":
                    await asyncio.sleep(60)
                status, document = answer
                told = json.dumps(document).encode()
                writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (status, len(told)) + told)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(crowds, "LOOK_SECONDS", (0.01, 0.01))
    monkeypatch.setattr(crowds, "LIST_LOOK_SECONDS", (0.01, 0.01))
    monkeypatch.setattr(crowds, "GONE_SECONDS", 0.1)
    monkeypatch.setattr(crowds, "ANSWER_SECONDS_MAX", 0.2)


@pytest.fixture
async def lives(quick):
    """`await lives(shop, style="double")` -> the story of one person in that shop."""
    shops = []

    async def live(shop, seconds=3.0, **intentions):
        url = await shop.opens()
        shops.append(shop)
        given = {
            "url": url, "slug": "lamp", "seed": 1, "seconds": 1.0, "piece": as_plain(replace(STANDARD, hold_seconds=0.1)),
            "connections": 20, "cookies": ["session=one"], "shoppers": [77],
        }  # fmt: skip
        crowd = Crowd(given)
        crowd.say = lambda what: None
        crowd.people = [replace(SOMEBODY, **intentions)]
        now = time.time() * 1000
        await crowd.play({"opens_ms": now, "closes_ms": now + 1000, "gives_up_ms": now + 1000 * seconds})
        [story] = crowd.outcome()["stories"]
        return story

    yield live
    for shop in shops:
        shop.server.close()


def reserved(order=ORDER):
    return 201, {"verdict": "reserved", "order": order}


def state(name, payment="none", left=3):
    return 200, {"order": ORDER, "state": name, "payment": payment, "attempts_left": left}


NO = (409, {"verdict": "sold_out"})


async def test_who_gets_a_unit_pays_and_looks_until_it_is_paid(lives):
    shop = Shop(
        post_buy=[reserved()],
        get_00000001=[state("CONFIRMING"), state("PENDING_PAYMENT"), state("PROCESSING"), state("PAID", "captured")],
        post_pay=[(202, {"state": "PROCESSING"})],
    )  # fmt: skip
    story = await lives(shop)
    assert (story["final"], story["order"], story["orders"], story["shopper"]) == ("paid", ORDER, [ORDER], 77)
    assert shop.asked["post_pay"] == [{"payment_method": "pm_card_visa"}]
    assert story["meant_to_pay"] and story["heard_ms"] is not None


async def test_who_declines_first_pays_with_another_card(lives):
    shop = Shop(
        post_buy=[reserved()],
        get_00000001=[state("PENDING_PAYMENT"), state("PENDING_PAYMENT", left=2), state("PAID", "captured")],
        post_pay=[(202, {})],
    )
    assert (await lives(shop, pays="declined_first"))["final"] == "paid"
    assert [form["payment_method"] for form in shop.asked["post_pay"]] == ["pm_card_chargeDeclined", "pm_card_visa"]


async def test_who_abandons_a_hold_hears_that_it_lapsed(lives):
    story = await lives(Shop(post_buy=[reserved()], get_00000001=[state("PENDING_PAYMENT"), state("EXPIRED")]), pays="abandons")
    assert (story["final"], story["meant_to_pay"]) == ("expired", False)


async def test_money_that_is_on_its_way_back_is_waited_for(lives):
    looks = [state("EXPIRED", "captured"), state("EXPIRED", "captured"), state("EXPIRED", "refunded")]
    shop = Shop(post_buy=[reserved()], get_00000001=looks)
    assert (await lives(shop))["final"] == "expired"
    assert len(shop.asked["get_00000001"]) == 3


async def test_who_is_told_no_leaves(lives):
    story = await lives(Shop(post_buy=[NO]))
    assert (story["final"], story["told"], story["presses"]) == ("no", ["sold_out"], 1)


async def test_who_comes_too_early_or_too_fast_presses_again_under_the_same_key(lives):
    shop = Shop(post_buy=[(409, {"verdict": "not_open"}), (503, {"verdict": "not_ready"}), NO])
    story = await lives(shop)
    assert story["told"] == ["not_open", "not_ready", "sold_out"]
    assert len({form["key"] for form in shop.asked["post_buy"]}) == 1


async def test_a_lost_reply_is_asked_for_again_under_the_same_key(lives):
    shop = Shop(post_buy=["silence", reserved()], get_00000001=[state("EXPIRED")])
    story = await lives(shop, style="lost_reply")
    assert (story["final"], story["presses"]) == ("expired", 2)
    assert len({form["key"] for form in shop.asked["post_buy"]}) == 1


async def test_two_orders_under_one_key_are_written_down_as_a_contradiction(lives):
    story = await lives(Shop(post_buy=[reserved(), reserved(OTHER_ORDER)], get_00000001=[state("EXPIRED")]), style="double")
    assert story["contradictions"] == [f"one key, 2 orders: {ORDER}, {OTHER_ORDER}"]


async def test_an_order_that_nobody_knows_any_more_is_lost(lives):
    assert (await lives(Shop(post_buy=[reserved()], get_00000001=[(404, {})])))["final"] == "lost"


async def test_who_never_hears_an_answer_stays_unheard(lives):
    assert (await lives(Shop(post_buy=["silence"]), seconds=1.0))["final"] == "unheard"


async def test_who_waits_takes_the_offer_or_hears_that_the_list_is_over(lives):
    waiting = (200, {"places": [{"place": 1, "ahead": 0, "state": "waiting"}]})
    offered = (200, {"places": [{"place": 1, "ahead": 0, "state": "offered", "order": ORDER}]})
    joined = (201, {"place": 1, "ahead": 0})
    taken = Shop(
        post_buy=[NO], post_waitlist=[joined], get_waitlist=[waiting, offered], post_pay=[(202, {})],
        get_00000001=[state("PENDING_PAYMENT"), state("PAID", "captured")],
    )  # fmt: skip
    assert (await lives(taken, after_no="waits_and_takes"))["final"] == "paid"
    over = Shop(post_buy=[NO], post_waitlist=[joined], get_waitlist=[waiting, (200, {"places": []})])
    assert (await lives(over, after_no="waits_and_takes"))["final"] == "waited"


@pytest.mark.parametrize("size", [0, 125, 126, 65_535, 65_536])
def test_frames_are_taken_whole_and_in_order(size):
    length = (
        bytes((size,)) if size < 126 else b"\x7e" + size.to_bytes(2, "big") if size < 65_536 else b"\x7f" + size.to_bytes(8, "big")
    )
    whole = b"\x81" + length + b"x" * size
    buffer = bytearray(whole[:-1] if size else whole[:1])
    assert _frame(buffer) is None
    buffer += whole[len(buffer) :] + b"\x89\x00"
    assert _frame(buffer) == (1, b"x" * size)
    assert _frame(buffer) == (9, b"")
    assert _frame(buffer) is None
