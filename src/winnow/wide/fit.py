"""A graphical model fitted to released tables. Post-processing: only released numbers come in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.wide.descent import minimise
from winnow.wide.junction_tree import Columns
from winnow.wide.kernels.tree_layout import TreeLayout
from winnow.wide.kernels.tree_tables import TreeTables
from winnow.wide.objective import TreeObjective

Floats = NDArray[np.float64]
Theta = Mapping[Columns, Floats]

FIRST_PULL = 100.0
"""tau before anything is known of the dependence; see ``Estimator``."""

_STEPS, _LAST_STEPS = 100, 250
"""The most steps of a fit: between two rounds, and of the last."""
_TOLERANCE, _LAST_TOLERANCE = 1e-4, 1e-6
_LEAST_DIVERGENCE = 0.01
_SETTLED, _MOST_FITS = 1.2, 5
"""A pull that changes by less is final; after so many fits it is, anyhow."""


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """A released table: what a model is fitted to."""

    columns: Columns
    counts: NDArray[np.int64] | Floats
    sigma: float


@dataclass(frozen=True)
class FitQuality:
    """How well a model fits the released tables, with a proof of how near the best it is."""

    loss: float
    """The sum of (released count - model's count)^2 / (2 sigma^2), repeated tables merged."""
    objective: float
    """What was minimised: the loss, without what no distribution can fit, and the pull."""
    gap: float
    """No distribution whatever has an objective smaller by more than this."""
    pull: float
    """The factor of the divergence from independent columns in the objective."""
    steps: int

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain data."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class TreeFit:
    """A fitted model, and how good the fit is."""

    model: TreeTables
    theta: Theta
    """The log potentials, by table."""
    quality: FitQuality
    divergence: float
    """Of the model from independent columns, in nats."""
    effective: float
    """About how many parameters of dependence the tables determine against the pull."""


def merged(tables: Sequence[NoisyTable]) -> dict[Columns, tuple[Floats, float]]:
    """One table for each set of columns, flat: means of repeated ones, weighted by accuracy.

    The likelihood stays the same, up to a constant.
    """
    sums: dict[Columns, tuple[Floats, float]] = {}
    for table in tables:
        precision = table.sigma**-2
        seen, before = sums.get(table.columns, (np.zeros(table.counts.size), 0.0))
        sums[table.columns] = seen + precision * table.counts.reshape(-1), before + precision
    return {
        columns: (seen / precision, precision**-0.5) for columns, (seen, precision) in sums.items()
    }


def fit(
    shape: Sequence[int],
    tables: Sequence[NoisyTable],
    total: int,
    *,
    tau: float,
    start: Theta | None = None,
    center: Theta | None = None,
    last: bool = True,
) -> TreeFit:
    """The model that minimises F, nearly: from ``start``, with a pull ``tau`` towards ``center``.

    The last of several fits is taken further, and certified.
    """
    measured = merged(tables)
    layout = TreeLayout(shape, measured)
    observed, variances = np.empty(layout.size), np.empty(layout.size)
    loose = 0.0
    for columns, (counts, sigma) in measured.items():
        place, short = layout.places[columns], (total - float(counts.sum())) / counts.size
        loose += 0.5 * short**2 * counts.size / sigma**2  # what no distribution can fit
        observed[place] = (counts + short) / total
        variances[place] = (sigma / total) ** 2
    objective = TreeObjective(layout, observed, variances, _flat(layout, center or {}), tau)
    point, steps = minimise(
        objective,
        _started(objective, start or {}),
        most=_LAST_STEPS if last else _STEPS,
        tolerance=_LAST_TOLERANCE if last else _TOLERANCE,
    )
    gap = objective.gap(point) if last else math.inf
    layout.propagate(point.theta, np.empty(layout.size))
    # a constant in a table's theta changes nothing: kept out, so that numbers stay small
    theta = {
        c: point.theta[place] - point.theta[place].mean() for c, place in layout.places.items()
    }
    return TreeFit(
        layout.model(),
        theta,
        FitQuality(point.loss + loose, point.value, gap, tau, steps),
        point.divergence,
        _effective(objective, point.marginals),
    )


class Estimator:
    """Fits models to more and more tables, each starting from the one before.

    The pull tau goes towards independent columns, as their own tables tell them. In a Gaussian
    approximation tau KL(p | q) is a prior under which KL has the mean d / (2 tau), d the number of
    parameters that the tables determine: each fit sets tau = d / (2 KL) for the next, the rule of
    the evidence [MacKay 1992]. Like all of the fit it sees released numbers only.
    """

    def __init__(self, shape: Sequence[int], total: int) -> None:
        self._shape = tuple(shape)
        self._total = total
        self._theta: Theta = {}
        self._center: Theta = {}
        self._alone = 0
        self._tau = FIRST_PULL

    def fit(self, tables: Sequence[NoisyTable], *, last: bool = False) -> TreeFit:
        """A model of all tables released so far."""
        alone = [table for table in tables if len(table.columns) == 1]
        if len(alone) > self._alone:
            even = fit(self._shape, alone, self._total, tau=1.0, last=False)
            self._alone, self._center = len(alone), even.theta
        found = fit(
            self._shape,
            tables,
            self._total,
            tau=self._tau,
            start=self._theta,
            center=self._center,
            last=last,
        )
        self._theta = found.theta
        if found.effective > 0.0:
            self._tau = found.effective / (2.0 * max(found.divergence, _LEAST_DIVERGENCE))
        return found

    def settled(self, tables: Sequence[NoisyTable]) -> TreeFit:
        """A model of tables that came all at once: fitted until the pull does not change."""
        for _ in range(_MOST_FITS - 1):
            before = self._tau
            self.fit(tables)
            if max(before, self._tau) <= _SETTLED * min(before, self._tau):
                break
        return self.fit(tables, last=True)


def _flat(layout: TreeLayout, theta: Theta) -> Floats:
    found = np.zeros(layout.size)
    for columns, place in layout.places.items():
        if columns in theta:
            found[place] = theta[columns]
    return found


def _started(objective: TreeObjective, start: Theta) -> Floats:
    """theta by table; a new table, smallest first, by a softened proportional fitting."""
    layout = objective.layout
    theta, marginals = _flat(layout, start), np.empty(layout.size)
    for columns in layout.sets:
        if columns not in start:
            place = layout.places[columns]
            layout.propagate(theta, marginals)
            soft = np.sqrt(objective.variances[place])
            wanted = np.maximum(objective.observed[place], 0.0)
            theta[place] += np.log((wanted + soft) / (marginals[place] + soft))
    return theta


def _effective(objective: TreeObjective, marginals: Floats) -> float:
    """The cells of tables of several columns whose counts tell more than the pull does.

    A cell of probability m counts as m / (m + tau s^2), a table for its share of parameters that
    its columns alone do not have. What tables share is counted in each: an upper estimate.
    """
    found = 0.0
    for columns, place in objective.layout.places.items():
        sizes = objective.layout.tree.sizes(columns)
        cells = math.prod(sizes)
        joint = (cells - 1 - sum(size - 1 for size in sizes)) / cells
        known = marginals[place]
        against = known + objective.tau * objective.variances[place]
        if len(columns) > 1:
            share = np.divide(known, against, out=np.zeros(cells), where=known > 0.0)
            found += joint * float(share.sum())
    return found
