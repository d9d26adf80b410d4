"""The judge is handed broken histories: it must say no-go, name the promise, and never pass what it could not see."""

from dataclasses import replace

import pytest

from app.rehearsal.judge import BROKEN, HELD, UNTOLD, judge
from tests.rehearsal.history import CLOSES, ENDED, OPENS, PRICE, THE_LIST, UNITS, books, charge, fault, order, right, story


def outcome(history, name):
    return next(check for check in judge(history).checks if check.name == name)


def with_story(number, **changes):
    stories = right().stories
    stories[number] = stories[number] | changes
    return right(stories=stories)


def with_order(name, **changes):
    return right(orders=[one | changes if one["order_id"] == name else one for one in right().orders])


def test_a_history_in_which_everything_was_right_is_a_go():
    judgement = judge(right())
    assert [check for check in judgement.checks if check.outcome != HELD] == []
    assert judgement.go


BROKEN_HISTORIES = {
    "one more sold than there is": (
        lambda: right(orders=[*right().orders, order("o4", 104, "PAID")], provider=[*right().provider, charge("o4", PRICE)]),
        "oversold",
    ),
    "oversold for a moment": (lambda: right(books=[*right().books, books(OPENS + 500, paid=UNITS + 1)]), "oversold"),
    "two units for one person": (lambda: with_order("o1", shopper_id=100), "oversold"),
    "charged twice by two intents": (lambda: right(provider=[*right().provider, charge("o0", PRICE, intent="pi_2")]), "money"),
    "charged twice, once given back": (
        lambda: right(provider=[*right().provider, charge("o0", PRICE, PRICE, intent="pi_2")]),
        "money",
    ),
    "paid without a charge": (lambda: right(provider=right().provider[1:]), "money"),
    "money kept of a hold that lapsed": (lambda: right(provider=[*right().provider, charge("o3", PRICE)]), "money"),
    "money taken for no order": (lambda: right(provider=[*right().provider, charge("gone", PRICE)]), "money"),
    "a refund that only our ledger knows": (lambda: with_order("o3", captured_minor=PRICE, refunded_minor=PRICE), "money"),
    "a paid order without a parcel": (lambda: right(warehouse=right().warehouse[1:]), "parcels"),
    "two parcels of one order": (lambda: right(warehouse=[*right().warehouse, right().warehouse[0]]), "parcels"),
    "a parcel of a lapsed order": (
        lambda: right(warehouse=[*right().warehouse, {"number": "9", "reference": "o3", "created": ""}]),
        "parcels",
    ),
    "a shopper who never heard": (lambda: with_story(4, final="unheard"), "heard"),
    "told no, and has the unit": (lambda: with_story(0, final="no"), "honest"),
    "told paid, and the hold lapsed": (lambda: with_story(3, final="paid"), "honest"),
    "told yes, and there is no order": (lambda: with_story(4, orders=["o9"]), "honest"),
    "given the order of somebody else": (lambda: with_story(4, orders=["o0"]), "honest"),
    "one key and two orders": (lambda: with_story(0, contradictions=["one key, 2 orders: o0, o9"]), "honest"),
    "told that the place was lost when nothing was": (lambda: with_story(4, final="lost"), "honest"),
    "refused although nothing was lost": (
        lambda: replace(
            with_order("o3", state="REFUSED", reason="gate_leaked"),
            stories=[*right().stories[:3], story(3, "refused", order="o3"), *right().stories[4:]],
        ),
        "honest",
    ),
    "an order of nobody": (lambda: right(orders=[*right().orders, order("o8", 999, "EXPIRED")]), "honest"),
    "books that do not balance at the end": (
        lambda: right(final_books=books(ENDED, balanced=False, findings=["one is missing"])["books"]),
        "books",
    ),
    "books that did not balance for a second": (
        lambda: right(books=[*right().books, books(OPENS + 4000, balanced=False, findings=["one is missing"])]),
        "books",
    ),
    "a hold that never ended": (lambda: with_order("o3", state="PENDING_PAYMENT"), "ended"),
    "a return that the gate never confirmed": (lambda: with_order("o3", released=False), "ended"),
    "a payment that needs a person": (lambda: with_order("o0", needs_attention="no answer"), "ended"),
    "something moving at the end": (lambda: right(at_rest=False), "ended"),
    "units that nobody ever got": (lambda: right(units=5), "sale"),
    "nobody who meant to could pay": (
        lambda: right(stories=[one | {"meant_to_pay": True, "final": "expired"} for one in right().stories]),
        "sale",
    ),
    "a page that still sells what is sold": (
        lambda: right(watchers=[{"spans": [[OPENS - 2000, ENDED]], "messages": [(OPENS - 1990, UNITS, "announced", 1, 3.0)]}]),
        "sockets",
    ),
    "a page that shows nothing": (lambda: right(watchers=[{"spans": [[OPENS, ENDED]], "messages": []}]), "sockets"),
    "another page that fails": (lambda: right(pages=[*right().pages, (OPENS + 50, THE_LIST, 500, 0.01)]), "pages"),
    "another page that hangs": (lambda: right(pages=[(at, page, status, 2.0) for at, page, status, _ in right().pages]), "pages"),
    "an answer that is a fault of ours": (lambda: right(odd={"http 500": "POST drops: oops"}), "odd"),
    "a browser that complains": (
        lambda: right(browsers=[{"who": "Mira", "final": "paid", "complaints": ["a script failed"]}]),
        "browsers",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN_HISTORIES)
def test_a_broken_history_is_no_go_and_the_promise_is_named(what):
    build, promise = BROKEN_HISTORIES[what]
    judgement = judge(build())
    found = outcome(build(), promise)
    assert not judgement.go
    assert found.outcome == BROKEN, found
    assert found.words


UNSEEN = {
    "no orders": (lambda: right(orders=None), {"honest", "oversold", "money", "parcels", "ended", "sale"}),
    "no provider": (lambda: right(provider=None), {"money"}),
    "no warehouse": (lambda: right(warehouse=None), {"parcels"}),
    "no last look at the books": (lambda: right(final_books=None), {"books"}),
    "books still recording at the end": (lambda: right(final_books=books(ENDED, balanced=None)["books"]), {"books"}),
    "no look at the books for long": (lambda: right(books=right().books[:2]), {"books"}),
    "a story too few": (lambda: right(stories=right().stories[:-1]), {"heard"}),
    "no watchers": (lambda: right(watchers=[]), {"sockets"}),
    "no truth to compare sockets with": (lambda: right(gate=[]), {"sockets"}),
    "the truth unread for long": (
        lambda: right(gate=[look for look in right().gate if not OPENS + 5000 < look[0] < OPENS + 12_000]),
        {"sockets"},
    ),
    "sockets never open long enough": (
        lambda: right(watchers=[{"spans": [[OPENS, OPENS + 1000]], "messages": [(OPENS, 0, "sold_out", 1, 1.0)]}]),
        {"sockets"},
    ),
    "no looks at other pages": (lambda: right(pages=[]), {"pages"}),
    "browsers that told nothing": (lambda: right(browsers=[]), {"browsers"}),
    "a fault that never happened": (lambda: right(faults=[fault("web-killed", 0, 0, done=False)]), {"faults"}),
    "nobody meant to pay": (lambda: right(stories=[one | {"meant_to_pay": False} for one in right().stories]), {"sale"}),
}


@pytest.mark.parametrize("what", UNSEEN)
def test_what_could_not_be_seen_is_no_go(what):
    build, promises = UNSEEN[what]
    judgement = judge(build())
    assert not judgement.go
    assert {check.name for check in judgement.checks if check.outcome == UNTOLD} == promises


def test_without_any_check_nothing_is_a_go():
    from app.rehearsal.judge import Judgement

    assert not Judgement(()).go


LOST = fault("redis-emptied", OPENS + 2000, OPENS + 3000, touches=("gate", "feed"), loses=True)


@pytest.mark.parametrize(
    ("final", "orders", "stories"),
    [
        ("lost", [], [story(3, "lost", order="o3")]),
        ("refused", [order("o3", 103, "REFUSED", reason="gate_leaked")], [story(3, "refused", order="o3")]),
    ],
)
def test_a_yes_may_be_taken_back_only_after_redis_lost_data(final, orders, stories):
    live, others = right().orders[:3], [one for one in right().stories if one["number"] != 3]
    history = right(orders=[*live, *orders], stories=[*others, *stories])
    assert outcome(history, "honest").outcome == BROKEN
    assert outcome(replace(history, faults=[LOST]), "honest").outcome == HELD


def test_nobody_may_be_told_that_their_place_is_lost_while_they_have_it():
    stories = [story(0, "lost", order="o0"), *right().stories[1:]]
    assert outcome(right(stories=stories, faults=[LOST]), "honest").outcome == BROKEN


def test_a_page_may_be_wrong_while_the_gate_is_gone_and_for_three_seconds_more_but_no_longer():
    late = {
        "spans": [[OPENS - 2000, ENDED]],
        "messages": [(OPENS - 1990, UNITS, "announced", 1, 3.0), (OPENS + 9000, 0, "sold_out", 2, 4.0)],
    }
    gone = fault("redis-cut", OPENS, OPENS + 4000, touches=("gate",))
    assert outcome(right(watchers=[late]), "sockets").outcome == BROKEN
    assert outcome(right(watchers=[late], faults=[gone]), "sockets").outcome == HELD
    assert outcome(right(watchers=[late], faults=[gone | {"ended": OPENS + 1000}]), "sockets").outcome == BROKEN


def swung(*, given_at: int | None):
    """-> a history in which two units may have been left between two looks at the gate: pages told of them at OPENS + 8050."""
    told = {
        "spans": [[OPENS - 2000, ENDED]],
        "messages": [
            (OPENS - 1990, UNITS, "announced", 1, 3.0),
            (OPENS + 90, 0, "sold_out", 2, 4.0),
            (OPENS + 8050, 2, "open", 3, 4.0),
            (OPENS + 8450, 0, "sold_out", 4, 4.0),
        ],
    }
    given = [] if given_at is None else [order(f"again{n}", 200 + n, "EXPIRED", reserved_ms=given_at) for n in range(2)]
    return right(watchers=[told], orders=[*right().orders, *given])


def test_a_page_may_tell_of_units_that_came_back_and_went_between_two_looks():
    assert outcome(swung(given_at=OPENS + 8060), "sockets").outcome == HELD


@pytest.mark.parametrize("given_at", [None, OPENS + 2000, OPENS + 12_000], ids=["never", "long before", "after"])
def test_a_page_may_not_tell_of_units_that_nobody_can_have_taken_since(given_at):
    told = outcome(swung(given_at=given_at), "sockets")
    assert told.outcome == BROKEN
    assert "2 left shown, 0 to 0 were" in told.examples[0]


def test_what_was_left_for_a_moment_may_not_be_shown_for_longer_than_three_seconds():
    history = swung(given_at=OPENS + 8060)
    history.watchers[0]["messages"].pop()
    assert outcome(history, "sockets").outcome == BROKEN


def test_books_may_be_open_while_the_gate_is_mended_but_not_later():
    open_books = [*right().books, books(OPENS + 2500, balanced=False, findings=["the gate is empty"])]
    assert outcome(right(books=open_books, faults=[LOST]), "books").outcome == HELD
    late = [*right().books, books(OPENS + 15_000, balanced=False, findings=["the gate is empty"])]
    assert outcome(right(books=late, faults=[LOST]), "books").outcome == BROKEN


def test_on_a_machine_that_was_slow_before_other_pages_may_be_three_times_as_slow_and_no_slower():
    def looks(before, meanwhile):
        return [(OPENS - 200 * n, "the list", 200, before) for n in range(1, 21)] + [
            (OPENS + 200 * n, "the list", 200, meanwhile) for n in range(20)
        ]

    assert outcome(right(pages=looks(0.01, 1.4)), "pages").outcome == BROKEN
    assert outcome(right(pages=looks(0.5, 1.4)), "pages").outcome == HELD
    assert outcome(right(pages=looks(0.5, 1.6)), "pages").outcome == BROKEN
    assert outcome(right(pages=looks(0.5, 1.4)[15:]), "pages").outcome == BROKEN, "too few looks to know what it was before"


def test_a_fault_excuses_no_broken_money_and_no_overselling():
    all_of_them = [LOST | {"began": OPENS, "ended": ENDED, "touches": ["gate", "ledger", "web", "money", "queue"]}]
    charged_twice, oversold = (
        BROKEN_HISTORIES["charged twice by two intents"][0](),
        BROKEN_HISTORIES["one more sold than there is"][0](),
    )
    assert outcome(replace(charged_twice, faults=all_of_them), "money").outcome == BROKEN
    assert outcome(replace(oversold, faults=all_of_them), "oversold").outcome == BROKEN


def test_examples_are_bounded():
    unheard = right(stories=[one | {"final": "unheard"} for one in right().stories], crowd=6)
    assert len(outcome(unheard, "heard").examples) == 5
    assert CLOSES < ENDED
