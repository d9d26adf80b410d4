-- The log of what a shop's staff did.

-- name: note_audit
-- One action. Entries are never changed.
INSERT INTO audit (shop_id, actor, action, subject, before, after) VALUES ($1, $2, $3, $4, $5, $6);

-- name: audit_log
-- Entries of one shop, the newest first, older than $5 where that is given.
SELECT id, at, actor, action, subject, before, after FROM audit
WHERE shop_id = $1 AND ($2 = '' OR actor = $2) AND ($3 = '' OR action = $3)
  AND ($4 = '' OR position(lower($4) IN lower(subject)) > 0)
  AND ($5::bigint IS NULL OR id < $5)
ORDER BY id DESC
LIMIT $6;

-- name: audit_choices
-- What the log can be narrowed to: everybody and every action that stands in it.
SELECT DISTINCT 'actor' AS kind, actor AS word FROM audit WHERE shop_id = $1
UNION
SELECT DISTINCT 'action', action FROM audit WHERE shop_id = $1
ORDER BY word;
