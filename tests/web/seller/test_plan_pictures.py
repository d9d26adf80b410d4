"""Pictures on their way into a plan: from the script one by one, from a plain form with everything else that was typed in it."""

import asyncio
import hashlib
import io
from contextlib import ExitStack

import pytest
from PIL import Image

from app.errors import LedgerUnreachable
from app.web.guard import UPLOAD_BYTES_MAX, UPLOADS_AT_ONCE_MAX, UPLOADS_OF_SENDER_MAX, UPLOADS_OF_SHOP_MAX
from tests.web.conftest import HOST, JSON
from tests.web.seller.conftest import doors_of
from tests.web.seller.test_plan import Fields, drafts, filled, publishes, words
from tests.web.test_picture_intake import drawn, photograph

SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


def coloured(colour: str) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (300, 300), colour).save(buffer, "PNG")
    return buffer.getvalue()


def hung(*hashes: str) -> dict[str, str]:
    """-> the fields of a form with these pictures."""
    fields = {}
    for number, hash in enumerate(hashes, 1):
        fields |= {f"picture-{number}-hash": hash, f"picture-{number}-alt": f"View <{number}>"}
    return fields


async def sends(client, file: bytes = b"", name: str = "lamp.jpg", **more):
    return await client.post("/seller/pictures", files={"file": (name, file or drawn())}, headers=JSON, **more)


async def test_a_picture_is_taken_in_made_anew_and_served(shop, owner):
    answer = await sends(owner, photograph(), "../../etc/passwd.svg")
    assert answer.status_code == 201
    told = answer.json()
    assert (told["width"], told["height"]) == (480, 640)
    picture = await shop.browser().get(f"/pictures/{told['hash']}")
    assert picture.headers["content-type"] == "image/jpeg" and picture.headers["x-content-type-options"] == "nosniff"
    assert hashlib.sha256(picture.content).hexdigest() == told["hash"] and b"kitchen" not in picture.content
    assert (await shop.browser().get(told["thumbnail"])).headers["content-type"] == "image/webp"
    assert [entry.action for entry in await shop.ledger.audit_log(shop.shop_id)] == ["pictures put up"]


@pytest.mark.parametrize("file", [SVG, b"GIF89a" + bytes(100), b"hello", drawn()[:200]])
async def test_what_is_no_picture_is_refused_with_a_sentence_and_kept_nowhere(shop, owner, file):
    refused = await sends(owner, file)
    assert (refused.status_code, refused.json()["field"]) == (422, "file")
    assert refused.json()["detail"].startswith("This is no picture that we can read.")
    assert not await shop.rows("SELECT 1 FROM pictures") and not await shop.rows("SELECT 1 FROM shop_pictures")


async def test_eleven_megabytes_are_too_many_and_ten_pass_the_guard(owner):
    refused = await sends(owner, drawn() + bytes(UPLOAD_BYTES_MAX))
    assert refused.status_code == 413
    too_large_for_a_picture = await sends(owner, drawn() + bytes(10 * 1024 * 1024))
    assert too_large_for_a_picture.status_code == 422 and "10 MB" in too_large_for_a_picture.json()["detail"]


async def test_a_stranger_sends_no_more_than_a_form(shop):
    stranger = shop.browser()
    assert (await sends(stranger, drawn() + bytes(200_000))).status_code == 413
    assert (await sends(stranger, b"x")).status_code == 401


async def test_whoever_may_not_put_pictures_up_any_more_keeps_nobody_waiting_who_may(shop, owner, viewer, manager):
    await shop.ledger.end_seller_session(manager.session_id, manager.email)
    for client in (viewer, manager):
        assert (await sends(client, drawn() + bytes(200_000))).status_code == 413
    assert (await sends(owner, drawn() + bytes(200_000))).status_code == 201


async def test_with_the_ledger_gone_a_picture_is_not_called_too_large(shop, owner, monkeypatch):
    async def silent(session_id):
        raise LedgerUnreachable("gone")

    monkeypatch.setattr(doors_of(shop).sellers.ledger, "seller_of_session", silent)
    assert (await sends(owner, drawn() + bytes(200_000))).status_code == 503


async def test_whoever_sends_slowly_keeps_no_colleague_and_no_other_shop_waiting(shop, owner, manager, stranger):
    seats = shop.app.uploads
    async with Slow(shop, manager, UPLOADS_OF_SENDER_MAX):
        busy = await sends(manager)
        assert busy.status_code == 503 and busy.headers["retry-after"]
        assert (await sends(owner)).status_code == 201 and (await sends(stranger)).status_code == 201
        async with Slow(shop, owner, UPLOADS_OF_SHOP_MAX - UPLOADS_OF_SENDER_MAX):
            assert (await sends(owner)).status_code == 503 and (await sends(stranger)).status_code == 201
    with ExitStack() as others:
        for shop_id in range(UPLOADS_AT_ONCE_MAX):
            others.enter_context(seats.seat(-shop_id, f"another {shop_id}"))
        assert (await sends(owner)).status_code == 503
    assert (await sends(owner)).status_code == 201 and not seats.seated and not seats.taken


async def test_an_upload_that_trickles_is_not_waited_for(shop, owner, monkeypatch):
    monkeypatch.setattr("app.web.guard.PACE", (0.05, 64 * 1024))
    async with Slow(shop, owner, 1) as (trickle,):
        await trickle
        assert trickle.result()["status"] == 408
    assert not shop.app.uploads.seated


async def test_an_upload_at_the_slowest_pace_that_is_allowed_arrives(shop, owner, monkeypatch):
    monkeypatch.setattr("app.web.guard.PACE", (0.05, 1))  # what has come buys hours: only what never comes is late
    arrived = asyncio.get_running_loop().time

    async def chunks():
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.jpg"\r\n\r\n'
        until = arrived() + 0.1  # past the grace
        while arrived() < until:
            await asyncio.sleep(0.01)
        yield drawn() + b"\r\n--x--\r\n"

    headers = JSON | {"content-type": "multipart/form-data; boundary=x"}
    assert (await owner.post("/seller/pictures", content=chunks(), headers=headers)).status_code == 201


class Slow:
    """Uploads of one sender that have begun and do not go on, for as long as the block lasts."""

    def __init__(self, shop, client, uploads: int):
        self.shop, self.client, self.uploads = shop, client, uploads
        self.gone = asyncio.Event()

    async def __aenter__(self) -> list[asyncio.Task]:
        before = self.shop.app.uploads.seated
        self.tasks = [asyncio.create_task(self.upload()) for _ in range(self.uploads)]
        while self.shop.app.uploads.seated < before + self.uploads:
            await asyncio.sleep(0)
        return self.tasks

    async def __aexit__(self, *error) -> None:
        self.gone.set()
        await asyncio.gather(*self.tasks)

    async def upload(self) -> dict:
        messages = [{"type": "http.request", "body": b"a", "more_body": True}]
        told = {}

        async def receive():
            if messages:
                return messages.pop()
            await self.gone.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            told.update(message)

        headers = [(b"host", HOST.encode()), (b"cookie", self.client.headers["cookie"].encode()), (b"accept", b"application/json")]
        await self.shop.app(
            {"type": "http", "method": "POST", "path": "/seller/pictures", "raw_path": b"/seller/pictures", "query_string": b"",
             "headers": headers, "client": ("127.0.0.1", 50_000)},
            receive,
            send,
        )  # fmt: skip
        return told


async def test_a_plain_form_comes_back_with_the_picture_and_all_that_was_typed(shop, owner):
    draft_id = await drafts(owner, title="Night lamp")
    typed = filled(2, title="Typed since", description="a\r\nb") | {"draft": str(draft_id), "do": "picture-upload"}
    files = [("file", ("a.png", coloured("red"))), ("file", ("b.png", coloured("blue")))]
    page = await owner.post("/seller/pictures", data=typed, files=files)
    assert page.status_code == 200 and "Not saved yet." in page.text
    assert f'href="/seller/drafts/{draft_id}?lang=de"' in page.text  # nobody can open /seller/pictures
    back = Fields(page.text).values
    assert back["title"] == "Typed since" and back["description"].split() == ["a", "b"] and back["variant-2-name"] == "Soot"
    assert len({back["picture-1-hash"], back["picture-2-hash"]}) == 2
    assert (await shop.ledger.draft(shop.shop_id, draft_id)).plan.pictures == ()
    back |= {"picture-1-alt": "A red one", "do": "save"}
    assert (await owner.post(f"/seller/drafts/{draft_id}", data=back)).status_code == 303
    page = (await owner.get(f"/seller/drafts/{draft_id}")).text
    assert 'value="A red one"' in page and page.count("Say what it shows, for those") == 2  # beside the field, and at the top


async def test_a_plain_form_with_something_else_says_so_and_loses_nothing(owner):
    draft_id = await drafts(owner, title="Night lamp")
    typed = filled(2, title="Typed since") | {"draft": str(draft_id)}
    page = await owner.post("/seller/pictures", data=typed, files={"file": ("a.svg", SVG)})
    assert page.status_code == 422 and "This is no picture" in page.text and Fields(page.text).values["title"] == "Typed since"
    empty = await owner.post("/seller/pictures", data=typed, files={"file": ("", b"")})
    assert empty.status_code == 422 and "Choose a file first." in empty.text


@pytest.mark.parametrize("part", [b"\r\n\r\n1\xff", b"\r\nContent-Type: text/plain; charset=nonsense\r\n\r\n1"])
async def test_a_field_that_is_no_text_is_bad_input(owner, part):
    body = b'--x\r\nContent-Disposition: form-data; name="draft"' + part + b"\r\n--x--\r\n"
    answer = await owner.post("/seller/pictures", content=body, headers=JSON | {"content-type": "multipart/form-data; boundary=x"})
    assert answer.status_code == 422


async def test_the_same_picture_twice_is_one(owner):
    draft_id = await drafts(owner, title="x")
    first, second = (await sends(owner, drawn())).json(), (await sends(owner, drawn())).json()
    assert first["hash"] == second["hash"]
    typed = filled(2) | {"draft": str(draft_id), "picture-1-hash": first["hash"], "picture-1-alt": "kept"}
    page = await owner.post("/seller/pictures", data=typed, files={"file": ("again.jpg", drawn())})
    assert "picture-2-hash" not in Fields(page.text).values and Fields(page.text).values["picture-1-alt"] == "kept"


async def test_several_pictures_stand_on_the_drops_page_with_their_words(shop, owner):
    hashes = [(await sends(owner, coloured(colour))).json()["hash"] for colour in ("red", "blue")]
    pictures = hung(*hashes)
    drop = await publishes(shop, owner, **pictures)
    assert drop.picture == hashes[0] and [picture.alt for picture in drop.pictures] == ["View <1>", "View <2>"]
    await shop.app_hears(drop)
    page = (await shop.browser(accept="text/html").get(f"/drops/{drop.slug}")).text
    assert 'alt="View &lt;1&gt;"' in page and 'alt="View &lt;2&gt;"' in page and 'href="#picture-2"' in page
    moved = words(1, **hung(*reversed(hashes)))
    assert (await owner.post(f"/seller/drops/{drop.id}/edit", data=moved)).status_code == 303
    assert (await shop.ledger.drop_by_id(drop.id)).picture == hashes[1]


async def test_a_plain_upload_into_a_published_drop_changes_nothing_until_it_is_saved(shop, owner):
    drop = await publishes(shop, owner)
    page = await owner.post("/seller/pictures", data=words(1) | {"drop": str(drop.id)}, files={"file": ("a.jpg", drawn())})
    back = Fields(page.text).values
    assert page.status_code == 200 and back["title"] == "Day lamp" and "picture-1-hash" in back
    assert (await shop.ledger.drop_by_id(drop.id)).pictures == ()
    saved = await owner.post(f"/seller/drops/{drop.id}/edit", data=back | {"picture-1-alt": "A lamp", "do": "save"})
    assert saved.status_code == 303 and len((await shop.ledger.drop_by_id(drop.id)).pictures) == 1


async def test_another_shops_picture_is_shown_by_nobody_else(shop, owner, stranger):
    hash = (await sends(stranger, coloured("green"))).json()["hash"]
    draft_id = await drafts(owner, **{"picture-1-hash": hash, "picture-1-alt": "theirs"})
    refused = await owner.post(f"/seller/drafts/{draft_id}/publish", data={"version": "2", "sure": "yes"})
    assert refused.status_code == 422 and "One of the pictures is not there any more." in refused.text
    odd = await owner.post(f"/seller/drafts/{draft_id}", data=filled(2) | {"picture-1-hash": "../x", "picture-1-alt": ""})
    assert odd.status_code == 422
    foreign = await owner.post("/seller/pictures", data={"draft": "999999"}, files={"file": ("a.jpg", drawn())})
    assert foreign.status_code == 404


async def test_nobody_puts_pictures_up_without_the_right(viewer, support):
    for client in (viewer, support):
        assert (await sends(client)).status_code == 403
