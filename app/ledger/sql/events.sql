-- name: note
-- Write what happened to an order, or to the drop itself when there is no order.
INSERT INTO events (order_id, drop_id, kind, detail) VALUES ($1, $2, $3, $4::jsonb);

-- name: events_of
-- What happened to an order, oldest first.
SELECT kind, detail, at FROM events WHERE order_id = $1 ORDER BY id;
