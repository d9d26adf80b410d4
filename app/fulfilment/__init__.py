"""Parcels at the warehouse: the protocol, and the adapter over HTTP. The sandbox warehouse, a program of its own, lives here too.

The adapter is imported when it is asked for: the sandbox lives in this package and has no use for an HTTP client.
"""

from app.fulfilment.protocol import Asked, Found, Warehouse

__all__ = ["Asked", "Found", "HttpWarehouse", "Warehouse"]


def __getattr__(name: str):
    if name == "HttpWarehouse":
        from app.fulfilment.http_warehouse import HttpWarehouse

        return HttpWarehouse
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
