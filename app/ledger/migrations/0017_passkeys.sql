-- Passkeys (WebAuthn), beside the app's codes: a seller's second factor may be shown with one of them.

CREATE TABLE passkeys (
    id            integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    email         text NOT NULL REFERENCES second_factors ON DELETE CASCADE,  -- normalised; they go when it is set up anew
    credential_id bytea NOT NULL UNIQUE CHECK (length(credential_id) BETWEEN 1 AND 1023),
    public_key    bytea NOT NULL,                           -- COSE, as the authenticator gave it
    sign_count    bigint NOT NULL CHECK (sign_count >= 0),  -- of the last use; 0: this authenticator does not count
    transports    text[] NOT NULL DEFAULT '{}',             -- how the browser may reach it
    name          text NOT NULL CHECK (length(name) BETWEEN 1 AND 60),
    made_at       timestamptz NOT NULL DEFAULT now(),
    used_at       timestamptz
);
CREATE INDEX passkeys_by_email ON passkeys (email);

-- What a browser is to sign next: the newest one of a session for a purpose, gone once it is looked at. It follows its session when
-- that gets another id, and goes with it.
CREATE TABLE passkey_challenges (
    session_id uuid NOT NULL REFERENCES seller_sessions ON DELETE CASCADE ON UPDATE CASCADE,
    purpose    text NOT NULL CHECK (purpose IN ('add', 'show')),
    challenge  bytea NOT NULL CHECK (length(challenge) = 32),
    made_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (session_id, purpose)
);
