"""Stand-ins for the outside world only: the payment provider, the queue and the feed's listeners. Gate and ledger are always
real."""

from collections import Counter
from datetime import UTC, datetime

from app.fulfilment import Found
from app.payments import Outcome, OutcomeKind


class SilentFeed:
    """A feed nobody listens to; keeps what was published, newest last."""

    def __init__(self):
        self.published: list[tuple[str, dict]] = []

    async def publish(self, kind: str, **fields) -> None:
        self.published.append((kind, fields))


class GoneQueue:
    """A queue that takes nothing: Redis is away, so the sweeper must do the work itself."""

    def __init__(self):
        self.refused = Counter()

    def __getattr__(self, name):
        async def refuse(*_):
            self.refused[name] += 1
            return False

        return refuse


class ListQueue:
    """A queue nobody works on: keeps what was asked for."""

    def __init__(self):
        self.jobs: list[tuple] = []

    async def depths(self) -> dict[str, int] | None:
        return {"payment": len(self.jobs)}

    def __getattr__(self, name):
        async def take(*arguments):
            self.jobs.append((name, *arguments))
            return True

        return take


class Died(BaseException):
    """The process was killed here: no handler of ours runs."""


class ScriptedProvider:
    """A provider in memory with Stripe's rules on keys. `faults[(call, when)]` is raised once, `when` = "before" or "after" the
    effect."""

    def __init__(self):
        self.intents: dict[str, dict] = {}
        self.replies: dict[str, Outcome] = {}
        self.refunds: dict[str, tuple[str, int]] = {}
        self.faults: dict[tuple[str, str], BaseException] = {}
        self.calls: Counter[str] = Counter()

    def _fault(self, call: str, when: str) -> None:
        error = self.faults.pop((call, when), None)
        if error:
            raise error

    def _outcome(self, intent_id: str, kind: OutcomeKind | None = None, reason: str | None = None) -> Outcome:
        intent = self.intents[intent_id]
        return Outcome(
            kind or intent["kind"],
            intent_id,
            intent["amount"],
            intent["currency"],
            reason or intent["reason"],
            intent["action_url"],
        )

    async def create_intent(self, order_id, amount_minor, currency) -> str:
        self.calls["create_intent"] += 1
        self._fault("create_intent", "before")
        intent_id = f"pi_{order_id}"
        self.intents.setdefault(
            intent_id,
            {
                "amount": amount_minor,
                "currency": currency,
                "kind": OutcomeKind.DECLINED,
                "reason": None,
                "action_url": None,
                "captures": 0,
            },
        )
        self._fault("create_intent", "after")
        return intent_id

    async def confirm(self, order_id, n, intent_id, payment_method, return_url) -> Outcome:
        self.calls["confirm"] += 1
        self._fault("confirm", "before")
        key = f"{order_id}:{n}"
        if key not in self.replies:
            intent = self.intents[intent_id]
            if intent["kind"] not in (OutcomeKind.CAPTURED, OutcomeKind.CANCELLED):
                if payment_method == "pm_card_visa":
                    intent.update(kind=OutcomeKind.CAPTURED, captures=intent["captures"] + 1, reason=None)
                elif payment_method == "pm_card_authenticationRequired":
                    intent.update(kind=OutcomeKind.ACTION, action_url=f"https://bank.example/authenticate?back={return_url}")
                else:
                    intent.update(kind=OutcomeKind.DECLINED, reason="card_declined")
            self.replies[key] = self._outcome(intent_id)
        self._fault("confirm", "after")
        return self.replies[key]

    async def retrieve(self, intent_id) -> Outcome:
        self.calls["retrieve"] += 1
        self._fault("retrieve", "before")
        outcome = self._outcome(intent_id)
        self._fault("retrieve", "after")
        return outcome

    async def cancel(self, order_id, intent_id) -> Outcome:
        self.calls["cancel"] += 1
        self._fault("cancel", "before")
        intent = self.intents[intent_id]
        if intent["kind"] is not OutcomeKind.CAPTURED:
            intent["kind"] = OutcomeKind.CANCELLED
        self._fault("cancel", "after")
        return self._outcome(intent_id)

    async def refund(self, order_id, purpose, intent_id, amount_minor) -> str:
        self.calls["refund"] += 1
        self._fault("refund", "before")
        self.refunds.setdefault(f"{order_id}:{purpose}", (intent_id, amount_minor))
        self._fault("refund", "after")
        return f"re_{order_id}"

    def complete_authentication(self, order_id) -> None:
        """The shopper finishes at the bank's page, whenever that is."""
        intent = self.intents[f"pi_{order_id}"]
        if intent["kind"] is OutcomeKind.ACTION:
            intent.update(kind=OutcomeKind.CAPTURED, captures=intent["captures"] + 1)

    def captures(self, order_id) -> int:
        return self.intents.get(f"pi_{order_id}", {"captures": 0})["captures"]

    def refunded_minor(self, order_id) -> int:
        return sum(amount for key, (_, amount) in self.refunds.items() if key.startswith(f"{order_id}:"))

    def refunded(self, order_id) -> int:
        return sum(1 for key in self.refunds if key.startswith(f"{order_id}:"))


class ScriptedWarehouse:
    """A warehouse in memory that knows no idempotency keys. `faults[(call, when)]` is raised once, `when` = "before" or "after"."""

    def __init__(self):
        self.parcels: list[dict] = []
        self.faults: dict[tuple[str, str], BaseException] = {}
        self.calls: Counter[str] = Counter()
        self.lists = True  # False: it lags, what is made is not listed yet
        self.sends = False

    def _fault(self, call: str, when: str) -> None:
        error = self.faults.pop((call, when), None)
        if error:
            raise error

    def has(self, reference, *, created_at=None) -> str:
        """Make a parcel -> its number."""
        number = str(4711 + len(self.parcels))
        self.parcels.append({"number": number, "reference": reference, "created_at": created_at or datetime.now(UTC)})
        return number

    def numbers(self, reference) -> list[str]:
        return [parcel["number"] for parcel in self.parcels if parcel["reference"] == reference]

    async def find(self, reference, since) -> list[Found]:
        self.calls["find"] += 1
        self._fault("find", "before")
        found = [
            Found(parcel["number"], parcel["created_at"], f"SBX{parcel['number']}" if self.sends else None)
            for parcel in self.parcels
            if self.lists and parcel["reference"] == reference and parcel["created_at"] >= since
        ]
        self._fault("find", "after")
        return found

    async def create(self, parcel) -> Found:
        self.calls["create"] += 1
        self._fault("create", "before")
        number = self.has(parcel.reference)
        self.parcels[-1]["asked"] = parcel
        self._fault("create", "after")
        return Found(number, datetime.now(UTC), None)
