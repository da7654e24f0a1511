"""Graphical models fitted to noisy marginal tables, by the package ``mbi``.

Post-processing of released tables only. The estimation is that of Private-PGM
[McKenna-Sheldon-Miklau 2019], by mirror descent; the tables of the fitted model are then
computed here, from its junction tree, because ``mbi`` compiles a program for every table.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.domain.junction_tree import Columns, junction_tree
from winnow.errors import ExtraMissing
from winnow.kernels.tree_tables import TreeTables, tree_tables

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """A released table: what a model is fitted to."""

    columns: Columns
    counts: NDArray[np.int64]
    sigma: float


def require_mbi() -> Any:
    """The package ``mbi``, or an error that says how to install it.

    Its advice to switch the whole process to double precision is kept to the fits (see
    ``Estimator.fit``), so its warnings about that are not passed on.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import mbi
    except ImportError:
        raise ExtraMissing("mbi", "wide", "a graphical release of a wide table") from None
    return mbi


def merged(tables: Sequence[NoisyTable]) -> list[tuple[Columns, Floats, float]]:
    """One table for each set of columns, flat: means of repeated ones, weighted by accuracy.

    The likelihood stays the same, and a set that is measured again needs no new program.
    """
    sums: dict[Columns, tuple[Floats, float]] = {}
    for table in tables:
        precision = table.sigma**-2
        seen, before = sums.get(table.columns, (np.zeros(table.counts.size), 0.0))
        sums[table.columns] = seen + precision * table.counts.reshape(-1), before + precision
    return [
        (columns, seen / precision, precision**-0.5) for columns, (seen, precision) in sums.items()
    ]


class Estimator:
    """Fits models to more and more tables, each starting from the one before."""

    def __init__(self, shape: Sequence[int], total: int) -> None:
        self._mbi = require_mbi()
        self._shape = tuple(shape)
        self._total = total
        self._domain = self._mbi.Domain(range(len(self._shape)), self._shape)
        self._model: Any = None

    def fit(self, tables: Sequence[NoisyTable], iterations: int) -> TreeTables:
        """The model of the greatest likelihood, nearly: so many steps of mirror descent."""
        import jax

        with jax.enable_x64(True), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            measurements = [
                self._mbi.LinearMeasurement(counts, columns, stddev=sigma)
                for columns, counts, sigma in merged(tables)
            ]
            self._model = self._mbi.estimation.MirrorDescent().estimate(
                self._domain,
                measurements,
                known_total=float(self._total),
                iters=iterations,
                warm_start=self._model,
            )
            potentials = [
                (tuple(factor.domain.attributes), np.asarray(factor.values, np.float64))
                for factor in self._model.potentials.tables.values()
            ]
        tree = junction_tree(self._shape, [columns for columns, _ in potentials])
        return tree_tables(tree, potentials)
