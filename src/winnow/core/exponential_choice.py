"""One member of a universe in classes, drawn with probability ~ exp(-rate loss), exactly.

A class is proposed by whole weights, a little above the true ones by float64; then it is kept
with the ratio of the true weight to the one it was proposed by, decided by as many digits as it
takes. So the law is exact, whatever the roundings were, and a proposal is nearly always kept.

Proof. Let w_i = size_i exp(-rate (loss_i - least)) be the true weights, v_i those in float64, and
a_i = floor(2^s v_i) + 1. By ``core.arithmetic.exp`` v_i is within a relative 2^-40 of w_i where
the exponent is below 700; beyond, v_i is 0 and w_i 2^s below 1. So a_i > 2^s w_i (1 - 2^-30), and
r_i = 2^s w_i (1 - 2^-30) / a_i is a probability. To propose i ~ a_i and keep it with r_i gives
i ~ w_i. A class may stand for members of larger losses: then its member is drawn first, and r has
the member's own loss, which is smaller still.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.core.arithmetic import Arithmetic, Interval, exp, is_above, log_of_one
from winnow.core.bounded import clock_of, noise_of_one
from winnow.core.laws import Law
from winnow.core.tape import Tape

Integers = NDArray[np.int64]

_TOTAL_BITS = 60
"""Of the sum of all whole weights, which has to fit 64."""
_MOST_EXPONENT = 700.0
_FAR = 2**40
_UNSURE = 2.0**-36
"""Ten times what both sides of a comparison can be off by, and more."""
_SLACK = 1 - Fraction(1, 2**30)


class Member(NamedTuple):
    """A class, and which of its members."""

    place: int
    number: int


def exponential_choice(
    sizes: Integers,
    losses: Integers,
    rate: Fraction,
    tape: Tape,
    loss_of: Callable[[Member], int] | None = None,
) -> Member:
    """A member of a class, with probability ~ exp(-rate loss); sizes add up to 2^59 at most.

    ``loss_of`` is the loss of a member, where that of its class is only a lower bound.
    """
    least = int(losses.min())
    exponents = float(rate) * (losses - least)
    near = exponents <= _MOST_EXPONENT
    weights = np.where(near, sizes * exp(-np.where(near, exponents, 0.0)), 0.0)
    shift = _TOTAL_BITS - int(np.ceil(np.log2(weights.sum()))) - 1
    whole = np.floor(np.ldexp(weights, shift)).astype(np.int64) + 1
    sums = np.cumsum(whole)
    stream, clocks = tape.child("proposed").stream(), tape.child("kept")
    attempt = 0
    while True:
        place = int(np.searchsorted(sums, stream.below(int(sums[-1])), side="right"))
        size = int(sizes[place])
        member = Member(place, stream.below(size))
        loss = int(losses[place]) if loss_of is None else loss_of(member)
        factor = size * Fraction(2) ** shift * _SLACK / int(whole[place])
        if _kept(clocks, attempt, rate * (loss - least), factor):
            return member
        attempt += 1


def _kept(clocks: Tape, attempt: int, exponent: Fraction, factor: Fraction) -> bool:
    """True with probability factor exp(-exponent): an exponential clock passes their logarithm.

    In float64 first: the clock is known to STAGE1_ERROR, the logarithm to a relative 2^-45. What
    that leaves open is decided by as many digits as it takes.
    """
    bits = clocks.bits(attempt, 96)
    clock = noise_of_one(Law.EXPONENTIAL, bits >> 64, bits & (2**64 - 1))
    if clock is not None and exponent < _FAR:
        passed = float(exponent) - log_of_one(float(factor))
        if abs(clock - passed) > _UNSURE * (1 + abs(passed)):
            return clock > passed
    return kept_exactly(clocks, attempt, exponent, factor)


def kept_exactly(clocks: Tape, attempt: int, exponent: Fraction, factor: Fraction) -> bool:
    """True with probability factor exp(-exponent), by as many digits as it takes."""

    def passed(a: Arithmetic, bits: int) -> Interval:
        return a.subtract(a.fraction(exponent), a.ln(a.fraction(factor)))

    return is_above(clock_of(clocks, attempt), passed)
