"""What touches a promise that a published drop made: more pieces, fewer of those unsold, a later opening, the end of it all.

Each is an action of its own with its own question, is written to the audit log with what was before and after, and changes nothing
when it is repeated: units carry the id of the wish, a postponement the version that was seen, a cancellation is one word.
Cancelling writes that word; the sweeper ends the holds and gives the money back, and the page says how far it is.

The gate gone: the ledger has the change and the gate follows. The ledger gone: 503, nothing happened.
"""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from litestar import Response, get, post
from litestar.params import FromPath

from app import clock
from app.domain.drops import UNITS_MAX, Door, Drop, Variant
from app.domain.plan import NO_UNITS_ANY_MORE, POSTPONE_SECONDS_MIN, Plan, checked_times, refuse_postponing
from app.domain.roles import Right
from app.domain.schedule import typed_in, zone_named
from app.errors import BadInput
from app.languages import N_, _, count, in_zone, ngettext, when
from app.ledger import Cancelling, Seller
from app.purchase.planning import Stale, change_units, move_door, own_drop, postpone
from app.purchase.refunding import progress
from app.web.call import Call
from app.web.doors import Doors, TheseDoors, ThisCall, document, redirect
from app.web.problems import Problem, Refused
from app.web.seller.access import ThisSeller
from app.web.seller.confirm import ask_first, is_sure
from app.web.seller.plan_form import version_from

OP_CHARACTERS = 36
SAID = {
    "units": N_("Done. Every page shows the new number."),
    "postponed": N_("Postponed. Everybody concerned gets a mail."),
}
STALE = N_("Somebody changed this drop meanwhile. Read it again before you postpone it.")
TOO_MANY = N_("Say how many: a whole number from 1 to %(most)s.")


@get("/drops/{drop_id:int}/change", right=Right.SELL)
async def show_changes(drop_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    drop = await own_drop(doors.office.ledger, seller.shop_id, drop_id)
    return await changes_page(call, doors, seller, drop, said=_(SAID.get(call.query("said"), "")))


@post("/drops/{drop_id:int}/units", status_code=200, right=Right.SELL)
async def units(drop_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    """Release more pieces of a variant, or take unsold ones off sale. `back`: the page whose form it was."""
    drop, fields = await own_drop(doors.office.ledger, seller.shop_id, drop_id), call.fields()
    back = f"/seller/drops/{drop_id}/{'live' if fields.get('back') == 'live' else 'change'}"
    try:
        variant, wanted, op_id = wished(fields, drop)
        if not is_sure(call):
            if drop.over(clock.now()):  # said before anybody is asked
                raise BadInput(NO_UNITS_ANY_MORE, field="units")
            return ask_first(
                call, doors, seller, title=question(wanted, variant.name), consequences=[consequence(wanted)],
                verb=_("Release them") if wanted > 0 else _("Take them off sale"), back=back,
            )  # fmt: skip
        after = await change_units(doors.office, seller.shop_id, drop_id, variant.id, wanted, op_id, seller.actor)
    except BadInput as error:
        if call.wants_json:
            raise
        drop = await own_drop(doors.office.ledger, seller.shop_id, drop_id)
        return await changes_page(call, doors, seller, drop, status=422, problems={"units": _(str(error))}, typed=fields)
    doors.watch.forget(drop_id)
    if call.wants_json:
        return document({"drop": drop_id, "total": after.units_total})
    return redirect(call, f"{back}?said=units")


@post("/drops/{drop_id:int}/postpone", status_code=200, right=Right.SELL)
async def postpone_drop(drop_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    drop, fields = await own_drop(doors.office.ledger, seller.shop_id, drop_id), call.fields()
    times = times_from(fields, drop)
    found = checked_times(times, clock.now())
    if found.complete:
        opens_at, closes_at = found.values["opens_at"], found.values["closes_at"]
        why_not = refuse_postponing(drop, opens_at, closes_at, clock.now())
        if why_not:  # said before anybody is asked whether they are sure
            found.problems["opens"] = _(why_not)
    if found.complete:
        if not is_sure(call):
            told = await doors.office.ledger.told_of_opening(drop_id)
            return ask_first(
                call, doors, seller, title=_("Postpone “%(title)s”?", title=drop.title), verb=_("Postpone"),
                consequences=later_opening(drop, opens_at, told),
                back=f"/seller/drops/{drop_id}/change",
            )  # fmt: skip
        try:
            told = await postpone(doors.office, seller.shop_id, drop_id, version_from(fields), opens_at, closes_at, seller.actor)
        except Stale as error:
            if call.wants_json:
                raise Refused(Problem(409, STALE)) from error
            drop = await own_drop(doors.office.ledger, seller.shop_id, drop_id)
            return await changes_page(call, doors, seller, drop, status=409, problems={"opens": _(STALE)}, typed=fields)
        except BadInput as error:
            found.problems[error.field or "opens"] = _(str(error))
        else:
            await doors.jobs.deliver()
            if call.wants_json:
                return document({"drop": drop_id, "told": told})
            return redirect(call, f"/seller/drops/{drop_id}/change?said=postponed")
    if call.wants_json:
        field, sentence = next(iter(found.problems.items()))
        raise BadInput(sentence, field=field)
    return await changes_page(call, doors, seller, drop, status=422, problems=found.problems, typed=fields, asked=found.asked)


@post("/drops/{drop_id:int}/cancel", status_code=200, right=Right.SELL)
async def cancel(drop_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    drop = await own_drop(doors.office.ledger, seller.shop_id, drop_id)
    if not is_sure(call):
        far = await progress(doors.office.ledger, drop_id)
        return ask_first(
            call, doors, seller, title=_("Cancel “%(title)s” for good?", title=drop.title), verb=_("Cancel the drop"),
            consequences=[
                _("Nothing more is sold, the list is closed, every hold ends."),
                *money_back(far),
                _("It cannot be undone."),
            ],
            back=f"/seller/drops/{drop_id}/change",
        )  # fmt: skip
    await move_door(doors.office, seller.shop_id, drop_id, Door.CANCELLED, seller.actor)
    if call.wants_json:
        return document({"drop": drop_id, "door": Door.CANCELLED.value})
    return redirect(call, f"/seller/drops/{drop_id}/cancelling")


@get("/drops/{drop_id:int}/cancelling", right=Right.VIEW)
async def show_cancelling(drop_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    """How far the cancellation is; the page asks again by itself until nothing moves."""
    drop = await own_drop(doors.office.ledger, seller.shop_id, drop_id)
    far = await progress(doors.office.ledger, drop_id)
    if call.wants_json:
        return document({"drop": drop_id, "door": drop.door.value, **as_document(far)})
    if drop.door is not Door.CANCELLED:
        return redirect(call, f"/seller/drops/{drop_id}/change")
    return doors.seller_page(
        call, seller, "seller/cancelling.html", title=_("Cancelling “%(title)s”", title=drop.title), drop=drop, far=far
    )


async def changes_page(
    call: Call,
    doors: Doors,
    seller: Seller,
    drop: Drop,
    *,
    status: int = 200,
    said: str = "",
    problems: dict[str, str] | None = None,
    typed: dict[str, Any] | None = None,
    asked: dict[str, Any] | None = None,
) -> Response:
    opens, closes = drop.opens_at + timedelta(days=1), drop.closes_at and drop.closes_at + timedelta(days=1)
    shown = {"units": "", "variant": "", "opens": typed_in(opens, drop.time_zone)[0]}
    shown |= {"closes": typed_in(closes, drop.time_zone)[0] if closes else ""}
    shown |= {name: value for name, value in (typed or {}).items() if isinstance(value, str)}
    over = drop.over(clock.now())
    return doors.seller_page(
        call,
        seller,
        "seller/changes.html",
        title=_("Change “%(title)s”", title=drop.title),
        status=status,
        drop=drop,
        said=said,
        problems=problems or {},
        typed=shown,
        asked=asked or {},
        unsold=await doors.office.ledger.unsold_units(seller.shop_id, drop.id),
        op=str(uuid4()),
        opens=said_in(drop.opens_at, drop),
        may_postpone=not over and (drop.opens_at - clock.now()).total_seconds() >= POSTPONE_SECONDS_MIN,
        over=over,
    )


def wished(fields: dict[str, Any], drop: Drop) -> tuple[Variant, int, UUID]:
    """-> (variant, units: negative to take away, the id of the wish). BadInput.

    How many is never negative in the form: `direction` says which way.
    """
    number = fields.get("units", "")
    text = str(number).strip() if isinstance(number, str | int) and not isinstance(number, bool) else ""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(UNITS_MAX)) else 0
    if not 1 <= number <= UNITS_MAX:
        raise BadInput(_(TOO_MANY, most=count(UNITS_MAX)), field="units")
    direction = fields.get("direction", "more")
    if direction not in ("more", "less"):
        raise BadInput(N_("Say whether pieces are released or taken away."), field="direction")
    chosen = fields.get("variant", drop.variants[0].id if len(drop.variants) == 1 else "")
    variant = next((one for one in drop.variants if str(one.id) == str(chosen)), None)
    if variant is None:
        raise BadInput(N_("Choose one of the variants."), field="variant")
    return variant, -number if direction == "less" else number, wish_named(fields.get("op"))


def wish_named(op: Any) -> UUID:
    """-> the id of the wish, which the form carries so that sending it twice is one change; a new one where nothing was sent."""
    if op is None:
        return uuid4()
    try:
        if not isinstance(op, str) or len(op) != OP_CHARACTERS:
            raise ValueError
        return UUID(op)
    except ValueError as error:
        raise BadInput(N_("This form is damaged. Load the page again."), field="op") from error


def money_back(far: Cancelling) -> list[str]:
    if not far.to_refund:
        return []
    return [
        ngettext(
            "All the money of %(num)s order goes back, and its buyer gets a mail.",
            "All the money of %(num)s orders goes back, and their buyers get a mail.",
            far.to_refund,
        )
    ]


def later_opening(drop: Drop, opens_at: datetime, told: int) -> list[str]:
    return [
        _("The door opens at %(time)s, not at %(before)s.", time=said_in(opens_at, drop), before=said_in(drop.opens_at, drop)),
        ngettext("%(num)s person who asked or waits gets a mail.", "%(num)s people who asked or wait get a mail.", told),
    ]


def times_from(fields: dict[str, Any], drop: Drop) -> Plan:
    """-> a plan that says nothing but when."""

    def text(name: str) -> str:
        return fields[name] if isinstance(fields.get(name), str) else ""

    names = ("opens", "opens_which", "closes", "closes_which")
    return Plan(time_zone=drop.time_zone, **{name: text(name) for name in names})


def said_in(moment: datetime, drop: Drop) -> str:
    """-> '1 Dec 2026, 20:00 CET (Europe/Berlin)': in the drop's own zone, in which its times are typed."""
    with in_zone(zone_named(drop.time_zone) or UTC):
        told = when(moment)
    return told if drop.time_zone == "UTC" else f"{told} ({drop.time_zone})"


def question(wanted: int, name: str) -> str:
    if wanted > 0:
        return ngettext("Release %(num)s more piece of %(name)s?", "Release %(num)s more pieces of %(name)s?", wanted, name=name)
    return ngettext(
        "Take %(num)s unsold piece of %(name)s off sale?", "Take %(num)s unsold pieces of %(name)s off sale?", -wanted, name=name
    )


def consequence(wanted: int) -> str:
    if wanted > 0:
        return _("Whoever waits on the list is offered them first; every page shows the new number at once.")
    return _("Only pieces that nobody has or holds are taken away; if fewer are left by then, nothing is.")


def as_document(far: Cancelling) -> dict[str, int | bool]:
    return {**asdict(far), "done": far.done}


ROUTES = [show_changes, units, postpone_drop, cancel, show_cancelling]
