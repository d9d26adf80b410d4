-- The sandbox provider's own books. Amounts are whole minor units; times are unix seconds.

CREATE TABLE IF NOT EXISTS intents (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    id              TEXT NOT NULL UNIQUE,
    secret          TEXT NOT NULL,
    created         INTEGER NOT NULL,
    amount          INTEGER NOT NULL CHECK (amount > 0),
    currency        TEXT NOT NULL,
    description     TEXT,
    metadata        TEXT NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('requires_payment_method', 'requires_confirmation', 'requires_action', 'succeeded', 'canceled')),
    payment_method  TEXT,
    return_url      TEXT,
    last_error      TEXT,
    charge          TEXT UNIQUE,
    captured        INTEGER NOT NULL DEFAULT 0,
    refunded        INTEGER NOT NULL DEFAULT 0,
    attempts        INTEGER NOT NULL DEFAULT 0,
    canceled_at     INTEGER,
    cancellation_reason TEXT,
    CONSTRAINT captured_once_and_whole CHECK (captured = CASE status WHEN 'succeeded' THEN amount ELSE 0 END),
    CONSTRAINT refunded_at_most_captured CHECK (refunded BETWEEN 0 AND captured)
) STRICT;
CREATE INDEX IF NOT EXISTS intents_by_order ON intents (json_extract(metadata, '$.order'));

CREATE TABLE IF NOT EXISTS refunds (
    seq       INTEGER PRIMARY KEY AUTOINCREMENT,
    id        TEXT NOT NULL UNIQUE,
    intent    TEXT NOT NULL REFERENCES intents (id),
    created   INTEGER NOT NULL,
    amount    INTEGER NOT NULL CHECK (amount > 0),
    reason    TEXT,
    metadata  TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS refunds_by_intent ON refunds (intent);

-- What Stripe's form in the browser makes of a card. Used once: `intent` and its `attempt` say for what; `sdk`: whether the browser's
-- SDK shows the bank's question (1), or a page of the bank's (0).
CREATE TABLE IF NOT EXISTS tokens (
    id              TEXT PRIMARY KEY,
    created         INTEGER NOT NULL,
    payment_method  TEXT NOT NULL,
    return_url      TEXT,
    intent          TEXT REFERENCES intents (id),
    attempt         INTEGER,
    sdk             INTEGER NOT NULL DEFAULT 1 CHECK (sdk IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS tokens_by_intent ON tokens (intent);

-- What a repeat of the same key must hear. A key in flight is in memory only: a crash frees it.
CREATE TABLE IF NOT EXISTS keys (
    key      TEXT PRIMARY KEY,
    path     TEXT NOT NULL,
    digest   TEXT NOT NULL,
    status   INTEGER NOT NULL,
    body     BLOB NOT NULL,
    created  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS events (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT NOT NULL UNIQUE,
    type     TEXT NOT NULL,
    created  INTEGER NOT NULL,
    body     TEXT NOT NULL
) STRICT;

-- One row per message that is still to be delivered to the webhook address.
CREATE TABLE IF NOT EXISTS deliveries (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT,
    event  TEXT NOT NULL REFERENCES events (id),
    due    REAL NOT NULL,
    tries  INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX IF NOT EXISTS deliveries_by_due ON deliveries (due);
