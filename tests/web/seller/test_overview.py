"""The first page of the dashboard: this shop's drops and nobody else's."""


async def test_an_empty_shop_says_what_to_do(owner):
    page = await owner.get("/seller")
    assert page.status_code == 200 and "Plan your first drop" in page.text


async def test_a_shop_sees_its_own_drops_only(shop, owner, stranger):
    drop = await shop.opens(units=5)
    assert drop.slug in (await owner.get("/seller")).text
    assert drop.slug not in (await stranger.get("/seller")).text


async def test_nobody_without_a_session_comes_in(shop):
    answer = await shop.browser(accept="text/html").get("/seller")
    assert (answer.status_code, answer.headers["location"]) == (303, "/seller/sign-in?next=/seller")
    assert (await shop.browser(accept="application/json").get("/seller")).status_code == 401


async def test_a_page_of_the_dashboard_is_kept_by_nobody(owner):
    assert (await owner.get("/seller")).headers["cache-control"] == "no-store"
