"""The scalar-private parts of ``lp``: time of a selection, HNSW, violations."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import winnow as wn
from _common import report
from winnow import Utility, WinnowError
from winnow.core.tape import Tape
from winnow.inner_product.problem import InnerProductGrid
from winnow.lp.crossing.scalar import in_steps
from winnow.lp.kernels.scalar_program import ROUNDS, ConstraintRows, Shapes
from winnow.lp.kernels.scalar_solver import ScalarLoop, words_for
from winnow.show.plots.figures import STYLES, as_file, new_figure

D, T, EPSILON, DELTA, ALPHA = 20, 5_000, 1.0, 1e-3, 0.5


def program(m: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((m, D))
    return matrix, matrix @ rng.dirichlet(np.ones(D)) + 0.1 * np.abs(rng.standard_normal(m))


def planned(matrix: Any, sensitivity: float) -> Any:
    problem = wn.lp_problem(matrix, None, np.ones(D), opt=1)
    method = wn.ScalarSides(sensitivity=sensitivity, rounds=T)
    return wn.plan.lp(problem, method=method, epsilon=EPSILON, delta=DELTA).expected


def loop_for(matrix: Any, b: Any, sensitivity: float, plan: Any) -> ScalarLoop:
    grid = InnerProductGrid.of(Utility.declare(sensitivity), signed=False)
    rows, scale = ConstraintRows.of(matrix), np.ones(D)
    rate = Fraction(plan.selection_epsilon) / (2 * grid.utility.half_width)
    return ScalarLoop(
        rows, Shapes.of(rows, scale), scale, in_steps(b, grid.power, 1e6), power=grid.power,
        rate=rate, step=plan.step, rounds=T,
    )  # fmt: skip


def baseline_time(matrix: Any, b: Any, repeats: int) -> float:
    rng, z = np.random.default_rng(0), np.full(D, 1 / D)
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        int((matrix @ z - b + rng.gumbel(size=len(b))).argmax())
        best = min(best, time.process_time() - start)
    return float(best)


def speed(m: int, sensitivity: float, rounds: int, *, printed: bool = False) -> dict[str, Any]:
    """With the calibrated epsilon and our step, or with those that Algorithm 3 prints.

    The set-up has the first round in it, which looks at all rows if any round does. Runs that take
    milliseconds are repeated: the least of five.
    """
    matrix, b = program(m, 1)
    plan = planned(matrix, sensitivity)
    if printed:
        plan = replace(
            plan,
            selection_epsilon=EPSILON / np.sqrt(8 * T * np.log(1 / DELTA)),
            step=np.sqrt(np.log(D) / T) / np.abs(matrix).max(),
        )
    setup = ours = np.inf
    for _ in range(5 if sensitivity == 0.1 else 1):
        start = time.process_time()
        loop = loop_for(matrix, b, sensitivity, plan)
        words = words_for(Tape.seeded(1), T)
        loop._state[ROUNDS] = 1
        loop.finish(words)
        setup = min(setup, time.process_time() - start)
        loop._state[ROUNDS] = rounds
        start = time.process_time()
        loop.finish(words)
        ours = min(ours, (time.process_time() - start) / (rounds - 1))
    theirs = baseline_time(matrix, b, 5)
    return {
        "m": m, "sensitivity": sensitivity, "printed": printed, "rounds": rounds, "setup_s": setup,
        "ours_us": ours * 1e6, "blas_gumbel_us": theirs * 1e6, "ratio": theirs / ours,
        "whole_solve_ratio": theirs * T / (setup + ours * T),
    }  # fmt: skip


def compile_all() -> None:
    """Every way of drawing once, on a small program, so that no figure has compiling in it."""
    matrix, b = program(4_000, 1)
    for sensitivity in (0.1, 1e-5):
        loop = loop_for(matrix, b, sensitivity, planned(matrix, sensitivity))
        loop.finish(words_for(Tape.seeded(1), T))


def draw(rows: list[dict[str, Any]], ending: str) -> bytes:
    figure, axes = new_figure()
    curves = {
        "BLAS + Gumbel argmax": ("blas_gumbel_us", 0.1),
        "exact, sensitivity 1e-5": ("ours_us", 1e-5),
        "exact, sensitivity 0.1": ("ours_us", 0.1),
    }
    for style, (label, (key, sensitivity)) in zip(STYLES, curves.items(), strict=False):
        chosen = [r for r in rows if r["sensitivity"] == sensitivity and not r["printed"]]
        axes.plot([r["m"] for r in chosen], [r[key] for r in chosen], label=label, **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("rows")
    axes.set_ylabel("CPU microseconds for a selection")
    axes.set_title("Private linear programs, d = 20: cost of one round", loc="left")
    axes.legend(frameon=False)
    return as_file(figure, ending)


def hnsw(m: int) -> dict[str, Any] | None:
    """The paper's index over (A_i, b_i), built by two threads: k = sqrt(m) neighbours a round."""
    try:
        import faiss

        from winnow.inner_product.index.building import build_index

        matrix, b = program(m, 1)
        faiss.omp_set_num_threads(2)
        start = time.perf_counter()
        index = build_index("hnsw", np.column_stack([matrix, b]).astype(np.float32))
        build = time.perf_counter() - start
        faiss.omp_set_num_threads(1)
    except (WinnowError, ImportError):
        return None
    rng, times = np.random.default_rng(0), []
    for _ in range(50):
        query = np.append(rng.dirichlet(np.full(D, 5.0)), -1.0)
        start = time.process_time()
        index.top(query, int(np.sqrt(m)))
        times.append(time.process_time() - start)
    ours = speed(m, 0.1, T)["ours_us"]
    query_us = float(np.median(times)) * 1e6
    return {
        "m": m, "neighbours": int(np.sqrt(m)), "build_s": build, "query_us": query_us,
        "fastest_query_us": min(times) * 1e6, "ours_us": ours, "ratio": query_us / ours,
    }  # fmt: skip


def weights(matrix: Any, step: float, choose: Any) -> Any:
    """Plain multiplicative weights with a choice of rows."""
    logs, total = np.zeros(D), np.zeros(D)
    for _ in range(T):
        z = np.exp(logs - logs.max())
        z /= z.sum()
        total += z
        logs -= step * matrix[choose(z)]
    return total / T


def violations(m: int, sensitivity: float, seeds: int) -> dict[str, Any]:
    """Fraction of rows violated by more than alpha: ours, full-scan MWEM, uniform selection."""
    found: dict[str, list[float]] = {"ours": [], "mwem": [], "uniform": []}
    largest: dict[str, list[float]] = {"ours": [], "mwem": [], "uniform": []}
    for seed in range(seeds):
        matrix, b = program(m, seed)
        plan = planned(matrix, sensitivity)
        rate = plan.selection_epsilon / (2 * sensitivity)
        rng = np.random.default_rng(1000 + seed)
        points = {
            "ours": loop_for(matrix, b, sensitivity, plan).finish(words_for(Tape.seeded(seed), T)),
            "mwem": weights(
                matrix, plan.step,
                lambda z, a=matrix, s=b, r=rng, k=rate: int(
                    (k * (a @ z - s) + r.gumbel(size=len(s))).argmax()
                ),
            ),
            "uniform": weights(matrix, plan.step, lambda _, r=rng: int(r.integers(m))),
        }  # fmt: skip
        for name, z in points.items():
            found[name].append(float(np.mean(matrix @ z > b + ALPHA)))
            largest[name].append(float((matrix @ z - b).max()))
    paired = np.array(found["ours"]) - np.array(found["mwem"])
    half = 2.262 * paired.std(ddof=1) / np.sqrt(seeds) if seeds > 1 else np.inf
    return {
        "m": m, "sensitivity": sensitivity, "seeds": seeds,
        **{f"violated_{name}": float(np.mean(values)) for name, values in found.items()},
        **{f"largest_{name}": float(np.mean(values)) for name, values in largest.items()},
        "difference": float(paired.mean()), "difference_95": [float(paired.mean() - half),
                                                              float(paired.mean() + half)],
    }  # fmt: skip


def all_speeds(*, quick: bool) -> list[dict[str, Any]]:
    compile_all()
    sizes = [10_000, 30_000, 100_000, 300_000, 1_000_000, 1_500_000, 3_000_000]
    rows = [speed(m, 0.1, T) for m in sizes]
    few, rounds = [300_000, 1_500_000], 1_500 if quick else T
    rows += [speed(m, 1e-5, rounds) for m in (few if quick else sizes)]
    rows += [speed(m, 1e-5, rounds, printed=True) for m in few]
    report(
        "One selection (CPU), paper's setting",
        ["rows", "sensitivity", "ours", "BLAS + Gumbel", "ratio", "whole solve", "setup"],
        [
            [f"{r['m']:,}", f"{r['sensitivity']:g}{' printed' * r['printed']}",
             f"{r['ours_us']:.2f} us",
             f"{r['blas_gumbel_us']:,.0f} us", f"{r['ratio']:,.0f}",
             f"{r['whole_solve_ratio']:,.0f}", f"{r['setup_s']:.2f} s"]
            for r in rows
        ],
    )  # fmt: skip
    return rows


def draw_to(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_bytes(draw(rows, path.suffix))


def against_hnsw(*, quick: bool) -> dict[str, Any] | None:
    compile_all()
    found = hnsw(20_000 if quick else 300_000)
    print("HNSW:", found)
    return found


def all_violations(*, quick: bool) -> list[dict[str, Any]]:
    rows = [violations(3_000 if quick else 30_000, s, 10) for s in (0.1, 1e-3, 1e-5)]
    report(
        "Rows violated by more than alpha = 0.5, and the largest violation (means over seeds)",
        ["sensitivity", "rows", "ours", "MWEM", "uniform", "95 % of ours - MWEM", "largest"],
        [
            [f"{r['sensitivity']:g}", f"{r['m']:,}", f"{r['violated_ours']:.5f}",
             f"{r['violated_mwem']:.5f}", f"{r['violated_uniform']:.5f}",
             f"{r['difference_95'][0]:.1e} .. {r['difference_95'][1]:.1e}",
             f"{r['largest_ours']:.3f} / {r['largest_mwem']:.3f} / {r['largest_uniform']:.3f}"]
            for r in rows
        ],
    )  # fmt: skip
    return rows
