"""The lazy exponential mechanism, slowly: enumerated probabilities, and a draw in exact numbers."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction

import numpy as np
from scipy import stats

from reference.inside import Tape


def law(exponents: np.ndarray) -> np.ndarray:
    """Probabilities of (i, +1) and (i, -1)."""
    x = np.stack([exponents, -exponents], 1)
    weights = np.exp(x - x.max())
    return weights / weights.sum()


def p_value(observed: np.ndarray, expected: np.ndarray) -> float:
    """Chi-square with all cells of small expectation as one."""
    big = expected >= 8
    seen = np.append(observed[big], observed[~big].sum())
    hoped = np.append(expected[big], expected[~big].sum())
    if hoped[-1] < 8:
        seen, hoped = seen[:-1], hoped[:-1]
    return float(stats.chisquare(seen, hoped * seen.sum() / hoped.sum()).pvalue)


def draw(scores: list[int], beta: Fraction, tape: Tape, item: int) -> tuple[int, int, int]:
    """One signed draw with every score known: (candidate, sign, next unused tape item).

    The same proposals as the compiled one, with 60 digits and 160 bits of the uniform.
    """
    with localcontext() as context:
        context.prec = 60
        ln2 = Decimal(2).ln()
        x = [Decimal((beta * s).numerator) / Decimal((beta * s).denominator) for s in scores]
        bounds = [int((abs(value) / ln2).to_integral_value(ROUND_CEILING)) for value in x]
        lowest = max(bounds) - (60 - len(scores).bit_length())
        bounds = [max(bound, lowest) for bound in bounds]
        weights = [1 << (bound - lowest) for bound in bounds]
        total = 2 * sum(weights)
        mask = (1 << (total - 1).bit_length()) - 1
        while True:
            value = total
            while value >= total:
                value = ((tape.bits(item, 32) << 32) | tape.bits(item + 1, 32)) & mask
                item += 2
            sign, target, i = 1 - 2 * (value & 1), value >> 1, 0
            while target >= weights[i]:
                target -= weights[i]
                i += 1
            uniform = Decimal(tape.bits(item, 160)) / Decimal(1 << 160)
            item += 1
            if uniform <= (sign * x[i] - bounds[i] * ln2).exp():
                return i, sign, item
