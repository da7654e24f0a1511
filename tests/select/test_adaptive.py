"""A canonical set of as many candidates as stand out: privacy of the length, and what it finds."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

import winnow as wn
from reference.inside import Tape
from winnow import Relation
from winnow.core.noisy_top.universe import ExplicitRanks
from winnow.select.audit.adaptive import AdaptiveModel, BrokenTrueLength, TrueLengthModel
from winnow.select.mechanisms.canonical import Canonical
from winnow.select.mechanisms.canonical_adaptive import (
    LENGTH_SHARE,
    CanonicalAdaptive,
    needed_counts,
)

PEOPLE = wn.Utility.declare(1, monotone=True)
EPSILON, K, D = 12.0, 3, 4


def moves(relation: Relation) -> list[tuple[int, ...]]:
    """What one person does to all counts: any items, or other items instead."""
    held = list(product((0, 1), repeat=D))
    if relation is Relation.ADD_REMOVE:
        return held
    return sorted({tuple(np.subtract(a, b)) for a in held for b in held})


@pytest.mark.parametrize("relation", list(Relation))
def test_one_person_moves_the_length_by_its_part_of_epsilon_and_no_more(relation) -> None:
    utility = wn.Utility.declare(1, monotone=True, relation=relation)
    model = AdaptiveModel(CanonicalAdaptive(EPSILON, K), utility)
    bases = np.array(list(product(range(0, 13, 3), repeat=D)))
    bases = bases[(np.diff(bases, axis=1) <= 0).all(axis=1)]  # the length knows sorted counts
    before = model.log_lengths(bases)
    worst = 0.0
    for move in moves(relation):
        after = model.log_lengths(np.maximum(bases + np.array(move), 0))
        worst = max(worst, float(np.abs(after - before).max()))
    allowed = EPSILON * float(LENGTH_SHARE)
    assert 0.9 * allowed < worst <= allowed * (1 + 1e-9)


def test_the_true_length_would_be_a_leak() -> None:
    broken = TrueLengthModel(BrokenTrueLength(EPSILON, K), PEOPLE)
    every = np.array([[x, x, x, 0] for x in range(30)])
    possible = np.isfinite(broken.log_lengths(every))
    assert (possible[1:] != possible[:-1]).any()


def test_both_parts_add_up_to_the_epsilon_that_was_asked() -> None:
    mechanism = CanonicalAdaptive(0.3, 20)
    for relation in Relation:
        guarantee = mechanism.guarantee(mechanism.promise(relation))
        assert guarantee.epsilon == pytest.approx(0.3, rel=1e-12) and guarantee.delta == 0


def test_draws_follow_the_exact_law() -> None:
    """False alarms: one in 10^4, by the normal approximation of each of fourteen shares."""
    mechanism, scores, draws = CanonicalAdaptive(EPSILON, K), (9, 8, 3, 1), 600
    model = AdaptiveModel(mechanism, PEOPLE)
    outcomes = [tuple(i for i in row if i >= 0) for row in model.outcomes(D).tolist()]
    expected = np.exp(model.log_probabilities(np.array([scores])))[0]
    assert expected.sum() == pytest.approx(1.0)
    root = Tape.seeded(5)
    found = Counter(
        tuple(sorted(mechanism._draw(ExplicitRanks(scores), PEOPLE, root.child(f"{r}")).members))
        for r in range(draws)
    )
    assert set(found) <= set(outcomes)
    for outcome, chance in zip(outcomes, expected, strict=True):
        far = 4.5 * np.sqrt(draws * chance * (1 - chance)) + 3
        assert abs(found[outcome] - draws * chance) <= far


def test_it_finds_what_stands_out_where_a_set_of_k_would_be_chance() -> None:
    scores = [int(600 * (rank + 1) ** -0.5) for rank in range(500)]
    scores += [0] * 20_000
    asked, top = 60, set(range(60))

    def found(mechanism) -> list[int]:
        sets = [mechanism._draw(ExplicitRanks(scores), PEOPLE, Tape.seeded(s)) for s in range(5)]
        return [len(top & set(each.members)) for each in sets]

    adaptive, whole = found(CanonicalAdaptive(1.0, asked)), found(Canonical(1.0, asked))
    assert sum(adaptive) > 1.5 * sum(whole)


def test_a_list_that_stands_out_is_released_whole() -> None:
    scores = [5_000 - rank for rank in range(30)] + [10] * 500
    for seed in range(5):
        found = CanonicalAdaptive(1.0, 30)._draw(ExplicitRanks(scores), PEOPLE, Tape.seeded(seed))
        assert sorted(found.members) == list(range(30))


@pytest.mark.parametrize(("k", "total"), [(1, 1), (1, 5), (3, 3), (4, 2**50)])
def test_lengths_are_drawn_in_the_smallest_and_the_largest_universes(k, total) -> None:
    mechanism = CanonicalAdaptive(2.0, k)
    mechanism.check_public(PEOPLE, total)
    leaders = np.array([2**62, 7, 3, 0][:k])
    scores = mechanism.length_scores(leaders, total, PEOPLE)
    assert len(scores) == k and np.abs(scores).max() <= 2**52
    *_, last = needed_counts(k, total, mechanism.set_scale(PEOPLE))
    assert len(last) == k and (last >= 0).all()


@pytest.mark.parametrize(
    ("epsilon", "k", "total", "named"),
    [(0, 2, 9, "epsilon"), (1, 0, 9, "k"), (1, 5, 4, "exceeds"), (1, 2, None, "public list")],
)
def test_what_cannot_be_released_is_refused(epsilon, k, total, named) -> None:
    with pytest.raises(wn.InputError, match=named):
        CanonicalAdaptive(epsilon, k).check_public(PEOPLE, total)
