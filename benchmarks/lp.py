"""Private linear programs: time of a selection, violations, cost against the number of rows.

    python benchmarks/lp.py --data DIR [--quick]

The setting of FastMWEM, Section 5.3: A ~ N(0, 1), d = 20, b = A x* + |N(0, 1)|/10, T = 5,000,
epsilon = 1, delta = 1e-3, sensitivity 0.1 (where the mechanism is nearly uniform) or 1e-5 (where
privacy allows signal). Times are CPU seconds of this process, which other load disturbs least. The
baseline is what a BLAS product and NumPy's Gumbel noise (not private) take for one selection.
DIR holds groceries/ and the folders lp_*/ of MPS files; without it these parts are left out.
"""

from __future__ import annotations

import gzip
import os
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core for everyone

import numpy as np
from scipy.sparse import csr_matrix

import winnow as wn
from _common import arguments, report, save
from winnow.algorithms.lp_plan import LpBudget, plan_lp
from winnow.domain.utility import Utility
from winnow.errors import WinnowError
from winnow.kernels.constraint_solver import ConstraintLoop, Rows, Shapes, words_for
from winnow.mechanisms.inner_product_problem import Grid
from winnow.mechanisms.scalar_lp import in_steps
from winnow.plots.figures import STYLES, as_file, new_figure
from winnow.random.tape import Tape
from winnow.verbs.solve_lp import lp_setting

D, T, EPSILON, DELTA, ALPHA = 20, 5_000, 1.0, 1e-3, 0.5


def program(m: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((m, D))
    return matrix, matrix @ rng.dirichlet(np.ones(D)) + 0.1 * np.abs(rng.standard_normal(m))


def planned(matrix: Any, sensitivity: float) -> Any:
    setting, _ = lp_setting(
        matrix, np.ones(D), private="scalar", opt=1, sensitivity=sensitivity
    )  # fmt: skip
    return plan_lp(setting, LpBudget(EPSILON, DELTA, wn.Relation.ADD_REMOVE, rounds=T))


def loop_for(matrix: Any, b: Any, sensitivity: float, plan: Any) -> ConstraintLoop:
    grid = Grid.of(Utility.declare(sensitivity), signed=False)
    rows, scale = Rows.of(matrix), np.ones(D)
    rate = Fraction(plan.selection_epsilon) / (2 * grid.utility.half_width)
    return ConstraintLoop(
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
    """With the calibrated epsilon and our step, or with those that Algorithm 3 prints."""
    matrix, b = program(m, 1)
    plan = planned(matrix, sensitivity)
    if printed:
        plan = replace(
            plan,
            selection_epsilon=EPSILON / np.sqrt(8 * T * np.log(1 / DELTA)),
            step=np.sqrt(np.log(D) / T) / np.abs(matrix).max(),
        )
    start = time.process_time()
    loop = loop_for(matrix, b, sensitivity, plan)
    setup = time.process_time() - start
    words = words_for(Tape.seeded(1), T)
    loop._state[17] = 1
    loop.finish(words)  # compiled, and the first look at the rows
    loop._state[17] = rounds
    start = time.process_time()
    loop.finish(words)
    ours = (time.process_time() - start) / (rounds - 1)
    theirs = baseline_time(matrix, b, 5)
    return {
        "m": m, "sensitivity": sensitivity, "printed": printed, "rounds": rounds, "setup_s": setup,
        "ours_us": ours * 1e6, "blas_gumbel_us": theirs * 1e6, "ratio": theirs / ours,
        "whole_solve_ratio": theirs * T / (setup + ours * T),
    }  # fmt: skip


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
    try:
        from winnow.index import build_index

        matrix, b = program(m, 1)
        start = time.process_time()
        index = build_index("hnsw", np.column_stack([matrix, b]).astype(np.float32))
    except (WinnowError, ImportError):
        return None
    build = time.process_time() - start
    query, times = np.append(np.full(D, 1 / D), -1.0), []
    for _ in range(20):
        start = time.process_time()
        index.top(query, int(np.sqrt(m)))
        times.append(time.process_time() - start)
    return {"m": m, "build_s": build, "query_us": min(times) * 1e6}


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


def groceries(data: Path) -> tuple[str, Any]:
    with gzip.open(data / "groceries" / "groceries.csv.gz", "rt") as file:
        baskets = [line.strip().split(",") for line in file if line.strip()]
    items = {item: j for j, item in enumerate(sorted({i for basket in baskets for i in basket}))}
    rows = [r for r, basket in enumerate(baskets) for _ in set(basket)]
    columns = [items[i] for basket in baskets for i in sorted(set(basket))]
    shape = (len(baskets), len(items))
    return "groceries", csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)


def covering(m: int) -> tuple[str, Any]:
    rng = np.random.default_rng(5)
    matrix = np.zeros((m, 40))
    np.put_along_axis(matrix, rng.random((m, 40)).argsort(axis=1)[:, :8], 1.0, axis=1)
    return f"generated, {m:,} rows", csr_matrix(matrix)


def constraint(name: str, matrix: Any, epsilons: list[float], rounds: int) -> list[dict[str, Any]]:
    m, d = matrix.shape
    opt = wn.plan.lp_optimum(matrix, np.ones(m), np.ones(d), senses=">=", maximise=False)
    out = []
    for epsilon in epsilons:
        start = time.process_time()
        value = wn.solve_lp(
            matrix, np.ones(m), np.ones(d), private="constraint", senses=">=", maximise=False,
            opt=opt, entries=(-1, 0), sides=(-1, -1), rows=m, exceptions=max(1, m // 20),
            epsilon=epsilon, delta=1e-6, rounds=rounds, seed=1,
        ).value  # fmt: skip
        gap = 1 - matrix @ value.x
        out.append({
            "program": name, "epsilon": epsilon, "optimum": opt, "objective": value.objective,
            "promised": value.violation, "violated_by_0.5": float(np.mean(gap > 0.5)),
            "violation_95_percentile": float(np.quantile(gap, 0.95)),
            "seconds": time.process_time() - start,
        })  # fmt: skip
    return out


def models(data: Path, most: int) -> list[dict[str, Any]]:
    """MPS files: parsed, planned, solved, or refused with the reason."""
    out = []
    for path in sorted(data.glob("lp_*/*.mps.gz"))[:most]:
        row: dict[str, Any] = {"model": f"{path.parent.name}/{path.name}"}
        try:
            model = wn.read_lp(path)
            row |= {"rows": model.A.shape[0], "columns": model.A.shape[1]}
            row["optimum"] = opt = wn.plan.lp_optimum(
                model.A, model.b, model.c, senses=model.senses, maximise=model.maximise
            )
            bound = None if model.c.min() > 0 and opt > 0 else 1e3
            asked = {
                "private": "scalar", "senses": model.senses, "maximise": model.maximise,
                "opt": opt, "sensitivity": 0.01, "epsilon": 1, "delta": 1e-6, "bound": bound,
            }  # fmt: skip
            plan = wn.plan.lp(model.A, model.c, **asked)
            row |= {"promised": plan.violation, "hopeless": plan.hopeless}
            if plan.rounds <= 20_000:
                wn.solve_lp(model.A, model.b, model.c, seed=1, **asked)
                row["outcome"] = "solved"
            else:
                row["outcome"] = f"planned: {plan.rounds} rounds are more than this benchmark takes"
        except WinnowError as error:
            row["outcome"] = f"refused: {error}"[:120]
        out.append(row)
    return out


def main() -> None:
    parser = arguments(__doc__ or "", "lp")
    parser.add_argument("--data", type=Path, help="folder with groceries/ and lp_*/")
    parser.add_argument("--quick", action="store_true", help="fewer rows, seeds and models")
    parser.add_argument("--figure", type=Path, help="draw the cost against the number of rows")
    args = parser.parse_args()
    quick = args.quick
    document: dict[str, Any] = {"T": T, "d": D, "quick": quick}
    sizes = [10_000, 30_000, 100_000, 300_000, 1_000_000, 1_500_000, 3_000_000]
    document["speed"] = [speed(m, 0.1, T) for m in sizes]
    few = 300 if quick else T
    document["speed"] += [speed(m, 1e-5, few) for m in (300_000, 1_500_000)]
    more = 1_500 if quick else T
    document["speed"] += [speed(m, 1e-5, more, printed=True) for m in (300_000, 1_500_000)]
    if args.figure is not None:
        args.figure.write_bytes(draw(document["speed"], args.figure.suffix))
    report(
        "One selection (CPU), paper's setting",
        ["rows", "sensitivity", "ours", "BLAS + Gumbel", "ratio", "whole solve", "setup"],
        [
            [f"{r['m']:,}", f"{r['sensitivity']:g}{' printed' * r['printed']}",
             f"{r['ours_us']:.2f} us",
             f"{r['blas_gumbel_us']:,.0f} us", f"{r['ratio']:,.0f}",
             f"{r['whole_solve_ratio']:,.0f}", f"{r['setup_s']:.2f} s"]
            for r in document["speed"]
        ],
    )  # fmt: skip
    document["hnsw"] = hnsw(20_000 if quick else 300_000)
    print("HNSW:", document["hnsw"])
    document["violations"] = [
        violations(3_000 if quick else 30_000, s, 10) for s in (0.1, 1e-3, 1e-5)
    ]
    report(
        "Rows violated by more than alpha = 0.5, and the largest violation (means over seeds)",
        ["sensitivity", "rows", "ours", "MWEM", "uniform", "95 % of ours - MWEM", "largest"],
        [
            [f"{r['sensitivity']:g}", f"{r['m']:,}", f"{r['violated_ours']:.5f}",
             f"{r['violated_mwem']:.5f}", f"{r['violated_uniform']:.5f}",
             f"{r['difference_95'][0]:.1e} .. {r['difference_95'][1]:.1e}",
             f"{r['largest_ours']:.3f} / {r['largest_mwem']:.3f} / {r['largest_uniform']:.3f}"]
            for r in document["violations"]
        ],
    )  # fmt: skip
    epsilons, rounds = [0.3, 1.0, 10.0, 1000.0], 200 if quick else 1000
    document["constraint"] = constraint(*covering(10_000 if quick else 100_000), epsilons, rounds)
    if args.data is not None:
        document["constraint"] += constraint(*groceries(args.data), epsilons, rounds)
        document["models"] = models(args.data, 12 if quick else 1000)
    report(
        "Every row is a person (covering)",
        ["program", "epsilon", "optimum", "promised", "95th percentile", "beyond 0.5", "seconds"],
        [
            [r["program"], f"{r['epsilon']:g}", f"{r['optimum']:.2f}", f"{r['promised']:.3f}",
             f"{r['violation_95_percentile']:.3f}", f"{r['violated_by_0.5']:.4f}",
             f"{r['seconds']:.1f}"]
            for r in document["constraint"]
        ],
    )  # fmt: skip
    for row in document.get("models", []):
        print(row)
    save(args.out, document)


if __name__ == "__main__":
    main()
