"""The named statements of `sql/*.sql`: the only SQL of Doorman outside the migrations.

Every statement starts with `-- name: word` and a comment of at least one sentence. A name is used once; a test PREPAREs each
statement against the schema, and another holds the names used in code to the names that exist.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "sql"

_NAME = re.compile(r"^-- name: (\w+)$")


@dataclass(frozen=True, slots=True)
class Statement:
    name: str
    about: str  # the sentence that stands above it
    text: str


def load(folder: Path = FOLDER) -> Mapping[str, Statement]:
    """-> every statement by its name. ValueError for a second use of a name, or a statement without its sentence."""
    statements: dict[str, Statement] = {}
    for path in sorted(folder.glob("*.sql")):
        for statement in parse(path.read_text()):
            if statement.name in statements:
                raise ValueError(f"{path.name}: the statement name {statement.name} is used twice")
            statements[statement.name] = statement
    return statements


def parse(text: str) -> list[Statement]:
    """-> the statements of one file, in order. What stands above the first name is the file's own comment."""
    statements: list[Statement] = []
    name, lines = None, []
    for line in [*text.splitlines(), "-- name: end_of_file"]:
        found = _NAME.match(line)
        if not found:
            lines.append(line)
            continue
        if name is not None:
            statements.append(_statement(name, lines))
        name, lines = found[1], []
    return statements


def _statement(name: str, lines: list[str]) -> Statement:
    about = []
    while lines and lines[0].startswith("--"):
        about.append(lines.pop(0).removeprefix("--").strip())
    body = "\n".join(lines).strip().removesuffix(";")
    if not about or not body:
        raise ValueError(f"the statement {name} needs a sentence and a body")
    return Statement(name, " ".join(about), body)


STATEMENTS = load()
