"""People with browsers: their verbs, nothing of the page's inside. They wait for what they see, never for a while."""

import asyncio
import re
import shutil
import time

from playwright.async_api import Browser, Error, Page, expect

from tests.house import House

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--no-first-run"]
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 900}
SEES_MS = 20_000
TABS_MAX = 60  # presses of the Tab key until a person gives up

# What a person reads in the page's main part, but for what passes by itself: digits that count down, people who come and go.
PASSING = "[role=timer], [data-countdown-short], [data-watching-line], [data-clock], [data-digit], .visually-hidden, template"
READS = r"""(passing) => {
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const words = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.textContent.trim().replace(/\s+/g, " ");
    const place = node.parentElement;
    if (text && !place.closest(passing) && place.checkVisibility({ visibilityProperty: true })) words.push(text);
  }
  const bands = [...document.querySelectorAll(".strip > i")].map((band) => band.className || "f").join("");
  return [...words, bands];
}"""
# How far things moved by themselves since the page was asked for (CLS, as one sum).
SHIFTED = """() => new Promise((tell) => {
  let sum = 0;
  new PerformanceObserver((list) => { for (const one of list.getEntries()) if (!one.hadRecentInput) sum += one.value; })
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => tell(sum), 50);
})"""
# Whether the focus can be seen: an outline on what has it, or on what stands around it.
FOCUS_SHOWS = """() => {
  const outlined = (one) => getComputedStyle(one).outlineStyle !== "none" && getComputedStyle(one).outlineWidth !== "0px";
  for (let one = document.activeElement; one && one.localName !== "main"; one = one.parentElement) if (outlined(one)) return true;
  return false;
}"""


def chromium() -> str | None:
    """-> the distribution's browser; None: Playwright's own."""
    return next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)


class Person:
    """One person, one browser profile, one page."""

    def __init__(self, house: House, page: Page, email: str):
        self.house, self.page, self.email = house, page, email
        self.loads = 0  # how often the browser loaded a document: to tell a live page from a reloaded one
        self.complaints: list[str] = []  # errors of scripts, blocked by the policy included; requests to strangers
        self.bank = house.parts()["provider"]["url"]
        page.on("request", lambda request: self._asked(request.url))
        page.on("load", lambda _: self._loaded())
        page.on("pageerror", lambda error: self._heard(str(error)))
        page.on("console", lambda message: message.type == "error" and self._heard(message.text))

    @classmethod
    async def comes(
        cls, house: House, browser: Browser, email: str = "mira@example.org", viewport: dict = PHONE, cookie: str = "", **more
    ) -> "Person":
        """`cookie`: of a shopper who is signed in already (`house.shoppers`)."""
        context = await browser.new_context(viewport=viewport, base_url=house.url, **more)
        context.set_default_timeout(SEES_MS)
        if cookie:
            name, _, value = cookie.partition("=")
            await context.add_cookies([{"name": name, "value": value, "url": house.url}])
        return cls(house, await context.new_page(), email)

    async def leaves(self) -> None:
        await self.page.context.close()

    async def opens_another_tab(self) -> "Person":
        """-> the same person in a second tab."""
        return Person(self.house, await self.page.context.new_page(), self.email)

    def _loaded(self) -> None:
        self.loads += 1

    def _asked(self, url: str) -> None:
        if not url.startswith((self.house.url, self.bank, "data:", "blob:")):
            self.complaints.append(f"a request to {url}")

    def _heard(self, text: str) -> None:
        harmless = ("status of 4", "Transition was ")  # a refused request is an answer; who leaves sees no transition
        if not any(words in text for words in harmless):
            self.complaints.append(text)

    # ---- doing ---------------------------------------------------------------------------------------------------------------

    async def opens(self, path: str) -> None:
        await self.page.goto(path)

    async def signs_in(self, then: str = "/") -> None:
        """Ask for a code, read the mail, type the code."""
        await self.page.goto(f"/sign-in?next={then}")
        await self.page.get_by_label("E-mail address").fill(self.email)
        await self.page.get_by_role("button", name="Send me the digits").click()
        code = self.page.locator("input[name=code]")
        await expect(code).to_be_visible()
        await code.fill(await self._code_from_mail())
        await self.page.locator("main button[type=submit]").first.click()
        await self.page.wait_for_url(re.compile(re.escape(self.house.url + then) + r"(\?.*)?$"))

    async def _code_from_mail(self) -> str:
        give_up_at = time.monotonic() + SEES_MS / 1000
        while time.monotonic() < give_up_at:
            answer = await self.page.request.get("/dev/mail", headers={"Accept": "application/json"})
            for mail in await answer.json():
                if mail["to"] == self.email and mail["kind"] == "sign_in_code":
                    return re.search(r"\b(\d{6})\b", mail["text"])[1]
            await asyncio.sleep(0.1)
        raise AssertionError(f"no sign-in code came for {self.email}")

    async def looks_again(self) -> None:
        """Reload; a page that is just being left is waited for."""
        try:
            await self.page.reload()
        except Error:
            await self.page.wait_for_load_state()
            await self.page.reload()

    async def buys(self) -> None:
        """One tap, and the order page."""
        await self.page.locator("[data-buy-button]").click()
        await self.page.wait_for_url(re.compile(r"/orders/"))

    async def pays(self, card: str = "pm_card_visa") -> None:
        await self.page.locator(f"label:has(input[value={card}])").click()
        await self.page.get_by_role("button", name=re.compile("^Order and pay ")).click()

    async def authenticates(self) -> None:
        """To the bank's page, yes, and back to the shop."""
        await self.page.get_by_role("link", name="Go to your bank’s page").click()
        await self.page.get_by_role("button", name="Complete authentication").click()
        await self.page.get_by_role("link", name="Back to the shop").click()
        await self.page.wait_for_url(re.compile(r"/orders/|/o/"))

    async def tabs_to(self, selector: str) -> None:
        """By the Tab key alone, to something that then shows that it has the focus."""
        for _ in range(TABS_MAX):
            await self.page.keyboard.press("Tab")
            if await self.page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
                assert await self.page.evaluate(FOCUS_SHOWS), f"{selector} has the focus and does not show it"
                return
        raise AssertionError(f"{TABS_MAX} presses of Tab never reach {selector} on {self.page.url}")

    async def presses(self, key: str) -> None:
        await self.page.keyboard.press(key)

    async def gives_the_unit_back(self) -> None:
        await self.page.get_by_text("I changed my mind").click()
        await self.page.get_by_role("button", name="Give it back").click()

    # ---- seeing --------------------------------------------------------------------------------------------------------------

    async def sees_phase(self, phase: str, timeout_ms: float = SEES_MS) -> None:
        await expect(self.page.locator(f"[data-phase={phase}]").first).to_be_attached(timeout=timeout_ms)

    async def sees_left(self, units: int) -> None:
        await expect(self.page.locator("#scene")).to_have_attribute("data-left", str(units), timeout=SEES_MS)

    async def sees_order(self, *states: str) -> None:
        order = self.page.locator("#order")
        await expect(order).to_have_attribute("data-order-state", re.compile("|".join(states)), timeout=SEES_MS)

    async def reads(self) -> list[str]:
        """-> what stands in the main part of the page, without what passes by itself; the strip's bands last."""
        return await self.page.evaluate(READS, PASSING)

    async def tab_icon(self) -> str:
        """-> which of the icons the tab shows: go, wait, plain or yours."""
        return re.search(r"favicon-(\w+)\.svg", await self.page.locator("link[rel=icon]").get_attribute("href"))[1]

    async def has_seen_things_move(self) -> float:
        """-> the layout shift of this page so far."""
        return await self.page.evaluate(SHIFTED)

    async def buy_button_stands_at(self) -> tuple[int, int]:
        """-> the left and upper edge of the button, in pixels of the window."""
        box = await self.page.locator("[data-buy-button]").bounding_box()
        return round(box["x"]), round(box["y"])

    async def can_buy(self) -> bool:
        return await self.page.locator("[data-buy-button]").is_enabled()

    async def seconds_shown(self) -> int:
        """-> what the countdown says, in seconds."""
        parts = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}
        total = 0
        for unit, seconds in parts.items():
            total += seconds * int(await self.page.locator(f"[data-unit={unit}] b").text_content() or 0)
        return total
