"""The pieces of the envelope sampler: the acceptance filter against exact decisions."""

from fractions import Fraction

import numba
import numpy as np

from reference.inside import Tape
from winnow.core.kernels import envelope
from winnow.core.kernels.envelope import ACCEPT, OPEN, REJECT
from winnow.core.noisy_top.proposals import exact_acceptance

_decide, _surely_rejected, _mask_for = envelope.decide, envelope.surely_rejected, envelope.mask_for


@numba.njit
def decide(word, score, beta, bound):
    return _decide(word, score, beta, bound)


@numba.njit
def surely_rejected(word, exponent):
    return _surely_rejected(word, exponent)


@numba.njit
def mask_for(bound):
    return _mask_for(bound)


def test_the_filter_agrees_with_exact_decisions() -> None:
    rng = np.random.default_rng(0)
    tape = Tape.seeded(3)
    words = tape.words(0, 3000)
    beta = Fraction(7, 3 << 24)
    verdicts = set()
    for item, word in enumerate(words):
        bound = int(rng.integers(-3, 40))
        gap = float(rng.exponential(1.5)) if item % 7 else 30.0
        score = int((bound * 0.6931 - gap) / float(beta))
        verdict = decide(word, score, float(beta), bound)
        verdicts.add(verdict)
        assert verdict != OPEN
        assert exact_acceptance(tape, item, beta * score, bound) == (verdict == ACCEPT)
        if surely_rejected(word, float(beta) * score - bound * 0.6931471805599453):
            assert verdict == REJECT
    assert verdicts == {ACCEPT, REJECT}


def test_the_filter_leaves_open_what_its_word_does_not_decide() -> None:
    beta = float(Fraction(1, 1 << 24))
    chance = np.exp(-1.0) * 2.0**32
    at = -(1 << 24)  # the exponent -1
    assert decide(np.uint32(int(chance)), at, beta, 0) == OPEN
    assert decide(np.uint32(int(chance) - 1), at, beta, 0) == ACCEPT
    assert decide(np.uint32(int(chance) + 1), at, beta, 0) == REJECT
    assert decide(np.uint32(0), -(1 << 40), beta, 0) == OPEN
    assert decide(np.uint32(1), -(1 << 40), beta, 0) == REJECT
    assert decide(np.uint32(5), 1 << 40, beta, 10**12) == OPEN  # too large for float64


def test_certain_acceptance_needs_no_bits() -> None:
    assert exact_acceptance(Tape.seeded(1), 0, Fraction(0), 0)


def test_masks_cover_the_bound_and_no_more() -> None:
    for bound in (1, 2, 3, 4, 5, 2**31, 2**31 + 1, 2**61 - 1):
        assert int(mask_for(np.int64(bound))) == (1 << (bound - 1).bit_length()) - 1
