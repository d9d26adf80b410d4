"""A whole Doorman for a test: `doorman up` as a person starts it, driven only through the public contract."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from app.bench.crowd import Ask, Crowd, Tally

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 40.0
QUICK = {
    "DOORMAN_SWEEP_SECONDS": "0.5",
    "DOORMAN_RECONCILE_SECONDS": "0.5",
    "DOORMAN_GRACE_SECONDS": "1",
    "DOORMAN_PROVIDER_TIMEOUT_SECONDS": "2",
    "DOORMAN_JOB_TIMEOUT_SECONDS": "3",
    "DOORMAN_CLAIM_DEAD_SECONDS": "4",
    "DOORMAN_QUEUE_RETRY_SECONDS": "5",
    "SANDBOX_LATENCY_SECONDS": "0-0.05",
    "SANDBOX_DECLINE_RATE": "0",
}
SETTLED_SECONDS_MAX = 1 + 4 + 2 + 2 * 0.5 + 20  # the bound of these settings, and a slow machine


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class House:
    """Start with `House.opens()`; everything below reads like what a person does."""

    def __init__(self, data: Path, port: int, environment: dict[str, str], web: int):
        self.data, self.port, self.web = data, port, web
        self.url = f"http://127.0.0.1:{port}"
        clean = {
            k: v for k, v in os.environ.items() if not k.startswith(("DOORMAN_", "SANDBOX_", "STRIPE_", "REDIS_", "DATABASE_"))
        }
        self.environment = {**clean, **QUICK, **environment}
        self.process: subprocess.Popen | None = None
        self._shop: int | None = None

    @classmethod
    def made(cls, *, web: int = 2, **environment: str) -> "House":
        data = Path(tempfile.mkdtemp(prefix="dmh-"))
        data.chmod(0o711)
        return cls(data, free_port(), environment, web)

    def start(self) -> None:
        log = (self.data / "up.log").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "app.cli", "up", "--port", str(self.port), "--data", self.data, "--web", str(self.web),
             "--no-demo"],
            cwd=ROOT, env=self.environment, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        log.close()
        give_up_at = time.monotonic() + START_SECONDS_MAX
        while not (self.ready() and (self.data / "run.json").exists()):
            if self.process.poll() is not None or time.monotonic() > give_up_at:
                raise AssertionError(f"up did not start:\n{self.log()}")
            time.sleep(0.05)

    def ready(self) -> bool:
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(f"{self.url}/readyz", timeout=2).status_code == 200
        return False

    def log(self) -> str:
        return (self.data / "up.log").read_text(errors="replace")[-8000:]

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(STOP_SECONDS_MAX)

    def kill(self) -> None:
        """kill -9 of `up` itself; its parts must follow it."""
        self.process.kill()
        self.process.wait()

    def tear_down(self) -> None:
        try:
            self.stop()
        finally:
            if self.process and self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
            shutil.rmtree(self.data, ignore_errors=True)

    # ---- what others use -----------------------------------------------------------------------------------------------------

    def parts(self) -> dict:
        return json.loads((self.data / "run.json").read_text())

    def doorman(self, *arguments: str, check: bool = True) -> str:
        """Run the command line -> its standard output."""
        done = subprocess.run(
            [sys.executable, "-m", "app.cli", *arguments, "--data", self.data],
            cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        if check and done.returncode:
            raise AssertionError(f"doorman {' '.join(arguments)}: {done.stderr or done.stdout}\n{self.log()}")
        return done.stdout

    def opens_drop(self, slug: str, quantity: int, *more: str) -> dict:
        shop = str(self.ensure_shop())
        return json.loads(
            self.doorman(
                "drop", "create", "--shop", shop, "--slug", slug, "--title", slug.title(),
                "--quantity", str(quantity), "--price", "49.00", "--currency", "EUR",
                *(() if "--opens-at" in more else ("--opens-at", "now")), *more,
            )
        )  # fmt: skip

    def ensure_shop(self) -> int:
        """-> number of the shop of owner@example.org; another test may have made one of its own before."""
        if self._shop is None:
            self._shop = json.loads(self.doorman("shop", "create", "--name", "Atelier", "--owner", "owner@example.org"))["id"]
        return self._shop

    def shoppers(self, count: int) -> list[str]:
        """-> Cookie header values of signed-in shoppers."""
        return self.doorman("shoppers", "mint", "--count", str(count)).split("\n")[:count]

    def books(self, slug: str) -> dict:
        return json.loads(self.doorman("books", slug, "--json", check=False))

    def books_at_rest(self, slug: str, seconds: float = SETTLED_SECONDS_MAX) -> dict:
        """-> the books once nothing is being recorded, held back or moving; fails when that never happens."""
        give_up_at = time.monotonic() + seconds
        while True:
            books = self.books(slug)
            if books["balanced"] and not books["journal"] and not books["returning"] and not books["processing"]:
                return books
            if time.monotonic() > give_up_at:
                raise AssertionError(f"the books of {slug} never come to rest: {books}\n{self.log()}")
            time.sleep(0.2)

    def provider_ledger(self) -> list[dict]:
        provider = self.parts()["provider"]
        return httpx.get(f"{provider['url']}/sandbox/ledger", headers={"Authorization": f"Bearer {provider['token']}"}).json()

    def mails(self, order: str, kind: str) -> list[dict]:
        """-> mails of this kind about this order in the development mailbox."""
        mails = httpx.get(f"{self.url}/dev/mail", headers={"Accept": "application/json"}, timeout=10).json()
        return [mail for mail in mails if mail["kind"] == kind and mail["order"] == order]

    def script(self, **what) -> None:
        """Tell the sandbox provider how to behave."""
        provider = self.parts()["provider"]
        done = httpx.post(f"{provider['url']}/sandbox/script", json=what, headers={"Authorization": f"Bearer {provider['token']}"})
        assert done.status_code == 200, done.text


class Shopper:
    """One signed-in shopper over HTTP, as JSON."""

    def __init__(self, house: House, cookie: str, client: httpx.AsyncClient | None = None):
        self.house = house
        self._client = client or httpx.AsyncClient(timeout=20)
        self._headers = {"Cookie": cookie, "Accept": "application/json"}

    async def buys(self, slug: str, *, key: str = "k", **fields) -> httpx.Response:
        return await self._client.post(f"{self.house.url}/drops/{slug}/buy", headers=self._headers, json={"key": key, **fields})

    async def pays(self, order: str, method: str = "pm_card_visa") -> httpx.Response:
        return await self._client.post(
            f"{self.house.url}/orders/{order}/pay", headers=self._headers, json={"payment_method": method}
        )

    async def cancels(self, order: str) -> httpx.Response:
        return await self._client.post(f"{self.house.url}/orders/{order}/cancel", headers=self._headers, json={})

    async def order(self, order: str) -> dict:
        answer = await self._client.get(f"{self.house.url}/orders/{order}", headers=self._headers)
        return answer.json() if answer.status_code == 200 else {"state": answer.status_code}

    async def sees(self, order: str, *states: str, seconds: float = SETTLED_SECONDS_MAX) -> dict:
        """Wait until the order is in one of these states -> the order."""
        return await self._sees(order, "state", states, seconds)

    async def sees_payment(self, order: str, *states: str, seconds: float = SETTLED_SECONDS_MAX) -> dict:
        """Wait until the order's money is in one of these states -> the order."""
        return await self._sees(order, "payment", states, seconds)

    async def _sees(self, order: str, what: str, states: tuple[str, ...], seconds: float) -> dict:
        give_up_at = time.monotonic() + seconds
        seen = None
        while True:
            with contextlib.suppress(httpx.HTTPError):
                seen = await self.order(order)
                if seen.get(what) in states:
                    return seen
            if time.monotonic() > give_up_at:
                raise AssertionError(f"order {order} is {seen}, expected {what} {states}\n{self.house.log()}")
            await asyncio.sleep(0.1)


def asking(house: House, slug: str, cookies: list[str], *, key: str = "k", variant: str = "") -> Ask:
    """-> the same buy for everyone."""
    body = f"key={key}" + (f"&variant={variant}" if variant else "")
    return Ask(url=f"{house.url}/drops/{slug}/buy", buyers=len(cookies), cookies=cookies, body=body, keep_bodies=True)


async def everyone_buys(
    house: House, slug: str, cookies: list[str], *, key: str = "k", variant: str = "", connections: int = 200
) -> Tally:
    """Everyone presses Buy once, over keep-alive connections -> every answer accounted for."""
    return await Crowd(asking(house, slug, cookies, key=key, variant=variant), connections).play()


async def everyone_pays(house: House, orders: list[tuple[str, str]], method: str = "pm_card_visa") -> Tally:
    """`orders`: (cookie, order) pairs; everyone submits a payment once."""
    cookies, ids = zip(*orders, strict=True)
    paths = [f"/orders/{order}/pay" for order in ids]
    ask = Ask(url=house.url, buyers=len(ids), cookies=cookies, paths=paths, body=f"payment_method={method}")
    return await Crowd(ask, 100).play()
