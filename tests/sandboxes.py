"""A sandbox provider or warehouse as its own process, for tests that look at it from outside and kill it."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[1]
STOP_SECONDS_MAX = 10
ANSWER_SECONDS_MAX = 10
SEEN_SECONDS_MAX = 20
LOOK_SECONDS = 0.01
PROVIDER_TIMEOUT_SECONDS = 5.0
PROVIDER = "app.payments.sandbox"
WAREHOUSE = "app.fulfilment.sandbox"


class Sandbox:
    def __init__(self, module: str, data: Path, **environment: str):
        self.module, self.data = module, data
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("SANDBOX_", "STRIPE_"))}
        self.environment = clean | {"SANDBOX_LATENCY_SECONDS": "0-0", "SANDBOX_DECLINE_RATE": "0"} | environment
        self.url = ""
        self.process: subprocess.Popen | None = None
        self.start()

    def start(self) -> None:
        """Start it; after a stop or a kill it comes back at the same address with the same data."""
        port = self.url.rpartition(":")[2] or "0"
        arguments = ["--host", "127.0.0.1", "--port", port, "--data", self.data, "--token-file", self.data / "token"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", self.module, *arguments], cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, text=True
        )
        self.url = json.loads(self.process.stdout.readline())["url"]
        self.token = (self.data / "token").read_text()

    def killed(self) -> None:
        self.process.kill()
        self._gone()

    def stops(self) -> int:
        """-> exit status."""
        self.process.terminate()
        return self._gone()

    def _gone(self) -> int:
        status = self.process.wait(STOP_SECONDS_MAX)
        self.process.stdout.close()
        return status

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def script(self, **settings) -> dict:
        """-> all settings as they are now."""
        response = httpx.post(f"{self.url}/sandbox/script", json=settings, headers=self.bearer, timeout=ANSWER_SECONDS_MAX)
        assert response.status_code == 200, response.text
        return response.json()

    def ledger(self) -> list[dict]:
        response = httpx.get(f"{self.url}/sandbox/ledger", headers=self.bearer, timeout=ANSWER_SECONDS_MAX)
        assert response.status_code == 200, response.text
        return response.json()

    def row_of(self, intent_id: str) -> dict:
        """-> this intent's row of the provider's ledger."""
        return next(row for row in self.ledger() if row["payment_intent"] == intent_id)


async def seen(condition: Callable[[], bool]) -> None:
    """Return once `condition` holds; fail after SEEN_SECONDS_MAX."""
    async with asyncio.timeout(SEEN_SECONDS_MAX):
        while not condition():  # noqa: ASYNC110 (it looks at another process)
            await asyncio.sleep(LOOK_SECONDS)
