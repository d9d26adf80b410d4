-- Notices of the provider (webhooks): handled once, in any order.

-- name: notice_known
-- Whether this notice's effect is committed.
SELECT effect FROM provider_notices WHERE id = $1;

-- name: notice_handled
-- The effect of a notice is committed; the same one again is known from now on.
INSERT INTO provider_notices (id, kind, order_id, effect) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING;

-- name: money_reported_back
-- The provider has given back more than was ever wanted from it: a person must look.
UPDATE payments SET needs_attention = $3
WHERE order_id = $1 AND captured_minor > 0
  AND $2::bigint > (SELECT coalesce(sum(amount_minor), 0) FROM refunds
                    WHERE refunds.order_id = $1 AND refunds.intent_id = payments.intent_id);
