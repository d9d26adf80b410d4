"""Drafts and the pictures in them: planned, changed by version, copied, published, with the verbs that the dashboard calls."""

from app.domain.plan import Plan, copied, plan_of
from app.domain.scopes import Scope
from app.languages import N_
from app.ledger.plan import Draft
from app.purchase import planning
from app.web.api import shapes
from app.web.api.drops import drop_of, drop_told
from app.web.api.operation import Ask, changed_meanwhile, operation
from app.web.api.plans import draft_told, line_told, plan_with, said_in
from app.web.picture_intake import put_up
from app.web.problems import Problem, Refused
from app.web.seller.plan import own_draft

PUBLISHED = N_("This draft is a drop already: change that.")


@operation("GET", "/drafts", scope=Scope.READ, title="List drafts", answer=shapes.Drafts)
async def list_drafts(ask: Ask) -> shapes.Drafts:
    """What is not published yet, the last one touched first. There are at most 200, on one page."""
    return shapes.Drafts(items=[line_told(draft) for draft in await ask.doors.office.ledger.drafts(ask.key.shop_id)], next=None)


@operation("GET", "/drafts/{draft_id:int}", scope=Scope.READ, title="Get a draft", answer=shapes.Draft)
async def get_draft(ask: Ask) -> shapes.Draft:
    """One draft, whole, with what is in the way of publishing it."""
    return draft_told(await draft_of(ask))


@operation("POST", "/drafts", scope=Scope.DROPS, title="Create a draft", body=shapes.NewDraft, answer=shapes.Draft, status=201)
async def create_draft(ask: Ask) -> shapes.Draft:
    """Plan a drop. Nothing is on sale before the draft is published; the dashboard shows, previews and changes it too."""
    return await made(ask, plan_with(Plan(), said_in(ask.body, ask.key.time_zone)))


@operation(
    "PATCH", "/drafts/{draft_id:int}", scope=Scope.DROPS, title="Change a draft", body=shapes.DraftChange, answer=shapes.Draft
)
async def change_draft(ask: Ask) -> shapes.Draft:
    """Say some of it differently, in the version that was read. If somebody saved meanwhile, nothing is overwritten: 409 names the
    version that stands there now. A time keeps its moment when only the time zone changes."""
    draft, ledger, key = await draft_of(ask), ask.doors.office.ledger, ask.key
    plan = plan_with(draft.plan, said_in(ask.body, key.time_zone))
    if draft.drop_id is not None or not await ledger.save_draft(key.shop_id, draft.id, ask.body.version, plan, key.actor):
        raise await older(ask)
    return draft_told(await draft_of(ask))


@operation("DELETE", "/drafts/{draft_id:int}", scope=Scope.DROPS, title="Delete a draft", query=shapes.SeenDraft, answer=None)
async def delete_draft(ask: Ask) -> None:
    """Gone for good, if it still is what was read. Published drops stay; pictures that nothing else shows go after a week."""
    draft, key = await draft_of(ask), ask.key
    if not await ask.doors.office.ledger.delete_draft(key.shop_id, draft.id, ask.query.version, key.actor):
        raise await older(ask)


@operation("POST", "/drafts/{draft_id:int}/duplicate", scope=Scope.DROPS, title="Copy a draft", answer=shapes.Draft, status=201)
async def duplicate_draft(ask: Ask) -> shapes.Draft:
    """Another draft like this one, without its address and times: those are each drop's own."""
    return await made(ask, copied((await draft_of(ask)).plan))


@operation("POST", "/drops/{drop_id:int}/duplicate", scope=Scope.DROPS, title="Plan a drop again", answer=shapes.Draft, status=201)
async def duplicate_drop(ask: Ask) -> shapes.Draft:
    """A draft like this drop, without its address and times: those are each drop's own."""
    return await made(ask, copied(plan_of(await drop_of(ask))))


@operation(
    "POST",
    "/drafts/{draft_id:int}/publish",
    scope=Scope.DROPS,
    title="Publish a draft",
    body=shapes.Publication,
    answer=shapes.Drop,
    status=201,
)
async def publish_draft(ask: Ask) -> shapes.Drop:
    """The draft, in the version that was read, becomes a drop: price, opening and pieces are promised from then on."""
    office, key, draft_id = ask.doors.office, ask.key, ask.path["draft_id"]
    try:
        return drop_told(ask, await planning.publish_draft(office, key.shop_id, draft_id, ask.body.version, key.actor))
    except planning.Stale as error:
        raise await older(ask) from error


@operation("POST", "/pictures", scope=Scope.DROPS, title="Put up a picture", body=bytes, answer=shapes.PutUpPicture, status=201)
async def put_up_picture(ask: Ask) -> shapes.PutUpPicture:
    """The file as the body: JPEG, PNG, WebP or AVIF, 10 MB and 40 megapixels at most. It is made anew from its pixels, so that no
    metadata is passed on; its hash is what drafts and drops name it by."""
    ledger, key = ask.doors.office.ledger, ask.key
    taken = await put_up(ledger, key.shop_id, ask.doors.intake, ask.body)
    await ledger.audit(key.shop_id, key.actor, "pictures put up", "", None, {"pictures": [taken.hash]})
    url = f"{ask.doors.settings.public_url}/pictures/{taken.hash}"
    return shapes.PutUpPicture(hash=taken.hash, width=taken.width, height=taken.height, url=url)


# ---- what they share


async def draft_of(ask: Ask) -> Draft:
    return await own_draft(ask.doors, ask.key, ask.path["draft_id"])


async def made(ask: Ask, plan: Plan) -> shapes.Draft:
    """Keep a new draft -> it."""
    ledger, key = ask.doors.office.ledger, ask.key
    draft_id = await ledger.add_draft(key.shop_id, plan, key.actor)
    await ledger.audit(key.shop_id, key.actor, "draft made", plan.title, None, {"draft": draft_id})
    return draft_told(await own_draft(ask.doors, key, draft_id))


async def older(ask: Ask) -> Refused:
    """-> why nothing was done about this version of a draft. NotFound: somebody deleted it meanwhile."""
    stands = await draft_of(ask)
    if stands.drop_id is not None:
        return Refused(Problem(409, PUBLISHED, more={"drop_id": stands.drop_id}))
    return changed_meanwhile(version=stands.version)


OPERATIONS = [
    list_drafts,
    get_draft,
    create_draft,
    change_draft,
    delete_draft,
    duplicate_draft,
    duplicate_drop,
    publish_draft,
    put_up_picture,
]
