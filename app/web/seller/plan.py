"""Planning a drop: drafts, their preview, the step that makes a drop of one, and what may still be said differently afterwards.

Guarantees: a save writes what was typed, right or wrong, and says beside each field what is wrong; only publishing insists. A form
that was made of an older version writes nothing: both versions are shown, and the seller chooses. A draft becomes a drop once. What
a published drop promised (price, pieces, opening, rules) is in no form here; plan_changes.py has the few actions that touch it.
Pictures are taken in by app/web/picture_intake.py; the upload goes past the guard's bound for forms, and no further.

The ledger gone: 503, and what was typed still stands in the browser.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from litestar import Request, Response, get, post
from litestar.datastructures import UploadFile
from litestar.params import FromPath

from app import clock
from app.domain.drops import PICTURES_MAX, Drop, Phase
from app.domain.money import current_currencies
from app.domain.papers import missing_pages
from app.domain.plan import Checked, Plan, checked, checked_words, copied, plan_of
from app.domain.roles import Right
from app.domain.schedule import Moment, moment_of, typed_in, zones
from app.errors import BadInput, NotFound
from app.languages import N_, _
from app.ledger import Seller
from app.ledger.plan import Draft
from app.purchase.planning import Incomplete, Stale, edit_words, own_drop, publish_draft
from app.web.address_fields import countries_in
from app.web.call import CONTROL, Call
from app.web.doors import Doors, TheseDoors, ThisCall, document, redirect
from app.web.guard import UPLOAD_BYTES_MAX
from app.web.picture_intake import put_up
from app.web.problems import Problem, Refused
from app.web.render import Scene, thumbnail
from app.web.seller.access import ThisSeller
from app.web.seller.confirm import ask_first, is_sure
from app.web.seller.plan_form import (
    SERVED,
    WAITLISTS,
    Form,
    differences,
    fee_country,
    form_of,
    hidden_fields,
    plan_from,
    rearranged,
    version_from,
    with_pictures,
)
from app.web.seller.plan_preview import PHASES, drop_of, scene_at, scene_in, visitor

FILES_MAX = PICTURES_MAX  # of one upload
SAVE, PREVIEW, PUBLISH, UPLOAD = "save", "preview", "publish", "picture-upload"
TAKEN = N_("Another drop has this address. Choose another one.")
NO_FILE = N_("Choose a file first.")
STALE_SENTENCE = N_("Somebody saved another version meanwhile. Nothing was overwritten; read it again.")


# ---- drafts


@get("/drafts", right=Right.PLAN)
async def list_drafts(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    drafts = await doors.office.ledger.drafts(seller.shop_id)
    return doors.seller_page(
        call, seller, "seller/drafts.html", title=_("Drafts"), drafts=[(draft, status_of(draft)) for draft in drafts]
    )


def status_of(draft: Draft) -> Checked:
    return checked(draft.plan, clock.now())


@post("/drafts", status_code=201, right=Right.PLAN)
async def add_draft(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    """A new draft: empty, or like the `draft` or the `drop` that the form names."""
    plan = await model_of(call.fields(), doors, seller)
    draft_id = await doors.office.ledger.add_draft(seller.shop_id, plan, seller.actor)
    await doors.office.ledger.audit(seller.shop_id, seller.actor, "draft made", plan.title, None, {"draft": draft_id})
    if call.wants_json:
        return document({"draft": draft_id}, status=201)
    return redirect(call, f"/seller/drafts/{draft_id}")


async def model_of(fields: Mapping[str, Any], doors: Doors, seller: Seller) -> Plan:
    """-> what a new draft begins with. NotFound for a draft or a drop that is not this shop's."""
    if fields.get("draft"):
        return copied((await own_draft(doors, seller, number_in(fields["draft"]))).plan)
    if fields.get("drop"):
        return copied(plan_of(await own_drop(doors.office.ledger, seller.shop_id, number_in(fields["drop"]))))
    return Plan(time_zone=seller.time_zone)


@get("/drafts/{draft_id:int}", right=Right.PLAN)
async def show_draft(draft_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    draft = await own_draft(doors, seller, draft_id)
    if draft.drop_id is not None:
        return redirect(call, f"/seller/drops/{draft.drop_id}/edit")
    found = status_of(draft) if draft.version > 1 else None
    return draft_page(
        call, doors, seller, draft, form_of(draft.plan, draft.version, checked=found), saved=bool(call.query("saved"))
    )


@post("/drafts/{draft_id:int}", status_code=200, right=Right.PLAN)
async def save_draft(draft_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    """Save what was typed, or change the form that comes back (`do`)."""
    draft = await own_draft(doors, seller, draft_id)
    fields = call.fields()
    plan, version, do = plan_from(fields, draft.plan), version_from(fields), str(fields.get("do", SAVE))
    changed = rearranged(plan, do)
    if changed is not None:
        return draft_page(call, doors, seller, draft, form_of(changed, version, unsaved=True), at=do)
    if draft.drop_id is not None:
        return redirect(call, f"/seller/drops/{draft.drop_id}/edit")
    if not await doors.office.ledger.save_draft(seller.shop_id, draft_id, version, plan, seller.actor):
        return await stale_draft(call, doors, seller, draft_id, plan)
    if call.wants_json:
        return document({"draft": draft_id, "version": version + 1, "problems": checked(plan, clock.now()).problems})
    after = {PREVIEW: "/preview", PUBLISH: "/publish"}.get(do, "?saved=1")
    return redirect(call, f"/seller/drafts/{draft_id}{after}")


async def stale_draft(call: Call, doors: Doors, seller: Seller, draft_id: int, mine: Plan) -> Response:
    """Both versions, and the choice."""
    theirs = await own_draft(doors, seller, draft_id)
    if theirs.drop_id is not None:
        return redirect(call, f"/seller/drops/{theirs.drop_id}/edit")
    return stale_page(
        call, doors, seller, mine, theirs.plan, theirs.version, theirs.updated_by, theirs.updated_at, f"/seller/drafts/{draft_id}"
    )


@get("/drafts/{draft_id:int}/preview", right=Right.PLAN)
async def preview_draft(draft_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    draft = await own_draft(doors, seller, draft_id)
    law = (await doors.office.ledger.papers(seller.shop_id)).papers.pages
    drop = drop_of(draft.plan, seller.shop_id, seller.shop_name, law)
    return preview_page(call, doors, drop, back=f"/seller/drafts/{draft_id}")


@get("/drafts/{draft_id:int}/publish", right=Right.SELL)
async def ask_to_publish(draft_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    return await publish_page(call, doors, seller, await own_draft(doors, seller, draft_id))


@post("/drafts/{draft_id:int}/publish", status_code=201, right=Right.SELL)
async def publish(draft_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    draft, version = await own_draft(doors, seller, draft_id), version_from(call.fields())
    if not is_sure(call):
        return redirect(call, f"/seller/drafts/{draft_id}/publish")
    try:
        drop = await publish_draft(doors.office, seller.shop_id, draft_id, version, seller.actor)
    except Stale:
        draft = await own_draft(doors, seller, draft_id)
        return await publish_page(call, doors, seller, draft, status=409, said=_(STALE_SENTENCE))
    except BadInput as error:
        if call.wants_json:
            raise
        problems = error.problems if isinstance(error, Incomplete) else {error.field or "": words_of(error)}
        return await publish_page(call, doors, seller, draft, status=422, problems=problems)
    if call.wants_json:
        return document({"drop": drop.id, "slug": drop.slug}, status=201)
    return redirect(call, f"/seller/drops/{drop.id}/edit?published=1")


@post("/drafts/{draft_id:int}/delete", status_code=200, right=Right.PLAN)
async def delete_draft(draft_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    draft, version = await own_draft(doors, seller, draft_id), version_from(call.fields())
    if not is_sure(call):
        title = _("Delete the draft “%(title)s”?", title=draft.plan.title or _("Untitled"))
        never = [_("What was typed is gone for good. Published drops stay; pictures that nothing else shows go after a week.")]
        return ask_first(call, doors, seller, title=title, consequences=never, verb=_("Delete"), back="/seller/drafts")
    if not await doors.office.ledger.delete_draft(seller.shop_id, draft_id, version, seller.actor):
        raise Refused(Problem(409, STALE_SENTENCE))
    return document({"deleted": True}) if call.wants_json else redirect(call, "/seller/drafts")


# ---- the words of a published drop


@get("/drops/{drop_id:int}/edit", right=Right.PLAN)
async def show_drop(drop_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    drop = await own_drop(doors.office.ledger, seller.shop_id, drop_id)
    form = form_of(plan_of(drop, drop.slug), drop.version)
    return drop_page(call, doors, seller, drop, form, saved=bool(call.query("saved")), published=bool(call.query("published")))


@post("/drops/{drop_id:int}/edit", status_code=200, right=Right.PLAN)
async def edit_drop(drop_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    """Title, description, pictures, countries: in the version that was seen, or not at all."""
    drop, fields = await own_drop(doors.office.ledger, seller.shop_id, drop_id), call.fields()
    plan, version, do = words_from(fields, drop), version_from(fields), str(fields.get("do", SAVE))
    changed = rearranged(plan, do) if do.startswith("picture-") else None
    if changed is not None:
        return drop_page(call, doors, seller, drop, form_of(changed, version, unsaved=True), at=do)
    try:
        after = await edit_words(doors.office, seller.shop_id, drop_id, version, plan, seller.actor)
    except Stale:
        theirs = await own_drop(doors.office.ledger, seller.shop_id, drop_id)
        changed_by, at = theirs.updated_by or "", theirs.updated_at or clock.now()
        url = f"/seller/drops/{drop_id}/edit"
        return stale_page(call, doors, seller, plan, plan_of(theirs, theirs.slug), theirs.version, changed_by, at, url)
    except BadInput as error:
        if call.wants_json:
            raise
        more = {} if isinstance(error, Incomplete) else {error.field or "": words_of(error)}
        form = form_of(plan, version, checked=checked_words(plan), unsaved=True, more=more)
        return drop_page(call, doors, seller, drop, form, status=422)
    if call.wants_json:
        return document({"drop": drop_id, "version": after.version})
    return redirect(call, f"/seller/drops/{drop_id}/edit?saved=1")


@get("/drops/{drop_id:int}/preview", right=Right.PLAN)
async def preview_drop(drop_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    drop = await own_drop(doors.office.ledger, seller.shop_id, drop_id)
    return preview_page(call, doors, drop, back=f"/seller/drops/{drop_id}/edit")


def words_from(fields: Mapping[str, Any], drop: Drop) -> Plan:
    """-> the drop as a plan with what the form may change, and nothing else of the form."""
    allowed = ("title", "description", "has_countries", "served", "has_pictures")
    own = {name: value for name, value in fields.items() if name in allowed or name.startswith(("country-", "picture-"))}
    return plan_from(own, plan_of(drop, drop.slug))


# ---- pictures


@post("/pictures", status_code=201, right=Right.PLAN, request_max_body_size=UPLOAD_BYTES_MAX)
async def upload(request: Request, call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    """Take pictures in. JSON: what became of the one file. A plain form: the form it came from, with them in it, unsaved."""
    fields, files = await parts_of(request)
    taken, problem = [], "" if files else _(NO_FILE)
    try:
        for file in files:
            taken.append(await put_up(doors.office.ledger, seller.shop_id, doors.intake, file))
    except BadInput as error:
        if call.wants_json:
            raise
        problem = words_of(error)
    if taken:
        hashes = [picture.hash for picture in taken]
        await doors.office.ledger.audit(seller.shop_id, seller.actor, "pictures put up", "", None, {"pictures": hashes})
    if call.wants_json:
        if not taken:
            raise BadInput(NO_FILE, field="file")
        one = taken[0]
        return document({"hash": one.hash, "width": one.width, "height": one.height, "thumbnail": thumbnail(one.hash)}, status=201)
    return await form_again(call, doors, seller, fields, [picture.hash for picture in taken], problem)


async def form_again(
    call: Call, doors: Doors, seller: Seller, fields: Mapping[str, str], hashes: list[str], problem: str
) -> Response:
    """The form that an upload came from, with everything that was typed in it."""
    more = {"pictures": problem} if problem else {}
    version, status = version_from(fields), 422 if problem else 200
    if fields.get("drop"):
        drop = await own_drop(doors.office.ledger, seller.shop_id, number_in(fields["drop"]))
        form = form_of(with_pictures(words_from(fields, drop), hashes), version, unsaved=True, more=more)
        return drop_page(call, doors, seller, drop, form, status=status, at=UPLOAD)
    if not fields.get("draft"):
        raise BadInput(problem or NO_FILE, field="file")
    draft = await own_draft(doors, seller, number_in(fields["draft"]))
    form = form_of(with_pictures(plan_from(fields, draft.plan), hashes), version, unsaved=True, more=more)
    return draft_page(call, doors, seller, draft, form, status=status, at=UPLOAD)


async def parts_of(request: Request) -> tuple[dict[str, str], list[bytes]]:
    """-> (fields, files) of a multipart form; BadInput for what no form of ours has."""
    fields: dict[str, str] = {}
    files: list[bytes] = []
    try:
        form = await request.form()
    except (UnicodeError, LookupError) as error:  # of a field, in the encoding that it names
        raise BadInput("a field of the form is no text") from error
    for name, value in form.multi_items():
        if isinstance(value, UploadFile):
            content = await value.read()
            if content and len(files) < FILES_MAX:
                files.append(content)
        elif isinstance(value, str):
            if name in fields or not CONTROL.isdisjoint(value):
                raise BadInput("a field of the form was given twice, or holds control characters", field=name[:80])
            fields[name] = value
    return fields, files


# ---- pages


def draft_page(
    call: Call, doors: Doors, seller: Seller, draft: Draft, form: Form, *, status: int = 200, saved: bool = False, at: str = ""
) -> Response:
    return doors.seller_page(
        call,
        seller,
        "seller/draft.html",
        title=draft.plan.title or _("New drop"),
        status=status,
        draft=draft,
        saved=saved,
        **fields_context(call, form, at, f"/seller/drafts/{draft.id}"),
        zones=zones(),
        currencies=sorted(current_currencies()),
        waitlists=WAITLISTS,
    )


def drop_page(
    call: Call,
    doors: Doors,
    seller: Seller,
    drop: Drop,
    form: Form,
    *,
    status: int = 200,
    saved: bool = False,
    published: bool = False,
    at: str = "",
) -> Response:
    return doors.seller_page(
        call,
        seller,
        "seller/drop_words.html",
        title=drop.title,
        status=status,
        drop=drop,
        saved=saved,
        published=published,
        opens=typed_in(drop.opens_at, drop.time_zone)[0].replace("T", " "),
        fees=fees_said(drop),
        **fields_context(call, form, at, f"/seller/drops/{drop.id}/edit"),
    )


def fields_context(call: Call, form: Form, at: str, action: str) -> dict[str, Any]:
    """What the fields that drafts and drops share need. `at`: the button that changed the form."""
    return {
        "form": form,
        "action": action,
        "at": at,
        "countries": countries_in(call.language),
        "served": SERVED,
        "pictures_max": PICTURES_MAX,
    }


async def publish_page(
    call: Call,
    doors: Doors,
    seller: Seller,
    draft: Draft,
    *,
    status: int = 200,
    problems: Mapping[str, str] | None = None,
    said: str = "",
) -> Response:
    """The summary of what is about to become a promise."""
    if draft.drop_id is not None:
        return redirect(call, f"/seller/drops/{draft.drop_id}/edit")
    found = status_of(draft)
    if problems is None:
        problems = found.problems
    law = (await doors.office.ledger.papers(seller.shop_id)).papers.pages
    drop = None if problems else drop_of(draft.plan, seller.shop_id, seller.shop_name, law)
    title = _("Publish “%(title)s”?", title=draft.plan.title or _("Untitled"))
    opens = draft.plan.opens.replace("T", " ")
    return doors.seller_page(
        call, seller, "seller/publish.html", title=title, status=status, draft=draft, drop=drop, problems=problems, said=said,
        opens=opens, fees=fees_said(drop), missing=[_(name) for name in missing_pages(law)],
    )  # fmt: skip


def stale_page(
    call: Call, doors: Doors, seller: Seller, mine: Plan, theirs: Plan, version: int, by: str, at: datetime, url: str
) -> Response:
    """Somebody was faster: both versions and two buttons. `url`: where mine is sent if it is to count."""
    if call.wants_json:
        raise Refused(Problem(409, STALE_SENTENCE, more={"version": version}))
    return doors.seller_page(
        call,
        seller,
        "seller/stale.html",
        title=_("Somebody saved another version meanwhile"),
        status=409,
        rows=differences(mine, theirs),
        kept=hidden_fields(mine) | {"version": str(version)},
        by=by,
        at=at,
        url=url,
    )


def preview_page(call: Call, doors: Doors, drop: Drop, back: str) -> Response:
    """The shop's own page of a drop that is not on sale, at the moment or in the phase that the address names."""
    scene, typed, problem = chosen_scene(call, drop)
    return doors.page(
        call,
        "seller/preview.html",
        headers={"cache-control": "no-store"},
        drop=drop,
        scene=scene,
        mine=visitor(drop),
        back=back,
        phases=PHASES,
        at=typed,
        problem=problem,
    )


def chosen_scene(call: Call, drop: Drop) -> tuple[Scene, str, str]:
    """-> (scene, the time that was typed, what is wrong with it)."""
    typed, phase = call.query("at"), call.query("phase")
    if typed:
        moment = moment_of(typed, drop.time_zone, call.query("which") or "earlier")
        if isinstance(moment, Moment):
            return scene_at(drop, moment.at), typed, ""
        return scene_in(drop, Phase.ANNOUNCED), typed, _("There is no such time in %(zone)s.", zone=drop.time_zone)
    wanted = Phase(phase) if phase in set(PHASES) else Phase.ANNOUNCED
    scene = scene_in(drop, wanted)
    return scene, typed_in(scene.server_time, drop.time_zone)[0], ""


# ---- what they share


def fees_said(drop: Drop | None) -> list[tuple[str, int]]:
    """-> what sending costs, a country a line, by its name; none for a drop that is sent free of charge."""
    return [(fee_country(country), fee) for country, fee in ((drop.shipping_fees if drop else None) or {}).items()]


async def own_draft(doors: Doors, seller: Seller, draft_id: int) -> Draft:
    draft = await doors.office.ledger.draft(seller.shop_id, draft_id)
    if draft is None:
        raise NotFound("draft")
    return draft


def number_in(text: object) -> int:
    """-> the id in a field; NotFound for anything that is none."""
    if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 11:
        return int(text)
    raise NotFound("id")


def words_of(error: BadInput) -> str:
    return _(TAKEN) if error.field == "slug" else _(str(error))


ROUTES = [
    list_drafts,
    add_draft,
    show_draft,
    save_draft,
    preview_draft,
    ask_to_publish,
    publish,
    delete_draft,
    show_drop,
    edit_drop,
    preview_drop,
    upload,
]
