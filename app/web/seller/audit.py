"""The audit log: who did what in this shop, when, and what it was before and after. Narrowed by who, what and about what."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from litestar import Response, get

from app.domain.roles import Right
from app.languages import N_, _
from app.ledger import AuditEntry
from app.web.call import Call
from app.web.doors import TheseDoors, ThisCall
from app.web.seller.access import PREFIX, ThisSeller
from app.web.seller.staff import ROLES
from app.web.seller.telling import PARCELS, STATES

PAGE_ENTRIES = 50
WORDS_CHARACTERS_MAX = 200
ID_MAX = 2**63 - 1
VALUE_CHARACTERS_MAX = 400

# Every action in words for people; a room that writes others adds them here, so that they are said in the reader's language.
ACTIONS = (
    # people
    N_("signed in"),
    N_("signed out"),
    N_("shop made"),
    N_("shop entered"),
    N_("session ended"),
    N_("other sessions ended"),
    N_("second factor set up"),
    N_("second factor removed"),
    N_("recovery code used"),
    N_("recovery codes renewed"),
    N_("passkey added"),
    N_("passkey removed"),
    N_("staff invited"),
    N_("role changed"),
    N_("staff removed"),
    # plan
    N_("draft made"),
    N_("draft saved"),
    N_("draft deleted"),
    N_("pictures put up"),
    N_("drop published"),
    N_("drop edited"),
    N_("drop postponed"),
    N_("drop cancelled"),
    N_("units added"),
    N_("units taken away"),
    # live
    N_("paused"),
    N_("resumed"),
    N_("ended"),
    N_("drop retired"),
    N_("gate rebuilt"),
    # rehearsals
    N_("rehearsal begun"),
    N_("rehearsal stopped"),
    # orders
    N_("refunded"),
    N_("hold ended"),
    N_("given back unasked"),
    N_("asked again"),
    N_("looked at"),
    N_("parcel submitted again"),
    N_("mail sent again"),
    N_("mail looked at"),
    N_("address corrected"),
    # shop
    N_("shop settings changed"),
    # files
    N_("orders exported"),
    N_("money exported"),
    # programs
    N_("API key made"),
    N_("API key revoked"),
    N_("webhook added"),
    N_("webhook changed"),
    N_("webhook secret replaced"),
    N_("webhook removed"),
    N_("webhook event sent again"),
    N_("webhook event looked at"),
)


# Every field that an entry may name, in words for people. The names of variants stand as their seller wrote them.
FIELDS = {
    # people
    "browser": N_("browser"),
    "open": N_("open sessions"),
    "left": N_("recovery codes left"),
    "passkey": N_("passkey"),
    "passkeys": N_("passkeys"),
    "role": N_("role"),
    "owner": N_("owner"),
    # plan and drop
    "draft": N_("draft"),
    "title": N_("title"),
    "slug": N_("address"),
    "description": N_("description"),
    "price": N_("price"),
    "price_minor": N_("price in the smallest unit"),
    "currency": N_("currency"),
    "time_zone": N_("time zone"),
    "opens": N_("opens"),
    "opens_at": N_("opens"),
    "opens_which": N_("opens: which of the two"),
    "closes": N_("closes"),
    "closes_at": N_("closes"),
    "closes_which": N_("closes: which of the two"),
    "per_person": N_("pieces per person"),
    "hold": N_("time to pay"),
    "offer": N_("time to take an offer"),
    "waitlist": N_("waiting list"),
    "attempts": N_("attempts to pay"),
    "ships": N_("sent by parcel"),
    "served": N_("sent to"),
    "countries": N_("countries"),
    "shipping_countries": N_("countries"),
    "tax": N_("tax included"),
    "fees": N_("shipping fees"),
    "variants": N_("variants"),
    "pictures": N_("pictures"),
    "units": N_("pieces"),
    "total": N_("pieces"),
    "variant": N_("variant"),
    "door": N_("door"),
    "retired": N_("retired"),
    "gate": N_("gate"),
    # rehearsals
    "rehearsal": N_("rehearsal"),
    "crowd": N_("crowd"),
    "faults": N_("faults"),
    # orders
    "state": N_("state"),
    "parcel": N_("parcel"),
    "left_minor": N_("left to refund, in the smallest unit"),
    "amount_minor": N_("amount in the smallest unit"),
    "restock": N_("back on sale"),
    "purpose": N_("purpose"),
    "why": N_("reason"),
    "mail": N_("mail"),
    "changed": N_("changed"),
    # shop
    "business_name": N_("business name"),
    "business_address": N_("business address"),
    "tax_id": N_("tax number"),
    "contact": N_("contact"),
    "imprint": N_("imprint"),
    "terms": N_("terms"),
    "privacy": N_("privacy"),
    "refunds": N_("refunds"),
    # files
    "drop": N_("drop"),
    "since": N_("since"),
    "until": N_("until"),
    "searched": N_("searched"),
    "file": N_("file"),
    # programs
    "key": N_("key"),
    "scopes": N_("scopes"),
    "webhook": N_("webhook"),
    "kinds": N_("events"),
    "events": N_("events"),
    "url": N_("URL"),
}
VALUES = {  # field -> its values in words
    "door": {"open": N_("open"), "paused": N_("paused"), "closed": N_("closed"), "cancelled": N_("cancelled")},
    "role": {role.value: words for role, (words, _about) in ROLES.items()},
    "state": {state: words for state, (_tone, words) in STATES.items()},
    "parcel": {state: words for state, (_tone, words) in PARCELS.items()},
}
COMMAND_LINE = N_("command line")  # an actor; every other one is an address or the name of a key


@dataclass(frozen=True, slots=True)
class Difference:
    """One value of an entry that changed; None: there was none."""

    name: str
    before: str | None
    after: str | None


@get("/audit", right=Right.SHOP)
async def show_log(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    wanted = {name: call.query(name)[:WORDS_CHARACTERS_MAX] for name in ("actor", "action", "words")}
    entries = await doors.office.ledger.audit_log(
        seller.shop_id, **wanted, before_id=older_than(call), limit=PAGE_ENTRIES + 1
    )  # one more than is shown: whether there is a next page
    actors, actions = await doors.office.ledger.audit_choices(seller.shop_id)
    shown = entries[:PAGE_ENTRIES]
    older = {name: value for name, value in wanted.items() if value} | {"before": shown[-1].id if shown else 0}
    return doors.seller_page(
        call,
        seller,
        "seller/audit.html",
        title=_("Audit log"),
        entries=[(entry, differences(entry)) for entry in shown],
        wanted=wanted,
        actors=actors,
        actions=actions,
        older=f"{PREFIX}/audit?{urlencode(older)}" if len(entries) > PAGE_ENTRIES else None,
        newest=not call.query("before"),
        command_line=COMMAND_LINE,
    )


def older_than(call: Call) -> int | None:
    """-> the cursor of the address; None where there is none, or what stands there is none."""
    text = call.query("before")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 and 0 < int(text) <= ID_MAX else None


def differences(entry: AuditEntry) -> list[Difference]:
    """-> what changed, in the order in which it was written down. Pieces stand beside the names of variants, which are nobody's to
    translate."""
    said = {} if entry.action in ("units added", "units taken away") else FIELDS
    names = dict.fromkeys((*entry.before, *entry.after))
    pairs = ((name, in_words(entry.before, name), in_words(entry.after, name)) for name in names)
    return [Difference(_(said[name]) if name in said else name, before, after) for name, before, after in pairs if before != after]


def in_words(values: Mapping[str, Any], name: str) -> str | None:
    """-> a value as people read it, shortened."""
    if name not in values or values[name] is None:
        return None
    value = values[name]
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, str) and value in VALUES.get(name, ()):
        return _(VALUES[name][value])
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    elif isinstance(value, dict):
        value = ", ".join(f"{key}: {one}" for key, one in value.items())
    text = str(value)
    return text if len(text) <= VALUE_CHARACTERS_MAX else text[: VALUE_CHARACTERS_MAX - 1] + "…"


ROUTES = [show_log]
