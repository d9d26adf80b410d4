-- Pictures: kept under the hash of their bytes, in several widths, for as long as something shows them or may soon.

-- name: put_picture
-- Keep a picture under the hash of its bytes, and want it; the same bytes are kept once. Whether it was new.
INSERT INTO pictures (hash, media_type, width, height, bytes) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (hash) DO UPDATE SET wanted_at = now()
RETURNING xmax = 0;

-- name: picture
-- One picture.
SELECT hash, media_type, width, height, bytes FROM pictures WHERE hash = $1;

-- name: put_rendition
-- Keep a picture in one width and format; it is made once.
INSERT INTO renditions (picture, width, media_type, height, bytes) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (picture, width, media_type) DO NOTHING;

-- name: rendition
-- One picture in one width and format.
SELECT picture AS hash, media_type, width, height, bytes FROM renditions WHERE picture = $1 AND width = $2 AND media_type = $3;

-- name: pictures_put_up
-- How many pictures a shop put up in the last day.
SELECT count(*)::integer FROM shop_pictures WHERE shop_id = $1 AND put_at > now() - interval '1 day';

-- name: own_picture
-- A shop put up this picture, now or once more.
INSERT INTO shop_pictures (shop_id, hash) VALUES ($1, $2) ON CONFLICT (shop_id, hash) DO UPDATE SET put_at = now();

-- name: pictures_of_shop
-- Which of these pictures the shop may show: its own, and those that hang at its drops.
SELECT pictures.hash, pictures.width, pictures.height FROM pictures
WHERE pictures.hash = ANY($2::text[])
  AND (EXISTS (SELECT FROM shop_pictures WHERE shop_pictures.shop_id = $1 AND shop_pictures.hash = pictures.hash)
       OR EXISTS (SELECT FROM drop_pictures JOIN drops ON drops.id = drop_pictures.drop_id
                  WHERE drops.shop_id = $1 AND drop_pictures.hash = pictures.hash));

-- name: want_pictures
-- Somebody plans with these pictures, hangs them, or did until now: until the end of the transaction nobody removes them, and for a while
-- after it. Those that are gone are no row. In one order, so that two who want the same ones never wait for each other.
UPDATE pictures SET wanted_at = now()
WHERE hash IN (SELECT hash FROM pictures WHERE hash = ANY($1::text[]) ORDER BY hash FOR NO KEY UPDATE);

-- name: lock_unused_pictures
-- Pictures that nobody has wanted for $1 seconds and nothing shows, held until the end of the transaction. One that somebody wants at this
-- very moment is held by them and left to them; one that somebody wanted since we looked is a newer row, and is asked again by its time.
SELECT hash FROM pictures
WHERE wanted_at < now() - make_interval(secs => $1)
  AND NOT EXISTS (SELECT FROM drop_pictures WHERE drop_pictures.hash = pictures.hash)
  AND NOT EXISTS (SELECT FROM drops WHERE drops.picture = pictures.hash)
  AND NOT EXISTS (SELECT FROM drafts WHERE plan -> 'pictures' @> jsonb_build_array(jsonb_build_object('hash', pictures.hash)))
ORDER BY wanted_at LIMIT $2 FOR UPDATE SKIP LOCKED;

-- name: remove_renditions
-- The widths and formats of pictures that go.
DELETE FROM renditions WHERE picture = ANY($1::text[]);

-- name: disown_pictures
-- No shop has put them up any more.
DELETE FROM shop_pictures WHERE hash = ANY($1::text[]);

-- name: remove_pictures
-- They are gone.
DELETE FROM pictures WHERE hash = ANY($1::text[]);
