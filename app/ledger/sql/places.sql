-- The waitlist. Whoever changes a place changes it after the order and the stock it belongs to, never before.

-- name: lock_list
-- Those who join one drop's list come one after the other, so that an earlier id is never seen later.
SELECT pg_advisory_xact_lock(24301, $1);

-- name: list_open
-- Whether a drop's list takes anybody: until the seller, or the clock, closes the drop.
SELECT door NOT IN ('closed', 'cancelled') AND retired_at IS NULL
       AND (closes_at IS NULL OR closes_at > now() + make_interval(secs => clock_offset_ms / 1000.0))
FROM drops WHERE id = $1;

-- name: join_list
-- New places at the end, with their words. No row for who has one of this variant, or may not have so many more units.
WITH wishes AS (
    SELECT * FROM unnest($2::bigint[], $3::integer[], $4::integer[]) WITH ORDINALITY AS t (shopper_id, variant_id, quantity, n)
), lawful AS (
    SELECT wishes.*
    FROM wishes JOIN drops ON drops.id = $1 JOIN variants ON variants.id = wishes.variant_id AND variants.drop_id = drops.id
    WHERE NOT EXISTS (SELECT FROM places
                      WHERE places.drop_id = $1 AND places.variant_id = wishes.variant_id AND places.shopper_id = wishes.shopper_id
                        AND places.state IN ('waiting', 'offered'))
      AND wishes.quantity + (SELECT coalesce(sum(orders.quantity), 0) FROM orders
                             WHERE orders.shopper_id = wishes.shopper_id AND orders.drop_id = $1
                               AND orders.state IN ('PENDING_PAYMENT', 'PROCESSING', 'PAID')) <= drops.per_person
), joined AS (
    INSERT INTO places (drop_id, variant_id, shopper_id, quantity, number)
    SELECT $1, variant_id, shopper_id, quantity,
           coalesce((SELECT max(number) FROM places WHERE places.variant_id = lawful.variant_id), 0)
               + row_number() OVER (PARTITION BY variant_id ORDER BY n)
    FROM lawful ORDER BY n
    RETURNING id, variant_id, shopper_id
), told AS (  -- once per person and variant, however often they leave and come back
    INSERT INTO messages (kind, subject_id, place_id, recipient, language, state)
    SELECT 'waitlist_joined', joined.variant_id || ':' || joined.shopper_id, joined.id, shoppers.email_written, shoppers.language,
           CASE WHEN shoppers.synthetic THEN 'withheld' ELSE 'waiting' END
    FROM joined JOIN shoppers ON shoppers.id = joined.shopper_id
    ON CONFLICT (kind, subject_id) DO NOTHING
)
SELECT id FROM joined;

-- name: places_of_many
-- The places that these shoppers have on a drop's list, with how many wait before them.
SELECT places.id AS place_id, places.variant_id, places.shopper_id, places.quantity, places.number, places.state, places.order_id,
       coalesce(line.ahead, 0) AS ahead
FROM places
LEFT JOIN (
    SELECT id, (row_number() OVER (PARTITION BY variant_id ORDER BY id) - 1)::integer AS ahead
    FROM places WHERE drop_id = $1 AND state = 'waiting'
) AS line ON line.id = places.id
WHERE places.drop_id = $1 AND places.shopper_id = ANY($2::bigint[]) AND places.state IN ('waiting', 'offered');

-- name: places_of
-- The places of one shopper on a drop's list, with how many wait before them.
SELECT id AS place_id, variant_id, shopper_id, quantity, number, state, order_id,
       CASE state WHEN 'waiting' THEN (SELECT count(*)::integer FROM places AS before
            WHERE before.variant_id = places.variant_id AND before.state = 'waiting' AND before.id < places.id) ELSE 0 END AS ahead
FROM places
WHERE drop_id = $1 AND shopper_id = $2 AND state IN ('waiting', 'offered')
ORDER BY id;

-- name: waiters
-- Everybody with a place on a drop's list.
SELECT DISTINCT shopper_id FROM places WHERE drop_id = $1 AND state IN ('waiting', 'offered');

-- name: leave_list
-- Give up a place; one that is offered already is an order, and ends as one.
UPDATE places SET state = 'left', ended_at = now()
WHERE drop_id = $1 AND variant_id = $2 AND shopper_id = $3 AND state = 'waiting';

-- name: heirs_of_order
-- Who may take over the units of an order, in order: those who are next, may have so many, and ask for no more than there is.
SELECT places.id AS place_id, places.shopper_id AS buyer, places.variant_id, places.quantity, drops.offer_seconds
FROM orders
JOIN drops ON drops.id = orders.drop_id AND drops.waitlist = 'offers'
JOIN stock ON stock.variant_id = orders.variant_id
JOIN places ON places.variant_id = orders.variant_id AND places.state = 'waiting'
WHERE orders.id = $1 AND places.id > $2 AND places.quantity <= stock.total - stock.sold
  AND places.quantity + (SELECT coalesce(sum(live.quantity), 0) FROM orders AS live
                         WHERE live.shopper_id = places.shopper_id AND live.drop_id = orders.drop_id
                           AND live.state IN ('PENDING_PAYMENT', 'PROCESSING', 'PAID')) <= drops.per_person
ORDER BY places.id LIMIT $3;

-- name: heirs_of_variant
-- The same for units that belong to nobody.
SELECT places.id AS place_id, places.shopper_id AS buyer, places.variant_id, places.quantity, drops.offer_seconds
FROM stock
JOIN drops ON drops.id = stock.drop_id AND drops.waitlist = 'offers'
JOIN places ON places.variant_id = stock.variant_id AND places.state = 'waiting'
WHERE stock.variant_id = $1 AND places.id > $2 AND places.quantity <= stock.total - stock.sold
  AND places.quantity + (SELECT coalesce(sum(live.quantity), 0) FROM orders AS live
                         WHERE live.shopper_id = places.shopper_id AND live.drop_id = stock.drop_id
                           AND live.state IN ('PENDING_PAYMENT', 'PROCESSING', 'PAID')) <= drops.per_person
ORDER BY places.id LIMIT $3;

-- name: lists_with_stock
-- Variants with somebody waiting and units that no order holds.
SELECT stock.drop_id, stock.variant_id, drops.waitlist
FROM stock JOIN drops ON drops.id = stock.drop_id
WHERE drops.retired_at IS NULL AND drops.door = 'open' AND stock.sold < stock.total
  AND EXISTS (SELECT FROM places WHERE places.variant_id = stock.variant_id AND places.state = 'waiting')
ORDER BY stock.drop_id, stock.variant_id;

-- name: waiting_places
-- Which of these places still wait; they do until the commit.
SELECT id FROM places WHERE id = ANY($1::bigint[]) AND state = 'waiting' ORDER BY id FOR UPDATE;

-- name: offer_places
-- The orders of accepted offers are written: their places are served.
UPDATE places SET state = 'offered', order_id = offers.order_id
FROM unnest($1::bigint[], $2::uuid[]) AS offers (place_id, order_id)
WHERE places.id = offers.place_id AND places.state = 'waiting';

-- name: place_taken
-- The order of an offer is paid.
UPDATE places SET state = 'taken', ended_at = now() WHERE order_id = $1 AND state = 'offered';

-- name: places_lapsed
-- The orders of these offers ended unpaid.
UPDATE places SET state = 'lapsed', ended_at = now() WHERE order_id = ANY($1::uuid[]) AND state = 'offered';

-- name: close_lists
-- End the places of drops that are over, with a word to everyone.
WITH over AS (
    SELECT places.id, drops.door
    FROM places JOIN drops ON drops.id = places.drop_id
    WHERE places.state = 'waiting'
      AND (drops.door IN ('closed', 'cancelled') OR drops.retired_at IS NOT NULL
           OR drops.closes_at <= now() + make_interval(secs => drops.clock_offset_ms / 1000.0))
    ORDER BY places.id LIMIT $1 FOR UPDATE OF places SKIP LOCKED
), closed AS (
    UPDATE places SET state = 'closed', ended_at = now() FROM over WHERE places.id = over.id
    RETURNING places.id, places.drop_id, places.shopper_id, over.door
), told AS (
    INSERT INTO messages (kind, subject_id, place_id, recipient, language, state)
    SELECT CASE door WHEN 'cancelled' THEN 'drop_cancelled' ELSE 'waitlist_closed' END, 'place:' || closed.id, closed.id,
           shoppers.email_written, shoppers.language, CASE WHEN shoppers.synthetic THEN 'withheld' ELSE 'waiting' END
    FROM closed JOIN shoppers ON shoppers.id = closed.shopper_id
    ON CONFLICT (kind, subject_id) DO NOTHING
)
SELECT drop_id FROM closed;

-- name: notify_list
-- Tell everybody who waits for a variant that there are units, first come; their places end with that.
WITH waiting AS (
    SELECT id FROM places WHERE variant_id = $1 AND state = 'waiting' ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED
), ended AS (
    UPDATE places SET state = 'closed', ended_at = now() FROM waiting WHERE places.id = waiting.id
    RETURNING places.id, places.shopper_id
), told AS (
    INSERT INTO messages (kind, subject_id, place_id, recipient, language, state)
    SELECT 'units_back', 'place:' || ended.id, ended.id, shoppers.email_written, shoppers.language,
           CASE WHEN shoppers.synthetic THEN 'withheld' ELSE 'waiting' END
    FROM ended JOIN shoppers ON shoppers.id = ended.shopper_id
    ON CONFLICT (kind, subject_id) DO NOTHING
)
SELECT id FROM ended;
