-- What a seller watches while a drop is open. Read once a second: none of it grows with what is long settled, but watch_money.

-- name: watch_variants
-- Units per variant in the seller's order, with what is in checkouts and who waits. What is paid follows: it is the rest of what is sold.
SELECT stock.variant_id, variants.name, stock.total, stock.sold, stock.withdrawn,
       coalesce(live.offered, 0)::integer AS offered, coalesce(live.held, 0)::integer AS held,
       coalesce(live.processing, 0)::integer AS processing,
       (SELECT count(*)::integer FROM places WHERE places.variant_id = stock.variant_id AND places.state = 'waiting') AS waiting
FROM stock JOIN variants ON variants.id = stock.variant_id
LEFT JOIN (
    SELECT variant_id,
           sum(quantity) FILTER (WHERE state = 'PENDING_PAYMENT' AND key LIKE 'place:%') AS offered,
           sum(quantity) FILTER (WHERE state = 'PENDING_PAYMENT' AND key NOT LIKE 'place:%') AS held,
           sum(quantity) FILTER (WHERE state = 'PROCESSING') AS processing
    FROM orders WHERE drop_id = $1 AND state IN ('PENDING_PAYMENT', 'PROCESSING') GROUP BY variant_id
) AS live ON live.variant_id = stock.variant_id
WHERE stock.drop_id = $1
ORDER BY variants.position;

-- name: watch_sales
-- Units paid for from $2 on, per second, oldest first.
SELECT date_trunc('second', paid_at) AS second, sum(quantity)::integer AS units FROM orders
WHERE drop_id = $1 AND paid_at >= $2 GROUP BY 1 ORDER BY 1;

-- name: watch_events
-- The newest $2 things that happened in a drop, newest first.
SELECT id, order_id, kind, detail, at FROM events WHERE drop_id = $1 ORDER BY id DESC LIMIT $2;

-- name: watch_charges
-- How charges ended, newest first, at most $3 among the drop's newest $2 events; `seconds` from the claim to the answer.
SELECT ended.kind, ended.at, extract(epoch FROM ended.at - (
           SELECT started.at FROM events AS started
           WHERE started.order_id = ended.order_id AND started.id < ended.id AND started.kind = 'charging'
           ORDER BY started.id DESC LIMIT 1))::double precision AS seconds
FROM (SELECT id, order_id, kind, at FROM events WHERE drop_id = $1 ORDER BY id DESC LIMIT $2) AS ended
WHERE ended.kind IN ('paid', 'declined', 'authentication asked', 'outcome unknown', 'nothing was charged')
ORDER BY ended.id DESC LIMIT $3;

-- name: watch_money
-- What the provider captured for a drop's orders and gave back, and how much wants a person.
SELECT coalesce(sum(captured_minor), 0)::bigint AS captured_minor, coalesce(sum(refunded_minor), 0)::bigint AS refunded_minor,
       count(*) FILTER (WHERE payments.state = 'unknown')::integer AS unknown,
       count(*) FILTER (WHERE payments.needs_attention IS NOT NULL)::integer AS needs_attention
FROM payments JOIN orders ON orders.id = payments.order_id
WHERE orders.drop_id = $1;
