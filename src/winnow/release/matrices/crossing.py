"""The only part of these methods that sees private rows: whole numbers, and noise on them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.key import Key
from winnow.core.noise import discrete_gaussian_array, discrete_laplace_array
from winnow.read.crossing import SealedTable, all_rows
from winnow.release.matrices.strategies import LinearStrategy


def noisy_numbers(
    table: SealedTable, strategy: LinearStrategy, noise: int, law: str, key: Key
) -> NDArray[np.int64]:
    """Every number with its noise."""
    codes, weights = key.open(all_rows(table))
    true = strategy.numbers(codes, weights)
    draw = discrete_gaussian_array if law == "gaussian" else discrete_laplace_array
    drawn: NDArray[np.int64] = draw(key.tape.child("numbers"), true.size, Fraction(noise))
    return true + drawn
