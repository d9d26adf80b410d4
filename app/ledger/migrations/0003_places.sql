-- The waitlist, and an outbox whose mails are written when they are sent.

ALTER TABLE drops
    ADD COLUMN offer_seconds double precision NOT NULL DEFAULT 600 CHECK (offer_seconds BETWEEN 1 AND 86400), -- how long an offer stands
    ADD COLUMN waitlist text NOT NULL DEFAULT 'offers' CONSTRAINT waitlist_mode CHECK (waitlist IN (
        'offers',                                           -- a unit that comes back is held for the next in line
        'notify'));                                         -- everybody on the list is told at once, first come

-- One row per place on a drop's list. Its id is its order: ids are given out under the list's lock, so nobody ever comes in before.
CREATE TABLE places (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    drop_id    integer NOT NULL REFERENCES drops,
    variant_id integer NOT NULL REFERENCES variants,
    shopper_id bigint NOT NULL REFERENCES shoppers,
    quantity   integer NOT NULL CHECK (quantity BETWEEN 1 AND 1000),
    number     integer NOT NULL CHECK (number >= 1),        -- what is shown: 1, 2, 3 … of this variant, never given out twice
    state      text NOT NULL DEFAULT 'waiting' CONSTRAINT place_state CHECK (state IN (
                 'waiting',
                 'offered',                                 -- the recorder has written the order that holds its units
                 'taken',                                   -- that order is paid
                 'lapsed',                                  -- that order ended unpaid
                 'left',                                    -- its owner left the list
                 'closed')),                                -- the list closed, or (notify) everybody on it was told
    order_id   uuid UNIQUE REFERENCES orders,               -- of the offer
    joined_at  timestamptz NOT NULL DEFAULT now(),
    ended_at   timestamptz,
    UNIQUE (variant_id, number),
    CONSTRAINT an_offer_is_an_order CHECK ((state IN ('offered', 'taken', 'lapsed')) = (order_id IS NOT NULL))
);
CREATE UNIQUE INDEX one_place_per_person ON places (drop_id, variant_id, shopper_id) WHERE state IN ('waiting', 'offered');
CREATE INDEX places_waiting ON places (variant_id, id) WHERE state = 'waiting';
CREATE INDEX places_of_drop ON places (drop_id, id) WHERE state IN ('waiting', 'offered');
CREATE INDEX places_called ON places (variant_id, number) WHERE order_id IS NOT NULL;

-- A mail is written when it is sent, in its reader's language, from what the ledger says then; until then it is a kind and a subject.
ALTER TABLE shoppers ADD COLUMN language text NOT NULL DEFAULT 'en';
ALTER TABLE messages
    ALTER COLUMN subject DROP NOT NULL,                     -- NULL, as the bodies: written when it is sent
    ALTER COLUMN body_text DROP NOT NULL,
    ALTER COLUMN body_html DROP NOT NULL,
    ALTER COLUMN message_id DROP NOT NULL,                  -- NULL: made of the row's id and time, see the view below
    ADD COLUMN place_id bigint REFERENCES places,
    ADD COLUMN data jsonb NOT NULL DEFAULT '{}',            -- what a mail says that no other row keeps
    ADD COLUMN language text NOT NULL DEFAULT 'en',
    ADD COLUMN sending boolean NOT NULL DEFAULT false,      -- handed to the mail server, its answer not noted yet
    ADD COLUMN doubts integer NOT NULL DEFAULT 0,           -- times that nobody knows whether the mail server took it
    DROP CONSTRAINT messages_message_id_key,                -- the row is unique by kind and subject
    DROP CONSTRAINT messages_state_check,
    ADD CONSTRAINT message_state CHECK (state IN (
        'waiting', 'sent',
        'failed',                                           -- refused, or given up after many tries
        'unknown',                                          -- sent twice, both times without an answer: it may have arrived
        'withheld')),                                       -- to a synthetic shopper: kept, never sent
    ADD CONSTRAINT written_whole CHECK ((subject IS NULL) = (body_text IS NULL) AND (subject IS NULL) = (body_html IS NULL));
CREATE INDEX messages_undelivered ON messages (id) WHERE state IN ('failed', 'unknown');

-- A message with everything its mail says.
CREATE VIEW letters AS
SELECT messages.id, messages.kind, messages.subject_id, messages.order_id, messages.place_id, messages.recipient, messages.language,
       messages.subject, messages.body_text, messages.body_html, messages.state, messages.tries, messages.doubts, messages.error,
       messages.created_at, messages.sent_at, messages.data,
       coalesce(messages.message_id,
                '<' || messages.id || '.' || (extract(epoch FROM messages.created_at) * 1000000)::bigint || '@doorman>') AS message_id,
       drops.slug AS drop_slug, drops.title AS drop_title, shops.name AS shop_name, variants.name AS variant,
       coalesce(orders.quantity, places.quantity) AS quantity, orders.amount_minor, drops.currency, orders.deadline AS pay_by,
       greatest(drops.payment_attempts - orders.attempts, 0) AS attempts_left, orders.reason AS order_reason,
       coalesce(payments.captured_minor, 0) > 0 AS charged, drops.closes_at, drops.offer_seconds, drops.waitlist,
       places.number AS place_number
FROM messages
LEFT JOIN orders ON orders.id = messages.order_id
LEFT JOIN payments ON payments.order_id = messages.order_id
LEFT JOIN places ON places.id = messages.place_id
LEFT JOIN drops ON drops.id = coalesce(orders.drop_id, places.drop_id)
LEFT JOIN shops ON shops.id = drops.shop_id
LEFT JOIN variants ON variants.id = coalesce(orders.variant_id, places.variant_id);

-- Pages show how many wait for each variant, and the highest number that was called.
DROP VIEW published_drops;
CREATE VIEW published_drops AS
SELECT drops.*, shops.name AS shop_name, listed.variant_ids, listed.variant_names, listed.variant_totals, listed.variant_waiting,
       listed.variant_called
FROM drops
JOIN shops ON shops.id = drops.shop_id
CROSS JOIN LATERAL (
    SELECT array_agg(variants.id ORDER BY position) AS variant_ids,
           array_agg(variants.name ORDER BY position) AS variant_names,
           array_agg(stock.total ORDER BY position) AS variant_totals,
           array_agg((SELECT count(*)::integer FROM places WHERE places.variant_id = variants.id AND state = 'waiting')
                     ORDER BY position) AS variant_waiting,
           array_agg(coalesce((SELECT number FROM places
                               WHERE places.variant_id = variants.id AND order_id IS NOT NULL ORDER BY number DESC LIMIT 1), 0)
                     ORDER BY position) AS variant_called
    FROM variants JOIN stock ON stock.variant_id = variants.id
    WHERE variants.drop_id = drops.id
) AS listed;

CREATE OR REPLACE VIEW order_details AS
SELECT orders.id AS order_id, orders.drop_id, drops.slug AS drop_slug, drops.title AS drop_title, drops.picture AS drop_picture,
       orders.variant_id, variants.name AS variant, orders.quantity, orders.shopper_id, shoppers.email_written AS email,
       orders.state, orders.reason, orders.amount_minor, orders.currency, orders.reserved_at, orders.deadline AS pay_by,
       orders.attempts, greatest(drops.payment_attempts - orders.attempts, 0) AS attempts_left,
       orders.leaving, orders.released, orders.paid_at, orders.ended_at,
       coalesce(payments.state, 'none') AS payment, payments.intent_id, payments.needs_attention,
       unfinished.n AS attempt_n, unfinished.state AS attempt_state, unfinished.action_url,
       declined.reason AS decline_reason, parcels.state AS parcel, parcels.tracking,
       orders.key LIKE 'place:%' AS offered
FROM orders
JOIN drops ON drops.id = orders.drop_id
JOIN variants ON variants.id = orders.variant_id
JOIN shoppers ON shoppers.id = orders.shopper_id
LEFT JOIN payments ON payments.order_id = orders.id
LEFT JOIN attempts AS unfinished ON unfinished.order_id = orders.id AND unfinished.state IN ('open', 'action')
LEFT JOIN LATERAL (
    SELECT reason FROM attempts WHERE attempts.order_id = orders.id AND state = 'declined' ORDER BY n DESC LIMIT 1
) AS declined ON true
LEFT JOIN parcels ON parcels.order_id = orders.id;
