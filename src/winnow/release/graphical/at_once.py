"""All tables of a workload at once, and a model fitted to them: no selection, no rounds.

What is measured, and its noise, are chosen as for ``wn.tabulate``: one event of
``tables.mechanism.MeasureTables``, with its guarantee and its proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from winnow.core.schema import Schema
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.part import table_columns
from winnow.core.workloads.workload import Workload
from winnow.fit.junction_tree import Columns
from winnow.fit.tables import Estimator, NoisyTable
from winnow.release.after_fit import left_of
from winnow.release.graphical.candidates import spread, tables_inside
from winnow.release.graphical.kernels.elimination import within
from winnow.release.graphical.rules import MOST_CANDIDATES
from winnow.release.graphical.synthetic import (
    RESTS_ON,
    TreeFactor,
    WideSynthetic,
    measured_marginal,
)
from winnow.release.tables.estimates import Layer
from winnow.release.tables.result import ReleasedTables
from winnow.release.tables.settings import TablesSettings
from winnow.release.tables.white import estimated, fit_layer
from winnow.release.terms import ReleaseTerms

_ROUNDS, _TAKEN = 24, 3
"""Rounds in which a model of some tables grows, the first third by pairs only; and in each as many
tables are taken as this part of the columns."""
_L1 = math.sqrt(2 / math.pi)
"""The mean size of a standard normal number."""


@dataclass(frozen=True, eq=False)
class AtOnce:
    """A closed plan: nothing in it depends on data."""

    terms: ReleaseTerms
    tables: TablesSettings
    reason: str
    seconds: float
    distance: float
    """About the mean total variation distance of the workload's tables: a rule of thumb."""
    some: int | None = None
    """The most cells of a model of some tables; None: it holds them all."""

    @property
    def schema(self) -> Schema:
        """Of the table."""
        return self.terms.schema


def fit_at_once(planned: AtOnce, layer: Layer) -> WideSynthetic:
    """The model of released estimates; post-processing."""
    total = max(1, round(float(layer.details[()])))
    if planned.some is None:
        every = tuple(range(len(planned.schema.columns)))
        fitted, tables = fit_layer(layer, planned.schema, every, total)
    else:
        estimator = Estimator(planned.schema.shape, total)
        tables = held_together(planned, layer, estimator, total)
        fitted = estimator.fit(tables, last=True)
    value = WideSynthetic(
        planned.schema,
        (TreeFactor(fitted.model),),  # type: ignore[arg-type]
        total,
        workload=planned.terms.workload,
        rests_on=RESTS_ON,
        marginals=tuple(measured_marginal(planned.schema, each) for each in tables),
        fit=fitted.quality,
        tables=ReleasedTables(
            planned.tables.parts, (layer,), planned.tables.strategy.mechanism.law
        ),
    )
    return value.with_distance()


def held_together(
    planned: AtOnce, layer: Layer, estimator: Estimator, total: int
) -> list[NoisyTable]:
    """The tables that a model of ``some`` cells holds: in rounds, those that it gets most wrong.

    The tables are released, so that a round costs nothing: fit, compare every table that the model
    has room for with its estimate, and take those that are further off than noise alone would be.
    Estimates that overlap are correlated; the fit takes their noise for independent.
    """
    schema, most = planned.schema, planned.some or 0
    shape = schema.shape
    every = tables_inside([tuple(sorted(part.columns)) for part in planned.tables.parts])
    sets: list[Columns] = [c for c in every if len(c) == 2]
    sets += spread([c for c in every if len(c) > 2], max(0, MOST_CANDIDATES - len(sets)))
    known = {c: estimated(c, layer, schema) for c in [*((c,) for c in range(len(shape))), *sets]}
    noise = {c: _L1 * known[c].sigma * known[c].counts.size for c in sets}
    scopes: list[Columns] = [(c,) for c in range(len(shape))]
    for done in range(_ROUNDS):
        model = estimator.fit([known[c] for c in scopes]).model
        left = [c for c in sets if c not in scopes and noise[c] < total]
        left = [c for c in left if len(c) == 2] if done < _ROUNDS // 3 else left
        left = [c for c, fits in zip(left, within(shape, scopes, left, most), strict=True) if fits]
        wrong = {}
        for c in left:
            far = np.abs(known[c].counts - total * model.marginal(c)).sum()
            wrong[c] = len(c) * (float(far) - noise[c])
        taken = 0
        for columns in sorted(wrong, key=lambda c: (-wrong[c], c)):
            if taken == max(1, len(shape) // _TAKEN) or wrong[columns] <= 0.0:
                break
            if within(shape, scopes, [columns], most)[0]:
                scopes.append(columns)
                taken += 1
        if not taken and done >= _ROUNDS // 3:
            break
    return [known[c] for c in scopes]


def closure(schema: Schema, sets: Sequence[Columns]) -> Workload:
    """Tables of these columns, and of some of the columns of each.

    The fit needs the small tables well: with noise that is best for the large ones alone its error
    was up to 1.5 times as large.
    """
    every = {
        tuple(sorted(chosen))
        for each in sets
        for ways in range(1, len(each) + 1)
        for chosen in combinations(each, ways)
    }
    ordered = sorted(every, key=lambda columns: (len(columns), columns))
    return Workload(schema, tuple(MarginalPart(schema, columns) for columns in ordered))


def distances_of(planned: TablesSettings, workload: Workload, rows: int) -> tuple[float, float]:
    """The mean total variation distance of a workload's tables: of noise, and after a fit."""
    wanted = {frozenset(table_columns(part) or ()) for part in workload.parts}
    noise, after = [], []
    for part, errors in zip(planned.parts, planned.strategy.each, strict=True):
        if frozenset(part.columns) in wanted:
            noise.append(0.5 * part.size * errors.mean / rows)
            after.append(noise[-1] * left_of(2 * noise[-1], len(part.columns)))
    return sum(noise) / len(noise), sum(after) / len(after)
