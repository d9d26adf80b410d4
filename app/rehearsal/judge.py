"""The judge: what was seen -> go or no-go, and why, in sentences a shopkeeper understands.

It knows nothing of how the crowd was made or the faults were caused: it is handed a History of plain values, so a test can hand it
a broken one. Every check ends as held, broken, or `could not tell`; only when all of them held is it a go. A check that lacks its
evidence could not tell, and that is no-go: an unproven promise is not kept.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from app.rehearsal.sayings import Said, say, say_some

HELD, BROKEN, UNTOLD = "held", "broken", "could not tell"
SOCKET_MS = 3_000  # a page may be this far behind the truth
SOCKET_SLACK_MS = 350  # between two looks of the witness, and on the way
FAULT_AFTERMATH_MS = 3_000  # after a fault has ended, sockets and pages have so long to be right again
BOOKS_AFTERMATH_MS = 8_000  # after Redis lost something, the reconciler has so long to put it right
BOOKS_TOUCHED = {"gate", "ledger", "reconciler"}  # without the reconciler nobody puts right what Redis lost before
BOOKS_SILENCE_MS = 8_000  # without a look at the books, nobody can tell what they were
GATE_SILENCE_MS = 3_000
PAGE_SECONDS_MAX = 1.0  # 95 of 100 looks at other pages are faster
PAGE_TIMES_MAX = 3  # or, on a machine that was slow before anybody came, not more than so many times slower than then
PAGE_SHARE = 0.95
PAGE_LOOKS_MIN = 10
PAID_SHARE_MIN = 0.5  # cards are declined on purpose, and a payment that comes too late is none
PAID_SHARE_HINDERED = 0.1  # while workers, provider or database are broken on purpose
EXAMPLES_MAX = 5
NET_ZERO = {"EXPIRED", "FAILED", "CANCELLED", "REFUNDED", "REFUSED"}
SELLING = {"open", "all_held", "sold_out"}  # phases that follow from the stock alone
LIVE = {"PENDING_PAYMENT", "PROCESSING", "PAID"}
ANSWERS = {  # a last word, as it is told of one person
    "paid": say("paid"),
    "expired": say("expired"),
    "failed": say("failed"),
    "cancelled": say("given back"),
    "refunded": say("refunded"),
    "refused": say("refused"),
    "lost": say("lost"),
}
PHASES = {  # as a page shows them
    "announced": say("not open yet"),
    "last_seconds": say("about to open"),
    "open": say("open"),
    "paused": say("paused"),
    "all_held": say("all held"),
    "sold_out": say("sold out"),
    "closed": say("closed"),
    "cancelled": say("cancelled"),
    "not_ready": say("not ready"),
}
ORDERS_UNREAD = say("The orders could not be read.")
FINAL_OF_STATE = {state: state.lower() for state in ("PAID", *NET_ZERO)}


@dataclass(kw_only=True)
class History:
    """What was seen. Times are milliseconds since 1970; None or empty where nothing was."""

    units: int
    per_person: int
    opens_ms: int
    closes_ms: int
    ended_ms: int
    crowd: int
    variants: int = 1
    stories: list[dict] = field(default_factory=list)
    strangers: list[int] = field(default_factory=list)  # shopper ids of people with browsers: no story, but lawful buyers
    orders: list[dict] | None = None
    provider: list[dict] | None = None
    warehouse: list[dict] | None = None
    books: list[dict] = field(default_factory=list)
    final_books: dict | None = None
    at_rest: bool = False  # everything that can end had ended when the orders were read
    gate: list[tuple] = field(default_factory=list)
    watchers: list[dict] = field(default_factory=list)
    pages: list[tuple] = field(default_factory=list)
    faults: list[dict] = field(default_factory=list)  # {"name","began","ended","done","why","touches","loses"}
    odd: dict[str, str] = field(default_factory=dict)
    browsers: list[dict] | None = None  # {"who","final","complaints"}; None: none were wanted
    fault_statuses: int = 0  # answers with a status of 500 and above that the contract does not know


@dataclass(frozen=True, slots=True)
class Check:
    """One promise. `words`: what was found, for people; `examples`: of what is broken, bounded."""

    name: str
    promise: Said
    outcome: str
    words: Said
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    checks: tuple[Check, ...]

    @property
    def go(self) -> bool:
        return bool(self.checks) and all(check.outcome == HELD for check in self.checks)

    @property
    def broken(self) -> list[Check]:
        return [check for check in self.checks if check.outcome != HELD]


def judge(history: History) -> Judgement:
    return Judgement(tuple(check(history) for check in CHECKS))


# ---- the checks ------------------------------------------------------------------------------------------------------------------


def faults_happened(seen: History) -> Check:
    promise = say("Every fault that was planned really happened.")
    never = say("it never began")
    missing = [
        say("%(what)s: %(why)s", what=fault["words"], why=fault["why"] or never) for fault in seen.faults if not fault["done"]
    ]
    if missing:
        words = say("%(number)s of %(all)s faults could not be caused.", number=len(missing), all=len(seen.faults))
        return _untold("faults", promise, words, missing)
    if not seen.faults:
        return _held("faults", promise, say("No faults were wanted."))
    return _held("faults", promise, say_some("%(num)s fault was caused.", "%(num)s faults were caused.", len(seen.faults)))


def everybody_heard(seen: History) -> Check:
    promise = say("Every shopper got one final answer.")
    if len(seen.stories) != seen.crowd:
        words = say("Of %(all)s shoppers only %(number)s stories are known.", all=seen.crowd, number=len(seen.stories))
        return _untold("heard", promise, words)
    unheard = [_who(story) for story in seen.stories if story["final"] == "unheard"]
    if unheard:
        words = say("%(number)s of %(all)s shoppers never got a final answer.", number=len(unheard), all=seen.crowd)
        return _broken("heard", promise, words, unheard)
    return _held("heard", promise, say_some("The one shopper did.", "All %(num)s shoppers did.", seen.crowd))


def answers_were_true(seen: History) -> Check:
    promise = say("What a shopper was told last is what the ledger says.")
    if seen.orders is None:
        return _untold("honest", promise, ORDERS_UNREAD)
    lossy = _lost_data(seen)
    by_id = {order["order_id"]: order for order in seen.orders}
    by_shopper = defaultdict(list)
    for order in seen.orders:
        by_shopper[order["shopper_id"]].append(order)
    wrong = []
    for story in seen.stories:
        wrong += [say("%(who)s: %(what)s", who=_who(story), what=what) for what in story["contradictions"] if not lossy]
        for order_id in story["orders"]:
            order = by_id.get(order_id)
            if order is None and not lossy:
                wrong.append(
                    say("%(who)s was told that order %(order)s is theirs, and there is none", who=_who(story), order=order_id)
                )
            elif order is not None and order["shopper_id"] != story["shopper"]:
                wrong.append(say("%(who)s was given the order of somebody else, %(order)s", who=_who(story), order=order_id))
        wrong += _untrue(story, by_id, by_shopper[story["shopper"]], lossy)
    known = {story["shopper"] for story in seen.stories} | set(seen.strangers)
    wrong += [
        say("order %(order)s belongs to nobody of the crowd", order=order["order_id"])
        for order in seen.orders
        if order["shopper_id"] not in known
    ]
    if wrong:
        words = say_some("%(num)s answer was not true.", "%(num)s answers were not true.", len(wrong))
        return _broken("honest", promise, words, wrong)
    words = say("%(words)s last words and %(orders)s orders agree.", words=len(seen.stories), orders=len(seen.orders))
    return _held("honest", promise, words)


def _untrue(story: dict, by_id: dict, own: list[dict], lossy: bool) -> list[str]:
    final, order, who = story["final"], by_id.get(story["order"] or ""), _who(story)
    alive = [one for one in own if one["state"] in LIVE]
    if final in ("no", "waited"):
        return [
            say("%(who)s was told no and has %(state)s order %(order)s", who=who, state=one["state"], order=one["order_id"])
            for one in alive
        ]
    if final == "lost":
        if not lossy:
            return [say("%(who)s was told that their place was lost, and nothing had been lost", who=who)]
        return [
            say(
                "%(who)s was told that their place was lost, and has %(state)s order %(order)s",
                who=who,
                state=one["state"],
                order=one["order_id"],
            )
            for one in alive
        ]
    if final == "unheard":
        return []  # everybody_heard says so
    told = ANSWERS.get(final, final)
    if order is None:
        return [say("%(who)s was told “%(told)s” of an order that is not in the ledger", who=who, told=told)]
    if FINAL_OF_STATE.get(order["state"]) != final:
        name, state = order["order_id"], order["state"]
        return [say("%(who)s was told “%(told)s” and order %(order)s is %(state)s", who=who, told=told, order=name, state=state)]
    if final == "refused" and not lossy:
        return [say("%(who)s was refused after a yes (%(reason)s), and Redis had lost nothing", who=who, reason=order["reason"])]
    return []


def never_oversold(seen: History) -> Check:
    promise = say("Never more sold than there is, and nobody has more than the limit.")
    if seen.orders is None:
        return _untold("oversold", promise, ORDERS_UNREAD)
    live = [order for order in seen.orders if order["state"] in LIVE]
    sold = sum(order["quantity"] for order in live)
    too_many = say("%(number)s units are in live orders, %(all)s were released", number=sold, all=seen.units)
    wrong = [too_many] if sold > seen.units else []
    each = Counter()
    for order in live:
        each[order["shopper_id"]] += order["quantity"]
    wrong += [
        say("%(who)s has %(number)s units, the limit is %(limit)s", who=_shopper(who), number=n, limit=seen.per_person)
        for who, n in each.items()
        if n > seen.per_person
    ]
    for sample in seen.books:
        books = sample["books"]
        if (
            books
            and (taken := sum(books[name] for name in ("offered", "held", "processing", "paid", "withdrawn"))) > books["total"]
        ):
            at = _at(seen, sample["at"])
            wrong.append(say("%(at)s s: %(number)s units in live orders of %(all)s", at=at, number=taken, all=books["total"]))
    if wrong:
        return _broken("oversold", promise, say("It was not so: %(what)s.", what=wrong[0]), wrong)
    words = say("%(number)s of %(all)s units are in live orders, at no moment more than there are.", number=sold, all=seen.units)
    return _held("oversold", promise, words)


def books_balanced(seen: History) -> Check:
    promise = say("The books balance, every second and at the end.")
    if not seen.final_books or seen.final_books["balanced"] is None:
        return _untold("books", promise, say("The books at the end could not be read."))
    wrong = [say("at the end: %(finding)s", finding=finding) for finding in seen.final_books["findings"]] or (
        [] if seen.final_books["balanced"] else [say("at the end they do not balance")]
    )
    looks = [sample for sample in seen.books if sample["books"] is not None]
    gap = _widest_gap(
        [sample["at"] for sample in looks], seen.opens_ms, seen.ended_ms, _shadows(seen, BOOKS_TOUCHED, BOOKS_AFTERMATH_MS)
    )
    for sample in looks:
        darkened = _shadowed(seen, sample["at"], BOOKS_TOUCHED, BOOKS_AFTERMATH_MS, sample["until"])
        if sample["books"]["balanced"] is False and not darkened:
            wrong.append(say("%(at)s s: %(findings)s", at=_at(seen, sample["at"]), findings=sample["books"]["findings"]))
    if wrong:
        return _broken("books", promise, say("They did not: %(what)s.", what=wrong[0]), wrong)
    if gap > BOOKS_SILENCE_MS:
        return _untold("books", promise, say("For %(seconds)s s nobody could read them.", seconds=round(gap / 1000)))
    return _held("books", promise, say_some("%(num)s look, and the last one.", "%(num)s looks, and the last one.", len(looks)))


def money_is_right(seen: History) -> Check:
    promise = say("Nobody was charged without a unit or a refund, and nobody twice.")
    if seen.orders is None or seen.provider is None:
        return _untold("money", promise, say("The provider's ledger or ours could not be read."))
    by_id = {order["order_id"]: order for order in seen.orders}
    taken, given, captures = Counter(), Counter(), Counter()
    wrong = []
    for row in seen.provider:
        if row["order"] not in by_id:
            if row["captured"] != row["refunded"]:
                wrong.append(
                    say(
                        "%(number)s minor units were captured for order %(order)s, which is not in the ledger",
                        number=row["captured"],
                        order=row["order"],
                    )
                )
            continue
        taken[row["order"]] += row["captured"]
        given[row["order"]] += row["refunded"]
        captures[row["order"]] += row["captured"] > 0
    for order in seen.orders:
        name, state = order["order_id"], order["state"]
        kept, owed = taken[name] - given[name], order["amount_minor"]
        ours = (order["captured_minor"], order["refunded_minor"])
        if captures[name] > 1 or taken[name] > owed:
            wrong.append(
                say(
                    "order %(order)s was charged %(times)s times, %(taken)s for %(owed)s minor units",
                    order=name,
                    times=captures[name],
                    taken=taken[name],
                    owed=owed,
                )
            )
        elif state == "PAID" and kept != owed:
            wrong.append(
                say(
                    "order %(order)s is PAID and the provider kept %(kept)s of %(owed)s minor units",
                    order=name,
                    kept=kept,
                    owed=owed,
                )
            )
        elif state in NET_ZERO and kept:
            wrong.append(
                say(
                    "order %(order)s is %(state)s and the provider kept %(kept)s minor units of it",
                    order=name,
                    state=state,
                    kept=kept,
                )
            )
        elif ours != (taken[name], given[name]):
            wrong.append(
                say(
                    "order %(order)s: our ledger says %(captured)s captured and %(refunded)s refunded, the provider %(taken)s and "
                    "%(given)s",
                    order=name,
                    captured=ours[0],
                    refunded=ours[1],
                    taken=taken[name],
                    given=given[name],
                )
            )
    if wrong:
        words = say_some("%(num)s payment is not right.", "%(num)s payments are not right.", len(wrong))
        return _broken("money", promise, words, wrong)
    paid = sum(order["state"] == "PAID" for order in seen.orders)
    words = say_some(
        "%(num)s paid order has one capture; every other order nets to zero.",
        "%(num)s paid orders have one capture each; every other order nets to zero.",
        paid,
    )
    return _held("money", promise, words)


def parcels_are_right(seen: History) -> Check:
    promise = say("One parcel for every paid order, none for any other.")
    if seen.orders is None or seen.warehouse is None:
        return _untold("parcels", promise, say("The warehouse's ledger or ours could not be read."))
    made = Counter(row["reference"] for row in seen.warehouse)
    wrong = []
    for order in seen.orders:
        expected = order["state"] == "PAID"
        found = made.pop(order["order_id"], 0)
        if found != expected and not (found == 1 and order["state"] == "REFUNDED"):
            wrong.append(
                say_some(
                    "order %(order)s is %(state)s and has %(num)s parcel",
                    "order %(order)s is %(state)s and has %(num)s parcels",
                    found,
                    order=order["order_id"],
                    state=order["state"],
                )
            )
    wrong += [say("the warehouse has a parcel for %(reference)s, which is no order", reference=reference) for reference in made]
    if wrong:
        words = say_some("%(num)s parcel is not right.", "%(num)s parcels are not right.", len(wrong))
        return _broken("parcels", promise, words, wrong)
    return _held("parcels", promise, say("The warehouse has %(number)s, and each is right.", number=len(seen.warehouse)))


def everything_ended(seen: History) -> Check:
    promise = say("Every hold, payment, parcel and place came to an end by itself.")
    if seen.orders is None:
        return _untold("ended", promise, ORDERS_UNREAD)
    open_still = [
        say("order %(order)s is %(state)s", order=order["order_id"], state=order["state"])
        for order in seen.orders
        if order["state"] in ("PENDING_PAYMENT", "PROCESSING") or order["released"] is False
    ]
    asks = [
        say("order %(order)s: %(why)s", order=order["order_id"], why=order["needs_attention"])
        for order in seen.orders
        if order["needs_attention"]
    ]
    if open_still or asks:
        words = say(
            "Orders that had not ended: %(open)s. Orders that need a person: %(asks)s.", open=len(open_still), asks=len(asks)
        )
        return _broken("ended", promise, words, open_still + asks)
    if not seen.at_rest:
        return _broken("ended", promise, say("Something was still moving when the time was over."))
    return _held("ended", promise, say("Nothing was left moving, and nothing needs a person."))


def the_sale_happened(seen: History) -> Check:
    promise = say("Whoever wanted a unit and could have one got it, and could pay.")
    if seen.orders is None or not seen.stories:
        return _untold("sale", promise, say("The orders or the stories could not be read."))
    granted = sum(order["quantity"] for order in seen.orders if order["state"] != "REFUSED")
    wanted = min(seen.units, len(seen.stories))
    if granted < wanted and seen.variants == 1:  # with several, what nobody wants may be left
        words = say(
            "Only %(number)s of %(all)s units ever went to anybody, and more people wanted one.", number=granted, all=wanted
        )
        return _broken("sale", promise, words)
    meaning = [story for story in seen.stories if story["meant_to_pay"] and story["final"] not in ("lost", "refused")]
    paid = sum(story["final"] == "paid" for story in meaning)
    if not meaning:
        return _untold("sale", promise, say("Nobody who had a unit meant to pay."))
    hindered = any(
        {"queue", "money", "ledger"} & set(fault["touches"]) for fault in seen.faults
    )  # then a payment may come too late
    if paid < (PAID_SHARE_HINDERED if hindered else PAID_SHARE_MIN) * len(meaning) or not paid:
        words = say("Only %(number)s of the %(all)s who meant to pay could.", number=paid, all=len(meaning))
        return _broken("sale", promise, words)
    words = say(
        "%(units)s units were given out, %(number)s of the %(all)s who meant to pay could.",
        units=granted,
        number=paid,
        all=len(meaning),
    )
    return _held("sale", promise, words)


def sockets_were_true(seen: History) -> Check:
    promise = say("Open pages showed the truth within %(seconds)s s.", seconds=SOCKET_MS / 1000)
    if not seen.watchers:
        return _untold("sockets", promise, say("Nobody watched a socket."))
    looks = [look for look in seen.gate if look[1] is not None]
    if len(looks) < 2:
        return _untold("sockets", promise, say("The truth itself could not be read from the gate."))
    gap = _widest_gap([look[0] for look in looks], seen.opens_ms, seen.closes_ms, _shadows(seen, {"gate"}, FAULT_AFTERMATH_MS))
    if gap > GATE_SILENCE_MS:
        words = say("For %(seconds)s s the truth could not be read from the gate.", seconds=round(gap / 1000, 1))
        return _untold("sockets", promise, words)
    truth = Truth(looks, seen.orders or [])
    wrong, compared = [], 0
    for number, watcher in enumerate(seen.watchers):
        lies, looked = _lies(seen, watcher, truth)
        compared += looked
        wrong += [say("watcher %(number)s: %(what)s", number=str(number), what=lie) for lie in lies]
    if wrong:
        words = say_some(
            "Once a page showed what had not been true for %(seconds)s s.",
            "%(num)s times a page showed what had not been true for %(seconds)s s.",
            len(wrong),
            seconds=SOCKET_MS / 1000,
        )
        return _broken("sockets", promise, words, wrong)
    if not compared:
        return _untold("sockets", promise, say("No socket was open long enough to compare."))
    words = say("Watchers: %(watchers)s. Comparisons: %(comparisons)s.", watchers=len(seen.watchers), comparisons=compared)
    return _held("sockets", promise, words)


class Truth:
    """How many units were left, and the phase: at every look at the gate, and how far it can have swung between two of them.

    What was given out between two looks is in the ledger, to the gate's millisecond; what was left before it, less what was left
    after it and what was given out, is what came back. So between the looks no more can have been left than afterwards and what was
    given out, and no less than before and without it.
    """

    def __init__(self, looks: list[tuple], orders: list[dict]):
        self.looks = looks
        self.times = [look[0] for look in looks]
        grants = sorted((order["reserved_ms"], order["quantity"]) for order in orders)
        granted_at = [at for at, _ in grants]
        units_until = [0, *accumulate(units for _, units in grants)]
        self.low, self.high = [], []  # between a look and the next one
        for before, after in pairwise(looks):
            given = units_until[bisect_right(granted_at, after[0])] - units_until[bisect_left(granted_at, before[0])]
            self.low.append(max(0, before[1] - given))
            self.high.append(after[1] + given)

    def window(self, until_ms: int) -> range:
        """-> the looks that say what was true in the 3 s before `until_ms` (and a bit more: looks and messages take time)."""
        first = bisect_right(self.times, until_ms - SOCKET_MS - SOCKET_SLACK_MS) - 1
        return range(max(0, first), min(len(self.looks), bisect_right(self.times, until_ms) + 2))

    def swing(self, window: range) -> tuple[int, int]:
        """-> the fewest and the most units that can have been left at any moment from the first of these looks to the last."""
        between = slice(window.start, window.stop - 1)
        lefts = [self.looks[index][1] for index in window]
        return min([*lefts, *self.low[between]]), max([*lefts, *self.high[between]])


def _lies(seen: History, watcher: dict, truth: Truth) -> tuple[list[str], int]:
    """What one watcher was shown that was not true in the 3 s before -> (sentences, comparisons made)."""
    heard = [message[0] for message in watcher["messages"]]
    lies, compared = [], 0
    for began, ended in watcher["spans"]:
        for index in range(bisect_right(truth.times, began + SOCKET_MS), bisect_right(truth.times, ended or seen.ended_ms)):
            at = truth.times[index]
            if _shadowed(seen, at, {"gate", "web", "feed"}, SOCKET_MS + FAULT_AFTERMATH_MS):
                continue
            shown_index = bisect_right(heard, at) - 1
            if shown_index < 0 or heard[shown_index] < began:
                since = round((at - began) / 1000, 1)
                lies.append(say("%(at)s s: connected for %(seconds)s s and nothing shown", at=_at(seen, at), seconds=since))
                break
            heard_at, left, phase, *_ = watcher["messages"][shown_index]
            window = truth.window(at)
            looks = truth.looks[window.start : window.stop]
            compared += 1
            news = at - heard_at <= SOCKET_MS  # it may tell of a moment between two looks; what is shown for longer may not
            fewest, most = truth.swing(window) if news else (min(look[1] for look in looks), max(look[1] for look in looks))
            if not fewest <= left <= most:
                lies.append(
                    say(
                        "%(at)s s: %(left)s left shown, %(fewest)s to %(most)s were",
                        at=_at(seen, at),
                        left=left,
                        fewest=fewest,
                        most=most,
                    )
                )
            elif phase not in {look[2] for look in looks} and not (news and phase in SELLING and looks[-1][2] in SELLING):
                was = [PHASES.get(name, name) for name in sorted({look[2] for look in looks})]
                shown = PHASES.get(phase, phase)
                lies.append(say("%(at)s s: “%(shown)s” shown, it was: %(was)s", at=_at(seen, at), shown=shown, was=was))
    return lies, compared


def other_pages_stayed_fast(seen: History) -> Check:
    promise = say(
        "Other pages stayed fast while the crowd bought (%(share)s of 100 within %(seconds)s s).",
        share=round(100 * PAGE_SHARE),
        seconds=PAGE_SECONDS_MAX,
    )
    looks = [
        look
        for look in seen.pages
        if look[0] >= seen.opens_ms and not _shadowed(seen, look[0], {"web", "gate", "ledger"}, FAULT_AFTERMATH_MS)
    ]
    if len(looks) < PAGE_LOOKS_MIN:
        words = say("Looks at other pages that are left to judge by: only %(number)s.", number=len(looks))
        return _untold("pages", promise, words)
    failed = [
        say("%(at)s s: %(page)s answered %(status)s", at=_at(seen, at), page=name, status=str(status))
        if status
        else say("%(at)s s: %(page)s gave no answer", at=_at(seen, at), page=name)
        for at, name, status, _ in looks
        if status != 200
    ]
    if failed:
        words = say("%(number)s of %(all)s looks at other pages failed.", number=len(failed), all=len(looks))
        return _broken("pages", promise, words, failed)
    within, before = _share([look[3] for look in looks]), [look[3] for look in seen.pages if look[0] < seen.opens_ms]
    lawful = max(PAGE_SECONDS_MAX, PAGE_TIMES_MAX * _share(before)) if len(before) >= PAGE_LOOKS_MIN else PAGE_SECONDS_MAX
    words = say("Looks: %(number)s. One in twenty took %(ms)s ms or more.", number=len(looks), ms=round(within * 1000))
    if before:
        words = say("%(now)s Before the opening: %(ms)s ms.", now=words, ms=round(_share(before) * 1000))
    return _broken("pages", promise, words) if within > lawful else _held("pages", promise, words)


def _share(seconds: list[float]) -> float:
    """-> within which PAGE_SHARE of the looks were answered."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(PAGE_SHARE * len(ordered)))]


def no_odd_answers(seen: History) -> Check:
    promise = say("No answer was a fault of the shop's own.")
    if seen.odd:
        words = say_some(
            "%(num)s kind of answer has no place in the contract.",
            "%(num)s kinds of answer have no place in the contract.",
            len(seen.odd),
        )
        return _broken("odd", promise, words, [f"{answer}: {example}" for answer, example in seen.odd.items()])
    return _held("odd", promise, say("Every answer was one the contract knows."))


def browsers_were_content(seen: History) -> Check:
    promise = say("People with real browsers got through, without an error on any page.")
    if seen.browsers is None:
        return _held("browsers", promise, say("No browsers were wanted."))
    if not seen.browsers:
        return _untold("browsers", promise, say("No browser told its story."))
    wrong = [say("%(who)s: %(what)s", who=one["who"], what=what) for one in seen.browsers for what in one["complaints"]]
    wrong += [say("%(who)s never got to an end", who=one["who"]) for one in seen.browsers if one["final"] == "unheard"]
    if wrong:
        return _broken("browsers", promise, say_some("%(num)s thing went wrong.", "%(num)s things went wrong.", len(wrong)), wrong)
    return _held("browsers", promise, say("People: %(number)s, and no complaints.", number=len(seen.browsers)))


CHECKS = (
    everybody_heard,
    answers_were_true,
    never_oversold,
    books_balanced,
    money_is_right,
    parcels_are_right,
    everything_ended,
    the_sale_happened,
    sockets_were_true,
    other_pages_stayed_fast,
    no_odd_answers,
    browsers_were_content,
    faults_happened,
)


# ---- what they share -------------------------------------------------------------------------------------------------------------


def _held(name: str, promise: Said, words: Said) -> Check:
    return Check(name, promise, HELD, words)


def _broken(name: str, promise: Said, words: Said, examples: list[str] = ()) -> Check:
    return Check(name, promise, BROKEN, words, tuple(examples[:EXAMPLES_MAX]))


def _untold(name: str, promise: Said, words: Said, examples: list[str] = ()) -> Check:
    return Check(name, promise, UNTOLD, words, tuple(examples[:EXAMPLES_MAX]))


def _who(story: dict) -> Said:
    return _shopper(story["number"])


def _shopper(number: int) -> Said:
    return say("shopper %(number)s", number=str(number))  # a name, not an amount


def _at(seen: History, at_ms: int) -> float:
    """-> seconds from the opening."""
    return round((at_ms - seen.opens_ms) / 1000, 1)


def _lost_data(seen: History) -> bool:
    """Whether Redis lost something: only then may a yes be taken back."""
    return any(fault["loses"] and fault["done"] for fault in seen.faults)


def _shadows(seen: History, touches: set[str], after_ms: int) -> list[tuple[int, int]]:
    """-> (from, until) of the faults that touch one of these, with the time that is allowed for coming back."""
    return [
        (fault["began"], (fault["ended"] or seen.ended_ms) + after_ms)
        for fault in seen.faults
        if fault["began"] and touches & set(fault["touches"])
    ]


def _shadowed(seen: History, at_ms: int, touches: set[str], after_ms: int, until_ms: int | None = None) -> bool:
    """Whether this moment (or the time up to `until_ms`) lies in the shadow of such a fault."""
    return any(began <= (until_ms or at_ms) and at_ms <= until for began, until in _shadows(seen, touches, after_ms))


def _widest_gap(times: list[int], began: int, ended: int, shadows: list[tuple[int, int]]) -> int:
    """-> the longest time, in ms, without a look between `began` and `ended`; time in a shadow does not count."""
    marks = sorted([began, *(at for at in times if began < at < ended), ended])
    widest = 0
    for first, second in zip(marks, marks[1:], strict=False):
        dark = sum(max(0, min(second, until) - max(first, since)) for since, until in shadows)
        widest = max(widest, second - first - dark)
    return widest
