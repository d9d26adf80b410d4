"""Alive, ready, counted."""

from app.errors import GateUnreachable, LedgerUnreachable
from app.web.health import metrics_token
from tests.web.conftest import JSON


async def test_alive_asks_nobody(shop, monkeypatch):
    monkeypatch.setattr(type(shop.gate), "peek", gone(GateUnreachable))
    monkeypatch.setattr(type(shop.ledger), "first_shop", gone(LedgerUnreachable))
    assert (await shop.browser().get("/healthz")).json() == {"alive": True}


async def test_a_balancer_goes_on_sending_while_neighbours_are_gone(shop, monkeypatch):
    monkeypatch.setattr(type(shop.gate), "peek", gone(GateUnreachable))
    monkeypatch.setattr(type(shop.ledger), "first_shop", gone(LedgerUnreachable))
    assert (await shop.browser().get("/servez")).status_code == 200
    assert (await shop.browser().get("/readyz")).status_code == 503
    shop.app.inner.catalogue.loaded = False  # as before the first load
    assert (await shop.browser().get("/servez")).status_code == 503


async def test_ready_names_the_neighbour_that_does_not_answer(shop, monkeypatch):
    for _ in range(200):  # the feed subscribes in its own time
        answer = await shop.browser().get("/readyz")
        if answer.status_code == 200:
            break
    assert answer.json() | {"pid": 0} == {"ready": True, "catalogue": True, "ledger": True, "gate": True, "feed": True, "pid": 0}
    monkeypatch.setattr(type(shop.gate), "peek", gone(GateUnreachable))
    answer = await shop.browser().get("/readyz")
    assert (answer.status_code, answer.json()["ready"], answer.json()["gate"], answer.json()["ledger"]) == (503, False, False, True)


async def test_a_ledger_that_does_not_answer_is_503_with_retry_after_not_500(shop, monkeypatch):
    drop = await shop.opens()
    client = await shop.shopper()
    order = await shop.holds(drop, client)
    monkeypatch.setattr(type(shop.ledger), "order_for", gone(LedgerUnreachable))
    monkeypatch.setattr(type(shop.ledger), "orders_of", gone(LedgerUnreachable))
    for address in (f"/orders/{order}", "/orders"):
        for headers in (JSON, {}):
            answer = await client.get(address, headers=headers)
            assert answer.status_code == 503 and int(answer.headers["retry-after"]) >= 1
    assert (await client.get(f"/drops/{drop.slug}")).status_code == 200


async def test_metrics_count_the_verdicts(shop):
    drop = await shop.opens()
    for _ in range(3):
        await (await shop.shopper()).post(f"/drops/{drop.slug}/buy", json={}, headers=JSON)
    text = (await shop.browser().get("/metrics")).text
    assert 'doorman_verdicts_total{verdict="reserved"} 1.0' in text
    assert 'doorman_verdicts_total{verdict="all_held"} 2.0' in text
    assert "doorman_sockets 0.0" in text


async def test_metrics_of_strangers_need_the_token(shop, production_shop):
    stranger = shop.browser(peer="203.0.113.9")
    assert (await stranger.get("/metrics")).status_code == 404
    assert (await stranger.get("/metrics", headers={"authorization": "Bearer nonsense"})).status_code == 404
    bearer = {"authorization": f"Bearer {metrics_token(shop.settings)}"}
    assert (await stranger.get("/metrics", headers=bearer)).status_code == 200
    near = production_shop.browser(host="shop.example")
    assert (await near.get("/metrics")).status_code == 404
    assert (await near.get("/metrics", headers=bearer)).status_code == 200


def gone(error):
    async def no_answer(*_, **__):
        raise error("no answer")

    return no_answer
