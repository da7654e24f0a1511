"""What is measured: tables of whole numbers, and the noise of each."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

Space = tuple[tuple[int, int], ...]
"""A level of the tree of each of some columns: ((column, level), ...), by column."""


@dataclass(frozen=True)
class TableForm:
    """One measured table: sums of blocks, or residuals, of counts or of whole values."""

    place: Space
    residual: bool
    reach: int = 1
    """The largest absolute value that one row adds; 1 for counts."""
    signed: bool = False
    """Whether a row may add any whole number from -reach to reach; False: it adds 1."""

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns of the table."""
        return tuple(column for column, _ in self.place)


@dataclass(frozen=True)
class NoisyForm:
    """A table and its noise: the variance of a discrete Gaussian, or the scale of a Laplace law."""

    table: TableForm
    noise: Fraction
    values: int | None = None
    """Which of the columns of values is summed; None: rows are counted."""


@dataclass(frozen=True)
class SummedColumn:
    """Whole numbers that the rows of each code of a column add to a sum."""

    column: int
    weights: tuple[int, ...]

    @cached_property
    def reach(self) -> int:
        """The largest of them, without its sign; at least 1."""
        return max(1, *(abs(weight) for weight in self.weights))
