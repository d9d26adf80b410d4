"""Finding a drop by words and state, with a plain form."""

import re
from dataclasses import replace
from datetime import timedelta
from urllib.parse import quote

import pytest

from app import clock
from app.web.finding import likely_first
from tests.web.conftest import JSON


async def slugs(shop, query="") -> list[str]:
    answer = await shop.browser().get(f"/{query}", headers=JSON)
    assert answer.status_code == 200
    return [row["slug"] for row in answer.json()["drops"]]


@pytest.fixture
async def drops(shop):
    """One in each state, with titles of their own."""
    made = {
        "soon": await shop.opens(opens_in_seconds=900),
        "later": await shop.opens(opens_in_seconds=9000),
        "open": await shop.opens(units=2),
        "held": await shop.opens(),
        "gone": await shop.opens(),
        "closed": await shop.opens(opens_in_seconds=-9, closes_in_seconds=-1),
    }
    for name, drop in made.items():
        title = f"{name.title()} Türklinke <Nº 4>"
        await shop.rows("UPDATE drops SET title = $2, description = 'Spun by hand' WHERE id = $1", drop.id, title)
    for name in ("held", "gone"):
        await shop.holds(made[name], await shop.shopper())
    order = (await shop.rows("SELECT id FROM orders WHERE drop_id = $1", made["gone"].id))[0]["id"]
    await shop.gate.settle(made["gone"].id, order)
    await shop.app.inner.catalogue.load()
    return {name: drop.slug for name, drop in made.items()}


@pytest.mark.parametrize(
    ("state", "names"), [("soon", ["soon", "later"]), ("open", ["open", "held"]), ("sold_out", ["gone"]), ("nonsense", None)]
)
async def test_each_state_shows_its_drops(shop, drops, state, names):
    found = await slugs(shop, f"?state={state}")
    if state == "soon":
        assert found == [drops[name] for name in names]  # the next opening first
    else:
        assert set(found) == {drops[name] for name in names or drops}


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("türklinke", None),
        ("TÜRKLINKE held", ["held"]),
        ("by hand soon", ["soon"]),
        ("nº 4> open", ["open"]),
        ("lamp", []),
        ("%", []),
    ],
)
async def test_words_are_looked_for_in_everything_a_drop_says(shop, drops, words, names):
    assert set(await slugs(shop, f"?q={quote(words)}")) == {drops[name] for name in (drops if names is None else names)}


async def test_words_and_state_together(shop, drops):
    assert await slugs(shop, "?q=klinke&state=sold_out") == [drops["gone"]]
    assert await slugs(shop, "?q=soon&state=open") == []


async def test_the_form_keeps_what_was_asked_and_says_when_nothing_fits(shop, drops):
    page = (await shop.browser().get(f"/?q={quote('<b>lamp')}&state=open")).text
    assert 'value="&lt;b&gt;lamp"' in page and re.search(r'<option value="open" selected', page)
    assert "Nothing found." in page and page.count("<h1") == 1
    full = (await shop.browser().get("/")).text
    assert 'role="search"' in full and 'method="get"' in full


async def test_an_empty_shop_says_so_and_has_no_form(shop):
    page = (await shop.browser().get("/")).text
    assert "Nobody at the door yet." in page and 'role="search"' not in page


async def test_a_search_is_bounded(shop, drops):
    assert (await shop.browser().get("/?q=" + "x" * 1900)).status_code == 200
    assert (await shop.browser().get("/?q=" + "x" * 2100)).status_code == 400


async def test_the_list_shows_what_is_open_first_then_what_opens_next_then_what_is_over(shop, drops):
    order = [drops[name] for name in ("soon", "later", "gone", "closed")]
    for path in ("", "?q=hand"):
        found = await slugs(shop, path)
        assert set(found[:2]) == {drops["open"], drops["held"]} and found[2:] == order, path
    page = (await shop.browser().get("/")).text
    shown = re.findall(r'<h2><a href="/drops/([^"]+)"', page)
    assert set(shown[:2]) == {drops["open"], drops["held"]} and shown[2:] == order


async def test_drops_of_a_far_future_do_not_crowd_out_what_is_open(shop, drops):
    catalogue = shop.app.inner.catalogue
    known = list(catalogue.drops())
    far = [replace(known[0], id=1000 + n, slug=f"far-{n}", opens_at=clock.now() + timedelta(days=90 + n)) for n in range(60)]
    assert [drop.slug for drop in likely_first(known + far, clock.now())[:3]][0] in (drops["open"], drops["held"], drops["gone"])
    assert likely_first(known + far, clock.now())[-1].slug == drops["closed"]
