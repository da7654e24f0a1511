"""What the time of one call tells of the data: calls on different data, interleaved in one process.

For each mechanism: scores that are all equal ("flat"), the same with one score higher by 1 (their
neighbour), one score far ahead ("peaked") and its neighbour. For each pair the ratio of the median
times, and the AUC: how often a single call on one takes longer than one on the other, for whoever
tells by that; 0.5 is a guess, 1 is certainty. The time is that of the processor, which other work
on the machine disturbs least; with ``pad_to`` it is the time until the answer.
Run: python benchmarks/timing.py [--size 1000000] [--calls 40]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import winnow as wn
from _common import arguments, report, save

PAIRS = (("flat", "flat + 1"), ("peaked", "peaked + 1"), ("flat", "peaked"))
Call = Callable[[Any], Any]


def scores_of(d: int) -> dict[str, np.ndarray]:
    flat = np.full(d, 1000)
    peaked = flat.copy()
    peaked[d // 2] = 10**6
    found = {"flat": flat, "peaked": peaked}
    for name, scores in list(found.items()):
        found[f"{name} + 1"] = scores.copy()
        found[f"{name} + 1"][d // 3] += 1
    return found


def selections() -> dict[str, Call]:
    def top(method: str, **sealed: Any) -> Call:
        return lambda scores: wn.top_k(
            wn.seal_counts(scores, **sealed) if sealed else scores, k=10, epsilon=1.0, method=method
        )

    def pick(**options: Any) -> Call:
        return lambda scores: wn.select(
            wn.seal_scores(scores, monotone=True, copy=False), epsilon=1.0, **options
        )

    return {
        "permute-and-flip": pick(),
        "exponential": pick(method="exponential"),
        "oneshot, k = 10": top("oneshot"),
        "joint, k = 10": top("joint"),
        "canonical, k = 10": top("canonical"),
        "large margin": pick(delta=1e-6, method="large-margin"),
        "gamma, k = 10": top("gamma"),
        "noisy counts, k = 10": top("laplace", max_items=1),
        "peeling, k = 10": top("peel-permute-and-flip"),
    }  # fmt: skip


def tables(rows: int, seed: int) -> dict[str, Any]:
    """Uniform rows, and rows that nearly all are the same."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    schema = {f"c{i}": 10 for i in range(5)}
    flat = pd.DataFrame({name: rng.integers(0, 10, rows) for name in schema})
    peaked = flat.copy()
    peaked.iloc[: rows - rows // 20] = 3
    found = {"flat": flat, "peaked": peaked}
    for name, frame in list(found.items()):
        moved = frame.copy()
        moved.iloc[0] = 7
        found[f"{name} + 1"] = moved
    return {name: wn.read_table(frame, schema=schema) for name, frame in found.items()}


def sides(rows: int) -> dict[str, np.ndarray]:
    flat = np.full(rows, 2.0)
    peaked = flat.copy()
    peaked[rows // 2] = 0.5
    return {"flat": flat, "flat + 1": flat + np.eye(1, rows, 5)[0] * 0.01, "peaked": peaked,
            "peaked + 1": peaked + np.eye(1, rows, 5)[0] * 0.01}  # fmt: skip


def measure(call: Call, data: dict[str, Any], calls: int, clock: Callable[[], float]) -> Any:
    """The times of calls on each data set, in turns."""
    times: dict[str, list[float]] = {name: [] for name in data}
    for turn in range(calls + 2):
        for name, value in data.items():
            begun = clock()
            call(value)
            took = clock() - begun
            if turn >= 2:
                times[name].append(took)
    return times


def area(one: list[float], other: list[float]) -> float:
    """The AUC, whichever of the two is slower."""
    first, second = np.array(one)[:, None], np.array(other)[None, :]
    share = float(np.mean((first < second) + 0.5 * (first == second)))
    return max(share, 1.0 - share)


def row(name: str, times: dict[str, list[float]]) -> dict[str, Any]:
    median = {data: float(np.median(found)) for data, found in times.items()}
    found: dict[str, Any] = {"mechanism": name, "calls": len(times["flat"]), "seconds": median}
    found["pairs"] = [
        {
            "one": one,
            "other": other,
            "ratio": max(median[one], median[other]) / min(median[one], median[other]),
            "auc": area(times[one], times[other]),
        }
        for one, other in PAIRS
    ]
    return found


def shown(found: dict[str, Any]) -> list[str]:
    times = found["seconds"]
    cells = [
        found["mechanism"],
        f"{1e3 * min(times.values()):.1f} to {1e3 * max(times.values()):.1f}",
    ]
    return cells + [f"{pair['auc']:.2f} ({pair['ratio']:.2f})" for pair in found["pairs"]]


def main() -> None:
    parser = arguments(__doc__ or "", "timing")
    parser.add_argument("--size", type=int, default=10**6, help="candidates")
    parser.add_argument("--calls", type=int, default=40, help="calls on each data set")
    options = parser.parse_args()
    rows = []
    data = scores_of(options.size)
    for name, call in selections().items():
        slow = name.split(",")[0] in ("gamma", "noisy counts", "peeling")
        calls = max(5, options.calls // 3) if slow else options.calls
        rows.append(row(name, measure(call, data, calls, time.process_time)))
    queries = wn.marginals(ways=2)
    people = tables(10_000, options.seed)
    calls = max(5, options.calls // 2)

    def released(table: Any, pad_to: Any = None) -> Any:
        run, method = wn.Run(pad_to=pad_to), wn.MWEM(rounds=20)
        return wn.release(table, queries, epsilon=1.0, delta=1e-6, method=method, run=run)

    rows.append(row("release, 20 rounds", measure(released, people, calls, time.process_time)))
    programs = sides(5000)
    matrix = np.random.default_rng(options.seed).random((5000, 30))

    def solved(b: Any, pad_to: Any = None) -> Any:
        problem = wn.lp_problem(matrix, b, np.ones(30), opt=1.0)
        method = wn.ScalarSides(sensitivity=0.01, rounds=200)
        run = wn.Run(pad_to=pad_to)
        return wn.lp(problem, method=method, epsilon=1.0, delta=1e-6, run=run)

    rows.append(
        row("linear program, 200 rounds", measure(solved, programs, calls, time.process_time))
    )
    few = max(5, options.calls // 2)
    for name, run, inputs in (
        ("release, pad_to='plan'", released, people),
        ("linear program, pad_to='plan'", solved, programs),
    ):
        padded = lambda value, run=run: run(value, pad_to="plan")  # noqa: E731
        rows.append(row(name, measure(padded, inputs, few, time.perf_counter)))
    columns = ["mechanism", "ms", *(f"{one} | {other}: AUC (ratio)" for one, other in PAIRS)]
    report(f"{options.size:,} candidates", columns, [shown(found) for found in rows])
    save(options.out, {"size": options.size, "results": rows})


if __name__ == "__main__":
    main()
