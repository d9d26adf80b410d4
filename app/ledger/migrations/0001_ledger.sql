-- The ledger: the truth about every unit, order and payment. The schema explains and enforces itself.

CREATE TABLE shops (
    id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL CONSTRAINT shop_has_a_name CHECK (length(name) BETWEEN 1 AND 200),
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE sellers (
    id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shop_id    integer NOT NULL REFERENCES shops,
    email      text NOT NULL,                       -- normalised (app/domain/emails.py)
    role       text NOT NULL CONSTRAINT seller_role CHECK (role IN ('owner', 'manager', 'support', 'viewer')),
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (shop_id, email)
);

CREATE TABLE shoppers (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    email         text NOT NULL UNIQUE,             -- normalised: what addresses are compared by
    email_written text NOT NULL,                    -- as the shopper wrote it: where mail goes
    session_epoch integer NOT NULL DEFAULT 0,       -- raised by "sign out everywhere": older cookies are void
    synthetic     boolean NOT NULL DEFAULT false,   -- minted for tests and rehearsals
    created_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX shoppers_signed_out ON shoppers (id) WHERE session_epoch > 0;

-- One row per asked sign-in code. The code itself is never stored.
CREATE TABLE sign_in_codes (
    id         uuid PRIMARY KEY,                    -- the browser that asked holds this id in a signed cookie
    email      text NOT NULL,
    email_written text NOT NULL,
    code_hash  bytea NOT NULL,
    tries      integer NOT NULL DEFAULT 0 CONSTRAINT five_tries CHECK (tries BETWEEN 0 AND 5),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    used_at    timestamptz                          -- single use
);
CREATE INDEX sign_in_codes_by_email ON sign_in_codes (email, created_at);

CREATE TABLE pictures (
    hash       text PRIMARY KEY,                    -- hex SHA-256 of the bytes: the address never changes meaning
    media_type text NOT NULL CHECK (media_type IN ('image/webp', 'image/avif', 'image/jpeg', 'image/png')),
    width      integer NOT NULL,
    height     integer NOT NULL,
    bytes      bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE drops (
    id               integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shop_id          integer NOT NULL REFERENCES shops,
    slug             text NOT NULL UNIQUE CONSTRAINT slug_is_plain CHECK (slug ~ '^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$'),
    title            text NOT NULL CHECK (length(title) BETWEEN 1 AND 200),
    description      text NOT NULL DEFAULT '',
    price_minor      integer NOT NULL CHECK (price_minor BETWEEN 0 AND 99999999),
    currency         text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    opens_at         timestamptz NOT NULL,
    closes_at        timestamptz CONSTRAINT closes_after_opening CHECK (closes_at > opens_at),
    per_person       integer NOT NULL DEFAULT 1 CHECK (per_person BETWEEN 1 AND 1000),
    hold_seconds     double precision NOT NULL DEFAULT 600 CHECK (hold_seconds BETWEEN 1 AND 86400),
    payment_attempts integer NOT NULL DEFAULT 3 CHECK (payment_attempts BETWEEN 1 AND 10),
    door             text NOT NULL DEFAULT 'open' CHECK (door IN ('open', 'paused', 'closed', 'cancelled')),
    clock_offset_ms  bigint NOT NULL DEFAULT 0,     -- tests and rehearsals only
    picture          text REFERENCES pictures,
    retired_at       timestamptz,                   -- the books closed and the gate's keys left Redis
    created_at       timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX drops_live ON drops (id) WHERE retired_at IS NULL;

CREATE TABLE variants (
    id       integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    drop_id  integer NOT NULL REFERENCES drops,
    name     text NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
    position integer NOT NULL,
    UNIQUE (drop_id, name)
);

-- The hot counter. No foreign key may point here: each would pin the row's dead versions. fillfactor leaves room for HOT updates.
CREATE TABLE stock (
    variant_id integer PRIMARY KEY,
    drop_id    integer NOT NULL,
    total      integer NOT NULL CHECK (total >= 0),                     -- released by the seller
    sold       integer NOT NULL DEFAULT 0,                              -- Σ units of live orders + withdrawn
    withdrawn  integer NOT NULL DEFAULT 0 CHECK (withdrawn BETWEEN 0 AND sold), -- refunded without restock
    CONSTRAINT never_oversold CHECK (sold BETWEEN 0 AND total)
) WITH (fillfactor = 50);
CREATE INDEX stock_of_drop ON stock (drop_id);

CREATE TABLE orders (
    id            uuid PRIMARY KEY,                 -- the reservation's id; its first 32 bits are the drop's id
    drop_id       integer NOT NULL REFERENCES drops,
    variant_id    integer NOT NULL REFERENCES variants,
    shopper_id    bigint NOT NULL REFERENCES shoppers,
    quantity      integer NOT NULL CHECK (quantity BETWEEN 1 AND 1000),
    key           text NOT NULL,                    -- idempotency key, or 'place:N' for an accepted offer
    digest        text NOT NULL,                    -- of (variant, quantity): what was asked under the key
    state         text NOT NULL CONSTRAINT order_state CHECK (state IN
                    ('PENDING_PAYMENT', 'PROCESSING', 'PAID', 'EXPIRED', 'FAILED', 'CANCELLED', 'REFUNDED', 'REFUSED')),
    reason        text,                             -- why REFUSED or given back (domain/orders.py Refusal)
    amount_minor  integer NOT NULL CHECK (amount_minor >= 0),
    currency      text NOT NULL,
    reserved_at   timestamptz NOT NULL,             -- by the gate's clock
    deadline      timestamptz NOT NULL,             -- pay by; by the gate's clock
    attempts      integer NOT NULL DEFAULT 0,       -- payment attempts made
    claim         uuid,                             -- who acts on a PROCESSING order
    claimed_at    timestamptz,
    leaving       text CHECK (leaving IN ('EXPIRED', 'FAILED', 'CANCELLED')), -- the claim's holder gives the unit back to this state
    released      boolean,                          -- given back: has the gate confirmed? NULL: nothing to give back
    paid_at       timestamptz,
    ended_at      timestamptz,                      -- when it reached a final state
    CONSTRAINT claim_means_processing CHECK ((state = 'PROCESSING') = (claim IS NOT NULL)),
    CONSTRAINT given_back_is_released CHECK (state NOT IN ('EXPIRED', 'FAILED', 'CANCELLED') OR released IS NOT NULL)
) WITH (fillfactor = 80);
-- R10: at most one order that counts per (drop, shopper, key), for as long as the drop lives.
CREATE UNIQUE INDEX one_order_per_key ON orders (drop_id, shopper_id, key) WHERE state <> 'REFUSED';
CREATE INDEX orders_of_shopper ON orders (shopper_id, reserved_at DESC);
CREATE INDEX orders_of_drop ON orders (drop_id, state);
CREATE INDEX orders_waiting ON orders (deadline) WHERE state = 'PENDING_PAYMENT';
CREATE INDEX orders_claimed ON orders (claimed_at) WHERE state = 'PROCESSING';
CREATE INDEX orders_unreleased ON orders (drop_id, ended_at) WHERE released = false;

-- Append-only: Σ units of a variant's movements = stock.sold. One line per (order, kind): a unit cannot come back twice.
CREATE TABLE movements (
    order_id   uuid NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('sold', 'returned')),
    drop_id    integer NOT NULL,
    variant_id integer NOT NULL,
    units      integer NOT NULL CHECK ((kind = 'sold' AND units > 0) OR (kind = 'returned' AND units < 0)),
    at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (order_id, kind)
);
CREATE INDEX movements_of_drop ON movements (drop_id);

-- The seller adds units (or takes unsold ones away): ledger first, then add.lua once per id, until the gate confirms.
CREATE TABLE adjustments (
    id           uuid PRIMARY KEY,
    drop_id      integer NOT NULL REFERENCES drops,
    variant_id   integer NOT NULL REFERENCES variants,
    units        integer NOT NULL CHECK (units <> 0),
    confirmed    boolean NOT NULL DEFAULT false,
    at           timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX adjustments_unconfirmed ON adjustments (drop_id) WHERE NOT confirmed;

-- One order, one payment intent at the provider. The intent's id is stored before the first confirm.
CREATE TABLE payments (
    order_id       uuid PRIMARY KEY REFERENCES orders,
    intent_id      text UNIQUE,
    state          text NOT NULL DEFAULT 'none' CONSTRAINT money_state CHECK (state IN
                     ('none', 'authorising', 'unknown', 'captured', 'part_refunded', 'refunded')),
    captured_minor integer NOT NULL DEFAULT 0 CHECK (captured_minor >= 0),
    refunded_minor integer NOT NULL DEFAULT 0,
    needs_attention text,                           -- why a person must look, NULL: nothing
    asked_again    integer NOT NULL DEFAULT 0,      -- times an unknown outcome was looked up
    CONSTRAINT refund_within_capture CHECK (refunded_minor BETWEEN 0 AND captured_minor)
);

CREATE TABLE attempts (
    order_id       uuid NOT NULL REFERENCES orders,
    n              integer NOT NULL CHECK (n >= 1),
    payment_method text NOT NULL,
    state          text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'action', 'captured', 'declined', 'abandoned')),
    reason         text,                            -- the provider's decline code
    action_url     text,                            -- where the buyer authenticates
    submitted_at   timestamptz NOT NULL DEFAULT now(),
    enqueued_at    timestamptz,                     -- when the job was last put on the queue; NULL: never
    enqueues       integer NOT NULL DEFAULT 0,      -- part of the job's key, so a dead job never blocks its successor
    PRIMARY KEY (order_id, n)
);
CREATE UNIQUE INDEX one_unfinished_attempt ON attempts (order_id) WHERE state IN ('open', 'action');
CREATE INDEX attempts_open ON attempts (submitted_at) WHERE state = 'open';

CREATE TABLE refunds (
    order_id     uuid NOT NULL REFERENCES orders,
    purpose      text NOT NULL,                     -- 'late_money', 'seller:1', ...: part of the provider's idempotency key
    intent_id    text NOT NULL,                     -- whose capture goes back: the order's own, or a foreign one that named the order
    amount_minor integer NOT NULL CHECK (amount_minor > 0),
    restock      boolean NOT NULL DEFAULT false,    -- when the order becomes REFUNDED its units go back on sale
    state        text NOT NULL DEFAULT 'wanted' CHECK (state IN ('wanted', 'done')),
    refund_id    text,
    wanted_at    timestamptz NOT NULL DEFAULT now(),
    enqueued_at  timestamptz,
    enqueues     integer NOT NULL DEFAULT 0,
    done_at      timestamptz,
    PRIMARY KEY (order_id, purpose)
);
CREATE INDEX refunds_wanted ON refunds (wanted_at) WHERE state = 'wanted';

-- What happened to an order, append-only, in the words shown to seller and shopper.
CREATE TABLE events (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_id uuid,
    drop_id  integer NOT NULL,
    kind     text NOT NULL,
    detail   jsonb NOT NULL DEFAULT '{}',
    at       timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX events_of_order ON events (order_id, id) WHERE order_id IS NOT NULL;
CREATE INDEX events_of_drop ON events (drop_id, id);

-- Journal entries that could not be recorded after five tries: kept raw, reported by the books, never lost.
CREATE TABLE journal_rejects (
    drop_id  integer NOT NULL,
    entry_id text NOT NULL,
    entry    jsonb NOT NULL,
    error    text NOT NULL,
    at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (drop_id, entry_id)
);

-- Outbox: written in the transaction of the change it reports, unique per (kind, subject), delivered by a worker.
CREATE TABLE messages (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind         text NOT NULL,
    subject_id   text NOT NULL,                     -- the order, or the sign-in code's id
    order_id     uuid,
    recipient    text NOT NULL,
    subject      text NOT NULL,
    body_text    text NOT NULL,
    body_html    text NOT NULL,
    message_id   text NOT NULL UNIQUE,
    state        text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'failed')),
    tries        integer NOT NULL DEFAULT 0,
    error        text,
    created_at   timestamptz NOT NULL DEFAULT now(),
    next_try_at  timestamptz NOT NULL DEFAULT now(),
    sent_at      timestamptz,
    UNIQUE (kind, subject_id)
);
CREATE INDEX messages_waiting ON messages (next_try_at) WHERE state = 'waiting';

-- A drop with its shop and its variants in the seller's order, as pages show it.
CREATE VIEW published_drops AS
SELECT drops.*, shops.name AS shop_name, listed.variant_ids, listed.variant_names, listed.variant_totals
FROM drops
JOIN shops ON shops.id = drops.shop_id
CROSS JOIN LATERAL (
    SELECT array_agg(variants.id ORDER BY position) AS variant_ids,
           array_agg(variants.name ORDER BY position) AS variant_names,
           array_agg(stock.total ORDER BY position) AS variant_totals
    FROM variants JOIN stock ON stock.variant_id = variants.id
    WHERE variants.drop_id = drops.id
) AS listed;

-- An order with everything its page shows: drop, variant, money, the unfinished attempt and the last decline.
CREATE VIEW order_details AS
SELECT orders.id AS order_id, orders.drop_id, drops.slug AS drop_slug, drops.title AS drop_title, drops.picture AS drop_picture,
       orders.variant_id, variants.name AS variant, orders.quantity, orders.shopper_id, shoppers.email_written AS email,
       orders.state, orders.reason, orders.amount_minor, orders.currency, orders.reserved_at, orders.deadline AS pay_by,
       orders.attempts, greatest(drops.payment_attempts - orders.attempts, 0) AS attempts_left,
       orders.leaving, orders.released, orders.paid_at, orders.ended_at,
       coalesce(payments.state, 'none') AS payment, payments.intent_id, payments.needs_attention,
       unfinished.n AS attempt_n, unfinished.state AS attempt_state, unfinished.action_url,
       declined.reason AS decline_reason
FROM orders
JOIN drops ON drops.id = orders.drop_id
JOIN variants ON variants.id = orders.variant_id
JOIN shoppers ON shoppers.id = orders.shopper_id
LEFT JOIN payments ON payments.order_id = orders.id
LEFT JOIN attempts AS unfinished ON unfinished.order_id = orders.id AND unfinished.state IN ('open', 'action')
LEFT JOIN LATERAL (
    SELECT reason FROM attempts WHERE attempts.order_id = orders.id AND state = 'declined' ORDER BY n DESC LIMIT 1
) AS declined ON true;
