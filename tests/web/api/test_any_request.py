"""Schemathesis plays a program that has read the document and takes it at its word, or tries what it forbids: no answer is a fault
of ours, and each is as declared.

It talks to the shop over a real connection. Seed and number of examples are fixed, so that a run says the same every time.
"""

import asyncio
import contextlib
from uuid import uuid4

import hypothesis
import schemathesis
import uvicorn
from hypothesis import HealthCheck, Phase
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance

from app.web.api.operation import PREFIX, Operation
from app.web.api.router import OPERATIONS
from tests.web.seller.conftest import Belongings

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
NOBODY_GUESSES = {  # versions, times, pictures, addresses of webhooks; or what the paid order of the examples lets nobody do
    "change_draft", "change_drop", "delete_draft", "publish_draft", "postpone_drop", "add_webhook", "put_up_picture",
    "end_hold", "give_back_order", "ask_order_again", "correct_address",
}  # fmt: skip
EXAMPLES_EACH = 6  # of an operation and a mode
REQUEST_SECONDS_MAX = 20


@contextlib.asynccontextmanager
async def served(app):
    """-> the shop's address on a real socket."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, lifespan="off", proxy_headers=False))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    await task


def asks_everything(document: dict, url: str, key: str, own: dict[str, dict]) -> dict[str, set[int]]:
    """Ask every operation in both ways -> the statuses that each answered. `own`: what each is asked about every other time."""
    schema = schemathesis.openapi.from_dict(document)
    heard = {one.name: set() for one in OPERATIONS}
    for one in OPERATIONS:
        operation = schema[path_of(one)][one.method]
        for mode in GenerationMode.POSITIVE, GenerationMode.NEGATIVE:
            plays(operation, mode, url, key, own[one.name], heard[one.name])
    return heard


def plays(operation, mode: GenerationMode, url: str, key: str, own: dict, heard: set[int]) -> None:
    asked = 0

    @hypothesis.settings(
        max_examples=EXAMPLES_EACH,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    def play(case):
        nonlocal asked
        asked += 1
        headers = {"Authorization": f"Bearer {key}"}
        if asked % 2 and mode is GenerationMode.POSITIVE:
            case.path_parameters = own
            headers["Idempotency-Key"] = uuid4().hex  # a new request; the document's own examples repeat themselves
        answer = case.call_and_validate(base_url=url + PREFIX, headers=headers, checks=CHECKS, timeout=REQUEST_SECONDS_MAX)
        heard.add(answer.status_code)

    with contextlib.suppress(hypothesis.errors.Unsatisfiable):  # nothing about it can be forbidden
        play()


def path_of(one: Operation) -> str:
    path = one.path
    for name, kind in one.parameters:
        path = path.replace(f"{{{name}:{kind}}}", f"{{{name}}}")
    return path


async def test_no_request_meets_a_fault_of_ours_and_every_answer_is_as_declared(shop, program, unlimited, shelving):
    own = {}
    for one in OPERATIONS:  # each has things of its own to spoil
        belongings = Belongings(shop, shop.shop_id)
        own[one.name] = {name: str(await belongings.of(name)) for name, _kind in one.parameters}
    document = (await program.get("/openapi.json")).json()
    async with served(shop.app) as url:
        heard = await asyncio.to_thread(asks_everything, document, url, program.key, own)
    assert all(heard.values()) and not {status for statuses in heard.values() for status in statuses if status >= 500}
    let_in = {one.name for one in OPERATIONS if one.status in heard[one.name]}
    assert heard.keys() - let_in <= NOBODY_GUESSES, {name: heard[name] for name in heard.keys() - let_in}
