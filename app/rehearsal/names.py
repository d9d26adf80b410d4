"""The names of the faults, for those who only choose among them (app/rehearsal/faults.py has what they do)."""

BROWSER_CLOCK = "browser-clock"  # caused by the browsers themselves: one of them lives an hour ahead and then jumps
QUEUE_STARVED = "queue-starved"
USUAL = ("web-killed", "recorder-killed", "redis-restarted", "worker-killed", "provider-outage")
FAULT_NAMES = (
    "redis-failed-over", "web-killed", "recorder-killed", "redis-restarted", "redis-emptied", "worker-killed", "worker-frozen",
    "redis-cut", "redis-slow", "postgres-cut", "postgres-slow", "provider-outage", "captured-then-dropped", "webhooks-muted",
    "webhooks-doubled", "webhooks-reordered", "warehouse-lag", QUEUE_STARVED, BROWSER_CLOCK,
)  # fmt: skip
