-- Passkeys of a seller, and the challenges that their browsers sign. Every statement asks for the owner.

-- name: passkeys
-- Those of one person, the oldest first.
SELECT id, name, credential_id, public_key, sign_count, transports, made_at, used_at
FROM passkeys WHERE email = $1 ORDER BY id;

-- name: passkey
-- The one that holds this credential, if it is this person's.
SELECT id, name, credential_id, public_key, sign_count, transports, made_at, used_at
FROM passkeys WHERE email = $1 AND credential_id = $2;

-- name: put_passkey_challenge
-- The only one of this session for this purpose: an earlier one is void. No row for a session that has ended.
INSERT INTO passkey_challenges (session_id, purpose, challenge)
SELECT id, $3, $4 FROM seller_sessions WHERE id = $1 AND email = $2 AND ended_at IS NULL AND expires_at > now()
ON CONFLICT (session_id, purpose) DO UPDATE SET challenge = excluded.challenge, made_at = now();

-- name: take_passkey_challenge
-- It is used up by being looked at, whatever is found.
DELETE FROM passkey_challenges WHERE session_id = $1 AND purpose = $2
RETURNING challenge, made_at > now() - make_interval(secs => $3) AS timely;

-- name: lock_second_factor
-- Changes to one person's passkeys wait for each other; no row without a second factor in use.
SELECT email FROM second_factors WHERE email = $1 AND confirmed_at IS NOT NULL FOR UPDATE;

-- name: count_passkeys
-- How many one person has.
SELECT count(*)::integer FROM passkeys WHERE email = $1;

-- name: add_passkey
-- A new one; no row for a credential that somebody has already.
INSERT INTO passkeys (email, credential_id, public_key, sign_count, transports, name) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (credential_id) DO NOTHING;

-- name: use_passkey
-- It was shown. Its counter must have moved on since the last time; one that does not count stays at 0.
UPDATE passkeys SET sign_count = $3, used_at = now()
WHERE email = $1 AND id = $2 AND (sign_count < $3 OR (sign_count = 0 AND $3 = 0));

-- name: remove_passkey
-- It opens nothing any more.
DELETE FROM passkeys WHERE email = $1 AND id = $2 RETURNING name;
