-- The API: keys that programs show, answers that are given again, and webhooks that tell programs what happened.

-- A key belongs to a shop. It is shown once; the row knows only its hash, so that a copy of the database opens nothing.
CREATE TABLE api_keys (
    id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shop_id    integer NOT NULL REFERENCES shops,
    name       text NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
    scopes     text[] NOT NULL CONSTRAINT known_scopes CHECK
                 (cardinality(scopes) >= 1 AND scopes <@ ARRAY['read', 'drops', 'orders', 'money', 'webhooks']),
    hash       bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    hint       text NOT NULL CHECK (length(hint) = 4),  -- its last characters, to tell it from others
    made_at    timestamptz NOT NULL DEFAULT now(),
    made_by    text NOT NULL,
    used_at    timestamptz,                             -- about when it was shown last
    revoked_at timestamptz,
    revoked_by text
);
CREATE INDEX api_keys_of_shop ON api_keys (shop_id, id DESC);

-- What became of a POST under an Idempotency-Key. Kept for a day; without a status somebody is at it, or died at it.
CREATE TABLE api_repeats (
    shop_id  integer NOT NULL REFERENCES shops,
    key      text NOT NULL CHECK (length(key) BETWEEN 1 AND 64),
    digest   bytea NOT NULL CHECK (length(digest) = 32), -- of the request
    token    uuid NOT NULL,                              -- who is at it
    wish     uuid NOT NULL,                              -- names what is done: whoever follows one who died wishes the same
    begun_at timestamptz NOT NULL DEFAULT now(),
    status   smallint,
    body     bytea,
    PRIMARY KEY (shop_id, key),
    CONSTRAINT whole_answer CHECK ((status IS NULL) = (body IS NULL))
);
CREATE INDEX api_repeats_by_age ON api_repeats (begun_at);

-- Which transaction wrote an event. Ids are given out in the order of writing, not of committing; together with the oldest transaction
-- still open this says up to where a reader has seen everything there will ever be. Older events count as of transaction 0.
ALTER TABLE events ADD COLUMN xact xid8 NOT NULL DEFAULT '0';
ALTER TABLE events ALTER COLUMN xact SET DEFAULT pg_current_xact_id();
CREATE INDEX events_by_xact ON events (xact, id);

-- Where a shop's events are sent, and how far they were handed out.
CREATE TABLE hooks (
    id           integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shop_id      integer NOT NULL REFERENCES shops,
    url          text NOT NULL CHECK (length(url) BETWEEN 1 AND 2000),
    kinds        text[] NOT NULL CHECK (cardinality(kinds) >= 1), -- app/domain/hooks.py
    nonce        bytea NOT NULL CHECK (length(nonce) = 20), -- its secret is made of this and the installation's secret
    nonce_before bytea CHECK (length(nonce_before) = 20),   -- of the secret that was replaced, which signs too for a day
    rotated_at   timestamptz,
    cursor_xact  xid8 NOT NULL DEFAULT pg_snapshot_xmin(pg_current_snapshot()), -- the last event handed out ...
    cursor_id    bigint NOT NULL DEFAULT 0,
    floor_id     bigint NOT NULL DEFAULT 0,              -- ... and in a database restored elsewhere, whose transactions count anew
    made_at      timestamptz NOT NULL DEFAULT now(),
    made_by      text NOT NULL,
    removed_at   timestamptz,
    CONSTRAINT rotated_has_a_time CHECK ((nonce_before IS NULL) = (rotated_at IS NULL))
);
CREATE INDEX hooks_of_shop ON hooks (shop_id, id) WHERE removed_at IS NULL;

-- One event for one webhook: sent until its receiver says 2xx, or given up after the last try.
CREATE TABLE hook_deliveries (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hook_id       integer NOT NULL REFERENCES hooks,
    event_id      bigint NOT NULL,                       -- events are never deleted: no foreign key locks their rows
    state         text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
    tries         integer NOT NULL DEFAULT 0,            -- since it began, or was begun again by hand
    next_try_at   timestamptz NOT NULL DEFAULT now(),
    claim         uuid,                                  -- who sends it just now
    claimed_until timestamptz,
    attempts      jsonb NOT NULL DEFAULT '[]',           -- [{"at", "seconds", "status"?, "answer"?, "error"?}, ...], the newest last
    created_at    timestamptz NOT NULL DEFAULT now(),
    delivered_at  timestamptz,
    CONSTRAINT one_delivery_per_event UNIQUE (hook_id, event_id),
    CONSTRAINT delivery_claim_has_an_end CHECK ((claim IS NULL) = (claimed_until IS NULL)),
    CONSTRAINT delivered_has_a_time CHECK ((state = 'delivered') = (delivered_at IS NOT NULL))
);
CREATE INDEX hook_deliveries_due ON hook_deliveries (hook_id, next_try_at, id) WHERE state = 'waiting';
CREATE INDEX hook_deliveries_failed ON hook_deliveries (hook_id) WHERE state = 'failed';
CREATE INDEX hook_deliveries_newest ON hook_deliveries (hook_id, id DESC);
CREATE INDEX hook_deliveries_by_age ON hook_deliveries (created_at);
