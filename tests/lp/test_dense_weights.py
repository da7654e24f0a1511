"""One person's row moves sums over dense weights by (high - low)/s, under both relations.

Weights are exact fractions: chosen at random over many scales, then made worse by climbing.
"""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from winnow import Relation

Weights = list[Fraction]


def _projected(weights: Weights, density: int) -> Weights:
    """min(1, c w)/s with the sum 1, c found by trying how many are capped."""
    ordered = sorted(weights, reverse=True)
    for capped in range(density):
        c = (density - capped) / sum(ordered[capped:], Fraction(0))
        if c * ordered[capped] <= 1:
            return [min(Fraction(1), c * w) / density for w in weights]
    raise AssertionError("fewer weights than the density")


def _neighbours(weights: Weights, new: Fraction, density: int, relation: Relation) -> list[Weights]:
    """y of two neighbours over the same places; the last row is the one that changes."""
    after = _projected([*weights[:-1], new], density)
    if relation is Relation.SUBSTITUTION:
        return [_projected(weights, density), after]
    return [[*_projected(weights[:-1], density), Fraction(0)], after]


def _moved(weights: Weights, new: Fraction, density: int, relation: Relation) -> Fraction:
    """What the worst entries in [0, 1] make of it; the changed row has two entries to choose."""
    y, other = _neighbours(weights, new, density, relation)
    gains = [b - a for a, b in zip(y[:-1], other[:-1], strict=True)]
    assert min(gains) >= 0 or max(gains) <= 0  # the other rows move one way
    up = sum((max(g, Fraction(0)) for g in gains), other[-1])
    down = sum((max(-g, Fraction(0)) for g in gains), y[-1])
    assert up == down == max(y[-1], other[-1])
    return up


def _random_weight(generator: random.Random) -> Fraction:
    return Fraction(generator.randint(1, 9)) * Fraction(10) ** generator.randint(-8, 8)


@pytest.mark.slow
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("density", [1, 2, 3, 7])
def test_a_search_over_weights_finds_the_bound_and_nothing_above(
    density: int, relation: Relation
) -> None:
    generator = random.Random(density)
    worst = Fraction(0)
    for _ in range(60):
        # as the mechanism does, so many rows are added that everything meets
        rows = density + generator.randint(1, 6)
        weights = [_random_weight(generator) for _ in range(rows)]
        new = _random_weight(generator)
        best = _moved(weights, new, density, relation)
        for _ in range(20):
            tried, renewed = list(weights), new
            place = generator.randrange(rows + 1)
            if place == rows:
                renewed = _random_weight(generator)
            else:
                tried[place] = _random_weight(generator)
            found = _moved(tried, renewed, density, relation)
            if found >= best:
                weights, new, best = tried, renewed, found
        worst = max(worst, best)
    # never above; reached, or nearly, so that half of it would be too little
    assert Fraction(999, 1000) < worst * density <= 1
