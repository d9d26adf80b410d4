-- The ledger image of a drop: what the gate is made equal to. All of it is read in one snapshot.

-- name: image_terms
-- Door, times and limits.
SELECT id AS drop_id, door, opens_at, closes_at, per_person, hold_seconds, clock_offset_ms FROM drops WHERE id = $1;

-- name: image_totals
-- Units the gate may hand out or has handed out, per variant.
SELECT variant_id, total - withdrawn AS units FROM stock WHERE drop_id = $1 ORDER BY variant_id;

-- name: image_orders
-- Every order that was ever granted a unit: its key counts for ever, and while it is live it has a receipt.
SELECT id AS order_id, shopper_id AS buyer, variant_id, quantity, deadline AS pay_by, key, digest,
       state = 'PAID' AS paid, state IN ('PENDING_PAYMENT', 'PROCESSING', 'PAID') AS live
FROM orders WHERE drop_id = $1 AND state <> 'REFUSED';

-- name: image_adjustments
-- The adjustments that the totals above contain.
SELECT id FROM adjustments WHERE drop_id = $1 ORDER BY at, id;

-- name: image_releasing
-- Orders given back here whose release the gate has not confirmed yet.
SELECT count(*)::integer FROM orders WHERE drop_id = $1 AND released = false;

-- name: counts
-- Units left and units in unpaid orders, per variant: the cheap comparison with the gate.
SELECT stock.variant_id, stock.total - stock.sold AS left_units, drops.door,
       (SELECT coalesce(sum(quantity), 0)::integer FROM orders
        WHERE orders.drop_id = $1 AND orders.state IN ('PENDING_PAYMENT', 'PROCESSING') AND orders.variant_id = stock.variant_id) AS held
FROM stock JOIN drops ON drops.id = stock.drop_id
WHERE stock.drop_id = $1;
