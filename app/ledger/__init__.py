from app.ledger.accounts import InTheWay, KeptAddress
from app.ledger.api import ApiKey, KnownKey, Repeated
from app.ledger.attention import Attention, AttentionSpot, CancelledHold, Cancelling
from app.ledger.audit import AuditEntry
from app.ledger.books import LedgerBooks, VariantBooks
from app.ledger.claims import Claimed
from app.ledger.deciding import BadEntry, Entry
from app.ledger.demand import Asks, CountingGap, DemandTotals, Stretch
from app.ledger.drops import Adjustment, NewDrop
from app.ledger.events import Event, History
from app.ledger.hooks import Delivery, GivenUp, Hook, Parcelled, Told
from app.ledger.image import Counts, LedgerImage, LiveOrder, RecordedKey
from app.ledger.invoices import NumberedPaper
from app.ledger.ledger import Ledger
from app.ledger.messages import Message, StoredMessage
from app.ledger.money import DueCharge, NotPayable, Submitted
from app.ledger.orders import OrderRow
from app.ledger.papers import ShopPage, ShopPapers
from app.ledger.parcels import ClaimedParcel, DueParcel, ParcelRow
from app.ledger.passkeys import Passkey
from app.ledger.people import Shopper
from app.ledger.pictures import Picture
from app.ledger.places import Joined, NextInLine, Place, Wish
from app.ledger.recording import Recorded
from app.ledger.refunds import DueRefund, RefundRow
from app.ledger.report import Account, OrdersLike, ParcelsLike, PlacesLike, RefundsLike
from app.ledger.returns import DueGiveBack, Ended
from app.ledger.sellers import Changed, DropCounts, Invited, Seller, SellerSession, Staff, Workplace
from app.ledger.shop_orders import (
    MoneyLine,
    MoneySpot,
    OrderFilter,
    OrderLine,
    OrderPage,
    ShopDrop,
    Spot,
    Story,
    Undelivered,
    order_number,
)
from app.ledger.watch import Charge, Happening, Sales, VariantUnits, WatchedMoney

__all__ = [
    "Account",
    "Adjustment",
    "ApiKey",
    "Asks",
    "Attention",
    "AttentionSpot",
    "AuditEntry",
    "BadEntry",
    "CancelledHold",
    "Changed",
    "Cancelling",
    "Charge",
    "Claimed",
    "ClaimedParcel",
    "CountingGap",
    "Counts",
    "Delivery",
    "DemandTotals",
    "DropCounts",
    "DueCharge",
    "DueGiveBack",
    "DueParcel",
    "DueRefund",
    "Ended",
    "Entry",
    "Event",
    "GivenUp",
    "Happening",
    "History",
    "Hook",
    "InTheWay",
    "Invited",
    "Joined",
    "KeptAddress",
    "KnownKey",
    "Ledger",
    "LedgerBooks",
    "LedgerImage",
    "LiveOrder",
    "Message",
    "MoneyLine",
    "MoneySpot",
    "NewDrop",
    "NextInLine",
    "NotPayable",
    "NumberedPaper",
    "OrderLine",
    "OrderPage",
    "OrderRow",
    "OrdersLike",
    "ParcelRow",
    "Parcelled",
    "ParcelsLike",
    "Passkey",
    "Picture",
    "Place",
    "PlacesLike",
    "Recorded",
    "RecordedKey",
    "RefundRow",
    "Repeated",
    "RefundsLike",
    "Sales",
    "Seller",
    "SellerSession",
    "ShopDrop",
    "ShopPage",
    "ShopPapers",
    "Shopper",
    "Spot",
    "Staff",
    "StoredMessage",
    "Story",
    "Stretch",
    "Submitted",
    "Told",
    "Undelivered",
    "VariantBooks",
    "VariantUnits",
    "OrderFilter",
    "WatchedMoney",
    "Wish",
    "Workplace",
    "order_number",
]
