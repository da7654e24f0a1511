"""Wide tables: seven of them, epsilon = .1, 1 and 10, delta = 1e-9, ``wn.marginals(3)``.

``wn.Graphical`` beside AIM's published loop over the same fit, independent columns, and noise on
all pairs: total variation distance over all tables of two columns and a fixed sample of those of
three (mean and worst) of the answers, and of synthetic rows where these are not the same; a
gradient-boosted classifier that learns from synthetic rows and is tested on real ones, seconds of
CPU, and the peak of memory. "pairs" is a release for ``wn.marginals(2)``, the rival of noise on all
pairs. ``--mbi`` also fits ADULT's released tables by ``mbi``'s mirror descent, and runs AIM's loop
on ADULT at epsilon 1 over that fit, once each.

Resumable: figures that the file has are not taken again; ``--minutes`` ends a run early.

    python benchmarks/wide.py --data DIR [--seeds 3] [--minutes 60] [--only adult,retail] [--mbi]
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import winnow as wn
from _common import arguments, report, save
from _wide_data import CHECKED_ON, Codes
from _wide_loops import Model, Truth, aim, all_pairs, independent
from winnow.core.workloads.marginal import MarginalPart
from winnow.fit.junction_tree import junction_tree
from winnow.fit.kernels.tree_tables import TreeTables
from winnow.fit.tables import NoisyTable, merged

DELTA = 1e-9
EPSILONS = (1.0, 10.0, 0.1)
TRIPLES = 100
LEARNT = 20_000
MBI_STEPS = 1000
OURS, PAIRS, MBI = (
    "wn.Graphical",
    "wn.Graphical, pairs",
    "AIM over mbi's fit",
)


def figures(truth: Truth, model: Model, *, triples: bool) -> dict[str, float]:
    def far(columns: tuple[int, ...]) -> float:
        said = np.asarray(model(columns)).ravel()
        return 0.5 * float(np.abs(truth.of(columns) / truth.rows - said).sum())

    places = range(len(truth.shape))
    found = {}
    two = [far(pair) for pair in combinations(places, 2)]
    found |= {"mean_2way": float(np.mean(two)), "worst_2way": max(two)}
    if triples:
        every = list(combinations(places, 3))
        some = np.random.default_rng(0).permutation(len(every))[:TRIPLES]
        three = [far(every[i]) for i in sorted(some)]
        found |= {"mean_3way": float(np.mean(three)), "worst_3way": max(three)}
    return found


def learnt(codes: Codes, rows: dict[str, Any] | None) -> float:
    """Balanced accuracy on real rows of a classifier that learnt from other rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import balanced_accuracy_score

    names = [name for name in codes.schema if name != codes.label]
    real = codes.frame.sample(min(2 * LEARNT, len(codes.frame)), random_state=0)
    half = len(real) // 2
    test, own = real.iloc[:half], real.iloc[half:]
    train = own if rows is None else {name: np.asarray(rows[name]) for name in codes.schema}
    x = np.column_stack([train[name] for name in names])
    y = np.asarray(train[codes.label])
    if len(np.unique(y)) < 2:
        return 0.5
    model = HistGradientBoostingClassifier(max_iter=50, random_state=0).fit(x, y)
    said = model.predict(test[names].to_numpy())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(balanced_accuracy_score(test[codes.label], said))


LOOPS: dict[str, Callable[[Truth, float, float, int], Model]] = {
    "AIM": aim,
    "independent columns": independent,
    "all pairs": all_pairs,
}


def one(folder: Path, data: str, loop: str, epsilon: float, seed: int) -> dict[str, Any]:
    """All figures of one run, in a process of its own."""
    codes = CHECKED_ON[data](folder)
    table = wn.read_table(codes.frame, schema=codes.schema)
    truth = Truth(table)
    found: dict[str, Any] = {"data": data, "loop": loop, "epsilon": epsilon, "seed": seed,
                             "rows": truth.rows, "columns": len(truth.shape)}  # fmt: skip
    start = time.process_time()
    if loop in (OURS, PAIRS):
        wanted = wn.marginals(3 if loop == OURS else 2)
        released = wn.release(
            table, wanted, epsilon=epsilon, delta=DELTA, seed=seed, method=wn.Graphical()
        )
        found["cpu"] = time.process_time() - start
        value: Any = released.value
        model = partial(said, value)
        found |= {"reason": released.receipt.reason, "fit": value.fit.to_dict(),
                  "model_cells": value.factors[0].tables.tree.cells}  # fmt: skip
    else:
        model = (LOOPS | {MBI: partial(aim, fitted_by=MirrorDescent)})[loop](
            truth, epsilon, DELTA, seed
        )
        found["cpu"] = time.process_time() - start
    found["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    found |= figures(truth, model, triples=loop not in ("all pairs", PAIRS))
    if loop == OURS and value.tables is not None:  # rows come from a model of some tables
        rows = figures(truth, value.factors[0].marginal, triples=True)
        found |= {f"rows_{name}": number for name, number in rows.items()}
    if loop == OURS and seed == 0:
        found["learnt"] = learnt(codes, value.sample(min(LEARNT, truth.rows), seed=1))
        found["learnt_from_real"] = learnt(codes, None)
    return found


def said(value: Any, columns: tuple[int, ...]) -> np.ndarray:
    """What a release answers about a table: its model's, or that of the released tables."""
    asked = wn.Workload(value.schema, (MarginalPart(value.schema, columns),))
    return np.asarray(value.answers(asked))


def by_columns(tables: list[NoisyTable]) -> dict[tuple[int, ...], Any]:
    """Each table once, by its columns."""
    return {scope.columns: held for scope, held in merged(tables).items()}


def fitted_by_mbi(folder: Path) -> dict[str, float]:
    """mbi's mirror descent on the tables that a release of ADULT made."""
    codes = CHECKED_ON["adult"](folder)
    table = wn.read_table(codes.frame, schema=codes.schema)
    value: Any = wn.release(
        table, wn.marginals(3), epsilon=1, delta=DELTA, seed=0, method=wn.Graphical()
    ).value
    names, tree = value.schema.names, value.factors[0].tables.tree
    tables = by_columns(
        [
            NoisyTable(tuple(names.index(c) for c in each.columns), each.counts, each.sigma)
            for each in value.marginals
        ]
    )
    start = time.process_time()
    said = mirrored(tree, tables, value.total, MBI_STEPS)
    cpu = time.process_time() - start
    loss = sum(
        0.5 * float(np.sum((y - value.total * said.marginal(c).ravel()) ** 2)) / sigma**2
        for c, (y, sigma) in tables.items()
    )
    theirs = figures(Truth(table), said.marginal, triples=True)
    return {"loss": value.fit.loss, "mbi_loss": loss, "mbi_steps": MBI_STEPS, "mbi_cpu": cpu,
            "mbi_mean": theirs["mean_3way"], "mbi_mean_2way": theirs["mean_2way"],
            "mbi_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}  # fmt: skip


def mirrored(tree: Any, tables: dict[Any, Any], total: int, steps: int) -> TreeTables:
    """The model of mbi's mirror descent, over our tree."""
    import jax
    import mbi

    with jax.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mbi.estimation.MirrorDescent().estimate(
            mbi.Domain(range(len(tree.shape)), tree.shape),
            [mbi.LinearMeasurement(y, c, stddev=sigma) for c, (y, sigma) in tables.items()],
            known_total=float(total),
            iters=steps,
        )
        cliques = [np.asarray(model.project(c).datavector(flatten=False)) for c in tree.cliques]
    return TreeTables(tree, tuple(each / each.sum() for each in cliques))


class MirrorDescent:
    """mbi's fit in the place of ``Estimator``."""

    def __init__(self, shape: tuple[int, ...], total: int) -> None:
        self.shape, self.total = shape, total

    def fit(self, tables: list[NoisyTable], *, last: bool = False) -> Any:
        held = by_columns(tables)
        tree = junction_tree(self.shape, held)
        return SimpleNamespace(model=mirrored(tree, held, self.total, MBI_STEPS if last else 250))


def main() -> None:
    parser = arguments(__doc__ or "", "wide")
    parser.add_argument("--data", type=Path, help="folder with the data sets")
    parser.add_argument("--seeds", type=int, default=3, help="how many runs of each")
    parser.add_argument("--minutes", type=float, default=60.0, help="start no run after so many")
    parser.add_argument("--only", default=",".join(CHECKED_ON), help="data sets, by comma")
    parser.add_argument("--mbi", action="store_true", help="one fit by mbi, too")
    parser.add_argument("--one", help="JSON of one run; for the benchmark itself")
    given = parser.parse_args()
    if given.data is None:
        print("wide: skipped, because it needs --data DIR with adult_pgm and others")
        return
    if given.one:
        print(json.dumps(one(given.data, *json.loads(given.one))))
        return
    document = json.loads(given.out.read_text()) if given.out.exists() else {}
    results = [row for row in document.get("results", []) if "data" in row]
    known = {(r["data"], r["loop"], r["epsilon"], r["seed"]) for r in results}
    wanted = [
        (data, loop, epsilon, seed)
        for seed in range(given.seed, given.seed + given.seeds)
        for data in given.only.split(",")
        for epsilon in EPSILONS
        for loop in (OURS, PAIRS, *LOOPS)
        if (data, loop, epsilon, seed) not in known
    ]
    if given.mbi and ("adult", MBI, 1.0, 0) not in known:
        wanted.append(("adult", MBI, 1.0, 0))
    started, one_fit = time.monotonic(), document.get("one_fit", {})

    def keep() -> None:
        save(given.out, {"delta": DELTA, "epsilons": sorted(EPSILONS), "triples": TRIPLES,
                         "one_fit": one_fit, "results": results})  # fmt: skip

    for each in wanted:
        if time.monotonic() - started > 60 * given.minutes:
            print(f"stopped after {given.minutes:g} minutes; run it again for the rest")
            break
        ran = subprocess.run(
            [sys.executable, __file__, "--data", str(given.data), "--one", json.dumps(each)],
            stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        results.append(json.loads(ran.stdout.strip().rsplit("\n", 1)[-1]))
        keep()
    if given.mbi:
        one_fit = fitted_by_mbi(given.data)
        keep()
    names = ["mean_2way", "worst_2way", "mean_3way", "worst_3way", "cpu", "memory_mb"]
    lines = [
        [r["data"], r["loop"], f"{r['epsilon']:g}", str(r["seed"]),
         *(f"{r[n]:.4g}" if n in r else "" for n in names)]
        for r in results
    ]  # fmt: skip
    report(f"wide tables, delta={DELTA:g}", ["data", "loop", "eps", "seed", *names], lines)


if __name__ == "__main__":
    main()
