"""The part of ``lp`` where every row is a person: violations, the search, and lazy columns."""

from __future__ import annotations

import gzip
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

import winnow as wn
from _common import report
from winnow.core.run import single_run
from winnow.core.tape import Tape
from winnow.lp.calibration import LpBudget, expect_lp
from winnow.lp.crossing.rows import seal_rows
from winnow.lp.mechanisms.constraint import ConstraintPrivateLp
from winnow.lp.problem import OwnedProblem, Simplex, Target
from winnow.show.plots.figures import STYLES, as_file, new_figure

ALPHA, DELTA = 0.5, 1e-6
EPSILONS = [0.3, 1.0, 3.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]


def groceries(data: Path) -> tuple[str, Any]:
    with gzip.open(data / "groceries" / "groceries.csv.gz", "rt") as file:
        baskets = [line.strip().split(",") for line in file if line.strip()]
    items = {item: j for j, item in enumerate(sorted({i for basket in baskets for i in basket}))}
    rows = [r for r, basket in enumerate(baskets) for _ in set(basket)]
    columns = [items[i] for basket in baskets for i in sorted(set(basket))]
    shape = (len(baskets), len(items))
    return "groceries", csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)


def covering(m: int) -> tuple[str, Any]:
    """Everyone names 8 of 40 places, some of them far more often than others."""
    rng = np.random.default_rng(5)
    matrix = np.zeros((m, 40))
    liked = rng.gumbel(size=(m, 40)) - 1.2 * np.log(np.arange(1, 41))
    np.put_along_axis(matrix, np.argsort(-liked, axis=1)[:, :8], 1.0, axis=1)
    return f"generated, {m:,} rows", csr_matrix(matrix)


def popular(m: int, d: int, each: int) -> Any:
    """Rows that name `each` of d columns, some columns far more often than others."""
    rng = np.random.default_rng(0)
    columns = (d * rng.random((m, each)) ** 2).astype(np.int64)
    pairs = (np.repeat(np.arange(m), each), columns.ravel())
    matrix = csr_matrix((np.ones(m * each), pairs), shape=(m, d))
    matrix.data[:] = -1.0
    return matrix


def covered(matrix: Any, opt: Any, epsilon: float, rounds: int | None = None) -> Any:
    """Every row is a person to be covered."""
    m, d = matrix.shape
    problem = wn.lp_problem(matrix, np.ones(m), np.ones(d), opt=opt, senses=">=", maximise=False)
    method = wn.PersonRows(entries=(0, 1), sides=(1, 1), rows=m, exceptions=m // 20, rounds=rounds)
    return wn.lp(problem, method=method, epsilon=epsilon, delta=DELTA, alpha=ALPHA, seed=1).value


def constraint(name: str, matrix: Any, epsilons: list[float], rounds: int | None) -> list[Any]:
    """What all but s - 1 rows keep to, as epsilon grows; rounds for alpha unless given."""
    m, d = matrix.shape
    opt = wn.plan.lp_optimum(matrix, np.ones(m), np.ones(d), senses=">=", maximise=False)
    out = []
    for epsilon in epsilons:
        start = time.process_time()
        value = covered(matrix, opt, epsilon, rounds)
        seconds = time.process_time() - start
        gaps = np.sort(1 - matrix @ value.x)[::-1]
        kept = float(gaps[m // 20 - 1])
        out.append({
            "program": name, "epsilon": epsilon, "optimum": opt, "objective": value.objective,
            "exceptions": m // 20, "rounds": value.rounds, "promised": value.violation,
            "all_but_s": kept, "violated_by_alpha": float(np.mean(gaps > ALPHA)),
            "objective_to_meet_them": opt / (1 - kept) if kept < 1 else None, "seconds": seconds,
        })  # fmt: skip
    return out


def searches(name: str, matrix: Any, epsilons: list[float]) -> list[dict[str, Any]]:
    """The least value at which all but s - 1 rows are met to alpha, looked for privately."""
    m, out = matrix.shape[0], []
    for epsilon in epsilons:
        value = covered(matrix, (0.5, 8.0), epsilon)
        unmet = int((1 - matrix @ value.x > ALPHA).sum())
        out.append({
            "program": name, "epsilon": epsilon, "found": value.opt, "passed": value.feasible,
            "counted": value.unmet, "unmet": unmet, "exceptions": m // 20,
        })  # fmt: skip
    return out


def columns(m: int, d: int, each: int, epsilon: float, rounds: int) -> dict[str, Any]:
    """CPU time of a round with every column scored, and with lazy columns."""
    rows, opt = seal_rows(popular(m, d, each), -np.ones(m)), d / each / 5
    relation = wn.Relation.ADD_REMOVE
    problem = OwnedProblem(
        Simplex(np.ones(d), False), Target(opt, opt), (-1, 0), (-1, -1), m, m // 20
    )
    budget = LpBudget(epsilon, DELTA, relation, rounds=1000)
    plan = expect_lp(problem.setting(), budget)
    took = {}
    for selection, turns in (("dense", rounds // 5), ("lazy", rounds)):
        spans = []
        for times in (1, 1 + turns):  # setup is what one round takes longer
            mechanism = ConstraintPrivateLp(
                plan.selection_epsilon, times, m // 20, (-1, 0), (-1, -1), selection=selection
            )
            key, _ = single_run(mechanism, relation, Tape.seeded(1))
            run = mechanism.drawn(rows, key)
            start = time.process_time()
            run.solve(problem.simplex.scale(opt), plan.step)
            spans.append(time.process_time() - start)
        took[selection] = (spans[1] - spans[0]) / turns
    return {
        "rows": m, "columns": d, "entries_per_row": each, "epsilon": epsilon,
        "dense_ms": took["dense"] * 1e3, "lazy_ms": took["lazy"] * 1e3,
        "ratio": took["dense"] / took["lazy"],
    }  # fmt: skip


def all_columns(*, quick: bool) -> list[dict[str, Any]]:
    sizes = [(20_000, 10_000, 100), (20_000, 100_000, 100), (20_000, 100_000, 1_000)]
    if quick:
        sizes = sizes[:2]
    rows = [columns(*size, epsilon, 100) for size in sizes for epsilon in (0.3, 1.0, 10.0, 100.0)]
    report(
        "One round where every row is a person: all columns scored, or lazily (CPU)",
        ["rows", "columns", "entries per row", "epsilon", "dense", "lazy", "ratio"],
        [
            [f"{r['rows']:,}", f"{r['columns']:,}", f"{r['entries_per_row']}", f"{r['epsilon']:g}",
             f"{r['dense_ms']:.2f} ms", f"{r['lazy_ms']:.2f} ms", f"{r['ratio']:.1f}"]
            for r in rows
        ],
    )  # fmt: skip
    return rows


def all_constraint(data: Path | None, *, quick: bool) -> dict[str, Any]:
    epsilons = EPSILONS[1::2] if quick else EPSILONS
    generated = covering(10_000 if quick else 100_000)
    rows = constraint(*generated, epsilons, None)
    if data is not None:
        rows += constraint(*groceries(data), epsilons, 1_000 if quick else None)
    report(
        f"Every row is a person (covering, alpha = {ALPHA}, s = a twentieth of the rows)",
        ["program", "epsilon", "rounds", "promised", "all but s - 1", "beyond alpha",
         "objective to meet them", "optimum", "seconds"],
        [
            [r["program"], f"{r['epsilon']:g}", f"{r['rounds']:,}", f"{r['promised']:.3f}",
             f"{r['all_but_s']:.3f}", f"{r['violated_by_alpha']:.4f}",
             "-" if r["objective_to_meet_them"] is None else f"{r['objective_to_meet_them']:.2f}",
             f"{r['optimum']:.2f}", f"{r['seconds']:.1f}"]
            for r in rows
        ],
    )  # fmt: skip
    found = searches(*covering(10_000), [3.0, 30.0, 1e3])
    report(
        "Looking for the value: eight solves, each followed by a noisy count",
        ["program", "epsilon", "found", "passed", "counted", "beyond alpha", "s"],
        [
            [r["program"], f"{r['epsilon']:g}", f"{r['found']:.3f}", f"{r['passed']}",
             f"{r['counted']}", f"{r['unmet']}", f"{r['exceptions']}"]
            for r in found
        ],
    )  # fmt: skip
    return {"alpha": ALPHA, "solves": rows, "searches": found}


def draw_people(path: Path, rows: list[dict[str, Any]]) -> None:
    """Violation of all but s - 1 rows against epsilon, promised and found."""
    figure, axes = new_figure()
    programs = list(dict.fromkeys(r["program"] for r in rows))
    for style, name in zip(STYLES, programs, strict=False):
        chosen = [r for r in rows if r["program"] == name]
        epsilons = [r["epsilon"] for r in chosen]
        axes.plot(epsilons, [r["all_but_s"] for r in chosen], label=f"{name}: found", **style)
        dashed = {**style, "linestyle": ":", "marker": ""}
        axes.plot(epsilons, [r["promised"] for r in chosen], label=f"{name}: promised", **dashed)
    axes.axhline(ALPHA, color="0.5", linewidth=1)
    axes.text(EPSILONS[0], ALPHA + 0.02, "alpha", color="0.4")
    axes.set_xscale("log")
    axes.set_ylim(-0.6, 1.6)
    axes.set_xlabel("epsilon (delta = 1e-6)")
    axes.set_ylabel("violation of all but 5 % of the rows")
    axes.set_title("Covering, where every row is a person", loc="left")
    axes.legend(frameon=False)
    path.write_bytes(as_file(figure, path.suffix))
