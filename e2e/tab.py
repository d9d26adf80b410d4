"""A tab that can be hidden and put to sleep, as a phone does with what its owner has turned away from.

Playwright tells every page it drives that it has the focus, so none of them is ever hidden or frozen. These tabs stand beside its
pages in the same browser, driven by DevTools commands alone: really hidden (`visibilitychange`), really frozen (`freeze`, `resume`;
timers and messages stand still), and whoever asks is told whether they were.
"""

import asyncio
import itertools
import json
import time
from typing import Any

from playwright.async_api import Browser, CDPSession

ANSWER_SECONDS = 20
LOOK_SECONDS = 0.03

# How long it slept, what it then still showed, and how often a beat of its own came meanwhile.
WATCHES_ITSELF = """(() => {
  window.slept = null;
  let frozenAt = 0, beats = 0;
  setInterval(() => { beats += 1; }, 20);
  document.addEventListener("freeze", () => { frozenAt = performance.now(); beats = 0; }, true);
  document.addEventListener("resume", () => {
    const shown = { ...document.querySelector("[data-phase], [data-order-state]").dataset };
    window.slept = { seconds: (performance.now() - frozenAt) / 1000, beats, hidden: document.hidden, shown };
  }, true);
})()"""


class Tab:
    """One tab in a browser profile of its own. `cookie`: a Cookie header, of somebody who is signed in."""

    def __init__(self, devtools: CDPSession):
        self._devtools = devtools
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future] = {}
        devtools.on("Target.receivedMessageFromTarget", self._hears)

    @classmethod
    async def opens(cls, browser: Browser, url: str, cookie: str = "") -> "Tab":
        tab = cls(await browser.new_browser_cdp_session())
        profile = (await tab._devtools.send("Target.createBrowserContext"))["browserContextId"]
        made = await tab._devtools.send("Target.createTarget", {"url": "about:blank", "browserContextId": profile})
        tab._target = made["targetId"]
        attached = await tab._devtools.send("Target.attachToTarget", {"targetId": tab._target, "flatten": False})
        tab._session = attached["sessionId"]
        tab._window = (await tab._devtools.send("Browser.getWindowForTarget", {"targetId": tab._target}))["windowId"]
        if cookie:
            name, _, value = cookie.partition("=")
            await tab._asks("Network.setCookie", {"name": name, "value": value, "url": url})
        await tab._asks("Page.navigate", {"url": url})
        await tab.shows("document.readyState === 'complete' && location.href !== 'about:blank'", within_seconds=ANSWER_SECONDS)
        await tab.evaluates(WATCHES_ITSELF)
        return tab

    async def closes(self) -> None:
        await self._devtools.send("Target.closeTarget", {"targetId": self._target})

    async def sleeps(self) -> None:
        """Out of sight, then frozen."""
        await self._window_is("minimized")
        await self._asks("Page.setWebLifecycleState", {"state": "frozen"})

    async def wakes(self) -> dict[str, Any]:
        """In sight again -> how the sleep was: `seconds`, `beats`, `hidden`, and `shown`, what it showed at that moment."""
        await self._asks("Page.setWebLifecycleState", {"state": "active"})
        await self._window_is("normal")
        return await self.evaluates("window.slept")

    async def shows(self, condition: str, *, within_seconds: float) -> None:
        """Wait until this expression holds on the page."""
        give_up_at = time.monotonic() + within_seconds
        while not await self.evaluates(f"Boolean({condition})"):
            assert time.monotonic() < give_up_at, f"after {within_seconds} s still not: {condition}"
            await asyncio.sleep(LOOK_SECONDS)

    async def evaluates(self, expression: str) -> Any:
        answer = await self._asks("Runtime.evaluate", {"expression": expression, "returnByValue": True})
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def _window_is(self, state: str) -> None:
        await self._devtools.send("Browser.setWindowBounds", {"windowId": self._window, "bounds": {"windowState": state}})

    async def _asks(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        message = json.dumps({"id": number, "method": method, "params": params})
        await self._devtools.send("Target.sendMessageToTarget", {"sessionId": self._session, "message": message})
        told = await asyncio.wait_for(answer, ANSWER_SECONDS)
        assert "error" not in told, told
        return told["result"]

    def _hears(self, event: dict[str, Any]) -> None:
        message = json.loads(event["message"])
        if event["sessionId"] == getattr(self, "_session", None) and message.get("id") in self._waiting:
            self._waiting.pop(message["id"]).set_result(message)
