"""Private selection of one candidate: ns per item and peak memory, against what else there is.

Compared in one process: Winnow's exact exponential mechanism and permute-and-flip, a naive
NumPy Gumbel argmax (not private: its noise ends at 36.7 and rounds), OpenDP's noisy max and
noisy top-k, and diffprivlib's exponential mechanism, where these packages are installed.
Run: python benchmarks/selection.py [--sizes 10000,1000000] [--full]
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import winnow as wn
from _common import arguments, best_time, report, save

EPSILON = 1.0
OWN = ("winnow exponential", "winnow permute-and-flip")


def shapes(d: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    peaked = np.full(d, 5.0)  # memory that is really there: np.zeros shares one page
    peaked[d // 2] = 65.0
    return {
        "flat": np.full(d, 5.0),
        "peaked": peaked,
        "normal": rng.normal(size=d) * 3,
        "counts": rng.zipf(1.7, d).clip(0, 10**6),
    }


def runners(scores: np.ndarray, d: int, full: bool) -> dict[str, tuple[Callable[[], Any], int]]:
    """Each competitor as (call, repeats); those that would take minutes are left out."""
    rng = np.random.default_rng(1)
    floats = scores.astype(np.float64)
    repeats = max(3, min(50, 2 * 10**7 // d))
    todo: dict[str, tuple[Callable[[], Any], int]] = {
        OWN[0]: (lambda: wn.select(scores, epsilon=EPSILON, method="exponential"), repeats),
        OWN[1]: (lambda: wn.select(scores, epsilon=EPSILON), repeats),
        "winnow oneshot top-10": (lambda: wn.select(scores, epsilon=EPSILON, k=10), repeats),
        "numpy gumbel argmax": (
            lambda: int(np.argmax(EPSILON / 2 * floats + rng.gumbel(size=d))),
            max(3, repeats // 4),
        ),
    }
    if importlib.util.find_spec("opendp"):
        import opendp.prelude as dp

        dp.enable_features("contrib")
        kind = "i64" if scores.dtype == np.int64 else "f64"
        domain = dp.atom_domain(T=kind) if kind == "i64" else dp.atom_domain(T=kind, nan=False)
        space = dp.vector_domain(domain), dp.linf_distance(T=kind)
        scale = 2 / EPSILON
        few = 3 if d < 10**6 else 1
        gumbel = space >> dp.m.then_noisy_max(dp.zero_concentrated_divergence(), scale=scale)
        flip = space >> dp.m.then_noisy_max(dp.max_divergence(), scale=scale)
        top = space >> dp.m.then_noisy_top_k(dp.max_divergence(), k=10, scale=10 * scale)
        if d <= 10**6 or full:
            todo["opendp noisy max (gumbel)"] = (lambda: gumbel(scores), few)
            todo["opendp noisy max (permute-and-flip)"] = (lambda: flip(scores), few)
            todo["opendp noisy top-10"] = (lambda: top(scores), few)
    if d <= 10**5 and importlib.util.find_spec("diffprivlib"):
        try:
            from diffprivlib.mechanisms import Exponential
        except ImportError:
            return todo
        mechanism = Exponential(epsilon=EPSILON, sensitivity=1, utility=floats.tolist())
        todo["diffprivlib exponential"] = (mechanism.randomise, 2)
    return todo


MEMORY_PROBE = """
import sys, numpy as np, winnow as wn
def peak():
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmHWM"))
scores = np.random.default_rng(0).normal(size=int(sys.argv[1]))
wn.select(scores[: 1 << 18], epsilon=1.0)  # what a first call loads
open("/proc/self/clear_refs", "w").write("5")  # reset the peak to what is in use now
before = peak()
wn.select(scores, epsilon=1.0)
print(peak() - before)
"""


def extra_memory_mb(d: int) -> float | None:
    """Peak memory of one selection beyond the scores, in a process of its own (Linux)."""
    try:
        run = subprocess.run(
            [sys.executable, "-c", MEMORY_PROBE, str(d)], capture_output=True, text=True, check=True
        )
    except (subprocess.CalledProcessError, OSError):
        return None
    return int(run.stdout) / 1024


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], "selection")
    parser.add_argument("--sizes", default="10000,100000,1000000,10000000")
    parser.add_argument("--full", action="store_true", help="slow competitors at every size too")
    options = parser.parse_args()
    results, rows = [], []
    for d in (int(float(size)) for size in options.sizes.split(",")):
        for shape, scores in shapes(d, options.seed).items():
            figures = {
                name: best_time(run, repeats) / d * 1e9
                for name, (run, repeats) in runners(scores, d, options.full).items()
            }
            ours = figures[OWN[0]]
            for name, figure in figures.items():
                ratio = figure / ours
                results.append(
                    {"d": d, "scores": shape, "method": name, "ns_per_item": figure,
                     "times_winnow_exponential": ratio}
                )  # fmt: skip
                rows.append([f"{d:.0e}", shape, name, f"{figure:.2f}", f"{ratio:.1f}x"])
    report(
        "One private selection, epsilon = 1",
        ["d", "scores", "method", "ns/item", "time / winnow exponential"],
        rows,
    )
    memory = {}
    for d in (10**6, 10**7):
        memory[str(d)] = extra_memory_mb(d)
    report(
        "Peak memory of one selection beyond the scores",
        ["d", "", "MB"],
        [[f"{int(d):.0e}", "", "-" if mb is None else f"{mb:.1f}"] for d, mb in memory.items()],
    )
    save(options.out, {"epsilon": EPSILON, "results": results, "extra_peak_memory_mb": memory})


if __name__ == "__main__":
    main()
