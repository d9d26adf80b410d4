"""A drop with a hundred thousand orders, written in SQL in a few seconds: paid, refunded, expired, waiting; parcels and names."""

import asyncpg

ORDERS = 100_000
RARE_EVERY = 10_000  # one order in so many still waits for its payment

STEPS = (
    """
    INSERT INTO shoppers (email, email_written)
    SELECT 'buyer' || n || '@crowd.example', 'Buyer' || n || '@Crowd.example' FROM generate_series(1, $1::integer) AS n
    """,
    """
    INSERT INTO orders (id, drop_id, variant_id, shopper_id, quantity, key, digest, state, amount_minor, currency, reserved_at,
                        deadline, attempts, released, paid_at, ended_at, address)
    SELECT (lpad(to_hex($2::integer), 8, '0') || lpad(to_hex(n), 8, '0') || substr(md5(n::text), 1, 16))::uuid, $2, $3::integer,
           shoppers.id, 1, 'k' || n, 'd', states.state, 4900, 'EUR', made.at, made.at + interval '10 minutes', 1,
           CASE WHEN states.state = 'EXPIRED' THEN true END,
           CASE WHEN states.state IN ('PAID', 'REFUNDED') THEN made.at + interval '30 seconds' END,
           CASE WHEN states.state IN ('EXPIRED', 'REFUNDED') THEN made.at + interval '11 minutes' END,
           jsonb_build_object('name', 'Ada Nr' || n || ' Östlund', 'street', n || ' Long Street', 'more', '', 'postcode', '1000',
                              'town', 'Linz', 'region', '', 'country', 'AT')
    FROM generate_series(1, $1::integer) AS n
    JOIN shoppers ON shoppers.email = 'buyer' || n || '@crowd.example'
    CROSS JOIN LATERAL (SELECT timestamptz '2026-11-30 20:00Z' + n * interval '50 milliseconds' AS at) AS made
    CROSS JOIN LATERAL (SELECT CASE WHEN n % $4::integer = 0 THEN 'PENDING_PAYMENT' WHEN n % 10 = 1 THEN 'EXPIRED'
                                    WHEN n % 10 = 2 THEN 'REFUNDED' ELSE 'PAID' END AS state) AS states
    """,
    """
    INSERT INTO payments (order_id, intent_id, state, captured_minor, refunded_minor)
    SELECT id, 'pi_' || replace(id::text, '-', ''), CASE state WHEN 'PAID' THEN 'captured' ELSE 'refunded' END, 4900,
           CASE state WHEN 'PAID' THEN 0 ELSE 4900 END
    FROM orders WHERE drop_id = $1 AND state IN ('PAID', 'REFUNDED')
    """,
    """
    INSERT INTO refunds (order_id, purpose, intent_id, amount_minor, state, refund_id, wanted_at, done_at)
    SELECT order_id, 'seller:whole', intent_id, 4900, 'done', 're_' || intent_id, orders.ended_at, orders.ended_at
    FROM payments JOIN orders ON orders.id = payments.order_id WHERE drop_id = $1 AND payments.state = 'refunded'
    """,
    """
    INSERT INTO parcels (order_id, state, creates, number, tracking)
    SELECT id, 'sent', 1, 'N' || substr(id::text, 1, 18), 'TRACK' || key FROM orders WHERE drop_id = $1 AND state = 'PAID'
    """,
)


async def crowd(hand: asyncpg.Connection, drop_id: int, variant_id: int, orders: int = ORDERS) -> None:
    """Fill a drop with `orders` orders, reserved 50 ms apart from 2026-11-30 20:00 UTC on. Triggers and keys rest meanwhile."""
    await hand.execute("SET session_replication_role = replica")
    await hand.execute(STEPS[0], orders)
    await hand.execute(STEPS[1], orders, drop_id, variant_id, RARE_EVERY)
    for step in STEPS[2:]:
        await hand.execute(step, drop_id)
    await hand.execute("SET session_replication_role = origin")
    for table in ("shoppers", "orders", "payments", "refunds", "parcels"):
        await hand.execute(f"ANALYZE {table}")
