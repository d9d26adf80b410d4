-- Law and money: who a shop is, tax and shipping, and numbered invoices.

-- What a shop says about itself, as it was at any time: a change is a new version, an old one stays as it was.
CREATE TABLE shop_papers (
    shop_id          integer NOT NULL REFERENCES shops,
    version          integer NOT NULL CHECK (version >= 1),
    business_name    text NOT NULL DEFAULT '',
    business_address text NOT NULL DEFAULT '',           -- lines
    tax_id           text NOT NULL DEFAULT '',
    contact          text NOT NULL DEFAULT '',           -- a mail address; '': the owner's
    imprint          text NOT NULL DEFAULT '',           -- Markdown, as the three below; '': there is no such page
    terms            text NOT NULL DEFAULT '',
    privacy          text NOT NULL DEFAULT '',
    refunds          text NOT NULL DEFAULT '',
    written_at       timestamptz NOT NULL DEFAULT now(),
    written_by       text NOT NULL,
    PRIMARY KEY (shop_id, version)
);
ALTER TABLE shops ADD COLUMN papers_version integer NOT NULL DEFAULT 0;  -- the one that holds; 0: nothing was said yet

CREATE FUNCTION keep_papers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'what was published or numbered once is never changed' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER keep_papers BEFORE UPDATE OR DELETE ON shop_papers FOR EACH ROW EXECUTE FUNCTION keep_papers();

-- The pages that a shop has, by their names.
CREATE FUNCTION law_pages(of_shop integer) RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT coalesce((
        SELECT array_remove(ARRAY[
            CASE WHEN imprint <> '' OR business_name <> '' THEN 'imprint' END, CASE WHEN terms <> '' THEN 'terms' END,
            CASE WHEN privacy <> '' THEN 'privacy' END, CASE WHEN refunds <> '' THEN 'refunds' END], NULL)
        FROM shop_papers JOIN shops ON shops.id = shop_papers.shop_id AND shops.papers_version = shop_papers.version
        WHERE shop_papers.shop_id = of_shop), ARRAY[]::text[])
$$;

-- Tax is included in the price; shipping is added to it by where an order goes.
ALTER TABLE drops ADD COLUMN tax_basis_points integer NOT NULL DEFAULT 0  -- 1900: 19 %; 0: nothing is said about tax
    CONSTRAINT tax_rate CHECK (tax_basis_points BETWEEN 0 AND 10000);
ALTER TABLE drops ADD COLUMN shipping_fees jsonb                       -- {"DE": 490, "*": 1990}, minor units; NULL: free everywhere
    CONSTRAINT fees_are_named CHECK (jsonb_typeof(shipping_fees) = 'object' AND shipping_fees <> '{}');
ALTER TABLE orders ADD COLUMN shipping_minor integer NOT NULL DEFAULT 0 -- included in amount_minor
    CONSTRAINT shipping_within_amount CHECK (shipping_minor BETWEEN 0 AND amount_minor);

-- What sending to a country costs; NULL: nothing is sent there.
CREATE FUNCTION shipping_fee(fees jsonb, country text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN fees IS NULL THEN 0 ELSE coalesce(fees ->> country, fees ->> '*')::integer END
$$;

-- Invoices and their corrections: one series a shop and year, without a gap, because the number is taken in the transaction that
-- the paper belongs to. What a paper says is frozen in it.
CREATE TABLE invoice_numbers (
    shop_id integer NOT NULL REFERENCES shops,
    year    integer NOT NULL,
    last    integer NOT NULL,
    PRIMARY KEY (shop_id, year)
);
CREATE TABLE invoices (
    shop_id      integer NOT NULL,                     -- no foreign key: paying waits for nothing that happens to the shop's row
    year         integer NOT NULL,
    n            integer NOT NULL CHECK (n >= 1),
    order_id     uuid NOT NULL REFERENCES orders,
    purpose      text NOT NULL DEFAULT '',             -- '': the invoice; else the refund that it corrects the invoice by
    amount_minor integer NOT NULL,                     -- negative in a correction
    tax_minor    integer NOT NULL,                     -- included in that
    content      jsonb NOT NULL,                       -- everything that it says (app/domain/invoices.py)
    made_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (shop_id, year, n),
    CONSTRAINT one_paper_per_purpose UNIQUE (order_id, purpose),
    CONSTRAINT correction_is_negative CHECK ((purpose = '') = (amount_minor > 0))
);
CREATE TRIGGER keep_invoices BEFORE UPDATE OR DELETE ON invoices FOR EACH ROW EXECUTE FUNCTION keep_papers();

-- Three views learn columns at their end, whatever stands in them so far.
DO $$ BEGIN
    EXECUTE 'CREATE OR REPLACE VIEW published_drops AS SELECT known.*, drops.tax_basis_points, drops.shipping_fees, '
        'law_pages(drops.shop_id) AS law FROM ('
        || rtrim(pg_get_viewdef('published_drops'::regclass), ';') || ') AS known JOIN drops ON drops.id = known.id';
    EXECUTE 'CREATE OR REPLACE VIEW order_details AS SELECT known.*, orders.shipping_minor, drops.tax_basis_points, '
        'drops.shipping_fees, drops.shop_id, law_pages(drops.shop_id) AS law FROM ('
        || rtrim(pg_get_viewdef('order_details'::regclass), ';') || ') AS known '
        'JOIN orders ON orders.id = known.order_id JOIN drops ON drops.id = known.drop_id';
    EXECUTE 'CREATE OR REPLACE VIEW letters AS SELECT known.*, orders.shipping_minor, drops.tax_basis_points, '
        'drops.ships AND drops.shipping_fees IS NOT NULL AND orders.address IS NULL AS ships_for_fee, '
        'EXISTS (SELECT FROM invoices WHERE invoices.order_id = known.order_id) AS invoiced FROM ('
        || rtrim(pg_get_viewdef('letters'::regclass), ';') || ') AS known LEFT JOIN orders ON orders.id = known.order_id '
        'LEFT JOIN places ON places.id = known.place_id LEFT JOIN drops ON drops.id = coalesce(orders.drop_id, places.drop_id)';
END $$;
