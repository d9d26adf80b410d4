"""`python -m app.payments.sandbox --host H --port P --data FOLDER --token-file FILE`; the rest comes from the environment:

SANDBOX_LATENCY_SECONDS  low-high, s a bank takes (1-4)
SANDBOX_DECLINE_RATE     share of good cards that are declined all the same (0.2)
SANDBOX_SEED             makes latency and declines repeat, in the order of the requests
SANDBOX_WEBHOOK_URL      where events are sent; empty: nowhere
SANDBOX_WEBHOOK_SECRET   signs them
"""

import os
import sys
from pathlib import Path
from random import Random

from app.payments.sandbox import WEBHOOK_SECRET_ENV, WEBHOOK_URL_ENV, api
from app.payments.sandbox.api import Api
from app.payments.sandbox.bank import Bank
from app.payments.sandbox.pages import Pages
from app.payments.sandbox.webhooks import MODES, Webhooks
from app.sandbox import process
from app.sandbox.http import Application
from app.sandbox.script import BadScript, Doors, Script, count, flag, number, seconds_range
from app.sandbox.store import Store

SCHEMA = Path(__file__).with_name("schema.sql")
LATENCY_TAKEN = ("either", "before", "after")


def main() -> None:
    options = process.arguments("python -m app.payments.sandbox")
    script = _script()
    random = Random(os.environ.get("SANDBOX_SEED"))
    token = process.token(options.token_file)
    bound, url = process.listen(options.host, options.port)
    store = Store(options.data / "provider.sqlite", SCHEMA.read_text())
    webhooks = Webhooks(store, script, random, os.environ.get(WEBHOOK_URL_ENV, ""), os.environ.get(WEBHOOK_SECRET_ENV, ""))
    bank = Bank(store, url, random, lambda: script["decline_rate"], webhooks.announce)
    doors = Doors(token, script, bank.ledger, webhooks.wake)
    routes = [
        *Api(store, bank, script, token, random).routes(),
        *Pages(store, bank).routes(),
        ("POST", "/sandbox/script", doors.change),
        ("GET", "/sandbox/ledger", doors.ledger),
    ]
    process.serve(Application(routes, api.unknown), bound, url, webhooks.run)


def _script() -> Script:
    script = Script(
        {
            "latency": seconds_range,
            "latency_taken": _one_of(LATENCY_TAKEN),
            "decline_rate": lambda name, value: number(name, value, 1),
            "drop_after_capture": count,
            "outage": flag,
            "webhooks": _one_of(MODES),
        },
        latency=(1.0, 4.0),
        latency_taken="either",
        decline_rate=0.2,
        drop_after_capture=0,
        outage=False,
        webhooks="normal",
    )
    try:
        low, _, high = os.environ.get("SANDBOX_LATENCY_SECONDS", "1-4").partition("-")
        decline_rate = float(os.environ.get("SANDBOX_DECLINE_RATE", "0.2"))
        script.change({"latency": [float(low), float(high or low)], "decline_rate": decline_rate})
    except (BadScript, ValueError) as error:
        sys.exit(f"SANDBOX_LATENCY_SECONDS must be such as 1-4, SANDBOX_DECLINE_RATE such as 0.2: {error}")
    return script


def _one_of(lawful: tuple[str, ...]):
    def check(name: str, value) -> str:
        if value not in lawful:
            raise BadScript(f"{name} must be one of {', '.join(lawful)}")
        return value

    return check


if __name__ == "__main__":
    main()
