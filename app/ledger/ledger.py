"""The ledger: the truth about every unit, order and payment. This package is the only place with SQL.

Guarantees: a change of state is one conditional UPDATE whose row count is read, in a transaction that also writes what happened
into `events`. Whoever acts on an order locks its row first, then a stock row, then the shop's counter of invoices, never the other
way round; a batch of the recorder locks the drop's stock rows and then waits for nothing else. So nothing deadlocks, and what a
transaction read under its lock still holds when it commits. No transaction spans a call to the outside.

Postgres gone: every method raises LedgerUnreachable.
"""

from app.ledger.accounts import AccountsPart
from app.ledger.api import ApiPart
from app.ledger.attention import AttentionPart
from app.ledger.audit import AuditPart
from app.ledger.books import BooksPart
from app.ledger.demand import DemandPart
from app.ledger.drops import DropsPart
from app.ledger.events import EventsPart
from app.ledger.hooks import HooksPart
from app.ledger.image import ImagePart
from app.ledger.invoices import InvoicesPart
from app.ledger.judging import JudgingPart
from app.ledger.messages import MessagesPart
from app.ledger.money import MoneyPart
from app.ledger.notices import NoticesPart
from app.ledger.orders import OrdersPart
from app.ledger.papers import PapersPart
from app.ledger.parcels import ParcelsPart
from app.ledger.passkeys import PasskeysPart
from app.ledger.people import PeoplePart
from app.ledger.pictures import PicturesPart
from app.ledger.places import PlacesPart
from app.ledger.plan import PlanPart
from app.ledger.recording import RecordingPart
from app.ledger.refunds import RefundsPart
from app.ledger.report import ReportPart
from app.ledger.returns import ReturnsPart
from app.ledger.sellers import SellersPart
from app.ledger.shop_orders import ShopOrdersPart
from app.ledger.watch import WatchPart


class Ledger(
    DropsPart,
    PeoplePart,
    PicturesPart,
    AccountsPart,
    SellersPart,
    PasskeysPart,
    AuditPart,
    RecordingPart,
    PlacesPart,
    PlanPart,
    OrdersPart,
    ReturnsPart,
    MoneyPart,
    RefundsPart,
    InvoicesPart,
    PapersPart,
    ParcelsPart,
    NoticesPart,
    AttentionPart,
    EventsPart,
    MessagesPart,
    BooksPart,
    ImagePart,
    JudgingPart,
    DemandPart,
    WatchPart,
    ReportPart,
    ShopOrdersPart,
    ApiPart,
    HooksPart,
):
    """All that can be asked of the ledger, over one pool. `await Ledger.open(dsn, name=..., connections_max=...)`."""
