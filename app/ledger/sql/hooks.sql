-- Webhooks: where a shop's events go, which of them were handed out, and what became of each.

-- name: add_hook
-- A new webhook, unless the shop has $6 of them. It hears of what is committed from now on.
INSERT INTO hooks (shop_id, url, kinds, nonce, made_by)
SELECT $1, $2, $3, $4, $5
WHERE (SELECT count(*) FROM hooks WHERE shop_id = $1 AND removed_at IS NULL) < $6
RETURNING id;

-- name: hooks_of_shop
-- The webhooks of a shop ($2: one of them), the oldest first, with how their deliveries stand; failed ones are counted up to $3.
SELECT id, url, kinds, nonce, nonce_before, rotated_at, made_at, made_by,
       (SELECT count(*)::integer FROM (SELECT FROM hook_deliveries WHERE hook_id = hooks.id AND state = 'waiting' LIMIT $3) AS counted) AS waiting,
       (SELECT count(*)::integer FROM (SELECT FROM hook_deliveries WHERE hook_id = hooks.id AND state = 'failed' LIMIT $3) AS counted) AS failed
FROM hooks WHERE shop_id = $1 AND ($2::integer IS NULL OR id = $2) AND removed_at IS NULL ORDER BY id;

-- name: change_hook
-- Where a webhook leads and what it hears of.
UPDATE hooks SET url = $3, kinds = $4 WHERE shop_id = $1 AND id = $2 AND removed_at IS NULL;

-- name: rotate_hook
-- A new secret; the one so far signs beside it for a while.
UPDATE hooks SET nonce_before = nonce, rotated_at = now(), nonce = $3 WHERE shop_id = $1 AND id = $2 AND removed_at IS NULL;

-- name: remove_hook
-- Nothing is sent there any more.
UPDATE hooks SET removed_at = now() WHERE shop_id = $1 AND id = $2 AND removed_at IS NULL;

-- name: hooks_behind
-- Webhooks that have not been handed every event there is.
SELECT id FROM hooks
WHERE removed_at IS NULL AND EXISTS (
    SELECT FROM events
    WHERE (events.xact, events.id) > (hooks.cursor_xact, hooks.cursor_id) AND events.id > hooks.floor_id
      AND (events.xact < pg_snapshot_xmin(pg_current_snapshot()) OR events.xact >= pg_snapshot_xmax(pg_current_snapshot())));

-- name: begin_anew_elsewhere
-- A database that was restored into another server counts its transactions anew: cursors of before would hide all that happens now. What
-- was handed out stays handed out (its ids are known), everything later counts again.
UPDATE hooks SET cursor_xact = '0', cursor_id = 0,
       floor_id = greatest(floor_id, (SELECT coalesce(max(id), 0) FROM events
                                      WHERE (events.xact, events.id) <= (hooks.cursor_xact, hooks.cursor_id)
                                        AND (xact >= pg_snapshot_xmax(pg_current_snapshot()) OR xact = '0')))
WHERE removed_at IS NULL AND cursor_xact > pg_snapshot_xmax(pg_current_snapshot());

-- name: take_hook
-- Hand events out to this webhook, unless somebody else is just doing so.
SELECT kinds FROM hooks WHERE id = $1 AND removed_at IS NULL FOR UPDATE SKIP LOCKED;

-- name: hand_out
-- Up to $2 further events, in the order of their transactions, none of which can be followed by an earlier one: those of the webhook's shop
-- that it asked for ($3) become deliveries, and its cursor moves over all of them.
WITH further AS (
    SELECT events.id, events.xact, events.kind, events.drop_id
    FROM events
    WHERE (events.xact, events.id) > (SELECT cursor_xact, cursor_id FROM hooks WHERE id = $1)
      AND events.id > (SELECT floor_id FROM hooks WHERE id = $1)
      AND (events.xact < pg_snapshot_xmin(pg_current_snapshot()) OR events.xact >= pg_snapshot_xmax(pg_current_snapshot()))
    ORDER BY events.xact, events.id LIMIT $2
), wanted AS (
    INSERT INTO hook_deliveries (hook_id, event_id)
    SELECT $1, further.id FROM further JOIN drops ON drops.id = further.drop_id
    WHERE drops.shop_id = (SELECT shop_id FROM hooks WHERE id = $1) AND further.kind = ANY($3::text[])
    ORDER BY further.xact, further.id
    ON CONFLICT (hook_id, event_id) DO NOTHING
)
UPDATE hooks SET cursor_xact = last.xact, cursor_id = last.id
FROM (SELECT xact, id FROM further ORDER BY xact DESC, id DESC LIMIT 1) AS last
WHERE hooks.id = $1;

-- name: claim_deliveries
-- One due delivery of each webhook that has fewer than $2 under way, at most $1 of them, claimed as $3 for $4 seconds.
WITH due AS (
    SELECT waiting.id
    FROM hooks CROSS JOIN LATERAL (
        SELECT id FROM hook_deliveries
        WHERE hook_id = hooks.id AND state = 'waiting' AND next_try_at <= now() AND (claim IS NULL OR claimed_until < now())
        ORDER BY next_try_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS waiting
    WHERE hooks.removed_at IS NULL
      AND (SELECT count(*) FROM hook_deliveries WHERE hook_id = hooks.id AND state = 'waiting' AND claimed_until >= now()) < $2
    LIMIT $1
), claimed AS (
    UPDATE hook_deliveries SET claim = $3, claimed_until = now() + make_interval(secs => $4), tries = tries + 1
    FROM due WHERE hook_deliveries.id = due.id
    RETURNING hook_deliveries.id, hook_id, event_id, tries
)
SELECT claimed.id, claimed.tries, hooks.url, hooks.nonce,
       CASE WHEN rotated_at > now() - make_interval(secs => $5) THEN nonce_before END AS nonce_before,
       events.id AS event_id, events.kind, events.detail, events.at, events.order_id, events.drop_id, drops.slug AS drop_slug,
       variants.name AS variant, orders.quantity, orders.amount_minor, orders.currency
FROM claimed
JOIN hooks ON hooks.id = claimed.hook_id
JOIN events ON events.id = claimed.event_id
JOIN drops ON drops.id = events.drop_id
LEFT JOIN orders ON orders.id = events.order_id
LEFT JOIN variants ON variants.id = orders.variant_id
ORDER BY claimed.id;

-- name: delivered
-- Its receiver took it. $3: this try, for the log, which keeps the last $4.
UPDATE hook_deliveries SET state = 'delivered', delivered_at = now(), claim = NULL, claimed_until = NULL,
       attempts = CASE WHEN jsonb_array_length(attempts) >= $4 THEN attempts - 0 ELSE attempts END || $3::jsonb
WHERE id = $1 AND claim = $2 AND state = 'waiting';

-- name: not_delivered
-- Its receiver did not take it: again in $5 seconds, or (NULL) given up.
UPDATE hook_deliveries SET state = CASE WHEN $5::float8 IS NULL THEN 'failed' ELSE 'waiting' END, claim = NULL, claimed_until = NULL,
       next_try_at = now() + make_interval(secs => coalesce($5::float8, 0)),
       attempts = CASE WHEN jsonb_array_length(attempts) >= $4 THEN attempts - 0 ELSE attempts END || $3::jsonb
WHERE id = $1 AND claim = $2 AND state = 'waiting';

-- name: deliveries_of_hook
-- What became of the events for one webhook of a shop, the newest first, from a place on; $4: in this state only.
SELECT hook_deliveries.id, hook_deliveries.event_id, events.kind, events.order_id, events.drop_id, hook_deliveries.state, hook_deliveries.tries,
       hook_deliveries.next_try_at, hook_deliveries.attempts, hook_deliveries.created_at, hook_deliveries.delivered_at
FROM hook_deliveries JOIN hooks ON hooks.id = hook_deliveries.hook_id JOIN events ON events.id = hook_deliveries.event_id
WHERE hooks.shop_id = $1 AND hooks.id = $2 AND hooks.removed_at IS NULL
  AND ($3::bigint IS NULL OR hook_deliveries.id < $3) AND ($4::text IS NULL OR hook_deliveries.state = $4)
ORDER BY hook_deliveries.id DESC LIMIT $5;

-- name: delivery_of_hook
-- One of them.
SELECT hook_deliveries.id, hook_deliveries.event_id, events.kind, events.order_id, events.drop_id, hook_deliveries.state, hook_deliveries.tries,
       hook_deliveries.next_try_at, hook_deliveries.attempts, hook_deliveries.created_at, hook_deliveries.delivered_at
FROM hook_deliveries JOIN hooks ON hooks.id = hook_deliveries.hook_id JOIN events ON events.id = hook_deliveries.event_id
WHERE hooks.shop_id = $1 AND hooks.id = $2 AND hook_deliveries.id = $3 AND hooks.removed_at IS NULL;

-- name: send_delivery_again
-- Begin it anew, or at once where it waits; one that is under way goes its way.
UPDATE hook_deliveries SET next_try_at = now(), delivered_at = NULL, seen_at = NULL, tries = CASE WHEN state = 'waiting' THEN tries ELSE 0 END, state = 'waiting'
FROM hooks
WHERE hooks.id = hook_deliveries.hook_id AND hooks.shop_id = $1 AND hooks.id = $2 AND hook_deliveries.id = $3 AND hooks.removed_at IS NULL;

-- name: given_up
-- Events of a shop that its webhooks did not take and that nobody has seen to yet, the newest first.
SELECT hooks.id AS hook_id, hooks.url, hook_deliveries.id, hook_deliveries.event_id, events.kind, events.order_id, events.drop_id,
       hook_deliveries.state, hook_deliveries.tries, hook_deliveries.next_try_at, hook_deliveries.attempts, hook_deliveries.created_at,
       hook_deliveries.delivered_at
FROM hooks JOIN hook_deliveries ON hook_deliveries.hook_id = hooks.id JOIN events ON events.id = hook_deliveries.event_id
WHERE hooks.shop_id = $1 AND hooks.removed_at IS NULL AND hook_deliveries.state = 'failed' AND hook_deliveries.seen_at IS NULL
ORDER BY hook_deliveries.id DESC LIMIT $2;

-- name: given_up_seen
-- Somebody has seen to what a webhook did not take ($3: to this one of them, and else to all).
UPDATE hook_deliveries SET seen_at = now()
FROM hooks
WHERE hooks.id = hook_deliveries.hook_id AND hooks.shop_id = $1 AND hooks.id = $2 AND ($3::bigint IS NULL OR hook_deliveries.id = $3)
  AND hooks.removed_at IS NULL AND hook_deliveries.state = 'failed' AND hook_deliveries.seen_at IS NULL;

-- name: forget_old_deliveries
-- What is settled and older than $1 seconds leaves the log.
DELETE FROM hook_deliveries WHERE state <> 'waiting' AND created_at < now() - make_interval(secs => $1);
