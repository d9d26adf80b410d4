-- Events that a webhook did not take need a person, until somebody has seen to them.
ALTER TABLE hook_deliveries ADD COLUMN seen_at timestamptz;
CREATE INDEX hook_deliveries_given_up ON hook_deliveries (hook_id, id DESC) WHERE state = 'failed' AND seen_at IS NULL;
