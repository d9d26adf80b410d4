"""Events on their way to webhooks: none is lost, whatever order transactions commit in, and one worker at a time sends each."""

from uuid import uuid4

import asyncpg
import pytest

from app.domain.hooks import KINDS, Attempt
from app.errors import BadInput
from app.ledger.hooks import ATTEMPTS_KEPT_MAX, EVENTS_HANDED_OUT_MAX, HOOKS_MAX

NONCE = b"n" * 20
TRIED = Attempt(at="2026-11-30T20:00:00.000Z", seconds=0.1, status=200, answer="ok")


async def hears(scene, *kinds: str, shop_id: int | None = None) -> int:
    """The shop hears of these kinds (of all of them without any) -> the webhook."""
    return await scene.ledger.add_hook(shop_id or scene.shop_id, "https://example.com/in", kinds or tuple(KINDS), NONCE, "owner")


async def kinds_for(scene, hook_id: int, shop_id: int | None = None) -> list[str]:
    """-> what was handed out to it, oldest first."""
    await scene.ledger.hand_out_events()
    return [delivery.kind for delivery in reversed(await scene.ledger.deliveries(shop_id or scene.shop_id, hook_id, 200))]


async def one_claimed(scene):
    """-> (webhook, claim, what was claimed) of a paid order."""
    hook_id = await hears(scene, "order.paid")
    await scene.paid()
    await scene.ledger.hand_out_events()
    claim = uuid4()
    [parcelled] = await scene.ledger.claim_deliveries(claim, 10, 4)
    return hook_id, claim, parcelled


async def test_a_webhook_hears_what_it_asked_for_from_now_on(scene):
    await scene.paid()
    hook_id = await hears(scene, "order.held", "order.paid")
    await scene.paid()
    assert await kinds_for(scene, hook_id) == ["order.held", "order.paid"]
    assert await kinds_for(scene, hook_id) == ["order.held", "order.paid"]


async def test_another_shops_events_are_none_of_its_business(scene):
    other = await scene.ledger.create_shop("Elsewhere", "stranger@example.org")
    mine, theirs = await hears(scene), await hears(scene, shop_id=other)
    await scene.paid()
    assert await kinds_for(scene, theirs, other) == [] and await kinds_for(scene, mine)
    assert await scene.ledger.deliveries(other, mine, 10) == [] and await scene.ledger.hook(other, mine) is None


async def test_an_event_that_commits_late_is_not_passed_over(scene):
    """Its id is lower than those of events that were committed, seen and handed out before it."""
    hook_id = await hears(scene, "drop.paused", "order.held")
    slow = await asyncpg.connect(scene.dsn)
    transaction = slow.transaction()
    await transaction.start()
    await slow.execute(
        "INSERT INTO events (order_id, drop_id, kind, detail) VALUES (NULL, $1, 'door paused', '{\"by\": \"seller\"}')",
        scene.drop.id,
    )
    await scene.hold()
    while_open = await kinds_for(scene, hook_id)
    await transaction.commit()
    await slow.close()
    assert while_open == [] and sorted(await kinds_for(scene, hook_id)) == ["drop.paused", "order.held"]


async def test_more_events_than_one_transaction_takes_are_handed_out_in_turn(scene):
    hook_id = await hears(scene, "drop.paused")
    await scene.hand.execute(
        "INSERT INTO events (drop_id, kind) SELECT $1, CASE WHEN n % 100 = 0 THEN 'door paused' ELSE 'retired' END "
        "FROM generate_series(1, $2) AS n",
        scene.drop.id,
        EVENTS_HANDED_OUT_MAX * 2,
    )
    moved = [await scene.ledger.hand_out_events() for _ in range(3)]
    assert moved == [1, 1, 0] and len(await scene.ledger.deliveries(scene.shop_id, hook_id, 200)) == EVENTS_HANDED_OUT_MAX // 50


async def test_two_workers_hand_each_event_out_once(scene):
    hook_id = await hears(scene, "order.held")
    await scene.hold()
    async with scene.locked("SELECT 1 FROM hooks WHERE id = $1 FOR UPDATE", hook_id, waiting=0):
        assert await scene.ledger.hand_out_events() == 0  # the other one has it
    assert await scene.ledger.hand_out_events() == 1 and await scene.ledger.hand_out_events() == 0


async def test_in_a_restored_database_new_events_are_heard_and_old_ones_are_not_told_again(scene):
    """Another server counts transactions from the beginning: cursors and events of before stand far in its future."""
    hook_id = await hears(scene, "order.held", "drop.paused")
    await scene.hold()
    assert await kinds_for(scene, hook_id) == ["order.held"]
    await scene.hand.execute("ALTER TABLE events DISABLE TRIGGER keep_history")
    await scene.hand.execute("UPDATE events SET xact = (xact::text::bigint + 1000000000)::text::xid8")
    await scene.hand.execute("UPDATE hooks SET cursor_xact = (cursor_xact::text::bigint + 1000000000)::text::xid8")
    await scene.hand.execute("ALTER TABLE events ENABLE TRIGGER keep_history")
    await scene.hand.execute("DELETE FROM hook_deliveries")  # so that nothing but the cursor keeps old ones back
    await scene.hand.execute("INSERT INTO events (drop_id, kind) VALUES ($1, 'door paused')", scene.drop.id)
    assert await kinds_for(scene, hook_id) == ["drop.paused"]
    await scene.hold()
    assert await kinds_for(scene, hook_id) == ["drop.paused", "order.held"]


async def test_what_is_sent_says_what_happened_without_saying_who_bought(scene):
    _hook, _claim, parcelled = await one_claimed(scene)
    told = parcelled.told
    assert (told.kind, told.drop_slug, told.quantity, told.amount_minor, told.currency) == (
        "order.paid",
        scene.drop.slug,
        1,
        4900,
        "EUR",
    )
    assert parcelled.tries == 1 and parcelled.nonces == (NONCE,) and "@" not in repr(told)


async def test_a_claimed_delivery_is_nobody_elses_until_its_lease_ends(scene):
    hook_id, claim, parcelled = await one_claimed(scene)
    assert await scene.ledger.claim_deliveries(uuid4(), 10, 4) == []
    await scene.hand.execute("UPDATE hook_deliveries SET claimed_until = now() - interval '1 second'")
    [again] = await scene.ledger.claim_deliveries(uuid4(), 10, 4)
    assert again.told == parcelled.told and again.tries == 2
    assert not await scene.ledger.delivered(parcelled.id, claim, TRIED)  # who died, or was too slow, has lost it
    assert (await scene.ledger.delivery(scene.shop_id, hook_id, parcelled.id)).state == "waiting"


async def test_one_webhook_never_has_more_than_its_share_under_way(scene):
    await hears(scene, "order.held", "order.paid")
    await scene.paid()
    await scene.paid()
    await scene.ledger.hand_out_events()
    claimed = [len(await scene.ledger.claim_deliveries(uuid4(), 10, 2)) for _ in range(4)]
    assert claimed == [1, 1, 0, 0]


async def test_delivered_is_delivered(scene):
    hook_id, claim, parcelled = await one_claimed(scene)
    assert await scene.ledger.delivered(parcelled.id, claim, TRIED)
    [delivery] = await scene.ledger.deliveries(scene.shop_id, hook_id, 10)
    assert delivery.state == "delivered" and delivery.attempts == (TRIED,)
    assert await scene.ledger.claim_deliveries(uuid4(), 10, 4) == []


async def test_what_was_not_taken_comes_again_when_it_is_due_and_at_last_fails(scene):
    hook_id, claim, parcelled = await one_claimed(scene)
    assert await scene.ledger.not_delivered(parcelled.id, claim, TRIED, 60.0)
    assert await scene.ledger.claim_deliveries(uuid4(), 10, 4) == []
    await scene.hand.execute("UPDATE hook_deliveries SET next_try_at = now()")
    [again] = await scene.ledger.claim_deliveries(claim, 10, 4)
    assert await scene.ledger.not_delivered(again.id, claim, TRIED, None)
    [delivery] = await scene.ledger.deliveries(scene.shop_id, hook_id, 10, state="failed")
    assert len(delivery.attempts) == 2 and (await scene.ledger.hook(scene.shop_id, hook_id)).failed == 1


async def test_a_failed_or_delivered_event_can_be_sent_again(scene):
    hook_id, claim, parcelled = await one_claimed(scene)
    for settle in (scene.ledger.delivered, lambda *told: scene.ledger.not_delivered(*told, None)):
        assert await settle(parcelled.id, claim, TRIED)
        delivery = await scene.ledger.delivery(scene.shop_id, hook_id, parcelled.id)
        assert await scene.ledger.send_delivery_again(scene.shop_id, hook_id, delivery, "owner")
        [again] = await scene.ledger.claim_deliveries(claim, 10, 4)
        assert (again.id, again.tries) == (parcelled.id, 1)
    assert len((await scene.ledger.delivery(scene.shop_id, hook_id, parcelled.id)).attempts) == 2


async def test_nobody_sends_another_shops_events_again(scene):
    hook_id, claim, parcelled = await one_claimed(scene)
    await scene.ledger.delivered(parcelled.id, claim, TRIED)
    other = await scene.ledger.create_shop("Elsewhere", "stranger@example.org")
    delivery = await scene.ledger.delivery(scene.shop_id, hook_id, parcelled.id)
    assert not await scene.ledger.send_delivery_again(other, hook_id, delivery, "stranger")
    assert await scene.ledger.delivery(other, hook_id, parcelled.id) is None


async def test_the_log_of_a_delivery_keeps_its_last_tries(scene):
    hook_id, claim, parcelled = await one_claimed(scene)
    await scene.hand.execute(
        "UPDATE hook_deliveries SET attempts = (SELECT jsonb_agg(jsonb_build_object('at', n::text, 'seconds', 0)) "
        "FROM generate_series(1, $1::integer) AS n)",
        ATTEMPTS_KEPT_MAX,
    )
    await scene.ledger.delivered(parcelled.id, claim, TRIED)
    attempts = (await scene.ledger.delivery(scene.shop_id, hook_id, parcelled.id)).attempts
    assert len(attempts) == ATTEMPTS_KEPT_MAX and attempts[0].at == "2" and attempts[-1] == TRIED


async def test_a_replaced_secret_signs_beside_the_new_one_for_a_day(scene):
    hook_id, claim, parcelled = await one_claimed(scene)
    hook = await scene.ledger.hook(scene.shop_id, hook_id)
    assert await scene.ledger.rotate_hook(scene.shop_id, hook, b"m" * 20, "owner")
    await scene.ledger.not_delivered(parcelled.id, claim, TRIED, 0.0)
    [again] = await scene.ledger.claim_deliveries(claim, 10, 4)
    assert again.nonces == (b"m" * 20, NONCE)
    await scene.hand.execute("UPDATE hooks SET rotated_at = rotated_at - interval '25 hours'")
    await scene.ledger.not_delivered(parcelled.id, claim, TRIED, 0.0)
    [later] = await scene.ledger.claim_deliveries(claim, 10, 4)
    assert later.nonces == (b"m" * 20,)


async def test_a_removed_webhook_is_sent_nothing_and_is_not_there_any_more(scene):
    hook_id = await hears(scene, "order.held")
    await scene.hold()
    await scene.ledger.hand_out_events()
    hook = await scene.ledger.hook(scene.shop_id, hook_id)
    assert hook.waiting == 1 and await scene.ledger.remove_hook(scene.shop_id, hook, "owner")
    assert await scene.ledger.claim_deliveries(uuid4(), 10, 4) == [] and await scene.ledger.hooks(scene.shop_id) == []
    assert not await scene.ledger.remove_hook(scene.shop_id, hook, "owner")


async def test_every_change_of_a_webhook_stands_in_the_audit_log(scene):
    hook = await scene.ledger.hook(scene.shop_id, await hears(scene, "order.paid"))
    await scene.ledger.change_hook(scene.shop_id, hook, "https://example.com/other", ("order.paid",), "owner")
    await scene.ledger.rotate_hook(scene.shop_id, hook, b"m" * 20, "owner")
    await scene.ledger.remove_hook(scene.shop_id, hook, "owner")
    log = await scene.ledger.audit_log(scene.shop_id)
    assert [entry.action for entry in log] == ["webhook removed", "webhook secret replaced", "webhook changed", "webhook added"]
    assert (log[2].before["url"], log[2].after["url"]) == ("https://example.com/in", "https://example.com/other")


async def test_a_shop_has_a_bounded_number_of_webhooks(scene):
    for _ in range(HOOKS_MAX):
        await hears(scene, "order.paid")
    with pytest.raises(BadInput, match="as many webhooks"):
        await hears(scene, "order.paid")


async def test_settled_deliveries_leave_the_log_after_a_month_and_waiting_ones_never(scene):
    _hook_id, claim, parcelled = await one_claimed(scene)
    await scene.hand.execute("UPDATE hook_deliveries SET created_at = now() - interval '31 days'")
    assert await scene.ledger.forget_old_deliveries() == 0
    await scene.ledger.delivered(parcelled.id, claim, TRIED)
    assert await scene.ledger.forget_old_deliveries() == 1


# what was given up


async def gives_up(scene, parcelled, claim) -> None:
    assert await scene.ledger.not_delivered(parcelled.id, claim, Attempt(at=TRIED.at, seconds=0.1, status=503), None)


async def test_what_was_given_up_needs_a_person_until_somebody_has_seen_to_it(scene):
    hook_id, claim, parcelled = await one_claimed(scene)
    count = scene.ledger.shop_attention_count
    assert await scene.ledger.given_up(scene.shop_id, 10) == [] and await count(scene.shop_id, with_hooks=True) == 0
    await gives_up(scene, parcelled, claim)
    [one] = await scene.ledger.given_up(scene.shop_id, 10)
    assert (one.hook_id, one.url, one.delivery.kind, one.delivery.attempts[-1].status) == (
        hook_id, "https://example.com/in", "order.paid", 503,
    )  # fmt: skip
    assert await count(scene.shop_id, with_hooks=True) == 1 and await count(scene.shop_id) == 0
    hook = await scene.ledger.hook(scene.shop_id, hook_id)
    assert await scene.ledger.given_up_seen(scene.shop_id, hook, one.delivery, "owner") == 1
    assert await scene.ledger.given_up_seen(scene.shop_id, hook, one.delivery, "owner") == 0
    assert await scene.ledger.given_up(scene.shop_id, 10) == [] and await count(scene.shop_id, with_hooks=True) == 0
    entries = [entry for entry in await scene.ledger.audit_log(scene.shop_id) if entry.action == "webhook event looked at"]
    assert [entry.after for entry in entries] == [{"webhook": hook_id, "events": 1}]


async def test_what_is_sent_again_and_given_up_again_needs_a_person_again(scene):
    hook_id, claim, parcelled = await one_claimed(scene)
    await gives_up(scene, parcelled, claim)
    hook, [one] = await scene.ledger.hook(scene.shop_id, hook_id), await scene.ledger.given_up(scene.shop_id, 10)
    await scene.ledger.given_up_seen(scene.shop_id, hook, None, "owner")
    await scene.ledger.send_delivery_again(scene.shop_id, hook_id, one.delivery, "owner")
    assert await scene.ledger.given_up(scene.shop_id, 10) == []
    [parcelled] = await scene.ledger.claim_deliveries(claim := uuid4(), 10, 4)
    await gives_up(scene, parcelled, claim)
    assert [found.delivery.id for found in await scene.ledger.given_up(scene.shop_id, 10)] == [one.delivery.id]


async def test_what_was_given_up_is_neither_another_shop_s_business_nor_a_removed_webhook_s(scene):
    hook_id, claim, parcelled = await one_claimed(scene)
    await gives_up(scene, parcelled, claim)
    other = await scene.ledger.create_shop("Elsewhere", "stranger@example.org")
    hook, [one] = await scene.ledger.hook(scene.shop_id, hook_id), await scene.ledger.given_up(scene.shop_id, 10)
    assert await scene.ledger.given_up(other, 10) == [] and await scene.ledger.shop_attention_count(other, with_hooks=True) == 0
    assert await scene.ledger.given_up_seen(other, hook, one.delivery, "stranger") == 0
    await scene.ledger.remove_hook(scene.shop_id, hook, "owner")
    assert await scene.ledger.given_up(scene.shop_id, 10) == []
    assert await scene.ledger.shop_attention_count(scene.shop_id, with_hooks=True) == 0
