-- Planning: drafts that no gate has heard of, and what may change about a drop that is published.

-- A plan is kept as it was typed, right or wrong (app/domain/plan.py), so that nothing is lost on the way to a drop. It becomes a drop
-- once: afterwards the row only remembers which.
CREATE TABLE drafts (
    id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shop_id    integer NOT NULL REFERENCES shops,
    version    integer NOT NULL DEFAULT 1,               -- raised by every save: a form of an older one overwrites nothing
    plan       jsonb NOT NULL CONSTRAINT plan_is_bounded CHECK (octet_length(plan::text) <= 262144),
    created_at timestamptz NOT NULL DEFAULT now(),
    created_by text NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    updated_by text NOT NULL,
    drop_id    integer UNIQUE REFERENCES drops           -- what it was published as
);
CREATE INDEX drafts_of_shop ON drafts (shop_id, updated_at DESC) WHERE drop_id IS NULL;

ALTER TABLE drops ADD COLUMN version integer NOT NULL DEFAULT 1;       -- raised by every change of its words, pictures and times
ALTER TABLE drops ADD COLUMN time_zone text NOT NULL DEFAULT 'UTC';    -- in which its seller planned it
ALTER TABLE drops ADD COLUMN shipping_countries text[]                 -- ISO 3166-1 alpha-2; NULL: everywhere
    CONSTRAINT some_country CHECK (cardinality(shipping_countries) BETWEEN 1 AND 300);
ALTER TABLE drops ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE drops ADD COLUMN updated_by text;                          -- NULL: never changed since it was published

-- The pictures of a drop in the order they are shown; the first one is also drops.picture.
CREATE TABLE drop_pictures (
    drop_id  integer NOT NULL REFERENCES drops,
    position integer NOT NULL CHECK (position BETWEEN 1 AND 100),
    hash     text NOT NULL REFERENCES pictures,
    alt      text NOT NULL DEFAULT '' CHECK (length(alt) <= 300),
    PRIMARY KEY (drop_id, position)
);
INSERT INTO drop_pictures (drop_id, position, hash) SELECT id, 1, picture FROM drops WHERE picture IS NOT NULL;

-- Which shop put up which picture: a shop plans with its own pictures only.
CREATE TABLE shop_pictures (
    shop_id integer NOT NULL REFERENCES shops,
    hash    text NOT NULL REFERENCES pictures,
    put_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (shop_id, hash)
);
CREATE INDEX shop_pictures_by_time ON shop_pictures (shop_id, put_at);
INSERT INTO shop_pictures (shop_id, hash) SELECT DISTINCT shop_id, picture FROM drops WHERE picture IS NOT NULL;

-- Two views learn columns at their end, whatever stands in them so far.
DO $$ BEGIN
    EXECUTE 'CREATE OR REPLACE VIEW published_drops AS SELECT known.*, drops.version, drops.time_zone, drops.shipping_countries, '
        'drops.updated_at, drops.updated_by, hung.picture_hashes, hung.picture_alts FROM ('
        || rtrim(pg_get_viewdef('published_drops'::regclass), ';') || ') AS known JOIN drops ON drops.id = known.id '
        'CROSS JOIN LATERAL (SELECT array_agg(hash ORDER BY position) AS picture_hashes, array_agg(alt ORDER BY position) AS picture_alts '
        'FROM drop_pictures WHERE drop_pictures.drop_id = known.id) AS hung';
    EXECUTE 'CREATE OR REPLACE VIEW order_details AS SELECT known.*, drops.shipping_countries FROM ('
        || rtrim(pg_get_viewdef('order_details'::regclass), ';') || ') AS known JOIN drops ON drops.id = known.drop_id';
END $$;
