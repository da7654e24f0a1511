"""Trials of published ways to find labels, in real numbers, beside the two rounds of the library.

None of these is in the library; each takes the best of its parameters for each log, by the truth.

- adaptive (MAD, PMLR 267 chen25m): people with m labels at most put 1/d on each of their d labels;
  what a label has beyond tau flows back to its people, each of whom puts a 1/m of theirs on every
  label of their own; everybody adds the rest of 1/sqrt(d). One person moves the weights by a
  squared distance of 1 + 1/(4m) at most. Proof: a new person with s of d labels beyond tau sends
  back E <= s/d in all; one label gets E/m at most, and all together E; so the squared move is at
  most (d - s)(1/sqrt d + x)^2 + s(1/sqrt d - 1/d + x)^2 + (m - d) x^2 with x = s/(d m), which
  ``bound`` maximises. A label that only this person has gets at most 1/sqrt d + (d - t)/(d m)
  where t are new.
- adaptive, two rounds (after MAD2R): a tenth of the privacy loss first, adaptive weights in both
  rounds; what is released is dropped, and so is a label whose noisy weight lies three deviations or
  more below the second threshold.
- dropping (DP-SIPS): 1/32 of the privacy loss first; what is released is dropped.
- optimal chances (arXiv 2603.09167): a label of weight x is released with the largest chance that
  a Renyi divergence of one order allows: d labels of a person, which move by w_d each, share it.
  One round; and as the second of the two rounds of the library.

Run: python benchmarks/reweighting.py [--data DIR]
"""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

import winnow as wn
from _common import arguments, report, save
from labels import generated, logs
from winnow.core.spread import GRID
from winnow.select.mechanisms.weighted_gaussian import FIRST_ROUND, STAYING

Floats = NDArray[np.float64]
CAP, EPSILON, DELTA, RUNS = 100, 1.0, 1e-6, 8
LOST = DELTA / 2
DEGREES, LEVELS = (5, 20, 100), (1.0, 1.5, 2.0, 3.0)
ORDERS, COARSE = (15.0, 18.0, 22.0, 27.0), 64


def bound(m: int) -> float:
    """The largest squared move of one person."""

    def square(d: int, s: int) -> float:
        r, x = 1 / math.sqrt(d), s / (d * m)
        return (d - s) * (r + x) ** 2 + s * (r - 1 / d + x) ** 2 + (m - d) * x**2

    return max(square(d, s) for d in range(1, m + 1) for s in range(d + 1))


class Log:
    """Pairs of a person and a label as numbers, at most ``CAP`` labels of each person."""

    def __init__(self, person: NDArray[np.int64], item: NDArray[np.int64], items: int) -> None:
        order = np.random.default_rng(0).permutation(len(person))
        order = order[np.argsort(person[order], kind="stable")]
        start = np.flatnonzero(np.diff(person[order], prepend=-1))
        sizes = np.diff(np.append(start, len(order)))
        few = order[np.arange(len(order)) - np.repeat(start, sizes) < CAP]
        self._all = person, item
        self.person, self.item = person[few], item[few]
        self.items, self.people = items, int(person.max(initial=-1)) + 1
        self.degree = np.bincount(self.person, minlength=self.people).astype(np.float64)

    @classmethod
    def of(cls, rows: pd.DataFrame) -> Log:
        """From a frame of people and items."""
        item, names = pd.factorize(rows["item"])
        return cls(pd.factorize(rows["person"])[0], item, len(names))

    def within(self, labels: NDArray[np.bool_]) -> Log:
        """The same people, and some of the labels."""
        person, item = self._all
        left = labels[item]
        return Log(person[left], item[left], self.items)

    def summed(self, each: Floats) -> Floats:
        """What each label gets of its pairs."""
        return np.bincount(self.item, each, self.items)

    def weighted(self) -> Floats:
        """Weights that people spread."""
        return self.summed(1 / np.sqrt(self.degree[self.person]))

    def coarse(self) -> NDArray[np.int64]:
        """The same in whole steps."""
        return self.summed(steps()[self.degree[self.person].astype(int)]).astype(np.int64)

    def adaptive(self, m: int, tau: float) -> Floats:
        """Weights with flows."""
        d = self.degree[self.person]
        few = d <= m
        put = np.where(few, 1 / d, 0.0)
        first = self.summed(put)
        beyond = np.maximum(0.0, 1 - tau / np.maximum(first, 1e-12))
        flow = np.bincount(self.person, put * beyond[self.item], self.people) / m
        own = 1 / np.sqrt(d) - put
        return np.minimum(first, tau) + self.summed(own + np.where(few, flow[self.person], 0.0))


def noise() -> float:
    """The deviation of a release of the library in one round."""
    about = wn.plan.counts(labels="log")
    one_round = wn.WeightedGaussian(rounds=1)
    released: Any = wn.plan.labels(about, epsilon=EPSILON, delta=DELTA, method=one_round).mechanism
    return math.sqrt(released.variance(about.relation)) / GRID


def threshold(deviation: float, lost: float, new: Floats) -> float:
    """The least T at which t new labels, each of weight ``new[t - 1]``, are lost often enough."""
    t = np.arange(1, len(new) + 1)
    return float((new - deviation * ndtri(lost / t)).max())


def plain() -> Floats:
    """The weight of each of t new labels."""
    return 1 / np.sqrt(np.arange(1, CAP + 1))


def flowed(m: int) -> Floats:
    """The same with flows."""
    d = np.arange(1, CAP + 1)
    more = [np.where(d[t - 1 :] <= m, d[t - 1 :] - t, 0) / (d[t - 1 :] * m) for t in d]
    return np.array([(1 / np.sqrt(d[t - 1 :]) + more[t - 1]).max() for t in d])


def found(weights: Floats, deviation: float, level: float) -> float:
    """How many labels are expected to pass."""
    return float(ndtr((weights[weights > 0] - level) / deviation).sum())


def adaptive(log: Log) -> float:
    """Labels of one round of the best adaptive weights."""
    best = 0.0
    for m in DEGREES:
        wide = noise() * math.sqrt(bound(m))
        level = threshold(wide, LOST, flowed(m))
        for times in LEVELS:
            best = max(best, found(log.adaptive(m, times * level), wide, level))
    return best


def adaptive_twice(log: Log, rng: np.random.Generator) -> float:
    """Labels of two rounds of adaptive weights, the best of parameters."""
    best = 0.0
    for m in DEGREES:
        wide = noise() * math.sqrt(bound(m))
        first, second = wide / math.sqrt(0.1), wide / math.sqrt(0.9)
        levels = [
            threshold(each, part * LOST, flowed(m)) for each, part in ((first, 0.1), (second, 0.9))
        ]
        for times in LEVELS:
            totals = []
            for _ in range(RUNS):
                weights = log.adaptive(m, times * levels[0])
                noisy = weights + first * rng.standard_normal(log.items)
                released = (noisy >= levels[0]) & (weights > 0)
                left = log.within(~released & (noisy >= levels[1] - 3 * first))
                again = left.adaptive(m, times * levels[1])
                totals.append(released.sum() + found(again, second, levels[1]))
            best = max(best, float(np.mean(totals)))
    return best


def dropping(log: Log, rng: np.random.Generator) -> float:
    """Labels of two rounds, what the first releases dropped before the second."""
    first, second = noise() * math.sqrt(32), noise() / math.sqrt(31 / 32)
    levels = [threshold(first, LOST / 32, plain()), threshold(second, LOST * 31 / 32, plain())]
    weights, totals = log.weighted(), []
    for _ in range(RUNS):
        released = weights + first * rng.standard_normal(log.items) >= levels[0]
        again = log.within(~released).weighted()
        totals.append(released.sum() + found(again, second, levels[1]))
    return float(np.mean(totals))


def steps() -> NDArray[np.int64]:
    """What someone with d labels adds to each, in whole steps; of index 0 nothing."""
    return np.array([0, *(max(1, math.isqrt(COARSE**2 // d)) for d in range(1, CAP + 1))])


def renyi_at(order: float, lost: float) -> float:
    """The Renyi divergence that (EPSILON, DELTA) allows at an order. [Canonne et al. 2020]"""
    spread = math.log(DELTA - lost) + math.log(order)
    return EPSILON - math.log1p(-1 / order) + spread / (order - 1)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _divergence(q: float, p: float, order: float) -> float:
    x = order * math.log(q) + (1 - order) * math.log(p)
    y = order * math.log1p(-q) + (1 - order) * math.log1p(-p)
    most = max(x, y)
    return (most + math.log(math.exp(x - most) + math.exp(y - most))) / (order - 1)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _largest(p: float, order: float, allowed: float) -> float:
    low, high = p, 1 - 1e-15
    for _ in range(45):
        middle = math.sqrt(low * high) if low < 0.25 else (low + high) / 2
        inside = _divergence(middle, p, order) <= allowed
        if inside and _divergence(p, middle, order) <= allowed:
            low = middle
        else:
            high = middle
    return low


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _chances(w: NDArray[np.int64], order: float, allowed: float, lost: float, n: int) -> Floats:
    found = np.zeros(n)
    for x in range(w[-1], n):
        best = 1.0
        for d in range(1, len(w)):
            y = x - w[d]
            if y == 0:
                best = min(best, lost / d)
            elif y >= w[-1]:
                best = min(best, _largest(found[y], order, allowed / d))
        found[x] = max(best, found[x - 1])
        if found[x] >= 1 - 1e-12:
            found[x:] = 1.0
            break
    return found


@lru_cache
def chances(order: float, share: float) -> Floats:
    """The chance of release of each weight, for a share of what is allowed."""
    return _chances(steps(), order, share * renyi_at(order, LOST), share * LOST, 60 * COARSE)


def optimal(log: Log) -> float:
    """Labels of one round of optimal chances."""
    weights = np.minimum(log.coarse(), 60 * COARSE - 1)
    return max(float(chances(order, 1.0)[weights].sum()) for order in ORDERS)


def optimal_second(log: Log, rng: np.random.Generator) -> float:
    """Labels of the two rounds of the library, with optimal chances in the second."""
    best, part = 0.0, float(FIRST_ROUND)
    weights = log.weighted()
    for order in ORDERS:
        first = math.sqrt(order / (2 * part * renyi_at(order, LOST)))
        stays = float(STAYING) * first
        level = threshold_of_stay(first, part * LOST, stays)
        totals = []
        for _ in range(RUNS):
            noisy = weights + first * rng.standard_normal(log.items)
            released = noisy >= level
            again = log.within(~released & (noisy >= stays)).coarse()
            again = np.minimum(again, 60 * COARSE - 1)
            totals.append(released.sum() + chances(order, 1 - part)[again].sum())
        best = max(best, float(np.mean(totals)))
    return best


def threshold_of_stay(deviation: float, lost: float, stays: float) -> float:
    """The least T that a label which stays reaches seldom enough."""
    t = np.arange(1, CAP + 1)
    kept = ndtr((plain() - stays) / deviation)
    return float((plain() - deviation * ndtri(lost / t * kept)).max())


def released(pairs: pd.DataFrame, rounds: int) -> float:
    """Labels that the library releases, the mean of some runs."""
    counts = wn.counts(pairs, item="item", person="person", reading=wn.Reading(salt="trial"))
    method = wn.WeightedGaussian(rounds=rounds)
    sizes = [
        len(wn.labels(counts, epsilon=EPSILON, delta=DELTA, seed=run, method=method).value)
        for run in range(RUNS)
    ]
    return float(np.mean(sizes))


def main() -> None:
    """Measure, print, save."""
    parser = arguments(__doc__ or "", "reweighting")
    parser.add_argument("--data", type=Path, help="a folder with real logs")
    chosen = parser.parse_args()
    rng = np.random.default_rng(chosen.seed)
    read = generated(np.random.default_rng(chosen.seed))
    read |= {} if chosen.data is None else logs(chosen.data)
    rows: list[dict[str, Any]] = []
    for name, pairs in read.items():
        log = Log.of(pairs)
        rows.append(
            {"log": name, "one round": found(log.weighted(), noise(), threshold(noise(), LOST,
             plain())), "adaptive": adaptive(log), "optimal chances": optimal(log),
             "dropping": dropping(log, rng), "adaptive, two rounds": adaptive_twice(log, rng),
             "two rounds": released(pairs, 2), "and optimal chances": optimal_second(log, rng)}
        )  # fmt: skip
    heads = list(rows[0])
    report(
        "labels at (1, 1e-06)", heads,
        [[row["log"], *(f"{row[head]:.1f}" for head in heads[1:])] for row in rows],
    )  # fmt: skip
    half = min(int(np.searchsorted(chances(order, 1.0), 0.5)) for order in ORDERS) / COARSE
    needed = threshold(noise(), LOST, plain())
    save(chosen.out, {"rows": rows, "bounds": {str(m): bound(m) for m in DEGREES},
                      "people for half": {"weights": needed, "optimal chances": half}})  # fmt: skip


if __name__ == "__main__":
    main()
