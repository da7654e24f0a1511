"""What a wide release is compared with: AIM over two fits, independent columns, plain noise.

All under substitution with zCDP, as published, with float noise; models are fitted by the same
estimator and within the same number of cells, so that the loops are compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np

import winnow as wn
from _common import opened
from winnow import SealedTable, Workload
from winnow.core.workloads.marginal import MarginalPart
from winnow.fit.tables import Estimator, NoisyTable
from winnow.privacy import zcdp_rho
from winnow.read.crossing import true_counts
from winnow.release.graphical.kernels.elimination import within
from winnow.release.graphical.rules import model_cells, pair_noise
from winnow.release.graphical.settings import WideSettings, wide_settings
from winnow.release.terms import ReleaseTerms

Columns = tuple[int, ...]
Model = Callable[[Columns], np.ndarray]

ROOT_2 = math.sqrt(2)  # one replaced row moves two counts of a table
L1 = math.sqrt(2 / math.pi)


class Truth:
    """True tables, counted when they are asked for."""

    def __init__(self, table: SealedTable) -> None:
        self.table, self.shape, self.rows = table, table.schema.shape, int(table.n or 0)
        self._known: dict[Columns, np.ndarray] = {}

    def of(self, columns: Columns) -> np.ndarray:
        if columns not in self._known:
            alone = Workload(self.table.schema, (MarginalPart(self.table.schema, columns),))
            self._known[columns] = opened(true_counts(self.table, alone)).astype(np.float64)
        return self._known[columns]

    def noisy(self, columns: Columns, sigma: float, generator: np.random.Generator) -> NoisyTable:
        true = self.of(columns)
        counts = np.rint(true + generator.normal(0, sigma, true.size)).astype(np.int64)
        return NoisyTable(columns, counts, sigma)


def aim(
    truth: Truth,
    epsilon: float,
    delta: float,
    seed: int,
    fitted_by: Callable[..., Any] = Estimator,
    ways: int = 3,
) -> Model:
    """AIM [McKenna et al. 2022, algorithm 4]: rounds whose noise halves when they stop telling."""
    generator, columns = np.random.default_rng(seed), len(truth.shape)
    rho = float(zcdp_rho(epsilon, delta))
    pairs = list(combinations(range(columns), 2))
    nu = pair_noise(
        truth.shape, pairs, epsilon=epsilon, rho=rho, people=2, rows_per_person=1, rows=truth.rows
    )
    most = model_cells(nu)
    workload = wn.marginals(min(ways, columns)).over(truth.table.schema)
    terms = ReleaseTerms(workload, 1e3, delta, truth.table.relation, total=truth.rows)
    rounds = wn.Graphical(rounds=1, first_share=0.1, model_cells=most)
    planned = wide_settings(rounds, terms)
    assert isinstance(planned, WideSettings)
    sets = [part.columns for part in planned.candidates.parts]  # type: ignore[attr-defined]
    weights = np.array(planned.weights, np.float64) / max(planned.weights)
    sigma = math.sqrt(16 * columns / (2 * 0.9 * rho))
    choice = math.sqrt(8 * 0.1 * rho / (16 * columns))
    estimator = fitted_by(truth.shape, truth.rows)
    released = [truth.noisy((c,), ROOT_2 * sigma, generator) for c in range(columns)]
    used, done = columns * 0.5 / sigma**2, False
    model = estimator.fit(released).model
    while not done:
        if rho - used < 2 * (0.5 / sigma**2 + choice**2 / 8):
            sigma, choice = math.sqrt(1 / (1.8 * (rho - used))), math.sqrt(0.8 * (rho - used))
            done = True
        used += 0.5 / sigma**2 + choice**2 / 8
        held, noise = [each.columns for each in released], L1 * ROOT_2 * sigma
        places, scores = [], []
        fits = [True] * len(sets)  # residuals have no model that could grow too large
        if fitted_by is not Residuals:
            fits = within(truth.shape, held, sets, int(most * used / rho))
        for place, each in enumerate(sets):
            if fits[place]:
                true = truth.of(each)
                far = np.abs(true - truth.rows * model.marginal(each).ravel()).sum()
                places.append(place)
                scores.append(weights[place] * (far - noise * true.size))
        if not places:
            break
        drawn = choice / 4 * np.array(scores) + generator.gumbel(size=len(scores))
        chosen = sets[places[int(drawn.argmax())]]
        before = model.marginal(chosen)
        released.append(truth.noisy(chosen, ROOT_2 * sigma, generator))
        model = estimator.fit(released, last=done).model
        if truth.rows * np.abs(model.marginal(chosen) - before).sum() <= noise * before.size:
            sigma, choice = sigma / 2, 2 * choice
    marginal: Model = model.marginal
    return marginal


class Residuals:
    """Tables from residuals, each the mean of all that was measured of it, weighed by precision.

    What GReM [Mullins et al. 2024] makes of noisy tables, without a model: AIM over it is AIM with
    GReM [arXiv 2602.05674]. Tables are cut off at 0 and scaled to all rows, one by one.
    """

    def __init__(self, shape: tuple[int, ...], total: int) -> None:
        self.shape, self.total, self._used = shape, total, 0
        self._known: dict[Columns, tuple[np.ndarray, float]] = {}

    def fit(self, tables: list[NoisyTable], *, last: bool = False) -> Any:
        for each in tables[self._used :]:
            self._take(each)
        self._used = len(tables)
        return SimpleNamespace(model=self)

    def _take(self, table: NoisyTable) -> None:
        columns, sizes = table.columns, [self.shape[c] for c in table.columns]
        whole = np.asarray(table.counts, np.float64).reshape(sizes)
        for ways in range(1, len(columns) + 1):
            for axes in combinations(range(len(columns)), ways):
                rest = tuple(axis for axis in range(len(columns)) if axis not in axes)
                held = whole.sum(axis=rest)
                for axis in range(ways):
                    held = held - held.mean(axis=axis, keepdims=True)
                precision = 1.0 / (table.sigma**2 * math.prod(sizes[axis] for axis in rest))
                name = tuple(columns[axis] for axis in axes)
                mean, before = self._known.get(name, (np.zeros(()), 0.0))
                both = before + precision
                self._known[name] = (before * mean + precision * held) / both, both

    def marginal(self, columns: Columns) -> np.ndarray:
        """The table of some columns, as fractions."""
        ordered = tuple(sorted(columns))
        sizes = [self.shape[c] for c in ordered]
        found = np.full(sizes, self.total / math.prod(sizes))
        for ways in range(1, len(ordered) + 1):
            for name in combinations(ordered, ways):
                if name in self._known:
                    along = [self.shape[c] if c in name else 1 for c in ordered]
                    rest = math.prod(sizes) / math.prod(along)
                    found = found + self._known[name][0].reshape(along) / rest
        found = np.maximum(found, 0.0) + 1e-12
        return np.transpose(found / found.sum(), [ordered.index(c) for c in columns])


def independent(truth: Truth, epsilon: float, delta: float, seed: int) -> Model:
    """Each column alone with the whole budget, and no dependence."""
    generator, columns = np.random.default_rng(seed), len(truth.shape)
    sigma = ROOT_2 * math.sqrt(columns / (2 * float(zcdp_rho(epsilon, delta))))
    lines = []
    for column in range(columns):
        counts = np.maximum(truth.noisy((column,), sigma, generator).counts, 0.0)
        lines.append((counts + 1e-9) / (counts + 1e-9).sum())
    return lambda wanted: np.einsum(
        *[part for axis, c in enumerate(wanted) for part in (lines[c], [axis])],
        list(range(len(wanted))),
    )


def all_pairs(truth: Truth, epsilon: float, delta: float, seed: int) -> Model:
    """Noise on every table of two columns, cut off at 0; of larger tables it knows nothing."""
    return all_tables(truth, epsilon, delta, seed, math.comb(len(truth.shape), 2))


def all_tables(truth: Truth, epsilon: float, delta: float, seed: int, tables: int) -> Model:
    """Noise on each of so many tables, cut off at 0."""
    generator = np.random.default_rng(seed)
    sigma = ROOT_2 * math.sqrt(tables / (2 * float(zcdp_rho(epsilon, delta))))

    def model(wanted: Columns) -> np.ndarray:
        counts = np.maximum(truth.noisy(wanted, sigma, generator).counts, 0.0)
        return np.asarray((counts + 1e-9) / (counts + 1e-9).sum())

    return model
