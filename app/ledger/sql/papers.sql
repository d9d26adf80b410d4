-- What shops say about themselves.

-- name: papers
-- A shop with the version of its papers that holds.
SELECT shops.id AS shop_id, shops.name AS shop_name, shops.papers_version AS version, business_name, business_address, tax_id,
       coalesce(shop_papers.contact, shops.contact) AS contact, imprint, terms, privacy, refunds, written_at, written_by
FROM shops
LEFT JOIN shop_papers ON shop_papers.shop_id = shops.id AND shop_papers.version = shops.papers_version
WHERE shops.id = $1;

-- name: lock_papers
-- Which version holds; nobody writes another meanwhile.
SELECT papers_version FROM shops WHERE id = $1 FOR NO KEY UPDATE;

-- name: write_papers
-- A new version.
INSERT INTO shop_papers (shop_id, version, business_name, business_address, tax_id, contact, imprint, terms, privacy, refunds,
                         written_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- name: papers_hold
-- It holds from now on, and so does the address that shoppers are told to write to.
UPDATE shops SET papers_version = $2, contact = (
    SELECT nullif(shop_papers.contact, '') FROM shop_papers WHERE shop_papers.shop_id = $1 AND shop_papers.version = $2)
WHERE id = $1;

-- name: set_time_zone
-- What the clock of a shop's dashboard shows.
UPDATE shops SET time_zone = $2 FROM shops AS before WHERE shops.id = $1 AND before.id = $1
RETURNING shops.name, before.time_zone AS time_zone_before;

-- name: shops_with_page
-- The shops that have this page, the oldest first.
SELECT id AS shop_id, name AS shop_name FROM shops WHERE $1 = ANY(law_pages(id)) ORDER BY id LIMIT $2;
