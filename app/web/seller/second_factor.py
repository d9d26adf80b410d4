"""The second factor: setting it up, showing it, and the recovery codes for the day when the phone is gone.

Guarantees: a code works once (its step, and every older one, is void from then on); five wrong ones within a quarter of an hour,
in whatever sessions, and none is looked at any more until it is over; a try is counted before anything is compared. The secret is
nowhere at rest: it is made of a nonce in the ledger and the installation's secret. Showing it gives the session a new id, so a
cookie that was copied before is worth nothing after. Setting it up, beginning anew, and using or renewing recovery codes is told
to its owner by mail, written in the same transaction: whoever does it in somebody else's name is noticed. Another DOORMAN_SECRET
makes every second factor worthless: `doorman staff reset-second-factor` lets its owner begin anew. Passkeys (passkeys.py) stand
beside the app's codes and go with them.
"""

import hmac
import secrets
from uuid import uuid4

import segno
from litestar import Response, get, post

from app.clock import now
from app.domain import totp
from app.domain.roles import Right
from app.languages import N_, _, spoken
from app.ledger import Seller
from app.web.account import NEXT_CHARACTERS_MAX
from app.web.call import Call
from app.web.doors import Doors, TheseDoors, ThisCall, redirect
from app.web.problems import Problem, Refused
from app.web.seller.access import PREFIX, ThisSeller, fresh, seller_path
from app.web.seller.confirm import ask_first, is_sure
from app.web.seller.passkey_signing import site_of

RECOVERY_CODES = 10
RECOVERY_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # nothing that is read as something else
RECOVERY_CHARACTERS = 12  # 59 bits
CODE_CHARACTERS_MAX = 40
YOU = f"{PREFIX}/you"

WRONG = N_("That code is not right, or was used before. Wait for the next one.")
TOO_MANY = N_("Too many wrong codes. Wait a quarter of an hour, then try again.")


@get("/second-factor", right=Right.VIEW)
async def ask(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    return await code_page(call, doors, seller, seller_path(call.query("next")))


@post("/second-factor", status_code=200, right=Right.VIEW)
async def show(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    target = seller_path(call.text_field("next", NEXT_CHARACTERS_MAX))
    code = "".join(c for c in call.text_field("code", CODE_CHARACTERS_MAX).lower() if c not in " -\t\u00a0")
    tried = await doors.office.ledger.try_second_factor(seller.email)
    if tried is None:
        return await refused(call, doors, seller, target, TOO_MANY if seller.second_factor else WRONG)
    fresh_id = uuid4()
    codes = [] if tried.confirmed else new_recovery_codes()
    step = totp.step_of(secret_of(doors, tried.nonce), code, now())
    if step is not None:
        hashes = [recovery_hash(doors, seller.email, one) for one in codes]
        shown = await doors.office.ledger.prove(seller, step, fresh_id, hashes, spoken().tag)
    else:
        known = recovery_hash(doors, seller.email, code)
        shown = await doors.office.ledger.prove_by_recovery(seller, known, fresh_id, spoken().tag)
    if not shown:
        return await refused(call, doors, seller, target, WRONG)
    await doors.sellers.changed()
    await doors.jobs.deliver()
    cookie = doors.sellers.fresh_cookie(fresh_id)
    if not codes:
        return redirect(call, target, cookies=[cookie])
    response = codes_page(call, doors, seller, codes, target)
    response.cookies.append(cookie)
    return response


@post("/second-factor/renew-codes", status_code=200, right=Right.VIEW, fresh=True)
async def renew_codes(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    codes = new_recovery_codes()
    hashes = [recovery_hash(doors, seller.email, one) for one in codes]
    await doors.office.ledger.renew_recovery_codes(seller, hashes, spoken().tag)
    await doors.jobs.deliver()
    return codes_page(call, doors, seller, codes, YOU)


@post("/second-factor/remove", status_code=200, right=Right.VIEW, fresh=True)
async def remove(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    if not is_sure(call):
        return ask_first(
            call,
            doors,
            seller,
            title=_("Set up the second factor anew?"),
            consequences=[
                _("The codes of the app you use now, your recovery codes and your passkeys stop working."),
                _("Money, staff and settings stay closed to you until the new one is set up."),
            ],
            verb=_("Begin anew"),
            back=YOU,
        )
    await doors.office.ledger.remove_second_factor(seller.email, seller.actor, spoken().tag)
    await doors.sellers.changed()
    await doors.jobs.deliver()
    return redirect(call, f"{PREFIX}/second-factor?next={YOU}")


async def code_page(call: Call, doors: Doors, seller: Seller, target: str, problem: str | None = None) -> Response:
    """The form for a code; before it, once, the secret for the app."""
    setting_up = None
    if not seller.second_factor:
        nonce = await doors.office.ledger.begin_second_factor(seller.email, secrets.token_bytes(totp.SECRET_BYTES))
        setting_up = None if nonce is None else secret_of(doors, nonce)
    return doors.seller_page(
        call,
        seller,
        "seller/second_factor.html",
        title=_("Second factor"),
        status=422 if problem else 200,
        next=target,
        problem=problem,
        is_fresh=fresh(seller),
        by_passkey=site_of(doors.settings) is not None and bool(await doors.office.ledger.passkeys(seller.email)),
        secret=None if setting_up is None else in_fours(totp.written(setting_up)),
        app_address=None if setting_up is None else app_address(doors, setting_up, seller),
        qr=None if setting_up is None else qr_of(app_address(doors, setting_up, seller)),
    )


async def refused(call: Call, doors: Doors, seller: Seller, target: str, problem: str) -> Response:
    if call.wants_json or call.partial:
        raise Refused(Problem(422, problem, field="code"))
    return await code_page(call, doors, seller, target, _(problem))


def codes_page(call: Call, doors: Doors, seller: Seller, codes: list[str], target: str) -> Response:
    return doors.seller_page(
        call, seller, "seller/recovery_codes.html", title=_("Recovery codes"), codes=[in_fours(code) for code in codes], next=target
    )


def secret_of(doors: Doors, nonce: bytes) -> bytes:
    return hmac.digest(doors.second_factor_key, nonce, "sha256")[: totp.SECRET_BYTES]


def recovery_hash(doors: Doors, email: str, code: str) -> bytes:
    return hmac.digest(doors.second_factor_key, f"recovery/{email}/{code}".encode(), "sha256")


def new_recovery_codes() -> list[str]:
    return ["".join(secrets.choice(RECOVERY_ALPHABET) for _place in range(RECOVERY_CHARACTERS)) for _code in range(RECOVERY_CODES)]


def app_address(doors: Doors, secret: bytes, seller: Seller) -> str:
    host = doors.settings.public_url.partition("://")[2]
    return totp.address(secret, f"Doorman {host}", seller.email)


def in_fours(text: str) -> str:
    """'abcdefgh' -> 'abcd efgh': read, and typed, without losing one's place."""
    return " ".join(text[at : at + 4] for at in range(0, len(text), 4))


def qr_of(text: str) -> str:
    """-> an <svg> with the QR code, without any inline style."""
    return segno.make(text, error="m").svg_inline(
        svgclass="qr", lineclass=None, omitsize=True, border=2, dark="#14110e", light="#fffdf8"
    )


ROUTES = [ask, show, renew_codes, remove]
