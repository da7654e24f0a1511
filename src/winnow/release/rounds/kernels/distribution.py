"""The distribution that multiplicative weights fits: public weights on the cells of a schema.

Weights are kept unnormalised with their mass beside them, so a step costs as much as the set it
touches, and so does the running mean of all distributions: with G the sum of 1/mass over the
distributions so far, a cell whose weight w did not change has contributed w G, and a change of w at
clock G is booked in `sums`, so that mean = (sums + w G + w/mass)/count at any time.

Queries come in two kinds of forms. Maintained: marginals, whose tables follow every step, and
ranges and product sets, which are read off such tables. Dense: bits and grids, written out over
the cells and summed when asked, in whole numbers.

All of this is public: a deterministic function of what was released before.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, assert_never

import numpy as np
from numpy.typing import NDArray

from winnow.core.workloads.forms import (
    BitMatrix,
    CodeRanges,
    DenseForm,
    GridMatrix,
    ProductSets,
    RangeTable,
    TableForm,
    WholeTable,
)
from winnow.core.workloads.part import Part, table_columns
from winnow.core.workloads.workload import Workload
from winnow.errors import DataError, ParameterError
from winnow.release.rounds.kernels.table_queries import (
    SMALLEST_BLOCK,
    codes_of,
    prefix,
    read,
    read_one,
    tables_for,
)
from winnow.release.rounds.kernels.tables import FRESH, MarginalTables

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_LARGEST_STEP = 600.0  # exp of it is a float64


F = TypeVar("F", TableForm, DenseForm)


@dataclass(frozen=True)
class Region(Generic[F]):
    """Where the queries of a part are: its first query, and its place in their kind."""

    part: Part
    form: F
    first: int
    base: int

    @property
    def size(self) -> int:
        """How many queries there are."""
        return int(self.part.size)

    @property
    def stop(self) -> int:
        """The query after the last."""
        return self.first + self.size


def _following(regions: list[Region[F]]) -> int:
    """The place after the last of some regions."""
    return regions[-1].base + regions[-1].size if regions else 0


def _places(regions: list[Region[F]]) -> tuple[list[int], list[int]]:
    """Where each region begins among those of its kind, and its first query."""
    return [region.base for region in regions], [region.first for region in regions]


class Distribution:
    """A distribution over the cells that answers the queries of a workload.

    It starts uniform, or from given weights, which are positive.
    """

    def __init__(self, workload: Workload, total: int, start: Floats | None = None) -> None:
        if isinstance(total, bool) or not isinstance(total, int | np.integer) or total < 1:
            raise DataError(f"total={total!r} is not a positive number of rows")
        self.workload = workload
        self.size = int(workload.size)
        self.cells = int(workload.schema.cells)
        self.total = int(total)
        self.shape = tuple(int(n) for n in workload.schema.shape)
        self.version = 0
        """How many steps were taken."""
        self.maintained: list[Region[TableForm]] = []
        self.dense: list[Region[DenseForm]] = []
        """The binary ones come first."""
        self._place(workload)
        regions: list[Region[TableForm] | Region[DenseForm]] = [*self.maintained, *self.dense]
        self._regions = sorted(regions, key=lambda region: region.first)
        self._firsts = [region.first for region in self._regions]
        self.maintained_size = _following(self.maintained)
        self._maintained_places = _places(self.maintained)
        self._dense_places = _places(self.dense)
        self._start = 1.0 / self.cells if start is None else start / start.sum()
        self._weights: Floats = np.full(self.cells, self._start)
        self._sums: Floats = np.zeros(self.cells)
        self._clock = 0.0
        self._base_mass = 1.0
        self._shift = 0
        self._since_fill = 0
        self._tables: MarginalTables | None = None
        self._answers: Floats = np.zeros(0)
        self._mass = 1.0
        self._synced = -1
        self._whole: tuple[int, int, NDArray[Any]] | None = None
        if self.maintained:
            self._tables = MarginalTables(self.shape, self._table_columns())
            self._answers = self._tables.values
            own = [table_columns(r.part) for r in self.maintained]
            self._copied = None in own or len(set(own)) < len(own)
            if self._copied:  # else the tables themselves are the answers, in order
                self._answers = np.zeros(self.maintained_size + len(self._tables.values))
        self._refill()

    def _place(self, workload: Workload) -> None:
        grids: list[tuple[Part, GridMatrix, int]] = []
        for part, offset in zip(workload.parts, workload.offsets, strict=False):
            first = int(offset)
            match part.form:
                case WholeTable() | CodeRanges() | RangeTable() | ProductSets() as form:
                    place = _following(self.maintained)
                    self.maintained.append(Region(part, form, first, place))
                case BitMatrix() as form:
                    self.dense.append(Region(part, form, first, _following(self.dense)))
                case GridMatrix() as form:
                    grids.append((part, form, first))
                case never:
                    assert_never(never)
        for part, values, first in grids:
            self.dense.append(Region(part, values, first, _following(self.dense)))

    # ------------------------------------------------------------------ reading

    def answers(self) -> Floats:
        """All answers as fractions, in [0, 1]."""
        result = np.empty(self.size)
        values, mass = self.maintained_answers()
        for region in self.maintained:
            part = values[region.base : region.base + region.size]
            result[region.first : region.stop] = part / mass
        if self.dense:
            p = self.weights()
            for dense in self.dense:
                result[dense.first : dense.stop] = dense.part.answers(p)
        return np.clip(result, 0.0, 1.0)

    def answer(self, query: int) -> float:
        """One answer."""
        region = self._region(query)
        j = query - region.first
        match region.form:
            case BitMatrix(bits):
                from winnow.release.rounds.kernels.dense import bit_mass

                mass = float(bit_mass(self._weights, bits[j]))
            case GridMatrix():
                mass = float(region.part.row(j) @ self._weights)
            case WholeTable() | CodeRanges() | RangeTable() | ProductSets() as form:
                assert self._tables is not None
                mass = read_one(form, self._tables, j)
            case never:
                assert_never(never)
        return min(1.0, max(0.0, mass / self._mass))

    @property
    def unnormalised(self) -> Floats:
        """The weights as they are kept, for samplers: their sum is the mass. Not to be changed."""
        return self._weights

    def weights(self) -> Floats:
        """The distribution, sum 1."""
        return np.asarray(self._weights / self._weights.sum())

    def average(self, *, start: bool = True) -> Floats:
        """The mean of the distributions so far, the present one included; sum 1.

        Without `start` the distribution before the first step is left out.
        """
        total = self._sums + self._weights * (self._clock + 1.0 / self._mass)
        if not start:
            if not self.version:
                raise DataError("there was no step yet, so there is nothing to average")
            total -= self._start
        np.maximum(total, 0.0, out=total)
        return np.asarray(total / total.sum())

    # ------------------------------------------------------------------ steps

    def update(self, query: int, log_factor: float) -> None:
        """p_x *= exp(log_factor q(x)) for every cell x, renormalised."""
        if not abs(log_factor) <= _LARGEST_STEP:
            raise DataError(f"a step of {log_factor} is not within {_LARGEST_STEP:g}")
        region = self._region(query)
        self._clock += 1.0 / self._mass
        self.version += 1
        factor = math.exp(log_factor)
        j = query - region.first
        dense_step = 1 if self._tables is None else FRESH  # tables do not follow dense steps
        match region.form:
            case WholeTable() | CodeRanges() | RangeTable() | ProductSets() as form:
                assert self._tables is not None
                codes = codes_of(form, self.shape, j)
                self._tables.scale(self._weights, self._sums, self._clock, factor, codes)
                self._mass = float(self._tables.values[-1])
                self._since_fill += 1
            case BitMatrix(bits):
                from winnow.release.rounds.kernels.dense import scale_bits

                self._mass += scale_bits(self._weights, self._sums, self._clock, bits[j], factor)
                self._since_fill += dense_step
            case GridMatrix():
                after = self._weights * np.exp(log_factor * region.part.row(j))
                self._sums -= (after - self._weights) * self._clock
                self._weights = after
                self._mass = float(after.sum())
                self._since_fill += dense_step
            case never:
                assert_never(never)
        if not 0.25 < self._mass / self._base_mass < 4.0:
            self._rebase()
        if self._since_fill >= FRESH:
            self._refill()

    def _rebase(self) -> None:
        """Bring the mass near 1 by a power of two, and book all cells in the running mean.

        Between two of these the mass changes by a factor of 4 at most, so booked amounts are
        at most 16 times what they stand for and cancel without loss.
        """
        self._sums += self._weights * self._clock
        self._clock = 0.0
        shift = math.frexp(self._mass)[1]
        self._weights *= 2.0**-shift
        self._shift += shift
        self._refill()
        self._base_mass = self._mass

    def _refill(self) -> None:
        """Sum everything anew, so that rounding does not gather."""
        self._since_fill = 0
        if self._tables is None:
            self._mass = float(self._weights.sum())
        else:
            self._tables.fill(self._weights)
            self._mass = float(self._tables.values[-1])
        self._synced = -1

    # ------------------------------------------------------------------ for samplers

    def maintained_answers(self) -> tuple[Floats, float]:
        """Unnormalised answers of the maintained queries (tables follow), and the mass."""
        tables = self._tables
        if tables is None:
            return self._answers, self._mass
        if self._copied and self._synced != self.version:
            self._synced = self.version
            self._answers[self.maintained_size :] = tables.values
            for region in self.maintained:
                out = self._answers[region.base : region.base + region.size]
                read(region.form, tables, out)
        return self._answers, self._mass

    @property
    def mass(self) -> tuple[float, int]:
        """The sum of the weights, as m and s for m 2^s: cells that no step touched keep theirs."""
        return self._mass, self._shift

    @property
    def slack(self) -> float:
        """More than the rounding of maintained answers and of the mass, as a part of the mass.

        Without tables the mass passes through at most cells + 8 additions in a step, and is
        within a factor of 16 of what it was since the last of them was summed anew.
        """
        if self._tables is None:
            return 2.0**-53 * 32 * FRESH * (self.cells + 16)
        return self._tables.slack

    def table_place(self, columns: tuple[int, ...]) -> int:
        """Where the table of these columns starts among the maintained answers, or -1."""
        assert self._tables is not None
        offset = self.maintained_size if self._copied else 0
        base = self._tables.base.get(columns)
        return -1 if base is None else offset + base

    def arranged(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of all queries, the maintained ones first: the order that samplers use."""
        parts = [values[r.first : r.stop] for r in self.maintained]
        parts += [values[r.first : r.stop] for r in self.dense]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def query_at(self, place: int) -> int:
        """The query at a place in that order."""
        dense = place >= self.maintained_size
        inside = place - self.maintained_size if dense else place
        bases, firsts = self._dense_places if dense else self._maintained_places
        region = bisect_right(bases, inside) - 1
        return firsts[region] + inside - bases[region]

    def blocks(self) -> tuple[Integers, Integers]:
        """Runs of maintained queries that lie inside one query each: firsts, and that query.

        The cells of a marginal that differ in their last columns only lie inside a cell of the
        table of the other columns. -1 where there is none.
        """
        firsts: list[Integers] = []
        parents: list[Integers] = []
        for region in self.maintained:
            length, place = SMALLEST_BLOCK, -1
            columns = table_columns(region.part)
            if columns is not None:
                kept = prefix(columns, self.shape)
                place = self.table_place(kept) if kept else -1
                length = math.prod(self.shape[c] for c in columns[len(kept) :])
            count = -(-region.size // length)
            firsts.append(region.base + length * np.arange(count, dtype=np.int64))
            numbers = place + np.arange(count) if place >= 0 else np.full(count, -1)
            parents.append(numbers.astype(np.int64))
        if not firsts:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        return np.concatenate(firsts), np.concatenate(parents)

    def whole_weights(self, units: int) -> NDArray[Any]:
        """The distribution in whole units, padded to a multiple of 64 cells.

        Each cell is rounded by itself, so the sum is `units` to within half a unit a cell.
        """
        if self._whole is None or self._whole[:2] != (units, self.version):
            kind = np.int32 if units + self.cells < 2**31 else np.int64
            padded = np.zeros(-(-self.cells // 64) * 64, kind)
            padded[: self.cells] = np.rint(self._weights * (units / self._mass))
            self._whole = (units, self.version, padded)
        return self._whole[2]

    def _region(self, query: int) -> Region[TableForm] | Region[DenseForm]:
        if not 0 <= query < self.size:
            raise ParameterError(f"query {query} is outside 0 to {self.size - 1}")
        return self._regions[bisect_right(self._firsts, query) - 1]

    def _table_columns(self) -> list[tuple[int, ...]]:
        """The workload's own tables in order, then those that blocks and readers need."""
        own = [table_columns(region.part) for region in self.maintained]
        known = dict.fromkeys(columns for columns in own if columns is not None)
        read = (columns for r in self.maintained for columns in tables_for(r.form, self.shape))
        more = dict.fromkeys(columns for columns in read if columns and columns not in known)
        return [*known, *more, ()]


def uniform_distribution(workload: Workload, total: int) -> Distribution:
    """The uniform distribution for a workload, with `total` rows."""
    return Distribution(workload, total)
