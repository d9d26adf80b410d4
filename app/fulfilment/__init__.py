"""Parcels at the warehouse: the protocol, and the adapter over HTTP. The sandbox warehouse, a program of its own, lives here too.

Every paid order becomes a parcel, also of a drop that asks for no address (`ships` false): what the warehouse hears is that an
order is paid and what is in it, and what it makes of that (a parcel, a ticket at the counter, a download) is its own business.
`ships` says only whether the buyer is asked where it goes. A shop without a warehouse names none; its parcels wait in the ledger
until there is one.

The adapter is imported when it is asked for: the sandbox lives in this package and has no use for an HTTP client.
"""

from app.fulfilment.protocol import Asked, Found, Warehouse

__all__ = ["Asked", "Found", "HttpWarehouse", "Warehouse"]


def __getattr__(name: str):
    if name == "HttpWarehouse":
        from app.fulfilment.http_warehouse import HttpWarehouse

        return HttpWarehouse
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
