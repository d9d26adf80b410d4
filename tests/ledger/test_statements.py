import re
from pathlib import Path

import asyncpg
import pytest

import app.ledger
from app.ledger.statements import STATEMENTS, load, parse

CODE = "\n".join(path.read_text() for path in Path(app.ledger.__file__).parent.glob("*.py"))


async def test_every_statement_prepares_against_the_schema(database_url):
    connection = await asyncpg.connect(database_url)
    for statement in STATEMENTS.values():
        try:
            await connection.prepare(statement.text)
        except asyncpg.PostgresError as error:
            pytest.fail(f"{statement.name}: {error}")
    await connection.close()


def test_code_and_files_name_the_same_statements():
    used = set(re.findall(r"(?:\.rows?|\.value|\.count|_rows?|_value|_count)\(\s*\"(\w+)\"", CODE))
    assert used == set(STATEMENTS)


def test_every_statement_has_a_sentence():
    assert [name for name, statement in STATEMENTS.items() if not statement.about.endswith(".")] == []


def test_a_file_is_read_statement_by_statement():
    first, second = parse(
        "-- About the file.\n\n-- name: one\n-- Gives\n-- one.\nSELECT 1;\n\n-- name: two\n-- Gives two.\nSELECT\n  2;\n"
    )
    assert (first.name, first.about, first.text) == ("one", "Gives one.", "SELECT 1")
    assert (second.name, second.about, second.text) == ("two", "Gives two.", "SELECT\n  2")


@pytest.mark.parametrize("text", ["-- name: one\nSELECT 1;", "-- name: one\n-- Nothing follows.\n"])
def test_a_statement_without_a_sentence_or_a_body_is_refused(text):
    with pytest.raises(ValueError, match="the statement one needs"):
        parse(text)


def test_a_name_used_twice_is_refused(tmp_path):
    for file in ("a.sql", "b.sql"):
        (tmp_path / file).write_text("-- name: one\n-- Gives one.\nSELECT 1;\n")
    with pytest.raises(ValueError, match=r"b\.sql: the statement name one is used twice"):
        load(tmp_path)
