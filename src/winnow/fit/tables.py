"""A distribution fitted to released tables, as a graphical model. Post-processing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.fit.empty import empty_cells
from winnow.fit.junction_tree import Columns
from winnow.fit.kernels.tree_layout import Overlaps, Scope, TreeLayout
from winnow.fit.kernels.tree_tables import TreeTables
from winnow.fit.newton import (
    FIRST_PULL,
    PART,
    WEAK,
    WORK,
    Fitted,
    fitted,
    pull_of,
    softened,
)

Floats = NDArray[np.float64]
Theta = Mapping[Scope, Floats]
Start = Mapping[int, Floats]
"""The logs of the probabilities of the codes of columns; others are even."""

LEAST_NOISE = 0.01
"""In rows: noise below it is taken to be so large. To fit closer would change no count."""
_MATTERS, _SEEN = 2.0, 0.001
"""A model is told to differ from the answers where it does by so many times what noise explains,
and by so much of all rows."""
_EMPTY = 3.0
"""Standard errors by which the count of a cell that is taken to be empty is lowered. The fit leaves
it empty, unless other tables say by more than that that people are in it. Chosen on ten
generated tables, epsilon 1, 3 and 10, among 2, 3 and 5: 5 is level, and less safe."""
_ROUGH, _ROUGH_WORK = 0.05, 2 * 10**8
"""Between two rounds answers within 0.3 standard errors of the best will do, and the most work."""
_COLUMN_PULLS, _FLOOR = 5, 1e-3
"""A code that noise hides keeps so much of a standard error in the start: more than rounding, and
less than anything that a table could show."""


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """A released table: what a model is fitted to."""

    columns: Columns
    counts: NDArray[np.int64] | Floats
    sigma: float
    blocks: tuple[int, ...] = ()
    """How many neighbouring codes of each column make one cell; empty: one."""

    @property
    def scope(self) -> Scope:
        """What its cells count."""
        return Scope(self.columns, self.blocks if any(b > 1 for b in self.blocks) else ())


@dataclass(frozen=True)
class FitQuality:
    """How well a model fits the released tables, with a proof of how near the best it is."""

    loss: float
    """The sum of (released count - model's count)^2 / (2 sigma^2), repeated tables merged."""
    objective: float
    """What was minimised: the pull, and the loss without what no distribution can fit, the counts
    of cells that are taken to be empty lowered."""
    gap: float
    """No distribution whatever has an objective smaller by more than this."""
    pull: float
    """The factor of the divergence from independent columns in the objective."""
    steps: int
    goal: float = math.inf
    """The gap at which the fit was to end: its numbers are then within a tenth of a standard error
    of the best ones."""
    distance: float | None = None
    """The mean total variation distance of the model's tables from the answers, over the workload:
    0 where the answers are the model's. None where answers are no tables."""
    noise: float | None = None
    """About the distance that noise puts into the answers; beside ``distance``."""

    @property
    def note(self) -> str:
        """What a person has to know before synthetic rows are used; empty: nothing."""
        if (
            self.distance is not None
            and self.noise is not None
            and (self.distance > max(_MATTERS * self.noise, _SEEN))
        ):
            return (
                f"the model, and rows drawn from it, differ from the released answers by "
                f"{self.distance:.2g} of the rows in a typical table, and noise alone by "
                f"{self.noise:.2g}: the model is too small for all tables. The answers are the "
                "released tables"
            )
        if not self.ended:
            return (
                "the fit ran out of work before its certificate: its numbers may lie "
                f"{math.sqrt(self.gap / self.goal) / 10:.1f} standard errors from the best ones"
            )
        return ""

    @property
    def ended(self) -> bool:
        """Whether the fit reached its goal, and did not run out of work first."""
        return self.gap <= self.goal

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain data."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class TreeFit:
    """A fitted model, and how good the fit is."""

    model: TreeTables
    theta: Theta
    """The log potentials beside those of the start, by table."""
    quality: FitQuality
    divergence: float
    """Of the model from the start, in nats."""


def merged(tables: Sequence[NoisyTable]) -> dict[Scope, tuple[Floats, float]]:
    """One table for each scope, flat: means of repeated ones, weighted by accuracy.

    The likelihood stays the same, up to a constant.
    """
    sums: dict[Scope, tuple[Floats, float]] = {}
    for table in tables:
        precision = max(table.sigma, LEAST_NOISE) ** -2
        seen, before = sums.get(table.scope, (np.zeros(table.counts.size), 0.0))
        sums[table.scope] = seen + precision * table.counts.reshape(-1), before + precision
    return {scope: (seen / precision, precision**-0.5) for scope, (seen, precision) in sums.items()}


class MeasuredTables:
    """Released tables as functions of a graphical model."""

    def __init__(
        self, shape: Sequence[int], tables: Sequence[NoisyTable], total: int, start: Start
    ) -> None:
        measured = merged(tables)
        self.layout = layout = TreeLayout(shape, measured, start)
        self.observed, self.variances, self.joint = np.empty((3, layout.size))
        self.tables = tuple(layout.places.values())
        self.visited = layout.visited
        self.loose = 0.0
        """The part of the loss that no distribution can fit."""
        for scope, (counts, sigma) in measured.items():
            place, short = layout.places[scope], (total - float(counts.sum())) / counts.size
            self.loose += 0.5 * short**2 * counts.size / sigma**2
            self.observed[place] = (counts + short) / total
            self.variances[place] = (sigma / total) ** 2
            self.joint[place] = _joint(layout, scope, start)
        self._overlaps = Overlaps(layout, self.variances)
        self._released, self._short = self.observed, self.loose
        self.observed = self._agreeing(self._released)
        left = self._released - self.observed
        self.loose += 0.5 * float((left * left / self.variances).sum())
        lowered = self.observed.copy()
        for scope, place in layout.places.items():
            if len(scope.columns) > 1 and all(column in start for column in scope.columns):
                error = math.sqrt(float(self.variances[place][0]))
                counts, expected = self.observed[place] / error, self.expected[place] / error
                lowered[place] -= _EMPTY * error * empty_cells(counts, expected)
        self.observed = self._agreeing(lowered)

    @cached_property
    def expected(self) -> Floats:
        """What the start says of every cell."""
        return self.layout.propagate(np.zeros(self.layout.size))[1]

    def loss_of(self, numbers: Floats) -> float:
        """The loss of a model with these numbers, against what was released."""
        away = numbers - self._released
        return self._short + 0.5 * float((away * away / self.variances).sum())

    def _agreeing(self, numbers: Floats) -> Floats:
        """Without what tables contradict each other in: a constant in F that makes mu large."""
        return self.variances * self.lightest(numbers / self.variances)

    def propagate(self, mu: Floats) -> tuple[float, Floats]:
        """One pass through the tree."""
        return self.layout.propagate(mu)

    def tangent(self, direction: Floats) -> Floats:
        """Another one."""
        return self.layout.tangent(direction)

    def spread(self, numbers: Floats) -> Floats:
        """A row is in a cell or not."""
        return np.asarray(numbers * (1.0 - numbers))

    def lightest(self, x: Floats) -> Floats:
        """Each sum that tables share, divided among them by precision."""
        return self._overlaps.lightest(x)


def _joint(layout: TreeLayout, scope: Scope, start: Start) -> float:
    """The share of a parameter that a cell of a table has, and the start does not."""
    cells = layout.cells(scope)
    known = [layout.shape[c] for c in scope.columns if c in start]
    return max(0, cells - 1 - sum(size - 1 for size in known)) / cells


def quality_of(result: Fitted, loss: float) -> FitQuality:
    """How well a fit ended; ``loss``: against what was released."""
    return FitQuality(loss, result.objective, result.gap, result.pull, result.steps, result.goal)


def fit(
    shape: Sequence[int],
    tables: Sequence[NoisyTable],
    total: int,
    *,
    tau: float | None = None,
    pulls: int | None = None,
    theta: Theta | None = None,
    start: Start | None = None,
    part: float = PART,
    work: int = WORK,
) -> TreeFit:
    """The model nearest to the tables, pulled towards the ``start``; from ``theta``."""
    measured = MeasuredTables(shape, tables, total, start or {})
    layout, mu = measured.layout, np.zeros(measured.layout.size)
    for scope, values in (theta or {}).items():
        if scope in layout.places:
            mu[layout.places[scope]] = values
    result = fitted(measured, start=mu, tau=tau, pulls=pulls, part=part, work=work)
    return TreeFit(
        layout.model(),
        {scope: result.mu[place] for scope, place in layout.places.items()},
        quality_of(result, measured.loss_of(result.numbers)),
        result.divergence,
    )


def fit_column(shares: Floats, deviation: float) -> Floats:
    """The codes of one column, or the cells of one table, measured with noise of one deviation.

    Pulled towards even ones by the evidence, as any model; each fit is exact.
    """
    y, even = shares.reshape(-1), np.zeros(shares.size)
    y = y + (1.0 - y.sum()) / y.size
    tau, p = FIRST_PULL, np.maximum(y, deviation)
    p = p / p.sum()
    for _ in range(_COLUMN_PULLS):
        known = float((p / (p + tau * deviation**2)).sum()) * (1.0 - 1.0 / y.size)
        far = float(np.log(y.size) + p[p > 0.0] @ np.log(p[p > 0.0]))
        tau = pull_of(known, far, WEAK / deviation)
        p = softened(y, even, tau * deviation**2)
    return np.asarray(p)


def start_of(columns: Sequence[NoisyTable], total: int) -> Start:
    """Independent columns, as their own tables tell them."""
    potentials = {}
    for scope, (counts, sigma) in merged(columns).items():
        if len(scope.columns) == 1 and not scope.blocks:
            noise = sigma / total
            potentials[scope.columns[0]] = np.log(
                np.maximum(fit_column(counts / total, noise), _FLOOR * noise)
            )
    return potentials


def together(qualities: Sequence[FitQuality]) -> FitQuality | None:
    """How well models of different columns fit, as one: sums, and the weakest pull."""
    if not qualities:
        return None
    return FitQuality(
        sum(each.loss for each in qualities),
        sum(each.objective for each in qualities),
        sum(each.gap for each in qualities),
        min(each.pull for each in qualities),
        sum(each.steps for each in qualities),
        sum(each.goal for each in qualities),
    )


class Estimator:
    """Fits models to more and more tables, each starting from the one before."""

    def __init__(self, shape: Sequence[int], total: int) -> None:
        self._shape = tuple(shape)
        self._total = total
        self._theta: Theta = {}
        self._start: Start = {}
        self._alone = 0
        self._tau: float | None = None

    def fit(self, tables: Sequence[NoisyTable], *, last: bool = False) -> TreeFit:
        """A model of all tables released so far; the last one to the end."""
        alone = [table for table in tables if len(table.columns) == 1]
        if len(alone) > self._alone:
            self._alone, self._start = len(alone), start_of(alone, self._total)
        result = fit(
            self._shape,
            tables,
            self._total,
            tau=self._tau,
            pulls=None if last else 1,
            theta=self._theta,
            start=self._start,
            part=PART if last else _ROUGH,
            work=WORK if last else _ROUGH_WORK,
        )
        self._theta, self._tau = result.theta, result.quality.pull
        return result
