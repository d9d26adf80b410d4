"""The sandbox warehouse: takes orders over HTTP as real ones do, forgetful of who asked before, as its own process.

`POST /orders` makes a NEW order every time, whatever its reference: this warehouse knows no idempotency keys, so who creates blind
sends two parcels. `GET /orders?reference=R&since=ISO8601` lists what it has, but (script: `lag`) not yet what is very fresh. A
tracking number appears some seconds after an order. Both want `Authorization: Bearer TOKEN`. Start it with
`python -m app.fulfilment.sandbox --data FOLDER --token-file FILE`.
"""
