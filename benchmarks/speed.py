"""Calls whose time is mostly fixed cost, and scans that should take one pass: before and after.

Each row is a call of Winnow and an anchor beside it, interleaved in one process: what NumPy takes
for the same thing, inexactly and without privacy. Times are of the processor (other work on the
machine disturbs them least), the shortest of several; the ratio to the anchor carries over to
other machines. ``--against DIR`` measures another source tree (``DIR/src``) in processes of its
own, in turn with this one, and is written as "before".
Run: python benchmarks/speed.py [--against DIR] [--runs 3]
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import winnow as wn
from _common import HERE, arguments, best_time, report, save

Call = Callable[[], Any]
SMALL = tuple(f"select, d = {d:,}" for d in (3, 100, 1000))
EPSILON = 1.0


def noisy_top(scores: np.ndarray, k: int, seed: int = 1) -> Call:
    """Gumbel noise on floats, and the k largest."""
    rng, floats = np.random.default_rng(seed), scores.astype(np.float64)
    if k == 1:
        return lambda: int(np.argmax(EPSILON / 2 * floats + rng.gumbel(size=len(floats))))
    last = len(floats) - k
    return lambda: np.argpartition(EPSILON / 2 * floats + rng.gumbel(size=len(floats)), last)


def cube(scores: np.ndarray, k: int, seed: int = 1) -> Call:
    """The Gamma mechanism in floats: a radius, a uniform point of the cube, the k largest."""
    rng, floats = np.random.default_rng(seed), scores.astype(np.float64)
    size, last = len(floats), len(floats) - k

    def draw() -> Any:
        noise = rng.gamma(size + 1) * rng.uniform(-1.0, 1.0, size)
        return np.argpartition(EPSILON * floats + noise, last)

    return draw


def selections() -> dict[str, tuple[Call, Call]]:
    rng = np.random.default_rng(0)
    found: dict[str, tuple[Call, Call]] = {}
    for d in (3, 100, 1000):  # as in SMALL
        votes = {f"c{i}": i for i in range(d)}
        found[f"select, d = {d:,}"] = (
            lambda votes=votes: wn.select(
                wn.seal_scores(votes, monotone=True, copy=False), epsilon=EPSILON
            ),
            noisy_top(np.arange(d), 1),
        )
    for d in (10**4, 10**5, 10**6):
        counts = rng.zipf(1.7, d).clip(0, 10**6)
        found[f"select, d = {d:,}"] = (
            lambda counts=counts: wn.select(
                wn.seal_scores(counts, monotone=True, copy=False), epsilon=EPSILON
            ),
            noisy_top(counts, 1),
        )
    return found


def others(d: int) -> dict[str, Call]:
    """One selection among few candidates by other libraries, where they are installed."""
    found: dict[str, Call] = {}
    if importlib.util.find_spec("opendp"):
        import opendp.prelude as dp

        dp.enable_features("contrib")
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True)
        noisy = space >> dp.m.then_noisy_max(dp.max_divergence(), scale=1 / EPSILON)
        scores = list(range(d))
        found["opendp_ms"] = lambda: noisy(scores)
    if importlib.util.find_spec("diffprivlib"):
        from diffprivlib.mechanisms import Exponential

        scores_of = list(map(float, range(d)))
        found["diffprivlib_ms"] = lambda: Exponential(
            epsilon=EPSILON, sensitivity=1, utility=scores_of, monotonic=True
        ).randomise()
    return found


def lists() -> dict[str, tuple[Call, Call]]:
    rng = np.random.default_rng(0)
    found: dict[str, tuple[Call, Call]] = {}

    def top(counts: np.ndarray, k: int, mechanism: str) -> Call:
        delta = {"delta": 1e-6} if mechanism == "peel-gumbel" else {}
        return lambda: wn.top_k(counts, k=k, epsilon=EPSILON, method=mechanism, **delta)

    for d, names in (
        (10**3, ("gamma", "peel-gumbel")),
        (10**4, ("gamma", "peel-gumbel")),
        (10**5, ("joint", "oneshot", "canonical", "gamma")),
    ):
        counts = rng.zipf(1.7, d).clip(0, 10**6)
        for name in names:
            anchor = cube(counts, 10) if name == "gamma" else noisy_top(counts, 10)
            found[f"{name}, d = {d:,}, k = 10"] = (top(counts, 10, name), anchor)
    for d in (10**6, 3_770_000):
        counts = rng.zipf(1.7, d).clip(0, 10**6)
        found[f"gamma, d = {d:,}, k = 100"] = (top(counts, 100, "gamma"), cube(counts, 100))
    shapes = {"counts": rng.zipf(1.7, 10**6).clip(0, 10**6), "flat": np.full(10**6, 5)}
    for shape, scores in shapes.items():
        found[f"peel-permute-and-flip, {shape}, d = 1,000,000, k = 100"] = (
            top(scores, 100, "peel-permute-and-flip"),
            noisy_top(scores, 100),
        )
        found[f"large margin, {shape}, d = 1,000,000"] = (
            lambda scores=scores: wn.select(
                wn.seal_scores(scores, monotone=True, copy=False),
                epsilon=EPSILON,
                delta=1e-6,
                method="large-margin",
            ),
            noisy_top(scores, 1),
        )
    return found


def first_calls() -> float:
    """The median of the calls 2 to 20 of a process, on 100,000 counts, in ms."""
    counts = np.random.default_rng(0).zipf(1.7, 10**5).clip(0, 10**6)
    took = []
    for _ in range(20):
        start = time.process_time()
        wn.select(wn.seal_scores(counts, monotone=True, copy=False), epsilon=EPSILON)
        took.append(time.process_time() - start)
    return 1e3 * float(np.median(took[1:]))


def answers() -> dict[str, float]:
    """Durable answers of sessions a second, 1,000 asked together, by processor time."""
    rng = np.random.default_rng(0)
    shape = {"a": 9, "b": 16, "c": 7, "d": 6, "e": 5, "f": 2, "g": 2}
    table = _table(shape, rng)
    questions = []
    for _ in range(1200):
        names = rng.choice(list(shape), 3, replace=False).tolist()
        chosen = {n: rng.choice(shape[n], max(1, shape[n] // 2), replace=False) for n in names}
        questions.append(wn.where(chosen))
    found = {}
    for method in ("multiplicative-weights", "independent"):
        with tempfile.TemporaryDirectory() as folder:
            session: Any = wn.ask(
                table, epsilon=1, delta=1e-6, max_queries=10**5, method=method,
                state=Path(folder) / "session",
            )  # fmt: skip
            for part in (questions[:200], questions[200:]):
                start = time.process_time()
                if hasattr(session, "ask_many"):
                    session.ask_many(part)
                else:
                    for question in part:
                        session.ask(question)
            found[method] = 1000 / (time.process_time() - start)
            session.close()
    return found


def _table(shape: dict[str, int], rng: np.random.Generator) -> Any:
    import pandas as pd

    kind = rng.integers(0, 4, 50_000)
    columns = {
        name: np.minimum(size - 1, rng.integers(0, size, 50_000) + kind * size // 3)
        for name, size in shape.items()
    }
    return wn.read_table(pd.DataFrame(columns), schema=shape)


def measure(rounds: int = 12) -> dict[str, Any]:
    """All rows of this process: milliseconds, and those of the anchor."""
    fresh = first_calls()
    rows = selections() | lists()
    best: dict[tuple[str, int], float] = {}
    for number in range(rounds):
        for name, pair in rows.items():
            if number >= 4 and name.endswith("k = 100"):
                continue  # long calls vary less
            for side, call in enumerate(pair):
                repeats = 20 if name in SMALL else 1
                call()
                start = time.process_time()
                for _ in range(repeats):
                    call()
                took = (time.process_time() - start) / repeats
                best[name, side] = min(took, best.get((name, side), float("inf")))
    found = {name: {"ms": 1e3 * best[name, 0], "anchor_ms": 1e3 * best[name, 1]} for name in rows}
    found["select, d = 100,000, calls 2 to 20 of a process"] = {
        "ms": fresh, "anchor_ms": found["select, d = 100,000"]["anchor_ms"],
    }  # fmt: skip
    for d, name in zip((3, 100, 1000), SMALL, strict=True):
        for other, call in others(d).items():
            found[name][other] = 1e3 * best_time(call, 200, clock=time.process_time)
    return {"rows": found, "answers": answers()}


def in_process(source: Path) -> dict[str, Any]:
    """The figures of a source tree, in a process of its own."""
    paths = os.pathsep.join([str(source / "src"), str(HERE)])
    done = subprocess.run(
        [sys.executable, __file__, "--child"], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def smallest(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The best run of each row, by its own time, and the highest rates."""
    rows = {
        name: min((run["rows"][name] for run in runs), key=lambda row: row["ms"])
        for name in runs[0]["rows"]
    }
    rates = {name: max(run["answers"][name] for run in runs) for name in runs[0]["answers"]}
    return {"rows": rows, "answers_per_second": rates}


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], "speed")
    parser.add_argument("--against", type=Path, help="another source tree, to be called before")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--child", action="store_true", help="print the figures of this process")
    options = parser.parse_args()
    if options.child:
        sys.stdout.write(json.dumps(measure()))
        return
    trees = {"after": HERE.parent} | ({"before": options.against} if options.against else {})
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in trees}
    for _ in range(options.runs):
        for name, tree in trees.items():
            runs[name].append(in_process(tree))
    found = {name: smallest(each) for name, each in runs.items()}
    after, before = found["after"]["rows"], found.get("before", {}).get("rows", {})
    report(
        "Processor time of one call, and that of the anchor",
        ["call", "", "before, ms", "after, ms", "anchor, ms", "after / anchor"],
        [
            [name, "", f"{before[name]['ms']:.3g}" if before else "-", f"{row['ms']:.3g}",
             f"{row['anchor_ms']:.3g}", f"{row['ms'] / row['anchor_ms']:.2f}"]
            for name, row in after.items()
        ],
    )  # fmt: skip
    save(options.out, found)


if __name__ == "__main__":
    main()
