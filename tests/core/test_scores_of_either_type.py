"""Integers and floats of the same value are drawn from one law, and give the same draws.

A neighbour may have the other type (one more entry turns a list of integers into floats), so a
law that follows the type breaks the guarantee.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import winnow as wn
from reference.inside import Law
from reference.mechanisms import (
    ApproximateOneshot,
    Canonical,
    GammaMechanism,
    Joint,
    LargeMargin,
    LipschitzMechanism,
    PeelGumbel,
    PeelPermuteAndFlip,
    SparseVector,
)
from winnow import Relation, Utility
from winnow.core.noisy_top.grid import Grid, check_grid, on_grid
from winnow.select.crossing.selection import Selection

SENSITIVITIES = [
    1, 3, 0.1, 0.3, Fraction(1, 3), Fraction(1, 2), np.float32(0.1), (0, 0.7), (0.1, 5), 10**7,
    2**21 + 1, 2.0**40 + 1,
]  # fmt: skip

MECHANISMS: dict[str, Callable[[float], Selection]] = {
    "joint": lambda e: Joint(e, 3),
    "canonical": lambda e: Canonical(e, 3),
    "canonical, Gumbel": lambda e: Canonical(e, 2, noise=Law.GUMBEL, gamma=Fraction(1, 3)),
    "canonical, one item": lambda e: Canonical(e, 3, one_item=True),
    "canonical, rounded": lambda e: Canonical(e, 3, rounded=True),
    **{f"{law}": lambda e, law=law: LipschitzMechanism(e, law, 2) for law in Law},  # type: ignore[misc]
    "peel": lambda e: PeelPermuteAndFlip(e, 3),
    "peel-gumbel": lambda e: PeelGumbel(e, 1e-6, 3),
    "gamma": lambda e: GammaMechanism(e, 3),
    "oneshot-approximate": lambda e: ApproximateOneshot(min(e, 0.2), 1e-6, 3),
    "large margin": lambda e: LargeMargin(e, 1e-6),
}


@pytest.mark.parametrize("sensitivity", SENSITIVITIES, ids=str)
@pytest.mark.parametrize("name", MECHANISMS)
def test_integers_and_floats_give_the_same_draws(name: str, sensitivity: object) -> None:
    """About one epsilon per spread, so that draws are neither certain nor blind."""
    utility = Utility.declare(sensitivity)  # type: ignore[arg-type]
    rng = np.random.default_rng(5)
    spread = max(4, int(8 * utility.one_sided))
    whole = rng.integers(-spread, spread, 12)
    mechanism = MECHANISMS[name](1.0)
    draws = [
        mechanism.simulate(scores, utility, 25, seed=1).tolist()
        for scores in (whole, whole.astype(np.float64))
    ]
    assert draws[0] == draws[1]


@pytest.mark.parametrize("sensitivity", [1, (0, 1), 3, 0.5])
def test_leads_tell_nothing_of_the_type_of_scores(sensitivity: float) -> None:
    """A part of somebody's amount makes all scores floats, and all leads were floats then."""
    sealed = [
        wn.seal_scores(scores, sensitivity=sensitivity)
        for scores in ({"a": 1, "b": 7, "c": 2}, {"a": 1.0, "b": 7.0, "c": 2.0})
    ]
    told = [
        wn.select(scores, epsilon=1.0, method="noisy-max", k=2, with_leads=True, seed=1).value
        for scores in sealed
    ]
    assert repr(told[0]) == repr(told[1])
    assert all(isinstance(lead, int) == (sensitivity != 0.5) for _, lead in told[0])


def test_parts_of_a_person_are_rounded_away_where_one_has_one_item() -> None:
    """One who adds a half to an item made the noise half as large for everybody: 3.25 epsilon."""
    drawn = [
        [
            wn.top_k(
                wn.seal_counts(scores, max_items=1), k=1, epsilon=1.0, method="canonical", seed=seed
            ).value
            for seed in range(200)
        ]
        for scores in ({"a": 1, "b": 7}, {"a": 1.5, "b": 7})
    ]
    assert drawn[0] == drawn[1]


def test_classes_have_one_grid_whatever_the_type_of_their_scores() -> None:
    grids = {
        wn.classes([(score, ["a"]), (0, ["b", "c"])], total=3).steps.grid for score in (5, 5.5)
    }
    assert len(grids) == 1


@pytest.mark.parametrize("sensitivity", [1, 0.1, Fraction(1, 3)])
def test_the_sparse_vector_reports_the_same_for_both_types(sensitivity: float) -> None:
    utility = Utility.declare(sensitivity)
    mechanism = SparseVector(1.0, 0, 3)
    whole = np.random.default_rng(2).integers(-20, 20, 30)
    rows = [mechanism.simulate(s, utility, 20, seed=3) for s in (whole, whole.astype(float))]
    assert np.array_equal(*rows)


def exponents(scores: np.ndarray, utility: Utility, epsilon: Fraction) -> dict[object, Fraction]:
    """The exact exponent of every list of two and of every set of two."""
    steps, in_steps = on_grid(scores, utility)
    ranked = sorted(steps.tolist(), reverse=True)
    found: dict[object, Fraction] = {}
    for places in itertools.permutations(range(len(scores)), 2):
        short = max(ranked[i] - int(steps[p]) for i, p in enumerate(places))
        found[places] = -Joint(epsilon, 2).scale(in_steps) * short
    for subset in itertools.combinations(range(len(scores)), 2):
        last = min(int(steps[p]) for p in subset)
        missing = max([last, *(int(steps[p]) for p in range(len(scores)) if p not in subset)])
        found[frozenset(subset)] = -Canonical(epsilon, 2).scale(in_steps) * (missing - last) / 2
    return found


@pytest.mark.parametrize("sensitivity", SENSITIVITIES, ids=str)
def test_the_exponents_of_neighbours_of_different_types_differ_by_epsilon(
    sensitivity: object,
) -> None:
    """All lists and all sets, exactly. By type, the law moved by 1,190 epsilon at 1e-9."""
    utility, epsilon = Utility.declare(sensitivity), Fraction(1, 10**9)  # type: ignore[arg-type]
    reach = int(10**4 * utility.one_sided) + 1
    whole = np.array([reach, reach // 2, 3, 0, -reach])
    moved = whole.astype(np.float64)
    same = exponents(moved, utility, epsilon)
    assert same == exponents(whole, utility, epsilon)
    down, up = (np.floor(float(part)) if part >= 1 else float(part) * 0.99
                for part in (utility.down, utility.up))  # fmt: skip
    moved += np.array([up, -down, up, -down, 0.0])
    other = exponents(moved, utility, epsilon)
    for kind in (tuple, frozenset):
        changes = [other[key] - same[key] for key in same if isinstance(key, kind)]
        assert max(changes) - min(changes) <= epsilon


def test_integers_in_ones_and_in_fine_steps_are_one_law_with_the_full_range() -> None:
    utility = Utility.declare(3)
    whole = Grid.of(utility, np.array([1]))
    fine = Grid.of(utility, np.array([1.0]))
    assert (whole.power, whole.cell, fine.power, fine.cell) == (0, 1, -19, 2**19)
    assert fine.utility.up == 3 * 2**19
    check_grid(np.array([2**62, 2 - 2**62]), utility)
    for odd in (0.1, Fraction(1, 3), 2**40):
        grids = [Grid.of(Utility.declare(odd), np.array([one])) for one in (1, 1.0)]
        assert grids[0] == grids[1]
    with pytest.raises(wn.InputError, match="64-bit"):
        check_grid(np.array([2**62, 0]), Utility.declare(0.1))


def test_large_integers_are_rounded_down_like_floats() -> None:
    utility = Utility.declare(2**30)
    values = [-(2**50) - 1, -1, 0, 1023, 1024, 2**50 + 5]
    steps = [on_grid(np.array(values, kind), utility)[0] for kind in (np.int64, np.float64)]
    assert steps[0].tolist() == [value // 1024 for value in values] == steps[1].tolist()


@pytest.mark.parametrize("kind", [float, np.float16, np.float32, np.float64, np.longdouble])
@pytest.mark.parametrize("text", ["0.1", "0.3", "0.7", "1e-3", "3.3"])
def test_a_sensitivity_is_never_below_what_was_given(kind: type, text: str) -> None:
    given = kind(text)
    exactly = Fraction(*given.as_integer_ratio())
    if Fraction(float(given)) != exactly:
        with pytest.raises(wn.InputError, match="more digits than a float64"):
            Utility.declare(given)
        return
    for utility in (
        Utility.declare(given),
        Utility.declare((0, given)),
        Utility(Relation.ADD_REMOVE, given, given),
    ):
        assert utility.up >= exactly


@pytest.mark.parametrize("name", ["epsilon", "delta", "threshold", "sensitivity"])
def test_numbers_beyond_float64_are_refused_for_every_parameter(name: str) -> None:
    long = np.longdouble("0.1")
    if float(long) == long:
        pytest.skip("long doubles are float64 on this platform")
    settings = {"epsilon": 1.0, "delta": 1e-6, name: long}

    def call() -> object:
        if name == "threshold":
            return wn.above([1.0, 2.0], threshold=long, epsilon=1.0)
        scores = wn.seal_scores([1.0, 2.0], sensitivity=settings.pop("sensitivity", 1))
        return wn.select(scores, method="large-margin", **settings)

    with pytest.raises(wn.InputError, match=f"{name} is a longdouble with more digits"):
        call()
