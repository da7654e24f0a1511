"""Large draws on one thread and on several: wall time, on a machine that does nothing else.

Each row is one draw with a fixed seed, called with every number of threads in turn, so that all
see the same machine; what they release is compared bit for bit. With the speed-up s on two, the
part p = 2 - 2/s of the time runs side by side (Amdahl), and 1 / (1 - p + p/64) is what 64
processors would bring where memory is as fast for each of them as it is here.
``overhead`` is the processor time of all threads over that of one.
Run: python benchmarks/threads.py [--threads 2] [--quick]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import winnow as wn
from _common import arguments, report, save
from winnow.core import threads
from winnow.core.tape import Tape

Draw = Callable[[], Any]


def draws(d: int) -> dict[str, Draw]:
    counts = np.random.default_rng(0).zipf(1.7, d).clip(0, 10**6)
    scores = wn.seal_scores(counts, monotone=True, copy=False)
    real = wn.seal_scores(counts * 0.37, copy=False)
    bounded = wn.seal_counts(counts, max_items=5)
    found: dict[str, Draw] = {
        "select": lambda: wn.select(scores, epsilon=1, seed=1).value,
        "select, real scores": lambda: wn.select(real, epsilon=1, seed=1).value,
    }
    for method, delta in (("oneshot", 0.0), ("joint", 0.0), ("gamma", 0.0), ("laplace", 0.0),
                          ("gaussian", 1e-6)):  # fmt: skip
        found[f"top_k, {method}, k = 100"] = lambda method=method, delta=delta: (
            wn.top_k(bounded, k=100, epsilon=1, delta=delta, method=method, seed=1).value
        )
    cells = d // 10
    line = wn.read_table(
        {"x": np.random.default_rng(0).integers(0, cells, 1000)}, schema={"x": cells}
    )
    found[f"tabulate, {cells:,} cells"] = lambda: hash(
        np.asarray(wn.tabulate(line, ["x"], epsilon=1, seed=1).value.tables[0].estimate).tobytes()
    )
    rng = np.random.default_rng(0)
    columns = {f"c{i}": rng.integers(0, 5, d // 10) for i in range(12)}
    rows = wn.labelled(
        wn.read_table(
            columns | {"y": columns["c0"] % 2}, schema=dict.fromkeys(columns, 5) | {"y": 2}
        ),
        "y",
    )
    found[f"learn, {d // 10:,} rows, rules of two tests"] = lambda: str(
        wn.learn(rows, epsilon=1, delta=1e-6, method=wn.OneRule(of="conjunctions:2"), seed=1).value
    )
    return found


def measured(draw: Draw, numbers: tuple[int, ...], repeats: int) -> dict[str, Any]:
    wall = dict.fromkeys(numbers, float("inf"))
    cpu = dict.fromkeys(numbers, float("inf"))
    released = []
    for _ in range(repeats):
        for number in numbers:
            with threads.using(number):
                start, used = time.perf_counter(), time.process_time()
                released.append(draw())
                wall[number] = min(wall[number], time.perf_counter() - start)
                cpu[number] = min(cpu[number], time.process_time() - used)
    if any(each != released[0] for each in released):
        raise SystemExit("two numbers of threads released different values")
    return {"wall": wall, "cpu": cpu}


def starting() -> float:
    """Processor seconds to start two threads and wait for them."""
    best = float("inf")
    for _ in range(50):
        start = time.process_time()
        threads.each(lambda task: task, [1, 2], 2)
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], "threads")
    parser.add_argument("--threads", type=int, default=threads.processors())
    parser.add_argument("--quick", action="store_true", help="4 million scores instead of 50")
    options = parser.parse_args()
    d = 4_000_000 if options.quick else 50_000_000
    Tape.seeded(0).words(0, 4)
    found: dict[str, Any] = {}
    lines = []
    for name, draw in draws(d).items():
        row = measured(draw, (1, options.threads), 3)
        speed = row["wall"][1] / row["wall"][options.threads]
        side = (1 - 1 / speed) / (1 - 1 / options.threads) if options.threads > 1 else 0.0
        side = min(1.0, max(0.0, side))  # a machine that is busy shows anything
        found[name] = {
            "wall_1": row["wall"][1], "wall": row["wall"][options.threads], "speed_up": speed,
            "overhead": row["cpu"][options.threads] / row["cpu"][1], "side_by_side": side,
            "with_64": 1 / (1 - side + side / 64),
        }  # fmt: skip
        lines.append(
            [name, "", f"{1e3 * row['wall'][1]:.1f}", f"{speed:.2f}",
             f"{found[name]['overhead']:.2f}", f"{side:.0%}", f"{found[name]['with_64']:.1f}"]
        )  # fmt: skip
    start = starting()
    report(
        f"{d:,} scores, {options.threads} threads (to start two: {1e6 * start:.0f} us)",
        ["draw", "", "one thread, ms", "speed-up", "CPU", "side by side", "64 would bring"], lines,
    )  # fmt: skip
    save(options.out, {"scores": d, "threads": options.threads, "starting": start, "draws": found})


if __name__ == "__main__":
    main()
