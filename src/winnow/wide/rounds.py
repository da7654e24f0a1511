"""A graphical model of a wide table, round by round.

The loop of MWEM+PGM [McKenna-Miklau-Sheldon 2021] with the candidates, weights and penalties
of AIM [McKenna et al. 2022]: measure each column alone; then let the private rounds select a
table that the model gets wrong by more than its noise, measure it, and fit the model to all
tables released so far.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.workloads.part import Part, table_columns
from winnow.core.workloads.workload import Workload
from winnow.errors import ExtraMissing
from winnow.foreign import instead
from winnow.read.crossing import SealedTable, true_counts
from winnow.wide.junction_tree import Columns, junction_tree, tree_cells
from winnow.wide.kernels.tree_tables import TreeTables, tree_tables
from winnow.wide.mechanism import MarginalRun
from winnow.wide.settings import WideSettings
from winnow.wide.synthetic import MeasuredMarginal, TreeFactor, WideSynthetic

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
    missing = ExtraMissing("mbi", "wide", "a graphical release of a wide table")
    with instead(missing, ImportError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import mbi
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


ITERATIONS = 100
"""Steps of mirror descent after each round."""
LAST_ITERATIONS = 1000


def fit_wide(
    table: SealedTable,
    run: MarginalRun,
    planned: WideSettings,
    progress: Callable[[int, int], None] | None = None,
) -> WideSynthetic:
    """Ask for every paid round and fit the model.

    The table is handed on sealed; only what the rounds release is looked at.
    """
    released = [
        NoisyTable(_columns(part), counts, planned.first_sigma)
        for part, counts in zip(planned.first.parts, run.first, strict=True)
    ]
    total = planned.total if planned.total is not None else _total(released)
    every = planned.mechanism.rounds
    kept = planned.worthwhile(total)
    estimator = Estimator(planned.schema.shape, total)
    model = estimator.fit(released, ITERATIONS)
    if kept:
        tables = tuple(planned.candidates.parts[i] for i in kept)
        candidates = Workload(planned.schema, tables)
        rounds = run.start(
            true_counts(table, candidates), candidates, [planned.weights[i] for i in kept]
        )
        penalties = [planned.penalties()[i] for i in kept]
        for done in range(every):
            allowed = allowed_candidates(planned, candidates, released)
            found = rounds.next(
                allowed,
                [total * model.marginal(_columns(tables[i])) for i in allowed],
                [penalties[i] for i in allowed],
            )
            chosen = _columns(tables[found.candidate])
            released.append(NoisyTable(chosen, found.counts, planned.sigma))
            model = estimator.fit(released, ITERATIONS if done < every - 1 else LAST_ITERATIONS)
            if progress is not None:
                progress(done + 1, every)
    factor = TreeFactor(model)
    return WideSynthetic(
        planned.schema,
        (factor,),  # type: ignore[arg-type]
        total,
        workload=planned.workload,
        rests_on=(
            "a graphical model fitted to the measured tables: columns that no measured table "
            "joins are independent given the others"
        ),
        marginals=tuple(_measured(planned, each) for each in released),
    )


def allowed_candidates(
    planned: WideSettings, candidates: Workload, released: list[NoisyTable]
) -> list[int]:
    """The candidates with which the model stays within ``model_cells``: by public rule."""
    held = [each.columns for each in released]
    shape = planned.schema.shape
    return [
        i
        for i, part in enumerate(candidates.parts)
        if tree_cells(shape, [*held, _columns(part)]) <= planned.model_cells
    ]


def _columns(part: Part) -> tuple[int, ...]:
    columns = table_columns(part)
    if columns is None:
        raise TypeError("a candidate is a marginal table")
    return columns


def _total(first: list[NoisyTable]) -> int:
    """The number of rows, from the sums of the noisy tables, weighted by their accuracy."""
    sums = [float(table.counts.sum()) for table in first]
    weights = [1.0 / table.counts.size for table in first]
    return max(1, round(float(np.average(sums, weights=weights))))


def _measured(planned: WideSettings, table: NoisyTable) -> MeasuredMarginal:
    names = tuple(planned.schema.names[c] for c in table.columns)
    shape = planned.schema.subset(names).shape
    return MeasuredMarginal(names, table.counts.reshape(shape), table.sigma)
