"""Signing in by an e-mailed code, signing out, the account page.

A code has six digits, lives ten minutes, works once, bears five tries and only counts in the browser that asked for it (which
holds its id in a signed cookie). It is hashed at rest with the installation's secret. An address gets five mails an hour; a sixth
is refused quietly: the answer is the same whether an address is known, new, or has asked too often, and nothing here looks a
shopper up before the code is right. An address that looks mistyped is written to all the same; the page that asks for the code
offers the likelier one, to be taken with one tap, and lets any address be corrected where one stands.
"""

import hmac
import secrets
from uuid import UUID, uuid4

from litestar import Response, get, post

from app.clock import now
from app.domain import emails
from app.errors import BadInput, NotFound
from app.languages import N_, _, spoken
from app.ledger import Message
from app.web.address_fields import countries_in
from app.web.call import Call, cookie_named
from app.web.doors import Doors, TheseDoors, ThisCall, document, own_path, redirect, shopper_of
from app.web.orders_view import recorded
from app.web.render import Account

CODE_KIND = "sign_in_code"
CODE_DIGITS = 6
CODE_SECONDS = 600
CODE_CHARACTERS_MAX = 32  # people paste spaces and dashes along
NEXT_CHARACTERS_MAX = 2048
WRONG = N_("That code is not right, or no longer good. Check the newest mail, or ask for a new code.")
STALE = N_("That sign-in has run out of time, or was started in another browser. Ask for a new code.")


@get("/sign-in")
async def ask_address(call: ThisCall, doors: TheseDoors) -> Response:
    return doors.page(call, "sign_in.html", next=own_path(call.query("next")), email="", problem=None)


@post("/sign-in", status_code=202)
async def send_code(call: ThisCall, doors: TheseDoors) -> Response:
    target = own_path(call.text_field("next", NEXT_CHARACTERS_MAX))
    typed = call.text_field("email", emails.EMAIL_CHARACTERS_MAX)
    try:
        address, normalised = emails.written(typed), emails.normalise(typed)
    except BadInput as error:
        if call.wants_json or call.partial:
            raise
        return doors.page(call, "sign_in.html", status=422, next=target, email=typed, problem=_(str(error)))
    code_id, code = new_code()
    message = code_message(doors, code_id, code, address)
    if await doors.ledger.ask_code(code_id, normalised, address, code_hash(doors, code_id, code), CODE_SECONDS, message):
        await doors.jobs.deliver()
    asked = doors.sessions.cookie(asked_name(doors), doors.asked_tokens.sign([str(code_id), address, target]), CODE_SECONDS)
    if call.wants_json:
        likelier = emails.likelier(address)
        response = document({"next": "/sign-in/code"} | ({"did_you_mean": likelier} if likelier else {}), status=202)
        response.cookies.append(asked)
        return response
    return redirect(call, "/sign-in/code", cookies=[asked])


@get("/sign-in/code")
async def ask_code(call: ThisCall, doors: TheseDoors) -> Response:
    asked = asked_by(call, doors)
    if asked is None:
        return redirect(call, "/sign-in")
    _, address, target = asked
    return doors.page(call, "sign_in_code.html", next=target, email=address, likelier=emails.likelier(address), problem=None)


@post("/sign-in/code", status_code=200)
async def try_code(call: ThisCall, doors: TheseDoors) -> Response:
    asked = asked_by(call, doors)
    if asked is None:
        return refused(call, doors, "sign_in.html", STALE, next="/", email="")
    code_id, address, target = asked
    code = "".join(character for character in call.text_field("code", CODE_CHARACTERS_MAX) if character not in " -\t\u00a0")
    if len(code) != CODE_DIGITS or not code.isascii() or not code.isdigit():
        wrong = _("A code has %(digits)s digits.", digits=CODE_DIGITS)
        return refused(call, doors, "sign_in_code.html", wrong, next=target, email=address)
    found = await doors.ledger.try_code(UUID(code_id), code_hash(doors, code_id, code))
    if found is None:
        return refused(call, doors, "sign_in_code.html", WRONG, next=target, email=address)
    shopper = await doors.ledger.shopper(await doors.ledger.shopper_for(*found))
    await doors.ledger.write_in(shopper.id, spoken().tag)
    cookies = [doors.sessions.fresh_cookie(shopper.id, shopper.session_epoch), doors.sessions.cookie(asked_name(doors), "", 0)]
    if call.wants_json:
        response = document({"signed_in": True, "next": target})
        response.cookies.extend(cookies)
        return response
    return redirect(call, target, cookies=cookies)


@post("/sign-out", status_code=200)
async def sign_out(call: ThisCall, doors: TheseDoors) -> Response:
    return redirect(call, "/", cookies=[doors.sessions.no_cookie()])


@post("/sign-out/everywhere", status_code=200)
async def sign_out_everywhere(call: ThisCall, doors: TheseDoors) -> Response:
    shopper_id = shopper_of(call).shopper_id
    epoch = await doors.ledger.sign_out_everywhere(shopper_id)
    if epoch is not None:
        doors.sessions.raise_epoch(shopper_id, epoch)
        await doors.feed.publish("epoch", shopper=shopper_id, epoch=epoch)
    return redirect(call, "/", cookies=[doors.sessions.no_cookie()])


@get("/account")
async def show_account(call: ThisCall, doors: TheseDoors) -> Response:
    shopper = await doors.ledger.shopper(shopper_of(call).shopper_id)
    if shopper is None:
        raise NotFound("no such shopper")
    orders = [recorded(row) for row in await doors.ledger.orders_of(shopper.id, 10)]
    if call.wants_json:
        return document({"email": shopper.email_written})
    addresses = await doors.ledger.addresses_of(shopper.id)
    countries = dict(countries_in(call.language)) if addresses else {}
    return doors.page(
        call, "account.html", account=Account(shopper.email_written), orders=orders, addresses=addresses, countries=countries
    )


def refused(call: Call, doors: Doors, template: str, problem: str, *, email: str, **context: str) -> Response:
    """The form once more, with what is wrong, and no word about which part of it was right."""
    if call.wants_json or call.partial:
        raise BadInput(problem, field="code")
    likelier = emails.likelier(email)
    return doors.page(call, template, status=422, problem=_(problem), email=email, likelier=likelier, **context)


def asked_by(call: Call, doors: Doors) -> tuple[str, str, str] | None:
    """-> (code id, address as written, where to go then) of the code that this browser asked for."""
    asked = doors.asked_tokens.read(cookie_named(call.cookie, asked_name(doors)))
    return None if asked is None else tuple(asked)


def asked_name(doors: Doors) -> str:
    return "__Host-asked" if doors.settings.production else "asked"


def new_code() -> tuple[UUID, str]:
    """-> (the id that the asking browser holds, the digits that are mailed)."""
    return uuid4(), f"{secrets.randbelow(10**CODE_DIGITS):0{CODE_DIGITS}d}"


def code_hash(doors: Doors, code_id: UUID | str, code: str) -> bytes:
    return hmac.digest(doors.code_key, f"{code_id}:{code}".encode(), "sha256")


def code_message(doors: Doors, code_id: UUID, code: str, address: str) -> Message:
    """The mail with the code, in the language of the request; none of its words is the shopper's own."""
    letter = doors.letters.write_now(CODE_KIND, code=code, minutes=CODE_SECONDS // 60, asked_at=now())
    return Message(CODE_KIND, str(code_id), None, address, letter.subject, letter.text, letter.html)
