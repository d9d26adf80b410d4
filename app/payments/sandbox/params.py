"""Reading Stripe's form parameters: nested names in brackets, and a refusal for every name or value that is not lawful."""

import re

from app.payments.sandbox.faults import invalid

AMOUNT_MINOR_MAX = 99_999_999
METADATA_KEYS_MAX = 50
METADATA_KEY_CHARACTERS_MAX = 40
METADATA_VALUE_CHARACTERS_MAX = 500
LIST_LIMIT_DEFAULT = 10
LIST_LIMIT_MAX = 100

_NAME = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])*)")


def check_known(params: dict[str, str], known: set[str]) -> None:
    """Refuse the first parameter whose outer name is not known here. `expand` is always lawful and expands nothing."""
    for name in params:
        match = _NAME.fullmatch(name)
        outer = match.group(1) if match else name
        if outer != "expand" and outer not in known:
            raise invalid(f"Received unknown parameter: {outer}", code="parameter_unknown", param=outer)


def nested(params: dict[str, str], outer: str) -> dict[str, str]:
    """{'metadata[order]': 'x'}, 'metadata' -> {'order': 'x'}."""
    prefix = outer + "["
    return {name[len(prefix) : -1]: value for name, value in params.items() if name.startswith(prefix) and name.endswith("]")}


def metadata(params: dict[str, str]) -> dict[str, str]:
    found = nested(params, "metadata")
    if len(found) > METADATA_KEYS_MAX:
        raise invalid(f"Metadata can have at most {METADATA_KEYS_MAX} keys.", param="metadata")
    for key, value in found.items():
        if len(key) > METADATA_KEY_CHARACTERS_MAX or len(value) > METADATA_VALUE_CHARACTERS_MAX:
            raise invalid("Metadata keys have at most 40 characters and values at most 500.", param="metadata")
    return {key: value for key, value in found.items() if value != ""}


def amount(params: dict[str, str], name: str = "amount") -> int:
    """-> minor units, at least 1."""
    text = params.get(name)
    if text is None:
        raise invalid(f"Missing required param: {name}.", code="parameter_missing", param=name)
    if not re.fullmatch(r"-?\d{1,20}", text, re.ASCII):
        raise invalid(f"Invalid integer: {text}", code="parameter_invalid_integer", param=name)
    if int(text) < 1:
        raise invalid("This value must be greater than or equal to 1.", code="parameter_invalid_integer", param=name)
    if int(text) > AMOUNT_MINOR_MAX:
        raise invalid("Amount must be no more than 99999999.", code="amount_too_large", param=name)
    return int(text)


def currency(params: dict[str, str]) -> str:
    """-> three lower-case letters, as Stripe writes them."""
    text = params.get("currency")
    if text is None:
        raise invalid("Missing required param: currency.", code="parameter_missing", param="currency")
    if not re.fullmatch(r"[A-Za-z]{3}", text, re.ASCII):
        raise invalid(f"Invalid currency: {text}", param="currency")
    return text.lower()


def flag(params: dict[str, str], name: str) -> bool:
    text = params.get(name, "false")
    if text not in ("true", "false"):
        raise invalid(f"Invalid boolean: {text}", param=name)
    return text == "true"


def return_url(params: dict[str, str]) -> str | None:
    url = params.get("return_url")
    if url is not None and not re.match(r"https?://[^\s/]", url):
        raise invalid("Not a valid URL", code="url_invalid", param="return_url")
    return url


def list_limit(params: dict[str, str]) -> int:
    text = params.get("limit", str(LIST_LIMIT_DEFAULT))
    if not re.fullmatch(r"\d{1,3}", text, re.ASCII) or not 1 <= int(text) <= LIST_LIMIT_MAX:
        raise invalid(f"limit must be between 1 and {LIST_LIMIT_MAX}.", code="parameter_invalid_integer", param="limit")
    return int(text)
