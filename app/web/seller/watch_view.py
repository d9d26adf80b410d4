"""What the live view shows of a look: charts, sentences and words, the same for everybody who watches a drop in one language."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from app.clock import iso
from app.domain.drops import Door, Phase
from app.domain.verdicts import Verdict
from app.languages import N_, _, count, money, tenths
from app.ledger import Sales, Stretch
from app.purchase.watching import WINDOW_SECONDS, Look, Provider
from app.web.render import Scene
from app.web.scenes import scene_of
from app.web.seller.charts import Bars, bars, mirrored
from app.web.seller.happenings import Told, tell

LATE_SECONDS = 2  # web processes hand their counts in once a second: the newest seconds are not whole yet
TABLE_SECONDS = 20  # of one row of the chart's table
OVER = frozenset({Phase.CLOSED, Phase.CANCELLED})

QUEUES = {
    "payment": N_("payments and refunds"),
    "expiry": N_("holds that ran out"),
    "messages": N_("mails"),
    "fulfilment": N_("parcels"),
}
PROVIDER = {
    "quiet": ("plain", N_("No charge in the last five minutes.")),
    "well": ("yours", N_("Answers as usual.")),
    "slow": ("trouble", N_("Slow: checkouts take longer, nothing is lost.")),
    "silent": ("trouble", N_("No answers: payments wait, nothing is charged twice.")),
}


@dataclass(frozen=True, slots=True)
class Stretches:
    """The window of the charts: per second and oldest first, presses of Buy, units taken and units paid."""

    since: datetime
    asked: list[float]
    taken: list[float]
    paid: list[float]

    @property
    def rows(self) -> list[tuple[datetime, int, int, int]]:
        """-> the same for reading: (from, pressed, taken, paid) per TABLE_SECONDS, newest first."""
        places = range(0, len(self.asked), TABLE_SECONDS)
        return [
            (
                self.since + timedelta(seconds=place),
                *(round(sum(values[place : place + TABLE_SECONDS])) for values in (self.asked, self.taken, self.paid)),
            )
            for place in reversed(places)
        ]


@dataclass(frozen=True, slots=True)
class WatchView:
    """Everything that `_fragments/watch.html` shows."""

    look: Look
    scene: Scene
    watching: int
    window: Stretches
    demand: Bars  # presses of Buy
    supply: Bars  # units taken, and below the line units paid
    lines: list[Told]
    revenue_minor: int
    queues: list[tuple[str, int]] | None  # (what waits, jobs) where something does; None: unknown
    drift: tuple[str, str]  # (tone, sentence)
    provider: tuple[str, str]
    provider_numbers: str

    @property
    def door(self) -> str:
        """How the door stands: open, paused, over."""
        if self.scene.phase in OVER or self.look.drop.door in (Door.CLOSED, Door.CANCELLED):
            return "over"
        return "paused" if self.look.drop.door is Door.PAUSED else "open"

    @property
    def controls(self) -> tuple[str, ...]:
        """-> which of the page's controls are there: what may be done now, and nothing else; `ended`, `cancelled`: a sentence."""
        if self.look.drop.door is Door.CANCELLED:
            return ("cancelled",)
        match self.door:
            case "over":
                return ("ended", "cancel")
            case "paused":
                return ("resume", "end", "units", "cancel")
        return ("pause", "end", "units", "cancel")

    @property
    def before(self) -> bool:
        return self.scene.phase in (Phase.ANNOUNCED, Phase.LAST_SECONDS)


def view_of(look: Look, watching: int) -> WatchView:
    window = window_of(look.demand, look.sales, look.at)
    return WatchView(
        look=look,
        scene=scene_of(look.drop, look.peek, watching, 0 if look.peek is None else look.peek.time_us),
        watching=watching,
        window=window,
        demand=bars(window.asked),
        supply=mirrored(window.taken, window.paid),
        lines=tell(look.happenings, look.drop.variants, look.drop.currency),
        revenue_minor=look.audit.money.captured_minor - look.audit.money.refunded_minor,
        queues=queues_of(look),
        drift=drift_of(look),
        provider=PROVIDER[look.audit.provider.state],
        provider_numbers=numbers_of(look.audit.provider),
    )


def window_of(demand: tuple[Stretch, ...], sales: tuple[Sales, ...], at: datetime) -> Stretches:
    """-> the last WINDOW_SECONDS that are whole. Presses that were counted by the minute are spread over it evenly."""
    since = at.replace(microsecond=0) - timedelta(seconds=WINDOW_SECONDS + LATE_SECONDS)
    asked, taken, paid = ([0.0] * WINDOW_SECONDS for _ in range(3))

    def add(values: list[float], second: datetime, seconds: int, amount: float) -> None:
        first = int((second - since).total_seconds())
        for place in range(max(0, first), min(WINDOW_SECONDS, first + seconds)):
            values[place] += amount / seconds

    for stretch in demand:
        add(asked, stretch.second, stretch.seconds, stretch.asks)
        if stretch.verdict == Verdict.RESERVED:
            add(taken, stretch.second, stretch.seconds, stretch.asks)
    for sale in sales:
        add(paid, sale.second, 1, sale.units)
    return Stretches(since, asked, taken, paid)


def drift_of(look: Look) -> tuple[str, str]:
    """Whether gate and ledger say the same -> (tone, sentence)."""
    if not look.gate_reachable:
        return "trouble", _("The gate is out of reach: the numbers are the ledger’s alone.")
    if look.audit.findings and not look.audit.balanced and look.audit.balanced is not None:
        return "trouble", _("Gate and ledger differ. The reconciler corrects that within seconds.")
    if look.audit.balanced is None:
        return "wait", _("Recording: the ledger follows the gate.")
    return "yours", _("Gate and ledger agree.")


def queues_of(look: Look) -> list[tuple[str, int]] | None:
    if look.audit.queues is None:
        return None
    return [(QUEUES.get(name, name), jobs) for name, jobs in look.audit.queues.items() if jobs]


def numbers_of(provider: Provider) -> str:
    """-> how charges ended lately, in one line."""
    if provider.state == "quiet":
        return ""
    parts = [
        _("%(number)s taken", number=count(provider.taken)),
        _("%(number)s declined", number=count(provider.declined)),
    ]
    if provider.asked:
        parts.append(_("%(number)s asked to confirm", number=count(provider.asked)))
    if provider.unknown:
        parts.append(_("%(number)s without an answer", number=count(provider.unknown)))
    if provider.usual_seconds is not None and provider.longest_seconds is not None:
        usual, longest = tenths(provider.usual_seconds), tenths(provider.longest_seconds)
        parts.append(_("usually %(usual)s s, at most %(longest)s s", usual=usual, longest=longest))
    return " · ".join(parts)


def chart_sentence(view: WatchView) -> str:
    """The demand chart in words."""
    asked, taken, paid = (round(sum(values)) for values in (view.window.asked, view.window.taken, view.window.paid))
    return _(
        "In the last two minutes, presses of Buy: %(asked)s, with something taken: %(taken)s; pieces paid: %(paid)s.",
        asked=count(asked),
        taken=count(taken),
        paid=count(paid),
    )


def document_of(view: WatchView) -> dict[str, Any]:
    """The same for programs. Units, jobs, minor units of the currency."""
    look, audit = view.look, view.look.audit
    return {
        "drop": look.drop.slug,
        "at": iso(look.at),
        "phase": view.scene.phase,
        "door": view.door,
        "total": look.total,
        "left": look.left_units,
        "checkouts": look.checkouts,
        "paid": look.paid,
        "waiting": look.waiting,
        "watching": view.watching,
        "variants": [
            {
                "id": one.variant_id,
                "name": one.name,
                "total": one.total,
                "left": look.left(one),
                "offered": one.offered,
                "held": one.held,
                "processing": one.processing,
                "paid": one.paid,
                "waiting": one.waiting,
            }
            for one in look.variants
        ],
        "revenue_minor": view.revenue_minor,
        "captured_minor": audit.money.captured_minor,
        "refunded_minor": audit.money.refunded_minor,
        "currency": look.drop.currency,
        "journal": look.journal,
        "queues": audit.queues,
        "balanced": audit.balanced if look.gate_reachable else None,
        "findings": list(audit.findings),
        "provider": {
            "state": audit.provider.state,
            "taken": audit.provider.taken,
            "declined": audit.provider.declined,
            "unknown": audit.provider.unknown,
            "usual_seconds": audit.provider.usual_seconds,
        },
        "since": iso(view.window.since),
        "pressed_per_second": [round(value) for value in view.window.asked],
        "taken_per_second": [round(value) for value in view.window.taken],
        "paid_per_second": [round(value) for value in view.window.paid],
        "happened": [
            {"at": iso(line.at), "kind": line.kind, "times": line.times, "detail": line.detail, "order": line.order}
            for line in view.lines
        ],
    }


def revenue(view: WatchView) -> str:
    return money(view.revenue_minor, view.look.drop.currency)
