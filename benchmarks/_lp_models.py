"""The part of ``lp`` that takes public models from files: planned, then solved or refused."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, identity, kron, vstack

import winnow as wn
from _common import report
from winnow import WinnowError
from winnow.lp.crossing.rows import as_upper_rows
from winnow.lp.files import read_model

Program = tuple[Any, Any, Any, Any, bool]
"""A, b, c, senses, maximise."""


def mps(path: Path) -> Program:
    model = read_model(path)
    return model.A, model.b, model.c, model.senses, model.maximise


def numbers(path: Path) -> Iterator[float]:
    with gzip.open(path, "rt") as file:
        yield from (float(word) for line in file for word in line.split())


def several(source: Iterator[float], count: int) -> Any:
    return np.array([next(source) for _ in range(count)])


def knapsack(path: Path) -> Program:
    """The first multidimensional knapsack of a file: packing rows, and x <= 1."""
    source = numbers(path)
    next(source)
    n, m = int(next(source)), int(next(source))
    next(source)
    costs = several(source, n)
    rows = several(source, m * n).reshape(m, n)
    matrix = vstack([csr_matrix(rows), identity(n, format="csr")], format="csr")
    return matrix, np.append(several(source, m), np.ones(n)), costs, "<=", True


def assignment(path: Path) -> Program:
    """The first generalised assignment of a file: every job to one agent, within capacities."""
    source = numbers(path)
    next(source)
    m, n = int(next(source)), int(next(source))
    costs = several(source, m * n)
    loads = several(source, m * n).reshape(m, n)
    agents = csr_matrix(
        (loads.ravel(), (np.repeat(np.arange(m), n), np.arange(m * n))), shape=(m, m * n)
    )
    jobs = kron(np.ones((1, m)), identity(n), format="csr")
    senses = ["<="] * m + ["="] * n
    sides = np.append(several(source, m), np.ones(n))
    return vstack([agents, jobs], format="csr"), sides, costs, senses, True


def all_programs(data: Path) -> Iterator[tuple[str, Any, Path]]:
    for path in sorted(data.glob("lp_*/*.gz")):
        kind = mps if path.name.endswith(".mps.gz") else assignment
        if path.name.startswith("mknap"):
            kind = knapsack
        yield f"{path.parent.name}/{path.name.split('.')[0]}", kind, path


def optimum(program: Program) -> tuple[float, Any]:
    """The optimum and a solution without any privacy: these models are public."""
    matrix, b, c, senses, maximise = program
    upper, sides, _ = as_upper_rows(matrix, b, senses)
    sign = -1.0 if maximise else 1.0
    found = linprog(sign * c, A_ub=upper, b_ub=sides, method="highs")
    if found.status != 0:
        raise wn.InputError(f"no optimum: {found.message}")
    return float(sign * found.fun), found.x


def outcome(read: Any, path: Path, most: int) -> dict[str, Any]:
    """One model, b private; rows are divided by their largest entry, so that they are alike."""
    row: dict[str, Any] = {}
    try:
        matrix, b, c, senses, maximise = read(path)
        row |= {"rows": matrix.shape[0], "columns": matrix.shape[1]}
        if matrix.nnz > most:
            return row | {"outcome": f"left out: {matrix.nnz} entries, for --quick too many"}
        widths = np.maximum(abs(matrix).max(axis=1).toarray().ravel(), 1e-300)
        matrix, b = csr_matrix(matrix.multiply(1 / widths[:, None])), b / widths
        row["optimum"], best = optimum((matrix, b, c, senses, maximise))
        by_value = c.min() > 0 and row["optimum"] > 0
        row["reduction"] = "value" if by_value else "bound"
        problem = wn.lp_problem(
            matrix, b, c, opt=row["optimum"], senses=senses, maximise=maximise,
            bound=None if by_value else 1.05 * float(best.sum()) + 1,
        )  # fmt: skip
        method = wn.ScalarSides(sensitivity=1e-4, rounds=1_000)
        plan = wn.plan.lp(problem, method=method, epsilon=1, delta=1e-6)
        row |= {"promised": plan.error, "hopeless": plan.expected.hopeless}
        value = plan.run(problem, seed=1).value
        upper, sides, _ = as_upper_rows(matrix, b, senses)
        row |= {"largest_violation": float((upper @ value.x - sides).max()),
                "objective": value.objective, "outcome": "solved"}  # fmt: skip
    except WinnowError as error:
        row["outcome"] = f"refused: {error}"
    return row


def all_models(data: Path, *, quick: bool) -> list[dict[str, Any]]:
    rows = []
    for name, kind, path in all_programs(data):
        start = time.process_time()
        row = outcome(kind, path, 20_000 if quick else 1 << 40)
        rows.append({"model": name, **row, "seconds": time.process_time() - start})
    report(
        "Public models with private right-hand sides (sensitivity 1e-4 of a row's largest entry)",
        ["model", "outcome", "rows", "columns", "promised", "violated", "objective", "optimum",
         "seconds"],
        [
            [r["model"], r["outcome"] + " (no promise)" * bool(r.get("hopeless")),
             f"{r.get('rows', 0):,}", f"{r.get('columns', 0):,}", *(
                 f"{r[key]:.4g}" if key in r else "-"
                 for key in ("promised", "largest_violation", "objective", "optimum", "seconds")
             )]
            for r in rows
        ],
    )  # fmt: skip
    return rows
