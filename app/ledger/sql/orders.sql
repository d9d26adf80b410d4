-- Reading orders.

-- name: order_for
-- One order of its owner: "not yours" and "not there" are the same empty answer. A paid one learns its wristbands: as many units of the
-- drop were paid for up to and with it, of as many as there are.
SELECT order_details.*,
       CASE WHEN state = 'PAID' THEN (
           SELECT sum(earlier.quantity)::integer FROM orders AS earlier
           WHERE earlier.drop_id = order_details.drop_id AND earlier.state IN ('PAID', 'REFUNDED')
             AND (earlier.paid_at, earlier.id) <= (order_details.paid_at, order_details.order_id)
       ) END AS wristband,
       CASE WHEN state = 'PAID' THEN (
           SELECT sum(stock.total)::integer FROM stock WHERE stock.drop_id = order_details.drop_id
       ) END AS wristbands
FROM order_details WHERE order_id = $1 AND shopper_id = $2;

-- name: order_by_id
-- One order, for workers.
SELECT * FROM order_details WHERE order_id = $1;

-- name: orders_of
-- A shopper's orders, newest first.
SELECT * FROM order_details WHERE shopper_id = $1 ORDER BY reserved_at DESC, order_id LIMIT $2;

-- name: lock_order
-- Lock an order: everything about it and its money is changed under this lock, so what is read here stands until the commit.
SELECT orders.id, orders.drop_id, orders.shopper_id, orders.state, orders.reason, orders.amount_minor, orders.currency, orders.attempts,
       (SELECT payment_attempts FROM drops WHERE drops.id = orders.drop_id) AS attempts_max
FROM orders WHERE id = $1 FOR UPDATE;
