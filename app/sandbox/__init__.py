"""What the sandbox provider and the sandbox warehouse share: a small ASGI server, a durable store, the script and ledger doors.

A sandbox stands in for a neighbour outside the house. It runs as its own process on loopback, keeps its own SQLite file, and
imports nothing of the shop, so that a crash on either side leaves the other as it was. Its parts:

* `http`: requests, replies, routes, and the one thing a neighbour does that web frameworks do not: hang up without a word;
* `store`: SQLite with the whole effect of a request in one durable transaction;
* `script`: the door through which tests and rehearsals order latency, outages and lost replies, behind a token;
* `process`: command line, ready line, clean stop.
"""
