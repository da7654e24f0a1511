"""Sensitivity: computed natively for a relation, in one place."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow import InputError, Relation, Utility
from winnow.core.checks import exact


def test_monotone_counts_pay_half_under_add_remove_only() -> None:
    """Canonical, Thm A.15; under substitution a count may rise here and fall there."""
    assert Utility.declare(1, monotone=True).half_width == Fraction(1, 2)
    assert Utility.declare(1, monotone=True, relation="substitution").half_width == 1


def test_symmetric_scores_pay_their_sensitivity_under_both_relations() -> None:
    for relation in Relation:
        assert Utility.declare(Fraction(1, 10), relation=relation).half_width == Fraction(1, 10)


def test_a_float_sensitivity_covers_its_binary_value() -> None:
    """A score that moves by the float 0.1 moves by a little more than 1/10."""
    assert Utility.declare(0.1).half_width == Fraction(0.1) > Fraction(1, 10)
    assert Utility.declare(0.3).half_width == Fraction(3, 10) > Fraction(0.3)


def test_a_utility_made_by_hand_is_checked_and_exact() -> None:
    assert Utility(Relation.ADD_REMOVE, 0.5, 0.5).half_width == Fraction(1, 2)  # type: ignore[arg-type]
    for down, up in ((-1, 2), (0, 0)):
        with pytest.raises(InputError, match="makes no sense"):
            Utility(Relation.ADD_REMOVE, Fraction(down), Fraction(up))


def test_asymmetric_sensitivity_is_half_the_sum() -> None:
    """The sum of the errata: the printed difference would be zero when symmetric."""
    utility = Utility.declare((1, 3))
    assert (utility.half_width, utility.width, utility.one_sided) == (2, 4, 3)
    swapped = Utility.declare((1, 3), relation="substitution")
    assert (swapped.half_width, swapped.width, swapped.one_sided) == (4, 8, 4)


@given(down=st.fractions(0, 5), up=st.fractions(0, 5), relation=st.sampled_from(list(Relation)))
def test_no_declared_move_leaves_the_interval(
    down: Fraction, up: Fraction, relation: Relation
) -> None:
    if down + up == 0:
        return
    utility = Utility.declare((down, up), relation=relation)
    # what one neighbour can do: add one person, or remove one and add one
    moves = (-down, up)
    if relation is Relation.SUBSTITUTION:
        moves = (-up - down, down + up)
    assert -utility.down <= moves[0]
    assert moves[1] <= utility.up


@pytest.mark.parametrize(
    "sensitivity", [0, -1, float("nan"), float("inf"), "1", None, True, (1,), (0, 0), (-1, 2)]
)
def test_bad_sensitivities_are_refused(sensitivity: object) -> None:
    with pytest.raises(InputError):
        Utility.declare(sensitivity)  # type: ignore[arg-type]


def test_contradictions_and_unknown_relations_are_refused() -> None:
    with pytest.raises(InputError, match="not monotone; give monotone=False"):
        Utility.declare((1, 1), monotone=True)
    with pytest.raises(InputError, match=r"add-remove.*substitution"):
        Utility.declare(1, relation="swap")
    with pytest.raises(InputError, match="monotone"):
        Utility.declare(1, monotone="yes")  # type: ignore[arg-type]


def test_a_float_means_the_decimal_that_was_written() -> None:
    assert exact("x", 0.1) == Fraction(1, 10)
    assert exact("x", Decimal("0.25")) == Fraction(1, 4)
    assert exact("x", Fraction(1, 3)) == Fraction(1, 3)
    assert exact("x", 1e-300) == Fraction(1, 10**300)
