"""Webhooks by API: the same as the dashboard's page (app/web/seller/webhooks.py), whose verbs it calls."""

from app.domain.hooks import event_name, secret_of
from app.domain.scopes import Scope
from app.errors import NotFound
from app.ledger import Delivery, Hook
from app.web.api import shapes
from app.web.api.operation import Ask, operation
from app.web.api.paging import cursor_of, page_of, place_in
from app.web.seller import webhooks as desk
from app.web.seller.webhooks import own_delivery, own_hook


async def secret_now(ask: Ask, answer: shapes.WebhookSecret) -> str:
    """A repeat of the request that made a secret is told it again; at rest it is nowhere."""
    return secret_of(ask.doors.hook_key, (await own_hook(ask.doors, ask.key, answer.id)).nonce)


@operation("GET", "/webhooks", scope=Scope.WEBHOOKS, title="List webhooks", answer=shapes.Webhooks)
async def list_webhooks(ask: Ask) -> shapes.Webhooks:
    """Where events are sent. There are at most 20, on one page."""
    return shapes.Webhooks(items=[hook_told(hook) for hook in await ask.doors.office.ledger.hooks(ask.key.shop_id)], next=None)


@operation(
    "POST",
    "/webhooks",
    scope=Scope.WEBHOOKS,
    title="Add a webhook",
    body=shapes.NewWebhook,
    answer=shapes.WebhookSecret,
    status=201,
    secret_again=secret_now,
)
async def add_webhook(ask: Ask) -> shapes.WebhookSecret:
    """Send events of these kinds there from now on. The secret is shown in this answer only."""
    hook_id, secret = await desk.add_webhook(ask.doors, ask.key, ask.body.url, ask.body.kinds)
    return shapes.WebhookSecret(id=hook_id, secret=secret)


@operation("GET", "/webhooks/{hook_id:int}", scope=Scope.WEBHOOKS, title="Get a webhook", answer=shapes.Webhook)
async def get_webhook(ask: Ask) -> shapes.Webhook:
    """One webhook, with how many events wait for it or were given up."""
    return hook_told(await hook_of(ask))


@operation(
    "PATCH",
    "/webhooks/{hook_id:int}",
    scope=Scope.WEBHOOKS,
    title="Change a webhook",
    body=shapes.WebhookChange,
    answer=shapes.Webhook,
)
async def change_webhook(ask: Ask) -> shapes.Webhook:
    """Another address or other kinds. What is on its way goes to the new address."""
    hook, wanted = await hook_of(ask), ask.body
    await desk.change_webhook(ask.doors, ask.key, hook, hook.url if wanted.url is None else wanted.url, wanted.kinds or hook.kinds)
    return hook_told(await hook_of(ask))


@operation("DELETE", "/webhooks/{hook_id:int}", scope=Scope.WEBHOOKS, title="Remove a webhook", answer=None)
async def remove_webhook(ask: Ask) -> None:
    """Nothing is sent there any more, and its log is gone."""
    if not await ask.doors.office.ledger.remove_hook(ask.key.shop_id, await hook_of(ask), ask.key.actor):
        raise NotFound("no such webhook")


@operation(
    "POST",
    "/webhooks/{hook_id:int}/secret",
    scope=Scope.WEBHOOKS,
    title="Replace a secret",
    answer=shapes.WebhookSecret,
    secret_again=secret_now,
)
async def replace_secret(ask: Ask) -> shapes.WebhookSecret:
    """A new secret, shown in this answer only. The one so far signs beside it for 24 hours."""
    hook = await hook_of(ask)
    return shapes.WebhookSecret(id=hook.id, secret=await desk.rotate_webhook(ask.doors, ask.key, hook))


@operation(
    "GET",
    "/webhooks/{hook_id:int}/deliveries",
    scope=Scope.WEBHOOKS,
    title="List deliveries",
    query=shapes.DeliveriesWanted,
    answer=shapes.Deliveries,
)
async def list_deliveries(ask: Ask) -> shapes.Deliveries:
    """What became of every event for this webhook, newest first, with each try and what was answered. Settled ones are kept for 30
    days."""
    hook, wanted = await hook_of(ask), ask.query
    place = place_in(wanted.cursor, tuple[shapes.DeliveryId])
    found = await ask.doors.office.ledger.deliveries(
        ask.key.shop_id, hook.id, wanted.limit + 1, older_than=place and place[0], state=wanted.state
    )
    page, more = page_of(found, wanted.limit)
    return shapes.Deliveries(items=[delivery_told(ask, one) for one in page], next=cursor_of(page[-1].id) if more else None)


@operation(
    "POST",
    "/webhooks/{hook_id:int}/deliveries/{delivery_id:int}/resend",
    scope=Scope.WEBHOOKS,
    title="Send an event again",
    answer=shapes.Delivery,
    status=202,
)
async def resend_delivery(ask: Ask) -> shapes.Delivery:
    """The same event with the same id and body, now, whether it was delivered, given up, or waits."""
    path, key = ask.path, ask.key
    delivery = await own_delivery(ask.doors, key, path["hook_id"], path["delivery_id"])
    await ask.doors.office.ledger.send_delivery_again(key.shop_id, path["hook_id"], delivery, key.actor)
    return delivery_told(ask, await own_delivery(ask.doors, key, path["hook_id"], path["delivery_id"]))


# ---- what they share


async def hook_of(ask: Ask) -> Hook:
    return await own_hook(ask.doors, ask.key, ask.path["hook_id"])


def hook_told(hook: Hook) -> shapes.Webhook:
    return shapes.Webhook(
        id=hook.id,
        url=hook.url,
        kinds=list(hook.kinds),
        made_at=hook.made_at,
        made_by=hook.made_by,
        rotated_at=hook.rotated_at,
        waiting=hook.waiting,
        failed=hook.failed,
    )


def delivery_told(ask: Ask, delivery: Delivery) -> shapes.Delivery:
    return shapes.Delivery(
        id=delivery.id,
        event=event_name(ask.doors.hook_key, delivery.event_id),
        kind=delivery.kind,
        drop_id=delivery.drop_id,
        order_id=delivery.order_id,
        state=delivery.state,
        tries=[
            shapes.Try(at=one.at, seconds=one.seconds, status=one.status, answer=one.answer, error=one.error)
            for one in delivery.attempts
        ],
        next_try_at=delivery.next_try_at if delivery.state == "waiting" else None,
        created_at=delivery.created_at,
        delivered_at=delivery.delivered_at,
    )


OPERATIONS = [
    list_webhooks,
    add_webhook,
    get_webhook,
    change_webhook,
    remove_webhook,
    replace_secret,
    list_deliveries,
    resend_delivery,
]
