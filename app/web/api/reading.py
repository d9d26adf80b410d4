"""The OpenAPI document as people read it: chapters, operations, members, and a curl line each."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

DEPTH_MAX = 4  # of examples
EXAMPLES = {"date-time": "2027-01-15T20:00:00+01:00", "uuid": "00000007-0000-4000-8000-000000000001"}
EXAMPLE_PARTS = {  # of an address
    **dict.fromkeys(("drop_id", "draft_id", "mail_id", "hook_id", "delivery_id"), "7"),
    "order_id": EXAMPLES["uuid"],
    "name": "2027-000012.pdf",
    "rehearsal": "20270115-180000-7-night-lamp",
}
EXAMPLE_VALUES = {"url": "https://example.com/doorman", "title": "Night lamp", "price_minor": 4900, "units": 100, "hash": "0" * 64}

EVENT_EXAMPLE = json.dumps(
    {
        "id": "evt_5f3a8c2e90b14d77aa01c3de",
        "kind": "order.paid",
        "at": "2027-01-15T19:00:03.412Z",
        "drop": {"id": 7, "slug": "night-lamp"},
        "detail": {"by": "charge worker", "amount_minor": 4900},
        "order": {"id": EXAMPLES["uuid"], "variant": "Standard", "quantity": 1, "amount_minor": 4900, "currency": "EUR"},
    },
    indent=2,
)


@dataclass(frozen=True, slots=True)
class Member:
    """A parameter, or a member of a body or an answer."""

    name: str
    kind: str  # 'text', 'whole number', ...
    required: bool
    about: str


@dataclass(frozen=True, slots=True)
class Shown:
    """One operation."""

    id: str
    method: str
    path: str
    title: str
    about: str
    scope: str
    parameters: list[Member]
    body: list[Member]
    status: str
    answer: str  # name of its schema, "" for none
    refusals: list[tuple[str, str]]  # status and sentence
    curl: str


@dataclass(frozen=True, slots=True)
class Chapter:
    name: str
    about: str
    operations: list[Shown]


def chapters_of(document: Mapping[str, Any], words: str, url: str) -> list[Chapter]:
    """-> the chapters, of which only operations that have all the words in them."""
    wanted = words.lower().split()
    chapters = []
    for tag in document["tags"]:
        shown = [one for one in shown_of(document, tag["name"], url) if all(word in text_of(one) for word in wanted)]
        if shown:
            chapters.append(Chapter(tag["name"], tag["description"], shown))
    return chapters


def shown_of(document: Mapping[str, Any], tag: str, url: str) -> Iterator[Shown]:
    for path, methods in document["paths"].items():
        for method, one in methods.items():
            if tag in one["tags"]:
                yield shown(document, path, method.upper(), one, url)


def shown(document: Mapping[str, Any], path: str, method: str, one: Mapping[str, Any], url: str) -> Shown:
    [(status, answer), *refusals] = one["responses"].items()
    body = resolved(document, schema_of(one["requestBody"])) if "requestBody" in one else None
    return Shown(
        id=one["operationId"],
        method=method,
        path=path,
        title=one["summary"],
        about=one["description"].partition("\n\nScope")[0],
        scope=one["x-scope"],
        parameters=[
            Member(known["name"], kind_of(document, known["schema"]), known["required"], known.get("description", ""))
            for known in one["parameters"]
        ],
        body=[] if body is None else [the_file(one["requestBody"])] if is_file(body) else members_of(document, body),
        status=status,
        answer=schema_of(answer).get("$ref", "").rpartition("/")[2] if "content" in answer else "",
        refusals=[(code, known["description"]) for code, known in refusals],
        curl=curl_of(document, path, method, body, url),
    )


def answers_of(document: Mapping[str, Any]) -> list[tuple[str, list[Member]]]:
    """-> (name, members) of every schema, in alphabetical order."""
    return [(name, members_of(document, schema)) for name, schema in sorted(document["components"]["schemas"].items())]


def is_file(schema: Mapping[str, Any]) -> bool:
    return schema.get("format") == "binary"


def the_file(carrier: Mapping[str, Any]) -> Member:
    """-> a body that is a file, as if it were a member."""
    return Member("the file itself", ", ".join(carrier["content"]), True, "")


def members_of(document: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Member]:
    return [
        Member(name, kind_of(document, known), name in schema.get("required", ()), about_of(document, known))
        for name, known in schema["properties"].items()
    ]


def schema_of(carrier: Mapping[str, Any]) -> Mapping[str, Any]:
    """-> the schema of a body or a response; of a file they are all the same."""
    return next(iter(carrier["content"].values()))["schema"]


def resolved(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return document["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def real_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """-> what it is where it is not null."""
    return next((one for one in schema.get("anyOf", ()) if one.get("type") != "null"), schema)


def about_of(document: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    return schema.get("description") or real_of(schema).get("description", "")


def kind_of(document: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """-> 'string (date-time)', 'integer 1…200', 'one of open, paused', 'list of Variant'."""
    real = real_of(schema)
    if "$ref" in real:
        return real["$ref"].rpartition("/")[2]
    if "enum" in real:
        return "one of " + ", ".join(map(str, real["enum"]))
    if real.get("type") == "array":
        return "list of " + kind_of(document, real["items"])
    words = str(real.get("type", "any"))
    if "format" in real:
        words += f" ({real['format']})"
    if "minimum" in real and "maximum" in real:
        words += f" {real['minimum']}…{real['maximum']}"
    return words


def curl_of(document: Mapping[str, Any], path: str, method: str, body: Mapping[str, Any] | None, url: str) -> str:
    """-> a line for a shell, with the key in $DOORMAN_KEY."""
    address = url + path
    for name, value in EXAMPLE_PARTS.items():
        address = address.replace(f"{{{name}}}", value)
    lines = [f"curl {'' if method == 'GET' else f'-X {method} '}{address}", '-H "Authorization: Bearer $DOORMAN_KEY"']
    if method != "GET":
        lines.append('-H "Idempotency-Key: $(uuidgen)"')
    if body is not None and is_file(body):
        lines += ['-H "Content-Type: image/jpeg"', "--data-binary @lamp.jpg"]
    elif body is not None:
        lines += ['-H "Content-Type: application/json"', f"-d '{json.dumps(example_of(document, body), ensure_ascii=False)}'"]
    return " \\\n  ".join(lines)


def example_of(document: Mapping[str, Any], schema: Mapping[str, Any], name: str = "", depth: int = 0) -> Any:
    """-> something that the schema takes: of an object what it must have."""
    real = resolved(document, real_of(schema))
    if name in EXAMPLE_VALUES:
        return EXAMPLE_VALUES[name]
    if "enum" in real:
        return real["enum"][-1]
    match real.get("type"):
        case "object" if depth < DEPTH_MAX:
            named = real.get("required") or list(real["properties"])[:1]
            return {key: example_of(document, real["properties"][key], key, depth + 1) for key in named}
        case "array":
            return [example_of(document, real["items"], "", depth + 1)]
        case "integer":
            return max(1, real.get("minimum", 1))
        case "boolean":
            return False
        case _:
            return EXAMPLES.get(real.get("format", ""), "…")


def text_of(one: Shown) -> str:
    """-> everything that stands about it, for the search."""
    members = " ".join(f"{member.name} {member.about}" for member in (*one.parameters, *one.body))
    return " ".join((one.id, one.method, one.path, one.title, one.about, one.scope, one.answer, members)).lower()
