"""Whole tables with integer noise, all charged as one event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import one_of, set_counts
from winnow.core.key import Key
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.privacy import Compose, DiscreteLaplace, Event, Promise, describe, promise
from winnow.privacy.charges import laplace_event
from winnow.privacy.rounding import rounded_up
from winnow.read.crossing import SealedTable, check_planned
from winnow.release.tables.column_matrix import Basis
from winnow.release.tables.crossing import MOST_ROWS, check_rows, noisy_tables
from winnow.release.tables.measured import NoisyForm, SummedColumn, TableForm
from winnow.release.tables.sensitivity import (
    squared_pair,
    squared_single,
    total_pair,
    total_single,
)

LAWS = ("gaussian", "laplace")
MOST_SCALES = 64
"""Different scales of Laplace noise that an event lists; a ledger keeps it for good."""
_LARGEST_NUMBER = 1 << 62
_LARGEST_VARIANCE = 1 << 100
_LARGEST_SCALE = 1 << 50


@dataclass(frozen=True)
class MeasureTables:
    """Whole numbers computed from a table's rows, each with integer noise, released at once.

    A *sums* table counts the rows in each block of a product of columns (or adds up whole values
    of them, between -reach and reach). A *residual* table applies r I - 11^T to the r siblings
    of every group, in each of its columns: what is left of the counts when all smaller tables
    are known, in whole numbers. An ordered column may have a matrix of its own in the place of
    that (``ColumnMatrix``), of whole numbers, too. Every number gets independent noise; tables of
    estimates are computed from the noisy numbers alone.

    Formal guarantees
        Gaussian: one DiscreteGaussian event. Its squared ratio is the maximum, over
        neighbouring tables, of the sum over measured tables of |Delta_S|^2/gamma_S^2; gamma_S^2
        is the table's variance, a whole number.

        Proof. One row moves a sums table by a vector with one entry of size at most `reach`,
        and a residual table by the product of its columns' vectors r e_j - 1, of squared norm
        r (r - 1) in each column. For two rows x and y, |v(x) - v(y)|^2 = |v(x)|^2 + |v(y)|^2 -
        2 v(x).v(y), and the inner product is the product over columns of r (r - 1) if the rows
        lie in one block, -r if in two siblings, 0 otherwise; of a column with a matrix, the
        products of the matrix's columns, which ``sensitivity`` bounds. So the sum over tables
        depends only on the level at which the rows part in each column; ``sensitivity`` takes
        the maximum over all these ways. A person with up to L rows: the vector that they move is
        the sum of at most L rows' vectors v, or, replaced, of L differences of two vectors out
        of v and 0, since a row may be missing on either side. Norms are at most L times the
        largest one: L max |v| under add/remove, L max |v - v'| under substitution with one row
        each, and the larger of L max |v - v'| and L max |v| with several.
        [Canonne-Kamath-Steinke 2020; ResidualPlanner: Xiao-He-Zhang-Kifer 2023]

        Laplace (sums tables only): pure, with epsilon the same maximum of the sum over tables
        of |Delta_T|_1/b_T. One row moves one entry of each table, a pair of rows two entries by
        one each, or one entry by at most 2 reach. [Dwork-McSherry-Nissim-Smith 2006; hierarchies:
        Qardaji-Yang-Li 2013]

        A total that is not measured is public: the number of rows under substitution with one
        row per person, or a number that the user declares.
    """

    trees: tuple[tuple[int, Basis], ...]
    measured: tuple[NoisyForm, ...]
    law: str = "gaussian"
    values: tuple[SummedColumn, ...] = ()
    rows_per_person: int = 1
    title: ClassVar[str] = "measure-tables"

    def __post_init__(self) -> None:
        one_of(LAWS, law=self.law)
        set_counts(self, rows_per_person="rows_per_person")
        if not self.measured:
            raise ParameterError("nothing is measured; ask for at least one table")
        for each in self.measured:
            self._check(each)

    def _check(self, each: NoisyForm) -> None:
        table = each.table
        if each.noise <= 0:
            raise ParameterError("noise is not positive; every measured table needs some")
        if self.law == "gaussian" and (each.noise.denominator != 1 or table.reach >= 2**30):
            raise ParameterError("the variances of Gaussian noise are whole numbers")
        if table.residual and (self.law == "laplace" or each.values is not None):
            raise ParameterError("residuals are for counts with Gaussian noise; measure sums")
        wanted = (1, False) if each.values is None else (self.values[each.values].reach, True)
        if (table.reach, table.signed) != wanted:
            raise ParameterError("the reach of a table is not that of what it sums")
        limit = _LARGEST_VARIANCE if self.law == "gaussian" else _LARGEST_SCALE
        factor = table.reach * (self._reach(table) if table.residual else 1)
        if each.noise >= limit or factor * MOST_ROWS >= _LARGEST_NUMBER:
            raise ParameterError(
                "the numbers of a table do not fit 64 bits; ask for a larger epsilon or for "
                "smaller tables"
            )

    def _reach(self, table: TableForm) -> int:
        product, trees = 1, self.by_column
        for column, level in table.place:
            product *= trees[column].reach(level)
        return product

    @cached_property
    def by_column(self) -> Mapping[int, Basis]:
        """How each column is measured."""
        return dict(self.trees)

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        residual = sum(each.table.residual for each in self.measured)
        sums = len(self.measured) - residual
        kinds = [f"{n} {what}" for n, what in ((residual, "residual"), (sums, "plain")) if n]
        law = f"discrete {self.law.capitalize()} noise"
        noun = "table" if len(self.measured) == 1 else "tables"
        return f"{self.title}, {' and '.join(kinds)} {noun} with {law}"

    def size(self, relation: Relation) -> Fraction:
        """The squared ratio of Gaussian noise, or the epsilon of Laplace noise; never too low."""
        tables = [each.table for each in self.measured]
        weights = [1 / each.noise for each in self.measured]
        return joint_size(self.law, tables, self.by_column, weights, relation, self.rows_per_person)

    def promise(self, relation: Relation) -> Promise:
        """What the release of all tables is charged, and why."""
        size = self.size(relation)
        if self.law == "laplace":
            noise = promise("discrete-laplace", "additive", relation, noise_multiplier=1 / size)
            event = self._laplace_event(size, relation)
            statement = noise.statement.replace(describe(noise.event), describe(event))
            cited = f"{noise.citation}; blocks: Qardaji-Yang-Li 2013"
            return Promise(event, cited, statement)
        noise = promise(
            "discrete-gaussian",
            "additive-joint",
            relation,
            squared_ratio=rounded_up(size),
            least_variance=min(each.noise for each in self.measured),
        )
        cited = f"{noise.citation}; residual tables: Xiao-He-Zhang-Kifer 2023"
        return Promise(noise.event, cited, noise.statement)

    def _laplace_event(self, size: Fraction, relation: Relation) -> Event:
        """Every table's own measurement, where these add up to no more epsilon than all together.

        A table moves by at most L reach in the l1 norm, or, replaced, by as much up and as much
        down: in other cells, or in one where values have signs. So for two neighbours the release
        is no more than these measurements, one after the other; its rho is far below that of one
        measurement with all of the epsilon. Of several replaced rows a total moves only if others
        move less, and of very many different scales the record would be long: then one measurement
        stands for all.
        """
        parts: Counter[Fraction] = Counter()
        for each in self.measured:
            table = each.table
            multiplier = each.noise / (self.rows_per_person * table.reach)
            if relation is Relation.ADD_REMOVE:
                parts[multiplier] += 1
            elif table.signed:
                parts[multiplier / 2] += 1
            elif table.place:
                parts[multiplier] += 2
            elif self.rows_per_person > 1:
                parts[multiplier] += 1
        total = sum((times / multiplier for multiplier, times in parts.items()), Fraction(0))
        if len(parts) > MOST_SCALES or total != size:
            return DiscreteLaplace(1 / size, relation)
        ordered = sorted(parts.items())
        events = [
            laplace_event(multiplier / times, times, relation) for multiplier, times in ordered
        ]
        return events[0] if len(events) == 1 else Compose(tuple(events))

    def check(self, table: SealedTable) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_planned(table, self.rows_per_person)
        check_rows(table)

    def drawn(self, table: SealedTable, key: Key) -> tuple[NDArray[np.int64], ...]:
        """Every measured table with its noise."""
        return noisy_tables(table, self.by_column, self.measured, self.values, self.law, key)


def joint_size(
    law: str,
    tables: Sequence[TableForm],
    trees: Mapping[int, Basis],
    weights: Sequence[Fraction],
    relation: Relation,
    rows_per_person: int,
) -> Fraction:
    """How far one person moves all tables together, never too low.

    With Gaussian noise a table's squared norm is multiplied by its weight (one over the
    variance), with Laplace noise its l1 norm (one over the scale).
    """
    pair = relation is Relation.SUBSTITUTION
    single = not pair or rows_per_person > 1
    if law == "laplace":
        sizes = [total_pair(tables, weights)] if pair else []
        sizes += [total_single(tables, weights)] if single else []
        return rows_per_person * max(sizes)
    floats = np.array([float(weight) for weight in weights])
    sizes = [squared_pair(tables, trees, floats)] if pair else []
    sizes += [squared_single(tables, trees, floats)] if single else []
    return rows_per_person**2 * max(sizes)
