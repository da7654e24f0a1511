"""What many tests need of the inside of the package: tapes, laws, noise, opened boxes.

Tests import it from here, so that one file follows when a module moves.
"""

from __future__ import annotations

from winnow.core.laws import Law
from winnow.core.noise import (
    bernoulli,
    bernoulli_exp,
    discrete_gaussian,
    discrete_gaussian_array,
    discrete_gaussian_of,
    discrete_laplace,
    discrete_laplace_array,
)
from winnow.core.opening import open_sealed
from winnow.core.sealed import Sealed
from winnow.core.tape import CHUNK, BitStream, Randomness, Tape, WrittenKey
from winnow.read.crossing import (
    Rows,
    SealedTable,
    all_rows,
    fingerprint,
    group,
    rows_for,
    true_counts,
    unsafe_true_answers,
)

__all__ = [
    "CHUNK",
    "BitStream",
    "Law",
    "Randomness",
    "Rows",
    "Sealed",
    "SealedTable",
    "Tape",
    "WrittenKey",
    "all_rows",
    "bernoulli",
    "bernoulli_exp",
    "discrete_gaussian",
    "discrete_gaussian_array",
    "discrete_gaussian_of",
    "discrete_laplace",
    "discrete_laplace_array",
    "fingerprint",
    "group",
    "open_sealed",
    "rows_for",
    "true_counts",
    "unsafe_true_answers",
]
