-- What the crowd asked for, as the web processes counted it.

-- name: add_demand
-- One process's counts so far. A count that is known, or was larger, changes nothing.
INSERT INTO demand (process, drop_id, second, seconds, verdict, asks)
SELECT $1, told.* FROM unnest($2::integer[], $3::timestamptz[], $4::smallint[], $5::text[], $6::integer[]) AS told
ON CONFLICT (drop_id, second, seconds, process, verdict) DO UPDATE SET asks = excluded.asks WHERE demand.asks < excluded.asks;

-- name: counted_until
-- How far one process's counts go, and what it had to forget.
INSERT INTO demand_counters (process, since, counted_until, uncounted) VALUES ($1, $2, $3, $4)
ON CONFLICT (process) DO UPDATE
SET counted_until = greatest(demand_counters.counted_until, excluded.counted_until),
    uncounted = greatest(demand_counters.uncounted, excluded.uncounted);

-- name: counter_stopped
-- A process stops in order: there is nothing to say of it unless it had to forget something.
WITH kept AS (UPDATE demand_counters SET stopped = true WHERE process = $1 AND uncounted > 0)
DELETE FROM demand_counters WHERE process = $1 AND uncounted = 0;

-- name: demand_since
-- Presses of Buy in a drop from $2 on, per stretch of time and verdict, oldest first.
SELECT second, seconds, verdict, sum(asks)::integer AS asks FROM demand
WHERE drop_id = $1 AND second >= $2
GROUP BY second, seconds, verdict ORDER BY second, seconds, verdict;

-- name: demand_totals
-- Presses of Buy in a drop by verdict, and from when to when they came.
SELECT verdict, sum(asks)::bigint AS asks, min(second) AS first, max(second + make_interval(secs => seconds)) AS last
FROM demand WHERE drop_id = $1 GROUP BY verdict ORDER BY verdict;

-- name: demand_peak
-- The second in which Buy was pressed most often.
SELECT second, sum(asks)::integer AS asks FROM demand
WHERE drop_id = $1 AND seconds = 1 GROUP BY second ORDER BY asks DESC, second LIMIT 1;

-- name: demand_reach
-- From the first second with a press to the one by which the share $2 of all that were counted by the second had come.
SELECT min(second) AS first, min(second) FILTER (WHERE so_far >= $2::double precision * total) AS last
FROM (
    SELECT second, sum(sum(asks)) OVER (ORDER BY second) AS so_far, sum(sum(asks)) OVER () AS total
    FROM demand WHERE drop_id = $1 AND seconds = 1 GROUP BY second
) AS running;

-- name: demand_buckets
-- Presses of Buy between $2 and $3 in buckets of $4 seconds, per verdict; only what was counted by the second.
SELECT date_bin(make_interval(secs => $4), second, $2) AS second, verdict, sum(asks)::integer AS asks
FROM demand WHERE drop_id = $1 AND seconds = 1 AND second >= $2 AND second < $3
GROUP BY 1, verdict ORDER BY 1, verdict;

-- name: counting_gaps
-- Processes that counted in the time between $1 and $2 and died ($3: not heard of since), or had to forget something.
SELECT counted_until, uncounted, NOT stopped AND counted_until < $3 AS died FROM demand_counters
WHERE since <= $2 AND counted_until >= $1 AND (uncounted > 0 OR (NOT stopped AND counted_until < $3 AND counted_until <= $2))
ORDER BY counted_until LIMIT $4;
