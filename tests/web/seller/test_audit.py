"""The audit log: every action with before and after, in pages, of this shop alone, for ever."""

import ast
import re

import asyncpg
import pytest

from app.domain.papers import Papers
from app.domain.plan import Plan
from app.languages import GERMAN, read_catalog, speaking
from app.ledger import AuditEntry
from app.ledger.drops import MOVED, as_published
from app.ledger.plan import Words
from app.web.render import ROOT
from app.web.seller.audit import ACTIONS, COMMAND_LINE, FIELDS, VALUES, Difference, differences
from tests.web.conftest import FORM
from tests.web.seller.test_staff import changes, id_of, invites, removes
from tests.web.test_templates import a_drop

A_TIME = None
WRITERS = {"audit": 2, "note_audit": 3, "audited": 2}  # which argument of each is the action


def entry(before, after) -> AuditEntry:
    return AuditEntry(1, A_TIME, "a", "b", "c", before, after)


async def test_what_was_done_stands_there_with_before_and_after(shop, owner, viewer):
    await invites(owner, "new@example.org", "support")
    await changes(owner, await id_of(shop, viewer.email), "viewer", "manager")
    await removes(owner, await id_of(shop, viewer.email))
    newest = await shop.ledger.audit_log(shop.shop_id, limit=3)
    assert [(one.action, one.subject, dict(one.before), dict(one.after)) for one in newest] == [
        ("staff removed", "viewer@example.org", {"role": "manager"}, {}),
        ("role changed", "viewer@example.org", {"role": "viewer"}, {"role": "manager"}),
        ("staff invited", "new@example.org", {}, {"role": "support"}),
    ]
    assert {one.actor for one in newest} == {"owner@example.org"}
    page = (await owner.get("/seller/audit")).text
    assert re.search(r"<dt>role</dt>.*<del>.*Viewer</del>.*→.*<ins>.*Manager</ins>", page)
    german = (await owner.get("/seller/audit?lang=de")).text
    assert re.search(r"<dt>Rolle</dt>.*<del>.*Zuschauer</del>.*→.*<ins>.*Leitung</ins>", german)


async def test_what_was_refused_stands_nowhere(shop, owner):
    await changes(owner, await id_of(shop, owner.email), "owner", "viewer")
    assert await shop.ledger.audit_log(shop.shop_id) == []


async def test_another_shops_log_is_not_this_ones(shop, owner, stranger):
    await invites(stranger, "secret@example.com")
    assert "secret@example.com" not in (await owner.get("/seller/audit")).text
    assert "secret@example.com" not in (await owner.get("/seller/audit?words=secret&actor=stranger@example.com")).text.replace(
        "<option selected>", ""
    )
    assert "secret@example.com" in (await stranger.get("/seller/audit")).text


async def test_pages_follow_each_other_without_a_gap(shop, owner):
    for number in range(120):
        await shop.ledger.audit(shop.shop_id, "machine", "signed in", f"entry {number:03d}")
    seen, url, pages = [], "/seller/audit", 0
    while url:
        page = (await owner.get(url)).text
        seen += re.findall(r"entry \d{3}", page)
        found = re.search(r'href="(/seller/audit\?[^"]*before=\d+)"', page)
        url, pages = found and found[1].replace("&amp;", "&"), pages + 1
    assert seen == [f"entry {number:03d}" for number in reversed(range(120))] and pages == 3


async def test_it_is_narrowed_by_who_what_and_about_what(shop, owner):
    done = (("ada", "signed in", "Night LAMP"), ("bob", "signed out", "night lamp"), ("ada", "signed out", "moka"))
    for actor, action, subject in done:
        await shop.ledger.audit(shop.shop_id, actor, action, subject)

    async def found(query):
        return re.findall(r'log__subject">([^<]*)<', (await owner.get(f"/seller/audit?{query}")).text)

    assert await found("actor=ada") == ["moka", "Night LAMP"]
    assert await found("action=signed+out") == ["moka", "night lamp"]
    assert await found("words=lamp") == ["night lamp", "Night LAMP"]
    assert await found("actor=ada&action=signed+out&words=mok") == ["moka"]
    assert await found("words=%25") == [], "no wildcard"
    assert "Nothing found" in (await owner.get("/seller/audit?words=zzz")).text


async def test_a_cursor_that_is_none_shows_the_newest(shop, owner):
    await shop.ledger.audit(shop.shop_id, "ada", "signed in", "moka")
    for cursor in ("", "x", "-1", "0", "9" * 30, "١"):
        page = await owner.get("/seller/audit", params={"before": cursor})
        assert page.status_code == 200 and "moka" in page.text, cursor


async def test_nothing_in_it_can_be_changed(shop):
    await shop.ledger.audit(shop.shop_id, "ada", "signed in", "moka")
    for statement in ("UPDATE audit SET actor = 'x'", "DELETE FROM audit", "TRUNCATE audit"):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await shop.rows(statement)


def test_differences_are_read_by_people():
    assert differences(entry({"opens_at": "20:00", "units": 5, "same": 1}, {"opens_at": "21:00", "units": 7, "same": 1})) == [
        Difference("opens", "20:00", "21:00"),
        Difference("pieces", "5", "7"),
    ]
    with speaking(GERMAN):
        assert differences(entry({"door": "open"}, {"door": "paused"})) == [Difference("Tür", "offen", "pausiert")]
        sizes = AuditEntry(1, A_TIME, "a", "units added", "c", {"left": 5}, {"left": 7})
        assert differences(sizes) == [Difference("left", "5", "7")], "a variant's name"
    assert differences(entry({}, {"restock": True, "sizes": ["S", "M"], "note": None})) == [
        Difference("back on sale", None, "yes"),
        Difference("sizes", None, "S, M"),
    ]
    assert len(differences(entry({}, {"text": "x" * 5000}))[0].after) == 400


async def test_what_people_typed_is_shown_as_text(shop, owner):
    await shop.ledger.audit(shop.shop_id, "<b>a</b>", "signed in", "<script>", {"x": "<i>"}, {"x": "<u>"})
    page = (await owner.get("/seller/audit")).text
    assert not re.search(r"<script>|<i>|<u>|<b>a", page)


def actions_in(source: str) -> set[str]:
    """-> every action that this code writes down by name."""
    found = set()
    for call in ast.walk(ast.parse(source)):
        name = getattr(getattr(call, "func", None), "attr", getattr(getattr(call, "func", None), "id", ""))
        if isinstance(call, ast.Call) and name in WRITERS and len(call.args) > WRITERS[name]:
            named = ast.walk(call.args[WRITERS[name]])
            found |= {one.value for one in named if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    return {one for one in found if not one.startswith(" ")}  # the rest of an f-string


def test_every_action_that_is_written_down_has_its_words():
    written = set().union(*(actions_in(path.read_text()) for path in (ROOT / "app").rglob("*.py")))
    assert {"signed in", "role changed", "units added"} <= written
    assert (written | set(MOVED.values())) - set(ACTIONS) == set()
    assert {name for name in gettext_of("de") if name in ACTIONS} == set(ACTIONS)


def fields_in(source: str) -> set[str]:
    """-> every field that this code writes down by name, before or after."""
    found = set()
    for call in ast.walk(ast.parse(source)):
        name = getattr(getattr(call, "func", None), "attr", getattr(getattr(call, "func", None), "id", ""))
        if isinstance(call, ast.Call) and name in WRITERS:
            for said in call.args[WRITERS[name] + 2 :]:
                keys = [key for one in ast.walk(said) if isinstance(one, ast.Dict) for key in one.keys]
                found |= {key.value for key in keys if isinstance(key, ast.Constant)}
    return found


def test_every_field_that_is_written_down_has_its_words():
    written = set().union(*(fields_in(path.read_text()) for path in (ROOT / "app").rglob("*.py")))
    assert {"role", "door", "left_minor", "webhook"} <= written
    whole = (Plan, Words, Papers)
    written |= {name for kind in whole for name in getattr(kind, "__struct_fields__", None) or kind.__slots__}
    written |= as_published(a_drop()).keys()
    assert written - set(FIELDS) == set()
    words = {*FIELDS.values(), *(word for values in VALUES.values() for word in values.values()), COMMAND_LINE}
    assert words - gettext_of("de") == set()


def gettext_of(tag: str) -> set[str]:
    return {message.id for message in read_catalog(tag) if message.id and message.string}


async def test_signing_in_and_out_is_written_down(shop):
    client = shop.browser()
    await client.post("/seller/sign-in", data={"email": "owner@example.org"}, headers=FORM)
    await client.post("/seller/sign-in/code", data={"code": await shop.newest_code()}, headers=FORM)
    await client.post("/seller/sign-out", headers=FORM)
    actions = [one.action for one in await shop.ledger.audit_log(shop.shop_id)]
    assert actions == ["signed out", "signed in"] and set(actions) <= set(ACTIONS)


async def test_what_was_done_at_the_command_line_is_said_in_the_readers_language(shop, owner):
    await shop.ledger.audit(shop.shop_id, COMMAND_LINE, "drop retired", "lamp", {"retired": False}, {"retired": True})
    assert 'log__who">command line<' in (await owner.get("/seller/audit")).text
    german = (await owner.get("/seller/audit?lang=de&actor=command+line")).text
    assert 'log__who">Befehlszeile<' in german and '<option value="command line" selected>Befehlszeile</option>' in german
    assert "Drop weggeräumt" in german and "<dt>weggeräumt</dt>" in german
