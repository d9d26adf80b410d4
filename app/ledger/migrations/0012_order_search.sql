-- The seller looks through a hundred thousand orders: newest first, by who bought, by a word of the name, by parcel or payment.

CREATE INDEX orders_newest_of_drop ON orders (drop_id, reserved_at DESC, id DESC);
CREATE INDEX orders_paid_of_drop ON orders (drop_id, paid_at, id) WHERE paid_at IS NOT NULL;
CREATE INDEX orders_by_name ON orders USING gin (to_tsvector('simple', address ->> 'name')) WHERE address IS NOT NULL;
CREATE INDEX shoppers_by_email ON shoppers (email text_pattern_ops);
CREATE INDEX parcels_by_number ON parcels (number text_pattern_ops) WHERE number IS NOT NULL;
CREATE INDEX parcels_by_tracking ON parcels (tracking text_pattern_ops) WHERE tracking IS NOT NULL;
CREATE INDEX parcels_not_sent ON parcels (state, order_id) WHERE state <> 'sent';
CREATE INDEX payments_not_captured ON payments (state, order_id) WHERE state <> 'captured';
CREATE INDEX refunds_by_done ON refunds (done_at, order_id) WHERE state = 'done';
CREATE INDEX refunds_of_unwanted_money ON refunds (wanted_at, order_id) WHERE purpose = 'late_money' OR purpose LIKE 'foreign:%';
CREATE INDEX messages_of_order ON messages (order_id) WHERE order_id IS NOT NULL;

-- A mail that did not arrive stays shown to the seller until somebody has seen to it.
ALTER TABLE messages ADD COLUMN seen_at timestamptz;
CREATE INDEX messages_unseen ON messages (id) WHERE state IN ('failed', 'unknown') AND seen_at IS NULL;

-- An order as a line of the seller's list.
CREATE VIEW order_lines AS
SELECT orders.id AS order_id, orders.drop_id, orders.variant_id, orders.shopper_id, orders.quantity, orders.state, orders.reason,
       orders.amount_minor, orders.currency, orders.reserved_at, orders.paid_at, orders.ended_at, orders.address,
       payments.state AS payment, coalesce(payments.captured_minor, 0) AS captured_minor,
       coalesce(payments.refunded_minor, 0) AS refunded_minor, payments.intent_id, parcels.state AS parcel,
       parcels.number AS parcel_number, parcels.tracking
FROM orders
LEFT JOIN payments ON payments.order_id = orders.id
LEFT JOIN parcels ON parcels.order_id = orders.id;
