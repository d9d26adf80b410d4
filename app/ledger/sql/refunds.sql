-- Money that goes back.

-- name: add_refund
-- Want a refund once per purpose.
INSERT INTO refunds (order_id, purpose, intent_id, amount_minor, restock) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (order_id, purpose) DO NOTHING;

-- name: want_rest
-- Want all back of the order's own capture that nobody wants back yet -> how much that is.
INSERT INTO refunds (order_id, purpose, intent_id, amount_minor, restock)
SELECT $1, $2, intent_id, captured_minor - wanted.minor, $3
FROM payments, LATERAL (
    SELECT coalesce(sum(amount_minor), 0)::integer AS minor FROM refunds
    WHERE refunds.order_id = $1 AND refunds.intent_id = payments.intent_id
) AS wanted
WHERE order_id = $1 AND captured_minor > wanted.minor
ON CONFLICT (order_id, purpose) DO NOTHING
RETURNING amount_minor;

-- name: left_to_refund
-- What of the order's own capture nobody wants back yet.
SELECT captured_minor - (SELECT coalesce(sum(amount_minor), 0)::integer FROM refunds
                         WHERE refunds.order_id = $1 AND refunds.intent_id = payments.intent_id)
FROM payments WHERE order_id = $1;

-- name: nothing_kept
-- Whether all of the order's own capture is wanted back, or back already.
SELECT captured_minor <= (SELECT coalesce(sum(amount_minor), 0) FROM refunds
                          WHERE refunds.order_id = $1 AND refunds.intent_id = payments.intent_id)
FROM payments WHERE order_id = $1;

-- name: refunds_of
-- The refunds of an order, oldest first.
SELECT refunds.order_id, orders.drop_id, refunds.purpose, refunds.intent_id, refunds.amount_minor, orders.currency, refunds.state,
       refunds.refund_id, refunds.restock
FROM refunds JOIN orders ON orders.id = refunds.order_id
WHERE refunds.order_id = $1 ORDER BY wanted_at, purpose;

-- name: want_refund
-- Want a refund once per purpose, of what was captured and nobody wants back yet.
INSERT INTO refunds (order_id, purpose, intent_id, amount_minor, restock)
SELECT $1, $2, intent_id, $3, $4
FROM payments
WHERE order_id = $1
  AND captured_minor >= $3::integer + (SELECT coalesce(sum(amount_minor), 0) FROM refunds
                              WHERE refunds.order_id = $1 AND refunds.intent_id = payments.intent_id)
ON CONFLICT (order_id, purpose) DO NOTHING;

-- name: late_money_reason
-- The order's page says that money came late.
UPDATE orders SET reason = 'late_money'
WHERE id = $1 AND state IN ('EXPIRED', 'FAILED', 'CANCELLED', 'REFUSED');

-- name: money_needs_attention
-- A person must look at this payment.
UPDATE payments SET needs_attention = $2 WHERE order_id = $1;

-- name: due_refunds
-- Wanted refunds that are not on the queue, or there for too long; oldest first.
SELECT order_id, purpose, enqueues FROM refunds
WHERE state = 'wanted' AND ask_at <= now()
  AND (enqueued_at IS NULL OR enqueued_at < ask_at OR enqueued_at < now() - make_interval(secs => $2))
ORDER BY wanted_at LIMIT $1;

-- name: refund_unsettled
-- No refund was the answer: asked again after $4 seconds, then ever more slowly up to $5; after $6 questions a person is told why.
UPDATE refunds
SET asked_again = asked_again + 1, ask_at = now() + make_interval(secs => least($4 * power(2, least(asked_again, 20)), $5)),
    needs_attention = CASE WHEN asked_again + 1 >= $6 THEN $3 ELSE needs_attention END
WHERE order_id = $1 AND purpose = $2 AND state = 'wanted'
RETURNING asked_again;

-- name: refund_again_now
-- A person wants the refunds of an order asked for at once.
UPDATE refunds SET ask_at = now(), enqueued_at = NULL WHERE order_id = $1 AND state = 'wanted';

-- name: mark_refund_enqueued
-- The job is on the queue; the next one for this refund has another key.
UPDATE refunds SET enqueued_at = now(), enqueues = enqueues + 1 WHERE order_id = $1 AND purpose = $2;

-- name: refund
-- One refund with its order.
SELECT refunds.order_id, orders.drop_id, refunds.purpose, refunds.intent_id, refunds.amount_minor, orders.currency, refunds.state,
       refunds.refund_id, refunds.restock
FROM refunds JOIN orders ON orders.id = refunds.order_id
WHERE refunds.order_id = $1 AND purpose = $2;

-- name: refund_done
-- The provider has confirmed it.
UPDATE refunds SET state = 'done', refund_id = $3, done_at = now(), needs_attention = NULL
WHERE order_id = $1 AND purpose = $2 AND state = 'wanted'
RETURNING intent_id, amount_minor, restock;

-- name: money_refunded
-- That much of the order's own capture went back.
UPDATE payments
SET refunded_minor = refunded_minor + $3,
    state = CASE WHEN refunded_minor + $3 = captured_minor THEN 'refunded' ELSE 'part_refunded' END
WHERE order_id = $1 AND intent_id = $2
RETURNING state;

-- name: order_refunded
-- All the money of a PAID order went back.
UPDATE orders SET state = 'REFUNDED', ended_at = now(), released = CASE WHEN $2 THEN false END
WHERE id = $1 AND state = 'PAID'
RETURNING id, drop_id, variant_id, quantity;

-- name: withdraw_units
-- Refunded without restock: the units leave the drop.
UPDATE stock SET withdrawn = withdrawn + $2 WHERE variant_id = $1;

-- name: tell_of_money_back
-- The buyer is told that $4 minor units went back, once per refund $2, and why ($3).
INSERT INTO messages (kind, subject_id, order_id, recipient, language, data, state)
SELECT 'money_back', $2, orders.id, shoppers.email_written, shoppers.language,
       jsonb_build_object('why', $3::text, 'returned_minor', $4::integer),
       CASE WHEN shoppers.synthetic THEN 'withheld' ELSE 'waiting' END
FROM orders JOIN shoppers ON shoppers.id = orders.shopper_id
WHERE orders.id = $1
ON CONFLICT (kind, subject_id) DO NOTHING;
