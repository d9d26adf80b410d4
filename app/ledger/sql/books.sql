-- The books of a drop (DESIGN section 4). All of it is read in one snapshot.

-- name: books_drop
-- The drop itself.
SELECT id, slug, retired_at IS NOT NULL AS retired, per_person FROM drops WHERE id = $1;

-- name: books_variants
-- Units per variant: what the counter says, what the orders say, what the movements say.
SELECT stock.variant_id, stock.total, stock.sold, stock.withdrawn,
       coalesce(o.offered, 0)::integer AS offered, coalesce(o.held, 0)::integer AS held, coalesce(o.processing, 0)::integer AS processing, coalesce(o.paid, 0)::integer AS paid,
       coalesce(o.returning_units, 0)::integer AS returning_units, coalesce(m.units, 0)::integer AS movements_sum
FROM stock
LEFT JOIN (
    SELECT variant_id,
           sum(quantity) FILTER (WHERE state = 'PENDING_PAYMENT' AND key LIKE 'place:%') AS offered,
           sum(quantity) FILTER (WHERE state = 'PENDING_PAYMENT' AND key NOT LIKE 'place:%') AS held,
           sum(quantity) FILTER (WHERE state = 'PROCESSING') AS processing,
           sum(quantity) FILTER (WHERE state = 'PAID') AS paid,
           sum(quantity) FILTER (WHERE released = false) AS returning_units
    FROM orders WHERE drop_id = $1 GROUP BY variant_id
) AS o ON o.variant_id = stock.variant_id
LEFT JOIN (SELECT variant_id, sum(units) AS units FROM movements WHERE drop_id = $1 GROUP BY variant_id) AS m
    ON m.variant_id = stock.variant_id
WHERE stock.drop_id = $1
ORDER BY stock.variant_id;

-- name: books_orders
-- Orders by what is noteworthy about them and their money.
SELECT count(*) FILTER (WHERE orders.state = 'REFUSED')::integer AS refused,
       count(*) FILTER (WHERE payments.state = 'refunded')::integer AS refunded,
       count(*) FILTER (WHERE payments.needs_attention IS NOT NULL)::integer AS needs_attention,
       count(*) FILTER (WHERE orders.state = 'PAID' AND coalesce(payments.captured_minor, 0) <> orders.amount_minor)::integer
           AS paid_without_capture,
       count(*) FILTER (WHERE orders.state IN ('EXPIRED', 'FAILED', 'CANCELLED', 'REFUNDED', 'REFUSED')
           AND payments.captured_minor <> payments.refunded_minor
           AND NOT EXISTS (SELECT FROM refunds WHERE refunds.order_id = orders.id AND refunds.state = 'wanted'))::integer AS money_kept
FROM orders LEFT JOIN payments ON payments.order_id = orders.id
WHERE orders.drop_id = $1;

-- name: books_over_limit
-- Buyers who hold more units than the drop allows one person.
SELECT shopper_id FROM orders
WHERE drop_id = $1 AND state IN ('PENDING_PAYMENT', 'PROCESSING', 'PAID')
GROUP BY shopper_id HAVING sum(quantity) > $2 ORDER BY shopper_id;

-- name: books_rejects
-- Journal entries that could not be recorded.
SELECT count(*)::integer FROM journal_rejects WHERE drop_id = $1;
