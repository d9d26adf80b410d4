"""Every page, phase and state in phone and desktop, light and dark: photographed, read by axe, still, and from this shop alone.

The pictures of a run are in artifacts/screens, all of them together in artifacts/contact-sheet.webp. After a change of the look,
copy that to docs/contact-sheet.webp: the README shows it.
"""

import asyncio
import shutil
from pathlib import Path

import pytest

from app.web.render import ROOT
from e2e.contact_sheet import lay_out
from e2e.gallery import LOOKS, Sheet, Visitor, sheets
from e2e.people import SHIFTED

pytestmark = pytest.mark.slow
ARTIFACTS = ROOT / "artifacts"
AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
READ_BY_AXE = ("phone-light", "phone-dark", "desktop-dark")  # every width and every colour
SHIFT_MAX = 0.05
SHEET_BYTES_MAX = 500_000

RUN_AXE = """async () => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  return found.violations.flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.target} ${node.failureSummary ?? one.help}`));
}"""


@pytest.fixture(scope="module")
async def visits(house, browser):
    """-> what each look found on each page; the screenshots are taken on the way."""
    shown = sheets()
    shutil.rmtree(ARTIFACTS / "screens", ignore_errors=True)
    found: dict[str, list[str]] = {"axe": [], "shifts": [], "foreign": [], "complaints": []}

    async def walk(look: str) -> None:
        visitor = await Visitor.comes(house, browser, look)
        folder = ARTIFACTS / "screens" / look
        folder.mkdir(parents=True)
        for sheet in shown:
            await visitor.looks_at(sheet)
            await visitor.page.screenshot(path=folder / f"{sheet.name}.jpg", type="jpeg", quality=82)
            shift = await visitor.page.evaluate(SHIFTED)
            if shift >= SHIFT_MAX:
                found["shifts"].append(f"{look} {sheet.name}: {shift:.3f}")
            if look in READ_BY_AXE:
                await visitor.page.evaluate(AXE)
                found["axe"] += [f"{look} {sheet.name}: {fault}" for fault in await visitor.page.evaluate(RUN_AXE)]
        found["foreign"] += visitor.foreign
        found["complaints"] += visitor.complaints
        await visitor.leaves()

    await asyncio.gather(*map(walk, LOOKS))
    return [sheet.name for sheet in shown], found


async def test_axe_finds_nothing_on_any_page_in_any_phase(visits):
    _, found = visits
    assert not found["axe"], "\n".join(found["axe"])


async def test_nothing_moves_while_a_page_loads(visits):
    _, found = visits
    assert not found["shifts"], "\n".join(found["shifts"])


async def test_nothing_is_asked_of_anybody_else_and_no_script_complains(visits):
    _, found = visits
    assert found["foreign"] == [] and found["complaints"] == []


async def test_every_page_is_on_the_contact_sheet(visits):
    names, _ = visits
    assert len(names) > 35 and len(set(names)) == len(names)
    for look in LOOKS:
        assert {path.stem for path in (ARTIFACTS / "screens" / look).glob("*.jpg")} == set(names)
    lay_out(ARTIFACTS / "screens", names, ARTIFACTS / "contact-sheet.webp")
    for sheet in (ARTIFACTS / "contact-sheet.webp", ROOT / "docs" / "contact-sheet.webp"):
        assert 0 < sheet.stat().st_size < SHEET_BYTES_MAX


async def test_axe_and_the_shift_meter_find_what_is_wrong(house, browser):
    page = '<!doctype html><html><title>x</title><main><h1>x</h1><img src="/static/img/favicon.svg"><p style="color:#ccc">pale</p>'
    page += '<script src="/gallery/push.js"></script></main></html>'
    visitor = await Visitor.comes(house, browser, "phone-light")
    visitor.policy = "default-src 'self'; style-src 'unsafe-inline'"
    push = "setTimeout(() => document.querySelector('h1').style.marginTop = '300px', 100)"
    await visitor.page.route("**/gallery/push.js", lambda route: route.fulfill(body=push, content_type="text/javascript"))
    await visitor.looks_at(Sheet("wrong", page))
    await visitor.page.evaluate(AXE)
    faults = "\n".join(await visitor.page.evaluate(RUN_AXE))
    for rule in ("image-alt", "color-contrast", "html-has-lang"):
        assert rule in faults
    await visitor.page.wait_for_function("document.querySelector('h1').style.marginTop")
    assert await visitor.page.evaluate(SHIFTED) >= SHIFT_MAX
    await visitor.leaves()
