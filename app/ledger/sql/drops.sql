-- Shops, drops, variants, adjustments of stock.

-- name: add_shop
-- A new shop; its owner is written in the same transaction.
INSERT INTO shops (name) VALUES ($1) RETURNING id;

-- name: add_seller
-- Someone who may act for a shop.
INSERT INTO sellers (shop_id, email, email_written, role) VALUES ($1, $2, $3, $4) ON CONFLICT (shop_id, email) DO NOTHING;

-- name: shop_named
-- The oldest shop of this name.
SELECT id FROM shops WHERE name = $1 ORDER BY id LIMIT 1;

-- name: first_shop
-- The oldest shop: the one a command means when it names none.
SELECT id FROM shops ORDER BY id LIMIT 1;

-- name: add_drop
-- A new drop. A slug that is taken inserts nothing.
INSERT INTO drops (shop_id, slug, title, description, price_minor, currency, opens_at, closes_at, per_person, hold_seconds,
                   payment_attempts, clock_offset_ms, picture, offer_seconds, waitlist, ships, time_zone, shipping_countries, tax_basis_points,
                   shipping_fees)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
ON CONFLICT (slug) DO NOTHING
RETURNING id;

-- name: add_variants
-- The variants of a new drop, in the seller's order, with their stock rows.
WITH named AS (
    INSERT INTO variants (drop_id, name, position)
    SELECT $1, name, position FROM unnest($2::text[]) WITH ORDINALITY AS wanted (name, position)
    RETURNING id, position
)
INSERT INTO stock (variant_id, drop_id, total)
SELECT named.id, $1, ($3::integer[])[named.position] FROM named;

-- name: hang_pictures
-- The pictures of a drop that has none yet, in the seller's order, with what each shows.
INSERT INTO drop_pictures (drop_id, position, hash, alt)
SELECT $1, position, hash, alt FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS wanted (hash, alt, position);

-- name: drop_by_slug
-- One drop with its shop and its variants.
SELECT * FROM published_drops
WHERE slug = $1;

-- name: drop_by_id
-- The same by id.
SELECT * FROM published_drops
WHERE id = $1;

-- name: drops
-- Drops, the latest opening first; with $1 only those whose keys are still in Redis.
SELECT * FROM published_drops
WHERE NOT $1 OR retired_at IS NULL
ORDER BY opens_at DESC, id DESC
LIMIT $2;

-- name: live_drop_ids
-- Every drop whose keys are still in Redis.
SELECT id FROM drops WHERE retired_at IS NULL ORDER BY id;

-- name: lock_drop
-- A drop whose door, pieces or life are about to change: such changes wait here for each other, and each sees what the last one did.
-- `over`: nobody buys any more, by the seller's word or by the drop's own clock; such a drop never opens again.
SELECT shop_id, slug, title, door, opens_at, closes_at,
       door IN ('closed', 'cancelled')
       OR coalesce(closes_at <= clock_timestamp() + make_interval(secs => clock_offset_ms / 1000.0), false) AS over
FROM drops WHERE id = $1 FOR NO KEY UPDATE;

-- name: change_door
-- Open, pause, close or cancel a drop that is locked, and move the times; a change that changes nothing is no row.
UPDATE drops SET door = $2, opens_at = coalesce($3, opens_at), closes_at = coalesce($4, closes_at)
WHERE id = $1 AND (door, opens_at, closes_at) IS DISTINCT FROM ($2, coalesce($3, opens_at), coalesce($4, closes_at));

-- name: retire_drop
-- The books are closed: no order can move its units any more, and the gate has confirmed every return.
UPDATE drops SET retired_at = now()
WHERE id = $1 AND retired_at IS NULL
  AND NOT EXISTS (SELECT FROM orders WHERE drop_id = $1 AND state IN ('PENDING_PAYMENT', 'PROCESSING'))
  AND NOT EXISTS (SELECT FROM orders WHERE drop_id = $1 AND released = false)
  AND NOT EXISTS (SELECT FROM adjustments WHERE drop_id = $1 AND NOT confirmed);

-- name: add_adjustment
-- Note the seller's wish under its own id. A repeated id is no row.
INSERT INTO adjustments (id, drop_id, variant_id, units, actor)
SELECT $1, $2, variants.id, $4, $5 FROM variants WHERE variants.id = $3 AND variants.drop_id = $2
ON CONFLICT (id) DO NOTHING;

-- name: adjustment
-- One adjustment that counts in its variant's total.
SELECT id, drop_id, variant_id, units, confirmed FROM adjustments WHERE id = $1;

-- name: adjust_total
-- Raise or lower what the seller released, never below what is sold -> the total afterwards.
UPDATE stock SET total = total + $2 WHERE variant_id = $1 AND total + $2 >= sold RETURNING total;

-- name: adjusted_to
-- What a variant had released with this wish: for the audit log.
UPDATE adjustments SET total_after = $2 WHERE id = $1;

-- name: unconfirmed_adjustments
-- Adjustments that the gate has not counted yet, oldest first; of one drop, or of all without $1.
SELECT id, drop_id, variant_id, units, confirmed FROM adjustments
WHERE NOT confirmed AND ($1::integer IS NULL OR drop_id = $1) ORDER BY at, id;

-- name: confirm_adjustment
-- The gate has counted it -> what the audit log says of it.
UPDATE adjustments SET confirmed = true
FROM drops, variants
WHERE adjustments.id = $1 AND NOT confirmed AND drops.id = adjustments.drop_id AND variants.id = adjustments.variant_id
RETURNING drops.shop_id, drops.slug, variants.name AS variant, adjustments.units, adjustments.actor, adjustments.total_after;

-- name: withdraw_adjustment
-- The gate had too few units left: the wish is undone.
DELETE FROM adjustments WHERE id = $1 AND NOT confirmed RETURNING drop_id, variant_id, units;
