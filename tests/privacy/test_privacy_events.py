"""Events: what they accept, what they mean, how they are stored and converted."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow import GuaranteeError, InputError, Relation, RelationMismatch, as_substitution
from winnow.privacy import (
    ApproxDP,
    BoundedRange,
    Compose,
    DiscreteLaplace,
    Event,
    Gaussian,
    PureDP,
    Repeat,
    Truncated,
    describe,
    from_json,
    pure_cost,
    to_json,
    zcdp_cost,
)

ADD = Relation.ADD_REMOVE
SUB = Relation.SUBSTITUTION

numbers = st.one_of(
    st.floats(1e-200, 1e200),
    st.integers(1, 10**30),
    st.fractions(Fraction(1, 10**12), Fraction(10**12)),
)
deltas = st.one_of(st.floats(1e-300, 0.999), st.fractions(Fraction(1, 10**12), Fraction(99, 100)))


def singles(relation: Relation) -> st.SearchStrategy[Event]:
    return st.one_of(
        st.builds(PureDP, numbers, st.just(relation)),
        st.builds(BoundedRange, numbers, st.just(relation)),
        st.builds(DiscreteLaplace, numbers, st.just(relation)),
        st.builds(Gaussian, numbers, st.just(relation)),
        st.builds(ApproxDP, numbers, deltas, st.just(relation)),
    )


def events(relation: Relation) -> st.SearchStrategy[Event]:
    return st.recursive(
        singles(relation),
        lambda inner: st.one_of(
            st.builds(Repeat, inner, st.integers(1, 10**9)),
            st.builds(Compose, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        ),
        max_leaves=6,
    )


@given(st.sampled_from(Relation).flatmap(events))
def test_json_round_trip_is_exact(event: Event) -> None:
    stored = json.dumps(to_json(event))
    back = from_json(json.loads(stored))
    assert back == event
    assert hash(back) == hash(event)
    assert zcdp_cost(back) == zcdp_cost(event)
    assert json.dumps(to_json(back)) == stored


def test_stored_events_keep_their_form() -> None:
    plan = Compose((Repeat(BoundedRange(Fraction(1, 3), ADD), 3), ApproxDP(0.1, 1e-6, ADD)))
    assert to_json(plan) == {
        "type": "Compose",
        "events": [
            {
                "type": "Repeat",
                "event": {"type": "BoundedRange", "epsilon": "1/3", "relation": "add-remove"},
                "count": 3,
            },
            {"type": "ApproxDP", "epsilon": 0.1, "delta": 1e-06, "relation": "add-remove"},
        ],
    }


def test_an_event_is_the_number_that_was_written() -> None:
    assert PureDP(0.1, ADD) == PureDP(Fraction(1, 10), ADD)
    assert PureDP(1, ADD) == PureDP(1.0, ADD)
    assert PureDP(1, ADD) != BoundedRange(1, ADD)
    assert PureDP(1, ADD) != PureDP(1, SUB)
    assert PureDP(Fraction(1, 3), ADD) != PureDP(1 / 3, ADD)


def test_parameters_are_kept_as_given() -> None:
    assert isinstance(PureDP(Fraction(1, 10), ADD).epsilon, Fraction)
    assert isinstance(PureDP(0.1, ADD).epsilon, float)


def test_a_relation_may_be_given_by_name() -> None:
    assert PureDP(1, "substitution").relation is SUB  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ({"type": "RenyiDP", "alpha": 2}, "RenyiDP"),
        ({"epsilon": 1, "relation": "add-remove"}, "None"),
        ({"type": "PureDP", "epsilon": 1, "relation": "add-remove", "gamma": 2}, "gamma"),
        ({"type": "PureDP", "relation": "add-remove"}, "epsilon"),
        ({"type": "PureDP", "epsilon": 1}, "relation"),
        ({"type": "PureDP", "epsilon": 1, "relation": "swap"}, "swap"),
        ({"type": "PureDP", "epsilon": "1/0", "relation": "add-remove"}, "1/0"),
        ({"type": "PureDP", "epsilon": "nan", "relation": "add-remove"}, "nan"),
        ({"type": "PureDP", "epsilon": None, "relation": "add-remove"}, "epsilon"),
        ({"type": "PureDP", "epsilon": True, "relation": "add-remove"}, "epsilon"),
        ({"type": "PureDP", "epsilon": -1, "relation": "add-remove"}, "epsilon"),
        ({"type": "Repeat", "count": 2, "event": 3}, "int"),
        ({"type": "Repeat", "count": 2.5, "event": to_json(PureDP(1, ADD))}, "2.5"),
        ({"type": "Compose", "events": {}}, "events"),
        ({"type": "Compose", "events": []}, "Compose"),
    ],
)
def test_stored_data_that_is_not_an_event_is_refused_by_name(
    data: dict[str, object], named: str
) -> None:
    with pytest.raises(InputError, match=named):
        from_json(data)


@pytest.mark.parametrize("bad", [0, -1, math.inf, math.nan, True, "1", None])
def test_parameters_are_positive_finite_numbers(bad: object) -> None:
    for kind in (PureDP, BoundedRange, DiscreteLaplace, Gaussian):
        with pytest.raises(InputError):
            kind(bad, ADD)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [0, 1, 1.5, -0.1, math.nan])
def test_a_delta_lies_strictly_between_0_and_1(bad: float) -> None:
    with pytest.raises(InputError, match="delta"):
        ApproxDP(1, bad, ADD)


@pytest.mark.parametrize("bad", [0, -1, 2.0, True])
def test_a_count_is_a_whole_number_from_1(bad: object) -> None:
    with pytest.raises(InputError, match="count"):
        Repeat(PureDP(1, ADD), bad)  # type: ignore[arg-type]


def test_only_events_compose() -> None:
    with pytest.raises(InputError, match="float is not an event"):
        Repeat(1.0, 2)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="tuple"):
        Compose(())
    with pytest.raises(InputError, match="tuple"):
        Compose([PureDP(1, ADD)])  # type: ignore[arg-type]
    for function in (pure_cost, zcdp_cost, describe, to_json, as_substitution):
        with pytest.raises(InputError, match="str is not an event"):
            function("PureDP")  # type: ignore[operator]


def test_mixed_relations_do_not_compose() -> None:
    with pytest.raises(RelationMismatch, match="add-remove and substitution"):
        Compose((PureDP(1, ADD), Repeat(PureDP(1, SUB), 2)))


def test_a_description_is_short_and_exact() -> None:
    assert describe(PureDP(1.0, ADD)) == "PureDP(epsilon=1) under add-remove"
    plan = Repeat(Compose((BoundedRange(Fraction(1, 3), SUB), Gaussian(2.5, SUB))), 4)
    assert describe(plan) == (
        "4 x (BoundedRange(epsilon=1/3) + Gaussian(noise_multiplier=2.5)) under substitution"
    )


def test_substitution_is_two_steps_of_add_remove() -> None:
    assert as_substitution(PureDP(0.1, ADD)) == PureDP(0.2, SUB)
    assert as_substitution(BoundedRange(0.1, ADD)) == BoundedRange(0.2, SUB)
    assert as_substitution(DiscreteLaplace(3, ADD)) == DiscreteLaplace(1.5, SUB)
    assert as_substitution(Gaussian(3, ADD)) == Gaussian(1.5, SUB)
    nested = Repeat(Compose((PureDP(1, ADD), Gaussian(3, ADD))), 5)
    assert as_substitution(nested) == Repeat(Compose((PureDP(2, SUB), Gaussian(1.5, SUB))), 5)


@given(st.floats(1e-3, 20), st.floats(1e-12, 1e-10))
def test_converted_delta_is_rounded_up(epsilon: float, delta: float) -> None:
    event = as_substitution(ApproxDP(epsilon, delta, ADD))
    assert isinstance(event, ApproxDP)
    assert float(event.delta) == pytest.approx(delta * (1 + math.exp(epsilon)), rel=1e-12)
    assert event.delta >= delta * (1 + math.exp(epsilon)) * (1 - 1e-15)
    assert event.epsilon == 2 * Fraction(repr(epsilon))


@given(events(ADD))
def test_substitution_costs_four_times_the_rho_of_quadratic_events(event: Event) -> None:
    try:
        converted = as_substitution(event)
    except GuaranteeError:
        return  # delta (1 + e^epsilon) reached 1
    assert converted.relation is SUB
    before, after = zcdp_cost(event), zcdp_cost(converted)
    assert before.rho <= after.rho <= 4 * before.rho * (1 + Fraction(1, 10**9))
    assert after.delta >= before.delta


def test_substitution_has_no_way_back_and_is_not_applied_twice() -> None:
    with pytest.raises(RelationMismatch, match="already"):
        as_substitution(PureDP(1, SUB))
    with pytest.raises(GuaranteeError, match="reaches 1"):
        as_substitution(ApproxDP(20, 1e-6, ADD))
    with pytest.raises(GuaranteeError, match="reaches 1"):
        as_substitution(ApproxDP(10**5, 1e-6, ADD))


def test_a_truncated_event_adds_its_delta_to_both_accountants() -> None:
    inner = Repeat(BoundedRange(0.1, Relation.ADD_REMOVE), 5)
    event = Truncated(inner, 1e-6)
    assert from_json(to_json(event)) == event
    assert event.relation is Relation.ADD_REMOVE
    assert "up to delta=1e-06" in describe(event)
    assert pure_cost(event).epsilon == pure_cost(inner).epsilon
    assert zcdp_cost(event).rho == zcdp_cost(inner).rho
    assert pure_cost(event).delta == zcdp_cost(event).delta == Fraction(1, 10**6)
    with pytest.raises(GuaranteeError, match="conversion"):
        as_substitution(event)
    with pytest.raises(InputError):
        Truncated(inner, 0)
