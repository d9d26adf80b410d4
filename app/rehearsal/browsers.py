"""People with real browsers, and one seller at the dashboard, while the crowd buys: what they saw, as pictures, traces and stories.

They do what people do: wait on the drop's page, tap Buy when it can be tapped, pay, look. A page that fails under a fault is loaded
again; an error of a script, something the policy blocked or a request to a stranger is a complaint, fault or not. With the fault
`browser-clock` one of them lives an hour ahead and then jumps: the countdown must not believe it.

`python -m app.rehearsal.browsers INPUT OUTPUT`: prints `{"ready": true}` (or `{"failed": why}`), waits for a line with the times,
plays, writes OUTPUT and ends. Playwright is needed only here; it comes with requirements-test.txt.
"""

import asyncio
import base64
import io
import json
import os
import re
import shutil
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from app.rehearsal.judge import ANSWERS
from app.rehearsal.sayings import Said, remembered, say

PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 900}
ARGUMENTS = ["--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--no-first-run"]
STEP_MS = 5_000
LOOK_SECONDS = 0.25
PICTURES_MAX = 40
PICTURE_WIDTH_MAX = 720
PICTURE_QUALITY = 70
PRESSES_MAX = 40
COMPLAINT_CHARACTERS_MAX = 300
COMPLAINTS_MAX = 20  # of one person
CLOCK_AHEAD_SECONDS, CLOCK_JUMP_SECONDS, CLOCK_TOLERANCE_SECONDS = 3600, 600, 1.5
ENDED = ("PAID", "EXPIRED", "FAILED", "CANCELLED", "REFUNDED", "REFUSED", "LOST")
OVER = ("all_held", "sold_out", "closed", "cancelled")
HARMLESS = ("Failed to load resource", "WebSocket connection", "Transition was ", "ERR_", "NetworkError", "Failed to fetch")
OWNER = "owner@example.org"


def what_is_missing() -> str | None:
    """-> a sentence when there is no Playwright here; None when there is."""
    if find_spec("playwright") is None:
        return (
            "Browsers need Playwright, which is not installed here: pip install playwright, then playwright install chromium "
            "(bin/test sets both up). Or leave --browsers out"
        )
    return None


class Person:
    """One shopper, one browser profile, one page."""

    def __init__(self, play: "Play", number: int, page, name: str):
        self.play, self.number, self.page, self.name = play, number, page, name
        self.final: str = "unheard"
        self.order: str | None = None
        self.told: list[str] = []
        self.complaints: list[str] = []
        page.on(
            "pageerror",
            lambda error: self.complains(say("a script failed: %(error)s", error=str(error)[:COMPLAINT_CHARACTERS_MAX])),
        )
        page.on("console", lambda message: message.type == "error" and self.complains(message.text))
        page.on("request", lambda request: self.asked(request.url))

    def complains(self, text: str) -> None:
        if not any(words in text for words in HARMLESS) and len(self.complaints) < COMPLAINTS_MAX:
            self.complaints.append(text if isinstance(text, Said) else text[:COMPLAINT_CHARACTERS_MAX])

    def asked(self, url: str) -> None:
        if not url.startswith((self.play.url, self.play.bank, "data:", "blob:", "about:", "ws:")):
            self.complains(say("a request to a stranger: %(url)s", url=url[:COMPLAINT_CHARACTERS_MAX]))

    async def opens(self, path: str) -> None:
        """Go there, again and again while the shop is out of reach."""
        from playwright.async_api import Error

        while not self.play.over():
            with suppress(Error):
                answer = await self.page.goto(path)
                if answer is not None and answer.status < 500:
                    return
            await asyncio.sleep(LOOK_SECONDS * 2)

    async def attribute(self, selector: str, name: str) -> str | None:
        from playwright.async_api import Error

        with suppress(Error):
            return await self.page.locator(selector).first.get_attribute(name, timeout=500)
        return None

    async def phase(self) -> str | None:
        return await self.attribute("#scene", "data-phase")


class Shopper(Person):
    async def lives(self) -> None:
        await self.opens(f"/drops/{self.play.slug}")
        await self.play.photographs(self, say("before the opening"))
        if self.play.clock and self.number == 0:
            await self.checks_the_clock()
        while await self.phase() in ("announced", "last_seconds") and not self.play.over():  # noqa: ASYNC110 (it is a page)
            await asyncio.sleep(0.05)
        await self.presses()
        if self.order is not None:
            await self.owns()

    async def presses(self) -> None:
        from playwright.async_api import Error

        for press in range(PRESSES_MAX):
            phase = await self.phase()
            if phase in OVER and press:
                break
            if phase is None:
                await self.opens(f"/drops/{self.play.slug}")
            with suppress(Error):
                await self.page.locator("[data-buy-button]:enabled").first.click(timeout=1_500)
                await self.page.wait_for_url(re.compile(r"/orders/"), timeout=3_000)
            found = re.search(r"/orders/([0-9a-f-]{36})", self.page.url)
            if found:
                self.order = found[1]
                self.told.append("reserved")
                await self.play.photographs(self, say("it is theirs"))
                return
            await asyncio.sleep(LOOK_SECONDS)
        self.final = "no"
        self.told.append(await self.phase() or "no")
        await self.play.photographs(self, say("there was none left"))

    async def owns(self) -> None:
        from playwright.async_api import Error

        looked_at = 0.0
        while not self.play.over():
            state = await self.attribute("[data-order-state]", "data-order-state")
            if state in ENDED:
                self.final = state.lower()
                await self.play.photographs(self, say("the order: %(state)s", state=ANSWERS.get(self.final, self.final)))
                return
            if state == "PENDING_PAYMENT":
                with suppress(Error):
                    await self.page.locator("label:has(input[value=pm_card_visa])").first.click(timeout=1_000)
                    await self.page.get_by_role("button", name=re.compile("^Order and pay ")).click(timeout=1_000)
            if state is None and time.monotonic() - looked_at > 1.0:
                looked_at = time.monotonic()
                await self.opens(f"/orders/{self.order}")
            await asyncio.sleep(LOOK_SECONDS)

    async def checks_the_clock(self) -> None:
        """The countdown goes by the shop's clock, an hour ahead or after a jump."""
        for what in (say("an hour ahead"), say("after a jump of ten minutes")):
            left = self.play.opens_at - time.time()
            if left < 2.0:
                self.play.clock_record["why"] = say("the door opened before the clock could be looked at")
                return
            shown = await self.seconds_shown()
            if not left - CLOCK_TOLERANCE_SECONDS - 1 <= shown <= left + CLOCK_TOLERANCE_SECONDS:
                seen = say(
                    "with its clock %(what)s the page shows %(shown)s s, and %(left)s s are left",
                    what=what,
                    shown=shown,
                    left=round(left, 1),
                )
                self.complains(seen)
            await self.page.clock.set_system_time(time.time() + CLOCK_JUMP_SECONDS)
        self.play.clock_record |= {"done": True, "ended": _now_ms()}

    async def seconds_shown(self) -> int:
        if await self.phase() == "last_seconds":
            return int(await self.page.locator("[data-digit] b").first.text_content() or 0)
        parts = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}
        shown = [int(await self.page.locator(f"[data-unit={unit}] b").first.text_content() or 0) * n for unit, n in parts.items()]
        return sum(shown)

    def story(self) -> dict:
        return {
            "number": self.play.crowd + self.number, "shopper": self.play.shoppers[self.number], "final": self.final,
            "orders": [self.order] if self.order else [], "order": self.order, "presses": 1, "told": self.told,
            "contradictions": [], "heard_ms": None, "meant_to_pay": self.order is not None,
        }  # fmt: skip


class Seller(Person):
    """The owner, at the dashboard's live view of the drop from before the opening to the end."""

    async def lives(self) -> None:
        if not await self.signs_in():
            self.complains(say("the seller could not sign in to the dashboard"))
            return
        await self.opens(f"/seller/drops/{self.play.drop_id}/live")
        await self.play.photographs(self, say("before the opening"))
        for seconds, title in (
            (1.0, say("a second after the opening")),
            (self.play.seconds / 2, say("half-time")),
            (self.play.seconds + 1, say("after the end")),
        ):
            await asyncio.sleep(max(0.0, self.play.opens_at + seconds - time.time()))
            if await self.page.locator("main").count() == 0:
                await self.opens(f"/seller/drops/{self.play.drop_id}/live")
            await self.play.photographs(self, title)
        self.final = "watched"

    async def signs_in(self) -> bool:
        from playwright.async_api import Error

        await self.opens("/seller/sign-in")
        try:
            await self.page.locator("input[name=email]").fill(OWNER)
            await self.page.locator("main button[type=submit]").click()
            await self.page.locator("input[name=code]").wait_for()
            code = await self.code_from_mail()
            await self.page.locator("input[name=code]").fill(code)
            await self.page.locator("main button[type=submit]").click()
            await self.page.wait_for_url(re.compile(r"/seller/?$"))
        except Error:
            return False
        return True

    async def code_from_mail(self) -> str:
        while not self.play.over():
            answer = await self.page.request.get("/dev/mail", headers={"Accept": "application/json"})
            for mail in await answer.json():
                if mail["to"] == OWNER and (found := re.search(r"\b(\d{6})\b", mail["text"])):
                    return found[1]
            await asyncio.sleep(LOOK_SECONDS)
        return "000000"


class Play:
    def __init__(self, given: dict, output: Path):
        self.url, self.bank, self.slug, self.crowd = given["url"], given["bank"], given["slug"], given["crowd"]
        self.cookies, self.shoppers, self.clock, self.seconds = (
            given["cookies"],
            given["shoppers"],
            given["clock"],
            given["seconds"],
        )
        self.dashboard = given["dashboard"]
        self.output = output
        self.pictures: list[dict] = []
        self.clock_record = {"began": None, "ended": None, "done": False, "why": say("no browser came so far")}
        self.opens_at = self.gives_up_at = 0.0
        self.drop_id = 0

    def over(self) -> bool:
        return time.time() > self.gives_up_at

    async def play(self) -> None:
        from playwright.async_api import Error, async_playwright

        async with async_playwright() as playwright:
            arguments = [*ARGUMENTS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
            try:
                browser = await playwright.chromium.launch(executable_path=chromium(), args=arguments)
            except Error as error:
                tell({"failed": f"no browser could be started: {str(error).splitlines()[0]}"})
                return
            people = [
                await self.comes(browser, Shopper, number, say("shopper %(number)s", number=str(number + 1)))
                for number in range(len(self.cookies))
            ]
            if self.dashboard:
                people.append(await self.comes(browser, Seller, len(people), say("the seller")))
            tell({"ready": True})
            line = await asyncio.to_thread(sys.stdin.readline)
            if not line:
                return
            times = json.loads(line)
            self.opens_at, self.gives_up_at, self.drop_id = times["opens_ms"] / 1000, times["gives_up_ms"] / 1000, times["drop_id"]
            if self.clock and people:
                await people[0].page.clock.install(time=time.time() + CLOCK_AHEAD_SECONDS)
                self.clock_record |= {"began": _now_ms(), "why": None}
            await asyncio.gather(*(self.lives(person) for person in people))
            for person in people:
                with suppress(Error):
                    await person.page.context.tracing.stop(
                        path=self.output.parent / "traces" / f"{person.name.replace(' ', '-')}.zip"
                    )
                await person.page.context.close()
            await browser.close()
        shoppers = [person for person in people if isinstance(person, Shopper)]
        found = {
            "stories": [person.story() for person in shoppers],
            "people": [{"who": person.name, "final": person.final, "complaints": person.complaints} for person in people],
            "pictures": self.pictures,
            "clock": self.clock_record,
        }
        found["sentences"] = remembered(found)
        draft = self.output.with_suffix(".draft")
        draft.write_text(json.dumps(found))
        draft.rename(self.output)

    async def comes(self, browser, kind: type, number: int, name: str) -> Person:
        desk = kind is Seller or number % 2
        context = await browser.new_context(viewport=DESKTOP if desk else PHONE, base_url=self.url)
        context.set_default_timeout(STEP_MS)
        await context.tracing.start(screenshots=True, snapshots=True)
        if kind is Shopper:
            cookie, _, value = self.cookies[number].partition("=")
            await context.add_cookies([{"name": cookie, "value": value, "url": self.url}])
        return kind(self, number, await context.new_page(), name)

    async def lives(self, person: Person) -> None:
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(max(0.0, self.gives_up_at - time.time())):
                await person.lives()
        except TimeoutError:
            pass
        except Error as error:
            person.complains(say("it stopped: %(error)s", error=str(error).splitlines()[0]))

    async def photographs(self, person: Person, title: str) -> None:
        """Take a picture of what somebody sees now, as a small WebP in a data address."""
        from PIL import Image
        from playwright.async_api import Error

        if len(self.pictures) >= PICTURES_MAX:
            return
        at = time.time() - self.opens_at
        with suppress(Error):
            taken = await person.page.screenshot(timeout=STEP_MS)
            picture = Image.open(io.BytesIO(taken)).convert("RGB")
            picture.thumbnail((PICTURE_WIDTH_MAX, 4 * PICTURE_WIDTH_MAX))
            kept = io.BytesIO()
            picture.save(kept, "WEBP", quality=PICTURE_QUALITY)
            data = "data:image/webp;base64," + base64.b64encode(kept.getvalue()).decode()
            size = {"width": picture.width, "height": picture.height}
            self.pictures.append({"who": person.name, "title": title, "at": round(at, 1), "data": data, **size})


def chromium() -> str | None:
    """-> the distribution's browser; None: Playwright's own."""
    return next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)


def tell(what: dict) -> None:
    print(json.dumps(what), flush=True)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    Path(sys.argv[2]).parent.joinpath("traces").mkdir(exist_ok=True)
    asyncio.run(Play(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])).play())
