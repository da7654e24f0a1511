"""What many tests need of the inside of the package: tapes, laws, noise, opened boxes.

Tests import it from here, so that one file follows when a module moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from winnow.core.laws import Law
from winnow.core.noise import (
    bernoulli_exp,
    discrete_gaussian,
    discrete_gaussian_array,
    discrete_gaussian_of,
    discrete_laplace,
    discrete_laplace_array,
)
from winnow.core.sealed import Sealed
from winnow.core.tape import CHUNK, BitStream, Randomness, Tape, WrittenKey
from winnow.read.crossing import (
    Rows,
    RowsFor,
    SealedTable,
    fingerprint,
    group,
    true_counts,
    unsafe_true_answers,
)
from winnow.read.crossing import all_rows as sealed_rows
from winnow.read.crossing import rows_for as sealed_rows_for

T = TypeVar("T")


def open_sealed(sealed: Sealed[T]) -> T:
    """The private value inside, without a charge: tests look where users cannot."""
    return sealed._content


def all_rows(table: SealedTable) -> Rows:
    """All distinct rows of a table, opened."""
    return open_sealed(sealed_rows(table))


def rows_for(table: SealedTable, sets: Iterable[Sequence[int]] | None = None) -> RowsFor:
    """The rows of a table for sets of its columns, opened."""
    return open_sealed(sealed_rows_for(table, sets))


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
