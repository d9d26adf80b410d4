-- The shopper's side: where parcels go, whom to ask, reminders, and accounts that were deleted.

ALTER TABLE drops ADD COLUMN ships boolean NOT NULL DEFAULT false;  -- an address is asked for before paying
ALTER TABLE shops ADD COLUMN contact text;                  -- whom shoppers write to; NULL: the owner's address
ALTER TABLE orders ADD COLUMN address jsonb;                -- where it goes, as it was when given (app/domain/addresses.py)
ALTER TABLE shoppers ADD COLUMN deleted_at timestamptz;     -- the account is gone: no address of a person is left in the row

-- Addresses that a shopper used, kept for the next time.
CREATE TABLE addresses (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shopper_id bigint NOT NULL REFERENCES shoppers,
    address    jsonb NOT NULL,
    used_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT one_address_once UNIQUE (shopper_id, address)
);
CREATE INDEX addresses_of_shopper ON addresses (shopper_id, used_at DESC);

-- Who wants to be told by mail before a drop opens. The mail is written when it is due.
CREATE TABLE reminders (
    drop_id    integer NOT NULL REFERENCES drops,
    shopper_id bigint NOT NULL REFERENCES shoppers,
    asked_at   timestamptz NOT NULL DEFAULT now(),
    told_at    timestamptz,
    PRIMARY KEY (drop_id, shopper_id)
);
CREATE INDEX reminders_waiting ON reminders (drop_id) WHERE told_at IS NULL;

-- Two views learn columns at their end, whatever stands in them so far.
DO $$ BEGIN
    EXECUTE 'CREATE OR REPLACE VIEW published_drops AS SELECT known.*, drops.ships FROM ('
        || rtrim(pg_get_viewdef('published_drops'::regclass), ';') || ') AS known JOIN drops ON drops.id = known.id';
    EXECUTE 'CREATE OR REPLACE VIEW order_details AS SELECT known.*, drops.ships, orders.address, shops.name AS shop_name, '
        'coalesce(shops.contact, (SELECT email FROM sellers WHERE sellers.shop_id = shops.id AND role = ''owner'' '
        'ORDER BY sellers.id LIMIT 1)) AS contact FROM ('
        || rtrim(pg_get_viewdef('order_details'::regclass), ';') || ') AS known '
        'JOIN orders ON orders.id = known.order_id JOIN drops ON drops.id = known.drop_id JOIN shops ON shops.id = drops.shop_id';
END $$;
