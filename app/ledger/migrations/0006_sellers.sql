-- The seller's side: who staffs a shop, their sessions and second factor, and the log of everything they did.

ALTER TABLE shops ADD COLUMN time_zone text NOT NULL DEFAULT 'UTC';  -- IANA name: what the dashboard's clock and its forms mean

ALTER TABLE sellers
    ADD COLUMN email_written text,                          -- where mail goes; NULL: as it is compared
    ADD COLUMN invited_by text,                             -- NULL: the shop's first owner
    ADD COLUMN joined_at timestamptz;                       -- the first sign-in; NULL: invited, not seen yet
CREATE INDEX sellers_by_email ON sellers (email);

-- A person's second factor, one for every shop they staff. The secret itself is nowhere at rest: it is made of this nonce and the
-- installation's secret, so that a copy of the database opens nothing.
CREATE TABLE second_factors (
    email        text PRIMARY KEY,                          -- normalised
    nonce        bytea NOT NULL CHECK (length(nonce) = 20),
    confirmed_at timestamptz,                               -- a code of it was typed once; NULL: shown, not in use yet
    step         bigint NOT NULL DEFAULT 0,                 -- of the newest code accepted: none of this step or before is good again
    tries        integer NOT NULL DEFAULT 0,                -- wrong codes since tries_since
    tries_since  timestamptz NOT NULL DEFAULT now()
);

-- Codes for the day when the phone is gone: each works once, hashed at rest.
CREATE TABLE recovery_codes (
    email     text NOT NULL REFERENCES second_factors ON DELETE CASCADE,
    code_hash bytea NOT NULL,
    used_at   timestamptz,
    PRIMARY KEY (email, code_hash)
);

-- One row per sign-in to the dashboard. It is read again every few seconds, so ending the row ends the session.
CREATE TABLE seller_sessions (
    id         uuid PRIMARY KEY,                            -- new at every sign-in and whenever the second factor was shown
    email      text NOT NULL,                               -- normalised
    shop_id    integer NOT NULL REFERENCES shops,           -- the one they look at
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at    timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    proven_at  timestamptz,                                 -- the second factor was shown last
    browser    text NOT NULL DEFAULT '',                    -- as it names itself, shortened: for the list of sessions
    ended_at   timestamptz
);
CREATE INDEX seller_sessions_by_email ON seller_sessions (email, started_at DESC);

-- What somebody did for a shop, with what it was before and after. Append-only.
CREATE TABLE audit (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shop_id integer NOT NULL REFERENCES shops,
    at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor   text NOT NULL,                                  -- an address, or 'command line', or the name of an API key
    action  text NOT NULL CHECK (length(action) BETWEEN 1 AND 80),
    subject text NOT NULL CHECK (length(subject) <= 300),
    before  jsonb,
    after   jsonb
);
CREATE INDEX audit_of_shop ON audit (shop_id, id DESC);

CREATE FUNCTION keep_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER keep_audit BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION keep_audit();
CREATE TRIGGER keep_audit_whole BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION keep_audit();
