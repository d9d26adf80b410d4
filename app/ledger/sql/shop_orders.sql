-- A shop's orders as its seller looks through them. Every statement asks for the shop: a foreign order is no row.

-- name: plan_for_these_values
-- Until the commit, plan each statement for the values it is given: a filter that is not set must cost nothing.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true);

-- name: orders_found
-- Which orders of a shop (or, with $2, of one drop) a search means, each by whatever is known: the order's number whole ($3 to $4) or within
-- its drop ($5 to $6), the beginning of a mail address ($7), of a parcel's number or tracking ($8), words of the name ($9), a payment ($10).
(SELECT orders.id FROM orders JOIN drops ON drops.id = orders.drop_id
 WHERE drops.shop_id = $1 AND ($2::integer IS NULL OR drops.id = $2) AND orders.id BETWEEN $3::uuid AND $4::uuid LIMIT $11)
UNION
(SELECT orders.id FROM drops JOIN orders
 ON orders.id BETWEEN (lpad(to_hex(drops.id), 8, '0') || $5::text)::uuid AND (lpad(to_hex(drops.id), 8, '0') || $6::text)::uuid
 WHERE drops.shop_id = $1 AND ($2::integer IS NULL OR drops.id = $2) AND $5::text IS NOT NULL LIMIT $11)
UNION
(SELECT orders.id FROM shoppers JOIN orders ON orders.shopper_id = shoppers.id JOIN drops ON drops.id = orders.drop_id
 WHERE drops.shop_id = $1 AND ($2::integer IS NULL OR drops.id = $2) AND shoppers.email LIKE $7::text LIMIT $11)
UNION
(SELECT orders.id FROM parcels JOIN orders ON orders.id = parcels.order_id JOIN drops ON drops.id = orders.drop_id
 WHERE drops.shop_id = $1 AND ($2::integer IS NULL OR drops.id = $2) AND parcels.number LIKE $8::text LIMIT $11)
UNION
(SELECT orders.id FROM parcels JOIN orders ON orders.id = parcels.order_id JOIN drops ON drops.id = orders.drop_id
 WHERE drops.shop_id = $1 AND ($2::integer IS NULL OR drops.id = $2) AND parcels.tracking LIKE $8::text LIMIT $11)
UNION
(SELECT orders.id FROM orders JOIN drops ON drops.id = orders.drop_id
 WHERE drops.shop_id = $1 AND ($2::integer IS NULL OR drops.id = $2) AND orders.address IS NOT NULL
   AND to_tsvector('simple', orders.address ->> 'name') @@ to_tsquery('simple', $9::text) LIMIT $11)
UNION
(SELECT orders.id FROM payments JOIN orders ON orders.id = payments.order_id JOIN drops ON drops.id = orders.drop_id
 WHERE drops.shop_id = $1 AND ($2::integer IS NULL OR drops.id = $2) AND payments.intent_id = $10::text LIMIT $11)
LIMIT $11;

-- name: shop_orders_older
-- Orders of a shop that match what is asked for, the newest first, from a place in the list ($10, $11) on. $3: only these.
SELECT found.*, drops.slug AS drop_slug, drops.title AS drop_title, variants.name AS variant, shoppers.email_written AS email,
       orders.shipping_minor, drops.tax_basis_points, invoices.year AS invoice_year, invoices.n AS invoice_n
FROM drops
CROSS JOIN LATERAL (
    SELECT * FROM order_lines
    WHERE order_lines.drop_id = drops.id
      AND ($3::uuid[] IS NULL OR order_id = ANY($3::uuid[]))
      AND ($4::text IS NULL OR state = $4) AND ($7::integer IS NULL OR variant_id = $7)
      AND ($5::text IS NULL OR payment = $5) AND ($6::text IS NULL OR parcel = $6)
      AND ($8::timestamptz IS NULL OR reserved_at >= $8) AND ($9::timestamptz IS NULL OR reserved_at < $9)
      AND ($10::timestamptz IS NULL OR (reserved_at, order_id) < ($10, $11::uuid))
    ORDER BY reserved_at DESC, order_id DESC LIMIT $12
) AS found
JOIN variants ON variants.id = found.variant_id
JOIN shoppers ON shoppers.id = found.shopper_id
JOIN orders ON orders.id = found.order_id
LEFT JOIN invoices ON invoices.order_id = found.order_id AND invoices.purpose = ''
WHERE drops.shop_id = $1 AND ($2::integer IS NULL OR drops.id = $2)
ORDER BY found.reserved_at DESC, found.order_id DESC LIMIT $12;

-- name: shop_orders_newer
-- The same from a place in the list on towards newer ones, the oldest first.
SELECT found.*, drops.slug AS drop_slug, drops.title AS drop_title, variants.name AS variant, shoppers.email_written AS email,
       orders.shipping_minor, drops.tax_basis_points, invoices.year AS invoice_year, invoices.n AS invoice_n
FROM drops
CROSS JOIN LATERAL (
    SELECT * FROM order_lines
    WHERE order_lines.drop_id = drops.id
      AND ($3::uuid[] IS NULL OR order_id = ANY($3::uuid[]))
      AND ($4::text IS NULL OR state = $4) AND ($7::integer IS NULL OR variant_id = $7)
      AND ($5::text IS NULL OR payment = $5) AND ($6::text IS NULL OR parcel = $6)
      AND ($8::timestamptz IS NULL OR reserved_at >= $8) AND ($9::timestamptz IS NULL OR reserved_at < $9)
      AND ($10::timestamptz IS NULL OR (reserved_at, order_id) > ($10, $11::uuid))
    ORDER BY reserved_at, order_id LIMIT $12
) AS found
JOIN variants ON variants.id = found.variant_id
JOIN shoppers ON shoppers.id = found.shopper_id
JOIN orders ON orders.id = found.order_id
LEFT JOIN invoices ON invoices.order_id = found.order_id AND invoices.purpose = ''
WHERE drops.shop_id = $1 AND ($2::integer IS NULL OR drops.id = $2)
ORDER BY found.reserved_at, found.order_id LIMIT $12;

-- name: shop_orders_reserved
-- How many orders of a shop (or, with $2, of one drop) were reserved from $3 until $4, counted up to $5.
SELECT count(*)::integer FROM (
    SELECT FROM drops JOIN orders ON orders.drop_id = drops.id
    WHERE drops.shop_id = $1 AND ($2::integer IS NULL OR drops.id = $2)
      AND ($3::timestamptz IS NULL OR orders.reserved_at >= $3) AND ($4::timestamptz IS NULL OR orders.reserved_at < $4)
    LIMIT $5) AS counted;

-- name: shop_money
-- Money that came in and went back in a shop (or, with $2, in one drop) from $3 until $4, the oldest first, from a place on ($5, $6, $7).
-- A capture that no order wanted came in when its refund was wanted. Refunds are walked through in the order of their time, each asked
-- whose it is (OFFSET 0 keeps it so): drops are few and never analysed, and a plan that starts there reads every order.
SELECT moved.*, orders.currency, orders.quantity, drops.slug AS drop_slug, drops.title AS drop_title, variants.name AS variant,
       CASE WHEN moved.kind = 'payment' AND moved.purpose = '' THEN orders.shipping_minor ELSE 0 END AS shipping_minor,
       coalesce(invoices.tax_minor, 0) AS tax_minor, invoices.year AS invoice_year, invoices.n AS invoice_n
FROM (
    (SELECT paid.* FROM drops
     CROSS JOIN LATERAL (
         SELECT orders.paid_at AS at, orders.id AS order_id, '' AS purpose, 'payment' AS kind, payments.captured_minor AS amount_minor,
                payments.intent_id AS reference
         FROM orders JOIN payments ON payments.order_id = orders.id
         WHERE orders.drop_id = drops.id AND orders.paid_at IS NOT NULL
           AND ($3::timestamptz IS NULL OR orders.paid_at >= $3) AND ($4::timestamptz IS NULL OR orders.paid_at < $4)
           AND ($5::timestamptz IS NULL OR (orders.paid_at, orders.id) > ($5, $6::uuid))
         ORDER BY orders.paid_at, orders.id LIMIT $8) AS paid
     WHERE drops.shop_id = $1 AND ($2::integer IS NULL OR drops.id = $2)
     ORDER BY 1, 2 LIMIT $8)
    UNION ALL
    (SELECT refunds.wanted_at, refunds.order_id, refunds.purpose || ':in', 'payment', refunds.amount_minor, refunds.intent_id
     FROM refunds CROSS JOIN LATERAL (
         SELECT FROM orders JOIN drops ON drops.id = orders.drop_id
         WHERE orders.id = refunds.order_id AND drops.shop_id = $1 AND ($2::integer IS NULL OR drops.id = $2) OFFSET 0) AS own
     WHERE (refunds.purpose = 'late_money' OR refunds.purpose LIKE 'foreign:%')
       AND ($3::timestamptz IS NULL OR refunds.wanted_at >= $3) AND ($4::timestamptz IS NULL OR refunds.wanted_at < $4)
       AND ($5::timestamptz IS NULL OR (refunds.wanted_at, refunds.order_id) >= ($5, $6::uuid))
       AND ($5::timestamptz IS NULL OR (refunds.wanted_at, refunds.order_id) > ($5, $6::uuid)
            OR (refunds.purpose || ':in') COLLATE "C" > $7::text)
     ORDER BY refunds.wanted_at, refunds.order_id, (refunds.purpose || ':in') COLLATE "C" LIMIT $8)
    UNION ALL
    (SELECT refunds.done_at, refunds.order_id, refunds.purpose, 'refund', -refunds.amount_minor, refunds.refund_id
     FROM refunds CROSS JOIN LATERAL (
         SELECT FROM orders JOIN drops ON drops.id = orders.drop_id
         WHERE orders.id = refunds.order_id AND drops.shop_id = $1 AND ($2::integer IS NULL OR drops.id = $2) OFFSET 0) AS own
     WHERE refunds.state = 'done'
       AND ($3::timestamptz IS NULL OR refunds.done_at >= $3) AND ($4::timestamptz IS NULL OR refunds.done_at < $4)
       AND ($5::timestamptz IS NULL OR (refunds.done_at, refunds.order_id) >= ($5, $6::uuid))
       AND ($5::timestamptz IS NULL OR (refunds.done_at, refunds.order_id) > ($5, $6::uuid) OR refunds.purpose COLLATE "C" > $7::text)
     ORDER BY refunds.done_at, refunds.order_id, refunds.purpose COLLATE "C" LIMIT $8)
) AS moved
JOIN orders ON orders.id = moved.order_id
JOIN drops ON drops.id = orders.drop_id
JOIN variants ON variants.id = orders.variant_id
LEFT JOIN invoices ON invoices.order_id = moved.order_id AND invoices.purpose = moved.purpose
ORDER BY moved.at, moved.order_id, moved.purpose COLLATE "C" LIMIT $8;

-- name: shop_drops
-- The drops of a shop, the last to open first, for the list's choice of drop.
SELECT id, slug, title, currency FROM drops WHERE shop_id = $1 ORDER BY opens_at DESC, id DESC LIMIT $2;

-- name: shop_order
-- One order of a shop with everything its page shows.
SELECT order_details.* FROM order_details JOIN drops ON drops.id = order_details.drop_id
WHERE order_details.order_id = $1 AND drops.shop_id = $2;

-- name: shop_has_order
-- Whether this order is of this shop.
SELECT EXISTS (SELECT FROM orders JOIN drops ON drops.id = orders.drop_id WHERE orders.id = $1 AND drops.shop_id = $2);

-- name: attempts_of
-- Every payment attempt of an order, the first one first.
SELECT n, payment_method, state, reason, submitted_at FROM attempts WHERE order_id = $1 ORDER BY n;

-- name: money_of
-- What is known of an order's money.
SELECT state, intent_id, captured_minor, refunded_minor, needs_attention, asked_again FROM payments WHERE order_id = $1;

-- name: refunds_told
-- The refunds of an order with their times, oldest first.
SELECT purpose, amount_minor, restock, state, refund_id, wanted_at, done_at, asked_again, needs_attention
FROM refunds WHERE order_id = $1 ORDER BY wanted_at, purpose;

-- name: mails_of
-- The mails of an order, oldest first: what became of each, never what stands in it.
SELECT id, kind, recipient, state, tries, error, created_at, sent_at FROM messages WHERE order_id = $1 ORDER BY id;

-- name: place_of
-- The place of the waitlist to which this order's units were offered.
SELECT number, joined_at, state FROM places WHERE order_id = $1;

-- name: shop_attention
-- Payments, refunds and parcels of a shop that need a person, the oldest order first, from a place in that order ($3 to $6) on.
SELECT found.*, drops.slug AS drop_slug, drops.title AS drop_title
FROM (
    SELECT 'payment' AS kind, orders.id AS order_id, orders.drop_id, orders.state, payments.state AS payment, NULL AS purpose,
           NULL AS parcel, payments.needs_attention AS why, payments.asked_again, payments.intent_id AS reference, orders.amount_minor,
           orders.currency, orders.reserved_at
    FROM payments JOIN orders ON orders.id = payments.order_id
    WHERE payments.needs_attention IS NOT NULL
    UNION ALL
    SELECT 'refund', orders.id, orders.drop_id, orders.state, payments.state, refunds.purpose, NULL, refunds.needs_attention,
           refunds.asked_again, refunds.intent_id, refunds.amount_minor, orders.currency, orders.reserved_at
    FROM refunds JOIN orders ON orders.id = refunds.order_id LEFT JOIN payments ON payments.order_id = orders.id
    WHERE refunds.needs_attention IS NOT NULL
    UNION ALL
    SELECT 'parcel', orders.id, orders.drop_id, orders.state, payments.state, NULL, parcels.state, parcels.needs_attention,
           parcels.asked_again, parcels.number, orders.amount_minor, orders.currency, orders.reserved_at
    FROM parcels JOIN orders ON orders.id = parcels.order_id LEFT JOIN payments ON payments.order_id = orders.id
    WHERE parcels.needs_attention IS NOT NULL
) AS found
JOIN drops ON drops.id = found.drop_id
WHERE drops.shop_id = $1 AND ($2::uuid IS NULL OR found.order_id = $2)
  AND ($3::timestamptz IS NULL
       OR (found.reserved_at, found.order_id, found.kind COLLATE "C", coalesce(found.purpose, '') COLLATE "C")
          > ($3, $4::uuid, $5::text, $6::text))
ORDER BY found.reserved_at, found.order_id, found.kind COLLATE "C", coalesce(found.purpose, '') COLLATE "C" LIMIT $7;

-- name: shop_undelivered
-- Mails of a shop that did not arrive, or of which nobody knows, and that nobody has seen to yet, newest first, from mail $2 on.
SELECT messages.id, messages.kind, messages.order_id, messages.recipient, messages.state, messages.tries, messages.error,
       messages.created_at, messages.sent_at, drops.title AS drop_title
FROM messages
LEFT JOIN orders ON orders.id = messages.order_id
LEFT JOIN places ON places.id = messages.place_id
JOIN drops ON drops.id = coalesce(orders.drop_id, places.drop_id)
WHERE messages.state IN ('failed', 'unknown') AND messages.seen_at IS NULL AND drops.shop_id = $1
  AND ($2::bigint IS NULL OR messages.id < $2)
ORDER BY messages.id DESC LIMIT $3;

-- name: shop_attention_count
-- How much of a shop needs a person, counted up to a bound; $3: with the events that webhooks did not take.
SELECT count(*)::integer FROM (
    SELECT FROM (
        SELECT orders.drop_id FROM payments JOIN orders ON orders.id = payments.order_id WHERE payments.needs_attention IS NOT NULL
        UNION ALL
        SELECT orders.drop_id FROM refunds JOIN orders ON orders.id = refunds.order_id WHERE refunds.needs_attention IS NOT NULL
        UNION ALL
        SELECT orders.drop_id FROM parcels JOIN orders ON orders.id = parcels.order_id WHERE parcels.needs_attention IS NOT NULL
        UNION ALL
        SELECT coalesce(orders.drop_id, places.drop_id) FROM messages
        LEFT JOIN orders ON orders.id = messages.order_id LEFT JOIN places ON places.id = messages.place_id
        WHERE messages.state IN ('failed', 'unknown') AND messages.seen_at IS NULL
    ) AS found JOIN drops ON drops.id = found.drop_id
    WHERE drops.shop_id = $1
    UNION ALL
    SELECT FROM hooks JOIN hook_deliveries ON hook_deliveries.hook_id = hooks.id
    WHERE $3 AND hooks.shop_id = $1 AND hooks.removed_at IS NULL AND hook_deliveries.state = 'failed' AND hook_deliveries.seen_at IS NULL
    LIMIT $2
) AS counted;

-- name: mail_seen
-- Somebody of the shop has seen to a mail that did not arrive.
UPDATE messages SET seen_at = now()
FROM messages AS seen
LEFT JOIN orders ON orders.id = seen.order_id
LEFT JOIN places ON places.id = seen.place_id
JOIN drops ON drops.id = coalesce(orders.drop_id, places.drop_id)
WHERE messages.id = $1 AND seen.id = $1 AND drops.shop_id = $2
  AND messages.state IN ('failed', 'unknown') AND messages.seen_at IS NULL;

-- name: shop_has_mail
-- Whether this mail is about an order, or a place of a list, of this shop.
SELECT EXISTS (
    SELECT FROM messages
    LEFT JOIN orders ON orders.id = messages.order_id
    LEFT JOIN places ON places.id = messages.place_id
    JOIN drops ON drops.id = coalesce(orders.drop_id, places.drop_id)
    WHERE messages.id = $1 AND drops.shop_id = $2
);

-- name: send_again
-- The same mail of an order once more under the wish $4, to where its buyer reads mail now; at most $6 an hour for an order.
INSERT INTO messages (kind, subject_id, order_id, recipient, language, data, state)
SELECT messages.kind, split_part(messages.subject_id, ':again:', 1) || ':again:' || $4::text, messages.order_id, shoppers.email_written,
       shoppers.language, messages.data, CASE WHEN shoppers.synthetic THEN 'withheld' ELSE 'waiting' END
FROM messages
JOIN orders ON orders.id = messages.order_id
JOIN drops ON drops.id = orders.drop_id
JOIN shoppers ON shoppers.id = orders.shopper_id
WHERE messages.id = $1 AND messages.order_id = $2 AND drops.shop_id = $3 AND messages.kind = ANY($5::text[])
  AND messages.state <> 'waiting' AND shoppers.deleted_at IS NULL
  AND (messages.kind <> 'confirmation' OR orders.state = 'PAID')
  AND $6 > (SELECT count(*) FROM messages AS earlier WHERE earlier.order_id = $2 AND earlier.subject_id LIKE '%:again:%'
            AND earlier.created_at > now() - interval '1 hour')
ON CONFLICT (kind, subject_id) DO NOTHING;

-- name: seen_by_sending_again
-- A mail that is on its way once more needs nobody.
UPDATE messages SET seen_at = now() WHERE id = $1 AND seen_at IS NULL AND state IN ('failed', 'unknown');

-- name: sent_again
-- Whether this wish was fulfilled before.
SELECT EXISTS (SELECT FROM messages WHERE order_id = $1 AND right(subject_id, length($2) + 7) = ':again:' || $2::text);

-- name: correct_address
-- Where an order of this shop goes, by its seller: until it is paid, and then for as long as the warehouse knows nothing of it. $4: as it
-- was when the form was drawn, so that a stale form overwrites nothing. Its shipping fee follows until the first attempt to pay, as in
-- send_to; from then on the fee stays whatever the seller writes, who alone may decide to send it elsewhere for that.
UPDATE orders SET address = $3,
    shipping_minor = CASE WHEN state = 'PENDING_PAYMENT' AND attempts = 0
                          THEN shipping_fee(shipping_fees, $3::jsonb ->> 'country') ELSE shipping_minor END,
    amount_minor = CASE WHEN state = 'PENDING_PAYMENT' AND attempts = 0
                        THEN amount_minor - shipping_minor + shipping_fee(shipping_fees, $3::jsonb ->> 'country') ELSE amount_minor END
FROM drops
WHERE orders.id = $1 AND drops.id = orders.drop_id AND drops.shop_id = $2 AND drops.ships
  AND orders.address IS NOT DISTINCT FROM $4::jsonb
  AND (state <> 'PENDING_PAYMENT' OR attempts > 0 OR shipping_fee(shipping_fees, $3::jsonb ->> 'country') IS NOT NULL)
  AND (orders.state = 'PENDING_PAYMENT'
       OR orders.state = 'PAID' AND EXISTS (SELECT FROM parcels WHERE order_id = $1 AND parcels.state = 'waiting' AND creates = 0 AND claim IS NULL))
RETURNING orders.drop_id;

-- name: parcel_enqueues
-- How often this parcel's job was put on the queue: part of the next one's key.
SELECT enqueues FROM parcels WHERE order_id = $1;
