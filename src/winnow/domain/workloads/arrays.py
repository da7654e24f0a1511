"""``wn.queries``: queries given as an array, one row each and one column for each cell."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.domain.checks import Real, exact
from winnow.domain.checks import count as check_count
from winnow.domain.schema import Schema
from winnow.domain.workloads.bits import BitsPart, pack, words_per_query
from winnow.domain.workloads.maker import Maker
from winnow.domain.workloads.part import Part
from winnow.domain.workloads.real import GridPart
from winnow.errors import InputError

MOST_GRID = 2**31 - 1
_BLOCK = 1 << 21  # values looked at together


@dataclass(frozen=True, eq=False)
class ArrayQueries(Maker):
    """Rows of an array as queries."""

    array: NDArray[Any]
    grid: int
    bound: Fraction | None
    units: bool

    advice = "give fewer queries or fewer cells"

    @property
    def part_grid(self) -> int:
        """The grid on [0, 1]: values in [-c, c] need twice as many steps."""
        return self.grid if self.bound is None else 2 * self.grid

    def size(self, schema: Schema) -> int:
        """One query for each row."""
        return len(self.array)

    def own_memory(self, schema: Schema) -> int:
        """A bit for each cell of binary queries, else a small integer."""
        cells = int(self.array.shape[1])
        if self.part_grid == 1:
            return len(self.array) * 8 * words_per_query(cells)
        return len(self.array) * cells * np.dtype(grid_type(self.part_grid)).itemsize

    def parts(self, schema: Schema) -> tuple[Part, ...]:
        """One part, checked value by value."""
        if self.array.shape[1] != schema.cells:
            raise InputError(
                f"the queries have {self.array.shape[1]:,} values each for the "
                f"{schema.cells:,} cells of the schema; give one value for each cell"
            )
        rows = max(1, _BLOCK // schema.cells)
        starts = range(0, len(self.array), rows)
        blocks = (self._units(self.array[first : first + rows]) for first in starts)
        if self.part_grid == 1:
            bits = np.empty((len(self.array), words_per_query(schema.cells)), np.uint64)
            for first, block in zip(starts, blocks, strict=True):
                bits[first : first + rows] = pack(block.astype(np.bool_))
            return (BitsPart(schema, bits),)
        values = np.empty(self.array.shape, grid_type(self.part_grid))
        for first, block in zip(starts, blocks, strict=True):
            values[first : first + rows] = block
        return (GridPart(schema, values, self.part_grid, self.bound),)

    def _units(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Values as whole grid units of [0, 1], or an error where one is off the grid."""
        low, high = (0, 1) if self.bound is None else (-self.bound, self.bound)
        if self.units:
            steps = values.astype(np.int64)
        else:
            step = (Fraction(1) if self.bound is None else self.bound) / self.grid
            numbers = values.astype(np.float64)
            with np.errstate(invalid="ignore", over="ignore"):
                steps = np.rint(numbers * step.denominator / step.numerator).astype(np.int64)
            if not (steps * step.numerator / step.denominator == numbers).all():
                raise InputError(
                    f"a value of the queries is not a multiple of {step}; round the values to the "
                    "grid, or declare a finer one with grid="
                )
        lowest = 0 if self.bound is None else -self.grid
        if steps.size and not (lowest <= int(steps.min()) and int(steps.max()) <= self.grid):
            raise InputError(
                f"a value of the queries is outside [{low}, {high}]; rescale them, or declare "
                "bound=c for values in [-c, c]"
            )
        return steps - lowest


def queries(
    array: Any, *, grid: int = 1, bound: Real | None = None, units: bool = False
) -> ArrayQueries:
    """Queries from a 2-d array: one row for each query, one value for each cell in C order.

    Values lie in [0, 1] and are multiples of 1/``grid`` (a float counts as the fraction that
    it is nearest to); grid=1 means zeros and ones. With ``bound=c`` they lie in [-c, c], are
    multiples of c/``grid``, and are brought to [0, 1] by (q + c) / (2c). ``units=True`` says
    that the array holds whole numbers of those steps already.
    """
    check_count(grid=grid)
    limit = None if bound is None else exact("bound", bound)
    if limit is not None and limit <= 0:
        raise InputError(f"bound={bound} is not positive; give c for values in [-c, c]")
    if int(grid) > MOST_GRID // 2:
        raise InputError(f"grid={grid} is too fine; give at most {MOST_GRID // 2}")
    if limit is not None and max(limit.numerator, limit.denominator * int(grid)) > 2**53:
        raise InputError(f"bound={bound} has too many digits for grid={grid}; give fewer")
    try:
        values = np.array(array)
    except (TypeError, ValueError):
        raise InputError("the queries are not an array of numbers; give rows alike") from None
    if values.ndim != 2 or values.dtype.kind not in "buif" or not values.size:
        raise InputError("the queries are not a 2-d array of numbers; give one row for each query")
    if values.dtype.itemsize > 8 or (values.dtype.kind == "f" and not np.isfinite(values).all()):
        raise InputError("a value of the queries is not a finite number of 64 bits; mend it")
    if not isinstance(units, bool) or (units and values.dtype.kind not in "iu"):
        raise InputError("units=True needs an array of whole numbers")
    return ArrayQueries(values, int(grid), limit, units)


def grid_type(grid: int) -> type[np.generic]:
    """The smallest integers that hold 0 .. grid."""
    return np.uint8 if grid <= 255 else np.uint16 if grid <= 65535 else np.int32
