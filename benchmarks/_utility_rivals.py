"""What Winnow's choice is compared with: plain noise, HB16 and DAWA. For comparison only.

Float noise, one record replaced by another (the number of rows is public). None of this is for
use: noise of floats is not private, whatever its scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from _utility_cases import Case
from winnow.core.workloads.forms import CodeRanges, WholeTable

Floats = np.ndarray
Answer = Callable[[Floats], Floats]
_PARTITION = 0.25  # DAWA: what the partition gets of epsilon, as its authors have it
_TRIED = 8


@lru_cache
def multiplier(epsilon: float, delta: float) -> float:
    """Sigma over the l2 sensitivity of Gaussian noise [Balle-Wang 2018, Thm 8]."""

    def spent(s: float) -> float:
        far = math.exp(epsilon + log_ndtr(-0.5 / s - epsilon * s))
        return float(ndtr(0.5 / s - epsilon * s) - far - delta)

    return float(brentq(spent, 1e-3, 1e7, xtol=1e-12))


class Noise:
    """The law with the smaller variance, for numbers of these sensitivities."""

    def __init__(self, epsilon: float, delta: float, l1: float, l2: float) -> None:
        self.scale, self.gaussian = l1 / epsilon, False
        self.deviation = math.sqrt(2) * self.scale
        if delta and (sigma := multiplier(epsilon, delta) * l2) < self.deviation:
            self.scale = self.deviation = sigma
            self.gaussian = True

    def draw(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        if self.gaussian:
            return rng.normal(0, self.scale, size)
        return rng.laplace(0, self.scale, size)


def answer_noise(case: Case, epsilon: float, delta: float, rng: np.random.Generator) -> Floats:
    """Noise on every answer; the cells of a table are one release."""
    forms = [part.form for part in case.queries.parts]
    if all(isinstance(form, WholeTable) for form in forms):
        l1, l2 = 2.0 * len(forms), math.sqrt(2 * len(forms))
    else:  # every answer moves by at most 1
        l1, l2 = float(case.queries.size), math.sqrt(case.queries.size)
    return Noise(epsilon, delta, l1, l2).draw(rng, case.queries.size)


def cell_noise(case: Case, epsilon: float, delta: float, rng: np.random.Generator) -> Floats | None:
    """Noise on the cells of the columns that are asked about, answers added up from it."""
    noise = Noise(epsilon, delta, 2.0, math.sqrt(2))
    ranges = ranges_of(case)
    if ranges is not None:
        column, answer = ranges
        return answer(noise.draw(rng, case.data.schema.shape[column]))
    if case.data.schema.cells > 1 << 22:
        return None
    return case.queries.answers(noise.draw(rng, case.data.schema.cells))


def hb16(case: Case, epsilon: float, delta: float, rng: np.random.Generator) -> Floats | None:
    """A tree of 16 branches with the same noise on all levels, made consistent."""
    ranges = ranges_of(case)
    if ranges is None:
        return None
    column, answer = ranges
    return answer(tree_noise(case.data.schema.shape[column], 16, epsilon, delta, rng))


def tree_noise(
    cells: int, branch: int, epsilon: float, delta: float, rng: np.random.Generator
) -> Floats:
    """The errors of the cells: noise on all levels, made consistent [Hay et al. 2010, Thm 3].

    The root, which is the number of rows, is public.
    """
    levels = max(1, math.ceil(math.log(cells, branch) - 1e-9))
    noise = Noise(epsilon, delta, 2.0 * levels, math.sqrt(2 * levels))
    known = noise.draw(rng, branch**levels)
    heights = [known]
    for height in range(2, levels + 1):
        own, below = branch**height, branch ** (height - 1)
        fresh = noise.draw(rng, branch ** (levels - height + 1))
        sums = heights[-1].reshape(-1, branch).sum(axis=1)
        heights.append(((own - below) * fresh + (below - 1) * sums) / (own - 1))
    above = np.zeros(1)
    for found in reversed(heights):
        groups = found.reshape(-1, branch)
        above = (groups + (above - groups.sum(axis=1))[:, None] / branch).ravel()
    return above[:cells]


def dawa(case: Case, epsilon: float, delta: float, rng: np.random.Generator) -> Floats | None:
    """Data-dependent buckets of like cells, then a tree over the buckets [Li-Hay-Miklau 2014].

    The partition is that of the authors' code (buckets of 2^k cells at any place, Laplace noise on
    the cost of each, here doubled for replaced records), always at a quarter of epsilon. The
    tree over the buckets has 2, 4 or 16 branches, or none, whichever simulates best on the
    workload; the authors weight a binary tree.
    """
    ranges = ranges_of(case, tables=True)
    if ranges is None:
        return None
    column, answer = ranges
    data = case.data
    true = np.bincount(data.codes[column], data.weights, data.schema.shape[column])
    ends = _partition(true, _PARTITION * epsilon, (1 - _PARTITION) * epsilon, rng)
    widths = np.diff(ends, prepend=0)
    means = np.repeat(np.add.reduceat(true, np.r_[0, ends[:-1]]) / widths, widths)
    rest = (1 - _PARTITION) * epsilon, delta

    def errors(branch: int) -> Floats:
        return answer(np.repeat(tree_noise(len(ends), branch, *rest, rng) / widths, widths))

    branches = sorted({2, 4, 16, max(2, len(ends))})
    sizes = [sum(float((errors(b) ** 2).mean()) for _ in range(_TRIED)) for b in branches]
    return answer(means - true) + errors(branches[int(np.argmin(sizes))])


def _partition(true: Floats, first: float, second: float, rng: np.random.Generator) -> Floats:
    """Where the buckets of least noisy cost end."""
    size, costs = len(true), {}
    length = 1
    while length <= size:
        windows = np.lib.stride_tricks.sliding_window_view(true.astype(np.float64), length)
        cost = np.abs(windows - windows.mean(axis=1, keepdims=True)).sum(axis=1)
        if length > 1:
            cost = cost + rng.laplace(0, 2 * (2 - 1 / length) / first, len(cost))
        costs[length] = np.maximum(cost, 0) + 1 / second
        length *= 2
    best, came = np.zeros(size + 1), np.zeros(size + 1, np.int64)
    for end in range(1, size + 1):
        found = [(best[end - length] + cost[end - length], end - length)
                 for length, cost in costs.items() if length <= end]  # fmt: skip
        best[end], came[end] = min(found)
    ends = [size]
    while came[ends[-1]]:
        ends.append(int(came[ends[-1]]))
    return np.array(ends[::-1])


def ranges_of(case: Case, *, tables: bool = False) -> tuple[int, Answer] | None:
    """The column of a workload of ranges (or of one table of one column), and its answers."""
    if len(case.queries.parts) != 1:
        return None
    match case.queries.parts[0].form:
        case CodeRanges(column=column) as ranges:
            return column, ranges.sums
        case WholeTable(columns) if tables and len(columns) == 1:
            return columns[0], lambda cells: cells
    return None
