"""The script door: what a sandbox shall do to its callers from now on, and its ledger, for tests and rehearsals.

`POST /sandbox/script` changes the named settings and answers all of them; `GET /sandbox/ledger` answers what really happened. Both
want `Authorization: Bearer TOKEN`. A script lives as long as the process: a restart is back at the settings of the environment.
"""

import hmac
import math

from app.sandbox.http import Reply, Request, json_reply

SECONDS_MAX = 600
DROPS_MAX = 1_000_000


class BadScript(Exception):
    """The text says which setting is wrong, and what is lawful."""


def number(name: str, value, highest: float, lowest: float = 0) -> float:
    """-> value as float; BadScript unless lowest <= value <= highest."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or not lowest <= value <= highest:
        raise BadScript(f"{name} must be a number between {lowest:g} and {highest:g}")
    return float(value)


def count(name: str, value) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= DROPS_MAX:
        raise BadScript(f"{name} must be a whole number between 0 and {DROPS_MAX}")
    return value


def flag(name: str, value) -> bool:
    if not isinstance(value, bool):
        raise BadScript(f"{name} must be true or false")
    return value


def seconds_range(name: str, value) -> tuple[float, float]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise BadScript(f"{name} must be a pair of seconds such as [1, 4]")
    low, high = (number(name, part, SECONDS_MAX) for part in value)
    if low > high:
        raise BadScript(f"{name} must name the shorter time first")
    return low, high


class Script:
    """Settings by name, each with the function that checks a new value. All of a request is applied, or nothing of it."""

    def __init__(self, checks: dict[str, object], **settings):
        self._checks = checks
        self.settings = settings

    def __getitem__(self, name: str):
        return self.settings[name]

    def change(self, wanted) -> None:
        if not isinstance(wanted, dict):
            raise BadScript("a script is a JSON object")
        unknown = wanted.keys() - self._checks.keys()
        if unknown:
            raise BadScript(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(sorted(self._checks))}")
        self.settings |= {name: self._checks[name](name, value) for name, value in wanted.items()}

    def spend(self, name: str) -> bool:
        """True, and one less, while the counter `name` is above zero."""
        if self.settings[name] < 1:
            return False
        self.settings[name] -= 1
        return True


class Doors:
    """The two doors as handlers. `ledger`: () -> the rows; `changed`: called after every accepted script."""

    def __init__(self, token: str, script: Script, ledger, changed=lambda: None):
        self._token = token
        self._script = script
        self._ledger = ledger
        self._changed = changed

    async def change(self, request: Request) -> Reply:
        if not bearer(request, self._token):
            return _closed()
        try:
            self._script.change(request.json())
        except (BadScript, ValueError) as error:
            return json_reply({"error": {"message": str(error)}}, 400)
        self._changed()
        return json_reply(self._script.settings)

    async def ledger(self, request: Request) -> Reply:
        return json_reply(self._ledger()) if bearer(request, self._token) else _closed()


def bearer(request: Request, token: str) -> bool:
    """Whether the request carries this token."""
    scheme, _, told = request.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(told.strip().encode(), token.encode())


def _closed() -> Reply:
    message = "This door needs Authorization: Bearer and the sandbox's token."
    return json_reply({"error": {"message": message}}, 401, {"www-authenticate": "Bearer"})
