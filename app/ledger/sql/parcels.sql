-- Parcels (R8): one per paid order, never made blind. Every statement that changes one runs under the lock of its order.

-- name: want_parcel
-- A paid order becomes a parcel, once.
INSERT INTO parcels (order_id) VALUES ($1) ON CONFLICT (order_id) DO NOTHING;

-- name: due_parcels
-- Parcels that are due and that no queue holds (or holds for too long), the longest due first.
SELECT parcels.order_id, enqueues
FROM parcels
WHERE parcels.state IN ('waiting', 'unknown', 'made') AND ask_at <= now()
  AND (claim IS NULL OR claimed_at < now() - make_interval(secs => $3))
  AND (enqueued_at IS NULL OR enqueued_at < ask_at OR enqueued_at < now() - make_interval(secs => $2))
ORDER BY ask_at LIMIT $1;

-- name: mark_parcel_enqueued
-- The job is on the queue; the next one for this parcel has another key.
UPDATE parcels SET enqueued_at = now(), enqueues = enqueues + 1 WHERE order_id = $1;

-- name: claim_parcel
-- Win the right to act on a parcel that is due, of an order that is PAID and of which not everything is wanted back; or one already made.
UPDATE parcels SET claim = $2, claimed_at = now()
FROM orders
WHERE parcels.order_id = $1 AND orders.id = $1 AND parcels.state IN ('waiting', 'unknown', 'made')
  AND (parcels.ask_at <= now() OR $4) AND (parcels.claim IS NULL OR parcels.claimed_at < now() - make_interval(secs => $3))
  AND (parcels.state <> 'waiting' OR (orders.state = 'PAID' AND EXISTS (
      SELECT FROM payments WHERE payments.order_id = $1 AND captured_minor > (
          SELECT coalesce(sum(amount_minor), 0) FROM refunds
          WHERE refunds.order_id = $1 AND refunds.intent_id = payments.intent_id))));

-- name: claimed_parcel
-- What the holder of the claim needs to know. `settled`: so long ago paid, and last asked to make it, that a listing shows what there is.
SELECT parcels.order_id, orders.drop_id, parcels.state, parcels.creates, parcels.number, orders.paid_at, orders.quantity,
       drops.title AS drop_title, variants.name AS variant, shoppers.email_written AS email, orders.address,
       greatest(orders.paid_at, parcels.created_last_at) < now() - make_interval(secs => $2) AS settled
FROM parcels
JOIN orders ON orders.id = parcels.order_id
JOIN drops ON drops.id = orders.drop_id
JOIN variants ON variants.id = orders.variant_id
JOIN shoppers ON shoppers.id = orders.shopper_id
WHERE parcels.order_id = $1;

-- name: parcel_creating
-- The warehouse is about to be asked to make it: only by the claim's holder, only the first time, only while the order is PAID and kept.
UPDATE parcels SET state = 'unknown', creates = creates + 1, created_last_at = now()
FROM orders
WHERE parcels.order_id = $1 AND parcels.claim = $2 AND parcels.state IN ('waiting', 'unknown') AND parcels.creates = 0
  AND orders.id = $1 AND orders.state = 'PAID' AND EXISTS (
      SELECT FROM payments WHERE payments.order_id = $1 AND captured_minor > (
          SELECT coalesce(sum(amount_minor), 0) FROM refunds
          WHERE refunds.order_id = $1 AND refunds.intent_id = payments.intent_id));

-- name: parcel_not_asked
-- The warehouse was never reached with it, or said no: as if it had not been asked.
UPDATE parcels SET state = 'waiting', creates = 0 WHERE order_id = $1 AND claim = $2 AND state = 'unknown';

-- name: parcel_made
-- The warehouse has it.
UPDATE parcels
SET state = 'made', number = $3, claim = NULL, claimed_at = NULL, asked_again = 0, needs_attention = NULL,
    ask_at = now() + make_interval(secs => $4)
WHERE order_id = $1 AND claim = $2 AND state IN ('waiting', 'unknown');

-- name: parcel_sent
-- It is on its way.
UPDATE parcels
SET state = 'sent', tracking = $3, claim = NULL, claimed_at = NULL, asked_again = 0
WHERE order_id = $1 AND claim = $2 AND state = 'made';

-- name: parcel_waits
-- The claim ends without a result: due again after $3 seconds, then ever more slowly up to $4. After $5 looks a person is told why; $6: at once.
UPDATE parcels
SET claim = NULL, claimed_at = NULL, asked_again = asked_again + 1,
    ask_at = now() + make_interval(secs => least($3 * power(2, least(asked_again, 20)), $4)),
    needs_attention = CASE WHEN $7 OR asked_again + 1 >= $5 THEN $6 ELSE needs_attention END
WHERE order_id = $1 AND claim = $2
RETURNING asked_again, needs_attention IS NOT NULL AS shown;

-- name: parcel_settling
-- The claim ends: too early to believe that the warehouse has none. Due again in $3 seconds.
UPDATE parcels SET claim = NULL, claimed_at = NULL, ask_at = now() + make_interval(secs => $3) WHERE order_id = $1 AND claim = $2;

-- name: parcel_may_be_made_again
-- The seller's word: if the warehouse still lists none, it may be asked once more; not before it could have listed the last one.
UPDATE parcels SET creates = 0, ask_at = now(), enqueued_at = NULL, asked_again = 0
WHERE order_id = $1 AND state IN ('waiting', 'unknown') AND (claim IS NULL OR claimed_at < now() - make_interval(secs => $2));

-- name: parcel_again_now
-- A person wants to know: due at once.
UPDATE parcels SET ask_at = now(), enqueued_at = NULL WHERE order_id = $1 AND state IN ('waiting', 'unknown', 'made');

-- name: withdraw_parcel
-- Everything is wanted back and the warehouse was never asked: there will be no parcel.
UPDATE parcels SET state = 'withdrawn', claim = NULL, claimed_at = NULL, needs_attention = NULL
WHERE order_id = $1 AND state = 'waiting' AND creates = 0;

-- name: flag_parcel
-- Refunded and shipped at once: a person must look.
UPDATE parcels SET needs_attention = $2 WHERE order_id = $1 AND state IN ('unknown', 'made', 'sent');

-- name: parcel
-- One parcel.
SELECT order_id, state, creates, number, tracking, asked_again, needs_attention, claim IS NOT NULL AS claimed FROM parcels WHERE order_id = $1;
