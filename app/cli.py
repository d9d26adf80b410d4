"""The `doorman` command: parse, call, print.

Everything heavy is imported by the command that needs it, so `--help` and `up` stay light. A fault that Doorman knows by name ends
as one sentence on standard error and exit code 1; wrong usage is exit code 2; a traceback always means a bug of ours.
"""

import argparse
import asyncio
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from app import running, up
from app.errors import BadInput, DoormanError, LedgerUnreachable, NotFound, StartFailed
from app.settings import Settings

VARIANT_NAME_DEFAULT = "Standard"
SHOPPERS_MAX = 200_000
HOLD_SECONDS_MIN = 1.0
DOOR_HELP = {
    "pause": "pause a drop",
    "resume": "resume a paused drop",
    "close": "close a drop for good: it never opens again",
    "cancel": "cancel a drop for good: its holds end, and everybody's money goes back in full",
}
REFUSED_STAFF = {
    "already": "they are on the staff of this shop",
    "too_many": "the shop has no room for more staff",
    "too_often": "too many were invited within the hour",
}
ACTOR = "command line"  # in the audit log
PROGRESS_SECONDS = 1.0
DOORS = {"pause": "paused", "resume": "open", "close": "closed", "cancel": "cancelled"}
ELSEWHERE = "elsewhere"  # stands for every country that has no shipping fee of its own
MAILS_MAX = 500
ATTENTION_MAX = 1000
BOOKS_COLUMNS = (
    "drop",
    "total",
    "gate_left",
    "offered",
    "held",
    "processing",
    "paid",
    "withdrawn",
    "returning",
    "refunded",
    "refused",
)


def main(argv: Sequence[str] | None = None) -> int:
    """-> the exit code: 0 done, 1 it could not be done or the books do not balance, 2 wrong usage."""
    argv = sys.argv[1:] if argv is None else list(argv)
    if argv[:1] in (["bench"], ["rehearse"]):  # they have options of their own
        arguments = argparse.Namespace(run={"bench": _bench, "rehearse": _rehearse}[argv[0]], rest=argv[1:])
    else:
        arguments = _parser().parse_args(argv)
    try:
        return arguments.run(arguments) or 0
    except (DoormanError, BrokenPipeError) as error:
        if isinstance(error, BrokenPipeError):  # whoever read our output has had enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        field = f" ({error.field})" if isinstance(error, BadInput) and error.field else ""
        print(f"doorman: {error}{field}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="doorman", description="A self-hosted storefront for drops.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    one = _add(commands, "up", "run everything on this machine, in the foreground", _up)
    one.add_argument("--port", type=_port, default=up.PORT_DEFAULT, help="port on 127.0.0.1 (%(default)s); 0: any free one")
    one.add_argument("--web", type=_whole(1, up.WEB_MAX), default=up.WEB_DEFAULT, metavar="N", help="web processes (%(default)s)")
    one.add_argument("--no-demo", action="store_true", help="no demo shop on the first start")

    one = _add(commands, "web", "one web process", _web)
    one.add_argument("--host", default=up.HOST, help="address to listen on (%(default)s)")
    one.add_argument("--port", type=_port, default=up.PORT_DEFAULT, help="port (%(default)s)")
    _add(commands, "worker", "one worker process: payments, expiry, messages", _worker)
    _add(commands, "recorder", "one recorder process: journal to ledger, sweeper, reconciler", _recorder)
    _add(commands, "migrate", "bring the database to this version", _migrate)
    _add(commands, "settings", "print every setting, its value and the bound that follows", _settings)
    _add(commands, "demo", "make the demo shop (`up` does so on its first start)", _demo)

    shops = _group(commands, "shop", "shops")
    one = _add(shops, "create", "make a shop", _shop_create)
    one.add_argument("--name", required=True)
    one.add_argument("--owner", required=True, metavar="EMAIL")
    one.add_argument("--time-zone", default="UTC", metavar="ZONE", help="of its dashboard, such as Europe/Berlin (%(default)s)")

    staff = _group(commands, "staff", "who works for shops")
    one = _add(staff, "add", "put somebody on the staff of a shop; nobody is mailed", _staff_add)
    one.add_argument("email")
    one.add_argument("--role", choices=("owner", "manager", "support", "viewer"), required=True)
    one.add_argument("--shop", metavar="N", help="number or name of the shop (the first one)")
    one = _add(staff, "reset-second-factor", "let somebody who lost phone and recovery codes set up anew", _staff_reset)
    one.add_argument("email")

    drops = _group(commands, "drop", "drops")
    one = _add(drops, "create", "publish a drop and print it as JSON", _drop_create)
    one.add_argument("--slug", required=True, help="its name in addresses")
    one.add_argument("--title", required=True)
    one.add_argument("--quantity", type=_whole(1), metavar="N", help="units; with --variant their sum, and then optional")
    one.add_argument("--variant", action="extend", nargs="+", type=_variant, default=[], metavar="NAME=QTY")
    one.add_argument("--price", required=True, help="such as 49.00")
    one.add_argument("--currency", required=True, help="ISO 4217 code, such as EUR")
    one.add_argument("--opens-at", required=True, type=_moment, metavar="now|ISO8601")
    one.add_argument("--closes-at", type=_moment, metavar="ISO8601")
    one.add_argument("--per-person", type=_whole(1), default=1, metavar="N", help="units a person may buy (%(default)s)")
    one.add_argument("--hold", type=_hold, default=600.0, metavar="SECONDS", help="time to pay (%(default)g)")
    one.add_argument("--attempts", type=_whole(1), default=3, metavar="N", help="payment attempts (%(default)s)")
    one.add_argument("--offer", type=_hold, default=600.0, metavar="SECONDS", help="time of an offer to who is next (%(default)g)")
    one.add_argument(
        "--waitlist",
        choices=("offers", "notify"),
        default="offers",
        help="what comes back is held for the next in line, or everybody is told at once (%(default)s)",
    )
    one.add_argument("--description", default="")
    one.add_argument(
        "--tax-rate", type=_percent, default=0, metavar="PERCENT", help="included in the price, such as 19 or 7.25 (none)"
    )
    one.add_argument("--ships", action="store_true", help="ask where it goes before paying")
    one.add_argument(
        "--shipping-fee",
        action="extend",
        nargs="+",
        type=_fee,
        default=[],
        metavar="COUNTRY=AMOUNT",
        help="of a drop that ships, such as DE=4.90; elsewhere=9.90 is for all others, and without it nothing is sent there (free)",
    )
    one.add_argument("--shop", metavar="N", help="number or name of the shop (the first one)")
    for verb in DOORS:
        one = _add(drops, verb, DOOR_HELP[verb], _drop_door)
        one.add_argument("slug")
        one.set_defaults(door=DOORS[verb], wait=False)
        if verb == "cancel":
            one.add_argument("--wait", action="store_true", help="until every hold has ended and all money is back; safe to repeat")
    one = _add(drops, "retire", "take the keys of a drop that is over out of Redis; its books must be closed", _drop_retire)
    one.add_argument("slug")
    one = _add(drops, "add-units", "add units to a drop; a negative number takes unsold ones away", _drop_add_units)
    one.add_argument("slug")
    one.add_argument("--units", type=int, required=True, metavar="N")
    one.add_argument("--variant", metavar="NAME", help="optional when there is one")

    shoppers = _group(commands, "shoppers", "synthetic shoppers (development only)")
    one = _add(shoppers, "mint", "print Cookie header values of signed-in shoppers, one a line", _shoppers_mint)
    one.add_argument("--count", type=_whole(1, SHOPPERS_MAX), required=True, metavar="N")

    one = _add(commands, "mail", "mails that did not arrive: refused, come back, given up, or in doubt; exit code 1 if any", _mail)
    one.add_argument("--json", action="store_true")
    one.add_argument(
        "verb",
        nargs="?",
        choices=("bounced",),
        help="read one mail that came back from standard input, as a mail server hands it to a program, and mark ours",
    )
    one = _add(commands, "books", "print the books; exit code 1 unless all balance", _books)
    one.add_argument("slug", nargs="?")
    one.add_argument("--json", action="store_true")
    one.add_argument(
        "--verify-log", action="store_true", help="prove the history of every order instead: nothing changed or cut out"
    )

    one = _add(
        commands, "attention", "what a person must look at, and what may be done about it; exit code 1 if anything", _attention
    )
    one.add_argument("--json", action="store_true")

    orders = _group(commands, "order", "orders")
    one = _add(orders, "history", "print what happened to an order", _order_history)
    one.add_argument("order")
    one = _add(orders, "refund", "give money back: all that is left, or --amount of it", _order_refund)
    one.add_argument("order")
    one.add_argument("--amount", help="such as 12.00 (all that is left)")
    one.add_argument("--restock", action="store_true", help="with the last of the money the units go on sale again")
    one = _add(orders, "ask-again", "ask the outside now about whatever is unknown of an order", _order_ask_again)
    one.add_argument("order")
    one = _add(orders, "give-back", "put the unit of an order back although nobody knows whether it was charged", _order_give_back)
    one.add_argument("order")
    one = _add(orders, "looked-at", "take what was seen to off the list of what needs attention", _order_looked_at)
    one.add_argument("order")

    parcels = _group(commands, "parcel", "parcels")
    one = _add(parcels, "resubmit", "look for a parcel at the warehouse, and make it if there is none", _parcel_resubmit)
    one.add_argument("order")

    gate = _group(commands, "gate", "the gate")
    one = _add(gate, "rebuild", "make the gate equal to the ledger", _gate_rebuild)
    one.add_argument("slug")

    commands.add_parser("bench", help="measures: doorman bench --help", add_help=False)
    commands.add_parser("rehearse", help="play a coming drop with a crowd and faults: doorman rehearse --help", add_help=False)
    return parser


def _add(commands, name: str, help: str, run: Callable[[argparse.Namespace], int | None]) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".")
    parser.add_argument(
        "--data", type=Path, default=running.DATA_DEFAULT, metavar="FOLDER", help="data folder of doorman up (%(default)s)"
    )
    parser.set_defaults(run=run)
    return parser


def _group(commands, name: str, help: str):
    return commands.add_parser(name, help=help).add_subparsers(metavar="VERB", required=True)


# --- the commands ---------------------------------------------------------------------------------------------------------------


def _up(arguments) -> None:
    up.up(up.Options(port=arguments.port, data=arguments.data, web=arguments.web, demo=not arguments.no_demo))


def _web(arguments) -> None:
    _adopt_environment(arguments.data)
    if not os.environ.get("DOORMAN_LISTEN_FD"):
        bound = up.listen(arguments.host, arguments.port)
        host, port = bound.getsockname()[:2]
        print(f"listening on {host} port {port}", flush=True)
        os.environ["DOORMAN_LISTEN_FD"] = str(bound.detach())
    from app.web.serve import main

    sys.argv[1:] = []  # they were ours
    main()


def _worker(arguments) -> int:
    _adopt_environment(arguments.data)
    from workers.serve import main

    return main("jobs")


def _recorder(arguments) -> int:
    _adopt_environment(arguments.data)
    from workers.serve import main

    return main("loops")


def _migrate(arguments) -> None:
    settings = _settings_of(arguments.data)
    import asyncpg

    from app.ledger.migrate import migrate

    try:
        applied = asyncio.run(migrate(settings.database_url))
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise StartFailed(f"The database could not be migrated: {str(error).strip() or type(error).__name__}") from error
    print(f"applied {', '.join(applied)}" if applied else "nothing to do")


def _settings(arguments) -> None:
    environment = dict(os.environ)
    with suppress(StartFailed):  # without a running `up`: the settings of this environment alone
        environment = running.environment_with(arguments.data, os.environ)
    settings = Settings.from_environment(environment)
    rows = [("setting", "value", "what it is"), *settings.table()]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, value, help in rows:
        print(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {help}")
    bound = settings.settled_within_seconds
    print(f"\nEvery order is final, or shown as needing attention, within its hold + {bound:g} s of the end of the last failure:")
    print(f"hold + {settings.grace_seconds:g} (grace) + {settings.claim_dead_seconds:g} (claim dead) + ", end="")
    print(f"{settings.provider_timeout_seconds:g} (provider) + 2 x {settings.sweep_seconds:g} (sweep).")


def _demo(arguments) -> None:
    from app.demo import ensure

    _in_office(arguments.data, ensure)


def _shop_create(arguments) -> None:
    from app.domain.schedule import zone_named

    zone = arguments.time_zone
    if zone_named(zone) is None:
        raise BadInput(f"there is no time zone {zone!r}; give one such as Europe/Berlin", field="time-zone")

    async def create(office):
        shop_id = await office.ledger.create_shop(arguments.name, arguments.owner, actor=ACTOR)
        await office.ledger.set_time_zone(shop_id, zone, ACTOR)
        return {"id": shop_id, "name": arguments.name, "time_zone": zone}

    _print(_in_office(arguments.data, create))


def _staff_add(arguments) -> None:
    from app.domain import emails
    from app.domain.roles import Role

    email, written = emails.normalise(arguments.email), emails.written(arguments.email)

    async def add(office):
        from app.ledger import Invited

        shop_id = await _shop_id(office.ledger, arguments.shop)
        invited = await office.ledger.invite(shop_id, email, written, Role(arguments.role), ACTOR, None)
        if invited is not Invited.INVITED:
            raise BadInput(f"{written} could not be added: {REFUSED_STAFF[invited.value]}", field="email")
        await office.feed.publish("sellers")
        return shop_id

    _print({"shop": _in_office(arguments.data, add), "email": written, "role": arguments.role})


def _staff_reset(arguments) -> None:
    from app.domain import emails

    email = emails.normalise(arguments.email)

    async def reset(office):
        if not await office.ledger.remove_second_factor(email, "command line"):
            raise NotFound(f"{email} has no second factor")
        await office.feed.publish("sellers")

    _in_office(arguments.data, reset)
    _print({"email": email, "second_factor": False})


def _drop_create(arguments) -> None:
    from app.clock import iso
    from app.domain.money import parse_minor

    variants = _variants(arguments.quantity, arguments.variant)
    price_minor = parse_minor(arguments.price, arguments.currency)
    fees = _fees(arguments.shipping_fee, arguments.currency, arguments.ships)

    async def create(office):
        from app.ledger import NewDrop
        from app.purchase.drops import create_drop

        return office.settings.public_url, await create_drop(
            office,
            NewDrop(
                shop_id=await _shop_id(office.ledger, arguments.shop),
                slug=arguments.slug,
                title=arguments.title,
                price_minor=price_minor,
                currency=arguments.currency,
                opens_at=arguments.opens_at,
                variants=variants,
                description=arguments.description,
                ships=arguments.ships,
                closes_at=arguments.closes_at,
                per_person=arguments.per_person,
                hold_seconds=arguments.hold,
                payment_attempts=arguments.attempts,
                offer_seconds=arguments.offer,
                waitlist=arguments.waitlist,
                tax_basis_points=arguments.tax_rate,
                shipping_fees=fees or None,
            ),
            actor=ACTOR,
        )

    public_url, drop = _in_office(arguments.data, create)
    _print(
        {
            "id": drop.id,
            "slug": drop.slug,
            "url": f"{public_url}/drops/{drop.slug}",
            "variants": [{"name": variant.name, "total": variant.units_total} for variant in drop.variants],
            "opens_at": iso(drop.opens_at),
        }
    )


def _drop_door(arguments) -> None:
    async def change(office):
        from app.domain.drops import Door
        from app.purchase.drops import change_door

        drop = await change_door(office, arguments.slug, Door(arguments.door), actor=ACTOR)
        return drop, await _all_is_back(office, drop) if arguments.wait else None

    drop, cancelling = _in_office(arguments.data, change)
    answer = {"slug": drop.slug, "door": drop.door.value}
    if cancelling is not None:
        answer |= {name: getattr(cancelling, name) for name in ("orders", "open", "to_refund", "refunded", "needs_attention")}
    _print(answer)


async def _all_is_back(office, drop):
    """Wait until the sweeper has ended every hold of a cancelled drop and all its money is back; say how far it is."""
    while not (seen := await office.ledger.cancelling(drop.id)).done:
        print(f"{seen.refunded} refunded, {seen.to_refund} to refund, {seen.open} to end", file=sys.stderr, flush=True)
        await asyncio.sleep(PROGRESS_SECONDS)
    return seen


def _drop_retire(arguments) -> None:
    async def leave(office):
        from app.purchase.retiring import retire

        return await retire(office, arguments.slug, actor=ACTOR)

    drop = _in_office(arguments.data, leave)
    _print({"slug": drop.slug, "retired": drop.retired})


def _drop_add_units(arguments) -> None:
    if arguments.units == 0:
        raise BadInput("0 units change nothing", field="units")

    async def add(office):
        from app.purchase.drops import add_units

        return await add_units(office, arguments.slug, arguments.variant, arguments.units, actor=ACTOR)

    drop = _in_office(arguments.data, add)
    _print({"slug": drop.slug, "variants": [{"name": variant.name, "total": variant.units_total} for variant in drop.variants]})


def _shoppers_mint(arguments) -> None:
    settings = _settings_of(arguments.data)
    if settings.production:
        raise BadInput("shoppers are minted in development only")

    async def mint(office):
        return await office.ledger.mint_shoppers(arguments.count)

    ids = _in_office(arguments.data, mint)
    from app.web.session import mint_cookies

    sys.stdout.writelines(f"{cookie}\n" for cookie in mint_cookies(settings, ids))


def _attention(arguments) -> int:
    async def read(office):
        return await office.ledger.attention(ATTENTION_MAX)

    from app.clock import iso
    from app.purchase.refunding import lawful_actions

    found = [
        {
            "kind": row.kind,
            "order": str(row.order_id),
            "drop": row.drop_slug,
            "state": row.state,
            "payment": row.payment,
            "parcel": row.parcel,
            "purpose": row.purpose,
            "reference": row.reference,
            "amount_minor": row.amount_minor,
            "currency": row.currency,
            "reserved_at": iso(row.reserved_at),
            "asked": row.asked_again,
            "why": row.why,
            "actions": lawful_actions(row.kind, row.state),
        }
        for row in _in_office(arguments.data, read)
    ]
    if arguments.json:
        _print({"attention": found})
    for row in [] if arguments.json else found:
        print(f"{row['kind']} of order {row['order']} ({row['drop']}, {row['state']}): {row['why']}")
        print(f"    {' · '.join(row['actions'])}")
    return 1 if found else 0


def _order_history(arguments) -> None:
    from app.clock import iso
    from app.domain.ids import parse_order_id

    async def read(office):
        return await office.ledger.events_of(parse_order_id(arguments.order))

    events = _in_office(arguments.data, read)
    if not events:
        raise NotFound(f"there is no order {arguments.order}")
    _print([{"at": iso(event.at), "what": event.kind, **event.detail} for event in events])


def _order_refund(arguments) -> None:
    from app.domain.ids import parse_order_id
    from app.domain.money import parse_minor
    from app.purchase.refunding import refund_order

    async def refund(office):
        order = await office.ledger.order(parse_order_id(arguments.order))
        if order is None:
            raise NotFound(f"there is no order {arguments.order}")
        amount = parse_minor(arguments.amount, order.currency) if arguments.amount else None
        left = await office.ledger.left_to_refund(order.order_id)
        wanted = await refund_order(office.ledger, order.order_id, amount_minor=amount, restock=arguments.restock)
        if not wanted.repeated:
            said = ("amount_minor", "currency", "restock", "purpose")
            after = {name: getattr(wanted, name) for name in said}
            await audited(office.ledger, order, "refunded", {"left_minor": left}, after)
        return wanted

    wanted = _in_office(arguments.data, refund)
    _print(
        {
            "order": str(wanted.order_id),
            "purpose": wanted.purpose,
            "amount_minor": wanted.amount_minor,
            "currency": wanted.currency,
            "restock": wanted.restock,
            "repeated": wanted.repeated,
        }
    )


def _order_ask_again(arguments) -> int:
    async def ask(office, order):
        from app.purchase.refunding import ask_again

        if done := await ask_again(office.ledger, order.order_id):
            await audited(office.ledger, order, "asked again", None, None)
        return done

    return _order_verb(arguments, "asked", ask)


def _order_give_back(arguments) -> int:
    async def give_back(office, order):
        from app.purchase.refunding import give_back_unasked

        if done := await give_back_unasked(office, order.order_id):
            state = (await office.ledger.order(order.order_id)).state
            await audited(office.ledger, order, "given back unasked", {"state": order.state}, {"state": state})
        return done

    return _order_verb(arguments, "given_back", give_back)


def _order_looked_at(arguments) -> int:
    async def look(office, order):
        story = await office.ledger.story(order.shop_id, order.order_id)
        if done := await office.ledger.looked_at(order.order_id):
            await audited(office.ledger, order, "looked at", {"why": [found.why for found in story.attention]}, None)
        return done

    return _order_verb(arguments, "looked_at", look)


def _order_verb(arguments, word: str, work) -> int:
    """Do something with one order and print whether it was done; exit code 1 where there is none or its state forbids it."""
    from app.domain.ids import parse_order_id

    async def do(office):
        order = await office.ledger.order(parse_order_id(arguments.order))
        return order is not None and await work(office, order)

    done = _in_office(arguments.data, do)
    _print({"order": arguments.order, word: done})
    return 0 if done else 1


async def audited(ledger, order, action: str, before: dict | None, after: dict | None) -> None:
    """What was done with an order stands in its shop's audit log."""
    await ledger.audit(order.shop_id, ACTOR, action, f"order {order.order_id}", before, after)


def _parcel_resubmit(arguments) -> int:
    from app.domain.ids import parse_order_id

    async def resubmit(packer):
        if packer is None:
            raise BadInput("there is no warehouse: set DOORMAN_WAREHOUSE_URL")
        return await packer.resubmit(parse_order_id(arguments.order), actor=ACTOR)

    outcome = _in_office(arguments.data, resubmit, room="packing")
    _print({"order": arguments.order, "parcel": outcome})
    return 0 if outcome in ("made", "settling") else 1


def _verify_log(data: Path) -> int:
    history = _in_office(data, lambda office: office.ledger.verify_history())
    _print({"events": history.events, "head": history.head, "proven": not history.broken, "broken": history.broken})
    return 1 if history.broken else 0


def _books(arguments) -> int:
    if arguments.verify_log:
        return _verify_log(arguments.data)

    async def read(office):
        from app.purchase.books import books

        return await books(office, arguments.slug)

    found = _in_office(arguments.data, read)
    drops = [found] if arguments.slug else found["drops"]
    if arguments.json:
        _print(found)
    else:
        _print_books(drops)
    return 0 if all(drop["balanced"] for drop in drops) else 1


def _mail(arguments) -> int:
    if arguments.verb == "bounced":
        return _mail_bounced(arguments)

    async def read(office):
        return await office.ledger.undelivered(MAILS_MAX)

    found = [
        {
            "to": mail.recipient,
            "kind": mail.kind,
            "state": mail.state,
            "tries": mail.tries,
            "error": mail.error,
            "at": f"{mail.created_at:%Y-%m-%d %H:%M}",
        }
        for mail in _in_office(arguments.data, read)
    ]
    if arguments.json:
        _print({"mails": found})
    else:
        for mail in found:
            print("{at}  {state:<7}  {kind:<15}  {to}  {error}".format_map(mail))
    return 1 if found else 0


def _mail_bounced(arguments) -> int:
    """What is no report on a mail of ours changes nothing and is no failure: a mail server would answer one with another mail."""
    from app.mail.bounces import BOUNCE_BYTES_MAX, read_bounce

    bounce = read_bounce(sys.stdin.buffer.read(BOUNCE_BYTES_MAX))
    if bounce is None:
        print("nothing changed: this is no report that a mail of ours did not arrive")
        return 0

    async def mark(office):
        return await office.ledger.came_back(*bounce)

    try:
        mail = _in_office(arguments.data, mark)
    except LedgerUnreachable as error:
        print(f"doorman: {error}", file=sys.stderr)
        return os.EX_TEMPFAIL  # the mail server keeps the report and hands it in again
    if mail is None:
        print(f"nothing changed: no mail {bounce.message_id} was sent to that address, or it is known that it came back")
    else:
        print(f"came back: {mail.kind} to {mail.recipient}, {bounce.reason}")
    return 0


def _gate_rebuild(arguments) -> int:
    async def rebuild_one(office):
        from app.purchase.reconciling import rebuild

        drop = await office.ledger.drop_by_slug(arguments.slug)
        if drop is None:
            raise NotFound(f"there is no drop named {arguments.slug}")
        done = await rebuild(office.ledger, office.gate, office.feed, drop.id, office.settings.journal_entries_max)
        await office.ledger.audit(drop.shop_id, ACTOR, "gate rebuilt", drop.slug, None, {"gate": str(done)})
        return done

    outcome = str(_in_office(arguments.data, rebuild_one))
    _print({"drop": arguments.slug, "gate": outcome})
    return 0 if outcome in ("agreed", "mended") else 1


def _bench(arguments) -> int:
    from app.bench import main as bench

    return bench(arguments.rest)


def _rehearse(arguments) -> int:
    from app.rehearsal.command import main as rehearse

    return rehearse(arguments.rest)


# --- what they share --------------------------------------------------------------------------------------------------------------


def _in_office(data: Path, work: Callable[..., Awaitable], room: str = "office"):
    """-> what `work(office)` returns, with an office of the `up` running on `data` or of the environment.

    `room`: another set of parts of app/wiring.py that the work needs instead.
    """
    settings = _settings_of(data)

    async def run():
        import structlog

        from app import wiring

        structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))  # standard output is for the answer
        async with getattr(wiring, room)(settings) as desk:
            return await work(desk)

    return asyncio.run(run())


def _settings_of(data: Path) -> Settings:
    return Settings.from_environment(running.environment_with(data, os.environ))


def _adopt_environment(data: Path) -> None:
    """Give this process, which becomes a part itself, the environment that `up` gives its parts."""
    os.environ.update(running.environment_with(data, os.environ))
    Settings.from_environment()


async def _shop_id(ledger, wanted: str | None) -> int:
    if wanted is None:
        found = await ledger.first_shop()
        if found is None:
            raise BadInput("there is no shop yet; make one with: doorman shop create --name NAME --owner EMAIL")
        return found
    found = int(wanted) if wanted.isascii() and wanted.isdecimal() else await ledger.shop_named(wanted)
    if found is None:
        raise NotFound(f"there is no shop named {wanted}")
    return found


def _variants(quantity: int | None, variants: list[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """-> (name, units) of each variant. BadInput where the numbers contradict each other."""
    if not variants:
        if quantity is None:
            raise BadInput("say how many units there are: --quantity N, or --variant NAME=QTY for each", field="quantity")
        return ((VARIANT_NAME_DEFAULT, quantity),)
    total = sum(units for _, units in variants)
    if quantity is not None and quantity != total:
        raise BadInput(f"--quantity {quantity} is not the sum of the variants, {total}", field="quantity")
    if len({name for name, _ in variants}) != len(variants):
        raise BadInput("two variants have the same name", field="variant")
    return tuple(variants)


def _fees(fees: list[tuple[str, str]], currency: str, ships: bool) -> dict[str, int]:
    """-> the fee of each country in minor units. BadInput where they contradict each other."""
    from app.domain.addresses import COUNTRIES
    from app.domain.drops import EVERYWHERE_ELSE
    from app.domain.money import parse_minor

    if fees and not ships:
        raise BadInput("a drop that is not sent has no shipping fees: add --ships", field="shipping-fee")
    found: dict[str, int] = {}
    for name, amount in fees:
        country = EVERYWHERE_ELSE if name == ELSEWHERE else name.upper()
        if country not in COUNTRIES and country != EVERYWHERE_ELSE:
            raise BadInput(f"{name!r} is no country such as DE, nor the word {ELSEWHERE}", field="shipping-fee")
        if country in found:
            raise BadInput(f"{name} has two shipping fees", field="shipping-fee")
        try:
            found[country] = parse_minor(amount, currency)
        except BadInput as error:
            raise BadInput(str(error), field="shipping-fee") from error
    return found


def _print(value) -> None:
    print(json.dumps(value, ensure_ascii=False))


def _print_books(drops: list[dict]) -> None:
    if not drops:
        print("no drops")
        return
    rows = [(*BOOKS_COLUMNS, "balanced"), *((*(drop[name] for name in BOOKS_COLUMNS), _verdict(drop)) for drop in drops)]
    widths = [max(len(_cell(row[column])) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        first, *others = (_cell(cell) for cell in row)
        print("  ".join([f"{first:<{widths[0]}}", *(f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True))]))
    for drop in drops:
        for finding in drop["findings"]:
            print(f"{drop['drop']}: {finding}")


def _cell(value) -> str:
    return "-" if value is None else str(value)


def _verdict(drop: dict) -> str:
    if drop["balanced"] is None:
        return f"recording ({drop['journal']})"
    return "yes" if drop["balanced"] else "NO"


# --- arguments --------------------------------------------------------------------------------------------------------------------


def _whole(low: int, high: int | None = None) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,18}", text):
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
        if int(text) < low or (high is not None and int(text) > high):
            raise argparse.ArgumentTypeError(f"{text} is not between {low} and {high}" if high else f"{text} is below {low}")
        return int(text)

    return parse


_port = _whole(0, up.PORT_MAX)


def _hold(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None
    if not HOLD_SECONDS_MIN <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"a hold lasts at least {HOLD_SECONDS_MIN:g} s")
    return seconds


def _moment(text: str) -> datetime:
    if text == "now":
        return datetime.now(UTC)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 2026-12-01T20:00:00Z (or now)") from None
    if moment.tzinfo is None:
        raise argparse.ArgumentTypeError(f"{text!r} names no time zone: add Z for UTC, or an offset such as +01:00")
    return moment.astimezone(UTC)


def _percent(text: str) -> int:
    """'7.25' -> 725 basis points."""
    points = round(float(text) * 100) if re.fullmatch(r"[0-9]{1,3}([.][0-9]{1,2})?", text) else -1
    if not 0 <= points <= 10_000:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a percentage from 0 to 100 with at most two decimals, such as 19 or 7.25"
        )
    return points


def _fee(text: str) -> tuple[str, str]:
    country, sign, amount = text.partition("=")
    if not country or not sign or not amount:
        raise argparse.ArgumentTypeError(f"{text!r} is not COUNTRY=AMOUNT, such as DE=4.90")
    return country, amount


def _variant(text: str) -> tuple[str, int]:
    name, _, units = text.rpartition("=")
    if not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=QTY, such as M=20")
    return name.strip(), _whole(1)(units)


if __name__ == "__main__":
    sys.exit(main())
