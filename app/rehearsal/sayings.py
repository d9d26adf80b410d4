"""What a rehearsal says, in English and in words that can be said again in another language.

Whoever finds something out says it once: `say("%(number)s units are missing", number=3)` is a plain str in English for everybody,
and remembers what it was made of. `remembered(values)` gathers that from whatever is about to be written down, to be kept beside
it, and `again(text, memory)` says one of the texts in the language of whoever reads. A text that nobody remembers (of an older
report, or an error of the system's) is looked up as it is, and stays as it is when no catalog knows it: nothing that was found is
left out.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from app.domain.reasons import in_words, known
from app.languages import ENGLISH, _, ngettext, number, speaking

DEPTH_MAX = 8  # sentences within sentences
SIGNED = "+#,##0.0;-#,##0.0"  # a value named `at`: seconds from the opening


class Said(str):
    """A sentence in English. `made`: {"message", "values"}, with "many" and "num" where it depends on a number."""

    __slots__ = ("made", "parts")
    made: dict[str, Any]
    parts: tuple["Said", ...]  # sentences within this one


def say(message: str, /, **values: object) -> Said:
    """`message` is a literal: bin/messages collects it. Values: numbers, texts, sentences, or lists of these.

    A value named `at` is a moment, in seconds from the opening, and is written with its sign.
    """
    return _said({"message": message, "values": values})


def say_some(one: str, many: str, num: int, /, **values: object) -> Said:
    """The same for a sentence that depends on a number, which is `%(num)s` in it."""
    return _said({"message": one, "many": many, "num": num, "values": values})


def _said(made: dict[str, Any]) -> Said:
    with speaking(ENGLISH):
        said = Said(_spelled(made, {}, 0))
    said.made = made
    said.parts = tuple(part for part in _flat(made["values"].values()) if isinstance(part, Said))
    return said


def words_of(error: BaseException) -> str:
    """-> what an exception says, still remembering how where it was raised with a sentence."""
    first = error.args[0] if error.args else ""
    return first if isinstance(first, Said) else str(error) or type(error).__name__


def remembered(values: Any) -> dict[str, dict[str, Any]]:
    """-> what every sentence within these plain values was made of, by its English."""
    memory: dict[str, dict[str, Any]] = {}
    _remember(values, memory)
    return memory


def _remember(values: Any, memory: dict[str, dict[str, Any]]) -> None:
    if isinstance(values, Said):
        memory[str(values)] = values.made
        _remember(values.parts, memory)
    elif isinstance(values, Mapping):
        for name, value in values.items():
            _remember(name, memory)
            _remember(value, memory)
    elif isinstance(values, list | tuple):
        for value in values:
            _remember(value, memory)


def again(text: str, memory: Mapping[str, Mapping[str, Any]], depth: int = 0) -> str:
    """-> the text in the language that is spoken. `memory`: as `remembered` gave it, also after a way through JSON."""
    made = text.made if isinstance(text, Said) else memory.get(text)
    if made is None or depth >= DEPTH_MAX:
        return in_words(text) if known(text) else _(text)
    return _spelled(made, memory, depth + 1)


def _spelled(made: Mapping[str, Any], memory: Mapping[str, Mapping[str, Any]], depth: int) -> str:
    values = {name: _value(name, value, memory, depth) for name, value in made["values"].items()}
    if "many" in made:
        return ngettext(made["message"], made["many"], made["num"], **values)
    return _(made["message"], **values)


def _value(name: str, value: Any, memory: Mapping[str, Mapping[str, Any]], depth: int) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_value(name, one, memory, depth) for one in value)
    if isinstance(value, int | float):
        return number(value, SIGNED if name == "at" else None)
    return again(value if isinstance(value, str) else str(value), memory, depth)


def _flat(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _flat(value)
        else:
            yield value
