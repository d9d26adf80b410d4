"""Two shops on one installation never see each other: every page of one is read for words of the other.

The other shop has a drop, a paid order, a buyer, staff and a log, all of them marked. Every address of the dashboard that can be
read is asked by an owner of the first shop, as it is and with every kind of search for the marks; none of its answers, pages and
files alike, may hold one, beyond the search field that says what was looked for.
"""

import re
from urllib.parse import quote

from app.domain.roles import Role
from tests.web.conftest import FORM
from tests.web.seller.conftest import Belongings, signs_in
from tests.web.seller.test_matrix import routes_of, values_of

TITLE, BUYER, HELPER, TOWN = "Qwertzlampe", "marked.buyer@zork.example", "marked.helper@zork.example", "Zorkville"
SEARCHES = ("q", "words", "actor", "drop", "before")


async def marked(shop) -> Belongings:
    """-> what the other shop owns, all of it marked."""
    belongings = Belongings(shop, shop.other_shop_id)
    drop = await belongings.drop()
    order_id = await belongings.of("order")
    await shop.rows("UPDATE drops SET title = $2, slug = 'qwertzlampe' WHERE id = $1", drop.id, TITLE)
    [buyer] = await shop.rows("SELECT shopper_id AS id FROM orders WHERE id = $1", order_id)
    await shop.rows("UPDATE shoppers SET email = $2, email_written = $2 WHERE id = $1", buyer["id"], BUYER)
    address = f'{{"name": "Marked", "street": "1", "postcode": "1", "town": "{TOWN}", "country": "SE"}}'
    await shop.rows("UPDATE orders SET address = $2::text::jsonb WHERE id = $1", order_id, address)
    await signs_in(shop, Role.MANAGER, shop_id=shop.other_shop_id, email=HELPER)
    await shop.ledger.audit(shop.other_shop_id, HELPER, "marked", TITLE, {"town": TOWN}, {"email": BUYER})
    return belongings


def words_of_the_other(text: str, searched: str, other: Belongings) -> list[str]:
    """-> marks in an answer; what was searched for may stand in its own search field, and in links to the next page."""
    without_echo = text.replace(quote(searched), "").replace(searched, "") if searched else text
    marks = (TITLE, "qwertzlampe", BUYER, HELPER, TOWN, str(other.made["order"]), "Elsewhere")
    return [mark for mark in marks if mark in without_echo and mark != searched]


async def test_no_page_and_no_file_of_one_shop_holds_a_word_of_another(shop, owner):
    other = await marked(shop)
    own = Belongings(shop, shop.shop_id, email=owner.email)
    wishes = (TITLE, BUYER, HELPER, str(other.made["order"]), str(other.made["drop"].id))
    wrong, read = [], 0
    for route in routes_of(shop):
        if route.method != "GET" or route.right is None:
            continue
        path = route.filled(await values_of(route, own))
        asked = [(path, "")]
        if not route.parameters:
            asked += [(f"{path}?{name}={quote(wish)}", wish) for wish in wishes for name in SEARCHES]
        for address, searched in asked:
            answer = await owner.get(address)
            read += answer.is_success
            if found := words_of_the_other(answer.text, searched, other):
                wrong.append(f"{address}: {found}")
    assert not wrong, "\n".join(wrong)
    assert read > 10


async def test_the_marks_can_be_seen_by_those_whose_they_are(shop, stranger):
    await marked(shop)
    seen = " ".join([(await stranger.get(path)).text for path in ("/seller", "/seller/staff", "/seller/audit", "/seller/orders")])
    assert all(mark in seen for mark in (TITLE, BUYER, HELPER))


async def test_what_one_does_not_own_is_answered_word_for_word_as_what_does_not_exist(shop, owner):
    """Status, body and headers: nothing tells a foreign id from one that was never given out."""
    other = Belongings(shop, shop.other_shop_id)
    unknown = {"drop_id": 2_000_000_000, "seller_id": 2_000_000_000, "shop_id": 2_000_000_000, "mail_id": 2_000_000_000}
    unknown |= {"session_id": "00000000-0000-4000-8000-000000000000", "order": "00000009-0000-8000-8000-000000000000"}
    told = []
    for route in routes_of(shop):
        if not route.parameters or route.method == "WS" or not {name for name, _kind in route.parameters} <= set(unknown):
            continue
        answers = []
        for values in (await values_of(route, other), {name: unknown[name] for name, _kind in route.parameters}):
            answer = await owner.request(route.method, route.filled(values), headers=FORM if route.method == "POST" else None)
            answers.append((answer.status_code, re.sub(r"\d+", "", answer.text), sorted(set(answer.headers) - {"date"})))
        if answers[0] != answers[1] or answers[0][0] != 404:
            told.append(f"{route}: {[answer[0] for answer in answers]}")
    assert not told, "\n".join(told)
