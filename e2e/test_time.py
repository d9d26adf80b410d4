"""The countdown goes by the shop's clock, whatever the device believes; the door opens at its second, and never before."""

import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest

pytestmark = pytest.mark.slow
HOUR_SECONDS = 3600
JUMP_SECONDS = 600
OPENS_IN_SECONDS = 20


async def test_a_device_clock_that_is_wrong_or_jumps_changes_nothing(house, comes, shoppers):
    house.ensure_shop()
    people = {name: await comes(f"{name}@example.org", signed_in=True) for name in ("ahead", "behind", "jumps")}
    await people["ahead"].page.clock.install(time=time.time() + HOUR_SECONDS)
    await people["behind"].page.clock.install(time=time.time() - HOUR_SECONDS)
    await people["jumps"].page.clock.install(time=time.time())
    opens_at = datetime.now(UTC) + timedelta(seconds=OPENS_IN_SECONDS)
    house.opens_drop("true-time", 9, "--opens-at", opens_at.isoformat())
    for person in people.values():
        await person.opens("/drops/true-time")
    loads = {name: person.loads for name, person in people.items()}

    async def agree() -> None:
        for name, person in people.items():
            before = (opens_at - datetime.now(UTC)).total_seconds()
            shown = await person.seconds_shown()
            after = (opens_at - datetime.now(UTC)).total_seconds()
            assert after - 1.5 <= shown <= before + 1.5, f"{name}: {shown} is shown, {before:.1f} s are left"
            assert not await person.can_buy()

    await agree()
    await people["jumps"].page.clock.set_system_time(time.time() + JUMP_SECONDS)
    await agree()
    assert "ahead" in await people["ahead"].page.locator("[data-clock]").text_content()
    assert "behind" in await people["behind"].page.locator("[data-clock]").text_content()

    await asyncio.sleep((opens_at - datetime.now(UTC)).total_seconds() - 1)
    for person in people.values():
        assert not await person.can_buy()
    [early] = shoppers(1)
    refused = await early.buys("true-time", key="the-one")
    assert refused.status_code == 409 and refused.json()["verdict"] == "not_open"
    assert 1 <= int(refused.headers["retry-after"]) <= 2
    assert datetime.now(UTC) < opens_at, "too slow a machine to have asked before the opening"

    for person in people.values():
        await person.page.locator("[data-buy-button]:enabled").wait_for()
        assert datetime.now(UTC) >= opens_at
    assert {name: person.loads for name, person in people.items()} == loads, "the button arms without a reload"
    for person in people.values():
        await person.buys()
    granted = await early.buys("true-time", key="the-one")
    assert granted.status_code == 201, "the early attempt must not have burned its key"
    assert house.books_at_rest("true-time")["held"] == 4
