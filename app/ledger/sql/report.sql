-- What a drop looks like afterwards, and what it brought in.

-- name: report_orders
-- A drop's orders by how far they came and how they ended.
SELECT state, coalesce(reason, '') AS reason, key LIKE 'place:%' AS offered, attempts > 0 AS tried, paid_at IS NOT NULL AS paid,
       count(*)::integer AS orders, sum(quantity)::integer AS units
FROM orders WHERE drop_id = $1 GROUP BY 1, 2, 3, 4, 5;

-- name: report_last_unit
-- When for the first time nothing was left that was not in somebody's hands. No row: something was always left.
SELECT at FROM (
    SELECT at, sum(sum(units)) OVER (ORDER BY at) AS left_over
    FROM (
        SELECT drops.opens_at - interval '1 year' AS at,
               (SELECT sum(total) FROM stock WHERE drop_id = $1)
               - coalesce((SELECT sum(units) FROM adjustments WHERE drop_id = $1), 0) AS units
        FROM drops WHERE drops.id = $1
        UNION ALL SELECT at, units FROM adjustments WHERE drop_id = $1
        UNION ALL
        SELECT CASE movements.kind WHEN 'sold' THEN orders.reserved_at ELSE coalesce(orders.ended_at, movements.at) END, -movements.units
        FROM movements JOIN orders ON orders.id = movements.order_id WHERE movements.drop_id = $1
    ) AS steps
    GROUP BY at
) AS running
WHERE left_over <= 0 ORDER BY at LIMIT 1;

-- name: report_paid
-- The first and the last payment of a drop's orders that are still paid, and the units.
SELECT min(paid_at) AS first, max(paid_at) AS last, coalesce(sum(quantity), 0)::integer AS units FROM orders
WHERE drop_id = $1 AND state = 'PAID';

-- name: report_places
-- A drop's waitlist by what became of the places.
SELECT state, count(*)::integer AS places, sum(quantity)::integer AS units FROM places WHERE drop_id = $1 GROUP BY state;

-- name: report_parcels
-- A drop's parcels by where they are.
SELECT parcels.state, count(*)::integer AS parcels, count(*) FILTER (WHERE needs_attention IS NOT NULL)::integer AS needs_attention
FROM parcels JOIN orders ON orders.id = parcels.order_id WHERE orders.drop_id = $1 GROUP BY parcels.state;

-- name: report_refunds
-- A drop's refunds by why they were made and whether the provider has confirmed them.
SELECT split_part(purpose, ':', 1) AS purpose, refunds.state = 'done' AS done, count(*)::integer AS refunds,
       sum(refunds.amount_minor)::bigint AS amount_minor
FROM refunds JOIN orders ON orders.id = refunds.order_id WHERE orders.drop_id = $1 GROUP BY 1, 2 ORDER BY 1, 2;

-- name: accounts
-- What each drop of a shop brought in, the latest opening first; only drop $2 where it is given.
SELECT drops.id AS drop_id, drops.slug, drops.title, drops.currency, drops.opens_at,
       money.orders, money.units, money.gross_minor, money.refunded_minor, money.refunding_minor, money.shipping_minor,
       drops.tax_basis_points, papers.tax_minor
FROM drops CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE captured_minor > 0)::integer AS orders,
           coalesce(sum(orders.quantity) FILTER (WHERE captured_minor > 0), 0)::integer AS units,
           coalesce(sum(captured_minor), 0)::bigint AS gross_minor,
           coalesce(sum(payments.refunded_minor), 0)::bigint AS refunded_minor,
           coalesce(sum((SELECT sum(amount_minor) FROM refunds WHERE refunds.order_id = orders.id AND refunds.state = 'wanted'
                         AND refunds.intent_id = payments.intent_id)), 0)::bigint AS refunding_minor,
           coalesce(sum(orders.shipping_minor) FILTER (WHERE captured_minor > 0), 0)::bigint AS shipping_minor
    FROM orders JOIN payments ON payments.order_id = orders.id WHERE orders.drop_id = drops.id
) AS money CROSS JOIN LATERAL (
    SELECT coalesce(sum(invoices.tax_minor), 0)::bigint AS tax_minor
    FROM orders JOIN invoices ON invoices.order_id = orders.id WHERE orders.drop_id = drops.id AND orders.paid_at IS NOT NULL
) AS papers
WHERE drops.shop_id = $1 AND ($2::integer IS NULL OR drops.id = $2)
ORDER BY drops.opens_at DESC, drops.id DESC LIMIT $3;
