"""Clocks from the first 32 bits: bounds that hold, and the same draws as from all bits."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from reference.inside import Law, Tape, discrete_laplace_array
from reference.mechanisms import GammaMechanism
from winnow import Utility
from winnow.core import bounded
from winnow.core import noise as integer
from winnow.core.noisy_top import cube

Floats = NDArray[np.float64]


def unknown(words: NDArray[np.uint32]) -> tuple[Floats, Floats]:
    """As if the first bits said nothing."""
    return np.zeros(len(words)), np.full(len(words), np.inf)


def test_the_first_bits_bound_the_clock() -> None:
    tape = Tape.seeded(5)
    edges = np.array([1, 2, 3, 2**31, 2**32 - 2, 2**32 - 1], np.uint32)
    words = np.concatenate([edges, tape.words(0, 20_000)])
    z, error = bounded.first_clocks(words)
    for extension in (0, 2**63, 2**64 - 1):
        further = np.full(len(words), extension, np.uint64)
        fine, off = bounded.noise(Law.EXPONENTIAL, words, further, None)
        known = np.isfinite(off)
        assert np.all(np.abs(z - fine)[known] <= (error + off)[known])
    assert np.isinf(bounded.first_clocks(np.zeros(1, np.uint32))[1][0])


@pytest.mark.slow
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(7), Fraction(10**8), Fraction(2**49)])
def test_integer_noise_is_the_same_with_and_without_them(
    scale: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = discrete_laplace_array(Tape.seeded(1), 3000, scale)
    monkeypatch.setattr(integer, "first_clocks", unknown)
    assert np.array_equal(quick, discrete_laplace_array(Tape.seeded(1), 3000, scale))


def test_sums_of_clocks_are_the_sums_of_the_first_bits() -> None:
    for size in (1, 30, 31, 32, 1000, 65_536):
        words = Tape.seeded(size).words(0, size)
        z, error = cube._sums_of_clocks(words)
        one, off = bounded.first_clocks(words)
        assert abs(z.sum() - one.sum()) <= 1e-12 * one.sum()
        assert off.sum() * (1 - 1e-12) <= error <= off.sum() * 1.01


@pytest.mark.parametrize("d", [1, 3, 40, 9000])
def test_gamma_draws_are_the_same_with_and_without_them(
    d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores, utility = np.random.default_rng(d).integers(0, 9, d), Utility.declare(1)
    mechanism = GammaMechanism(1.0, min(3, d))
    draws = 60 if d < 100 else 4
    quick = mechanism.simulate(scores, utility, draws, seed=2)
    monkeypatch.setattr(cube, "_sums_of_clocks", lambda words: (np.zeros(len(words)), np.inf))
    assert np.array_equal(quick, mechanism.simulate(scores, utility, draws, seed=2))


def test_a_clock_that_its_first_bits_do_not_bound_leaves_no_list_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A first word of 0 bounds its clock from one side only: one in 2^32 clocks has it."""
    scores, utility = np.array([90, 3, 3, 0, 50]), Utility.declare(1)
    quick = GammaMechanism(1.0, 3).simulate(scores, utility, 40, seed=4)
    sums = cube._sums_of_clocks
    monkeypatch.setattr(cube, "_sums_of_clocks", lambda words: (sums(words)[0], np.inf))
    assert np.array_equal(quick, GammaMechanism(1.0, 3).simulate(scores, utility, 40, seed=4))
