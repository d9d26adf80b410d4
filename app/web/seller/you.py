"""One's own account at the dashboard: second factor, passkeys, open sessions, and the shops one works for.

Every question asks for the session's owner: somebody else's session is answered as one that does not exist.
"""

from uuid import UUID, uuid4

from litestar import Response, get, post
from litestar.params import FromPath

from app.domain.roles import Right
from app.errors import NotFound
from app.languages import _
from app.ledger.passkeys import NAME_CHARACTERS_MAX, PASSKEYS_MAX
from app.web.doors import TheseDoors, ThisCall, redirect
from app.web.seller.access import PREFIX, ThisSeller, fresh
from app.web.seller.browsers import named
from app.web.seller.passkey_signing import site_of
from app.web.seller.passkeys import NO_PASSKEYS_HERE
from app.web.seller.people import SIGN_IN
from app.web.seller.staff import ROLES

YOU = f"{PREFIX}/you"


@get("/you", right=Right.VIEW)
async def show_you(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    ledger = doors.office.ledger
    return doors.seller_page(
        call,
        seller,
        "seller/you.html",
        title=_("You"),
        sessions=[(session, named(session.browser)) for session in await ledger.seller_sessions(seller.email)],
        role_names={role: words[0] for role, words in ROLES.items()},
        workplaces=await ledger.staffs(seller.email),
        codes_left=await ledger.recovery_codes_left(seller.email) if seller.second_factor else 0,
        passkeys=await ledger.passkeys(seller.email) if seller.second_factor else [],
        passkeys_max=PASSKEYS_MAX,
        passkey_characters_max=NAME_CHARACTERS_MAX,
        no_passkeys=_(NO_PASSKEYS_HERE) if site_of(doors.settings) is None else None,
        is_fresh=fresh(seller),
    )


@post("/sessions/{session_id:uuid}/end", status_code=200, right=Right.VIEW)
async def end_session(session_id: FromPath[UUID], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    if not await doors.office.ledger.end_seller_session(session_id, seller.email):
        raise NotFound("no such session")
    await doors.office.ledger.audit(seller.shop_id, seller.actor, "session ended", seller.email)
    await doors.sellers.changed()
    if session_id == seller.session_id:
        return redirect(call, SIGN_IN, cookies=[doors.sellers.no_cookie()])
    return redirect(call, YOU)


@post("/sessions/end-others", status_code=200, right=Right.VIEW)
async def end_others(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    ended = await doors.office.ledger.end_other_seller_sessions(seller.session_id, seller.email)
    if ended:
        await doors.office.ledger.audit(
            seller.shop_id, seller.actor, "other sessions ended", seller.email, {"open": len(ended) + 1}, {"open": 1}
        )
        await doors.sellers.changed()
    return redirect(call, YOU)


@post("/shops/{shop_id:int}/enter", status_code=200, right=Right.VIEW)
async def enter_shop(shop_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    fresh_id = uuid4()
    if not await doors.office.ledger.switch_shop(seller.session_id, shop_id, fresh_id):
        raise NotFound("no such shop")
    await doors.sellers.changed()
    return redirect(call, PREFIX, cookies=[doors.sellers.fresh_cookie(fresh_id)])


ROUTES = [show_you, end_session, end_others, enter_shop]
