"""Query release: exact lazy selection against a dense scan, and accuracy at the same budget.

Standard MWEM is Algorithm 1 of FastMWEM: per round a dense float32 product of all queries with
h - p (BLAS, one thread) and a Gumbel argmax over the signed answers. Ours draws from the same
law. Everything else (update, measurement, budget) is the same. Times are of the processor: other
work on the machine disturbs them least; to read that clock takes 0.3 us, which is included.

    adult      2- and 3-way marginals of ADULT, T = 100, (1, 1e-3), 10 seeds    [needs --data]
    large      2- to 4-way marginals, 1.8 million cells: a whole release        [needs --data]
    synthetic  |X| = 3000, support of 600 draws of N(U/2, U/5), m up to 10^6 [FastMWEM 5.1]
    calibrated our calibration against the paper's epsilon_0 at n = 2000, ten seeds

A part alone is measured again with --only; the others stay as they are in the file.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import winnow as wn
from _common import arguments, best_time, opened, report, save
from winnow import Sealed, Workload
from winnow.core.relation import Relation
from winnow.core.run import single_run
from winnow.core.tape import Tape
from winnow.privacy import calibrate_rounds, paper_round_epsilon
from winnow.read.crossing import true_counts
from winnow.release.rounds.crossing.lazy_selection import LazyExponential, LazySelector
from winnow.release.rounds.kernels.distribution import Distribution

ADULT = {
    "24k": ("workclass", "education-num", "marital-status", "relationship", "sex", "income>50K"),
    "121k": (
        "workclass", "education-num", "marital-status", "relationship", "race", "sex",
        "income>50K",
    ),
}  # fmt: skip
LARGE = (*ADULT["121k"], "occupation")
CELLS = 3000
RUNS = 3  # of which the shortest counts; with very many queries one run takes long enough
PARTS = ("calibrated", "synthetic", "adult", "large")
Select = Callable[[Distribution], tuple[int, int]]


@dataclass
class Run:
    """One MWEM run: errors of the average, and the time of its parts."""

    worst: float
    mean: float
    select: float
    update: float


def mwem(
    workload: Workload, counts: np.ndarray, n: int, rounds: int, select: Select,
    noise: Callable[[], float], *, errors: bool = True,
) -> Run:  # fmt: skip
    """Algorithm 1: select, measure, sign update; the average is released."""
    distribution = Distribution(workload, n)
    eta = math.sqrt(math.log(distribution.cells) / rounds)
    spent = [0.0, 0.0]
    for _ in range(rounds):
        start = time.thread_time()
        query, _sign = select(distribution)
        selected = time.thread_time()
        gap = (counts[query] + round(noise())) / n - distribution.answer(query)
        distribution.update(query, math.copysign(eta, gap))
        spent[0] += selected - start
        spent[1] += time.thread_time() - selected
    if not errors:
        return Run(math.nan, math.nan, spent[0] / rounds, spent[1] / rounds)
    off = np.abs(workload.answers(distribution.average()) - counts / n)
    return Run(float(off.max()), float(off.mean()), spent[0] / rounds, spent[1] / rounds)


def lazy(workload: Workload, counts: np.ndarray, epsilon: float, seed: int) -> Select:
    """Our exact selection."""
    key, _ = single_run(LazyExponential(epsilon), Relation.ADD_REMOVE, Tape.seeded(0))
    selector = LazySelector(Sealed(counts, "counts"), workload, epsilon, key=key)
    tape = Tape.seeded(seed)
    return lambda distribution: selector.draw(distribution, tape)


def scan(counts: np.ndarray, n: int, epsilon: float, seed: int) -> Select:
    """The exponential mechanism by a full scan in float64: the law of standard MWEM."""
    generator = np.random.default_rng(seed)

    def select(distribution: Distribution) -> tuple[int, int]:
        score = (counts - n * distribution.answers()) * (epsilon / 2)
        both = np.concatenate([score, -score]) + generator.gumbel(size=2 * len(counts))
        best = int(np.argmax(both))
        return best % len(counts), 1 if best < len(counts) else -1

    return select


def uniform(m: int, seed: int) -> Select:
    """No selection at all."""
    generator = np.random.default_rng(seed)
    return lambda distribution: (int(generator.integers(m)), 1)


def dense_of(workload: Workload) -> np.ndarray:
    """The float32 matrix of a workload of marginals, or of bits."""
    cells = int(workload.schema.cells)
    matrix = np.zeros((workload.size, cells), np.float32)
    places = np.unravel_index(np.arange(cells), workload.schema.shape)
    first = 0
    for part in workload.parts:
        if hasattr(part, "bits"):
            for start in range(0, part.size, 4096):
                rows = part.bits[start : start + 4096]
                bits = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")[:, :cells]
                matrix[first + start : first + start + len(rows)] = bits
        else:
            shape = [workload.schema.shape[c] for c in part.columns]
            query = np.ravel_multi_index([places[c] for c in part.columns], shape)
            matrix[first + query, np.arange(cells)] = 1.0
        first += part.size
    return matrix


def dense_time(matrix: np.ndarray, blocks: int = 1) -> float:
    """One selection of standard MWEM; several blocks stand for a matrix that does not fit."""
    generator = np.random.default_rng(1)
    state = generator.normal(size=matrix.shape[1]).astype(np.float32)
    noise = generator.gumbel(size=2 * len(matrix)).astype(np.float32)

    def select() -> None:
        for _ in range(blocks):
            score = matrix @ state
            int(np.argmax(np.concatenate([score, -score]) + noise))

    return best_time(select, 12, clock=time.thread_time)


def faiss_rows(matrix: np.ndarray, state: np.ndarray, scale: float) -> dict[str, dict[str, float]]:
    """Time, recall and gap c (in nats) of FAISS at the paper's settings, for both signs."""
    from winnow.inner_product.index.faiss_index import HNSWIndex, IVFIndex

    truth = matrix @ state.astype(np.float32)
    signed = np.concatenate([truth, -truth])
    k = math.isqrt(len(signed)) + 1
    head = np.argsort(-signed)[:k]
    found = {}
    for index in (IVFIndex(), HNSWIndex()):
        start = time.perf_counter()
        index.build(matrix)
        built = time.perf_counter() - start
        took = best_time(lambda index=index: (index.top(state, k), index.top(-state, k)), 3)
        ids = np.concatenate([index.top(state, k)[0], index.top(-state, k)[0] + len(truth)])
        ids = ids[np.argsort(-signed[ids])][:k]
        outside = np.delete(signed, ids)
        found[index.name] = {
            "seconds": took,
            "build_seconds": built,
            "recall": float(np.isin(head, ids).mean()),
            "c_nats": float(max(0.0, outside.max() - signed[ids].min()) * scale),
        }
    return found


def interval(differences: np.ndarray) -> tuple[float, float, float]:
    """Mean and 95 % interval (Student's t) of paired differences."""
    from scipy.stats import t

    half = t.ppf(0.975, len(differences) - 1) * differences.std(ddof=1) / len(differences) ** 0.5
    return float(differences.mean()), float(differences.mean() - half), float(
        differences.mean() + half
    )  # fmt: skip


def adult(folder: Path, name: str, columns: tuple[str, ...], seeds: int, quick: bool) -> Any:
    """Speed and error on ADULT marginals."""
    table = wn.read_table(
        folder / "adult_pgm" / "adult.csv.gz",
        schema=folder / "adult_pgm" / "adult-domain.json",
        columns=columns,
    )
    workload = wn.marginals(ways=[2, 3]).over(table.schema)
    counts, n = opened(true_counts(table, workload)), table.n
    plan = calibrate_rounds(100, epsilon=1, delta=1e-3, relation="substitution", accountant="zcdp")
    epsilon, sigma = float(plan.selection_epsilon), float(plan.noise_multiplier)
    mwem(workload, counts, n, 5, lazy(workload, counts, epsilon, 1), lambda: 0.0, errors=False)
    arms: dict[str, list[Run]] = {"lazy": [], "scan": [], "uniform": []}
    for seed in range(seeds):
        generator = np.random.default_rng(100 + seed)
        for arm, select in (
            ("lazy", lazy(workload, counts, epsilon, seed)),
            ("scan", scan(counts, n, epsilon, seed)),
            ("uniform", uniform(workload.size, seed)),
        ):
            noise = lambda generator=generator: generator.normal(0, sigma)  # noqa: E731
            arms[arm].append(mwem(workload, counts, n, 100, select, noise))
    row: dict[str, Any] = {
        "cells": int(workload.schema.cells), "m": workload.size, "n": n, "rounds": 100,
        "select_seconds": min(run.select for run in arms["lazy"]),
        "update_seconds": min(run.update for run in arms["lazy"]),
        "errors": {
            arm: {
                "max": float(np.mean([run.worst for run in runs])),
                "mean": float(np.mean([run.mean for run in runs])),
            }
            for arm, runs in arms.items()
        },
    }  # fmt: skip
    for what in ("worst", "mean"):
        pairs = np.array([getattr(a, what) - getattr(b, what)
                          for a, b in zip(arms["lazy"], arms["scan"], strict=True)])  # fmt: skip
        row[f"paired_{what}"] = interval(pairs)
    matrix = dense_of(workload)
    row["dense_seconds"] = dense_time(matrix)
    if name == "24k" and not quick:
        h = np.zeros(matrix.shape[1])
        codes, weights = opened(table.rows)
        np.add.at(h, np.ravel_multi_index(codes, workload.schema.shape), weights / n)
        row["faiss"] = faiss_rows(matrix, h - 1 / len(h), n * epsilon / 2)
    del matrix
    row["ratio_select"] = row["dense_seconds"] / row["select_seconds"]
    row["ratio_select_update"] = row["dense_seconds"] / (
        row["select_seconds"] + row["update_seconds"]
    )
    return row


LARGE_RELEASE = """
import sys, time
import winnow as wn
folder, columns, rounds = sys.argv[1], sys.argv[2].split(","), int(sys.argv[3])
table = wn.read_table(f"{folder}/adult_pgm/adult.csv.gz",
                      schema=f"{folder}/adult_pgm/adult-domain.json", columns=columns)
workload = wn.marginals(ways=[2, 3, 4]).over(table.schema)
start = time.perf_counter()
asked = wn.MWEM(rounds=rounds)
released = wn.release(table, workload, epsilon=1, delta=1e-3, method=asked, seed=1)
took = time.perf_counter() - start
status = open("/proc/self/status").read()  # ru_maxrss would be that of the parent process
peak = int(status.split("VmHWM:")[1].split()[0]) / 1e6
from winnow.read.crossing import true_counts
import numpy as np
off = np.abs(released.value.answers(workload) - true_counts(table, workload)._content / table.n)
print(workload.schema.cells, workload.size, took, peak, off.max(), off.mean())
"""


def large(folder: Path) -> dict[str, float]:
    """A whole release in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", LARGE_RELEASE, str(folder), ",".join(LARGE), "100"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    names = ("cells", "m", "seconds", "peak_gb", "max_error", "mean_error")
    return dict(zip(names, map(float, done.stdout.split()), strict=True))


def synthetic(m: int, n: int, rounds: int, seed: int) -> dict[str, Any]:
    """The paper's generated workload: mean time of a selection over a whole run."""
    workload = wn.random_queries(m, kind="gaussian", seed=seed).over(wn.Schema.parse({"x": CELLS}))
    generator = np.random.default_rng(seed)
    people = np.clip(generator.normal(CELLS / 3, CELLS / 15, n), 0, CELLS - 1).astype(np.int64)
    counts = workload.counts([people], np.ones(n, np.int64))
    plan = calibrate_rounds(
        rounds, epsilon=1, delta=1e-3, relation="substitution", accountant="zcdp"
    )
    epsilon, sigma = float(plan.selection_epsilon), float(plan.noise_multiplier)
    noise = lambda: generator.normal(0, sigma)  # noqa: E731
    mwem(workload, counts, n, 3, lazy(workload, counts, epsilon, 1), noise, errors=False)
    runs = [
        mwem(
            workload, counts, n, rounds, lazy(workload, counts, epsilon, seed), noise, errors=False
        )
        for _ in range(RUNS if m < 100_000 else 1)
    ]
    return {
        "m": m, "n": n, "rounds": rounds, "select_seconds": min(run.select for run in runs),
        "update_seconds": min(run.update for run in runs), "peak_gb": peak_gb(),
    }  # fmt: skip


def all_synthetic(seed: int, quick: bool) -> list[dict[str, Any]]:
    """A row for each number of queries, rows and rounds."""
    rows = []
    for m in [10_000] if quick else [10_000, 100_000, 1_000_000]:
        dense = dense_synthetic(m, seed)
        for n, rounds in ((500, 1000), (32_561, 1000), (32_561, 100)):
            row = synthetic(m, n, rounds, seed)
            row |= {"dense_seconds": dense, "ratio": dense / row["select_seconds"]}
            rows.append(row)
    return rows


def dense_synthetic(m: int, seed: int) -> float:
    """A dense scan; above 10^5 queries one block of 10^5 is scanned as often as needed."""
    block = min(m, 100_000)
    schema = wn.Schema.parse({"x": CELLS})
    matrix = dense_of(wn.random_queries(block, kind="gaussian", seed=seed).over(schema))
    return dense_time(matrix, -(-m // block))


def calibrated(seeds: int) -> dict[str, Any]:
    """Largest error at (1, 1e-6) with our calibration and with the paper's formula."""
    n, rounds = 2000, 100
    schema = wn.Schema.parse({f"c{i}": 2 for i in range(10)})
    workload = wn.marginals(ways=3).over(schema)
    plan = calibrate_rounds(rounds, epsilon=1, delta=1e-6, relation="substitution")
    printed = paper_round_epsilon(1, 1e-6, rounds) / 2
    ours: list[float] = []
    paper: list[float] = []
    for seed in range(seeds):
        generator = np.random.default_rng(seed)
        centres = generator.random((6, 10))
        which = generator.integers(6, size=n)
        rows = (generator.random((n, 10)) < centres[which]).astype(np.int32)
        counts = workload.counts(list(rows.T), np.ones(n, np.int64))
        sigma = float(plan.noise_multiplier)
        run = mwem(
            workload,
            counts,
            n,
            rounds,
            lazy(workload, counts, float(plan.selection_epsilon), seed),
            lambda generator=generator, sigma=sigma: generator.normal(0, sigma),
        )
        ours.append(run.worst)
        run = mwem(
            workload,
            counts,
            n,
            rounds,
            lazy(workload, counts, printed, seed),
            lambda generator=generator: generator.laplace(0, 1 / printed),
        )
        paper.append(run.worst)
    return {
        "n": n, "rounds": rounds, "ours": float(np.mean(ours)), "paper": float(np.mean(paper)),
        "ratio": float(np.mean(ours) / np.mean(paper)), "seeds": seeds,
        "ours_epsilon": float(plan.selection_epsilon), "paper_epsilon": printed,
        "accountant": plan.accountant,
    }  # fmt: skip


def peak_gb() -> float:
    """Of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], "release")
    parser.add_argument("--data", type=Path, help="a folder with adult_pgm")
    parser.add_argument("--quick", action="store_true", help="small sizes, few seeds")
    parser.add_argument("--figures", type=Path, help="where to draw the growth of cost with m")
    parser.add_argument("--only", choices=PARTS, action="append", help="measure this part again")
    options = parser.parse_args()
    document: dict[str, Any] = {"quick": options.quick}
    if options.only:
        document = json.loads(options.out.read_text())
        document.pop("machine")
    wanted = options.only or [part for part in PARTS if options.data or part in PARTS[:2]]
    if "calibrated" in wanted:
        document["calibrated"] = calibrated(3 if options.quick else 10)
    if "synthetic" in wanted:
        document["synthetic"] = all_synthetic(options.seed, options.quick)
    if "adult" in wanted:
        document["adult"] = {
            name: adult(options.data, name, columns, 3 if options.quick else 10, options.quick)
            for name, columns in ADULT.items()
            if not (options.quick and name == "121k")
        }
    if "large" in wanted and not options.quick:
        document["large"] = large(options.data)
    show(document)
    save(options.out, document)
    if options.figures is not None and not options.quick:
        from _release_figures import growth

        growth(document, options.figures)


def show(document: dict[str, Any]) -> None:
    """The tables."""
    report(
        "Selection against a dense scan, synthetic workload",
        ["m", "n", "T", "lazy", "update", "dense", "ratio"],
        [
            [f"{r['m']:,}", f"{r['n']:,}", f"{r['rounds']:,}",
             f"{r['select_seconds'] * 1e6:,.0f} us",
             f"{r['update_seconds'] * 1e6:,.0f} us", f"{r['dense_seconds'] * 1e3:,.1f} ms",
             f"{r['ratio']:,.0f}"]
            for r in document["synthetic"]
        ],
    )  # fmt: skip
    for name, r in document.get("adult", {}).items():
        report(
            f"ADULT, {name} cells, m = {r['m']:,}, T = 100",
            ["what", "", "value"],
            [
                ["selection", "", f"{r['select_seconds'] * 1e6:.1f} us"],
                ["update", "", f"{r['update_seconds'] * 1e6:.1f} us"],
                ["dense scan", "", f"{r['dense_seconds'] * 1e3:.1f} ms"],
                ["ratio selection", "", f"{r['ratio_select']:,.0f}"],
                ["ratio selection + update", "", f"{r['ratio_select_update']:,.0f}"],
                *[[f"{arm}: max, mean error", "", f"{e['max']:.4f}, {e['mean']:.5f}"]
                  for arm, e in r["errors"].items()],
                ["paired max error", "", "{:.4f} [{:.4f}, {:.4f}]".format(*r["paired_worst"])],
                ["paired mean error", "", "{:.5f} [{:.5f}, {:.5f}]".format(*r["paired_mean"])],
                *[[f"faiss {kind}", f"recall {f['recall']:.2f}, c {f['c_nats']:.1f} nats",
                   f"{f['seconds'] * 1e3:.1f} ms"] for kind, f in r.get("faiss", {}).items()],
            ],
        )  # fmt: skip
    if "large" in document:
        r = document["large"]
        report(
            "A whole release, 2- to 4-way marginals",
            ["cells", "m", "seconds", "peak GB", "max error"],
            [[f"{r['cells']:,.0f}", f"{r['m']:,.0f}", f"{r['seconds']:.1f}",
              f"{r['peak_gb']:.2f}", f"{r['max_error']:.4f}"]],
        )  # fmt: skip
    c = document["calibrated"]
    report(
        "Largest error at (1, 1e-6), n = 2000, T = 100",
        ["ours", "paper", "ratio"],
        [[f"{c['ours']:.4f}", f"{c['paper']:.4f}", f"{c['ratio']:.2f}"]],
    )


if __name__ == "__main__":
    main()
