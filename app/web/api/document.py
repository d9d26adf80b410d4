"""The API's OpenAPI 3.1 document, made of the operations themselves: their structs, scopes and docstrings."""

import functools
from collections.abc import Iterable
from typing import Any

import msgspec

from app.domain.keys import KEY_CHARACTERS_MAX
from app.domain.scopes import Scope
from app.web.api import shapes
from app.web.api.operation import FILES, PREFIX, File, Operation
from app.web.doors import JSON

VERSION = "1"
REF = "#/components/schemas/{name}"
PROBLEM = "application/problem+json"
KEY_HEADER = "Idempotency-Key"
RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 0}}}
ABOUT = f"""What a shop's own programs may do, as JSON under `{PREFIX}`: all that people do in the dashboard about drops, orders and
webhooks. Who works here, keys, shop settings and the audit log stay with people.

Every request shows a key of the shop (`Authorization: Bearer dm_…`), which the dashboard makes and revokes. A key has scopes, and
none implies another. Whatever is not of the key's shop is answered as what does not exist.

Every POST carries an `Idempotency-Key`, 1 to 64 printable ASCII characters that name this very request; a PATCH or DELETE may. Sent
again within a day it is answered again, with the same status and body and the header `Idempotency-Replayed`, and nothing is done
twice. Another request under it is refused with 422, and while the first is under way the answer is 409 with `Retry-After`. After a
refusal the key is free.

What may be changed from several sides is changed by version: the request names the `version` that it has read (of an address: the
`known` one). If another one stands there by then nothing is overwritten, and 409 says which.

Lists give a page and `next`, the `cursor` of the page that follows; null on the last one.

What is wrong is said as a problem document (RFC 9457). Too many requests under a key are answered with 429 and `Retry-After`."""
SCOPES = {
    Scope.READ: "drops, drafts, live counts, books, reports and accounts, without personal data",
    Scope.DROPS: "plan, put up pictures and publish; pause, resume, end, cancel, postpone; change words and pieces; rehearse",
    Scope.ORDERS: "orders with personal data, money as it moved, invoices; holds, addresses, mails and parcels; attention",
    Scope.MONEY: "refunds, and deciding about money of which nobody knows",
    Scope.WEBHOOKS: "where events are sent, and sending them again",
}
TAGS = {
    "drops": "Drops",
    "drafts": "Drafts and pictures",
    "orders": "Orders: refunds, holds, addresses, mails and parcels",
    "attention": "What needs a person",
    "money": "What drops brought in",
    "rehearsals": "Rehearsals",
    "webhooks": "Webhooks: events, sent and signed",
}
REFUSALS = {
    400: "The request is not understood, or a POST has no Idempotency-Key.",
    401: "No key, or one that was revoked.",
    403: "The key has not the scope.",
    404: "Not there, or another shop's.",
    405: "This method is not used here; `allowed` says which are.",
    409: "Not as things stand: somebody was faster (`version` or `address` say what stands there now), it cannot be done any more, "
    "or the first request under this Idempotency-Key is under way.",
    413: "The body is too large.",
    415: "The body is not JSON, or no file where one is to be sent; `Accept` says what is taken.",
    422: "Something in the request is wrong; `field` and `problems` say what.",
    429: "Too many requests.",
    503: "A part of the shop does not answer. Send it again, a POST under the same Idempotency-Key.",
}
WAITS = (409, 429, 503)
BINARY = {"type": "string", "format": "binary"}
KINDS = {"int": {"type": "integer"}, "str": {"type": "string"}}


def document_of(operations: Iterable[Operation], public_url: str) -> dict[str, Any]:
    operations = list(operations)
    types = [kind for one in operations for kind in (one.query, one.body, one.answer) if kind not in (None, bytes, File)]
    _refs, schemas = msgspec.json.schema_components([*types, shapes.Problem], ref_template=REF)
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(written(one), {})[one.method.lower()] = told(one, schemas)
    for query in {one.query for one in operations if one.query is not None}:
        schemas.pop(query.__name__, None)  # its members stand with the operation, as parameters
    return {
        "openapi": "3.1.0",
        "info": {"title": "Doorman", "version": VERSION, "description": ABOUT},
        "servers": [{"url": public_url + PREFIX}],
        "security": [{"key": []}],
        "tags": [{"name": name, "description": words} for name, words in TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "dm_…"}},
        },
    }


def written(one: Operation) -> str:
    """'/drops/{drop_id:int}' -> '/drops/{drop_id}'."""
    path = one.path
    for name, kind in one.parameters:
        path = path.replace(f"{{{name}:{kind}}}", f"{{{name}}}")
    return path


def told(one: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    parameters = [{"name": name, "in": "path", "required": True, "schema": KINDS[kind]} for name, kind in one.parameters]
    if one.query is not None:
        parameters += query_parameters(schemas[one.query.__name__])
    if one.takes_key:
        parameters.append(key_parameter(required=one.needs_key))
    told = {
        "operationId": one.name,
        "summary": one.title,
        "description": f"{one.about}\n\nScope: `{one.scope.value}`",
        "tags": [one.work.__module__.rpartition(".")[2]],
        "x-scope": one.scope.value,
        "parameters": parameters,
        "responses": responses(one),
    }
    if one.body is bytes:
        told["requestBody"] = {"required": True, "content": {media: {"schema": BINARY} for media in FILES}}
    elif one.body is not None:
        told["requestBody"] = {"required": True, "content": {JSON: {"schema": ref(one.body)}}}
    return told


def query_parameters(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [parameter(name, known, name in schema.get("required", ())) for name, known in schema["properties"].items()]


def parameter(name: str, known: dict[str, Any], required: bool) -> dict[str, Any]:
    """A member of a struct as a parameter of the address, where "nothing" is said by leaving it out."""
    [real] = [one for one in known.get("anyOf", [known]) if one.get("type") != "null"]
    schema = {key: value for key, value in {**real, "default": known.get("default")}.items() if value is not None}
    about = schema.pop("description", None) or known.get("description", "")
    return {"name": name, "in": "query", "required": required, "description": about, "schema": schema}


def key_parameter(*, required: bool) -> dict[str, Any]:
    return {
        "name": KEY_HEADER,
        "in": "header",
        "required": required,
        "description": "Names this very request; the same again is answered again and done once.",
        "schema": {"type": "string", "minLength": 1, "maxLength": KEY_CHARACTERS_MAX, "pattern": "^(?!place:)[!-~]+$"},
    }


def responses(one: Operation) -> dict[str, Any]:
    answers: dict[str, Any] = {str(one.status): {"description": "Done." if one.answer is None else "The answer."}}
    if one.answer is not None:
        answers[str(one.status)]["content"] = {one.media: {"schema": BINARY if one.answer is File else ref(one.answer)}}
    for status in refusals_of(one):
        answers[str(status)] = {"description": REFUSALS[status], "content": {PROBLEM: {"schema": ref(shapes.Problem)}}}
        if status in WAITS:
            answers[str(status)]["headers"] = RETRY_AFTER
    return answers


def refusals_of(one: Operation) -> list[int]:
    known = [400, 401, 403]
    if one.parameters:
        known.append(404)
    if one.method != "GET":
        known += [409, 413]
    if one.body is not None:
        known.append(415)
    return [*known, 422, 429, 503]


def ref(kind: type) -> dict[str, str]:
    return {"$ref": REF.format(name=kind.__name__)}


@functools.cache
def encoded(operations: tuple[Operation, ...], public_url: str) -> bytes:
    return msgspec.json.encode(document_of(operations, public_url))
