"""What events take of a Gaussian budget: by enumeration of laws, levels and adversaries."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

from reference.adaptive_adversary import Floats, Law, discrete_gaussian
from winnow import Budget, BudgetExceeded, Relation
from winnow.privacy import (
    AnyOf,
    BoundedRange,
    CappedRounds,
    Compose,
    DiscreteLaplace,
    Event,
    Gaussian,
    PureDP,
    Repeat,
    Truncated,
)
from winnow.privacy.cap import Amount, Cap
from winnow.privacy.limits import half_squared
from winnow.privacy.residue import needed, taken

ADD = Relation.ADD_REMOVE
SIZES = [0.02, 0.1, 0.4, 1.0, 2.5]
RESIDUES = [0.0, 0.3, 1.0, 3.0, 20.0, 2000.0]
"""As multiples of epsilon^2."""


def normals(squared: float, a: Floats) -> Floats:
    """delta of two normals at every epsilon, written again here."""
    if squared == 0:
        return np.asarray(-np.expm1(np.minimum(a, 0.0)))
    mu = math.sqrt(squared)
    return np.asarray(ndtr(-a / mu + mu / 2) - np.exp(a) * ndtr(-a / mu - mu / 2))


def worst_excess(laws: list[Law], residue: float, squared: float) -> float:
    """By how much an event before normals at the residue passes normals, relative to them."""
    reach = min(9 * math.sqrt(squared) + squared, 600.0)
    a = np.linspace(-reach, reach, 1501)
    allowed = normals(squared, a)
    counts = allowed > 1e-11
    found = -math.inf
    for p, q in laws:
        loss = np.log(p / q)
        reached = sum(m * normals(residue, a - step) for m, step in zip(p, loss, strict=True))
        found = max(found, float(np.max((reached - allowed)[counts] / allowed[counts])))
    return found


def responses(epsilon: float) -> list[Law]:
    p = 1 / (1 + math.exp(-epsilon))
    return [(np.array([p, 1 - p]), np.array([1 - p, p]))]


def ranges(size: float) -> list[Law]:
    laws = []
    for t in np.linspace(0.02, 0.98, 25) * size:
        p = math.expm1(t - size) / math.expm1(-size)
        laws.append(
            (np.array([p, 1 - p]), np.array([p * math.exp(-t), (1 - p) * math.exp(size - t)]))
        )
    return laws


@pytest.mark.parametrize("epsilon", SIZES)
def test_what_is_needed_dominates_every_law_at_every_level_and_a_little_less_does_not(
    epsilon: float,
) -> None:
    for multiple in RESIDUES:
        residue = multiple * epsilon**2
        squared = needed(PureDP(epsilon, ADD), residue)
        assert worst_excess(responses(epsilon), residue, squared) < 1e-8
        less = residue + 0.99 * (squared - residue)
        assert multiple > 3 or worst_excess(responses(epsilon), residue, less) > 1e-9
        if epsilon > 1:  # for larger ones e^a is beyond what this compares
            continue
        squared = needed(BoundedRange(2 * epsilon, ADD), residue)
        assert worst_excess(ranges(2 * epsilon), residue, squared) < 1e-8
        half = residue + 0.9 * (needed(PureDP(epsilon, ADD), residue) - residue)
        assert multiple > 3 or worst_excess(ranges(2 * epsilon), residue, half) > 1e-9


def test_the_residue_takes_less_than_an_event_takes_alone_and_never_less_than_its_square() -> None:
    naive = needed(PureDP(0.1, ADD), 0.0)
    assert naive == pytest.approx(math.pi / 2 * 0.01, rel=2e-3)
    taken_before = [needed(PureDP(0.1, ADD), s) - s for s in (0.0, 0.005, 0.02, 0.08, 0.5, 20.0)]
    assert taken_before == sorted(taken_before, reverse=True)
    assert taken_before[2] < 1.08 * 0.01 and taken_before[-1] > 0.0099


def test_choices_sums_and_lost_mass_are_counted_part_by_part() -> None:
    one, other = PureDP(0.1, ADD), Gaussian(12, ADD)
    for s in (0.0, 0.05):
        both = needed(Compose((one, other)), s)
        assert both == needed(one, needed(other, s))
        assert needed(AnyOf((one, other)), s) == max(needed(one, s), needed(other, s))
        assert needed(Truncated(one, 1e-6), s) == needed(one, s)
        assert needed(DiscreteLaplace(10, ADD), s) == needed(one, s)
        steps = Repeat(PureDP(0.1, ADD), 40)
        assert needed(CappedRounds(9, 0.1, 40, ADD), s) == needed(steps, s)
    singly = 0.0
    for _ in range(1000):
        singly = needed(PureDP(0.01, ADD), singly)
    grouped = needed(Repeat(PureDP(0.01, ADD), 1000), 0.0)
    assert singly <= grouped <= 1.01 * singly


def test_what_is_taken_leaves_a_residue_that_pays_for_it() -> None:
    for left in (Fraction(1, 100), Fraction(1, 17), Fraction(3)):
        for event in (PureDP(0.05, ADD), BoundedRange(0.1, ADD), Gaussian(20, ADD)):
            cost = taken(event, left)
            assert 0 < cost < left and needed(event, float(left - cost)) <= left
        assert taken(PureDP(3, ADD), left) > left or left == 3


# Exact enumeration of adaptive adversaries.

EPSILON, DELTA = 1.0, 0.05
CHOICES: list[Event] = [
    PureDP(0.5, ADD), PureDP(0.25, ADD), Gaussian(4, ADD), BoundedRange(0.6, ADD),
]  # fmt: skip


def _laws(event: Event) -> list[Law]:
    match event:
        case PureDP(epsilon):
            return responses(float(epsilon))
        case BoundedRange(size):
            return ranges(float(size))[4::8]
        case _:
            return [discrete_gaussian(4.0, 1, 14)]


def reached(
    after: Callable[[Amount, Event], Amount | None], used: Amount, a: Floats, depth: int
) -> Floats:
    """The largest delta at epsilon a that an adversary reaches, who chooses each charge."""
    best: Floats = -np.expm1(np.minimum(a, 0.0))
    for event in CHOICES if depth else ():
        total = after(used, event)
        for p, q in [] if total is None else _laws(event):
            follows = reached(after, total or used, a[..., None] - np.log(p / q), depth - 1)
            best = np.maximum(best, follows @ p)
    return best


def granting(cap: Cap, charged: Callable[[Amount], Amount] = lambda cost: cost):
    def after(used: Amount, event: Event) -> Amount | None:
        try:
            return cap.after(used, event, charged(cap.cost(event, used)))
        except BudgetExceeded:
            return None

    return after


@pytest.mark.parametrize("accountant", ["gaussian", "combined"])
def test_no_adaptive_adversary_passes_the_cap(accountant: str) -> None:
    cap = Cap.declare(EPSILON, DELTA, accountant=accountant)
    found = float(reached(granting(cap), Amount(), np.array(EPSILON), 3))
    assert DELTA / 16 < found <= DELTA


def test_a_twin_that_charges_half_passes_the_cap() -> None:
    def half(cost: Amount) -> Amount:
        return Amount(cost.size / 2, cost.delta, cost.rho / 2)

    cap = Cap.declare(EPSILON, DELTA, accountant="gaussian")
    assert float(reached(granting(cap, half), Amount(), np.array(EPSILON), 3)) > DELTA


def test_a_gaussian_budget_takes_fifteen_percent_more_noise_than_rhos_allow() -> None:
    counts = []
    for accountant in ("gaussian", "zcdp"):
        budget, charged = Budget(1, 1e-6, accountant=accountant), 0
        try:
            while True:
                budget.charge(Gaussian(60, ADD))
                charged += 1
        except BudgetExceeded:
            counts.append(charged)
    assert counts[0] >= 1.14 * counts[1]
    limit = half_squared(Fraction(1), Fraction(1, 10**6))
    assert counts[0] == math.floor(limit / (Fraction(1, 2) / (3600 - Fraction(1, 11))))


def test_a_gaussian_budget_keeps_to_its_words() -> None:
    budget = Budget(1, 1e-6, accountant="gaussian", delta_for_events=1e-7)
    assert budget.left.amount < 1 and budget.left.delta == 1e-7
    budget.charge(Truncated(PureDP(0.05, ADD), 1e-7))
    assert 0 < budget.spent.amount < 0.3 and budget.left.delta == 0
    with pytest.raises(BudgetExceeded, match="delta"):
        budget.charge(Truncated(PureDP(0.05, ADD), 1e-7))
    budget.charge(PureDP(budget.left.amount, ADD))
    assert budget.left.amount < 0.03 and budget.spent.amount > 0.99
    with pytest.raises(BudgetExceeded, match="of 1 is left"):
        budget.charge(PureDP(0.05, ADD))
