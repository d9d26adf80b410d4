"""What stands around every page of the dashboard: the places that this seller's role may enter.

A room adds its place here. `name` is said in the reader's language when it is drawn.
"""

from dataclasses import dataclass

from app.domain.roles import Right
from app.languages import N_
from app.ledger import Seller


@dataclass(frozen=True, slots=True)
class Place:
    name: str
    url: str
    right: Right
    within: tuple[str, ...] = ()  # addresses that begin like this belong to it too
    counted: str = ""  # the address of a number that stands beside its name, nothing when there is none


PLACES = (
    Place(N_("Drops"), "/seller", Right.VIEW, ("/seller/drops",)),
    Place(N_("Drafts"), "/seller/drafts", Right.PLAN),
    Place(N_("Orders"), "/seller/orders", Right.ORDERS),
    Place(N_("Attention"), "/seller/attention", Right.ORDERS, counted="/seller/attention/count"),
    Place(N_("Accounts"), "/seller/accounts", Right.VIEW),
    Place(N_("Staff"), "/seller/staff", Right.STAFF),
    Place(N_("API"), "/seller/keys", Right.KEYS, ("/seller/webhooks",)),
    Place(N_("Shop"), "/seller/shop", Right.SHOP),
    Place(N_("Audit log"), "/seller/audit", Right.SHOP),
)


def places_for(seller: Seller, path: str) -> list[tuple[Place, bool]]:
    """-> the places this seller may enter, each with whether the page at `path` belongs to it."""
    return [
        (place, path == place.url or (place.url != "/seller" and path.startswith(place.url + "/")) or path.startswith(place.within))
        for place in PLACES
        if seller.may(place.right)
    ]
