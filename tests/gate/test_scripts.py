"""Every script does what its header says it takes, touches only its own keys, and runs on any Redis 7 or Valkey."""

import re

import pytest
from redis.crc import key_slot

from app.gate import keys, scripts

HEADER = re.compile(
    r"#!lua(?P<flags> flags=\S+)?\n-- (?P<name>\w+): .+\n(?:-- .+\n)*--\n-- Guarantees\n(?:--   .+\n)+"
    r"-- KEYS\n(?P<keys>(?:-- {2,3}.+\n)+)-- ARGV\n(?P<argv>(?:-- {2,3}.+\n)+)-- Returns\n(?:--   .+\n)+(?P<body>(?!--)[\s\S]+)$"
)
NUMBERED = re.compile(r"^-- +(\d+) (\w+)", re.MULTILINE)
CALL = re.compile(r"redis\.p?call\('(\w+)'(?:, ([^,()]+))?(?:, ([^,()]+))?(?:, ([^,()]+))?")
MANY_KEYS = {"DEL", "UNLINK"}

by_name = pytest.mark.parametrize("script", scripts.SCRIPTS, ids=lambda script: script.name)


def header_of(script) -> re.Match:
    found = HEADER.match(script.source.decode())
    assert found, f"{script.name}.lua does not open with its header"
    return found


def bindings(body: str, table: str) -> dict[str, int]:
    """`local a, b = KEYS[1], KEYS[2]` -> {a: 1, b: 2}; values may be wrapped in tonumber()."""
    bound = {}
    for names, values in re.findall(rf"^local ([\w, ]+) = ((?:(?:tonumber\()?{table}\[\d+\]\)?(?:, )?)+)$", body, re.MULTILINE):
        numbers = [int(number) for number in re.findall(r"\[(\d+)\]", values)]
        assert len(names.split(", ")) == len(numbers)
        bound |= dict(zip(names.split(", "), numbers, strict=True))
    return bound


def test_every_file_is_a_script_and_every_script_a_file():
    assert {path.stem for path in scripts.FOLDER.glob("*.lua")} == {script.name for script in scripts.SCRIPTS}


@by_name
def test_the_header_names_the_script_and_the_keys_that_python_sends(script):
    header = header_of(script)
    assert header["name"] == script.name
    assert [(int(number), name) for number, name in NUMBERED.findall(header["keys"])] == list(enumerate(script.key_names, 1))


@by_name
def test_the_names_bound_in_the_code_are_those_of_the_header(script):
    header = header_of(script)
    for section, table in (("keys", "KEYS"), ("argv", "ARGV")):
        declared = {name: int(number) for number, name in NUMBERED.findall(header[section])}
        assert bindings(header["body"], table) == declared, table


@by_name
def test_every_command_touches_only_keys_the_script_was_given(script):
    body = header_of(script)["body"]
    given = bindings(body, "KEYS")
    found = CALL.findall(body)
    assert len(found) == len(re.findall(r"redis\.p?call", body)), "a call this test cannot read"
    touched = set()
    for name, *words in found:
        words = [word.strip() for word in words if word]
        if name == "TIME":
            continue
        if name in MANY_KEYS:
            every = re.search(rf"redis\.call\('{name}', ([^()]+)\)", body)[1].split(", ")
        else:
            every = [words[1] if name == "XGROUP" else words[0]]
        assert set(every) <= given.keys(), f"{name} {every}"
        touched |= set(every)
    assert touched == given.keys(), "a key it declares and never uses"


@by_name
def test_no_script_builds_a_key_scans_or_draws_lots(script):
    body = header_of(script)["body"]
    assert not re.search(r"\b(SCAN|KEYS|[HSZ]SCAN|RANDOMKEY|SPOP|SRANDMEMBER|XTRIM|MAXLEN)'|math\.random|os\.|server\.", body)
    assert "{drop" not in body
    assert re.findall(r"KEYS\[(?!\d+\])", body) == []


@by_name
def test_a_script_that_says_it_does_not_write_does_not(script):
    header = header_of(script)
    written = re.search(r"'(H(SET|DEL|INCRBY)|DEL|UNLINK|SADD|X(ADD|DEL|ACK|GROUP)|Z(ADD|REM\w*)|PEXPIRE)'", header["body"])
    assert ("no-writes" in (header["flags"] or "")) == (written is None)


@by_name
def test_all_keys_of_a_script_lie_on_one_slot_of_a_cluster(script):
    assert len({key_slot(name.encode()) for name in script.keys_of(123)}) == 1


def test_drops_spread_over_the_slots():
    assert len({key_slot(keys.key(drop_id, "rules").encode()) for drop_id in range(50)}) > 40


def test_a_key_that_no_drop_has_is_not_built():
    with pytest.raises(ValueError, match="no key named"):
        keys.key(1, "stok")


@by_name
def test_the_same_call_can_be_made_by_name_and_with_its_source(script):
    call = script.call(1, "a", 2)
    with_source = script.with_source(call)
    assert with_source.count(script.source) == 1
    assert with_source.endswith(call.partition(script.sha.encode())[2])
    assert script.with_source(with_source) is None


def test_the_documents_key_map_and_verdicts_are_complete():
    from app.domain.verdicts import Verdict

    document = (scripts.FOLDER / "README.md").read_text()
    for name in keys.NAMES:
        assert f"| `{name}` |" in document
    for verdict in Verdict:
        assert f"| `{verdict.value}` |" in document
    for script in scripts.SCRIPTS:
        assert f"`{script.name}`" in document
