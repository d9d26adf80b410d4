-- The outbox of mails.

-- name: put_message
-- One message of a kind for a subject; a second one is no row.
INSERT INTO messages (kind, subject_id, order_id, recipient, subject, body_text, body_html, message_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (kind, subject_id) DO NOTHING;

-- name: newest
-- The newest messages, whatever became of them.
SELECT id, kind, subject_id, order_id, recipient, subject, body_text, body_html, message_id, state, tries, error, created_at, sent_at
FROM messages ORDER BY id DESC LIMIT $1;

-- name: claim_due
-- Take messages that are due, oldest first; another worker gets others. Not reported on in time, they are due again.
UPDATE messages SET tries = tries + 1, next_try_at = now() + make_interval(secs => $2)
WHERE id IN (
    SELECT id FROM messages WHERE state = 'waiting' AND next_try_at <= now() ORDER BY next_try_at, id LIMIT $1 FOR UPDATE SKIP LOCKED
)
RETURNING id, kind, subject_id, order_id, recipient, subject, body_text, body_html, message_id, state, tries, error, created_at, sent_at;

-- name: sent
-- The mail server took it.
UPDATE messages SET state = 'sent', sent_at = now(), error = NULL WHERE id = $1 AND state = 'waiting';

-- name: failed
-- The mail server did not take it: again later, longer each time, until the tries are used up.
UPDATE messages
SET error = $2,
    state = CASE WHEN tries >= $3 THEN 'failed' ELSE 'waiting' END,
    next_try_at = now() + make_interval(secs => least($4 * 2 ^ (tries - 1), $5))
WHERE id = $1 AND state = 'waiting';
