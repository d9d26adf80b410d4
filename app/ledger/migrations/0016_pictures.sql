-- Pictures that nothing shows go: when each was last wanted, and the ways from a picture to what shows it.

-- When it was last put up, planned with, hung, or taken down. Those that are here count from now.
ALTER TABLE pictures ADD COLUMN wanted_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX pictures_by_wanted ON pictures (wanted_at);

CREATE INDEX drop_pictures_by_hash ON drop_pictures (hash);
CREATE INDEX drops_by_picture ON drops (picture) WHERE picture IS NOT NULL;
CREATE INDEX shop_pictures_by_hash ON shop_pictures (hash);
CREATE INDEX drafts_by_picture ON drafts USING gin ((plan -> 'pictures') jsonb_path_ops);
