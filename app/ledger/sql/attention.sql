-- What a person must look at, and the drops that are being cancelled.

-- name: attention
-- Payments, refunds and parcels that need a person, the oldest order first.
SELECT 'payment' AS kind, orders.id AS order_id, drops.slug AS drop_slug, orders.state, payments.state AS payment, NULL AS purpose,
       NULL AS parcel, payments.needs_attention AS why, payments.asked_again, payments.intent_id AS reference, orders.amount_minor,
       orders.currency, orders.reserved_at
FROM payments JOIN orders ON orders.id = payments.order_id JOIN drops ON drops.id = orders.drop_id
WHERE payments.needs_attention IS NOT NULL
UNION ALL
SELECT 'refund', orders.id, drops.slug, orders.state, payments.state, refunds.purpose, NULL, refunds.needs_attention,
       refunds.asked_again, refunds.intent_id, refunds.amount_minor, orders.currency, orders.reserved_at
FROM refunds JOIN orders ON orders.id = refunds.order_id JOIN drops ON drops.id = orders.drop_id
LEFT JOIN payments ON payments.order_id = orders.id
WHERE refunds.needs_attention IS NOT NULL
UNION ALL
SELECT 'parcel', orders.id, drops.slug, orders.state, payments.state, NULL, parcels.state, parcels.needs_attention,
       parcels.asked_again, parcels.number, orders.amount_minor, orders.currency, orders.reserved_at
FROM parcels JOIN orders ON orders.id = parcels.order_id JOIN drops ON drops.id = orders.drop_id
LEFT JOIN payments ON payments.order_id = orders.id
WHERE parcels.needs_attention IS NOT NULL
ORDER BY reserved_at, order_id, kind LIMIT $1;

-- name: payment_looked_at
-- A person has seen to this payment; an outcome that is still unknown stays shown.
UPDATE payments SET needs_attention = NULL WHERE order_id = $1 AND needs_attention IS NOT NULL AND state <> 'unknown';

-- name: parcel_looked_at
-- A person has seen to this parcel; one that is still unknown stays shown.
UPDATE parcels SET needs_attention = NULL WHERE order_id = $1 AND needs_attention IS NOT NULL AND state IN ('made', 'sent');

-- name: holds_of_cancelled_drops
-- Holds in cancelled drops that no worker is charging, oldest first.
SELECT orders.id AS order_id, orders.drop_id, payments.intent_id
FROM orders JOIN drops ON drops.id = orders.drop_id LEFT JOIN payments ON payments.order_id = orders.id
WHERE drops.door = 'cancelled' AND drops.retired_at IS NULL AND orders.state = 'PENDING_PAYMENT'
  AND NOT EXISTS (SELECT FROM attempts WHERE attempts.order_id = orders.id AND attempts.state = 'open')
ORDER BY orders.reserved_at LIMIT $1;

-- name: kept_money_of_cancelled_drops
-- Paid orders of cancelled drops of whose money something is not wanted back yet, oldest first.
SELECT orders.id
FROM orders JOIN drops ON drops.id = orders.drop_id JOIN payments ON payments.order_id = orders.id
WHERE drops.door = 'cancelled' AND drops.retired_at IS NULL AND orders.state = 'PAID'
  AND NOT EXISTS (SELECT FROM refunds WHERE refunds.order_id = orders.id AND purpose = 'drop_cancelled')
  AND captured_minor > (SELECT coalesce(sum(amount_minor), 0) FROM refunds
                        WHERE refunds.order_id = orders.id AND refunds.intent_id = payments.intent_id)
ORDER BY orders.paid_at LIMIT $1;

-- name: cancelling
-- How far the cancelling of a drop is: orders and refunds.
SELECT count(*)::integer AS orders,
       count(*) FILTER (WHERE orders.state IN ('PENDING_PAYMENT', 'PROCESSING'))::integer AS open,
       count(*) FILTER (WHERE orders.state = 'PAID')::integer AS to_refund,
       count(*) FILTER (WHERE payments.state = 'refunded')::integer AS refunded,
       count(*) FILTER (WHERE payments.needs_attention IS NOT NULL OR EXISTS (
           SELECT FROM refunds WHERE refunds.order_id = orders.id AND refunds.needs_attention IS NOT NULL))::integer AS needs_attention
FROM orders LEFT JOIN payments ON payments.order_id = orders.id
WHERE orders.drop_id = $1 AND orders.state <> 'REFUSED';
