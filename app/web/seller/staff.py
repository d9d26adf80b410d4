"""Who works here, and as what: inviting by mail, changing a role, taking somebody off the staff.

A shop never loses its last owner who has signed in; a role is changed only from the one that was on the page. Whoever is removed,
or loses a right, is refused at once here and within SELLER_SECONDS_MAX everywhere, open sockets included.
"""

import html

from litestar import Response, get, post
from litestar.params import FromPath

from app.clock import now
from app.domain import emails
from app.domain.roles import Right, Role
from app.errors import BadInput, NotFound
from app.languages import N_, _, when
from app.ledger import Changed, Invited, Message, Seller, Staff
from app.web.call import Call
from app.web.doors import Doors, TheseDoors, ThisCall, redirect
from app.web.problems import Problem, Refused
from app.web.seller.access import PREFIX, ThisSeller
from app.web.seller.confirm import ask_first, is_sure

STAFF = f"{PREFIX}/staff"
ROLE_CHARACTERS_MAX = 20
ROLES = {
    Role.OWNER: (N_("Owner"), N_("Everything, and who else may do what.")),
    Role.MANAGER: (N_("Manager"), N_("Plans and runs drops, sees orders, gives money back.")),
    Role.SUPPORT: (N_("Support"), N_("Sees orders with names and addresses, sends mails and parcels again.")),
    Role.VIEWER: (N_("Viewer"), N_("Watches drops and reports, without personal data.")),
}
REFUSALS = {
    Invited.ALREADY: N_("This address works here already. Change its role in the list."),
    Invited.TOO_MANY: N_("This shop's staff is as large as it can be."),
    Invited.TOO_OFTEN: N_("Many invitations went out within the hour. Wait a while before the next."),
    Changed.LAST_OWNER: N_("A shop needs an owner who has signed in. Make somebody else an owner first."),
    Changed.STALE: N_("Somebody changed this role meanwhile. Nothing was changed now; look again."),
}


@get("/staff", right=Right.STAFF)
async def show_staff(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    return await staff_page(call, doors, seller)


@post("/staff", status_code=201, right=Right.STAFF)
async def invite(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    typed = call.text_field("email", emails.EMAIL_CHARACTERS_MAX)
    try:
        address, normalised = emails.written(typed), emails.normalise(typed)
    except BadInput as error:
        return await refused(call, doors, seller, str(error), field="email", email=typed)
    role = role_named(call.text_field("role", ROLE_CHARACTERS_MAX))
    mail = invitation(seller, role, address, doors.settings.public_url)
    invited = await doors.office.ledger.invite(seller.shop_id, normalised, address, role, seller.actor, mail)
    if invited is not Invited.INVITED:
        return await refused(call, doors, seller, REFUSALS[invited], field="email", email=typed)
    await doors.jobs.deliver()
    return redirect(call, STAFF)


@post("/staff/{seller_id:int}/role", status_code=200, right=Right.STAFF)
async def change_role(seller_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    await member_or_404(doors, seller, seller_id)
    was, role = (role_named(call.text_field(name, ROLE_CHARACTERS_MAX)) for name in ("was", "role"))
    return await told(
        call, doors, seller, await doors.office.ledger.change_role(seller.shop_id, seller_id, was, role, seller.actor)
    )


@post("/staff/{seller_id:int}/remove", status_code=200, right=Right.STAFF)
async def remove(seller_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    member = await member_or_404(doors, seller, seller_id)
    if not is_sure(call):
        return ask_first(
            call,
            doors,
            seller,
            title=_("Take %(email)s off the staff?", email=member.email_written),
            consequences=[
                _("Their sessions at this shop end at once."),
                _("What they did stays in the audit log. They can be invited again."),
            ],
            verb=_("Remove"),
            back=STAFF,
        )
    return await told(call, doors, seller, await doors.office.ledger.remove_staff(seller.shop_id, seller_id, seller.actor))


async def member_or_404(doors: Doors, seller: Seller, seller_id: int) -> Staff:
    member = await doors.office.ledger.staff_member(seller.shop_id, seller_id)
    if member is None:
        raise NotFound("nobody of this shop")
    return member


async def told(call: Call, doors: Doors, seller: Seller, changed: Changed) -> Response:
    """What became of a change, for whoever made it."""
    if changed is Changed.GONE:
        raise NotFound("nobody of this shop")
    if changed is not Changed.CHANGED:
        return await refused(call, doors, seller, REFUSALS[changed], status=409)
    await doors.sellers.changed()
    return redirect(call, STAFF)


async def refused(
    call: Call, doors: Doors, seller: Seller, problem: str, *, status: int = 422, field: str | None = None, email: str = ""
) -> Response:
    if call.wants_json or call.partial:
        raise Refused(Problem(status, problem, field=field))
    return await staff_page(call, doors, seller, status=status, problem=_(problem), field=field, email=email)


async def staff_page(
    call: Call,
    doors: Doors,
    seller: Seller,
    *,
    status: int = 200,
    problem: str | None = None,
    field: str | None = None,
    email: str = "",
) -> Response:
    return doors.seller_page(
        call,
        seller,
        "seller/staff.html",
        title=_("Staff"),
        status=status,
        members=await doors.office.ledger.staff(seller.shop_id),
        roles=ROLES,
        problem=problem,
        field=field,
        email=email,
    )


def role_named(text: str) -> Role:
    try:
        return Role(text)
    except ValueError as error:
        raise BadInput("there is no such role", field="role") from error


def invitation(seller: Seller, role: Role, address: str, public_url: str) -> Message:
    """The mail to somebody who was put on the staff, in the language of who did it. The ledger fills in what it is about."""
    subject = _("%(shop)s: you are on the staff", shop=seller.shop_name)
    lines = [
        _(
            "%(actor)s put you on the staff of %(shop)s. Your role: %(role)s.",
            actor=seller.email,
            shop=seller.shop_name,
            role=_(ROLES[role][0]),
        ),
        _("Sign in with this address at %(url)s: six digits come by mail, there is no password.", url=f"{public_url}{PREFIX}"),
        _("If that is a mistake, ignore this mail: without signing in nothing happens."),
    ]
    return Message(
        kind="staff_invited",
        subject_id="",
        order_id=None,
        recipient=address,
        subject=subject,
        body_text="\n\n".join(lines) + f"\n\n{when(now())}\n",
        body_html="".join(f"<p>{html.escape(line)}</p>" for line in lines),
    )


ROUTES = [show_staff, invite, change_role, remove]
