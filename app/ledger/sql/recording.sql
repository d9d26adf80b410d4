-- The recorder: a batch of journal entries in one transaction.

-- name: lock_stock
-- The drop's stock rows, locked in one order by everyone who takes units: decisions below stand until the commit.
SELECT stock.variant_id, stock.total, stock.sold, drops.per_person, drops.price_minor, drops.currency
FROM stock JOIN drops ON drops.id = stock.drop_id
WHERE stock.drop_id = $1
ORDER BY stock.variant_id
FOR UPDATE OF stock;

-- name: recorded_orders
-- Which of these orders are recorded, and what they are now.
SELECT id, state, reason FROM orders WHERE id = ANY($1::uuid[]);

-- name: standing_of_buyers
-- Keys and units of these buyers in this drop. A REFUSED order never counted.
SELECT shopper_id, key, quantity, state IN ('PENDING_PAYMENT', 'PROCESSING', 'PAID') AS live
FROM orders WHERE drop_id = $1 AND shopper_id = ANY($2::bigint[]) AND state <> 'REFUSED';

-- name: known_shoppers
-- Which of these shoppers exist.
SELECT id FROM shoppers WHERE id = ANY($1::bigint[]);

-- name: record
-- Orders, stock, movements, events and messages of a batch. Only orders that were inserted here move units.
WITH decided AS (
    SELECT * FROM unnest($2::uuid[], $3::integer[], $4::bigint[], $5::integer[], $6::text[], $7::text[], $8::text[], $9::text[],
                         $10::integer[], $11::timestamptz[], $12::timestamptz[])
             AS t (id, variant_id, shopper_id, quantity, key, digest, state, reason, amount_minor, reserved_at, deadline)
), fresh AS (
    INSERT INTO orders (id, drop_id, variant_id, shopper_id, quantity, key, digest, state, reason, amount_minor, currency, reserved_at,
                        deadline, ended_at, released)
    SELECT id, $1, variant_id, shopper_id, quantity, key, digest, state, reason, amount_minor, $13, reserved_at, deadline,
           CASE WHEN state <> 'PENDING_PAYMENT' THEN now() END, CASE WHEN state = 'CANCELLED' THEN false END
    FROM decided
    ON CONFLICT (id) DO NOTHING
    RETURNING id, variant_id, shopper_id, quantity, key, state, reason
), moved AS (
    INSERT INTO movements (order_id, kind, drop_id, variant_id, units)
    SELECT id, 'sold', $1, variant_id, quantity FROM fresh WHERE state = 'PENDING_PAYMENT'
), taken AS (
    UPDATE stock SET sold = sold + units
    FROM (SELECT variant_id, sum(quantity) AS units FROM fresh WHERE state = 'PENDING_PAYMENT' GROUP BY variant_id) AS held
    WHERE stock.variant_id = held.variant_id
), told AS (
    INSERT INTO events (order_id, drop_id, kind, detail)
    SELECT id, $1, CASE state WHEN 'REFUSED' THEN 'refused' WHEN 'CANCELLED' THEN 'offer not wanted' ELSE 'held' END,
           jsonb_strip_nulls(jsonb_build_object('by', 'recorder', 'units', quantity, 'reason', reason))
    FROM fresh
), written AS (
    INSERT INTO messages (kind, subject_id, order_id, recipient, language, state)
    SELECT CASE WHEN fresh.state = 'REFUSED' THEN 'refused' WHEN fresh.key LIKE 'place:%' THEN 'your_turn' ELSE 'hold' END,
           fresh.id::text, fresh.id, shoppers.email_written, shoppers.language,
           CASE WHEN shoppers.synthetic THEN 'withheld' ELSE 'waiting' END
    FROM fresh JOIN shoppers ON shoppers.id = fresh.shopper_id
    WHERE fresh.state <> 'CANCELLED'
    ON CONFLICT (kind, subject_id) DO NOTHING
)
SELECT id FROM fresh;

-- name: reject
-- An entry that cannot be recorded, kept raw.
INSERT INTO journal_rejects (drop_id, entry_id, entry, error) VALUES ($1, $2, $3::jsonb, $4) ON CONFLICT (drop_id, entry_id) DO NOTHING;
