"""Passkeys: another way to show the second factor, for those who have set it up with an app already.

Guarantees: adding and removing one takes a second factor shown just now. A challenge is random, of this session and purpose, and
used up before anything that came with it is looked at. Showing a passkey gives the session a new id, as a code does. Wrong tries
cost none of the tries that codes have: there is nothing to guess. At an address where browsers give no passkeys none is offered,
and the page says why; those that are there can be removed all the same. Without JavaScript, and with it, the code of the app works
as ever.
"""

import asyncio
import secrets
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import structlog
from litestar import Response, post
from litestar.params import FromPath

from app.domain.roles import Right
from app.errors import BadInput, NotFound
from app.languages import N_, _, spoken
from app.ledger import Passkey, Seller
from app.ledger.drops import ID_MAX
from app.ledger.passkeys import CHALLENGE_BYTES, NAME_CHARACTERS_MAX, PASSKEYS_MAX, Added, Purpose
from app.web.account import NEXT_CHARACTERS_MAX
from app.web.call import Call
from app.web.doors import Doors, TheseDoors, ThisCall, document, redirect
from app.web.problems import Problem, Refused
from app.web.seller import passkey_signing as signing
from app.web.seller.access import PREFIX, ThisSeller, seller_path
from app.web.seller.confirm import ask_first, is_sure

YOU = f"{PREFIX}/you"
ANSWER_BYTES_MAX = 16 * 1024

NO_PASSKEYS_HERE = N_(
    "Browsers give passkeys only to a shop that is reached by name and https; this one is not (DOORMAN_PUBLIC_URL)."
)
NOT_GOOD = N_("That passkey was not accepted. Try again, or type a code of your app.")
TOO_LATE = N_("That took too long, or was sent before. Try again.")
NONE_YET = N_("You have no passkey yet.")
NAME_IT = N_("Give the passkey a name of at most %(characters)s characters.")
REFUSALS = {
    Added.TOO_MANY: N_("You have ten passkeys already. Remove one first."),
    Added.KNOWN: N_("That passkey is in use already."),
    Added.NOTHING_BESIDE: N_("Set up the codes of an app first."),
}

log = structlog.get_logger("passkeys")


@post("/passkeys/challenge", status_code=200, right=Right.VIEW, fresh=True)
async def begin_adding(doors: TheseDoors, seller: ThisSeller) -> Response:
    known = await doors.office.ledger.passkeys(seller.email)
    if len(known) >= PASSKEYS_MAX:
        raise Refused(Problem(422, REFUSALS[Added.TOO_MANY]))
    site, challenge = site_of(doors), await new_challenge(doors, seller, Purpose.ADD)
    handle = signing.handle_of(doors.second_factor_key, seller.email)
    return document(await asyncio.to_thread(signing.options_to_add, site, handle, seller.email, challenge, known))


@post("/passkeys", status_code=201, right=Right.VIEW, fresh=True)
async def add(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    site = site_of(doors)
    name = " ".join(call.text_field("name", 4 * NAME_CHARACTERS_MAX).split())
    if not 0 < len(name) <= NAME_CHARACTERS_MAX:
        raise BadInput(_(NAME_IT, characters=NAME_CHARACTERS_MAX), field="name")
    answer, challenge = answer_in(call), await taken_challenge(doors, seller, Purpose.ADD)
    new = await judged(seller, signing.new_credential, site, challenge, answer)
    added = await doors.office.ledger.add_passkey(
        seller, name, new.credential_id, new.public_key, new.sign_count, new.transports, spoken().tag
    )
    if added is not Added.ADDED:
        raise Refused(Problem(422, REFUSALS[added]))
    await doors.jobs.deliver()
    return document({"to": YOU}, status=201)


@post("/passkeys/{passkey_id:int}/remove", status_code=200, right=Right.VIEW, fresh=True)
async def remove(passkey_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    passkey = await own_passkey(doors, seller, passkey_id)
    if not is_sure(call):
        return ask_first(
            call,
            doors,
            seller,
            title=_("Remove the passkey “%(name)s”?", name=passkey.name),
            consequences=[
                _("It opens nothing here any more. The codes of your app go on working."),
                _("The device may go on offering it until you delete it there too."),
            ],
            verb=_("Remove"),
            back=YOU,
        )
    if not await doors.office.ledger.remove_passkey(seller, passkey_id, spoken().tag):
        raise NotFound("no such passkey")
    await doors.jobs.deliver()
    return redirect(call, YOU)


@post("/second-factor/passkey/challenge", status_code=200, right=Right.VIEW)
async def begin_showing(doors: TheseDoors, seller: ThisSeller) -> Response:
    known = await doors.office.ledger.passkeys(seller.email)
    if not known:
        raise Refused(Problem(422, NONE_YET))
    site, challenge = site_of(doors), await new_challenge(doors, seller, Purpose.SHOW)
    return document(await asyncio.to_thread(signing.options_to_show, site, challenge, known))


@post("/second-factor/passkey", status_code=200, right=Right.VIEW)
async def show(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    site = site_of(doors)
    target = seller_path(call.text_field("next", NEXT_CHARACTERS_MAX))
    answer, challenge = answer_in(call), await taken_challenge(doors, seller, Purpose.SHOW)
    credential_id = await judged(seller, signing.credential_id_of, answer)
    passkey = await doors.office.ledger.passkey(seller.email, credential_id)
    if passkey is None:  # unknown, or somebody else's
        raise Refused(Problem(422, NOT_GOOD))
    sign_count = await judged(seller, signing.counter_of, site, challenge, answer, passkey)
    fresh_id = uuid4()
    if not await doors.office.ledger.prove_by_passkey(seller, passkey.id, sign_count, fresh_id):
        raise Refused(Problem(422, NOT_GOOD))
    await doors.sellers.changed()
    response = document({"to": target})
    response.cookies.append(doors.sellers.fresh_cookie(fresh_id))
    return response


def site_of(doors: Doors) -> signing.Site:
    site = signing.site_of(doors.settings)
    if site is None:
        raise Refused(Problem(422, NO_PASSKEYS_HERE))
    return site


async def new_challenge(doors: Doors, seller: Seller, purpose: Purpose) -> bytes:
    challenge = secrets.token_bytes(CHALLENGE_BYTES)
    if not await doors.office.ledger.challenge(seller, purpose, challenge):
        raise Refused(Problem(422, TOO_LATE))
    return challenge


async def taken_challenge(doors: Doors, seller: Seller, purpose: Purpose) -> bytes:
    challenge = await doors.office.ledger.take_challenge(seller.session_id, purpose)
    if challenge is None:
        raise Refused(Problem(422, TOO_LATE))
    return challenge


def answer_in(call: Call) -> dict[str, Any]:
    """-> what the browser's authenticator answered, unjudged."""
    answer = call.fields().get("credential")
    if not isinstance(answer, dict) or len(call.body) > ANSWER_BYTES_MAX:
        raise Refused(Problem(422, NOT_GOOD))
    return answer


async def judged(seller: Seller, judge: Callable, *arguments: Any) -> Any:
    """-> what the judge, in a thread of its own, finds; for the seller every way of not being good is the same."""
    try:
        return await asyncio.to_thread(judge, *arguments)
    except signing.NotGood as error:
        log.warning("passkey_refused", seller=seller.id, why=str(error)[:200])
        raise Refused(Problem(422, NOT_GOOD)) from error


async def own_passkey(doors: Doors, seller: Seller, passkey_id: int) -> Passkey:
    known = await doors.office.ledger.passkeys(seller.email) if 0 < passkey_id <= ID_MAX else []
    found = next((one for one in known if one.id == passkey_id), None)
    if found is None:
        raise NotFound("no such passkey")
    return found


ROUTES = [begin_adding, add, remove, begin_showing, show]
