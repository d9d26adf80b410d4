-- name: note
-- Write what happened to an order, or to the drop itself when there is no order.
INSERT INTO events (order_id, drop_id, kind, detail) VALUES ($1, $2, $3, $4::jsonb);

-- name: events_of
-- What happened to an order, oldest first.
SELECT kind, detail, at FROM events WHERE order_id = $1 ORDER BY seq;

-- name: broken_chains
-- Orders (or, without one, drops) whose history does not prove itself: an event changed, taken out or put in. The first $1 of them.
SELECT DISTINCT order_id, drop_id
FROM (
    SELECT order_id, drop_id, seq, prev, hash, event_hash(prev, seq, order_id, drop_id, kind, detail, at) AS true_hash,
           lag(hash) OVER chain AS hash_before, coalesce(lag(seq) OVER chain, 0) AS seq_before
    FROM events WINDOW chain AS (PARTITION BY order_id, CASE WHEN order_id IS NULL THEN drop_id END ORDER BY seq)
) AS links
WHERE hash <> true_hash OR prev IS DISTINCT FROM hash_before OR seq <> seq_before + 1
ORDER BY drop_id, order_id LIMIT $1;

-- name: orders_without_history
-- Orders whose history is gone, or says something else than the order's state. The first $1 of them.
SELECT orders.id AS order_id, orders.drop_id
FROM orders
WHERE NOT EXISTS (SELECT FROM events WHERE events.order_id = orders.id)
   OR (orders.state IN ('PAID', 'REFUNDED') AND NOT EXISTS (SELECT FROM events WHERE events.order_id = orders.id AND kind = 'paid'))
ORDER BY orders.drop_id, orders.id LIMIT $1;

-- name: history_size
-- Events, and one hash over the last of every history: kept elsewhere, it shows later that nothing was cut off.
SELECT count(*) AS events, encode(sha256(coalesce(string_agg(hash, ''::bytea ORDER BY id) FILTER (WHERE last), ''::bytea)), 'hex') AS head
FROM (
    SELECT id, hash, seq = max(seq) OVER (PARTITION BY order_id, CASE WHEN order_id IS NULL THEN drop_id END) AS last FROM events
) AS links;
