-- Addresses, reminders, deleted accounts.

-- name: addresses_of
-- A shopper's addresses, the last one used first.
SELECT id, address FROM addresses WHERE shopper_id = $1 ORDER BY used_at DESC, id DESC LIMIT $2;

-- name: keep_address
-- Keep an address for the next time; one that is kept already was used again.
INSERT INTO addresses (shopper_id, address)
SELECT id, $2 FROM shoppers WHERE id = $1 AND deleted_at IS NULL
ON CONFLICT ON CONSTRAINT one_address_once DO UPDATE SET used_at = now();

-- name: forget_oldest_addresses
-- A shopper keeps a few addresses; those used longest ago go.
DELETE FROM addresses WHERE shopper_id = $1
  AND id NOT IN (SELECT id FROM addresses WHERE shopper_id = $1 ORDER BY used_at DESC, id DESC LIMIT $2);

-- name: forget_address
-- One address of its owner.
DELETE FROM addresses WHERE shopper_id = $1 AND id = $2;

-- name: send_to
-- Where an order of this shopper goes: until it is paid, and then for as long as the warehouse knows nothing of it. What sending costs is
-- part of the amount, and follows the country until the first attempt to pay; from then on only a country of the same fee will do.
UPDATE orders SET address = $3, shipping_minor = shipping_fee(shipping_fees, $3::jsonb ->> 'country'),
                  amount_minor = amount_minor - shipping_minor + shipping_fee(shipping_fees, $3::jsonb ->> 'country')
FROM drops
WHERE orders.id = $1 AND orders.shopper_id = $2 AND drops.id = orders.drop_id AND drops.ships
  AND (state = 'PENDING_PAYMENT'
       OR state = 'PAID' AND EXISTS (SELECT FROM parcels WHERE order_id = $1 AND parcels.state = 'waiting' AND creates = 0 AND claim IS NULL))
  AND (shipping_countries IS NULL OR $3::jsonb ->> 'country' = ANY(shipping_countries))
  AND CASE WHEN state = 'PENDING_PAYMENT' AND attempts = 0 AND NOT EXISTS (SELECT FROM payments WHERE payments.order_id = $1)
           THEN shipping_fee(shipping_fees, $3::jsonb ->> 'country') IS NOT NULL
           ELSE shipping_fee(shipping_fees, $3::jsonb ->> 'country') = shipping_minor END
RETURNING orders.drop_id;

-- name: lock_shopper
-- The shopper whose account is to go; nothing of theirs changes hands meanwhile.
SELECT email FROM shoppers WHERE id = $1 AND deleted_at IS NULL FOR UPDATE;

-- name: orders_in_the_way
-- Why an account cannot go yet: orders that still move, and paid ones in drops that still sell (the limit per person would fall with it).
SELECT orders.id AS order_id, orders.state, drops.title AS drop_title
FROM orders JOIN drops ON drops.id = orders.drop_id
WHERE orders.shopper_id = $1
  AND (orders.state IN ('PENDING_PAYMENT', 'PROCESSING')
       OR orders.state = 'PAID' AND drops.retired_at IS NULL AND drops.door IN ('open', 'paused')
          AND (drops.closes_at IS NULL OR drops.closes_at > now())
          AND EXISTS (SELECT FROM stock WHERE stock.drop_id = drops.id AND stock.sold < stock.total))
ORDER BY orders.reserved_at;

-- name: forget_shopper
-- Nothing in the row is a person's any more, and every cookie is void.
UPDATE shoppers SET email = $2, email_written = $2, session_epoch = session_epoch + 1, deleted_at = now()
WHERE id = $1 AND deleted_at IS NULL
RETURNING session_epoch;

-- name: forget_addresses
-- All of a shopper.
DELETE FROM addresses WHERE shopper_id = $1;

-- name: forget_order_addresses
-- Orders that were never paid say no more where they would have gone. Paid ones do: an invoice must.
UPDATE orders SET address = NULL WHERE shopper_id = $1 AND address IS NOT NULL AND state NOT IN ('PAID', 'REFUNDED');

-- name: forget_codes
-- What an address asked for.
DELETE FROM sign_in_codes WHERE email = $1;

-- name: forget_mails
-- Mails to an address that is forgotten: that there was one stays, what stood in it and where it went does not.
UPDATE messages SET recipient = $2, subject = NULL, body_text = NULL, body_html = NULL, data = '{}',
                    state = CASE WHEN state = 'waiting' THEN 'withheld' ELSE state END
WHERE recipient = $1 OR recipient = $3;

-- name: forget_reminders
-- All of a shopper.
DELETE FROM reminders WHERE shopper_id = $1;

-- name: forget_places
-- A shopper who is gone waits for nothing.
UPDATE places SET state = 'left', ended_at = now() WHERE shopper_id = $1 AND state = 'waiting';

-- name: remind
-- Somebody wants to be told before the drop opens; asking twice is asking once.
INSERT INTO reminders (drop_id, shopper_id)
SELECT id, $2 FROM drops WHERE id = $1 AND opens_at > now() AND door IN ('open', 'paused')
ON CONFLICT (drop_id, shopper_id) DO UPDATE SET told_at = NULL WHERE reminders.told_at IS NOT NULL;

-- name: reminded
-- Whether this shopper is to be told before the drop opens.
SELECT EXISTS (SELECT FROM reminders WHERE drop_id = $1 AND shopper_id = $2 AND told_at IS NULL);

-- name: remind_due
-- Whoever asked is told once that a drop opens within $1 seconds; a drop that was paused, closed or cancelled meanwhile says nothing.
WITH told AS (
    UPDATE reminders SET told_at = now() FROM drops
    WHERE drops.id = reminders.drop_id AND reminders.told_at IS NULL AND drops.door = 'open'
      AND drops.opens_at > now() AND drops.opens_at <= now() + make_interval(secs => $1)
    RETURNING reminders.drop_id, reminders.shopper_id
)
INSERT INTO messages (kind, subject_id, recipient, language, data, state)
SELECT 'opens_soon', drops.id || ':' || shoppers.id || ':' || extract(epoch FROM drops.opens_at)::bigint, shoppers.email_written,
       shoppers.language,
       jsonb_build_object('drop_slug', drops.slug, 'drop_title', drops.title, 'shop_name', shops.name, 'variant', '', 'quantity', 1,
                          'opens', to_char(drops.opens_at AT TIME ZONE 'UTC', 'HH24:MI') || ' UTC'),
       CASE WHEN shoppers.synthetic THEN 'withheld' ELSE 'waiting' END
FROM told JOIN drops ON drops.id = told.drop_id JOIN shops ON shops.id = drops.shop_id JOIN shoppers ON shoppers.id = told.shopper_id
WHERE shoppers.deleted_at IS NULL
ON CONFLICT (kind, subject_id) DO NOTHING;
