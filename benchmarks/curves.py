"""How the cost of every verb and method grows, on both sides of every border, beside a rival.

A curve is one method along one axis (candidates, k, rows, columns, ...): at least 12 points, among
them the borders of the code and the number after each. At each point stand the least CPU time of
several calls, the peak of memory beyond the data, and what a rival takes that does the like
without privacy or exactness. Two neighbouring points are a cliff where time grows by more than
1.5 times what the growth law of the curve says, or falls to less than 1 / 1.5. Both are measured
again, as often as three times, before they are called one: other work on the machine disturbs.
One thread is used.
Run: python benchmarks/curves.py [--only top_k,lp] [--figures FOLDER]
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("WINNOW_THREADS", "1")

from _common import arguments, report, save
from _curve_cases import reading, selection
from _curve_tables import programs, tables
from _curves import Curve

CURVES: tuple[Curve, ...] = (*selection(), *reading(), *tables(), *programs())

CLIFF = 1.5
LEAST = 2e-4
"""Seconds that no law has to explain: a call of fixed cost varies by as much."""
SPENT = 0.2
"""CPU seconds for each point, where its first calls take less."""


def cpu(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def best(call: Callable[[], Any], spend: float = SPENT) -> float:
    """The least CPU time of two to 30 calls, after one that loads what it needs."""
    took = [cpu(call)]
    while len(took) < 3 or (len(took) < 31 and sum(took) < spend):
        took.append(cpu(call))
    return min(took[1:])


def peak(call: Callable[[], Any]) -> float | None:
    """MB of resident memory at the peak of a call beyond what stood there before (Linux)."""
    try:
        gc.collect()
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # what was freed is given back first
        Path("/proc/self/clear_refs").write_text("5")
        before = _resident()
        call()
        return max(0.0, _resident() - before) / 1024
    except OSError:
        return None


def _resident() -> int:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def cliffs(curve: Curve, rows: list[dict[str, Any]]) -> list[tuple[int, float]]:
    """The places after which time jumps, and by how many times what the law says."""
    found = []
    for place, (one, other) in enumerate(pairwise(rows)):
        law = (other["n"] / one["n"]) ** curve.power
        rises = (other["seconds"] - LEAST) / (one["seconds"] * law)
        falls = (one["seconds"] - LEAST) / other["seconds"]
        worst = max(rises, falls)
        if worst > CLIFF:
            found.append((place, worst))
    return found


def measured(curve: Curve) -> dict[str, Any]:
    """The points of a curve, and its cliffs, looked at again."""
    rows: list[dict[str, Any]] = []
    for n in curve.points:
        call = curve.call(n)
        row: dict[str, Any] = {"n": n, "seconds": best(call), "peak_mb": peak(call)}
        if curve.rival is not None:
            row["rival_seconds"] = best(curve.rival(n), SPENT / 3)
        rows.append(row)
    for _ in range(3):
        again = {at for place, _ in cliffs(curve, rows) for at in (place, place + 1)}
        for place in sorted(again):
            call = curve.call(rows[place]["n"])
            rows[place]["seconds"] = min(rows[place]["seconds"], best(call, 2 * SPENT))
    steps = [
        {"from": rows[i]["n"], "to": rows[i + 1]["n"], "times": t} for i, t in cliffs(curve, rows)
    ]
    return {
        "verb": curve.verb, "method": curve.method, "axis": curve.axis, "rival": curve.against,
        "power": curve.power, "borders": list(curve.borders), "points": rows, "cliffs": steps,
    }  # fmt: skip


def shown(curve: dict[str, Any]) -> list[str]:
    first, last = curve["points"][0], curve["points"][-1]
    ratio = last["seconds"] / last["rival_seconds"] if "rival_seconds" in last else None
    worst = max((cliff["times"] for cliff in curve["cliffs"]), default=None)
    where = ", ".join(f"{cliff['from']:,}" for cliff in curve["cliffs"])
    return [
        f"{curve['verb']}, {curve['method']}", curve["axis"],
        f"{first['n']:,}", f"{1e3 * first['seconds']:.3g}",
        f"{last['n']:,}", f"{1e3 * last['seconds']:.3g}",
        "-" if last["peak_mb"] is None else f"{last['peak_mb']:.3g}",
        "-" if ratio is None else f"{ratio:.2g}",
        "-" if worst is None else f"{worst:.2f} after {where}",
    ]  # fmt: skip


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], "curves")
    parser.add_argument("--only", help="verbs, or VERB/METHOD/AXIS, with commas between them")
    parser.add_argument("--figures", type=Path, help="folder to draw the curves into")
    parser.add_argument("--draw", action="store_true", help="measure nothing; draw what is there")
    options = parser.parse_args()
    before: dict[str, Any] = {}
    if options.out.exists() and (options.only or options.draw):
        before = {_key(curve): curve for curve in json.loads(options.out.read_text())["curves"]}
    found = dict(before)
    wanted = set(options.only.split(",")) if options.only else None
    for curve in () if options.draw else CURVES:
        names = {curve.verb, f"{curve.verb}/{curve.method}/{curve.axis}"}
        if wanted is None or wanted & names:
            sys.stderr.write(f"{curve.verb} {curve.method} {curve.axis}\n")
            one = measured(curve)
            found[_key(one)] = one
    curves = list(found.values())
    report(
        "CPU time along the axes, and cliffs",
        ["method", "axis", "from", "ms", "to", "ms", "peak MB", "/ rival", "cliffs"],
        [shown(curve) for curve in curves],
    )
    if not options.draw:
        save(options.out, {"limit": CLIFF, "curves": curves})
    if options.figures is not None:
        from _curve_figures import draw

        draw(curves, options.figures)


def _key(curve: dict[str, Any]) -> str:
    return f"{curve['verb']}/{curve['method']}/{curve['axis']}"


if __name__ == "__main__":
    main()
