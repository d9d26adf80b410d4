"""Is this process alive (/healthz), may it be sent requests (/servez), can it sell (/readyz), what has it counted (/metrics)?

Alive asks nobody: a supervisor restarts what does not answer. A load balancer asks /servez: 200 from the moment the memories are
filled, also while a neighbour is gone. Every process shares its neighbours, so taking one out for a lost Redis would take all of
them out, and with them the pages, sign-in, and the payments of those who hold something. /readyz is for people, alarms and
start-up: it asks every neighbour at once, briefly, names those that do not answer, and is 503 while the shop cannot sell.
Metrics need `Authorization: Bearer <token>`, except on loopback in development.
"""

import asyncio
import hmac
import os

from litestar import Response, get

from app.errors import DoormanError, NotFound
from app.settings import Settings
from app.web.addresses import is_loopback
from app.web.call import Call
from app.web.doors import Doors, TheseDoors, ThisCall, document
from app.web.scenes import Scenes
from app.web.signing import derive

READY_SECONDS_MAX = 1.5


@get("/healthz")
async def alive() -> Response:
    return document({"alive": True})


@get("/servez")
async def serving(doors: TheseDoors) -> Response:
    return document({"serving": doors.catalogue.loaded}, status=200 if doors.catalogue.loaded else 503)


@get("/readyz")
async def ready(doors: TheseDoors) -> Response:
    answers = await asyncio.gather(answers_in_time(doors.ledger.first_shop()), answers_in_time(gate_answers(doors.scenes)))
    parts = {"catalogue": doors.catalogue.loaded, "ledger": answers[0], "gate": answers[1], "feed": not doors.feed.deaf}
    answer = {"ready": all(parts.values()), **parts}
    if not doors.settings.production:
        answer["pid"] = os.getpid()  # which of several processes on one port answered
    return document(answer, status=200 if answer["ready"] else 503)


@get("/metrics")
async def metrics(call: ThisCall, doors: TheseDoors) -> Response:
    if not may_read_metrics(call, doors):
        raise NotFound("metrics")
    return Response(doors.metrics.text(), media_type="text/plain; version=0.0.4", headers={"cache-control": "no-store"})


async def gate_answers(scenes: Scenes) -> None:
    await scenes.gate.peek(0)  # no such drop: the answer is None, and that is an answer


async def answers_in_time(question) -> bool:
    try:
        async with asyncio.timeout(READY_SECONDS_MAX):
            await question
    except (DoormanError, TimeoutError):
        return False
    return True


def may_read_metrics(call: Call, doors: Doors) -> bool:
    if not doors.settings.production and is_loopback(call.address):
        return True
    return hmac.compare_digest(call.authorization, b"Bearer " + metrics_token(doors.settings).encode())


def metrics_token(settings: Settings) -> str:
    """-> the bearer token of /metrics, derived from the installation's secret."""
    return derive(settings.secret, "metrics").hex()
