"""Names by API: what nobody sees, or what turns the writing around it, is no title and no variant, whatever the address."""

import pytest

from app.domain.names import NOT_SEEN, TURNING

from .test_drops import DRAFT


@pytest.mark.parametrize(("name", "why"), [("\u200b\u2060", NOT_SEEN), ("Lamp \u202egnp", TURNING), ("\u2066Lamp", TURNING)])
async def test_such_a_draft_says_so_and_is_not_published(shop, program, name, why):
    said = DRAFT | {"title": name, "slug": "lamp", "variants": [{"name": "S", "units": 1}, {"name": name, "units": 1}]}
    draft = (await program.post("/drafts", json=said)).json()
    assert draft["problems"] == {"title": why, "variant-2-name": why}
    refused = await program.post(f"/drafts/{draft['id']}/publish", json={"version": draft["version"]})
    assert (refused.status_code, refused.json()["field"], refused.json()["detail"]) == (422, "title", why)
    assert await shop.ledger.drop_by_slug("lamp") is None
