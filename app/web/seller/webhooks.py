"""Webhooks: where the shop's events are sent, the log of what became of each, and sending one again.

Guarantees: an address that no webhook may have is refused beside its field with everything else as it was typed; a secret is shown
once, on the page that made it, and a replaced one signs for another day so that nobody has to hurry. What is under way when a
webhook is removed may still arrive; nothing is sent afterwards.
"""

import secrets
from collections.abc import Sequence
from datetime import datetime

from litestar import Response, get, post
from litestar.params import FromPath

from app.domain.hooks import (
    KINDS,
    NONCE_BYTES,
    OLD_SECRET_SECONDS,
    URL_CHARACTERS_MAX,
    check_kinds,
    check_url,
    event_name,
    secret_of,
)
from app.domain.roles import Right
from app.errors import BadInput, NotFound
from app.languages import N_, _
from app.ledger import Delivery, Hook, Seller
from app.ledger.hooks import COUNTED_MAX, LOG_SECONDS
from app.web.call import Call
from app.web.doors import Doors, TheseDoors, ThisCall, redirect
from app.web.seller.access import PREFIX, ThisSeller, Who
from app.web.seller.confirm import ask_first, is_sure

WEBHOOKS = f"{PREFIX}/webhooks"
ATTENTION = f"{PREFIX}/attention"
PAGE_DELIVERIES = 50
SAID = {
    "changed": N_("Changed. What is on its way goes to the new address."),
    "again": N_("It is sent again now."),
    "removed": N_("Removed. Nothing is sent there any more."),
}
KIND_WORDS = {
    "drop.published": N_("A drop was published"),
    "drop.paused": N_("A drop was paused"),
    "drop.resumed": N_("A drop was resumed"),
    "drop.closed": N_("A drop was ended"),
    "drop.cancelled": N_("A drop was cancelled"),
    "drop.postponed": N_("A drop was postponed"),
    "drop.units_changed": N_("Pieces were added or taken away"),
    "order.held": N_("Somebody has a piece in their checkout"),
    "order.paid": N_("An order was paid"),
    "order.declined": N_("A payment was declined"),
    "order.outcome_unknown": N_("The provider gave no answer about a payment"),
    "order.expired": N_("A hold ran out"),
    "order.failed": N_("A hold ended after its last attempt to pay"),
    "order.cancelled": N_("A hold was given back or ended"),
    "order.refused": N_("A reservation was refused by the ledger"),
    "order.refunded": N_("Money went back to a buyer"),
    "parcel.made": N_("The warehouse has packed a parcel"),
    "parcel.sent": N_("A parcel is on its way"),
}


@get("/webhooks", right=Right.KEYS)
async def list_webhooks(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    return await list_page(call, doors, seller, said=_(SAID.get(call.query("said"), "")))


@post("/webhooks", status_code=201, right=Right.KEYS)
async def add(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    url, kinds = call.text_field("url", URL_CHARACTERS_MAX), chosen(call)
    try:
        hook_id, secret = await add_webhook(doors, seller, url, kinds)
    except BadInput as error:
        if call.wants_json:
            raise
        return await list_page(call, doors, seller, status=422, error=error, url=url, kinds=kinds)
    return await hook_page(call, doors, seller, await own_hook(doors, seller, hook_id), status=201, secret=secret)


@get("/webhooks/{hook_id:int}", right=Right.KEYS)
async def show_webhook(hook_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    hook = await own_hook(doors, seller, hook_id)
    return await hook_page(call, doors, seller, hook, said=_(SAID.get(call.query("said"), "")))


@post("/webhooks/{hook_id:int}", status_code=200, right=Right.KEYS)
async def change(hook_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    hook = await own_hook(doors, seller, hook_id)
    url, kinds = call.text_field("url", URL_CHARACTERS_MAX), chosen(call)
    try:
        await change_webhook(doors, seller, hook, url, kinds)
    except BadInput as error:
        if call.wants_json:
            raise
        return await hook_page(call, doors, seller, hook, status=422, error=error, url=url, kinds=kinds)
    return redirect(call, f"{WEBHOOKS}/{hook_id}?said=changed")


@post("/webhooks/{hook_id:int}/secret", status_code=200, right=Right.KEYS)
async def replace_secret(hook_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    hook = await own_hook(doors, seller, hook_id)
    if not is_sure(call):
        consequences = [
            _("A new secret is shown once. The one so far signs beside it for 24 hours, so that the receiver can change over."),
            _("A secret that was replaced before signs no more."),
        ]
        return ask_about(call, doors, seller, hook, _("Replace the secret?"), _("Replace it"), consequences)
    secret = await rotate_webhook(doors, seller, hook)
    return await hook_page(call, doors, seller, await own_hook(doors, seller, hook_id), secret=secret)


@post("/webhooks/{hook_id:int}/remove", status_code=200, right=Right.KEYS)
async def remove(hook_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    hook = await own_hook(doors, seller, hook_id)
    if not is_sure(call):
        consequences = [_("Events that wait for it are not sent any more, and its log is not shown any more.")]
        return ask_about(call, doors, seller, hook, _("Remove this webhook?"), _("Remove"), consequences)
    await doors.office.ledger.remove_hook(seller.shop_id, hook, seller.actor)
    return redirect(call, f"{WEBHOOKS}?said=removed")


@post("/webhooks/{hook_id:int}/deliveries/{delivery_id:int}/again", status_code=200, right=Right.KEYS)
async def send_again(
    hook_id: FromPath[int], delivery_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller
) -> Response:
    delivery = await own_delivery(doors, seller, hook_id, delivery_id)
    await doors.office.ledger.send_delivery_again(seller.shop_id, hook_id, delivery, seller.actor)
    from_list = call.fields().get("back") == "attention"
    return redirect(call, ATTENTION if from_list else f"{WEBHOOKS}/{hook_id}?said=again")


@post("/webhooks/{hook_id:int}/deliveries/{delivery_id:int}/seen", status_code=200, right=Right.KEYS)
async def see_event(
    hook_id: FromPath[int], delivery_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller
) -> Response:
    """An event that was given up leaves the list of what needs a person. Seen twice is seen once."""
    hook, delivery = await own_hook(doors, seller, hook_id), await own_delivery(doors, seller, hook_id, delivery_id)
    await doors.office.ledger.given_up_seen(seller.shop_id, hook, delivery, seller.actor)
    return redirect(call, ATTENTION)


@post("/webhooks/{hook_id:int}/seen", status_code=200, right=Right.KEYS)
async def see_events(hook_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    """The same for all that this webhook did not take."""
    await doors.office.ledger.given_up_seen(seller.shop_id, await own_hook(doors, seller, hook_id), None, seller.actor)
    return redirect(call, ATTENTION)


# ---- what the dashboard and the API share


async def own_hook(doors: Doors, who: Who, hook_id: int) -> Hook:
    hook = await doors.office.ledger.hook(who.shop_id, hook_id)
    if hook is None:
        raise NotFound("no such webhook")
    return hook


async def own_delivery(doors: Doors, who: Who, hook_id: int, delivery_id: int) -> Delivery:
    delivery = await doors.office.ledger.delivery(who.shop_id, hook_id, delivery_id)
    if delivery is None:
        raise NotFound("no such delivery")
    return delivery


async def add_webhook(doors: Doors, who: Who, url: str, kinds: Sequence[str]) -> tuple[int, str]:
    """-> (its id, its secret). BadInput names the field that is wrong."""
    url, kinds = check_url(url, production=doors.settings.production), check_kinds(kinds)
    nonce = secrets.token_bytes(NONCE_BYTES)
    hook_id = await doors.office.ledger.add_hook(who.shop_id, url, kinds, nonce, who.actor)
    return hook_id, secret_of(doors.hook_key, nonce)


async def change_webhook(doors: Doors, who: Who, hook: Hook, url: str, kinds: Sequence[str]) -> None:
    url, kinds = check_url(url, production=doors.settings.production), check_kinds(kinds)
    if not await doors.office.ledger.change_hook(who.shop_id, hook, url, kinds, who.actor):
        raise NotFound("no such webhook")


async def rotate_webhook(doors: Doors, who: Who, hook: Hook) -> str:
    """-> the new secret."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    if not await doors.office.ledger.rotate_hook(who.shop_id, hook, nonce, who.actor):
        raise NotFound("no such webhook")
    return secret_of(doors.hook_key, nonce)


# ---- pages


def chosen(call: Call) -> list[str]:
    """-> the kinds whose boxes are ticked; a program sends them as a list."""
    fields = call.fields()
    if isinstance(fields.get("kinds"), list):
        return [str(kind) for kind in fields["kinds"]]
    return [kind for kind in KINDS if fields.get(f"kind-{kind}") == "on"]


async def list_page(
    call: Call,
    doors: Doors,
    seller: Seller,
    *,
    status: int = 200,
    said: str = "",
    error: BadInput | None = None,
    url: str = "",
    kinds: Sequence[str] = ("order.paid",),
) -> Response:
    return doors.seller_page(
        call,
        seller,
        "seller/webhooks.html",
        title=_("Webhooks"),
        status=status,
        said=said,
        hooks=await doors.office.ledger.hooks(seller.shop_id),
        counted_max=COUNTED_MAX,
        **form_context(error, url, kinds),
    )


async def hook_page(
    call: Call,
    doors: Doors,
    seller: Seller,
    hook: Hook,
    *,
    status: int = 200,
    said: str = "",
    secret: str = "",
    error: BadInput | None = None,
    url: str | None = None,
    kinds: Sequence[str] | None = None,
) -> Response:
    before = call.query("before")
    older = int(before) if before.isascii() and before.isdigit() and len(before) < 19 else None
    state = call.query("state") if call.query("state") in ("waiting", "delivered", "failed") else None
    found = await doors.office.ledger.deliveries(
        seller.shop_id, hook.id, PAGE_DELIVERIES + 1, older_than=older, state=state
    )  # one more than is shown
    return doors.seller_page(
        call,
        seller,
        "seller/webhook.html",
        title=_("Webhook"),
        status=status,
        said=said,
        secret=secret,
        hook=hook,
        deliveries=[(one, event_name(doors.hook_key, one.event_id)) for one in found[:PAGE_DELIVERIES]],
        moment_of=datetime.fromisoformat,
        older=found[PAGE_DELIVERIES - 1].id if len(found) > PAGE_DELIVERIES else None,
        newest=older is None,
        state=state,
        old_hours=OLD_SECRET_SECONDS // 3600,
        log_days=LOG_SECONDS // 86400,
        **form_context(error, hook.url if url is None else url, hook.kinds if kinds is None else kinds),
    )


def form_context(error: BadInput | None, url: str, kinds: Sequence[str]) -> dict[str, object]:
    problem = None if error is None else {"field": error.field, "text": _(str(error))}
    return {"problem": problem, "url": url, "chosen": set(kinds), "kind_words": KIND_WORDS}


def ask_about(call: Call, doors: Doors, seller: Seller, hook: Hook, title: str, verb: str, consequences: list[str]) -> Response:
    return ask_first(
        call, doors, seller, title=title, consequences=[hook.url, *consequences], verb=verb, back=f"{WEBHOOKS}/{hook.id}"
    )


ROUTES = [list_webhooks, add, show_webhook, change, replace_secret, remove, send_again, see_event, see_events]
