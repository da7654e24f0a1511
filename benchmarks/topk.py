"""Private top-k: Joint, Canonical and oneshot against sorting, the papers' methods, OpenDP.

Compared in one process, as ratios. The papers' own algorithms are written here in NumPy:
Joint by sorting all d k utilities [Joint, Alg 1], Canonical by evaluating all classes, once
vectorised and once in a loop per class as printed [Canonical, Alg 1].
Run: python benchmarks/topk.py [--data DIR] [--figures DIR]
"""

from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import winnow as wn
from _common import arguments, best_time, report, save
from winnow.core.laws import Law
from winnow.core.tape import Tape
from winnow.select.mechanisms.canonical import Canonical
from winnow.select.mechanisms.joint import Joint

COUNTS = wn.Utility.declare(1, monotone=True)


def joint_profiles(d: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    large = (2e6 / (1.0 + np.arange(d)) ** 0.9).astype(np.int64) + rng.integers(0, 5, d)
    small = rng.zipf(1.6, d).clip(0, 5000)
    return {"small gaps": rng.permutation(small), "large gaps": rng.permutation(large)}


def paper_joint(counts: np.ndarray, k: int, epsilon: float, rng: np.random.Generator) -> None:
    """Joint as printed: all d k utilities sorted, O(d k log(d k)) time and O(d k) memory."""
    d = len(counts)
    ranked = np.sort(counts)[::-1]
    rows = np.arange(k)[:, None]
    tie = (d * (k - 1 - rows) + np.arange(d)[None, :] + 1) / (2.0 * d * k)
    utilities = -(ranked[:k, None] - ranked[None, :]) - tie
    order = np.argsort(utilities, axis=None)[::-1]
    row, column = order // d, order % d
    utility = utilities.reshape(-1)[order]
    free = np.zeros(k)
    log_weight = np.full(len(order), -np.inf)
    filled, place = 0, 0
    while filled < k:
        r = row[place]
        filled += free[r] == 0 and column[place] - r + 1 > 0
        free[r] = column[place] - r + 1
        place += 1
    # from here on one row grows by one at every step
    growth = column[place:] - row[place:] + 1.0
    log_product = np.log(free).sum() + np.cumsum(np.log(growth) - np.log(growth - 1.0))
    log_weight[place:] = log_product - np.log(growth)
    score = log_weight + epsilon / 2 * np.ceil(utility) + rng.gumbel(size=len(order))
    int(np.argmax(score))


def log_classes(d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """ln m! for m up to d, enough for every class size."""
    from scipy.special import gammaln

    return gammaln(np.arange(d + 2) + 1.0), np.arange(k)


def vectorised_canonical(x: np.ndarray, k: int, epsilon: float, rng: np.random.Generator) -> None:
    """All d k classes at once, Gumbel noise."""
    d = len(x)
    factorial, h = log_classes(d, k)
    t = np.arange(k + 1, d + 1)
    n, m = t[None, :] - h[:, None] - 2, k - 1 - h
    log_size = factorial[n] - factorial[m][:, None] - factorial[n - m[:, None]]
    score = epsilon / 2 * (x[t - 1][None, :] - x[h][:, None]) + log_size
    score += rng.gumbel(size=score.shape)
    int(np.argmax(score))


def looped_canonical(x: np.ndarray, k: int, epsilon: float, tails: int) -> None:
    """The loop over classes as printed, for the first `tails` values of t."""
    import random

    best = -math.inf
    for t in range(k + 1, k + 1 + tails):
        m = 0.0
        for h in range(k - 1, -1, -1):
            if k - (h + 1) > 0:
                m += math.log((t - (h + 2)) / (k - (h + 1)))
            noise = m - math.log(-math.log(random.random()))
            value = epsilon / 2 * (x[t - 1] - x[h]) + noise
            if value > best:
                best = value


MEMORY_PROBE = """
import sys, numpy as np, winnow as wn
from winnow.select.mechanisms.joint import Joint
def peak():
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmHWM"))
counts = np.random.default_rng(0).zipf(1.6, 166000).clip(0, 5000)
utility = wn.Utility.declare(1, monotone=True)
Joint(1.0, 3).simulate(counts[:1000], utility, 1, 1)
open("/proc/self/clear_refs", "w").write("5")
before = peak()
Joint(1.0, 200).simulate(counts, utility, 1, 1)
print(peak() - before)
"""


def extra_memory_mb() -> float | None:
    try:
        run = subprocess.run(
            [sys.executable, "-c", MEMORY_PROBE], capture_output=True, text=True, check=True
        )
    except (subprocess.CalledProcessError, OSError):
        return None
    return int(run.stdout) / 1024


def joint_part(seed: int, slow: bool) -> list[dict[str, Any]]:
    results = []
    d = 166_000
    rng = np.random.default_rng(seed)
    for shape, counts in joint_profiles(d, seed).items():
        sorting = best_time(lambda counts=counts: np.argsort(counts), 15)
        for k in (10, 200):
            paper = None
            if slow:
                paper = best_time(lambda counts=counts, k=k: paper_joint(counts, k, 1.0, rng), 1)
            for epsilon in (1.0, 0.1, 0.01):
                mechanism = Joint(epsilon, k)
                tapes = iter(Tape.seeded(s) for s in range(1000))
                own = best_time(
                    lambda counts=counts, mechanism=mechanism, tapes=tapes: mechanism.of_scores(
                        counts, COUNTS, next(tapes)
                    ),
                    15,
                )
                results.append(
                    {"d": d, "k": k, "counts": shape, "epsilon": epsilon, "joint_ms": own * 1e3,
                     "argsort_ms": sorting * 1e3, "times_argsort": own / sorting,
                     "paper_ms": paper and paper * 1e3,
                     "times_faster_than_paper": paper and paper / own}
                )  # fmt: skip
    return results


def canonical_part(seed: int) -> list[dict[str, Any]]:
    d, k = 17_770, 1000
    rng = np.random.default_rng(seed)
    x = np.sort((2e5 / (1.0 + np.arange(d)) ** 0.7).astype(np.int64) + rng.integers(0, 9, d))[::-1]
    x = x.copy()
    results = []
    for epsilon in (1.0, 0.1):
        everything = best_time(lambda e=epsilon: vectorised_canonical(x, k, e, rng), 2)
        tails = 50
        loop = (
            best_time(lambda e=epsilon, tails=tails: looped_canonical(x, k, e, tails), 1)
            * (d - k)
            / tails
        )
        times = {}
        for noise in (Law.GUMBEL, Law.EXPONENTIAL):
            mechanism = Canonical(epsilon, k, Fraction(1, 2), noise)
            tapes = iter(Tape.seeded(s) for s in range(1000))
            times[noise] = best_time(
                lambda mechanism=mechanism, tapes=tapes: mechanism.of_scores(
                    x, COUNTS, next(tapes)
                ),
                25,
            )
        results.append(
            {"d": d, "k": k, "epsilon": epsilon, "gumbel_ms": times[Law.GUMBEL] * 1e3,
             "exponential_ms": times[Law.EXPONENTIAL] * 1e3,
             "exponential_over_gumbel": times[Law.EXPONENTIAL] / times[Law.GUMBEL],
             "all_classes_ms": everything * 1e3, "class_loop_ms": loop * 1e3,
             "class_loop_is": f"timed on {tails} values of t and scaled to all",
             "times_faster_than_all_classes": everything / times[Law.GUMBEL],
             "times_faster_than_loop": loop / times[Law.GUMBEL]}
        )  # fmt: skip
    return results


def oneshot_part(seed: int) -> list[dict[str, Any]]:
    d, k = 100_000, 10
    rng = np.random.default_rng(seed)
    results = []
    profiles = {
        "flat": np.full(d, 5),
        "zipf counts": rng.zipf(1.7, d).clip(0, 10**6),
        "spread": rng.integers(0, 10**6, d),
    }
    wn.select(np.zeros(1 << 18, np.int64), epsilon=1.0)  # load the compiled kernel
    for shape, counts in profiles.items():
        own = best_time(
            lambda counts=counts: wn.select(
                wn.seal_scores(counts, monotone=True, copy=False), epsilon=1.0, k=k
            ),
            50,
        )
        floats = counts.astype(float)
        naive = best_time(
            lambda floats=floats: np.argpartition(-(floats / k + rng.gumbel(size=d)), k)[:k], 10
        )
        row: dict[str, Any] = {
            "d": d, "k": k, "counts": shape, "oneshot_ms": own * 1e3,
            "numpy_gumbel_argpartition_ms": naive * 1e3, "times_faster_than_numpy": naive / own,
        }  # fmt: skip
        if importlib.util.find_spec("opendp"):
            import opendp.prelude as dp

            dp.enable_features("contrib")
            space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
            theirs = space >> dp.m.then_noisy_top_k(dp.max_divergence(), k=k, scale=float(k))
            took = best_time(lambda counts=counts, theirs=theirs: theirs(counts), 2)
            row |= {"opendp_top_k_ms": took * 1e3, "times_faster_than_opendp": took / own}
        results.append(row)
    return results


def print_rows(title: str, rows: list[dict[str, Any]]) -> None:
    columns = [name for name in rows[0] if not isinstance(rows[0][name], str) or name == "counts"]

    def text(value: Any) -> str:
        if value is None:
            return "-"
        return f"{value:.3g}" if isinstance(value, float) else str(value)

    report(title, columns, [[text(row.get(name)) for name in columns] for row in rows])


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], "topk")
    parser.add_argument("--data", type=Path, help="a folder with topk_counts/ and dpbench_1d/")
    parser.add_argument("--figures", type=Path, default=Path("out"), help="where figures go")
    parser.add_argument("--no-paper", action="store_true", help="leave out the paper's slow Joint")
    options = parser.parse_args()
    joint = joint_part(options.seed, not options.no_paper)
    print_rows("Joint: one list of k items in order", joint)
    canonical = canonical_part(options.seed)
    print_rows("Canonical: one set of k items", canonical)
    oneshot = oneshot_part(options.seed)
    print_rows("Oneshot top-10", oneshot)
    memory = extra_memory_mb()
    document: dict[str, Any] = {
        "joint": joint,
        "canonical": canonical,
        "oneshot": oneshot,
        "joint_extra_memory_mb": memory,
    }
    print_rows("Memory of Joint, d = 166,000, k = 200", [{"extra peak MB": memory}])
    if options.data:
        from _topk_figures import reproduce

        document["figures"] = reproduce(options.data, options.figures, options.seed)
    save(options.out, document)


if __name__ == "__main__":
    main()
