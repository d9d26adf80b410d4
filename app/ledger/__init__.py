from app.ledger.accounts import InTheWay, KeptAddress
from app.ledger.attention import Attention, CancelledHold, Cancelling
from app.ledger.books import LedgerBooks, VariantBooks
from app.ledger.claims import Claimed
from app.ledger.deciding import BadEntry, Entry
from app.ledger.drops import Adjustment, NewDrop
from app.ledger.events import Event, History
from app.ledger.image import Counts, LedgerImage, LiveOrder, RecordedKey
from app.ledger.ledger import Ledger
from app.ledger.messages import Message, StoredMessage
from app.ledger.money import DueCharge, NotPayable, Submitted
from app.ledger.orders import OrderRow
from app.ledger.parcels import ClaimedParcel, DueParcel, ParcelRow
from app.ledger.people import Picture, Shopper
from app.ledger.places import Joined, NextInLine, Place, Wish
from app.ledger.recording import Recorded
from app.ledger.refunds import DueRefund, RefundRow
from app.ledger.returns import DueGiveBack, Ended

__all__ = [
    "Adjustment",
    "Attention",
    "BadEntry",
    "CancelledHold",
    "Cancelling",
    "Claimed",
    "ClaimedParcel",
    "Counts",
    "DueCharge",
    "DueGiveBack",
    "DueParcel",
    "DueRefund",
    "Ended",
    "Entry",
    "Event",
    "History",
    "InTheWay",
    "KeptAddress",
    "Ledger",
    "Joined",
    "LedgerBooks",
    "LedgerImage",
    "LiveOrder",
    "Message",
    "NewDrop",
    "NextInLine",
    "NotPayable",
    "OrderRow",
    "ParcelRow",
    "Picture",
    "Place",
    "Recorded",
    "RecordedKey",
    "RefundRow",
    "Shopper",
    "StoredMessage",
    "Submitted",
    "VariantBooks",
    "Wish",
]
