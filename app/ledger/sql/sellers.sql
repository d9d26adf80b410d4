-- A shop's staff, their sessions and second factor; a shop's drops. Every statement about a shop asks for the shop.

-- name: workplaces
-- The shops that a person works for.
SELECT shops.id AS shop_id, shops.name AS shop_name, sellers.role
FROM sellers JOIN shops ON shops.id = sellers.shop_id
WHERE sellers.email = $1 ORDER BY sellers.id;

-- name: shop_of_sign_in
-- Where a sign-in begins: the shop looked at last among those the person still works for, else the first.
SELECT sellers.shop_id FROM sellers
WHERE sellers.email = $1
ORDER BY (SELECT max(started_at) FROM seller_sessions
          WHERE seller_sessions.email = $1 AND seller_sessions.shop_id = sellers.shop_id) DESC NULLS LAST, sellers.id
LIMIT 1;

-- name: join_staff
-- Whoever was invited has come.
UPDATE sellers SET joined_at = now() WHERE email = $1 AND joined_at IS NULL;

-- name: forget_old_seller_sessions
-- What ran out long ago is of no interest in any list.
DELETE FROM seller_sessions WHERE email = $1 AND expires_at < now() - interval '30 days';

-- name: open_seller_session
-- A new session.
INSERT INTO seller_sessions (id, email, shop_id, expires_at, browser)
VALUES ($1, $2, $3, now() + make_interval(secs => $4), $5);

-- name: seller_of_session
-- Who a session is: only while it lasts, and only while its owner works for the shop it looks at.
SELECT sellers.id, sellers.shop_id, shops.name AS shop_name, sellers.role, sellers.email, seller_sessions.id AS session_id,
       shops.time_zone, second_factors.confirmed_at IS NOT NULL AS second_factor, seller_sessions.proven_at,
       seller_sessions.expires_at
FROM seller_sessions
JOIN sellers ON sellers.email = seller_sessions.email AND sellers.shop_id = seller_sessions.shop_id
JOIN shops ON shops.id = sellers.shop_id
LEFT JOIN second_factors ON second_factors.email = sellers.email
WHERE seller_sessions.id = $1 AND seller_sessions.ended_at IS NULL AND seller_sessions.expires_at > now();

-- name: seller_session_seen
-- A session was used; noted now and then.
UPDATE seller_sessions SET seen_at = now() WHERE id = $1 AND seen_at < now() - make_interval(secs => $2);

-- name: end_seller_session
-- End one session of its owner.
UPDATE seller_sessions SET ended_at = now() WHERE id = $1 AND email = $2 AND ended_at IS NULL AND expires_at > now();

-- name: end_other_seller_sessions
-- End every session of a person but the one they sit at.
UPDATE seller_sessions SET ended_at = now()
WHERE id <> $1 AND email = $2 AND ended_at IS NULL AND expires_at > now() RETURNING id;

-- name: switch_shop
-- Look at another shop that the session's owner works for.
UPDATE seller_sessions SET shop_id = $2
WHERE id = $1 AND ended_at IS NULL
  AND EXISTS (SELECT FROM sellers WHERE sellers.email = seller_sessions.email AND sellers.shop_id = $2);

-- name: seller_drop
-- One drop of this shop.
SELECT * FROM published_drops WHERE shop_id = $1 AND id = $2;

-- name: seller_drops
-- The drops of this shop, the latest openings first.
SELECT * FROM published_drops WHERE shop_id = $1 ORDER BY opens_at DESC, id DESC LIMIT $2;

-- name: seller_counts
-- Units of every drop of this shop: on their way through a checkout, and paid.
SELECT drops.id AS drop_id, coalesce(live.units, 0)::integer AS held,
       (counted.units - coalesce(live.units, 0))::integer AS paid
FROM drops
CROSS JOIN LATERAL (SELECT coalesce(sum(sold - withdrawn), 0) AS units FROM stock WHERE stock.drop_id = drops.id) AS counted
CROSS JOIN LATERAL (
    SELECT sum(quantity) AS units FROM orders
    WHERE orders.drop_id = drops.id AND orders.state IN ('PENDING_PAYMENT', 'PROCESSING')
) AS live
WHERE drops.shop_id = $1;
