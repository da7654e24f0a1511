"""The exact probabilities of noisy counts, against listing all noise."""

import itertools
import math

import numpy as np
import pytest

from winnow.select.audit.counts import ListThenCountsModel, NoisyCountsModel
from winnow.select.audit.top_k import JointModel, StabilityModel


def laplace(scale: float) -> dict[int, float]:
    """Every noise from -17 to 17; scale 1/2 leaves e^-34 beyond."""
    q = math.exp(-1 / scale)
    return {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-17, 18)}


def listed(
    counts: list[int], k: int, mass: dict[int, float], cells: int
) -> dict[tuple[int, ...], float]:
    """Every noise on every count."""
    found: dict[tuple[int, ...], float] = {}
    for noise in itertools.product(mass, repeat=len(counts)):
        noisy = [c + z for c, z in zip(counts, noise, strict=True)]
        winners = sorted(range(len(counts)), key=lambda i: (-noisy[i], i))[:k]
        shown = [min(max(noisy[i], 0), cells - 1) for i in winners] if cells else []
        outcome = (*winners, *shown)
        found[outcome] = found.get(outcome, 0.0) + math.prod(mass[z] for z in noise)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("k", "cells"), [(1, 0), (1, 3), (2, 0), (2, 3)])
@pytest.mark.parametrize("counts", [[1, 1, 0], [0, 2, 2]])
def test_noisy_counts_have_the_probabilities_of_all_noise(
    counts: list[int], k: int, cells: int
) -> None:
    model = NoisyCountsModel(0.5, k, 1, cells)
    expected = listed(counts, k, laplace(0.5), cells)
    probabilities = np.exp(model.log_probabilities(np.array([counts]))[0])
    for outcome, p in zip(model.outcomes(3).tolist(), probabilities, strict=True):
        assert p == pytest.approx(expected.get(tuple(outcome), 0.0), rel=1e-9, abs=1e-14)
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("k", "cells"), [(1, 3), (2, 0)])
def test_gaussian_counts_have_the_probabilities_of_all_noise(k: int, cells: int) -> None:
    model = NoisyCountsModel(math.sqrt(0.7), k, 1, cells, gaussian=True)
    counts, noises = [1, 1, 0], range(-8, 9)
    weights = {z: math.exp(-z * z / 1.4) for z in noises}
    total = sum(weights.values())
    expected = listed(counts, k, {z: w / total for z, w in weights.items()}, cells)
    probabilities = np.exp(model.log_probabilities(np.array([counts]))[0])
    for outcome, p in zip(model.outcomes(3).tolist(), probabilities, strict=True):
        assert p == pytest.approx(expected.get(tuple(outcome), 0.0), rel=1e-8, abs=1e-12)


def test_a_list_and_then_its_counts_is_a_product() -> None:
    selection = JointModel(0.7, 2)
    model = ListThenCountsModel(selection, 0.5, 2, None, 3)
    counts = [2, 1, 0]
    lists = np.exp(selection.log_probabilities(np.array([counts]))[0])
    noisy = {i: listed([c], 1, laplace(0.5), 3) for i, c in enumerate(counts)}
    chances = dict(zip(map(tuple, selection.outcomes(3).tolist()), lists, strict=True))
    probabilities = np.exp(model.log_probabilities(np.array([counts]))[0])
    for outcome, p in zip(model.outcomes(3).tolist(), probabilities, strict=True):
        one, other, first, second = outcome
        expected = chances[one, other] * noisy[one][0, first] * noisy[other][0, second]
        assert p == pytest.approx(expected, rel=1e-9)
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-12)


def test_stability_with_counts_adds_up_to_stability_without() -> None:
    counts = np.array([[3, 1, 0], [2, 2, 1]])
    plain, shown = StabilityModel(0.5, 3, 2, 1), StabilityModel(0.5, 3, 2, 1, 3)
    expected = np.exp(plain.log_probabilities(counts))
    found = np.exp(shown.log_probabilities(counts))
    lists = list(map(tuple, plain.outcomes(3).tolist()))
    summed = np.zeros_like(expected)
    for column, outcome in enumerate(shown.outcomes(3).tolist()):
        summed[:, lists.index(tuple(outcome[:2]))] += found[:, column]
    np.testing.assert_allclose(summed, expected, atol=1e-14)
