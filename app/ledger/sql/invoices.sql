-- Invoices and corrections, and the numbers they have.

-- name: invoice_facts
-- What an order's invoice says about it, its buyer and its seller, and which day it is at the shop.
SELECT orders.amount_minor, orders.shipping_minor, orders.currency, orders.quantity, orders.address, drops.title, drops.ships,
       drops.tax_basis_points, drops.shop_id, variants.name AS variant, shoppers.language, shops.name AS shop_name,
       shop_papers.business_name, shop_papers.business_address, shop_papers.tax_id,
       coalesce(nullif(shop_papers.contact, ''), shops.contact) AS contact, (now() AT TIME ZONE shops.time_zone)::date AS day
FROM orders
JOIN drops ON drops.id = orders.drop_id
JOIN variants ON variants.id = orders.variant_id
JOIN shoppers ON shoppers.id = orders.shopper_id
JOIN shops ON shops.id = drops.shop_id
LEFT JOIN shop_papers ON shop_papers.shop_id = shops.id AND shop_papers.version = shops.papers_version
WHERE orders.id = $1;

-- name: invoice_to_correct
-- An order's invoice with what its corrections took off it so far.
SELECT invoices.shop_id, invoices.content, (now() AT TIME ZONE shops.time_zone)::date AS day,
       (SELECT coalesce(-sum(amount_minor), 0)::integer FROM invoices AS earlier
        WHERE earlier.order_id = $1 AND earlier.purpose <> '') AS returned_minor
FROM invoices JOIN shops ON shops.id = invoices.shop_id
WHERE invoices.order_id = $1 AND invoices.purpose = '';

-- name: next_invoice_number
-- The next number of a shop's year; nobody else gets one until this transaction is over.
INSERT INTO invoice_numbers (shop_id, year, last) VALUES ($1, $2, 1)
ON CONFLICT (shop_id, year) DO UPDATE SET last = invoice_numbers.last + 1
RETURNING last;

-- name: add_invoice
-- The paper itself.
INSERT INTO invoices (shop_id, year, n, order_id, purpose, amount_minor, tax_minor, content) VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: invoices_of
-- An order's invoice and its corrections, the first one first.
SELECT year, n, purpose, amount_minor, tax_minor, content ->> 'currency' AS currency, made_at
FROM invoices WHERE order_id = $1 ORDER BY purpose <> '', year, n;

-- name: invoice
-- What a paper of this order says: the one with this number, or its invoice.
SELECT content FROM invoices
WHERE order_id = $1 AND ($2::integer IS NULL AND purpose = '' OR year = $2::integer AND n = $3::integer);
