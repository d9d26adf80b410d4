-- Units that come back: expiry, cancelling, give back, and the gate's confirmation.

-- name: overdue_holds
-- Holds past their deadline that nobody tried to pay.
SELECT id, drop_id FROM orders
WHERE state = 'PENDING_PAYMENT' AND attempts = 0 AND deadline < now() ORDER BY deadline LIMIT $1;

-- name: expire_holds
-- End these holds if they are still overdue and unattempted; one that somebody else has locked is left to them.
UPDATE orders SET state = 'EXPIRED', reason = 'deadline', released = false, ended_at = now()
WHERE id IN (
    SELECT id FROM orders
    WHERE id = ANY($1::uuid[]) AND state = 'PENDING_PAYMENT' AND attempts = 0 AND deadline < now()
    ORDER BY id FOR UPDATE SKIP LOCKED
)
RETURNING id, drop_id, variant_id, quantity;

-- name: cancel_hold
-- End a hold that nobody tried to pay; of its owner, or of anybody without $2.
UPDATE orders SET state = 'CANCELLED', reason = $3, released = false, ended_at = now()
WHERE id = $1 AND state = 'PENDING_PAYMENT' AND attempts = 0 AND ($2::bigint IS NULL OR shopper_id = $2)
RETURNING id, drop_id, variant_id, quantity;

-- name: return_units
-- Put the units of ended orders back: stock, one movement an order (a second return of one order is refused), one event an order.
WITH returned AS (
    SELECT * FROM unnest($2::uuid[], $3::integer[], $4::integer[]) AS t (order_id, variant_id, units)
), moved AS (
    INSERT INTO movements (order_id, kind, drop_id, variant_id, units)
    SELECT order_id, 'returned', $1, variant_id, -units FROM returned
), told AS (
    INSERT INTO events (order_id, drop_id, kind, detail)
    SELECT order_id, $1, $5, jsonb_build_object('by', $6::text, 'units', units) FROM returned
)
UPDATE stock SET sold = sold - back.units
FROM (SELECT variant_id, sum(units) AS units FROM returned GROUP BY variant_id) AS back
WHERE stock.variant_id = back.variant_id;

-- name: claim_give_back
-- Claim an order to give its unit back: overdue (a submitted payment has its grace), cancelled, or out of attempts.
UPDATE orders SET state = 'PROCESSING', claim = $2, claimed_at = now(), leaving = $3, reason = $4
WHERE id = $1 AND state = 'PENDING_PAYMENT' AND ($5::bigint IS NULL OR shopper_id = $5)
  AND CASE $3::text
      WHEN 'EXPIRED' THEN deadline < now() - CASE
          WHEN EXISTS (SELECT FROM attempts WHERE order_id = $1 AND attempts.state = 'open') THEN make_interval(secs => $6)
          ELSE interval '0' END
      WHEN 'CANCELLED' THEN NOT EXISTS (SELECT FROM attempts WHERE order_id = $1 AND attempts.state = 'open')
      WHEN 'FAILED' THEN attempts >= (SELECT payment_attempts FROM drops WHERE drops.id = drop_id)
          AND NOT EXISTS (SELECT FROM attempts WHERE order_id = $1 AND attempts.state IN ('open', 'action'))
      END;

-- name: due_give_backs
-- Overdue orders with payment attempts, the longest overdue first.
SELECT orders.id AS order_id, orders.drop_id, payments.intent_id
FROM orders LEFT JOIN payments ON payments.order_id = orders.id
WHERE orders.state = 'PENDING_PAYMENT' AND attempts > 0 AND deadline < now()
  AND (deadline < now() - make_interval(secs => $2)
       OR NOT EXISTS (SELECT FROM attempts WHERE attempts.order_id = orders.id AND attempts.state = 'open'))
ORDER BY deadline LIMIT $1;

-- name: give_back
-- The claim's holder knows that no charge can land any more: end the order where it was going, or where its deadline sends it.
UPDATE orders
SET state = coalesce(leaving, CASE WHEN deadline < now() THEN 'EXPIRED' ELSE 'FAILED' END),
    reason = coalesce(reason, CASE WHEN deadline < now() THEN 'deadline' ELSE 'declined' END),
    leaving = NULL, claim = NULL, claimed_at = NULL, released = false, ended_at = now()
WHERE id = $1 AND state = 'PROCESSING' AND claim = $2
RETURNING id, drop_id, variant_id, quantity, state;

-- name: unreleased
-- Orders whose unit is back in the ledger and not yet confirmed by the gate, oldest first.
SELECT id AS order_id, drop_id FROM orders WHERE released = false ORDER BY ended_at LIMIT $1;

-- name: confirm_released
-- The gate said released, offered or absent.
UPDATE orders SET released = true WHERE id = $1 AND released = false;
