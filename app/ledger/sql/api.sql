-- Keys of the API, and what became of requests that may be repeated. Every statement about a shop asks for the shop.

-- name: make_api_key
-- A new key, unless the shop has $7 of them in use.
INSERT INTO api_keys (shop_id, name, scopes, hash, hint, made_by)
SELECT $1, $2, $3, $4, $5, $6
WHERE (SELECT count(*) FROM api_keys WHERE shop_id = $1 AND revoked_at IS NULL) < $7
RETURNING id;

-- name: api_keys
-- The keys of a shop, the newest first, those in use before those that are not.
SELECT id, name, scopes, hint, made_at, made_by, used_at, revoked_at, revoked_by
FROM api_keys WHERE shop_id = $1 ORDER BY revoked_at IS NOT NULL, id DESC LIMIT $2;

-- name: api_key
-- One key of a shop, in use or not.
SELECT id, name, scopes, hint, made_at, made_by, used_at, revoked_at, revoked_by FROM api_keys WHERE shop_id = $1 AND id = $2;

-- name: revoke_api_key
-- From now on it opens nothing.
UPDATE api_keys SET revoked_at = now(), revoked_by = $3 WHERE shop_id = $1 AND id = $2 AND revoked_at IS NULL;

-- name: api_key_shown
-- Whose key has this hash, while it is in use.
SELECT api_keys.id, api_keys.shop_id, shops.time_zone, api_keys.name, api_keys.scopes
FROM api_keys JOIN shops ON shops.id = api_keys.shop_id
WHERE api_keys.hash = $1 AND api_keys.revoked_at IS NULL;

-- name: api_key_used
-- It was used just now, noted at most every $2 seconds.
UPDATE api_keys SET used_at = now() WHERE id = $1 AND (used_at IS NULL OR used_at < now() - make_interval(secs => $2));

-- name: begin_repeatable
-- The first request under a key begins: one whose predecessor is a day old ($5 seconds), or died at it $6 seconds ago, counts as the first.
INSERT INTO api_repeats (shop_id, key, digest, token, wish) VALUES ($1, $2, $3, $4, $4)
ON CONFLICT (shop_id, key) DO UPDATE
SET digest = $3, token = $4, begun_at = now(), status = NULL, body = NULL,
    wish = CASE WHEN api_repeats.begun_at < now() - make_interval(secs => $5) THEN $4 ELSE api_repeats.wish END
WHERE api_repeats.begun_at < now() - make_interval(secs => $5)
   OR (api_repeats.status IS NULL AND api_repeats.digest = $3 AND api_repeats.begun_at < now() - make_interval(secs => $6))
RETURNING wish;

-- name: repeated
-- What is known of the first request under a key.
SELECT digest, status, body FROM api_repeats WHERE shop_id = $1 AND key = $2;

-- name: keep_answer
-- The answer that repeats will get, from whoever is at it.
UPDATE api_repeats SET status = $4, body = $5 WHERE shop_id = $1 AND key = $2 AND token = $3 AND status IS NULL;

-- name: forget_repeatable
-- Nothing came of it: the same key may be tried again.
DELETE FROM api_repeats WHERE shop_id = $1 AND key = $2 AND token = $3 AND status IS NULL;

-- name: drops_from
-- The drops of a shop, the latest openings first, from a place in that order ($2, $3) on.
SELECT * FROM published_drops
WHERE shop_id = $1 AND ($2::timestamptz IS NULL OR (opens_at, id) < ($2, $3::integer))
ORDER BY opens_at DESC, id DESC LIMIT $4;

-- name: forget_old_answers
-- What is older than a day ($1 seconds) is not repeated any more.
DELETE FROM api_repeats WHERE begun_at < now() - make_interval(secs => $1);
