"""Two ways to find the edges of bins privately: by quantiles, or by a fit to many noisy counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from winnow.core.column import Column
from winnow.core.key import Key
from winnow.core.plan import Plan
from winnow.core.schema import Schema
from winnow.numbers.about import AskedColumn
from winnow.numbers.histogram.adapting import fitted_stops
from winnow.numbers.histogram.bins import Bins, bins_column, quantile_bins
from winnow.numbers.histogram.crossing import binned
from winnow.numbers.plan import QuantilesPlan
from winnow.read.crossing import SealedTable
from winnow.release.tables.plan import TabulatePlan


@dataclass(frozen=True)
class PrivateEdges(ABC):
    """What is drawn before the bins are known; they follow from what it released."""

    column: Column
    of: AskedColumn

    @property
    @abstractmethod
    def plan(self) -> Plan[SealedTable, Any]:
        """What is charged for it."""

    @abstractmethod
    def bins(self, table: SealedTable, key: Key) -> Bins:
        """The bins, of a paid run."""

    @property
    def error(self) -> float | None:
        """The largest expected rank error of an edge, in rows; None: it is not known."""
        return None


@dataclass(frozen=True)
class QuantileEdges(PrivateEdges):
    """The edges are private quantiles, so that about as many rows are in each bin."""

    quantiles: QuantilesPlan

    @property
    def plan(self) -> QuantilesPlan:
        """That of the quantiles."""
        return self.quantiles

    def bins(self, table: SealedTable, key: Key) -> Bins:
        """Between the quantiles."""
        drawn = self.quantiles.mechanism.drawn(table, self.of.place, (), key)
        return quantile_bins(self.column, self.of.grid, drawn.codes[0].tolist())

    @property
    def error(self) -> float | None:
        """That of the quantiles."""
        return self.quantiles.error


@dataclass(frozen=True)
class FittedEdges(PrivateEdges):
    """Many cells of equal width are counted, and runs of them become bins."""

    cells: Bins
    counting: TabulatePlan
    most: int
    """So many bins at most, without those of missing and other values."""

    @property
    def plan(self) -> TabulatePlan:
        """That of the counts of the cells."""
        return self.counting

    def bins(self, table: SealedTable, key: Key) -> Bins:
        """The runs that fit the noisy counts best."""
        schema = Schema((bins_column(self.column.name, self.cells.size),))
        private = binned(table, [(self.of.place, self.cells)], schema)
        row = self.counting.rows[0]
        own = len(self.cells.stops)
        counts = np.asarray(self.counting.draw(private, key).tables[0].estimate[:own], np.float64)
        stops = np.array(self.cells.stops)
        widths = np.diff(np.concatenate([[0], stops])).astype(np.float64)
        ends = fitted_stops(counts, widths, row.standard_error**2, self.most)
        return Bins(self.cells.grid, tuple(stops[np.array(ends) - 1].tolist()), self.cells.further)
