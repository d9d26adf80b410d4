"""Who may do what, made from the routes: every operation asked with every key about its own, another's and an unknown thing."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from litestar import Router, get

from app.domain.scopes import Scope
from app.errors import StartFailed
from app.web.api import router as api
from app.web.api.document import document_of
from app.web.api.operation import Operation
from app.web.api.reading import example_of, resolved, schema_of
from app.web.app import create_app
from app.wiring import Office, Web
from tests.web.seller.conftest import EXAMPLES, Belongings
from tests.web.seller.test_matrix import UNKNOWN
from tests.web.test_picture_intake import drawn

from .conftest import program_of

NOBODY = "nobody"
DOCUMENT = document_of(api.OPERATIONS, "https://shop.example")
PICTURE = drawn()
BODIES = {"change_units": {"units": 1}, "put_up_picture": PICTURE}
QUERIES = {"delete_draft": {"version": 1}}
NOT_SO = {  # what the paid order, the open drop and the untouched draft of the examples do not let anybody do
    "resume_drop", "publish_draft", "resubmit_parcel", "resend_mail", "end_hold", "give_back_order", "ask_order_again",
    "correct_address", "postpone_drop",
}  # fmt: skip


@dataclass
class Asked:
    """Whom what is asked about; what one shop owns is made once, but for what an allowed request may change."""

    shop: Any
    untouched: dict[int, Belongings] = field(default_factory=dict)

    async def path(self, one: Operation, whose: str, *, fresh: bool) -> str:
        values = {}
        for name, kind in one.parameters:
            if whose == "unknown":
                values[name] = UNKNOWN[kind]
                continue
            shop_id = self.shop.shop_id if whose == "own" else self.shop.other_shop_id
            owned = self.untouched.setdefault(shop_id, Belongings(self.shop, shop_id))
            values[name] = await owned.of(name)
        path = one.path
        for name, kind in one.parameters:
            path = path.replace(f"{{{name}:{kind}}}", str(values[name]))
        if fresh:
            self.untouched.pop(self.shop.shop_id, None)
        return path


def sent_with(one: Operation) -> dict[str, Any]:
    """-> what a lawful request carries, as httpx takes it."""
    body = body_of(one)
    if isinstance(body, bytes):
        return {"content": body, "headers": {"content-type": "image/jpeg"}}
    return {"params": QUERIES.get(one.name), **({} if body is None else {"json": body})}


def body_of(one: Operation) -> dict | bytes | None:
    if one.body is None:
        return None
    [told] = [told for methods in DOCUMENT["paths"].values() for told in methods.values() if told["operationId"] == one.name]
    return BODIES.get(one.name) or example_of(DOCUMENT, resolved(DOCUMENT, schema_of(told["requestBody"])))


def expected(one: Operation, who: str, whose: str) -> set[int]:
    if who == NOBODY:
        return {401}
    if who != one.scope.value:
        return {403}
    if whose != "own":
        return {404}
    return {one.status, 409, 422}  # let in; what it wants may not be possible as things stand


async def test_every_operation_hears_its_rule_from_every_key_about_its_own_and_about_anothers(shop, unlimited, shelving):
    keys = {scope.value: await program_of(shop, scope) for scope in Scope}
    keys[NOBODY] = await program_of(shop, Scope.READ)
    await shop.ledger.revoke_api_key(shop.shop_id, keys[NOBODY].key_id, "owner")
    asked, wrong, done = Asked(shop), [], set()
    for one in api.OPERATIONS:
        missing = [name for name, _kind in one.parameters if name not in EXAMPLES]
        assert not missing, f"{one.name}: conftest.EXAMPLES says nothing about {missing}"
        for who, program in keys.items():
            for whose in ("own", "other", "unknown") if one.parameters else ("own",):
                rule = expected(one, who, whose)
                path = await asked.path(one, whose, fresh=one.status in rule and one.method != "GET")
                if one.method == "POST":
                    answer = await program.post(path, **sent_with(one))
                else:
                    answer = await program.request(one.method, path, **sent_with(one))
                if answer.status_code not in rule:
                    wrong.append(f"{one.name} asked by {who} about {whose}: {answer.status_code} {answer.text[:200]}, not {rule}")
                if answer.status_code == one.status:
                    done.add(one.name)
    assert not wrong, "\n".join(wrong)
    assert {one.name for one in api.OPERATIONS} - done <= NOT_SO


@pytest.mark.parametrize("rule", [{}, {"operation": "read"}, {"operation": api.OPERATIONS[0], "public": True}, {"public": "yes"}])
async def test_a_route_without_a_scope_keeps_the_process_from_starting(shop, monkeypatch, rule):
    @get("/forgotten", **rule)
    async def forgotten() -> str:
        return "in"

    office = Office(shop.settings, shop.ledger, shop.gate, shop.feed)
    parts = Web(
        settings=shop.settings,
        crowd=shop.gate,
        gate=shop.gate,
        ledger=shop.ledger,
        office=office,
        feed=shop.feed,
        jobs=shop.jobs,
        till=shop.till,
    )
    whole = api.router
    monkeypatch.setattr(
        api, "router", lambda doors: Router("/", route_handlers=[whole(doors), Router("/api/v1", route_handlers=[forgotten])])
    )
    with pytest.raises(StartFailed, match="forgotten"):
        create_app(parts)
