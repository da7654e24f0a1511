"""Guarantees: how they read, and that they never claim more than was shown."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow import Guarantee, GuaranteeError, InputError, Relation, RelationMismatch
from winnow.privacy import (
    ApproxDP,
    BoundedRange,
    Gaussian,
    PureDP,
    Repeat,
    guarantee_of,
    zcdp_epsilon,
)
from winnow.privacy.rounding import (
    at_least,
    at_most,
    stated_at_least,
    stated_at_most,
    text_down,
    text_up,
)

ADD = Relation.ADD_REMOVE
SUB = Relation.SUBSTITUTION


def test_a_guarantee_reads_as_a_sentence() -> None:
    assert str(Guarantee(1.0, 0.0, ADD)) == "1-DP, protects each person (add or remove one)"
    assert (
        str(Guarantee(1.0, 1e-6, SUB)) == "(1, 1e-06)-DP, protects each person (replace one record)"
    )
    assert str(Guarantee(0.7, 0.0, ADD)) == "0.7-DP, protects each person (add or remove one)"


def test_a_guarantee_is_never_printed_smaller_than_it_is() -> None:
    assert str(guarantee_of(PureDP(Fraction(1, 3), ADD))).startswith("0.333334-DP")


def test_a_guarantee_serialises() -> None:
    stated = guarantee_of(BoundedRange(1, SUB))
    assert json.loads(json.dumps(stated.to_dict())) == {
        "epsilon": 1.0,
        "delta": 0.0,
        "relation": "substitution",
        "rho": pytest.approx(0.123301561482),  # exactly log(e - 1) - 1 + 1/(e - 1)
        "unit": "person",
    }


def test_without_delta_costs_are_summed() -> None:
    assert guarantee_of(Repeat(PureDP(0.1, ADD), 7)).epsilon == 0.7
    own = guarantee_of(Repeat(ApproxDP(0.1, 1e-6, ADD), 7))
    assert (own.epsilon, own.delta, own.rho) == (0.7, 7e-6, None)


def test_with_delta_the_better_accountant_is_stated() -> None:
    many = Repeat(PureDP(0.01, ADD), 1000)
    assert guarantee_of(many, 1e-6).epsilon < 2 < guarantee_of(many, 1e-6, "pure").epsilon
    few = PureDP(1, ADD)
    assert guarantee_of(few, 1e-6) == guarantee_of(few)
    assert guarantee_of(few, 1e-6, "zcdp").epsilon > 1
    some = Repeat(BoundedRange(0.1, ADD), 10)
    best = guarantee_of(some, 1e-6)
    assert best.epsilon < 0.999 * min(guarantee_of(some, 1e-6, n).epsilon for n in ("pure", "zcdp"))
    assert best.epsilon == pytest.approx(guarantee_of(some, 1e-6, "tight").epsilon, rel=1e-3)


def test_own_deltas_are_taken_out_of_the_total() -> None:
    many = Repeat(ApproxDP(0.01, 1e-9, ADD), 500)
    stated = guarantee_of(many, 1e-6, "zcdp")
    rho = 500 * 0.01 * math.tanh(0.005)
    assert stated.delta == 1e-6
    assert stated.epsilon == pytest.approx(zcdp_epsilon(rho, 5e-7), rel=1e-9)
    assert stated.rho is None
    with pytest.raises(GuaranteeError, match="leaves no room"):
        guarantee_of(many, 1e-8)
    with pytest.raises(GuaranteeError, match="leaves no room"):
        guarantee_of(Repeat(ApproxDP(0.01, 0.1, ADD), 10))


def test_gaussian_needs_a_delta() -> None:
    stated = guarantee_of(Gaussian(10, ADD), 1e-6, "zcdp")
    assert stated.rho == 0.005
    assert stated.epsilon == zcdp_epsilon(0.005, 1e-6)
    assert guarantee_of(Gaussian(10, ADD), 1e-6).epsilon < 0.93 * stated.epsilon
    for delta, accountant in ((0, None), (1e-6, "pure")):
        with pytest.raises(GuaranteeError, match="no pure epsilon"):
            guarantee_of(Gaussian(10, ADD), delta, accountant)


def test_bad_questions_are_refused() -> None:
    with pytest.raises(InputError, match="zcdp"):
        guarantee_of(PureDP(1, ADD), 0, "zcdp")
    with pytest.raises(InputError, match="accountant"):
        guarantee_of(PureDP(1, ADD), 1e-6, "moments")
    with pytest.raises(InputError, match="delta"):
        guarantee_of(PureDP(1, ADD), 1)
    with pytest.raises(InputError, match="epsilon"):
        Guarantee(-1.0, 0.0, ADD)
    with pytest.raises(InputError, match="delta"):
        Guarantee(1.0, 1.0, ADD)
    with pytest.raises(InputError, match="rho"):
        Guarantee(1.0, 0.0, ADD, -1.0)


def test_conversion_to_substitution_is_explicit_and_one_way() -> None:
    converted = Guarantee(1.0, 1e-6, ADD, 0.02).to_substitution()
    assert (converted.epsilon, converted.relation, converted.rho) == (2.0, SUB, 0.08)
    assert converted.delta == pytest.approx(1e-6 * (1 + math.e), rel=1e-12)
    assert converted.delta >= 1e-6 * (1 + math.e)
    assert Guarantee(0.1, 0.0, ADD).to_substitution() == Guarantee(0.2, 0.0, SUB)
    with pytest.raises(RelationMismatch):
        converted.to_substitution()
    with pytest.raises(GuaranteeError):
        Guarantee(20.0, 1e-6, ADD).to_substitution()


@given(st.fractions())
def test_rounding_brackets_the_value_as_binary_and_as_decimal(value: Fraction) -> None:
    assert Fraction(at_most(value)) <= value <= Fraction(at_least(value))
    assert math.nextafter(at_most(value), math.inf) >= at_least(value)
    low, high = stated_at_most(value), stated_at_least(value)
    assert Fraction(repr(low)) <= value <= Fraction(repr(high))
    assert high <= math.nextafter(at_least(value), math.inf)
    assert float(text_down(value)) <= high and float(text_up(value)) >= low


@given(st.floats(-1e300, 1e300))
def test_a_number_that_was_written_is_stated_as_written(value: float) -> None:
    written = Fraction(repr(value))
    assert stated_at_least(written) == value == stated_at_most(written)


def test_rounding_knows_the_ends_of_float64() -> None:
    assert at_least(Fraction(10**400)) == math.inf
    assert at_least(Fraction(-(10**400))) > -math.inf
    assert at_most(Fraction(10**400)) < math.inf
    assert at_least(Fraction(1, 10**400)) == 5e-324
    assert (
        math.copysign(1, at_most(Fraction(0)))
        == math.copysign(1, stated_at_least(Fraction(0)))
        == 1
    )
