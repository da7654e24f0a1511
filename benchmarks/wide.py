"""A wide table: ADULT with all 14 columns (10^17.8 cells), epsilon = 1, delta = 1e-9.

``wn.release_wide`` beside a plain MWEM+PGM loop with a full scan in NumPy (all 3-way tables, float
scores and Gumbel noise; the same budget, rounds, bound on the model and estimator), and beside
independent columns measured with the whole budget. Total variation distance over all 364 3-way
and all 91 2-way marginals, the time of each part of the loop, and memory.

The fit beside that of ``mbi``: both fit the tables that ``wn.release_wide`` released, ``mbi`` once,
from the start, by 1000 steps of mirror descent.

    python benchmarks/wide.py --data DIR      # DIR holds adult.csv.gz and adult-domain.json
    python benchmarks/wide.py --data DIR --no-mbi
"""

from __future__ import annotations

import math
import resource
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import winnow as wn
from _common import arguments, report, save
from winnow import SealedTable, Workload
from winnow.core.opening import open_sealed
from winnow.core.workloads.marginal import MarginalPart
from winnow.privacy import zcdp_rho
from winnow.read.crossing import true_counts
from winnow.release.mechanism import MarginalRounds
from winnow.wide import rounds as wide_algorithm
from winnow.wide.fit import Estimator, NoisyTable, merged
from winnow.wide.junction_tree import tree_cells
from winnow.wide.kernels.tree_tables import TreeTables
from winnow.wide.settings import MODEL_CELLS, default_rounds

EPSILON, DELTA = 1.0, 1e-9
ALPHA = 0.9  # MWEM+PGM: the part of a round's rho that the measurement gets
MBI_STEPS = 1000


class Clock:
    """Seconds of CPU and of wall-clock time, by part."""

    def __init__(self) -> None:
        self.wall: dict[str, float] = defaultdict(float)
        self.cpu: dict[str, float] = defaultdict(float)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.wall[name] += time.perf_counter() - wall
        self.cpu[name] += time.process_time() - cpu

    def wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **options: Any) -> Any:
            with self.part(name):
                return function(*arguments, **options)

        return timed


def true_tables(table: SealedTable, ways: int) -> dict[tuple[int, ...], np.ndarray]:
    columns = range(len(table.schema.columns))
    found = {}
    for each in combinations(columns, ways):
        alone = Workload(table.schema, (MarginalPart(table.schema, each),))
        found[each] = open_sealed(true_counts(table, alone))
    return found


def distances(truth: dict[tuple[int, ...], np.ndarray], total: int, model: Any) -> dict[str, float]:
    each = [
        0.5 * float(np.abs(counts / total - np.asarray(model(columns)).ravel()).sum())
        for columns, counts in truth.items()
    ]
    return {"mean": float(np.mean(each)), "worst": max(each)}


def ours(table: SealedTable, rounds: int | None, seed: int) -> tuple[Any, Clock]:
    clock = Clock()
    kept = Estimator.fit, MarginalRounds.next, TreeTables.marginal
    rule = wide_algorithm.allowed_candidates
    Estimator.fit = clock.wrap("fit", kept[0])  # type: ignore[method-assign]
    MarginalRounds.next = clock.wrap("selection and noise", kept[1])  # type: ignore[method-assign]
    TreeTables.marginal = clock.wrap("tables of the model", kept[2])  # type: ignore[method-assign]
    wide_algorithm.allowed_candidates = clock.wrap("public rule", rule)
    try:
        with clock.part("whole"):
            released = wn.release_wide(
                table, wn.marginals(3), epsilon=EPSILON, delta=DELTA, rounds=rounds, seed=seed
            )
    finally:
        Estimator.fit, MarginalRounds.next, TreeTables.marginal = kept  # type: ignore[method-assign]
        wide_algorithm.allowed_candidates = rule
    return released, clock


def plain(
    table: SealedTable, truth: dict[tuple[int, ...], np.ndarray], rounds: int, seed: int
) -> tuple[TreeTables, Clock, list[tuple[int, ...]]]:
    """A plain MWEM+PGM loop: full scan of all 3-way tables, zCDP, substitution."""
    generator = np.random.default_rng(seed)
    shape, total = table.schema.shape, int(table.n or 0)
    rho = float(zcdp_rho(EPSILON, DELTA)) / rounds
    sigma = math.sqrt(2) * math.sqrt(0.5 / (ALPHA * rho))
    epsilon = math.sqrt(8 * (1 - ALPHA) * rho)
    clock, estimator = Clock(), Estimator(shape, total)
    measured: list[NoisyTable] = []
    with clock.part("whole"):
        model: TreeTables | None = None
        for done in range(rounds):
            with clock.part("public rule"):
                held = [each.columns for each in measured]
                allowed = [c for c in truth if tree_cells(shape, [*held, c]) <= MODEL_CELLS]
            scores = []
            for columns in allowed:
                with clock.part("tables of the model"):
                    size = truth[columns].size
                    said = np.full(size, total / size) if model is None else total * (
                        model.marginal(columns).ravel()
                    )  # fmt: skip
                with clock.part("selection and noise"):
                    scores.append(np.abs(truth[columns] - said).sum() - size)
            with clock.part("selection and noise"):
                noisy = epsilon / 4 * np.array(scores) + generator.gumbel(size=len(scores))
                chosen = allowed[int(noisy.argmax())]
                counts = np.rint(truth[chosen] + generator.normal(0, sigma, truth[chosen].size))
            measured.append(NoisyTable(chosen, counts.astype(np.int64), sigma))
            with clock.part("fit"):
                model = estimator.fit(measured, last=done == rounds - 1).model
    assert model is not None
    return model, clock, [each.columns for each in measured]


def independent(table: SealedTable, seed: int) -> Callable[[tuple[int, ...]], np.ndarray]:
    """Each column alone with the whole budget, and no dependence."""
    generator = np.random.default_rng(seed)
    rho = float(zcdp_rho(EPSILON, DELTA))
    shape = table.schema.shape
    sigma = math.sqrt(2) * math.sqrt(len(shape) / (2 * rho))
    lines = []
    for column, size in enumerate(shape):
        alone = Workload(table.schema, (MarginalPart(table.schema, (column,)),))
        noisy = open_sealed(true_counts(table, alone)) + generator.normal(0, sigma, size)
        lines.append(np.maximum(noisy, 0) / np.maximum(noisy, 0).sum())
    return lambda columns: np.einsum(
        *[part for axis, c in enumerate(columns) for part in (lines[c], [axis])],
        list(range(len(columns))),
    )


def fitted_by_mbi(value: Any) -> tuple[TreeTables, float, Clock]:
    """The model that mbi fits to what was released, its loss, and the time."""
    import jax
    import mbi

    names, tree = value.schema.names, value.factors[0].tables.tree
    tables = merged(
        [
            NoisyTable(tuple(names.index(c) for c in each.columns), each.counts, each.sigma)
            for each in value.marginals
        ]
    )
    clock = Clock()
    with jax.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with clock.part("fit"):
            model = mbi.estimation.MirrorDescent().estimate(
                mbi.Domain(range(len(names)), value.schema.shape),
                [mbi.LinearMeasurement(y, c, stddev=sigma) for c, (y, sigma) in tables.items()],
                known_total=float(value.total),
                iters=MBI_STEPS,
            )
        cliques = [np.asarray(model.project(c).datavector(flatten=False)) for c in tree.cliques]
    said = TreeTables(tree, tuple(each / each.sum() for each in cliques))
    loss = sum(
        0.5 * float(np.sum((y - value.total * said.marginal(c).ravel()) ** 2)) / sigma**2
        for c, (y, sigma) in tables.items()
    )
    return said, loss, clock


def main() -> None:
    parser = arguments(__doc__ or "", "wide")
    parser.add_argument("--data", type=Path, help="folder with adult.csv.gz, adult-domain.json")
    parser.add_argument("--rounds", type=int, help="rounds of both loops")
    parser.add_argument("--seeds", type=int, default=1, help="how many runs of each")
    parser.add_argument("--quick", action="store_true", help="4 rounds")
    parser.add_argument("--no-mbi", action="store_true", help="leave out the fit by mbi")
    given = parser.parse_args()
    if given.data is None:
        print("wide: skipped, because it needs --data DIR with adult.csv.gz and adult-domain.json")
        return
    schema = given.data / "adult-domain.json"
    table = wn.read_table(given.data / "adult.csv.gz", schema=schema)
    truth, total = true_tables(table, 3), int(table.n or 0)
    pairs = true_tables(table, 2)
    columns = len(table.schema.columns)
    rounds = 4 if given.quick else given.rounds or default_rounds(columns)
    results: list[dict[str, Any]] = []
    for seed in range(given.seed, given.seed + given.seeds):
        released, clock = ours(table, rounds, seed)
        value = released.value
        mine = {
            "loop": "winnow.release_wide",
            "seed": seed,
            **distances(truth, total, value.factors[0].marginal),
            "mean_2way": distances(pairs, total, value.factors[0].marginal)["mean"],
            "fit": value.fit.to_dict(),
            "wall": dict(clock.wall),
            "cpu": dict(clock.cpu),
            "model_cells": value.factors[0].tables.tree.cells,
            "measured": [list(each.columns) for each in value.marginals[columns:]],
            "reason": released.receipt.reason,
            "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        }
        results.append(mine)
        model, clock, chosen = plain(table, truth, rounds, seed)
        results.append(
            {
                "loop": "MWEM+PGM, full scan",
                "seed": seed,
                **distances(truth, total, model.marginal),
                "wall": dict(clock.wall),
                "cpu": dict(clock.cpu),
                "model_cells": model.tree.cells,
                "measured": [[table.schema.names[c] for c in each] for each in chosen],
                "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
            }
        )
        alone = distances(truth, total, independent(table, seed))
        results.append({"loop": "independent columns", "seed": seed, **alone})
    compared: dict[str, float] = {}
    if not given.no_mbi:  # last, so that its memory is not counted with ours
        value = ours(table, rounds, given.seed)[0].value
        model, loss, clock = fitted_by_mbi(value)
        compared = {
            "loss": value.fit.loss,
            "mbi_loss": loss,
            "mbi_steps": MBI_STEPS,
            "mbi_cpu": clock.cpu["fit"],
            "mbi_mean": distances(truth, total, model.marginal)["mean"],
            "mbi_mean_2way": distances(pairs, total, model.marginal)["mean"],
            "mbi_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        }
    lines = []
    for each in results:
        cpu = each.get("cpu", {})
        outside = cpu.get("whole", 0.0) - cpu.get("fit", 0.0)
        lines.append(
            [
                each["loop"],
                str(each["seed"]),
                f"{each['mean']:.4f}",
                f"{each['worst']:.3f}",
                *(f"{cpu[k]:.1f}" if k in cpu else "" for k in ("whole", "fit")),
                f"{outside:.1f}" if cpu else "",
                *(
                    f"{cpu[k]:.2f}" if k in cpu else ""
                    for k in ("public rule", "tables of the model", "selection and noise")
                ),
                f"{each['memory_mb']:.0f}" if "memory_mb" in each else "",
            ]
        )
    report(
        f"ADULT, {columns} columns, epsilon={EPSILON:g}, delta={DELTA:g}, {rounds} rounds: total "
        "variation distance over all 3-way marginals; CPU seconds; peak memory so far in MB",
        ["loop", "seed", "mean", "worst", "CPU", "fit", "outside", "rule", "tables", "select",
         "MB"],
        lines,
    )  # fmt: skip
    if compared:
        print({name: round(number, 4) for name, number in compared.items()})
    save(
        given.out,
        {
            "epsilon": EPSILON,
            "delta": DELTA,
            "rounds": rounds,
            "rows": total,
            "one_fit": compared,
            "results": results,
        },
    )


if __name__ == "__main__":
    main()
