"""The warehouse over HTTP: `GET /orders?reference=…&since=…` and `POST /orders`, with a bearer token.

Guarantees: one call of ours is one request, never repeated behind our back; it ends within `timeout_seconds` as a whole; what is
not a clear answer is WarehouseSilent. An order that is listed without number or time, or under another reference, is no answer.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit
from uuid import UUID

import httpx

from app.errors import WarehouseAway, WarehouseRefused, WarehouseSilent
from app.fulfilment.protocol import Asked, Found

CONNECTIONS_MAX = 16
TEXT_CHARACTERS_MAX = 200
REFUSED_STATUSES = frozenset({400, 401, 403, 404, 405, 413, 415, 422})
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class HttpWarehouse:
    """The `Warehouse` of app/fulfilment/protocol.py."""

    def __init__(self, url: str, token: str, *, timeout_seconds: float):
        self._timeout_seconds = timeout_seconds
        self._client = httpx.AsyncClient(
            base_url=url.rstrip("/"),
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout_seconds,
            limits=httpx.Limits(
                max_connections=CONNECTIONS_MAX, max_keepalive_connections=0
            ),  # a stale one looks like a lost reply
            trust_env=urlsplit(url).hostname not in LOOPBACK,
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def find(self, reference: UUID, since: datetime) -> list[Found]:
        since -= timedelta(microseconds=since.microsecond % 1000)  # warehouses tell milliseconds
        query = {"reference": str(reference), "since": since.astimezone(UTC).isoformat()}
        answer = await self._ask("GET", params=query)
        listed = answer.get("orders")
        if not isinstance(listed, list):
            raise WarehouseSilent("the warehouse's list is none")
        return [_found(row) for row in listed if _is_about(row, reference) and _made_at(row) >= since]

    async def create(self, parcel: Asked) -> Found:
        body = {
            "reference": str(parcel.reference),
            "lines": [{"item": parcel.item[:TEXT_CHARACTERS_MAX], "quantity": parcel.quantity}],
            "address": {**(parcel.address or {}), "contact": parcel.contact},
        }
        return _found(await self._ask("POST", json=body))

    async def _ask(self, method: str, **what) -> dict:
        try:
            async with asyncio.timeout(self._timeout_seconds):
                reply = await self._client.request(method, "/orders", **what)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise WarehouseAway(f"the warehouse could not be reached: {type(error).__name__}") from error
        except (httpx.HTTPError, TimeoutError) as error:
            raise WarehouseSilent(f"the warehouse gave no answer: {type(error).__name__}") from error
        if reply.status_code in REFUSED_STATUSES:
            raise WarehouseRefused(f"the warehouse refused: {reply.status_code} {reply.text[:TEXT_CHARACTERS_MAX]}")
        if not reply.is_success:
            raise WarehouseSilent(f"the warehouse gave no clear answer: {reply.status_code}")
        try:
            answer = reply.json()
        except ValueError as error:
            raise WarehouseSilent("the warehouse's answer is not JSON") from error
        if not isinstance(answer, dict):
            raise WarehouseSilent("the warehouse's answer is no object")
        return answer


def _is_about(row, reference: UUID) -> bool:
    return isinstance(row, dict) and row.get("reference") == str(reference)


def _found(row: dict) -> Found:
    number, tracking = row.get("number"), row.get("tracking")
    if not isinstance(number, str) or not number or not isinstance(tracking, str | None):
        raise WarehouseSilent("the warehouse named no number")
    return Found(number, _made_at(row), tracking or None)


def _made_at(row: dict) -> datetime:
    try:
        moment = datetime.fromisoformat(row["created"])
    except (KeyError, TypeError, ValueError) as error:
        raise WarehouseSilent("the warehouse did not say when it made an order") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
