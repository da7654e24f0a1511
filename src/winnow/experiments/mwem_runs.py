"""Runs of Algorithm 1 of FastMWEM with one selection or another, on public data.

    uniform  a query at random: no selection at all
    scan     the exponential mechanism over all signed queries, in float64: standard MWEM
    lazy     Winnow's exact lazy selection: the same law without looking at every query
    flat, ivf, hnsw    Algorithm 2 as in the paper: the head from an index, the tail by lazy
             Gumbel sampling below it (with the binomial of its Algorithm 4, and signed queries)

Everything else is the same in all: rounds calibrated by zCDP, Gaussian measurements, the sign
update, and the average as the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.noise import discrete_gaussian_array
from winnow.core.relation import Relation
from winnow.core.run import single_run
from winnow.core.schema import Schema
from winnow.core.sealed import Sealed
from winnow.core.tape import Tape
from winnow.core.workloads.arrays import Stream, random_queries
from winnow.core.workloads.forms import BitMatrix
from winnow.core.workloads.workload import Workload
from winnow.experiments.experiment import clock, gumbels, normals, since
from winnow.inner_product.index.building import build_index
from winnow.inner_product.index.flat import Index
from winnow.inner_product.kernels.lazy_gumbel import lazy_gumbel
from winnow.privacy.closed_plan import RoundsPlan, calibrate_rounds
from winnow.release.rounds.crossing.lazy_selection import LazyExponential, LazySelector
from winnow.release.rounds.kernels.distribution import Distribution

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Select = Callable[[Distribution], int]

EPSILON, DELTA = 1.0, 1e-3
CELLS, ROWS = 3000, 500
SOURCE = "generated as in Section 5.1"
_BLOCK = 1 << 24
"""Entries of the queries that are written out to time a scan."""
_UNITS = 1 << 20
"""Steps of a row in the scores of the paper's lazy sampling, which takes whole numbers."""


@dataclass
class Instance:
    """Queries and the true counts of public data."""

    workload: Workload
    codes: Sequence[Counts]
    """The rows, a list of codes for each column."""
    counts: Counts = field(init=False)
    data: Floats = field(init=False, repr=False)
    """The distribution of the rows over the cells."""
    rows: int = field(init=False)
    _matrix: NDArray[np.float32] | None = field(default=None, repr=False)
    _indices: dict[str, Index] = field(default_factory=dict, repr=False)
    build_seconds: dict[str, float] = field(default_factory=dict, repr=False)
    """What the making of each index took."""

    def __post_init__(self) -> None:
        self.rows = len(self.codes[0])
        self.counts = self.workload.counts(list(self.codes), np.ones(self.rows, np.int64))
        shape = self.workload.schema.shape
        cells = np.ravel_multi_index(tuple(self.codes), shape)
        self.data = np.bincount(cells, minlength=math.prod(shape)) / self.rows

    @property
    def matrix(self) -> NDArray[np.float32]:
        """All queries written out over the cells."""
        if self._matrix is None:
            self._matrix = _written_out(self.workload)
        return self._matrix

    def index(self, name: str) -> Index:
        """An index over the queries, built once."""
        if name not in self._indices:
            matrix, start = self.matrix, clock()
            self._indices[name] = build_index(name, matrix)
            self.build_seconds[name] = since(start)
        return self._indices[name]

    def forget(self, name: str) -> None:
        """Let go of an index; it is as large as the queries."""
        self._indices.pop(name, None)

    def error(self, weights: Floats) -> tuple[float, float]:
        """Largest and mean error of a distribution over the cells."""
        off = np.abs(self.workload.answers(weights) - self.counts / self.rows)
        return float(off.max()), float(off.mean())


def synthetic(m: int, rows: int, seed: int) -> Instance:
    """The generated data of Section 5.1."""
    workload = random_queries(m, kind="gaussian", seed=seed).over(Schema.parse({"x": CELLS}))
    drawn = CELLS / 3 + CELLS / 15 * normals(Stream(seed, "rows of FastMWEM"), rows)
    return Instance(workload, [np.clip(drawn, 0, CELLS - 1).astype(np.int64)])


@dataclass(frozen=True)
class Trace:
    """What a run gave: errors of the average at some rounds, and the time of a usual selection."""

    rounds: list[int]
    largest: list[float]
    mean: list[float]
    select_seconds: float


def plan_for(rounds: int) -> RoundsPlan:
    """Selection and noise of each round, for (1, 1e-3) in all."""
    return calibrate_rounds(
        rounds, epsilon=EPSILON, delta=DELTA, relation="substitution", accountant="zcdp"
    )


def mwem(instance: Instance, rounds: int, arm: str, seed: int, marks: Sequence[int] = ()) -> Trace:
    """Run all rounds; the error is looked at after those in `marks`, and at the end."""
    plan = plan_for(rounds)
    select = selection(instance, arm, float(plan.selection_epsilon), seed)
    variance = Fraction(repr(float(plan.noise_multiplier))) ** 2
    noise = discrete_gaussian_array(Tape.seeded(seed).child("noise"), rounds, variance)
    distribution = Distribution(instance.workload, instance.rows)
    eta = math.sqrt(math.log(distribution.cells) / rounds)
    wanted = sorted({*marks, rounds})
    errors: list[tuple[float, float]] = []
    spent = np.empty(rounds)
    for t in range(rounds):
        start = clock()
        query = select(distribution)
        spent[t] = since(start)
        gap = (instance.counts[query] + noise[t]) / instance.rows - distribution.answer(query)
        distribution.update(query, math.copysign(eta, gap))
        if t + 1 == wanted[len(errors)]:
            errors.append(instance.error(distribution.average()))
    return Trace(
        wanted,
        [largest for largest, _ in errors],
        [mean for _, mean in errors],
        float(np.median(spent)),
    )


def selection(instance: Instance, arm: str, epsilon: float, seed: int) -> Select:
    """How an arm selects a query."""
    if arm == "lazy":
        return _lazy(instance, epsilon, seed)
    if arm == "scan":
        return _scan(instance, epsilon, seed)
    if arm == "uniform":
        stream, m = Stream(seed, "uniform"), len(instance.counts)
        return lambda distribution: int(stream.below(m, 1)[0])
    return _indexed(instance, arm, epsilon, seed)


def _lazy(instance: Instance, epsilon: float, seed: int) -> Select:
    counts = Sealed(instance.counts, "public counts")
    key, _ = single_run(LazyExponential(epsilon), Relation.ADD_REMOVE, Tape.seeded(seed))
    selector = LazySelector(counts, instance.workload, epsilon, key=key)
    tape = Tape.seeded(seed).child("select")
    return lambda distribution: selector.draw(distribution, tape)[0]


def _scan(instance: Instance, epsilon: float, seed: int) -> Select:
    stream, m = Stream(seed, "scan"), len(instance.counts)

    def select(distribution: Distribution) -> int:
        signed = signed_scores(instance, distribution, epsilon)
        return int(np.argmax(signed + gumbels(stream, 2 * m))) % m

    return select


def signed_scores(instance: Instance, distribution: Distribution, epsilon: float) -> Floats:
    """The exponents of all queries, then of all negated queries."""
    said: NDArray[Any]
    if distribution.dense:
        said = _dense(instance.matrix, distribution.weights().astype(np.float32))
    else:
        said = distribution.answers()
    score = (instance.counts - instance.rows * said) * (epsilon / 2)
    return np.concatenate([score, -score])


def _dense(matrix: NDArray[np.float32], state: NDArray[np.float32]) -> NDArray[np.float32]:
    """All inner products on one core, as in the paper: without the threads of a BLAS."""
    return np.asarray(np.einsum("ij,j->i", matrix, state))


def scan_seconds(instance: Instance, repeats: int = 3) -> float:
    """The time of one dense float32 scan over all queries, as standard MWEM does it.

    Of a large matrix one block is scanned as often as needed, which takes no more memory.
    """
    m = len(instance.counts)
    block = instance.matrix if instance._matrix is not None else _written_out(
        instance.workload, most=max(1, _BLOCK // len(instance.data))
    )  # fmt: skip
    blocks = -(-m // len(block))
    state = (instance.data - 1 / len(instance.data)).astype(np.float32)
    noise = gumbels(Stream(0, "timing"), 2 * len(block)).astype(np.float32)
    best = math.inf
    for _ in range(repeats):
        start = clock()
        for _ in range(blocks):
            score = _dense(block, state)
            int(np.argmax(np.concatenate([score, -score]) + noise))
        best = min(best, since(start))
    return best * m / (blocks * len(block))


def _indexed(instance: Instance, name: str, epsilon: float, seed: int) -> Select:
    m, matrix = len(instance.counts), instance.matrix
    size = math.isqrt(2 * m) + 1
    near = _looked_at(matrix, size) if name == "flat" else _found_by(instance.index(name), m, size)
    scale = Fraction(repr(epsilon)) / (2 * _UNITS)
    root = Tape.seeded(seed).child(f"select-{name}")
    state = {"t": 0}

    def select(distribution: Distribution) -> int:
        weights = distribution.weights()
        ids = near(instance.data - weights)
        scores = _scores(instance, matrix, weights, ids)
        head = np.argsort(-scores)[:size]
        state["t"] += 1
        return lazy_gumbel(
            2 * m, ids[head], scores[head], int(scores[head].min()),
            lambda tail: _scores(instance, matrix, weights, tail), scale,
            root.child(f"round-{state['t']}"),
        ) % m  # fmt: skip

    return select


def _found_by(index: Index, m: int, size: int) -> Callable[[Floats], Counts]:
    """The signed queries that an index holds for the nearest."""
    return lambda gap: np.concatenate([index.top(gap, size)[0], index.top(-gap, size)[0] + m])


def _looked_at(matrix: NDArray[np.float32], size: int) -> Callable[[Floats], Counts]:
    """The paper's flat index: one look at every query, on one core."""
    m = len(matrix)

    def near(gap: Floats) -> Counts:
        score = _dense(matrix, gap.astype(np.float32))
        most = min(size, m - 1)
        ends = np.argpartition(-score, most)[:most], np.argpartition(score, most)[:most] + m
        return np.asarray(np.concatenate(ends), np.int64)

    return near


def _scores(
    instance: Instance, matrix: NDArray[np.float32], weights: Floats, ids: Counts
) -> Counts:
    """Signed scores in steps of 1/_UNITS rows; ids from m on are the negated queries."""
    m = len(instance.counts)
    queries, signs = ids % m, np.where(ids < m, 1, -1)
    said = instance.rows * _dense(matrix[queries], weights.astype(np.float32)).astype(float)
    return np.asarray(np.rint(signs * (instance.counts[queries] - said) * _UNITS), np.int64)


def _written_out(workload: Workload, most: int | None = None) -> NDArray[np.float32]:
    """The queries over the cells; only the first `most` where given."""
    cells = int(workload.schema.cells)
    size = workload.size if most is None else min(most, workload.size)
    matrix = np.empty((size, cells), np.float32)
    first = 0
    for part in workload.parts:
        for start in range(0, min(part.size, size - first), 4096):
            stop = min(start + 4096, part.size, size - first)
            block = matrix[first + start : first + stop]
            if isinstance(part.form, BitMatrix):
                packed = part.form.bits[start:stop].astype("<u8").view(np.uint8)
                block[:] = np.unpackbits(packed, axis=1, bitorder="little")[:, :cells]
            else:
                for place in range(start, stop):
                    block[place - start] = part.row(place)
        first += part.size
        if first >= size:
            break
    return matrix
