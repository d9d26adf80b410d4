-- The sandbox warehouse's own books; times are unix milliseconds. Neither the reference nor the number need be unique: that is the point.

CREATE TABLE IF NOT EXISTS orders (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    number     TEXT NOT NULL,
    reference  TEXT NOT NULL,
    created    INTEGER NOT NULL,
    lines      TEXT NOT NULL,
    address    TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS orders_by_reference ON orders (reference);
