-- What the crowd asked for: presses of Buy, counted by the web processes second by second and added up here.

-- One row per drop, stretch of time, web process and verdict. A process says its own count so far, never a difference: said twice it is
-- the same. No foreign key: the rows are written while the crowd is there.
CREATE TABLE demand (
    drop_id integer NOT NULL,
    second  timestamptz NOT NULL,                   -- where the stretch begins, by the clock of the web process
    seconds smallint NOT NULL CONSTRAINT a_second_or_a_minute CHECK (seconds IN (1, 60)), -- long before and after the opening: a minute
    process text NOT NULL,                          -- a name of its own for every start of a web process
    verdict text NOT NULL,                          -- domain/verdicts.py
    asks    integer NOT NULL CHECK (asks > 0),
    PRIMARY KEY (drop_id, second, seconds, process, verdict)
);

-- Who counts, and how far the counts above go: what a process that died had counted after `counted_until` is in nobody's books.
CREATE TABLE demand_counters (
    process       text PRIMARY KEY,
    since         timestamptz NOT NULL,
    counted_until timestamptz NOT NULL,
    uncounted     bigint NOT NULL DEFAULT 0,        -- presses it had to forget: the ledger was away for longer than it can remember
    stopped       boolean NOT NULL DEFAULT false    -- in order, with everything handed in; without anything forgotten the row goes
);
CREATE INDEX demand_counters_by_end ON demand_counters (counted_until);

-- Sales per second of a drop, without reading its other orders.
CREATE INDEX orders_paid ON orders (drop_id, paid_at) WHERE paid_at IS NOT NULL;
