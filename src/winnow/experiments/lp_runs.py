"""Runs of FastMWEM's scalar-private solver (Algorithm 3) with one selection or another.

    lazy         Winnow's exact lazy selection, as in ``winnow.lp``
    scan         the exponential mechanism over all rows, in float64
    flat         the head from a look at all rows, the tail by lazy Gumbel sampling
    hnsw, ivf    the head from an index over (A_i, b_i), the tail likewise

All take the same rounds, epsilon and step, with signed scores and x^(t+1) (errata). The index
holds the private b_i, so it would have to stay on the private side; here all data are made up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.workloads.arrays import Stream
from winnow.experiments.experiment import clock, exponentials, gumbels, normals, since, uniforms
from winnow.experiments.mwem_runs import DELTA, EPSILON
from winnow.inner_product.index.building import build_index
from winnow.inner_product.index.flat import Index
from winnow.inner_product.kernels.lazy_gumbel import lazy_gumbel
from winnow.lp.calibration import LpExpected
from winnow.lp.methods import ScalarSides
from winnow.lp.request import Lp
from winnow.lp.sealing import LpProblem, lp_problem

Floats = NDArray[np.float64]

COLUMNS = 20
ALPHA = 0.5
_UNITS = 1 << 20


@dataclass(frozen=True)
class PaperProgram:
    """A x <= b with a solution on the simplex, as in Section 5.3."""

    rows: Floats
    sides: Floats
    columns: Floats
    """The rows once more, column by column, as scans read them."""
    _indices: dict[str, tuple[Index, float]] = field(default_factory=dict, repr=False)

    def index(self, name: str) -> tuple[Index, float]:
        """An index over (A_i, -b_i), made once, and the seconds that this took."""
        if name not in self._indices:
            start = clock()
            vectors = np.concatenate([self.rows, -self.sides[:, None]], axis=1)
            made = build_index(name, vectors.astype(np.float32))
            self._indices[name] = (made, since(start))
        return self._indices[name]

    def forget(self, name: str) -> None:
        """Let go of an index."""
        self._indices.pop(name, None)

    def violations(self, x: Floats) -> Floats:
        """A x - b."""
        return np.asarray(self.rows @ x - self.sides)


@dataclass(frozen=True)
class Solved:
    """What a run gave."""

    x: Floats
    prepare_seconds: float
    """For the index; 0 without one."""
    seconds: float
    """For all rounds."""
    plan: LpExpected


def program(m: int, seed: int) -> PaperProgram:
    """Normal rows, a random solution, and a slack between 0 and 0.1."""
    stream = Stream(seed, f"program {m}")
    rows = normals(stream, m * COLUMNS).reshape(m, COLUMNS)
    solution = exponentials(Stream(seed, "solution"), COLUMNS)
    slack = 0.1 * uniforms(stream, m)
    sides = rows @ (solution / solution.sum()) + slack
    return PaperProgram(rows, sides, np.ascontiguousarray(rows.T))


def solve(given: PaperProgram, arm: str, rounds: int, sensitivity: float, seed: int) -> Solved:
    """All rounds of one arm."""
    plan = plan_for(given, rounds, sensitivity)
    if arm == "lazy":
        start = clock()
        problem = _sealed(given)
        released = _asked(rounds, sensitivity).plan(problem).run(problem, seed=seed)
        return Solved(released.value.x, 0.0, since(start), plan)
    select = _Scan(given, plan, seed) if arm == "scan" else _Indexed(given, arm, plan, seed)
    making = 0.0 if arm in ("scan", "flat") else given.index(arm)[1]
    start = clock()
    x, total = np.full(COLUMNS, 1 / COLUMNS), np.zeros(COLUMNS)
    for _ in range(rounds):
        total += x
        x = x * np.exp(-plan.step * given.rows[select(x)])
        x /= x.sum()
    return Solved(total / rounds, making, since(start), plan)


def plan_for(given: PaperProgram, rounds: int, sensitivity: float) -> LpExpected:
    """Rounds, step and epsilon, as ``winnow.lp`` has them."""
    return _asked(rounds, sensitivity).plan(_sealed(given)).expected


def _asked(rounds: int, sensitivity: float) -> Lp:
    method = ScalarSides(sensitivity=sensitivity, rounds=rounds)
    return Lp(method=method, epsilon=EPSILON, delta=DELTA)


def _sealed(given: PaperProgram) -> LpProblem:
    costs = np.ones(COLUMNS)
    return lp_problem(given.rows, given.sides, costs, opt=1.0, relation=Relation.SUBSTITUTION)


def _rate(plan: LpExpected) -> float:
    """The exponent of one unit of violation."""
    return plan.selection_epsilon / (2 * plan.setting.sensitivity)


def _looked_at(given: PaperProgram, x: Floats) -> Floats:
    """All violations on one core, column by column, without the threads of a BLAS."""
    score, term = -given.sides, np.empty(len(given.sides))
    for column, value in zip(given.columns, x, strict=True):
        score += np.multiply(column, value, out=term)
    return score


class _Scan:
    def __init__(self, given: PaperProgram, plan: LpExpected, seed: int) -> None:
        self._given, self._rate = given, _rate(plan)
        self._stream = Stream(seed, "scan of rows")

    def __call__(self, x: Floats) -> int:
        score = _looked_at(self._given, x)
        score *= self._rate
        return int(np.argmax(score + gumbels(self._stream, len(score))))


class _Indexed:
    def __init__(self, given: PaperProgram, name: str, plan: LpExpected, seed: int) -> None:
        self._given, self._size = given, math.isqrt(len(given.sides)) + 1
        self._index = None if name == "flat" else given.index(name)[0]
        self._scale = Fraction(repr(_rate(plan))) / _UNITS
        self._tape, self._round = Tape.seeded(seed).child(f"rows-{name}"), 0

    def __call__(self, x: Floats) -> int:
        if self._index is None:
            head = np.argpartition(-_looked_at(self._given, x), self._size)[: self._size]
        else:
            head = self._index.top(np.append(x, 1.0), self._size)[0]
        scores = self._scores(x, head)
        self._round += 1
        return lazy_gumbel(
            len(self._given.sides), head, scores, int(scores.min()),
            lambda ids: self._scores(x, ids), self._scale,
            self._tape.child(f"round-{self._round}"),
        )  # fmt: skip

    def _scores(self, x: Floats, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        off = self._given.rows[ids] @ x - self._given.sides[ids]
        return np.rint(off * _UNITS).astype(np.int64)
