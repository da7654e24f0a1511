"""The only part of these methods that sees private rows: whole numbers, and noise on them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.answers.strategies import LinearStrategy
from winnow.core.noise import discrete_gaussian_array, discrete_laplace_array
from winnow.core.tape import Tape
from winnow.read.crossing import SealedTable, all_rows
from winnow.tables.crossing import check_rows


def noisy_numbers(
    table: SealedTable, strategy: LinearStrategy, noise: int, law: str, tape: Tape
) -> NDArray[np.int64]:
    """Every number with its noise; the caller has paid for it."""
    check_rows(table)
    codes, weights = all_rows(table)
    true = strategy.numbers(codes, weights)
    draw = discrete_gaussian_array if law == "gaussian" else discrete_laplace_array
    drawn: NDArray[np.int64] = draw(tape.child("numbers"), true.size, Fraction(noise))
    return true + drawn
