-- Drafts, the words and pictures of published drops, and openings that move. Every statement asks for the shop.

-- name: add_draft
-- A new plan, unless the shop has $4 of them.
INSERT INTO drafts (shop_id, plan, created_by, updated_by)
SELECT $1, $2, $3, $3
WHERE (SELECT count(*) FROM drafts WHERE shop_id = $1 AND drop_id IS NULL) < $4
RETURNING id;

-- name: draft
-- One plan of a shop, published or not.
SELECT id, shop_id, version, plan, created_at, created_by, updated_at, updated_by, drop_id
FROM drafts WHERE shop_id = $1 AND id = $2;

-- name: drafts_of_shop
-- Plans that are not published yet, the last one touched first.
SELECT id, shop_id, version, plan, created_at, created_by, updated_at, updated_by, drop_id
FROM drafts WHERE shop_id = $1 AND drop_id IS NULL ORDER BY updated_at DESC, id DESC LIMIT $2;

-- name: save_draft
-- What was typed replaces version $3, and no other.
UPDATE drafts SET plan = $4, version = version + 1, updated_at = now(), updated_by = $5
WHERE shop_id = $1 AND id = $2 AND version = $3 AND drop_id IS NULL;

-- name: delete_draft
-- A plan that will be no drop.
DELETE FROM drafts WHERE shop_id = $1 AND id = $2 AND version = $3 AND drop_id IS NULL;

-- name: lock_draft
-- The plan that is being published, in version $3; a second publication waits here and then finds none.
SELECT id FROM drafts WHERE shop_id = $1 AND id = $2 AND version = $3 AND drop_id IS NULL FOR UPDATE;

-- name: draft_published
-- It has become this drop.
UPDATE drafts SET drop_id = $2, updated_at = now(), updated_by = $3 WHERE id = $1;

-- name: edit_drop
-- Words, pictures and places of sending of version $3 of a published drop, and of no other.
UPDATE drops SET title = $4, description = $5, shipping_countries = $6, picture = $7, version = version + 1, updated_at = now(),
                 updated_by = $8
WHERE shop_id = $1 AND id = $2 AND version = $3;

-- name: take_pictures_down
-- A drop's pictures, before others are hung.
DELETE FROM drop_pictures WHERE drop_id = $1;

-- name: postpone_drop
-- A later opening for version $3 of a drop that opens in $7 seconds at the earliest; the gate is told afterwards.
UPDATE drops SET opens_at = $4, closes_at = $5, version = version + 1, updated_at = now(), updated_by = $6
WHERE shop_id = $1 AND id = $2 AND version = $3 AND door IN ('open', 'paused')
  AND opens_at > now() + make_interval(secs => $7) AND opens_at < $4;

-- name: tell_of_moved_opening
-- Whoever asked to be reminded, waits on the list or holds an order of a drop hears of its new opening, once per opening.
INSERT INTO messages (kind, subject_id, recipient, language, data, state)
SELECT 'opening_moved', drops.id || ':' || shoppers.id || ':' || extract(epoch FROM drops.opens_at)::bigint, shoppers.email_written,
       shoppers.language,
       jsonb_build_object('drop_slug', drops.slug, 'drop_title', drops.title, 'shop_name', shops.name, 'variant', '', 'quantity', 1,
                          'opens_at', to_char(drops.opens_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
       CASE WHEN shoppers.synthetic THEN 'withheld' ELSE 'waiting' END
FROM drops JOIN shops ON shops.id = drops.shop_id
JOIN shoppers ON shoppers.id IN (
    SELECT shopper_id FROM reminders WHERE drop_id = $1
    UNION SELECT shopper_id FROM places WHERE drop_id = $1 AND state = 'waiting'
    UNION SELECT shopper_id FROM orders WHERE drop_id = $1 AND state IN ('PENDING_PAYMENT', 'PROCESSING', 'PAID'))
WHERE drops.id = $1 AND shoppers.deleted_at IS NULL
ON CONFLICT (kind, subject_id) DO NOTHING;

-- name: remind_again
-- Whoever was told of the opening that moved is told again before the new one.
UPDATE reminders SET told_at = NULL WHERE drop_id = $1 AND told_at IS NOT NULL;

-- name: told_of_opening
-- How many people hear when this drop's opening moves.
SELECT count(*)::integer FROM (
    SELECT shopper_id FROM reminders WHERE drop_id = $1
    UNION SELECT shopper_id FROM places WHERE drop_id = $1 AND state = 'waiting'
    UNION SELECT shopper_id FROM orders WHERE drop_id = $1 AND state IN ('PENDING_PAYMENT', 'PROCESSING', 'PAID')) AS told;

-- name: unsold_units
-- Units of each variant that no order counts on: what can be taken away.
SELECT variants.id AS variant_id, stock.total - stock.sold AS units
FROM variants JOIN stock ON stock.variant_id = variants.id JOIN drops ON drops.id = variants.drop_id
WHERE drops.shop_id = $1 AND drops.id = $2 ORDER BY variants.position;
