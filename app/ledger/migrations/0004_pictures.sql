-- A picture in the widths and formats that browsers ask for, made once when the picture is put up. Its address is the original's hash,
-- the width and the format, so it never changes meaning; without the row the original is served instead.
CREATE TABLE renditions (
    picture    text NOT NULL REFERENCES pictures,
    width      integer NOT NULL CHECK (width BETWEEN 1 AND 10000),
    media_type text NOT NULL CHECK (media_type IN ('image/webp', 'image/avif', 'image/jpeg')),
    height     integer NOT NULL,
    bytes      bytea NOT NULL,
    PRIMARY KEY (picture, width, media_type)
);
