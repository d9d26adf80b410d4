"""A seed decides who comes, what they mean to do, and when things break."""

from collections import Counter
from dataclasses import replace

import pytest

from app.errors import BadInput
from app.rehearsal import faults, plan
from app.rehearsal.names import FAULT_NAMES, USUAL
from app.rehearsal.plan import EARLY_SECONDS, STANDARD, Wish, in_quick_motion, moments, people, with_units

SIZES = replace(STANDARD, variants=(("S", 20), ("M", 50), ("L", 30)), per_person=2)


def test_the_same_seed_gives_the_same_people_and_another_one_others():
    first, again, other = (list(people(seed, 500, SIZES, 30)) for seed in (7, 7, 8))
    assert first == again
    assert first != other


def test_every_way_to_behave_occurs_in_a_crowd():
    crowd = list(people(1, 3000, SIZES, 30))
    assert {person.style for person in crowd} == {"once", "double", "hammer", "lost_reply", "early"}
    assert {person.pays for person in crowd} == {"at_once", "late", "declined_first", "abandons", "gives_back"}
    assert {person.after_no for person in crowd} == {"leaves", "presses_again", "waits_and_takes", "waits_and_misses"}
    assert {person.variant for person in crowd} == {"S", "M", "L"}
    assert {person.quantity for person in crowd} == {1, 2}
    assert 0 < sum(person.sits for person in crowd) <= 2 * plan.SITTERS_MAX


def test_most_people_press_in_the_first_seconds_and_nobody_comes_after_the_end():
    crowd = list(people(1, 3000, STANDARD, 30))
    assert all(-EARLY_SECONDS <= person.comes < 30 for person in crowd)
    assert all((person.comes < 0) == (person.style == "early") for person in crowd)
    assert sum(0 <= person.comes <= 3 for person in crowd) > 1500


def test_units_are_spread_over_the_variants_as_before_and_none_is_left_without():
    assert with_units(SIZES, 10).variants == (("S", 2), ("M", 5), ("L", 3))
    assert sum(units for _, units in with_units(SIZES, 1001).variants) == 1001
    assert Counter(dict(with_units(SIZES, 3).variants)) == Counter({"S": 1, "M": 1, "L": 1})
    assert with_units(SIZES, None) is SIZES
    with pytest.raises(BadInput, match="3 variants need at least as many units"):
        with_units(SIZES, 2)


def test_quick_motion_shortens_holds_and_lengthens_none():
    quick = in_quick_motion(replace(STANDARD, hold_seconds=600, offer_seconds=5), 40)
    assert (quick.hold_seconds, quick.offer_seconds) == (10, 5)


def test_faults_come_one_after_the_other_within_the_time_and_where_the_seed_says():
    wanted = [("a", 1.0), ("b", 2.0), ("c", 0.5)]
    planned = moments(5, wanted, 30)
    assert planned == moments(5, wanted, 30) != moments(6, wanted, 30)
    assert [moment.fault for moment in planned] == ["a", "b", "c"]
    assert planned[0].begins >= plan.FAULT_FIRST_SECONDS
    assert planned[-1].ends <= 30
    assert all(one.ends + plan.FAULT_GAP_SECONDS <= next.begins for one, next in zip(planned, planned[1:], strict=False))


def test_too_little_time_for_the_faults_is_said_with_the_time_they_need():
    with pytest.raises(BadInput, match="these faults need 10 s .* give at least --seconds 10"):
        moments(5, [("a", 4.0), ("b", 4.0)], 8.5)


def test_the_command_plays_the_same_again():
    wish = Wish(seed=9, slug="lamp", crowd=500, units=40, browsers=2, faults=("web-killed", "redis-cut"), seconds=20, web=3)
    assert wish.command() == (
        "doorman rehearse lamp --crowd 500 --units 40 --browsers 2 --faults web-killed,redis-cut --seconds 20 --seed 9 --web 3"
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("none", ()),
        ("usual", USUAL),
        ("web-killed, redis-cut,web-killed", ("web-killed", "redis-cut")),
        ("all", FAULT_NAMES),
    ],
)
def test_faults_are_named_in_words(text, names):
    assert faults.named(text) == names


def test_an_unknown_fault_is_refused_with_those_there_are():
    with pytest.raises(BadInput, match="there is no fault named earthquake; there are: all, usual, none, .*web-killed"):
        faults.named("web-killed,earthquake")


def test_every_name_has_something_that_causes_it():
    assert {*faults.FAULTS, "queue-starved", "browser-clock"} == set(FAULT_NAMES)
    assert set(USUAL) < set(faults.FAULTS)
