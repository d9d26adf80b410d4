-- What a rehearsal's judge reads once everything has come to rest.

-- name: orders_to_judge
-- Every order of a drop with its money and its parcel, oldest first.
SELECT orders.id AS order_id, orders.shopper_id, orders.state, orders.reason, orders.quantity, orders.amount_minor, orders.released,
       (extract(epoch FROM orders.reserved_at) * 1000)::bigint AS reserved_ms, orders.key, coalesce(payments.state, 'none') AS payment, coalesce(payments.captured_minor, 0) AS captured_minor,
       coalesce(payments.refunded_minor, 0) AS refunded_minor, payments.needs_attention, parcels.state AS parcel
FROM orders
LEFT JOIN payments ON payments.order_id = orders.id
LEFT JOIN parcels ON parcels.order_id = orders.id
WHERE orders.drop_id = $1
ORDER BY orders.reserved_at, orders.id;

-- name: unfinished_of_drop
-- How much of a drop can still move: orders, payments and refunds that are under way, parcels not made, people who wait. Of the
-- parcels those that a person has to look at are named.
SELECT (SELECT count(*)::integer FROM orders WHERE drop_id = $1
          AND (state IN ('PENDING_PAYMENT', 'PROCESSING') OR released = false)) AS orders,
       (SELECT count(*)::integer FROM refunds JOIN orders ON orders.id = refunds.order_id
          WHERE orders.drop_id = $1 AND refunds.state = 'wanted') AS refunds,
       (SELECT count(*)::integer FROM parcels JOIN orders ON orders.id = parcels.order_id
          WHERE orders.drop_id = $1 AND orders.state = 'PAID' AND parcels.state IN ('waiting', 'unknown')) AS parcels,
       (SELECT coalesce(array_agg(parcels.order_id), '{}') FROM parcels JOIN orders ON orders.id = parcels.order_id
          WHERE orders.drop_id = $1 AND orders.state = 'PAID' AND parcels.state IN ('waiting', 'unknown')
            AND parcels.needs_attention IS NOT NULL) AS parcels_shown,
       (SELECT count(*)::integer FROM places WHERE drop_id = $1 AND state = 'waiting') AS waiting;
