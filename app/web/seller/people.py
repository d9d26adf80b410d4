"""Signing in to the dashboard, and out.

By an e-mailed code with the machinery and the limits of the shop's own sign-in (app/web/account.py), but apart from it: the code
counts only in the browser that asked here, and only for an address that works for a shop. Whether it does is never told: every
address gets a mail, the same steps are taken and the answer is the same; the mail to a stranger says that it is unknown here. The
code goes to the address that the shop wrote down, never to a spelling of it that somebody typed.
"""

from uuid import UUID, uuid4

from litestar import Request, Response, get, post

from app.clock import now
from app.domain import emails
from app.domain.roles import Right
from app.errors import BadInput
from app.languages import _, when
from app.ledger import Message
from app.web.account import CODE_CHARACTERS_MAX, CODE_DIGITS, CODE_SECONDS, NEXT_CHARACTERS_MAX, STALE, WRONG, code_hash, new_code
from app.web.call import Call, cookie_named
from app.web.doors import Doors, TheseDoors, ThisCall, document, redirect
from app.web.seller.access import PREFIX, ThisSeller, seller_path
from app.web.seller.browsers import named

SIGN_IN = f"{PREFIX}/sign-in"
SIGN_IN_CODE = f"{PREFIX}/sign-in/code"


@get("/sign-in", public=True)
async def ask_address(call: ThisCall, doors: TheseDoors) -> Response:
    return sign_in_page(call, doors, target=seller_path(call.query("next")))


@post("/sign-in", status_code=202, public=True)
async def send_code(call: ThisCall, doors: TheseDoors) -> Response:
    target = seller_path(call.text_field("next", NEXT_CHARACTERS_MAX))
    typed = call.text_field("email", emails.EMAIL_CHARACTERS_MAX)
    try:
        address, normalised = emails.written(typed), emails.normalise(typed)
    except BadInput as error:
        if call.wants_json or call.partial:
            raise
        return sign_in_page(call, doors, target=target, email=typed, problem=_(str(error)))
    code_id, code = new_code()
    workplaces = await doors.office.ledger.staffs(normalised)
    mailbox = workplaces[0].email_written if workplaces else address
    message = code_message(code_id, code if workplaces else None, mailbox, doors.settings.public_url)
    hashed = code_hash(doors, code_id, code)
    if await doors.office.ledger.ask_code(code_id, normalised, address, hashed, CODE_SECONDS, message):
        await doors.jobs.deliver()
    token = doors.seller_asked_tokens.sign([str(code_id), address, target])
    asked = doors.sellers.cookie(doors.sellers.asked_name, token, CODE_SECONDS)
    if call.wants_json:
        response = document({"next": SIGN_IN_CODE}, status=202)
        response.cookies.append(asked)
        return response
    return redirect(call, SIGN_IN_CODE, cookies=[asked])


@get("/sign-in/code", public=True)
async def ask_code(call: ThisCall, doors: TheseDoors) -> Response:
    asked = asked_by(call, doors)
    if asked is None:
        return redirect(call, SIGN_IN)
    _code_id, address, target = asked
    return code_page(call, doors, email=address, target=target)


@post("/sign-in/code", status_code=200, public=True)
async def try_code(call: ThisCall, doors: TheseDoors, request: Request) -> Response:
    asked = asked_by(call, doors)
    if asked is None:
        return sign_in_page(call, doors, target=PREFIX, problem=refusal(call, STALE))
    code_id, address, target = asked
    code = "".join(character for character in call.text_field("code", CODE_CHARACTERS_MAX) if character not in " -\t\u00a0")
    if len(code) != CODE_DIGITS or not code.isascii() or not code.isdigit():
        wrong = refusal(call, _("A code has %(digits)s digits.", digits=CODE_DIGITS))
        return code_page(call, doors, email=address, target=target, problem=wrong)
    found = await doors.office.ledger.try_code(UUID(code_id), code_hash(doors, code_id, code))
    session_id = uuid4()
    browser = request.headers.get("user-agent", "")
    if found is None or not await doors.office.ledger.open_seller_session(session_id, found[0], browser):
        return code_page(call, doors, email=address, target=target, problem=refusal(call, WRONG))
    seller = await doors.office.ledger.seller_of_session(session_id)
    await doors.office.ledger.audit(seller.shop_id, seller.actor, "signed in", seller.email, None, {"browser": named(browser)})
    cookies = [doors.sellers.fresh_cookie(session_id), doors.sellers.cookie(doors.sellers.asked_name, "", 0)]
    if call.wants_json:
        response = document({"signed_in": True, "next": target})
        response.cookies.extend(cookies)
        return response
    return redirect(call, target, cookies=cookies)


@post("/sign-out", status_code=200, right=Right.VIEW)
async def sign_out(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    await doors.office.ledger.end_seller_session(seller.session_id, seller.email)
    await doors.office.ledger.audit(seller.shop_id, seller.actor, "signed out", seller.email)
    await doors.sellers.changed()
    return redirect(call, SIGN_IN, cookies=[doors.sellers.no_cookie()])


def sign_in_page(call: Call, doors: Doors, *, target: str, email: str = "", problem: str | None = None) -> Response:
    return doors.seller_page(
        call,
        None,
        "seller/sign_in.html",
        title=_("Sign in"),
        status=422 if problem else 200,
        next=target,
        email=email,
        problem=problem,
    )


def code_page(call: Call, doors: Doors, *, target: str, email: str, problem: str | None = None) -> Response:
    return doors.seller_page(
        call,
        None,
        "seller/sign_in_code.html",
        title=_("Enter the digits"),
        status=422 if problem else 200,
        next=target,
        email=email,
        problem=problem,
    )


def refusal(call: Call, problem: str) -> str:
    """What is wrong, for the form that is shown once more; programs are told by the error itself."""
    if call.wants_json or call.partial:
        raise BadInput(problem, field="code")
    return _(problem)


def asked_by(call: Call, doors: Doors) -> tuple[str, str, str] | None:
    """-> (code id, address as written, where to go then) of the code that this browser asked for here."""
    asked = doors.seller_asked_tokens.read(cookie_named(call.cookie, doors.sellers.asked_name))
    return None if asked is None else tuple(asked)


def code_message(code_id: UUID, code: str | None, address: str, public_url: str) -> Message:
    """The mail with the code; without one the mail to an address that works for no shop here."""
    if code is not None:
        subject = _("%(code)s is your code for the dashboard", code=code)  # the code in one piece: it is copied
        lines = [
            (_("Your code for the dashboard:"), code),
            (
                _(
                    "It works once, for %(minutes)s minutes, in the browser that asked for it at %(shop)s.",
                    minutes=CODE_SECONDS // 60,
                    shop=public_url,
                ),
                "",
            ),
            (_("If that was not you, ignore this mail: without the code nobody gets in."), ""),
        ]
    else:
        subject = _("Signing in to the dashboard: this address is not known")
        lines = [
            (_("Somebody asked for a code for the dashboard at %(shop)s with this address.", shop=public_url), ""),
            (_("It works for no shop there. If that was you, ask the shop's owner to invite this address."), ""),
            (_("If that was not you, ignore this mail: nothing happened."), ""),
        ]
    return Message(
        kind="sign_in_code",
        subject_id=str(code_id),
        order_id=None,
        recipient=address,
        subject=subject,
        body_text="\n\n".join(f"{line} {code}".strip() for line, code in lines) + f"\n\n{when(now())}\n",
        body_html="".join(f"<p>{line}</p>" + (f"<p><strong>{code}</strong></p>" if code else "") for line, code in lines),
    )


ROUTES = [ask_address, send_code, ask_code, try_code, sign_out]
