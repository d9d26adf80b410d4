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

PAGE_ENTRIES = 50
WORDS_CHARACTERS_MAX = 200
ID_MAX = 2**63 - 1
VALUE_CHARACTERS_MAX = 400

# Every action in words for people; a room that writes others adds them here, so that they are said in the reader's language.
ACTIONS = (
    # people
    N_("signed in"),
    N_("signed out"),
    N_("session ended"),
    N_("other sessions ended"),
    N_("second factor set up"),
    N_("second factor removed"),
    N_("recovery code used"),
    N_("recovery codes renewed"),
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
)


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
    )


def older_than(call: Call) -> int | None:
    """-> the cursor of the address; None where there is none, or what stands there is none."""
    text = call.query("before")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 and 0 < int(text) <= ID_MAX else None


def differences(entry: AuditEntry) -> list[Difference]:
    """-> what changed, in the order in which it was written down."""
    names = dict.fromkeys((*entry.before, *entry.after))
    pairs = ((name, in_words(entry.before, name), in_words(entry.after, name)) for name in names)
    return [Difference(name.replace("_", " "), before, after) for name, before, after in pairs if before != after]


def in_words(values: Mapping[str, Any], name: str) -> str | None:
    """-> a value as people read it, shortened."""
    if name not in values or values[name] is None:
        return None
    value = values[name]
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    elif isinstance(value, dict):
        value = ", ".join(f"{key}: {one}" for key, one in value.items())
    text = str(value)
    return text if len(text) <= VALUE_CHARACTERS_MAX else text[: VALUE_CHARACTERS_MAX - 1] + "…"


ROUTES = [show_log]
