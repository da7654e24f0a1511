"""Laplace noise that is drawn in full for few counts: the same noise, and all that can win."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from winnow.core.noise import discrete_laplace_array
from winnow.core.noisy_top import laplace_counts
from winnow.core.noisy_top.laplace_counts import near_the_largest
from winnow.core.tape import CHUNK, Tape

CASES = [
    *((2_000, kind, scale, 40) for kind in range(4) for scale in (Fraction(1, 16), Fraction(100))),
    (1, 0, Fraction(3), 1),
    (CHUNK // 2, 1, Fraction(10**12), 7),
    (CHUNK // 2 + 1, 2, Fraction(1, 3), CHUNK // 2),
]


def counts_of(kind: int, size: int) -> NDArray[np.int64]:
    rng = np.random.default_rng(kind)
    made = (
        rng.integers(0, 1_000, size),
        rng.zipf(1.3, size).clip(0, 10**15),
        np.full(size, 5),
        rng.integers(-(2**61), 2**61, size),
    )
    return np.asarray(made[kind], np.int64)


def missed(size: int, kind: int, scale: Fraction, k: int) -> int:
    """How many of the k largest noisy counts the rough pass drops; noise has to agree."""
    counts = counts_of(kind, size)
    every = counts + discrete_laplace_array(Tape.seeded(size), size, scale)
    places, noisy = near_the_largest(counts, Tape.seeded(size), scale, k)
    np.testing.assert_array_equal(noisy, every[places])
    wanted = np.flatnonzero(every >= np.sort(every)[size - k])
    return len(np.setdiff1d(wanted, places))


@pytest.mark.slow
@pytest.mark.parametrize(("size", "kind", "scale", "k"), CASES)
def test_what_can_be_among_the_k_largest_stays_with_the_noise_of_all(
    size: int, kind: int, scale: Fraction, k: int
) -> None:
    assert missed(size, kind, scale, k) == 0


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_how_many_stay_depends_on_k_alone(kind: int) -> None:
    counts = counts_of(kind, 20_000)
    places, _ = near_the_largest(counts, Tape.seeded(3), Fraction(100), 100)
    assert 100 <= len(places) <= 200


def test_words_that_are_too_small_to_be_rough_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laplace_counts, "_KNOWN", 1 << 30)  # one word in four
    assert missed(2_000, 0, Fraction(100), 40) == 0


def test_a_reach_that_is_too_short_is_seen_to_lose_winners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laplace_counts, "_ROUGH", -0.05)
    assert missed(2_000, 0, Fraction(1_000), 40) > 0
