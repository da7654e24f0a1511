"""Scores on a public grid: integers stay, real scores are rounded down to fine steps.

Mechanisms that group answers by equal score need scores that are equal exactly or not at
all. Integers are. A real score is rounded down to a multiple of a power of two about 2^-20
of the sensitivity: a public, fixed map, chosen without looking at the data. It costs at most
a millionth of what one person can change, and its effect on the sensitivity is exact: when
values differ by at most D, their floors in steps of u differ by at most ceil(D/u).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.domain.utility import Utility
from winnow.errors import InputError
from winnow.kernels.noisy_top import Scores

_FINENESS = 20


def on_grid(scores: Scores, utility: Utility) -> tuple[NDArray[np.int64], Utility]:
    """The scores as integers, and their utility in those units."""
    if scores.dtype == np.int64:
        return np.asarray(scores, np.int64), utility
    smallest = min(part for part in (utility.down, utility.up) if part > 0)
    power = _floor_log2(smallest) - _FINENESS
    steps = np.floor(np.ldexp(scores, -power))  # exact: scaling by a power of two, then floor
    unit = Fraction(2) ** power
    in_steps = Utility(
        utility.relation,
        Fraction(-(-utility.down // unit)),
        Fraction(-(-utility.up // unit)),
    )
    return steps.astype(np.int64), in_steps


def check_grid(scores: Scores, utility: Utility) -> None:
    """Refuse scores that do not fit the grid, before anything is charged."""
    if scores.dtype == np.int64:
        too_wide = int(scores.max()) - int(scores.min()) > 2**63 - 2
    else:
        smallest = min(part for part in (utility.down, utility.up) if part > 0)
        furthest = Fraction(float(np.abs(scores).max()))
        too_wide = furthest >= 2**62 * Fraction(2) ** (_floor_log2(smallest) - _FINENESS)
    if too_wide:
        raise InputError(
            "scores spread over more steps than a 64-bit integer holds (a step is 1 for "
            "integers, 2^-20 of the sensitivity for real scores); give scores in larger units"
        )


def _floor_log2(q: Fraction) -> int:
    power = q.numerator.bit_length() - q.denominator.bit_length()
    return power if Fraction(2) ** power <= q else power - 1
