-- A shop's staff, their sessions and second factor; a shop's drops. Every statement about a shop asks for the shop.

-- name: workplaces
-- The shops that a person works for, and where each writes to them.
SELECT shops.id AS shop_id, shops.name AS shop_name, sellers.role,
       coalesce(sellers.email_written, sellers.email) AS email_written
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
-- Look at another shop that the session's owner works for; what it may do changes, and its id with it.
UPDATE seller_sessions SET shop_id = $2, id = $3
FROM seller_sessions AS before
WHERE seller_sessions.id = $1 AND before.id = $1 AND seller_sessions.ended_at IS NULL
  AND EXISTS (SELECT FROM sellers WHERE sellers.email = seller_sessions.email AND sellers.shop_id = $2)
RETURNING seller_sessions.email, before.shop_id AS shop_before;

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

-- name: lock_shop
-- Changes to one shop's staff wait for each other.
SELECT id FROM shops WHERE id = $1 FOR UPDATE;

-- name: staff
-- Everybody who works for this shop, owners first.
SELECT sellers.id, sellers.email, coalesce(sellers.email_written, sellers.email) AS email_written, sellers.role, sellers.invited_by,
       sellers.created_at AS invited_at, sellers.joined_at, second_factors.confirmed_at IS NOT NULL AS second_factor,
       (SELECT max(seen_at) FROM seller_sessions WHERE seller_sessions.email = sellers.email
          AND seller_sessions.shop_id = sellers.shop_id) AS seen_at
FROM sellers LEFT JOIN second_factors ON second_factors.email = sellers.email
WHERE sellers.shop_id = $1
ORDER BY array_position(ARRAY['owner', 'manager', 'support', 'viewer'], sellers.role), sellers.email
LIMIT $2;

-- name: staff_member
-- One of them.
SELECT sellers.id, sellers.email, coalesce(sellers.email_written, sellers.email) AS email_written, sellers.role, sellers.invited_by,
       sellers.created_at AS invited_at, sellers.joined_at, second_factors.confirmed_at IS NOT NULL AS second_factor,
       (SELECT max(seen_at) FROM seller_sessions WHERE seller_sessions.email = sellers.email
          AND seller_sessions.shop_id = sellers.shop_id) AS seen_at
FROM sellers LEFT JOIN second_factors ON second_factors.email = sellers.email
WHERE sellers.shop_id = $1 AND sellers.id = $2;

-- name: staff_size
-- How many work for this shop.
SELECT count(*)::integer FROM sellers WHERE shop_id = $1;

-- name: invited_lately
-- How many this shop invited in the last hour, those removed since then too.
SELECT count(*)::integer FROM audit WHERE shop_id = $1 AND action = 'staff invited' AND at > now() - interval '1 hour';

-- name: invite
-- Somebody new. Whoever works here already stays as they are.
INSERT INTO sellers (shop_id, email, email_written, role, invited_by) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (shop_id, email) DO NOTHING
RETURNING id;

-- name: other_owners
-- Owners of this shop beside this one who have signed in: an address that was only typed keeps no shop.
SELECT count(*)::integer FROM sellers WHERE shop_id = $1 AND id <> $2 AND role = 'owner' AND joined_at IS NOT NULL;

-- name: change_role
-- Another role, if it is still the one that was seen.
UPDATE sellers SET role = $4 WHERE shop_id = $1 AND id = $2 AND role = $3;

-- name: remove_staff
-- Off the staff: no session of theirs finds them here any more.
DELETE FROM sellers WHERE shop_id = $1 AND id = $2;

-- name: end_sessions_at_shop
-- What was opened here ends for good: it does not come back to life with whoever is invited again.
UPDATE seller_sessions SET ended_at = now() WHERE email = $1 AND shop_id = $2 AND ended_at IS NULL;

-- name: begin_second_factor
-- The nonce of the one being set up: a page that is shown twice shows the same secret. One in use is no row.
INSERT INTO second_factors (email, nonce) VALUES ($1, $2)
ON CONFLICT (email) DO UPDATE SET nonce = second_factors.nonce WHERE second_factors.confirmed_at IS NULL
RETURNING nonce;

-- name: try_second_factor
-- Count a try before anything is compared; a row only while this person has tries left.
UPDATE second_factors
SET tries = CASE WHEN tries_since < now() - make_interval(secs => $3) THEN 1 ELSE tries + 1 END,
    tries_since = CASE WHEN tries_since < now() - make_interval(secs => $3) THEN now() ELSE tries_since END
WHERE email = $1 AND (tries < $2 OR tries_since < now() - make_interval(secs => $3))
RETURNING nonce, confirmed_at IS NOT NULL AS confirmed;

-- name: use_step
-- A right code: neither it nor an older one is right again, and the tries begin anew.
UPDATE second_factors SET step = $2, tries = 0, tries_since = now() WHERE email = $1 AND step < $2;

-- name: confirm_second_factor
-- The first right code puts it into use, by somebody who reads this language.
UPDATE second_factors SET confirmed_at = now(), language = $2 WHERE email = $1 AND confirmed_at IS NULL;

-- name: put_recovery_codes
-- Hashes of codes for the day when the phone is gone.
INSERT INTO recovery_codes (email, code_hash) SELECT $1, unnest($2::bytea[]);

-- name: use_recovery_code
-- Each works once, and only for a second factor that is in use.
UPDATE recovery_codes SET used_at = now()
WHERE email = $1 AND code_hash = $2 AND used_at IS NULL
  AND EXISTS (SELECT FROM second_factors WHERE second_factors.email = $1 AND confirmed_at IS NOT NULL);

-- name: forgive_tries
-- A recovery code was right: the tries begin anew.
UPDATE second_factors SET tries = 0, tries_since = now() WHERE email = $1;

-- name: recovery_codes_left
-- How many still work.
SELECT count(*)::integer FROM recovery_codes WHERE email = $1 AND used_at IS NULL;

-- name: forget_recovery_codes
-- None of the earlier ones works any more.
DELETE FROM recovery_codes WHERE email = $1;

-- name: prove_session
-- The second factor was shown in this session, which lives on under a new id.
UPDATE seller_sessions SET id = $3, proven_at = now()
WHERE id = $1 AND email = $2 AND ended_at IS NULL AND expires_at > now();

-- name: remove_second_factor
-- Its owner begins anew; the recovery codes and passkeys go with it.
DELETE FROM second_factors WHERE email = $1 AND confirmed_at IS NOT NULL RETURNING language;

-- name: tell_of_second_factor
-- The person whose second factor changed is told, where the first shop that they work for writes to them.
INSERT INTO messages (kind, subject_id, recipient, language, data)
SELECT 'second_factor', $2, coalesce(email_written, email), $3,
       $4::jsonb || jsonb_build_object('changed_at', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
FROM sellers WHERE email = $1 ORDER BY id LIMIT 1;

-- name: nothing_proven
-- No session of this person has shown a second factor.
UPDATE seller_sessions SET proven_at = NULL WHERE email = $1 AND proven_at IS NOT NULL;

-- name: seller_sessions
-- The open sessions of one person, the last one used first.
SELECT seller_sessions.id, shops.name AS shop_name, browser, started_at, seen_at, expires_at
FROM seller_sessions JOIN shops ON shops.id = seller_sessions.shop_id
WHERE email = $1 AND ended_at IS NULL AND expires_at > now()
ORDER BY seen_at DESC, started_at DESC
LIMIT $2;
