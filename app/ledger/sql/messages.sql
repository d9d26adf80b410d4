-- The outbox of mails.

-- name: put_message
-- One message of a kind for a subject, written already; a second one is no row.
INSERT INTO messages (kind, subject_id, order_id, recipient, subject, body_text, body_html)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (kind, subject_id) DO NOTHING;

-- name: tell_buyers
-- The owners of these orders are told, once per kind and order; of kind $3 where the order is an offer. No kind: nothing is said.
INSERT INTO messages (kind, subject_id, order_id, recipient, language, data, state)
SELECT told.kind, orders.id::text, orders.id, shoppers.email_written, shoppers.language, $4::jsonb,
       CASE WHEN shoppers.synthetic THEN 'withheld' ELSE 'waiting' END
FROM orders
JOIN shoppers ON shoppers.id = orders.shopper_id
CROSS JOIN LATERAL (SELECT CASE WHEN orders.key LIKE 'place:%' THEN $3::text ELSE $2::text END AS kind) AS told
WHERE orders.id = ANY($1::uuid[]) AND told.kind IS NOT NULL
ON CONFLICT (kind, subject_id) DO NOTHING;

-- name: tell_of_cancelled_drop
-- Everybody with a live order of a drop that its seller cancels.
INSERT INTO messages (kind, subject_id, order_id, recipient, language, state)
SELECT 'drop_cancelled', orders.id::text, orders.id, shoppers.email_written, shoppers.language,
       CASE WHEN shoppers.synthetic THEN 'withheld' ELSE 'waiting' END
FROM orders JOIN shoppers ON shoppers.id = orders.shopper_id
WHERE orders.drop_id = $1 AND orders.state IN ('PENDING_PAYMENT', 'PROCESSING', 'PAID')
ON CONFLICT (kind, subject_id) DO NOTHING;

-- name: write_in
-- The language in which a shopper's mails are written.
UPDATE shoppers SET language = $2 WHERE id = $1 AND language <> $2;

-- name: warn_holds
-- Holds that end soon and that nobody is paying: within $1 seconds and the last $2 of their time, if they last $3 seconds at all.
INSERT INTO messages (kind, subject_id, order_id, recipient, language, state)
SELECT 'expires_soon', orders.id::text, orders.id, shoppers.email_written, shoppers.language,
       CASE WHEN shoppers.synthetic THEN 'withheld' ELSE 'waiting' END
FROM orders JOIN shoppers ON shoppers.id = orders.shopper_id
WHERE orders.state = 'PENDING_PAYMENT' AND orders.deadline > now() AND orders.deadline < now() + make_interval(secs => $1)
  AND orders.deadline - now() < (orders.deadline - orders.reserved_at) * $2
  AND orders.deadline - orders.reserved_at >= make_interval(secs => $3)
  AND NOT EXISTS (SELECT FROM attempts WHERE attempts.order_id = orders.id AND attempts.state IN ('open', 'action'))
  AND NOT EXISTS (SELECT FROM messages WHERE messages.kind = 'expires_soon' AND messages.subject_id = orders.id::text)
ORDER BY orders.deadline LIMIT $4
ON CONFLICT (kind, subject_id) DO NOTHING;

-- name: newest
-- The newest messages, whatever became of them; those to synthetic shoppers never crowd the others out.
SELECT * FROM letters
WHERE id IN (SELECT id FROM messages WHERE state <> 'withheld' ORDER BY id DESC LIMIT $1)
   OR id IN (SELECT id FROM messages WHERE state = 'withheld' ORDER BY id DESC LIMIT $1)
ORDER BY id DESC;

-- name: undelivered
-- Messages that did not arrive, or of which nobody knows whether they did, newest first.
SELECT * FROM letters WHERE state IN ('failed', 'unknown') ORDER BY id DESC LIMIT $1;

-- name: claim_due
-- Take messages that are due, oldest first; another worker gets others. One that was being sent when its worker died is in doubt: the
-- second doubt ends it.
UPDATE messages
SET tries = tries + 1, next_try_at = now() + make_interval(secs => $2), doubts = doubts + sending::integer, sending = false,
    state = CASE WHEN doubts + sending::integer >= $3 THEN 'unknown' ELSE state END,
    error = CASE WHEN sending THEN 'its worker died while it was sent' ELSE error END
WHERE id IN (
    SELECT id FROM messages WHERE state = 'waiting' AND next_try_at <= now() ORDER BY next_try_at, id LIMIT $1 FOR UPDATE SKIP LOCKED
)
RETURNING id, state;

-- name: letters_of
-- These messages, with everything their mails say.
SELECT * FROM letters WHERE id = ANY($1::bigint[]) ORDER BY id;

-- name: sending
-- Its mail goes to the mail server now; no row when another worker has taken it since try $2.
UPDATE messages SET sending = true, next_try_at = now() + make_interval(secs => $3)
WHERE id = $1 AND state = 'waiting' AND tries = $2 AND NOT sending;

-- name: sent
-- The mail server took it.
UPDATE messages SET state = 'sent', sent_at = now(), sending = false, error = NULL WHERE id = $1 AND state = 'waiting';

-- name: came_back
-- A mail that was sent came back: it did not arrive after all. Only the very mail, to one of the addresses it is said to be for. It may
-- be back before its worker has noted that it was sent.
UPDATE messages SET state = 'failed', error = $4, sending = false
FROM letters
WHERE messages.id = $1 AND letters.id = messages.id AND letters.message_id = $2 AND lower(messages.recipient) = ANY($3::text[])
  AND (messages.state IN ('sent', 'unknown') OR messages.state = 'waiting' AND (messages.sending OR messages.doubts > 0))
RETURNING messages.recipient, messages.kind;

-- name: failed
-- The mail server did not take it: again later, longer each time, until the tries are used up. $6: it may have taken it, which is asked
-- of nobody more than $7 - 1 times. $8: it never will.
UPDATE messages
SET error = $2, sending = false, doubts = doubts + $6::boolean::integer,
    state = CASE WHEN $8::boolean OR tries >= $3 THEN 'failed' WHEN doubts + $6::boolean::integer >= $7 THEN 'unknown' ELSE 'waiting' END,
    next_try_at = now() + make_interval(secs => least($4 * 2 ^ (tries - 1), $5))
WHERE id = $1 AND state = 'waiting';
