"""How accurate a release is: against the number of queries, and by update rule.

A made-up table (20,000 people, eight columns of four codes, which hang together through a hidden
type of person) is asked m random conjunctions over three columns each, at (1, 1e-6). Three ways:
`wn.release`, Gaussian noise on every answer, and Gaussian noise on every cell of the table with
answers added up from it. Then all 2- and 3-way marginals with 100 rounds of each update rule, and
how far the error that a release estimates lies from the true one. Errors are fractions of the
people, means over the seeds.
Run: python benchmarks/accuracy.py [--quick]
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import winnow as wn
from _common import arguments, report, save
from winnow.privacy import Gaussian, Repeat

PEOPLE, COLUMNS, CODES, TYPES = 20_000, 8, 4, 6
EPSILON, DELTA = 1.0, 1e-6
SIZES = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
SEEDS = (1, 2, 3)
UPDATES = ("gap", "hardt", "sign")
ROUNDS = 100


def made_up_people(rng: np.random.Generator) -> dict[str, list[int]]:
    """Everyone has a hidden type; given the type the columns are independent."""
    types = rng.integers(0, TYPES, PEOPLE)
    chances = rng.dirichlet(np.full(CODES, 0.5), (COLUMNS, TYPES)).cumsum(axis=2)
    drawn = rng.random((COLUMNS, PEOPLE, 1)) > chances[:, types]
    codes = drawn.sum(axis=2).clip(0, CODES - 1)
    return {f"c{i}": column.tolist() for i, column in enumerate(codes)}


def conjunctions(m: int, rng: np.random.Generator) -> Any:
    """Three columns, two of the four codes of each."""
    found = []
    for _ in range(m):
        columns = sorted(rng.choice(COLUMNS, 3, replace=False).tolist())
        found.append(
            wn.where({f"c{c}": rng.choice(CODES, 2, replace=False).tolist() for c in columns})
        )
    return wn.predicates(found)


def deviation(answers: int, sensitivity: float) -> float:
    """The noise of so many Gaussian answers that are (1, 1e-6)-DP together."""
    found = wn.calibrate(
        lambda x: Repeat(Gaussian(1 / x, "substitution"), answers), epsilon=EPSILON, delta=DELTA
    )
    return sensitivity / found.parameter


def summary(errors: Sequence[np.ndarray]) -> dict[str, float]:
    """The largest and the mean error, averaged over the seeds."""
    return {"max": float(np.mean([e.max() for e in errors])), "mean": float(np.mean(errors))}


def by_queries(
    table: Any, truth: np.ndarray, sizes: Sequence[int], seeds: Sequence[int], seed: int
) -> list[dict[str, Any]]:
    """The errors of three ways to answer, for each number of queries."""
    rng = np.random.default_rng(seed)
    each_cell = deviation(1, 2**0.5) / PEOPLE  # a replaced person moves two cells by one
    rows: list[dict[str, Any]] = []
    for m in sizes:
        workload = conjunctions(m, rng).over(table.schema)
        true = workload.answers(truth)
        each = deviation(m, 1.0) / PEOPLE
        errors: dict[str, list[np.ndarray]] = {"release": [], "independent": [], "cells": []}
        for one in seeds:
            released = wn.release(
                table, workload, epsilon=EPSILON, delta=DELTA, method="mwem", seed=one
            )
            errors["release"].append(np.abs(released.value.answers(workload) - true))
            errors["independent"].append(np.abs(rng.normal(0, each, m)))
            noisy = rng.normal(0, each_cell, len(truth))
            errors["cells"].append(np.abs(workload.answers(noisy)))
        rows.append({"queries": m, **{way: summary(found) for way, found in errors.items()}})
    return rows


def by_update(table: Any, truth: np.ndarray, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """The errors of each update rule at the same rounds and noise, and their estimates."""
    workload = wn.marginals([2, 3]).over(table.schema)
    true = workload.answers(truth)
    rows = []
    for update in UPDATES:
        errors, ratios = [], []
        for one in seeds:
            value = wn.release(
                table,
                workload,
                epsilon=EPSILON,
                delta=DELTA,
                seed=one,
                method=wn.MWEM(rounds=ROUNDS, update=update),
            ).value
            errors.append(np.abs(value.answers(workload) - true))
            ratios.append(value.errors.estimate / errors[-1].max())
        rows.append(
            {"update": update, "queries": workload.size, "rounds": ROUNDS, **summary(errors),
             "estimate_over_true": [min(ratios), max(ratios)]}
        )  # fmt: skip
    return rows


def main() -> None:
    """Run both comparisons and write the errors."""
    parser = arguments(str(__doc__), "accuracy")
    parser.add_argument("--quick", action="store_true", help="up to 3,000 queries, one seed")
    options = parser.parse_args()
    people = made_up_people(np.random.default_rng(options.seed))
    schema = wn.Schema.parse(dict.fromkeys(people, CODES))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "people.csv"
        codes = np.column_stack(list(people.values()))
        np.savetxt(file, codes, "%d", ",", header=",".join(people), comments="")
        table = wn.read_table(file, schema=schema)
    cells = np.ravel_multi_index([np.array(column) for column in people.values()], schema.shape)
    truth = np.bincount(cells, minlength=schema.cells) / PEOPLE
    sizes, seeds = (SIZES[:6], SEEDS[:1]) if options.quick else (SIZES, SEEDS)
    rows = by_queries(table, truth, sizes, seeds, options.seed)
    ways = ("release", "independent", "cells")
    report(
        "largest (mean) error as a fraction of the people",
        ["queries", "", "wn.release", "noise on every answer", "noise on every cell"],
        [
            [f"{row['queries']:,}", "",
             *(f"{row[way]['max']:.4f} ({row[way]['mean']:.4f})" for way in ways)]
            for row in rows
        ],
    )  # fmt: skip
    updates = by_update(table, truth, seeds)
    report(
        "by update rule, 2- and 3-way marginals",
        ["update", "", "largest", "mean", "estimate/true"],
        [
            [row["update"], "", f"{row['max']:.4f}", f"{row['mean']:.5f}",
             "{:.2f} to {:.2f}".format(*row["estimate_over_true"])]
            for row in updates
        ],
    )  # fmt: skip
    save(
        options.out,
        {"quick": options.quick, "people": PEOPLE, "cells": schema.cells, "epsilon": EPSILON,
         "delta": DELTA, "seeds": len(seeds), "rows": rows, "updates": updates},
    )  # fmt: skip


if __name__ == "__main__":
    main()
