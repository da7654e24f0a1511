"""Adaptive reweighting of labels (after MAD, PMLR 267 chen25m) beside weights, one round and two.

A trial in real numbers, which is not in the library. People with m labels at most put 1/d on each
of their d labels; what a label has beyond tau flows back to its people, each of whom puts a 1/m of
theirs on every label of their own; everybody adds the rest of 1/sqrt(d). One person moves the
weights by a squared distance of 1 + 1/(4m) at most. Proof: a new person with s of d labels beyond
tau sends back E <= s/d in all; one label gets E/m at most, and all together E; so the squared move
is at most (d - s)(1/sqrt d + x)^2 + s(1/sqrt d - 1/d + x)^2 + (m - d) x^2 with x = s/(d m), which
``bound`` maximises. A label that only this person has gets at most 1/sqrt d + (d - t)/(d m) where
t are new. The best m and tau of a grid are taken for each log, by its own truth: that favours the
trial.

Weights of a release are whole numbers, and flows are fractions of private sums. ``floored`` shows
what one person moves where flows are rounded down: the proof is gone.
Run: python benchmarks/reweighting.py [--data DIR]
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

import winnow as wn
from _common import arguments, report, save
from labels import generated, logs
from winnow.core.spread import GRID

Floats = NDArray[np.float64]
CAP, EPSILON, DELTA = 100, 1.0, 1e-6
DEGREES, LEVELS = (5, 20, 100), (1.0, 1.5, 2.0, 3.0)


def bound(m: int) -> float:
    """The largest squared move of one person."""

    def square(d: int, s: int) -> float:
        r, x = 1 / math.sqrt(d), s / (d * m)
        return (d - s) * (r + x) ** 2 + s * (r - 1 / d + x) ** 2 + (m - d) * x**2

    return max(square(d, s) for d in range(1, m + 1) for s in range(d + 1))


class Log:
    """Pairs of a person and a label as numbers, at most ``CAP`` labels of each person."""

    def __init__(self, rows: pd.DataFrame) -> None:
        few = rows.sample(frac=1, random_state=0).groupby("person").head(CAP)
        self.person, _ = pd.factorize(few["person"])
        self.item, names = pd.factorize(few["item"])
        self.items, self.people = len(names), int(self.person.max()) + 1
        self.degree = np.bincount(self.person).astype(np.float64)

    def summed(self, each: Floats) -> Floats:
        """What each label gets of its pairs."""
        return np.bincount(self.item, each, self.items)

    def weighted(self) -> Floats:
        """Weights that people spread."""
        return self.summed(1 / np.sqrt(self.degree[self.person]))

    def adaptive(self, m: int, tau: float, unit: float = 0.0) -> Floats:
        """Weights with flows; ``unit`` rounds flows down to multiples of it."""
        d = self.degree[self.person]
        few = d <= m
        put = np.where(few, 1 / d, 0.0)
        first = self.summed(put)
        beyond = np.maximum(0.0, 1 - tau / np.maximum(first, 1e-12))
        flow = np.bincount(self.person, put * beyond[self.item], self.people) / m
        if unit:
            flow = np.floor(flow / unit) * unit
        own = 1 / np.sqrt(d) - put
        return np.minimum(first, tau) + self.summed(own + np.where(few, flow[self.person], 0.0))


def threshold(deviation: float, lost: float, new: Floats) -> float:
    """The least T at which t new labels, each of weight ``new[t - 1]``, are lost often enough."""
    t = np.arange(1, len(new) + 1)
    return float((new - deviation * ndtri(lost / t)).max())


def found(weights: Floats, deviation: float, level: float) -> float:
    """How many labels are expected to pass."""
    return float(ndtr((weights[weights > 0] - level) / deviation).sum())


def trial(log: Log) -> dict[str, float]:
    """Labels of one round of weights, and of the best adaptive weights."""
    about = wn.plan.counts(labels="log")
    one_round = wn.WeightedGaussian(rounds=1)
    released: Any = wn.plan.labels(about, epsilon=EPSILON, delta=DELTA, method=one_round).mechanism
    deviation = math.sqrt(released.variance(about.relation)) / GRID  # the noise of a release
    plain = 1 / np.sqrt(np.arange(1, CAP + 1))
    level = threshold(deviation, DELTA / 2, plain)
    one, best = found(log.weighted(), deviation, level), 0.0
    for m in DEGREES:
        wide = deviation * math.sqrt(bound(m))
        d = np.arange(1, CAP + 1)
        new = np.array(
            [(1 / np.sqrt(d[t - 1 :]) + np.where(d[t - 1 :] <= m, (d[t - 1 :] - t), 0)
              / (d[t - 1 :] * m)).max() for t in d]
        )  # fmt: skip
        above = threshold(wide, DELTA / 2, new)
        for times in LEVELS:
            best = max(best, found(log.adaptive(m, times * above), wide, above))
    return {"one round": one, "adaptive": best}


def floored(many: int = 4000, m: int = 3, unit: float = 1e-3) -> float:
    """The squared move of one person who joins ``many`` others, where flows are rounded down."""
    whole = 1 / unit
    step = math.floor(whole / (4 * m)) * 2 * m / whole
    tau = (1 - step) * many / 2 * (1 + 1e-9)  # every flow lies just below a whole multiple
    rows = [(f"u{u}", item) for u in range(many) for item in ("a", f"b{u}")]
    columns = ["person", "item"]
    before = Log(pd.DataFrame(rows, columns=columns))
    after = Log(pd.DataFrame([*rows, ("new", "a")], columns=columns))
    names = [sorted({item for _, item in rows})]
    sums = []
    for log, pairs in ((before, rows), (after, [*rows, ("new", "a")])):
        frame = pd.DataFrame(pairs, columns=columns).sample(frac=1, random_state=0)
        order = pd.factorize(frame.groupby("person").head(CAP)["item"])[1]
        sums.append(pd.Series(log.adaptive(m, tau, unit), index=order).reindex(names[0]))
    return float(((sums[1] - sums[0]) ** 2).sum())


def main() -> None:
    """Measure, print, save."""
    parser = arguments(__doc__ or "", "reweighting")
    parser.add_argument("--data", type=Path, help="a folder with real logs")
    chosen = parser.parse_args()
    read = generated(np.random.default_rng(chosen.seed))
    read |= {} if chosen.data is None else logs(chosen.data)
    rows: list[dict[str, Any]] = []
    for name, pairs in read.items():
        counts = wn.counts(pairs, item="item", person="person", reading=wn.Reading(salt="trial"))
        two = np.mean([  # runs of the library
            len(wn.labels(counts, epsilon=EPSILON, delta=DELTA, seed=run,
                          method=wn.WeightedGaussian(rounds=2)).value)
            for run in range(8)
        ])  # fmt: skip
        rows.append({"log": name, **trial(Log(pairs)), "two rounds": float(two)})
    moved = floored()
    heads = ["log", "one round", "adaptive", "two rounds"]
    report(
        "labels expected at (1, 1e-06)", heads,
        [[row["log"], *(f"{row[head]:.1f}" for head in heads[1:])] for row in rows],
    )  # fmt: skip
    bounds = {str(m): bound(m) for m in (3, *DEGREES)}
    save(chosen.out, {"rows": rows, "bounds": bounds, "floored": moved})


if __name__ == "__main__":
    main()
