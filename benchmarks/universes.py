"""Selection from universes that nobody lists: tuning, splits of a tree, joint hypotheses.

Three applications that LMM names, on made-up people, each as `wn.classes`. How far the pick lies
behind the best (people, the mean over draws) and the CPU time of a draw, against the number of
candidates; epsilon = 1, delta = 1e-6.
Run: python benchmarks/universes.py [--quick]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import winnow as wn
from _common import arguments, report, save

PEOPLE = 2_000
EPSILON, DELTA = 1.0, 1e-6
MECHANISMS = ("permute-and-flip", "exponential", "large-margin", "distance-to-instability")
Scored = tuple[list[Any], int, Callable[[Any], int]]
"""Classes, how many candidates, and the true score of one."""


def intervals(values: np.ndarray, scores: np.ndarray, grid: int) -> list[tuple[int, int, int]]:
    """(score, first threshold, how many) between values that follow each other on a grid."""
    cuts = np.concatenate([[0], np.unique(values) + 1, [grid]])
    return [
        (int(score), int(low), int(high - low))
        for score, low, high in zip(scores, cuts[:-1], cuts[1:], strict=True)
        if high > low
    ]


def right_below(values: np.ndarray, good: np.ndarray) -> np.ndarray:
    """For each distinct value, and before the first: how many good people lie above the cut and
    bad ones below."""
    distinct, place = np.unique(values, return_inverse=True)
    bad = np.bincount(place, weights=~good, minlength=len(distinct)).cumsum()
    goods = np.bincount(place, weights=good, minlength=len(distinct)).cumsum()
    return np.concatenate([[good.sum()], bad + good.sum() - goods]).astype(np.int64)


def tuning(grid: int, rng: np.random.Generator) -> Scored:
    """Which mixture of two public models, cut where, is right about the most people?"""
    a, b = rng.integers(0, grid, (2, PEOPLE))
    good = (a + b) / (2 * grid) + rng.normal(0, 0.15, PEOPLE) > 0.5
    mixtures = range(11)
    mixed = {w: (w * a + (10 - w) * b) // 10 for w in mixtures}
    given = []
    for w in mixtures:
        for score, low, many in intervals(mixed[w], right_below(mixed[w], good), grid):
            given.append((score, many, lambda u, w=w, low=low, many=many: (w, low + u.below(many))))
    return given, len(mixtures) * grid, lambda s: int(((mixed[s[0]] >= s[1]) == good).sum())


def splits(grid: int, rng: np.random.Generator) -> Scored:
    """Which column, cut where, splits people into sides whose majorities are right most often?"""
    columns = rng.integers(0, grid, (20, PEOPLE))
    good = (columns[3] > 0.6 * grid) ^ (rng.random(PEOPLE) < 0.2)
    given: list[Any] = []
    for c, values in enumerate(columns):
        place = np.unique(values, return_inverse=True)[1]
        goods = np.concatenate([[0], np.bincount(place, good).cumsum()])
        below = np.concatenate([[0], np.bincount(place).cumsum()])
        left = np.maximum(goods, below - goods)
        goods_above, above = good.sum() - goods, PEOPLE - below
        scores = left + np.maximum(goods_above, above - goods_above)
        for score, low, many in intervals(values, scores, grid):
            given.append((score, many, lambda u, c=c, low=low, many=many: (c, low + u.below(many))))

    def true(split: Any) -> int:
        side = columns[split[0]] >= split[1]
        parts = [good[side], good[~side]]
        return int(sum(max(part.sum(), len(part) - part.sum()) for part in parts))

    return given, len(columns) * grid, true


def hypotheses(sites: int, rng: np.random.Generator) -> Scored:
    """At which sites does a treatment help? One yes or no for each: 2^sites joint hypotheses."""
    site = rng.integers(0, sites, PEOPLE)
    helps = rng.random(sites) < 0.5
    outcome = helps[site] ^ (rng.random(PEOPLE) < 0.3)
    yes = np.bincount(site[outcome], minlength=sites).tolist()
    no = np.bincount(site[~outcome], minlength=sites).tolist()
    ways = [{0: 1}]  # how many hypotheses about the first sites are right about how many people
    for j in range(sites):
        here: dict[int, int] = {}
        for right, count in ways[-1].items():
            for more in (yes[j], no[j]):
                here[right + more] = here.get(right + more, 0) + count
        ways.append(here)

    def draw(u: Any, score: int) -> tuple[bool, ...]:
        found = []
        for j in reversed(range(sites)):
            helped = ways[j].get(score - yes[j], 0)
            helping = u.below(helped + ways[j].get(score - no[j], 0)) < helped
            score -= yes[j] if helping else no[j]
            found.append(helping)
        return tuple(reversed(found))

    given = [(s, n, lambda u, s=s: draw(u, s)) for s, n in ways[-1].items()]
    return given, 2**sites, lambda h: sum(yes[j] if h[j] else no[j] for j in range(sites))


CASES: dict[str, tuple[Callable[[int, np.random.Generator], Scored], tuple[int, ...]]] = {
    "tuning": (tuning, (10**4, 10**8, 10**12)),
    "splits": (splits, (10**4, 10**8, 10**12)),
    "hypotheses": (hypotheses, (10, 40, 160)),
}


def measured(name: str, size: int, draws: int, seed: int) -> list[dict[str, Any]]:
    """All mechanisms on one universe."""
    make, _ = CASES[name]
    begun = time.process_time()
    given, total, true = make(size, np.random.default_rng(seed))
    sealed = wn.classes(given, total=total, monotone=True)
    built = time.process_time() - begun
    best = max(score for score, many, _ in given if many)
    found = []
    for mechanism in MECHANISMS:
        delta = {"delta": DELTA} if mechanism in MECHANISMS[2:] else {}
        begun = time.process_time()
        picks = [
            wn.select(sealed, epsilon=EPSILON, method=mechanism, seed=s, **delta).value
            for s in range(draws)
        ]
        spent = (time.process_time() - begun) / draws
        behind = [best - true(pick) for pick in picks if pick is not None]
        found.append(
            {
                "case": name,
                "log10 candidates": round(float(np.log10(float(total))), 1),
                "classes": len(given),
                "mechanism": mechanism,
                "behind": round(float(np.mean(behind)), 2) if behind else None,
                "answered": len(behind) / draws,
                "ms": round(1000 * spent, 2),
                "built ms": round(1000 * built, 1),
            }
        )
    return found


def main() -> None:
    """Run, print, save."""
    parser = arguments(__doc__ or "", "universes")
    parser.add_argument("--quick", action="store_true", help="few draws, the smallest universes")
    chosen = parser.parse_args()
    found = [
        row
        for name, (_, sizes) in CASES.items()
        for size in (sizes[:1] if chosen.quick else sizes)
        for row in measured(name, size, 3 if chosen.quick else 10, chosen.seed)
    ]
    columns = list(found[0])
    title = "Universes that nobody lists: people behind the best, and time of a draw"
    report(title, columns, [[str(row[c]) for c in columns] for row in found])
    save(
        chosen.out,
        {
            "quick": chosen.quick,
            "people": PEOPLE,
            "epsilon": EPSILON,
            "delta": DELTA,
            "rows": found,
        },
    )


if __name__ == "__main__":
    main()
