-- Shoppers and their sign-in codes.

-- name: shopper_for
-- The shopper of a normalised address, made at the first sign-in. Mail goes to the address as written last.
INSERT INTO shoppers (email, email_written) VALUES ($1, $2)
ON CONFLICT (email) DO UPDATE SET email_written = excluded.email_written
RETURNING id;

-- name: shopper
-- One shopper.
SELECT id, email, email_written, session_epoch, synthetic FROM shoppers WHERE id = $1;

-- name: mint_shoppers
-- Synthetic shoppers for tests and rehearsals.
INSERT INTO shoppers (email, email_written, synthetic)
SELECT address, address, true
FROM (SELECT gen_random_uuid()::text || '@crowd.invalid' AS address FROM generate_series(1, $1::integer)) AS minted
RETURNING id;

-- name: signed_out_epochs
-- Everyone who ever signed out everywhere, with the lowest session epoch that is still good.
SELECT id, session_epoch FROM shoppers WHERE session_epoch > 0;

-- name: sign_out_everywhere
-- Make every cookie of this shopper void.
UPDATE shoppers SET session_epoch = session_epoch + 1 WHERE id = $1 RETURNING session_epoch;

-- name: one_code_at_a_time
-- Two questions for one address wait for each other until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended($1, 0));

-- name: ask_code
-- Note a sign-in code, unless this address asked for too many in the last hour.
INSERT INTO sign_in_codes (id, email, email_written, code_hash, expires_at)
SELECT $1, $2, $3, $4, now() + make_interval(secs => $5)
WHERE (SELECT count(*) FROM sign_in_codes WHERE email = $2 AND created_at > now() - interval '1 hour') < $6;

-- name: forget_old_codes
-- What an address asked for long ago limits nothing any more.
DELETE FROM sign_in_codes WHERE email = $1 AND created_at < now() - interval '1 day';

-- name: try_code
-- Count one try of a code that is unused, in time and not tried too often; the right code is used up by the same statement.
UPDATE sign_in_codes
SET tries = tries + 1, used_at = CASE WHEN code_hash = $2 THEN now() END
WHERE id = $1 AND used_at IS NULL AND tries < $3 AND expires_at > now()
RETURNING used_at IS NOT NULL AS matches, email, email_written;
