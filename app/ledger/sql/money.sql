-- Payment attempts and claims (PROTOCOL section 4). Every statement that changes an order runs under its lock.

-- name: submit_attempt
-- Count one more attempt of a hold that is in time, has attempts left and none unfinished, and whose shipping fee is known.
UPDATE orders SET attempts = attempts + 1
FROM drops
WHERE orders.id = $1 AND drops.id = orders.drop_id AND state = 'PENDING_PAYMENT' AND deadline >= now()
  AND attempts < payment_attempts AND (shipping_fees IS NULL OR address IS NOT NULL)
  AND NOT EXISTS (SELECT FROM attempts WHERE order_id = $1 AND attempts.state IN ('open', 'action'))
RETURNING attempts;

-- name: address_missing
-- Whether this order's amount depends on an address that nobody gave.
SELECT shipping_fees IS NOT NULL AND address IS NULL FROM orders JOIN drops ON drops.id = orders.drop_id WHERE orders.id = $1;

-- name: add_attempt
-- The attempt itself.
INSERT INTO attempts (order_id, n, payment_method) VALUES ($1, $2, $3);

-- name: money_authorising
-- One order, one payment; its intent comes with the first charge.
INSERT INTO payments (order_id, state) VALUES ($1, 'authorising')
ON CONFLICT (order_id) DO UPDATE SET state = 'authorising', asked_again = 0, needs_attention = NULL;

-- name: unfinished_attempt
-- The attempt that is open or waits for the shopper.
SELECT n, state FROM attempts WHERE order_id = $1 AND state IN ('open', 'action');

-- name: claim_charge
-- Win the right to charge attempt $2.
UPDATE orders SET state = 'PROCESSING', claim = $3, claimed_at = now()
WHERE id = $1 AND state = 'PENDING_PAYMENT'
  AND EXISTS (SELECT FROM attempts WHERE order_id = $1 AND n = $2 AND attempts.state = 'open');

-- name: take_over
-- Win a claim whose holder is dead.
UPDATE orders SET claim = $2, claimed_at = now()
WHERE id = $1 AND state = 'PROCESSING' AND claimed_at < now() - make_interval(secs => $3);

-- name: claimed_order
-- What the holder of a claim needs to know.
SELECT orders.id AS order_id, orders.drop_id, orders.variant_id, orders.quantity, orders.shopper_id, orders.amount_minor, orders.currency,
       attempts.n, attempts.payment_method, payments.intent_id, orders.leaving, orders.deadline < now() AS overdue,
       shoppers.email_written AS email
FROM orders
JOIN shoppers ON shoppers.id = orders.shopper_id
LEFT JOIN payments ON payments.order_id = orders.id
LEFT JOIN attempts ON attempts.order_id = orders.id AND attempts.state IN ('open', 'action')
WHERE orders.id = $1;

-- name: store_intent
-- Keep the intent's id before the first confirm; it never changes.
UPDATE payments SET intent_id = $3
FROM orders
WHERE payments.order_id = $1 AND orders.id = $1 AND orders.state = 'PROCESSING' AND orders.claim = $2
  AND (payments.intent_id IS NULL OR payments.intent_id = $3);

-- name: paid
-- The charge succeeded: by the holder of the claim, or, without a token, by a poll or the provider's own word.
UPDATE orders SET state = 'PAID', claim = NULL, claimed_at = NULL, leaving = NULL, reason = NULL, paid_at = now()
WHERE id = $1 AND ((state = 'PROCESSING' AND claim = $2) OR ($2::uuid IS NULL AND state IN ('PENDING_PAYMENT', 'PROCESSING')));

-- name: mismatched
-- The provider captured something else than was owed: never PAID, the unit goes back.
UPDATE orders SET state = 'FAILED', reason = $3, claim = NULL, claimed_at = NULL, leaving = NULL, released = false, ended_at = now()
WHERE id = $1 AND ((state = 'PROCESSING' AND claim = $2) OR ($2::uuid IS NULL AND state IN ('PENDING_PAYMENT', 'PROCESSING')))
RETURNING id, drop_id, variant_id, quantity;

-- name: money_captured
-- The provider has the shopper's money.
INSERT INTO payments (order_id, intent_id, state, captured_minor, needs_attention) VALUES ($1, $2, 'captured', $3, $4)
ON CONFLICT (order_id) DO UPDATE
SET intent_id = excluded.intent_id, state = 'captured', captured_minor = excluded.captured_minor,
    needs_attention = excluded.needs_attention;

-- name: payment
-- The money of an order.
SELECT intent_id, state, captured_minor, refunded_minor FROM payments WHERE order_id = $1;

-- name: order_of_intent
-- Whose intent this is.
SELECT order_id FROM payments WHERE intent_id = $1;

-- name: close_unfinished_attempt
-- The attempt that was open or waited for the shopper has an outcome.
UPDATE attempts SET state = $2, reason = $3 WHERE order_id = $1 AND state IN ('open', 'action');

-- name: close_attempt
-- The same for attempt $4 only.
UPDATE attempts SET state = $2, reason = $3 WHERE order_id = $1 AND n = $4 AND state IN ('open', 'action');

-- name: declined_again
-- A decline with attempts left and in time: the hold goes on.
UPDATE orders SET state = 'PENDING_PAYMENT', claim = NULL, claimed_at = NULL
FROM drops
WHERE orders.id = $1 AND drops.id = orders.drop_id AND state = 'PROCESSING' AND claim = $2 AND leaving IS NULL
  AND attempts < payment_attempts AND deadline >= now();

-- name: declined_used_up
-- The last decline, or one past the deadline: the same claim goes on to give the unit back.
UPDATE orders
SET leaving = coalesce(leaving, CASE WHEN attempts >= payment_attempts THEN 'FAILED' ELSE 'EXPIRED' END),
    reason = coalesce(reason, CASE WHEN attempts >= payment_attempts THEN 'declined' ELSE 'deadline' END),
    claimed_at = now()
FROM drops
WHERE orders.id = $1 AND drops.id = orders.drop_id AND state = 'PROCESSING' AND claim = $2;

-- name: authentication_asked
-- The claim ends; the shopper must do something at the provider, within the deadline that stands.
UPDATE orders SET state = 'PENDING_PAYMENT', claim = NULL, claimed_at = NULL
WHERE id = $1 AND state = 'PROCESSING' AND claim = $2 AND leaving IS NULL
  AND EXISTS (SELECT FROM attempts WHERE order_id = $1 AND n = $3 AND attempts.state IN ('open', 'action'));

-- name: await_authentication
-- The attempt waits for the shopper at this address.
UPDATE attempts SET state = 'action', action_url = $3 WHERE order_id = $1 AND n = $2 AND state IN ('open', 'action');

-- name: authentication_failed
-- The shopper did not pass (attempt $2, or whichever waits for them): that attempt is over, if the order still waits for it.
UPDATE attempts SET state = 'declined', reason = $3
FROM orders
WHERE attempts.order_id = $1 AND attempts.state = 'action' AND ($2::integer IS NULL OR attempts.n = $2)
  AND orders.id = $1 AND orders.state = 'PENDING_PAYMENT';

-- name: out_of_attempts
-- No attempt is left: a claim that nobody holds, long dead, so that the next sweep takes it over and gives the unit back.
UPDATE orders SET state = 'PROCESSING', claim = gen_random_uuid(), claimed_at = 'epoch', leaving = 'FAILED', reason = 'declined'
FROM drops
WHERE orders.id = $1 AND drops.id = orders.drop_id AND state = 'PENDING_PAYMENT' AND attempts >= payment_attempts
  AND NOT EXISTS (SELECT FROM attempts WHERE order_id = $1 AND attempts.state IN ('open', 'action'));

-- name: no_money
-- Nothing was captured and nothing is under way.
UPDATE payments SET state = 'none', asked_again = 0, needs_attention = NULL WHERE order_id = $1 AND captured_minor = 0;

-- name: money_unknown
-- No answer that settles anything: the money is unknown, and after $3 questions a person is asked to look ($4 says why).
UPDATE payments
SET state = 'unknown', asked_again = asked_again + 1,
    needs_attention = CASE WHEN asked_again + 1 >= $3 THEN $4 ELSE needs_attention END
FROM orders
WHERE payments.order_id = $1 AND orders.id = $1 AND orders.state = 'PROCESSING' AND orders.claim = $2
  AND payments.captured_minor = 0
RETURNING asked_again;

-- name: rest_claim
-- The claim counts as dead that much later: an outcome that stays unknown is asked about ever more slowly.
UPDATE orders SET claimed_at = now() + make_interval(secs => $3) WHERE id = $1 AND state = 'PROCESSING' AND claim = $2;

-- name: ask_again_now
-- A person wants to know: the claim on an unknown outcome counts as dead at once.
UPDATE orders SET claimed_at = 'epoch'
FROM payments
WHERE orders.id = $1 AND orders.state = 'PROCESSING' AND payments.order_id = $1 AND payments.state = 'unknown';

-- name: look_for_money_now
-- The same for an order that is gone.
UPDATE payments SET ask_at = now() WHERE order_id = $1 AND state = 'unknown' AND ask_at IS NOT NULL;

-- name: claim_on_the_sellers_word
-- The seller gives the unit back although nobody knows the outcome: only where it is unknown, and shown to them as such.
UPDATE orders
SET claim = $2, claimed_at = now(), leaving = coalesce(leaving, CASE WHEN deadline < now() THEN 'EXPIRED' ELSE 'CANCELLED' END),
    reason = 'by_seller'
FROM payments
WHERE orders.id = $1 AND orders.state = 'PROCESSING' AND payments.order_id = $1 AND payments.state = 'unknown'
  AND payments.needs_attention IS NOT NULL;

-- name: look_for_money
-- The order is gone while its money is unknown: it is looked for, now and until it is found.
UPDATE payments SET ask_at = now(), needs_attention = $2 WHERE order_id = $1 AND state = 'unknown';

-- name: lost_money
-- Orders that are gone while their money is unknown, and are due to be looked for; the longest due first.
SELECT orders.id FROM payments JOIN orders ON orders.id = payments.order_id
WHERE payments.state = 'unknown' AND payments.ask_at < now()
  AND orders.state IN ('EXPIRED', 'FAILED', 'CANCELLED', 'REFUSED')
ORDER BY payments.ask_at LIMIT $1;

-- name: money_still_unknown
-- Looked for in vain: the next look comes later than the last.
UPDATE payments
SET asked_again = asked_again + 1, ask_at = now() + make_interval(secs => least($2 * power(2, least(asked_again, 20)), $3))
WHERE order_id = $1 AND state = 'unknown' AND ask_at IS NOT NULL;

-- name: due_charges
-- Submitted payments that no worker has claimed, not on the queue or there for too long; oldest first.
SELECT order_id, n, enqueues
FROM attempts JOIN orders ON orders.id = attempts.order_id
WHERE attempts.state = 'open' AND orders.state = 'PENDING_PAYMENT'
  AND (enqueued_at IS NULL OR enqueued_at < now() - make_interval(secs => $2))
ORDER BY submitted_at LIMIT $1;

-- name: mark_enqueued
-- The job is on the queue; the next one for this attempt has another key.
UPDATE attempts SET enqueued_at = now(), enqueues = enqueues + 1 WHERE order_id = $1 AND n = $2;

-- name: dead_claims
-- Claims whose holder is dead, the longest dead first.
SELECT id FROM orders WHERE state = 'PROCESSING' AND claimed_at < now() - make_interval(secs => $2) ORDER BY claimed_at LIMIT $1;

-- name: authentications
-- Orders that wait for their shopper at the provider, oldest first.
SELECT orders.id
FROM attempts JOIN orders ON orders.id = attempts.order_id
WHERE attempts.state = 'action' AND orders.state = 'PENDING_PAYMENT'
ORDER BY submitted_at LIMIT $1;
