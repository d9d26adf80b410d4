-- What touches the outside world: refunds and parcels that are asked for again, notices of the provider, and a history nobody can change.

-- A refund that the provider refuses, or about which it says nothing, is asked again, ever more slowly, and shown to a person.
ALTER TABLE refunds
    ADD COLUMN asked_again     integer NOT NULL DEFAULT 0,  -- times that no refund was the answer
    ADD COLUMN ask_at          timestamptz NOT NULL DEFAULT now(), -- not asked for before
    ADD COLUMN needs_attention text;                        -- why a person must look, NULL: nothing
CREATE INDEX refunds_needing_attention ON refunds (order_id) WHERE needs_attention IS NOT NULL;

-- Money whose fate is unknown although its order is gone (given back on the seller's word) is looked for until it is found.
ALTER TABLE payments ADD COLUMN ask_at timestamptz;         -- when an order that is gone asks the provider next
CREATE INDEX payments_unknown ON payments (order_id) WHERE state = 'unknown';
CREATE INDEX payments_needing_attention ON payments (order_id) WHERE needs_attention IS NOT NULL;

-- Notices of the provider whose effect is committed: the same notice again changes nothing.
CREATE TABLE provider_notices (
    id         text PRIMARY KEY,                            -- the provider's own id of the notice
    kind       text NOT NULL,
    order_id   uuid,                                        -- NULL: it is about no order of ours
    effect     text NOT NULL,                               -- what became of it, in a word
    handled_at timestamptz NOT NULL DEFAULT now()
);

-- One paid order, one parcel. Nothing is made at the warehouse twice: `creates` is counted before the warehouse is asked to make one.
CREATE TABLE parcels (
    order_id        uuid PRIMARY KEY REFERENCES orders,
    state           text NOT NULL DEFAULT 'waiting' CONSTRAINT parcel_state CHECK (state IN (
                      'waiting',                            -- the warehouse does not know of it yet
                      'unknown',                            -- it was asked to make it and gave no answer: only looked for from now on
                      'made',                               -- the warehouse has it, under `number`
                      'sent',                               -- on its way, under `tracking`
                      'withdrawn')),                        -- the order was refunded before anything was made
    creates         integer NOT NULL DEFAULT 0,             -- times the warehouse may have been asked to make it since it was sure to have none
    created_last_at timestamptz,                            -- when it was last asked
    number          text,                                   -- the warehouse's own
    tracking        text,
    claim           uuid,                                   -- who acts on it
    claimed_at      timestamptz,
    asked_again     integer NOT NULL DEFAULT 0,             -- looks in a row that did not bring it further
    ask_at          timestamptz NOT NULL DEFAULT now(),     -- when it is due
    enqueued_at     timestamptz,
    enqueues        integer NOT NULL DEFAULT 0,             -- part of the job's key, so a dead job never blocks its successor
    needs_attention text,                                   -- why a person must look, NULL: nothing
    CONSTRAINT made_has_a_number CHECK ((state IN ('made', 'sent')) = (number IS NOT NULL)),
    CONSTRAINT sent_has_tracking CHECK ((state = 'sent') = (tracking IS NOT NULL)),
    CONSTRAINT claim_has_a_time CHECK ((claim IS NULL) = (claimed_at IS NULL))
);
CREATE INDEX parcels_due ON parcels (ask_at) WHERE state IN ('waiting', 'unknown', 'made');
CREATE INDEX parcels_needing_attention ON parcels (order_id) WHERE needs_attention IS NOT NULL;
INSERT INTO parcels (order_id) SELECT id FROM orders WHERE state = 'PAID';

-- The history is append-only and chained: every event of an order (or of a drop itself) carries the hash of the one before it.
ALTER TABLE events ADD COLUMN seq integer, ADD COLUMN prev bytea, ADD COLUMN hash bytea;

CREATE FUNCTION event_hash(prev bytea, seq integer, order_id uuid, drop_id integer, kind text, detail jsonb, at timestamptz)
RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(coalesce(prev, ''::bytea) || convert_to(jsonb_build_array(
        seq, order_id, drop_id, kind, detail, (extract(epoch FROM at) * 1000000)::bigint)::text, 'UTF8'))
$$;

CREATE FUNCTION chain_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE last record;
BEGIN
    IF NEW.order_id IS NULL THEN  -- an order's events are written under its lock; those of a drop itself wait for each other here
        PERFORM pg_advisory_xact_lock(24300, NEW.drop_id);
        SELECT seq, hash INTO last FROM events WHERE drop_id = NEW.drop_id AND order_id IS NULL ORDER BY id DESC LIMIT 1;
    ELSE
        SELECT seq, hash INTO last FROM events WHERE order_id = NEW.order_id ORDER BY id DESC LIMIT 1;
    END IF;
    NEW.seq := coalesce(last.seq, 0) + 1;
    NEW.prev := last.hash;
    NEW.hash := event_hash(NEW.prev, NEW.seq, NEW.order_id, NEW.drop_id, NEW.kind, NEW.detail, NEW.at);
    RETURN NEW;
END $$;

CREATE INDEX events_of_drop_itself ON events (drop_id, id) WHERE order_id IS NULL;

DO $$
DECLARE one record; last record;
BEGIN
    FOR one IN SELECT * FROM events ORDER BY id LOOP
        IF one.order_id IS NULL THEN
            SELECT seq, hash INTO last FROM events
            WHERE drop_id = one.drop_id AND order_id IS NULL AND id < one.id ORDER BY id DESC LIMIT 1;
        ELSE
            SELECT seq, hash INTO last FROM events WHERE order_id = one.order_id AND id < one.id ORDER BY id DESC LIMIT 1;
        END IF;
        UPDATE events SET seq = coalesce(last.seq, 0) + 1, prev = last.hash,
               hash = event_hash(last.hash, coalesce(last.seq, 0) + 1, order_id, drop_id, kind, detail, at)
        WHERE id = one.id;
    END LOOP;
END $$;

ALTER TABLE events
    ALTER COLUMN seq SET NOT NULL, ALTER COLUMN hash SET NOT NULL,
    ADD CONSTRAINT first_has_no_prev CHECK ((seq = 1) = (prev IS NULL));
CREATE UNIQUE INDEX one_history_per_order ON events (order_id, seq) WHERE order_id IS NOT NULL;
CREATE UNIQUE INDEX one_history_per_drop ON events (drop_id, seq) WHERE order_id IS NULL;

CREATE FUNCTION keep_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the history of orders is append-only' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER chain_event BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION chain_event();
CREATE TRIGGER keep_history BEFORE UPDATE OR DELETE ON events FOR EACH ROW EXECUTE FUNCTION keep_history();
CREATE TRIGGER keep_history_whole BEFORE TRUNCATE ON events FOR EACH STATEMENT EXECUTE FUNCTION keep_history();

-- The order's page shows its parcel.
CREATE OR REPLACE VIEW order_details AS
SELECT orders.id AS order_id, orders.drop_id, drops.slug AS drop_slug, drops.title AS drop_title, drops.picture AS drop_picture,
       orders.variant_id, variants.name AS variant, orders.quantity, orders.shopper_id, shoppers.email_written AS email,
       orders.state, orders.reason, orders.amount_minor, orders.currency, orders.reserved_at, orders.deadline AS pay_by,
       orders.attempts, greatest(drops.payment_attempts - orders.attempts, 0) AS attempts_left,
       orders.leaving, orders.released, orders.paid_at, orders.ended_at,
       coalesce(payments.state, 'none') AS payment, payments.intent_id, payments.needs_attention,
       unfinished.n AS attempt_n, unfinished.state AS attempt_state, unfinished.action_url,
       declined.reason AS decline_reason, parcels.state AS parcel, parcels.tracking
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
