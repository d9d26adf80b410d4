"""API keys: made for a purpose, shown once, revoked within seconds. What they open is in app/web/api.

Nobody can read a key again, not even with the database in hand; whoever lost one makes another. Sending the form twice makes two
keys, of which the second page shows one: the other stands in the list, unused, and is revoked there.
"""

from litestar import Response, get, post
from litestar.params import FromPath

from app.domain.roles import Right
from app.domain.scopes import KEY_NAME_CHARACTERS_MAX, Scope, checked_key
from app.errors import BadInput, NotFound
from app.languages import N_, _
from app.ledger import KnownKey, Seller
from app.web.api.keys import KEY_SECONDS_MAX, new_key
from app.web.call import Call
from app.web.doors import Doors, TheseDoors, ThisCall, redirect
from app.web.seller.access import PREFIX, ThisSeller
from app.web.seller.confirm import ask_first, is_sure

KEYS = f"{PREFIX}/keys"
SCOPES = {
    Scope.READ: (N_("Read"), N_("Drops, drafts, live counts, books, reports and accounts. No personal data.")),
    Scope.DROPS: (N_("Drops"), N_("Plan and publish; pause, resume, end, cancel, postpone; change words and pieces; rehearse.")),
    Scope.ORDERS: (
        N_("Orders"),
        N_("Orders with names and addresses, money as it moved; end holds, correct addresses, mails and parcels again."),
    ),
    Scope.MONEY: (N_("Money"), N_("Give money back, and decide about money of which nobody knows.")),
    Scope.WEBHOOKS: (N_("Webhooks"), N_("Say where events are sent, and send them again.")),
}
SAID = {"revoked": N_("Revoked. It opens nothing any more.")}


@get("/keys", right=Right.KEYS)
async def list_keys(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    return await keys_page(call, doors, seller, said=_(SAID.get(call.query("said"), "")))


@post("/keys", status_code=201, right=Right.KEYS)
async def make(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    typed, wanted = call.text_field("name", 4 * KEY_NAME_CHARACTERS_MAX), chosen(call)
    try:
        name, scopes = checked_key(typed, wanted)
        key = new_key()
        await doors.office.ledger.make_api_key(seller.shop_id, name, scopes, key, seller.actor)
    except BadInput as error:
        if call.wants_json:
            raise
        return await keys_page(call, doors, seller, status=422, error=error, name=typed, wanted=wanted)
    return await keys_page(call, doors, seller, status=201, made=key)


@post("/keys/{key_id:int}/revoke", status_code=200, right=Right.KEYS)
async def revoke(key_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    key = await own_key(doors, seller, key_id)
    if not is_sure(call):
        return ask_first(
            call,
            doors,
            seller,
            title=_("Revoke the key “%(name)s”?", name=key.name),
            consequences=[
                _("Whatever uses it is refused within %(seconds)s seconds. It cannot be undone.", seconds=f"{KEY_SECONDS_MAX:g}"),
                _("What it did stays in the audit log."),
            ],
            verb=_("Revoke"),
            back=KEYS,
        )
    await doors.office.ledger.revoke_api_key(seller.shop_id, key_id, seller.actor)
    await doors.api_keys.changed()
    return redirect(call, f"{KEYS}?said=revoked")


async def own_key(doors: Doors, seller: Seller, key_id: int) -> KnownKey:
    key = await doors.office.ledger.api_key(seller.shop_id, key_id)
    if key is None:
        raise NotFound("no such key")
    return key


def chosen(call: Call) -> list[str]:
    """-> the scopes whose boxes are ticked; a program sends them as a list."""
    fields = call.fields()
    if isinstance(fields.get("scopes"), list):
        return [str(scope) for scope in fields["scopes"]]
    return [scope.value for scope in Scope if fields.get(f"scope-{scope.value}") == "on"]


async def keys_page(
    call: Call,
    doors: Doors,
    seller: Seller,
    *,
    status: int = 200,
    said: str = "",
    made: str = "",
    error: BadInput | None = None,
    name: str = "",
    wanted: list[str] | tuple = (Scope.READ.value,),
) -> Response:
    return doors.seller_page(
        call,
        seller,
        "seller/keys.html",
        title=_("API keys"),
        status=status,
        said=said,
        made=made,
        keys=await doors.office.ledger.api_keys(seller.shop_id),
        scopes=SCOPES,
        typed=name,
        wanted=set(wanted),
        problem=None if error is None else {"field": error.field, "text": _(str(error))},
        name_characters_max=KEY_NAME_CHARACTERS_MAX,
    )


ROUTES = [list_keys, make, revoke]
