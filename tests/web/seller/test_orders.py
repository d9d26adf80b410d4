"""Orders in the dashboard: found, told whole, and mended; what is not the shop's own does not exist."""

import asyncio
import re
from dataclasses import asdict, replace
from html import unescape
from pathlib import Path
from uuid import uuid4

import pytest

import app.ledger
from app.domain.addresses import Address
from app.domain.orders import OrderState
from app.ledger import order_number
from app.ledger.statements import STATEMENTS
from app.purchase.refunding import lawful_actions
from app.purchase.restocking import restock
from app.web.seller import telling
from app.web.seller.orders import DONE, PAGE_ORDERS
from tests.web.conftest import PARTIAL, URL

EVERYTHING = "SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM messages), (SELECT count(*) FROM audit)"
HOME = Address("Zoë <Östlund>", "Street 1", "", "1010", "Wien", "", "AT")


@pytest.fixture
async def drop(shop):
    return await shop.opens(units=5, limit=5)


@pytest.fixture
async def held(shop, drop):
    return await shop.holds(drop, await shop.shopper())


@pytest.fixture
async def paid(shop, held):
    await shop.pays(held)
    return held


async def state_of(shop, order_id):
    return (await shop.ledger.order(order_id)).state


async def refund(client, order_id, **fields):
    """Post the refund form as the page that asks does."""
    fields = {"wish": uuid4().hex, "what": "all", "amount": "", "restock": "", "sure": "yes"} | fields
    return await client.post(f"/seller/orders/{order_id}/refund", data=fields)


def said(answer):
    """-> the word of the redirect back to the order."""
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].partition("done=")[2]


def story_of(page):
    """-> the part of an order's page that looks again while something moves."""
    return page.text[page.text.index('id="story"') :]


def numbers(page):
    return re.findall(r'<th scope="row"><a href="/seller/orders/[0-9a-f-]+">([0-9a-f-]+)</a>', page.text)


# ---- the list


async def test_a_shop_without_orders_says_so(owner):
    page = await owner.get("/seller/orders")
    assert page.status_code == 200 and "No orders yet." in page.text


async def test_an_order_is_found_and_filtered(shop, owner, drop, held):
    number, email = order_number(held), (await shop.ledger.order(held)).email
    for query in (f"q={number}", f"q={held}", f"q={email[:8]}", "state=PENDING_PAYMENT", f"drop={drop.id}", "from=2020-01-01"):
        assert numbers(await owner.get(f"/seller/orders?{query}")) == [number], query
    for query in ("q=nobody", "state=PAID", "payment=refunded", "to=2020-01-01", f"drop={drop.id + 1}"):
        page = await owner.get(f"/seller/orders?{query}")
        assert page.status_code == 200 and "No order like that." in page.text, query
    assert numbers(await owner.get(f"/seller/drops/{drop.id}/orders?q={number}")) == [number]


async def test_a_list_asked_for_nonsense_is_the_whole_list(owner, held):
    for query in ("state=NONE&payment=x&parcel=y&variant=z&drop=-1", "older=x&newer=y_z", "older=2026-11-30_x", "drop=9999999999"):
        page = await owner.get(f"/seller/orders?{query}")
        assert page.status_code == 200 and numbers(page) == [order_number(held)], query


async def test_a_day_that_is_none_is_said_and_nothing_is_shown(owner, held):
    for typed in ("yesterday", "2026-02-30", "0001-01-01", "9999-12-31", "20261130"):
        page = await owner.get(f"/seller/orders?from={typed}")
        assert page.status_code == 422 and "A date looks like" in page.text and typed in page.text and not numbers(page), typed


async def test_a_day_is_a_day_of_the_shops_time_zone(shop, owner, held):
    await shop.rows("UPDATE shops SET time_zone = 'Pacific/Auckland'")
    await shop.rows("UPDATE orders SET reserved_at = '2026-11-30 11:30Z'")  # half past midnight of 1 December in Auckland
    assert numbers(await owner.get("/seller/orders?from=2026-12-01&to=2026-12-01")) == [order_number(held)]
    assert not numbers(await owner.get("/seller/orders?from=2026-11-30&to=2026-11-30"))
    assert "1 Dec 2026, 00:30 NZDT" in (await owner.get("/seller/orders")).text


async def test_pages_lead_on_and_back_and_keep_the_filter(shop, owner):
    drop = await shop.opens(units=PAGE_ORDERS + 10, limit=100)
    client = await shop.shopper()
    for _ in range(PAGE_ORDERS + 3):
        answer = await client.post(f"/drops/{drop.slug}/buy", json={}, headers={"accept": "application/json"})
        if answer.status_code != 201:  # three unpaid holds a shopper: the next one
            client = await shop.shopper()
            assert (
                await client.post(f"/drops/{drop.slug}/buy", json={}, headers={"accept": "application/json"})
            ).status_code == 201
    await shop.records(drop)
    first = await owner.get("/seller/orders?state=PENDING_PAYMENT")
    assert len(numbers(first)) == PAGE_ORDERS and ">Newer<" not in first.text
    older = unescape(re.search(r'rel="next" href="([^"]+)"', first.text)[1])
    second = await owner.get(older)
    assert "state=PENDING_PAYMENT" in older and len(numbers(second)) == 3 and ">Older<" not in second.text
    back = await owner.get(unescape(re.search(r'rel="prev" href="([^"]+)"', second.text)[1]))
    assert numbers(back) == numbers(first)


async def test_a_name_that_is_markup_is_shown_as_text(shop, owner, held):
    order = await shop.ledger.order(held)
    await shop.rows("UPDATE drops SET ships = true")
    assert await shop.ledger.send_to(held, order.shopper_id, HOME)
    for page in ("/seller/orders", "/seller/orders?q=zo%C3%AB", f"/seller/orders/{held}"):
        assert "Zoë &lt;Östlund&gt;" in (await owner.get(page)).text, page


# ---- one order


async def test_a_story_tells_everything_in_plain_words(shop, owner, drop):
    order_id = await shop.holds(drop, await shop.shopper())
    await shop.pays(order_id, "pm_card_chargeDeclined")
    await shop.pays(order_id)
    page = await owner.get(f"/seller/orders/{order_id}")
    for words in (
        "Through the door: 1 held until paid",
        "Attempt 1 declined: no reason was given",
        "Paid: €49.00 received",
        "To be packed",
        "Confirmation",
        f"pi_{order_id}",
        str(order_id),
        "the payment provider",
    ):
        assert words in page.text, words


def test_every_kind_of_event_and_every_state_has_words():
    source = "\n".join(path.read_text() for path in Path(app.ledger.__file__).parent.glob("*.py"))
    kinds = set(re.findall(r"note\(\s*ask, order(?:_id|\[\"id\"\]), [\w.\[\]\"]+, \"([a-z ]+)\"", source))
    kinds |= set(re.findall(r"return_units\(ask, \S+, \"([a-z ]+)\"", source)) | {
        "held",
        "refused",
        "offer not wanted",
        "cancelled",
    }
    assert len(kinds) > 30 and kinds <= set(telling.HISTORY), kinds - set(telling.HISTORY)
    assert set(telling.STATES) == {state.value for state in OrderState}
    letters = Path(app.ledger.__file__).parents[2] / "templates" / "mail"
    about_orders = {
        path.stem for path in letters.glob("[a-z]*.html") if not path.stem.startswith(("sign_in", "seller", "staff", "second"))
    }
    assert about_orders <= set(telling.MAILS), about_orders - set(telling.MAILS)
    assert all(name in STATEMENTS["record"].text for name in ("'held'", "'refused'", "'offer not wanted'"))


def test_every_action_that_is_lawful_has_words():
    offered = {word for kind in ("payment", "refund", "parcel") for state in OrderState for word in lawful_actions(kind, state)}
    assert offered == set(telling.ACTS)


async def test_what_was_done_is_said_and_nothing_else(owner, held):
    for done, (_tone, sentence) in DONE.items():
        assert unescape((await owner.get(f"/seller/orders/{held}?done={done}")).text).count(sentence) == 1, done
    assert "nonsense" not in (await owner.get(f"/seller/orders/{held}?done=nonsense")).text


async def test_a_page_that_looks_again_gets_its_moving_part_alone(shop, owner, paid):
    await refund(owner, paid)
    part = await owner.get(f"/seller/orders/{paid}", headers=PARTIAL)
    assert part.status_code == 200 and "<html" not in part.text and 'id="story"' in part.text and "hx-swap-oob" in part.text
    assert "hx-swap-oob" not in (await owner.get(f"/seller/orders/{paid}")).text


async def test_a_session_that_ended_leads_from_a_part_to_the_page_it_stood_on(shop, held):
    stranger = shop.browser(**PARTIAL)
    for path in ("/seller/attention/count", f"/seller/orders/{held}"):
        answer = await stranger.get(path, headers={"referer": f"{URL}/seller/orders?q=x"})
        assert (answer.status_code, answer.headers["hx-redirect"]) == (200, "/seller/sign-in?next=/seller/orders%3Fq%3Dx"), path


# ---- another shop (A07), a lesser role


async def test_another_shops_orders_answer_as_orders_that_do_not_exist(shop, stranger, drop, paid):
    number = order_number(paid)
    email = (await shop.ledger.order(paid)).email
    [mail] = await shop.rows("SELECT id FROM messages WHERE kind = 'confirmation'")
    for words in (number, str(paid), email, f"pi_{paid}"):
        assert not numbers(await stranger.get("/seller/orders", params={"q": words})), words
    assert not numbers(await stranger.get(f"/seller/orders?drop={drop.id}"))
    assert (await stranger.get(f"/seller/drops/{drop.id}/orders")).status_code == 404
    unknown = uuid4()
    for path in ("", "/refund", "/address"):
        theirs, nothing = [await stranger.get(f"/seller/orders/{order}{path}") for order in (paid, unknown)]
        assert (theirs.status_code, theirs.text) == (404, nothing.text.replace(str(unknown), str(paid))), path
    written = await shop.rows(EVERYTHING)
    for path in (
        "/refund",
        "/cancel",
        "/give-back",
        "/ask-again",
        "/looked-at",
        "/parcel",
        f"/mails/{mail['id']}/again",
        "/address",
    ):
        form = {"wish": "w", "what": "all", "sure": "yes", **asdict(HOME)}
        assert (await stranger.post(f"/seller/orders/{paid}{path}", data=form)).status_code == 404, path
    assert (await stranger.post(f"/seller/mails/{mail['id']}/seen")).status_code == 404
    assert written == await shop.rows(EVERYTHING)
    assert not await shop.rows("SELECT 1 FROM refunds")


async def test_an_order_that_is_none_is_not_there(owner):
    for order in ("1", "x", "0" * 36, "00000001-0000-8000-8000-000000000000", "%00", "a" * 500):
        assert (await owner.get(f"/seller/orders/{order}")).status_code in (400, 404), order


async def test_a_viewer_sees_no_person_and_support_moves_no_money(shop, viewer, support, drop, paid):
    for path in ("/seller/orders", f"/seller/drops/{drop.id}/orders", f"/seller/orders/{paid}", "/seller/attention"):
        assert (await viewer.get(path)).status_code == 403, path
        assert (await support.get(path)).status_code == 200, path
    assert (await refund(support, paid)).status_code == 403
    assert f"/seller/orders/{paid}/refund" not in (await support.get(f"/seller/orders/{paid}")).text
    assert not await shop.rows("SELECT 1 FROM refunds")


# ---- refunds (A03)


async def test_a_refund_says_first_what_will_happen(shop, owner, paid):
    form = await owner.get(f"/seller/orders/{paid}/refund")
    assert "€49.00 of €49.00 are left to give back." in form.text
    check = await refund(owner, paid, restock="yes", sure="")
    assert check.status_code == 200
    for words in ("Refund €49.00?", "cannot be undone", "go back on sale", "There will be no parcel.", 'name="left" value="4900"'):
        assert words in check.text, words
    assert not await shop.rows("SELECT 1 FROM refunds")


async def test_a_whole_refund_with_restock_puts_the_piece_back_once(shop, owner, drop, paid):
    """A03: refunded with restock, cancelled, and both clicks again."""
    wish = uuid4().hex
    answers = await asyncio.gather(*(refund(owner, paid, wish=wish, restock="yes") for _ in range(4)))
    assert sorted(said(answer) for answer in answers) == ["refund", *["refund-before"] * 3]
    assert ("refund", paid, "seller:whole", 0) in shop.jobs.jobs
    assert 'hx-trigger="every' in story_of(await owner.get(f"/seller/orders/{paid}"))
    assert await shop.till.refund(paid, "seller:whole") == "refunded"
    assert await state_of(shop, paid) is OrderState.REFUNDED
    assert 'hx-trigger="every' not in story_of(await owner.get(f"/seller/orders/{paid}"))
    for _ in range(2):
        assert said(await owner.post(f"/seller/orders/{paid}/cancel", data={"sure": "yes"})) == "not-cancelled"
        assert said(await refund(owner, paid, restock="yes")) == "refund-before"
    assert (await shop.gate.peek(drop.id)).left[drop.variants[0].id] == 5
    assert [row["units"] for row in await shop.rows("SELECT units FROM movements WHERE kind = 'returned'")] == [-1]
    assert shop.provider.refunded_minor(paid) == 4900
    assert len(await shop.rows("SELECT 1 FROM audit WHERE action = 'refunded'")) == 1


async def test_a_refund_without_restock_keeps_the_piece_off_sale(shop, owner, drop, paid):
    assert said(await refund(owner, paid)) == "refund"
    await shop.till.refund(paid, "seller:whole")
    assert (await shop.gate.peek(drop.id)).left[drop.variants[0].id] == 4
    assert [row["withdrawn"] for row in await shop.rows("SELECT withdrawn FROM stock")] == [1]


async def test_a_part_goes_back_as_it_was_typed_and_once_per_wish(shop, owner, paid):
    wish = uuid4().hex
    assert said(await refund(owner, paid, wish=wish, what="part", amount="19,50")) == "refund"
    assert said(await refund(owner, paid, wish=wish, what="part", amount="19,50")) == "refund-before"
    assert said(await refund(owner, paid, what="part", amount=" 0.50 ")) == "refund"
    assert [row["amount_minor"] for row in await shop.rows("SELECT amount_minor FROM refunds ORDER BY wanted_at")] == [1950, 50]
    page = await owner.get(f"/seller/orders/{paid}/refund")
    assert "€29.00 of €49.00 are left to give back." in page.text and "On its way already:" in page.text


async def test_an_amount_that_is_none_is_said_and_kept_in_the_form(shop, owner, paid):
    for typed, why in (
        ("", "Type an amount such as 49.00."),
        ("0", "Nothing would be given back."),
        ("-5", "Type an amount"),
        ("49.01", "more than the €49.00"),
        ("1.234", "Type an amount"),
        ("1e3", "Type an amount"),
        ("٤٩", "Type an amount"),
        ("1.000,00", "That is more than the €49.00 that are left"),
    ):
        page = await refund(owner, paid, what="part", amount=typed)
        assert page.status_code == 422 and why in unescape(page.text) and f'value="{typed}"' in page.text, typed
    assert not await shop.rows("SELECT 1 FROM refunds")


async def test_an_amount_is_typed_as_one_writes_numbers_and_shown_before_it_is_given_back(shop, owner):
    drop = await shop.opens(units=1)
    await shop.rows("UPDATE drops SET price_minor = 200000")
    order_id = await shop.holds(drop, await shop.shopper())
    await shop.pays(order_id)
    url = f"/seller/orders/{order_id}/refund"
    assert 'placeholder="2000.00"' in (await owner.get(f"{url}?lang=en")).text
    assert 'placeholder="2000,00"' in (await owner.get(f"{url}?lang=de")).text
    for lang, typed in (("en", "1,234.50"), ("de", "1.234,50"), ("de", "1234,5"), ("en", "1.234,50")):
        form = {"wish": uuid4().hex, "what": "part", "amount": typed, "restock": ""}
        asked = await owner.post(f"{url}?lang={lang}", data=form)
        assert {"en": "€1,234.50?", "de": "1.234,50\u00a0€"}[lang] in asked.text, typed


async def test_an_amount_is_typed_in_the_orders_own_currency(shop, owner):
    """A18 on its way back."""
    for price_minor, currency, typed, minor, shown in (
        (80, "JPY", "30", 30, "¥30"),
        (1250, "KWD", "0.125", 125, "KWD\u00a00.125"),
        (1999, "EUR", "9.99", 999, "€9.99"),
    ):
        drop = await shop.opens(units=1)
        await shop.rows("UPDATE drops SET price_minor = $1, currency = $2 WHERE id = $3", price_minor, currency, drop.id)
        order_id = await shop.holds(drop, await shop.shopper())
        await shop.pays(order_id)
        assert f"Refund {shown}?" in (await refund(owner, order_id, what="part", amount=typed, sure="")).text
        assert said(await refund(owner, order_id, what="part", amount=typed)) == "refund"
        [row] = await shop.rows("SELECT purpose, amount_minor FROM refunds WHERE order_id = $1", order_id)
        await shop.till.refund(order_id, row["purpose"])
        assert (row["amount_minor"], shop.provider.refunded_minor(order_id)) == (minor, minor)


async def test_what_changed_since_the_seller_was_asked_is_asked_again(shop, owner, paid):
    await shop.ledger.want_refund(paid, "seller:part:elsewhere", 900)
    page = await refund(owner, paid, left="4900")
    assert page.status_code == 200 and "has changed since you looked" in page.text and 'name="left" value="4000"' in page.text
    assert said(await refund(owner, paid, left="4000")) == "refund"
    assert [row["amount_minor"] for row in await shop.rows("SELECT amount_minor FROM refunds ORDER BY wanted_at")] == [900, 4000]


async def test_what_was_never_paid_is_not_refunded(shop, owner, held):
    for answer in (await owner.get(f"/seller/orders/{held}/refund"), await refund(owner, held)):
        assert answer.status_code == 200 and "Nothing is left to give back" in answer.text
    assert not await shop.rows("SELECT 1 FROM refunds")


async def test_a_form_without_its_wish_is_refused(shop, owner, paid):
    for wish in ("", "a b", "é", "x" * 65, "a:b"):
        assert (await refund(owner, paid, wish=wish)).status_code == 422, wish
    assert not await shop.rows("SELECT 1 FROM refunds")


# ---- holds


async def test_ending_a_hold_is_asked_about_and_puts_the_piece_back(shop, owner, drop, held):
    asked = await owner.post(f"/seller/orders/{held}/cancel")
    assert asked.status_code == 200 and "End this hold?" in asked.text
    assert await state_of(shop, held) is OrderState.PENDING_PAYMENT
    for _ in range(2):
        assert said(await owner.post(f"/seller/orders/{held}/cancel", data={"sure": "yes"})) == "cancelled"
    assert await state_of(shop, held) is OrderState.CANCELLED
    assert (await shop.gate.peek(drop.id)).left[drop.variants[0].id] == 5
    assert len(await shop.rows("SELECT 1 FROM audit WHERE action = 'hold ended'")) == 1


async def test_a_hold_with_a_declined_payment_ends_at_the_provider_first(shop, owner, drop, held):
    await shop.pays(held, "pm_card_chargeDeclined")
    assert said(await owner.post(f"/seller/orders/{held}/cancel", data={"sure": "yes"})) == "cancelled"
    assert shop.provider.calls["cancel"] == 1 and (await shop.gate.peek(drop.id)).left[drop.variants[0].id] == 5


async def test_a_payment_under_way_is_not_cut_off(shop, owner, held):
    await shop.till.submit(held, (await shop.ledger.order(held)).shopper_id, "pm_card_visa")
    assert said(await owner.post(f"/seller/orders/{held}/cancel", data={"sure": "yes"})) == "not-cancelled"
    await shop.till.charge(held, 1)
    assert await state_of(shop, held) is OrderState.PAID


async def test_every_road_back_at_once_returns_one_piece(shop, owner, drop):
    """A03: seller, shopper and the expiry sweep end one hold, the seller twice."""

    async def sweep():
        for ended in await shop.ledger.expire_unattempted(10):
            await restock(shop.ledger, shop.gate, shop.feed, ended.order_id, ended.drop_id)

    for _ in range(8):
        client = await shop.shopper()
        order_id = await shop.holds(drop, client)
        await shop.rows("UPDATE orders SET deadline = now() - interval '1 second' WHERE id = $1", order_id)
        await asyncio.gather(
            owner.post(f"/seller/orders/{order_id}/cancel", data={"sure": "yes"}),
            client.post(f"/orders/{order_id}/cancel"),
            sweep(),
            owner.post(f"/seller/orders/{order_id}/cancel", data={"sure": "yes"}),
        )
        assert await state_of(shop, order_id) in (OrderState.CANCELLED, OrderState.EXPIRED)
        assert (await shop.gate.peek(drop.id)).left[drop.variants[0].id] == 5
    assert len(await shop.rows("SELECT 1 FROM movements WHERE kind = 'returned'")) == 8


# ---- what needs a person


async def unknown_payment(shop, drop):
    """An order whose charge nobody can learn the outcome of, shown to the seller."""
    order_id = await shop.holds(drop, await shop.shopper())
    await shop.till.submit(order_id, (await shop.ledger.order(order_id)).shopper_id, "pm_card_visa")
    assert await shop.ledger.claim_charge(order_id, 1, uuid4())
    await shop.rows(
        "UPDATE payments SET state = 'unknown', needs_attention = 'the provider does not answer' WHERE order_id = $1",
        order_id,
    )
    return order_id


async def test_what_needs_a_person_is_listed_with_its_lawful_actions(shop, owner, support, stranger, drop):
    order_id = await unknown_payment(shop, drop)
    page = await owner.get("/seller/attention")
    for words in ("the provider does not answer", "Ask again now", "Give the pieces back unasked", order_number(order_id)):
        assert words in page.text, words
    assert "Give the pieces back unasked" not in (await support.get("/seller/attention")).text
    assert "Nothing needs you." in (await stranger.get("/seller/attention")).text
    assert (await owner.get("/seller/attention/count")).text == "1"
    assert (await stranger.get("/seller/attention/count")).text == ""
    assert "the provider does not answer" in (await owner.get(f"/seller/orders/{order_id}")).text


async def test_an_unknown_outcome_is_asked_again_or_given_back(shop, owner, drop):
    order_id = await unknown_payment(shop, drop)
    assert said(await owner.post(f"/seller/orders/{order_id}/ask-again")) == "asked"
    assert said(await owner.post(f"/seller/orders/{order_id}/looked-at")) == "not-seen"
    assert "Give the pieces back although nobody knows?" in (await owner.post(f"/seller/orders/{order_id}/give-back")).text
    assert said(await owner.post(f"/seller/orders/{order_id}/give-back", data={"sure": "yes"})) == "given-back"
    assert said(await owner.post(f"/seller/orders/{order_id}/give-back", data={"sure": "yes"})) == "not-given-back"
    assert await state_of(shop, order_id) is OrderState.CANCELLED
    assert (await shop.gate.peek(drop.id)).left[drop.variants[0].id] == 5
    assert [row["action"] for row in await shop.rows("SELECT action FROM audit ORDER BY id")] == [
        "asked again",
        "given back unasked",
    ]


async def test_what_is_known_is_neither_asked_nor_given_back(owner, paid):
    assert said(await owner.post(f"/seller/orders/{paid}/give-back", data={"sure": "yes"})) == "not-given-back"
    assert said(await owner.post(f"/seller/orders/{paid}/looked-at")) == "not-seen"


async def test_a_parcel_is_submitted_again_by_a_worker_that_looks_first(shop, owner, paid):
    await shop.rows("UPDATE parcels SET state = 'unknown', creates = 1, needs_attention = 'no answer', enqueues = 2")
    assert "Submit the parcel again" in (await owner.get("/seller/attention")).text
    assert "asked for its list first" in (await owner.post(f"/seller/orders/{paid}/parcel")).text
    assert said(await owner.post(f"/seller/orders/{paid}/parcel", data={"sure": "yes"})) == "parcel"
    assert shop.jobs.jobs[-1] == ("ship", paid, 2)
    await shop.rows("UPDATE parcels SET state = 'made', number = '4711'")
    assert said(await owner.post(f"/seller/orders/{paid}/parcel", data={"sure": "yes"})) == "no-parcel"
    assert said(await owner.post(f"/seller/orders/{paid}/looked-at")) == "seen"
    assert "Nothing needs you." in (await owner.get("/seller/attention")).text


async def test_an_order_without_a_parcel_has_none_to_submit(owner, held):
    assert said(await owner.post(f"/seller/orders/{held}/parcel", data={"sure": "yes"})) == "no-parcel"


# ---- mails


async def test_a_mail_that_did_not_arrive_is_listed_sent_again_and_gone(shop, owner, paid):
    await shop.rows("UPDATE shoppers SET synthetic = false")
    await shop.rows("UPDATE messages SET state = 'failed', error = 'no such mailbox' WHERE kind IN ('confirmation', 'hold')")
    page = await owner.get("/seller/attention")
    assert page.text.count("no such mailbox") == 2 and page.text.count("/again") == 1
    mails = {row["kind"]: row["id"] for row in await shop.rows("SELECT id, kind FROM messages WHERE state = 'failed'")}
    path = f"/seller/orders/{paid}/mails/{mails['confirmation']}/again"
    assert [said(await owner.post(path, data={"wish": "w1"})) for _ in range(2)] == ["mail", "mail"]
    assert len(await shop.rows("SELECT 1 FROM messages WHERE kind = 'confirmation' AND state = 'waiting'")) == 1
    assert shop.jobs.jobs[-1][0] == "deliver"
    assert (await owner.post(f"/seller/mails/{mails['hold']}/seen")).status_code == 303
    assert "Nothing needs you." in (await owner.get("/seller/attention")).text


async def test_an_order_says_of_each_of_its_mails_what_became_of_it(shop, owner, paid):
    await shop.rows("UPDATE messages SET state = 'sent', sent_at = '2026-11-30T20:00:00Z' WHERE kind = 'hold'")
    await shop.rows("UPDATE messages SET state = 'waiting' WHERE kind = 'confirmation'")
    page = (await owner.get(f"/seller/orders/{paid}")).text
    assert "Here only: no mail server is set" in page and "On its way" not in page
    assert re.search(r"Handed to the mail server</span><small><time[^>]*>30 Nov 2026, 20:00 UTC", page)


async def test_a_mail_that_is_not_true_any_more_is_not_sent(shop, owner, paid):
    [mail] = await shop.rows("SELECT id FROM messages WHERE kind = 'hold'")
    for mail_id in (mail["id"], 10**18, 2**70):
        assert said(await owner.post(f"/seller/orders/{paid}/mails/{mail_id}/again", data={"wish": "w"})) == "no-mail"


# ---- the address


async def addressed(shop, order_id, address=HOME):
    await shop.rows("UPDATE drops SET ships = true")
    assert await shop.ledger.send_to(order_id, (await shop.ledger.order(order_id)).shopper_id, address)


def address_form_of(known, **typed):
    return asdict(known) | typed | {f"known_{name}": value for name, value in asdict(known).items()}


async def test_an_address_is_corrected_and_the_log_holds_no_address(shop, owner, paid):
    await addressed(shop, paid)
    assert 'value="Street 1"' in (await owner.get(f"/seller/orders/{paid}/address")).text
    answer = await owner.post(f"/seller/orders/{paid}/address", data=address_form_of(HOME, street="Lane 9"))
    assert said(answer) == "address"
    assert (await shop.ledger.order(paid)).address == replace(HOME, street="Lane 9")
    [entry] = await shop.rows("SELECT before::text, after::text FROM audit WHERE action = 'address corrected'")
    assert (entry["before"], entry["after"]) == (None, '{"changed": ["street"]}')


async def test_a_wrong_field_is_said_beside_it_with_everything_as_typed(shop, owner, paid):
    await addressed(shop, paid)
    page = await owner.post(f"/seller/orders/{paid}/address", data=address_form_of(HOME, street="", town="Graz"))
    assert page.status_code == 422 and "Which street and number?" in page.text and 'value="Graz"' in page.text
    assert (await shop.ledger.order(paid)).address == HOME


async def test_a_stale_address_form_overwrites_nothing(shop, owner, paid):
    await addressed(shop, paid)
    own = replace(HOME, street="The buyer's own 3")
    await addressed(shop, paid, own)
    page = await owner.post(f"/seller/orders/{paid}/address", data=address_form_of(HOME, street="Lane 9"))
    assert page.status_code == 409 and "has changed the address meanwhile" in page.text
    assert "The buyer&#39;s own 3" in page.text and 'value="Lane 9"' in page.text
    assert (await shop.ledger.order(paid)).address == own
    assert said(await owner.post(f"/seller/orders/{paid}/address", data=address_form_of(own, street="Lane 9"))) == "address"


async def test_an_address_that_the_warehouse_knows_stays(shop, owner, paid):
    await addressed(shop, paid)
    await shop.rows("UPDATE parcels SET state = 'made', creates = 1, number = '1'")
    assert "cannot be changed here any more" in (await owner.get(f"/seller/orders/{paid}/address")).text
    page = await owner.post(f"/seller/orders/{paid}/address", data=address_form_of(HOME, street="Lane 9"))
    assert page.status_code == 422 and "It is too late" in page.text
    assert (await shop.ledger.order(paid)).address == HOME
