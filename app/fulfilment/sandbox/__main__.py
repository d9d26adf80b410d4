"""`python -m app.fulfilment.sandbox --host H --port P --data FOLDER --token-file FILE`."""

import os
from pathlib import Path
from random import Random

from app.fulfilment.sandbox.warehouse import Warehouse
from app.sandbox import process
from app.sandbox.http import Application, Reply, Request, json_reply
from app.sandbox.script import SECONDS_MAX, BadScript, Doors, Script, count, flag, number, seconds_range
from app.sandbox.store import Store

SCHEMA = Path(__file__).with_name("schema.sql")
TRACKING_SECONDS = 5.0
NUMBERS = 1_000_000  # order numbers before they start again at the first


def main() -> None:
    options = process.arguments("python -m app.fulfilment.sandbox")
    script = _script()
    token = process.token(options.token_file)
    bound, url = process.listen(options.host, options.port)
    store = Store(options.data / "warehouse.sqlite", SCHEMA.read_text())
    warehouse = Warehouse(store, script, token, Random(os.environ.get("SANDBOX_SEED")))
    doors = Doors(token, script, warehouse.ledger)
    routes = [*warehouse.routes(), ("POST", "/sandbox/script", doors.change), ("GET", "/sandbox/ledger", doors.ledger)]
    process.serve(Application(routes, _unknown), bound, url)


def _script() -> Script:
    return Script(
        {
            "lag": _seconds,
            "tracking": _seconds,
            "latency": seconds_range,
            "numbers": _numbers,
            "drop_after_create": count,
            "outage": flag,
        },
        lag=0.0,
        tracking=TRACKING_SECONDS,
        latency=(0.0, 0.0),
        numbers=NUMBERS,
        drop_after_create=0,
        outage=False,
    )


def _seconds(name: str, value) -> float:
    return number(name, value, SECONDS_MAX)


def _numbers(name: str, value) -> int:
    if count(name, value) < 1:
        raise BadScript(f"{name} must be at least 1")
    return value


def _unknown(request: Request) -> Reply:
    return json_reply({"error": {"message": f"Nothing here: {request.method} {request.path}"}}, 404)


if __name__ == "__main__":
    main()
