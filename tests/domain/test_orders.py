from app.domain.orders import FINAL, GIVEN_BACK, LIVE, TRANSITIONS, OrderState

PENDING, PROCESSING, PAID = OrderState.PENDING_PAYMENT, OrderState.PROCESSING, OrderState.PAID


def test_every_state_has_its_row_in_the_table():
    assert set(TRANSITIONS) == set(OrderState)


def test_an_order_is_live_or_final_never_both():
    assert LIVE | FINAL == set(OrderState)
    assert not LIVE & FINAL


def test_nothing_leaves_a_final_state():
    assert {state for state, following in TRANSITIONS.items() if not following} == FINAL


def test_a_unit_comes_back_only_from_an_order_that_is_not_paid():
    assert {state for state, following in TRANSITIONS.items() if following & GIVEN_BACK} == {PENDING, PROCESSING}


def test_only_a_paid_order_is_refunded_and_that_is_all_it_can_become():
    assert {state for state, following in TRANSITIONS.items() if OrderState.REFUNDED in following} == {PAID}
    assert TRANSITIONS[PAID] == {OrderState.REFUNDED}


def test_nothing_becomes_refused():
    assert not any(OrderState.REFUSED in following for following in TRANSITIONS.values())


def test_every_live_state_can_reach_every_way_an_order_ends():
    def reachable(state, seen=frozenset()):
        return seen if state in seen else frozenset().union({state}, *(reachable(to, seen | {state}) for to in TRANSITIONS[state]))

    assert reachable(PENDING) == set(OrderState) - {OrderState.REFUSED}
    assert reachable(PROCESSING) == set(OrderState) - {OrderState.REFUSED}
