"""Every Redis key of a drop, built in this one place.

All keys of a drop carry the hash tag `{drop:ID}`, so they lie on one slot of a cluster and a script may use any of them together.
What is in each key stands in lua/README.md.
"""

NAMES = ("rules", "totals", "stock", "held", "receipts", "buyers", "keys", "places", "adjustments", "journal")
RECORDERS = "recorder"  # the journal's consumer group


def key(drop_id: int, name: str) -> str:
    """7, 'stock' -> '{drop:7}:stock'. `name` is one of NAMES."""
    if name not in NAMES:
        raise ValueError(f"a drop has no key named {name!r}")
    return f"{{drop:{drop_id:d}}}:{name}"


def shared_key(name: str, what: str) -> str:
    """'page:ab12', 'value' -> '{shared:page:ab12}:value'. `what`: value or maker. It belongs to no drop and expires by itself."""
    return f"{{shared:{name}}}:{what}"


def limit_key(name: str) -> str:
    """'buyer:7' -> '{limit:buyer:7}': the counted calls of one name. It belongs to no drop and expires by itself."""
    return f"{{limit:{name}}}"
