"""Draws from classes of equal counts: the exact laws, and twins that show when they are not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reference.audited import Case, OnLabels, chi_square_p_value, counts, enumerate_case, model_of
from reference.inside import Law, Tape
from winnow import Relation, Utility
from winnow.audit.sampling import tally
from winnow.core.arithmetic import Arithmetic
from winnow.core.noisy_top.class_noise import SpreadLaplace
from winnow.core.noisy_top.count_classes import CountClasses
from winnow.select.audit.counts import BrokenHalfNoise, BrokenLowThreshold, Counted
from winnow.select.audit.kept import BrokenOnePerClass, KeptInEngine, ListedCounts
from winnow.select.mechanisms.approximate_oneshot import ApproximateOneshot
from winnow.select.mechanisms.canonical import Canonical
from winnow.select.mechanisms.gamma import GammaMechanism
from winnow.select.mechanisms.gaussian_counts import GaussianCounts
from winnow.select.mechanisms.joint import Joint
from winnow.select.mechanisms.large_margin import LargeMargin
from winnow.select.mechanisms.lipschitz import LipschitzMechanism
from winnow.select.mechanisms.noisy_counts import NoisyCounts, WithCounts
from winnow.select.mechanisms.peeling import PeelGumbel, PeelPermuteAndFlip
from winnow.select.mechanisms.unknown_domain import LimitedDomain, StabilityThreshold

PEOPLE = counts(Relation.ADD_REMOVE)
FALSE_ALARM = 1e-7
"""For one of some 30 mechanisms, on a fixed seed."""
FEW: list[Any] = [
    LipschitzMechanism(1.0, Law.EXPONENTIAL, 2),
    PeelPermuteAndFlip(1.0, 2),
    GammaMechanism(1.0, 2),
    Counted(NoisyCounts(2.0, 2, 2, with_counts=True), cells=3),
    OnLabels(StabilityThreshold(2.0, 0.1, 2, 1, with_counts=True), cells=3),
]
"""Each kind of draw; the others are combinations of them."""
MORE: list[Any] = [
    *(LipschitzMechanism(1.0, law, kappa) for law in Law for kappa in (1, 2)),
    PeelGumbel(1.0, 0.01, 2),
    Joint(1.0, 2),
    Canonical(1.0, 2),
    Canonical(1.0, 2, gamma=1, noise=Law.LAPLACE),
    Canonical(1.0, 2, noise=Law.GUMBEL, rounded=True),
    ApproximateOneshot(Fraction(1, 5), Fraction(1, 20), 2),
    LargeMargin(4.0, 0.05, "tight"),
    Counted(NoisyCounts(1.0, 2, 1), cells=0),
    Counted(GaussianCounts(2.0, 2, 1, with_counts=True, delta=0.01), cells=3),
    Counted(WithCounts(Joint(1.0, 2), 1.0, 2), cells=3),
    Counted(WithCounts(Canonical(1.0, 2), 1.0, 2, max_items=1), cells=3),
    OnLabels(LimitedDomain(4.0, 0.2, 2, None, reach=2)),
    OnLabels(StabilityThreshold(1.0, 0.2, 2, 1)),
]


def p_value(mechanism: Any, scores: tuple[int, ...], model: Any, draws: int) -> float:
    first, second = tally(mechanism, scores, PEOPLE.utility, draws, 7)
    probabilities = np.exp(model.log_probabilities(np.array([scores], np.int64))[0])
    return chi_square_p_value(first + second, probabilities)


@pytest.mark.parametrize(
    "mechanism",
    [*FEW, *(pytest.param(each, marks=pytest.mark.extras) for each in MORE)],
    ids=lambda mechanism: mechanism.name,
)
def test_classes_are_drawn_from_as_their_members_would_be(mechanism: Any) -> None:
    kept = KeptInEngine(mechanism)
    model = model_of(kept, PEOPLE.utility)
    assert p_value(kept, (2, 1, 1), model, 200) > FALSE_ALARM


@pytest.mark.parametrize(
    ("twin", "honest"),
    [
        (BrokenOnePerClass(2.0), LipschitzMechanism(2.0, Law.GUMBEL)),
        (
            Counted(BrokenHalfNoise(2.0, 1, with_counts=True), cells=4),
            Counted(NoisyCounts(2.0, 1, with_counts=True), cells=4),
        ),
    ],
    ids=["one noise for a class", "half the noise"],
)
def test_wrong_draws_from_classes_are_noticed(twin: Any, honest: Any) -> None:
    model = model_of(KeptInEngine(honest), PEOPLE.utility)
    assert p_value(KeptInEngine(twin), (2, 1, 1, 1), model, 600) < FALSE_ALARM


@pytest.mark.parametrize(
    "mechanism",
    [
        Counted(NoisyCounts(1.0, 2, 1), cells=0),
        Counted(NoisyCounts(1.0, 1, 1, with_counts=True), cells=3),
        OnLabels(StabilityThreshold(2.0, 0.1, 2, 1, with_counts=True), cells=3),
    ],
    ids=lambda mechanism: mechanism.name,
)
@pytest.mark.parametrize("relation", list(Relation))
def test_random_ties_keep_the_guarantee(mechanism: Any, relation: Relation) -> None:
    for result in enumerate_case(Case(KeptInEngine(mechanism), counts(relation)), quick=True):
        assert result.passed, result


@pytest.mark.parametrize(
    "twin",
    [
        BrokenOnePerClass(0.5),
        Counted(BrokenHalfNoise(2.0, 1, with_counts=True), cells=4),
        OnLabels(BrokenLowThreshold(2.0, 0.2, 1, 1, with_counts=True), cells=3),
    ],
    ids=["one noise for a class", "half the noise", "a low threshold"],
)
def test_enumeration_catches_the_broken_twins_of_kept_counts(twin: Any) -> None:
    case = Case(KeptInEngine(twin), PEOPLE)
    assert not all(result.passed for result in enumerate_case(case, quick=True))


@pytest.mark.parametrize(
    "mechanism", [Joint(0.4, 3), Canonical(0.4, 3), Canonical(1, 3, rounded=True)]
)
def test_whole_lists_and_sets_are_those_of_counts_in_memory(mechanism: Any) -> None:
    utility = Utility.declare(1, monotone=True, relation=Relation.ADD_REMOVE)
    values = np.array([3, 9, 9, 4, 3, 7, 0, 0, 12, 3] * 3, np.int64)
    for seed in range(100):
        one, other = (Tape.seeded(seed) for _ in range(2))
        kept = mechanism._selected(ListedCounts(values), utility, one)
        assert kept == mechanism._selected(values, utility, other)


@pytest.mark.parametrize("scale", [Fraction(1, 50), Fraction(1, 2), Fraction(3), Fraction(10**9)])
def test_spread_laplace_noise_is_within_its_bounds_and_has_its_law(scale: Fraction) -> None:
    """Against the distribution function, at clocks from far above to far below."""
    noise, a = SpreadLaplace(scale), Arithmetic(60)
    q = float(np.exp(-1 / float(scale)))
    for g in np.linspace(-3.5, 45, 60).tolist():
        within = noise.largest_within(a, a.fraction(Fraction(g)))
        assert noise.largest_bound(g, -1.0) <= within.lo <= within.hi <= noise.largest_bound(g, 1.0)
        value, survival = float(within.lo), -np.expm1(-np.exp(-g))
        z = np.floor(value)

        def above(z: float) -> float:  # Pr[Z >= z]
            return q**z / (1 + q) if z >= 1 else 1 - q ** (1 - z) / (1 + q)

        expected = above(z) - (value - z) * (above(z) - above(z + 1))
        assert survival == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_places_follow_the_ranks_of_all_candidates() -> None:
    classes = CountClasses({5: 2, 3: 1, 0: 3})
    assert classes.places([0, 1, 2, 3, 5]) == [(5, 0), (5, 1), (3, 0), (0, 0), (0, 2)]
    assert classes.leaders(4).tolist() == [5, 5, 3, 0]
    assert classes.total == 6 and classes.classes()[1] == [2, 1]
