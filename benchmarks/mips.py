"""Indices at the paper's settings: recall, what can be certified, and time against a scan.

The paper's synthetic workload [FastMWEM, Section 5.1]: |X| = 3000, a query is binary with a
support of 600 draws of N(U/2, U/5), the histogram is n draws of N(U/3, U/15). A state in the
middle of a run is made by exact multiplicative steps on the true worst query (public here: it
is a benchmark). For each index, over the signed queries:

    recall     of the true top sqrt(m)
    c true     largest score outside the head minus the least inside, in nats
    c known    the same with the certified bound instead of the truth
    time       CPU time of one private selection, and of a float32 BLAS scan with Gumbel argmax

in nats at the epsilon_0 of T rounds that is calibrated for (epsilon, delta) = (1, 1e-3). The last
part says from which m on an index is faster than the exact draw without one, and than the dense
scan. An index whose building takes longer than PATIENCE is left out for larger m.
"""

from __future__ import annotations

import math
import resource
import time
from functools import partial
from itertools import count
from typing import Any

import numpy as np

import winnow as wn
from _common import arguments, best_time, report, save
from winnow import IndexedExponential, SealedVectors, SlackExponential, Utility
from winnow.core.opening import open_sealed
from winnow.core.tape import Tape
from winnow.inner_product.problem import InnerProductGrid, InnerProductProblem
from winnow.inner_product.vectors import SealedQuery, seal_query
from winnow.privacy import BoundedRange, Repeat

CELLS = 3000
NONE = np.empty(0, np.int64)
SIZES = (1_000, 4_000, 16_000)
INDICES = ("exact", "flat", "lsh", "ivf", "hnsw")
PATIENCE = 15.0
"""CPU seconds."""


def workload(m: int, generator: np.random.Generator) -> np.ndarray:
    """Binary queries in one byte per cell."""
    queries = np.zeros((m, CELLS), np.int8)
    for start in range(0, m, 4096):
        rows = min(4096, m - start)
        support = generator.normal(CELLS / 2, CELLS / 5, (rows, 600)).astype(np.int64)
        inside = (support >= 0) & (support < CELLS)
        where = np.broadcast_to(np.arange(start, start + rows)[:, None], support.shape)
        queries[where[inside], support[inside]] = 1
    return queries


def state(queries: np.ndarray, n: int, steps: int, rounds: int, generator: Any) -> np.ndarray:
    """h - p after so many multiplicative steps of a run of so many rounds."""
    people = np.clip(generator.normal(CELLS / 3, CELLS / 15, n), 0, CELLS - 1).astype(np.int64)
    h = np.bincount(people, minlength=CELLS) / n
    p = np.full(CELLS, 1 / CELLS)
    for _ in range(steps):
        errors = queries.astype(np.float32) @ (h - p).astype(np.float32)
        worst = int(np.argmax(np.abs(errors)))
        p *= np.exp(math.sqrt(math.log(CELLS) / rounds) * np.sign(errors[worst]) * queries[worst])
        p /= p.sum()
    return np.asarray(h - p)


def looked_at(vectors: SealedVectors, query: SealedQuery, scale: float) -> dict[str, float]:
    """Recall and c of the best sqrt(m) that the index proposes for both signs."""
    grid = InnerProductGrid.of(query.utility, signed=True)
    problem = InnerProductProblem(
        open_sealed(vectors.content), open_sealed(query.values), grid.power, signed=True
    )
    k = math.isqrt(problem.size - 1) + 1
    proposed, bound = problem.propose(k, NONE)
    scores = problem.all_scores()
    true = np.argsort(-scores, kind="stable")[:k]
    order = np.argsort(-scores[proposed], kind="stable")
    head, rest = proposed[order[:k]], proposed[order[k:]]
    least = int(scores[head].min())
    known = max(bound if bound is not None else 2**62, int(scores[rest].max(initial=-(2**62))))
    return {
        "recall": len(np.intersect1d(head, true)) / k,
        "c_true": max(0.0, scale * (int(np.delete(scores, head).max()) - least)),
        "c_known": max(0.0, scale * (known - least)),
    }


def dense(single: np.ndarray, query: np.ndarray, factor: float, generator: Any) -> int:
    """What standard MWEM does: a float32 scan and Gumbel noise on every signed query."""
    scores = factor * (single @ query.astype(np.float32))
    both = np.concatenate([scores, -scores])
    return int(np.argmax(both + generator.gumbel(size=len(both))))


def measured(
    vectors: SealedVectors, private: SealedQuery, epsilon_0: float, repeats: int
) -> dict[str, float]:
    """Time and certificates of one index on one state."""
    mechanism = IndexedExponential(epsilon_0, signed=True)
    # a round with slack has 1.5 times the epsilon, of which a third pays for the index
    slack = SlackExponential(1.5 * epsilon_0, signed=True, slack=epsilon_0 / 4)
    seeds = count()
    found = {
        "selection_s": best_time(
            lambda: mechanism.drawn(vectors, private, Tape.seeded(next(seeds))),
            repeats,
            clock=time.process_time,
        )
    }
    if vectors.index != "exact":
        scale = float(mechanism.scale(InnerProductGrid.of(private.utility, signed=True).utility))
        found |= looked_at(vectors, private, scale)
        found["slack_selection_s"] = best_time(
            lambda: slack.drawn(vectors, private, Tape.seeded(next(seeds))),
            repeats,
            clock=time.process_time,
        )
    return found


def on_workload(
    m: int, indices: list[str], options: Any, epsilon_0: float, generator: Any
) -> list[dict[str, Any]]:
    """All indices on one workload, for few and for many people; slow ones leave the list."""
    queries = workload(m, generator)
    single = queries.astype(np.float32)
    repeats = 2 if options.quick else 3
    sealed: list[tuple[SealedVectors, float]] = []
    for index in list(indices):
        start = time.process_time()
        vectors = wn.seal_vectors(queries, index=index, copy=False)
        sealed.append((vectors, time.process_time() - start))
        if sealed[-1][1] > PATIENCE:
            indices.remove(index)
    figures = []
    for n in (500, 32_561):
        query = state(queries, n, 10, options.rounds, generator)
        private = seal_query(query, Utility.declare(1 / n, relation="substitution"))
        noise = np.random.default_rng(1)
        factor = epsilon_0 * n / 2
        scan = best_time(
            partial(dense, single, query, factor, noise), repeats, clock=time.process_time
        )
        for vectors, built in sealed:
            figures.append(
                {"m": m, "n": n, "index": vectors.index, "build_s": built, "dense_s": scan}
                | measured(vectors, private, epsilon_0, repeats)
            )
    return figures


def verdicts(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each index and n: the least m from which on it beats the exact draw, and the scan."""
    found = []
    for n in dict.fromkeys(row["n"] for row in rows):
        plain = {row["m"]: row["selection_s"] for row in rows
                 if row["n"] == n and row["index"] == "exact"}  # fmt: skip
        for index in INDICES[1:]:
            own = [row for row in rows if row["n"] == n and row["index"] == index]
            found.append(
                {
                    "n": n,
                    "index": index,
                    "largest m": max((row["m"] for row in own), default=None),
                    "beats the exact draw from m": _least(own, [plain[r["m"]] for r in own]),
                    "beats the dense scan from m": _least(own, [r["dense_s"] for r in own]),
                }
            )
    return found


def _least(own: list[dict[str, Any]], against: list[float]) -> int | None:
    """The least m such that it is faster by a tenth there and at all larger ones; None: at none.

    The rows come by growing m. Less than a tenth is noise.
    """
    least = None
    for row, other in zip(reversed(own), reversed(against), strict=True):
        if row["selection_s"] >= 0.9 * other:
            break
        least = row["m"]
    return least


def main() -> None:
    parser = arguments(__doc__ or "", "mips")
    parser.add_argument("--quick", action="store_true", help="two small m, few repeats")
    parser.add_argument("--rounds", type=int, default=1000, help="T of the calibration")
    options = parser.parse_args()
    generator = np.random.default_rng(options.seed)
    epsilon_0 = wn.calibrate(
        lambda e: Repeat(BoundedRange(e, wn.Relation.SUBSTITUTION), options.rounds),
        epsilon=1,
        delta=1e-3,
    ).parameter
    indices, figures = list(INDICES), []
    for m in SIZES[:2] if options.quick else SIZES:
        figures += on_workload(m, indices, options, epsilon_0, generator)
    title = f"Indices over signed queries, T = {options.rounds}, epsilon_0 = {epsilon_0:.4g} (nats)"
    columns = ["m", "n", "index", "build s", "recall", "c true", "c known", "select ms"]
    report(title, [*columns, "dense ms", "slack ms"], [shown(row) for row in figures])
    found = verdicts(figures)
    report(
        "From which m on an index is faster",
        ["n", "index", "than the exact draw", "than the scan"],
        [[f"{v['n']:,}", v["index"],
          *("never" if v[key] is None else f"{v[key]:,}"
            for key in ("beats the exact draw from m", "beats the dense scan from m"))]
         for v in found],
    )  # fmt: skip
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    document = {"quick": options.quick, "rounds": options.rounds, "epsilon_0": epsilon_0}
    save(options.out, document | {"rows": figures, "verdicts": found, "peak_gb": round(peak, 2)})


def shown(row: dict[str, Any]) -> list[str]:
    slack = row.get("slack_selection_s")
    return [
        f"{row['m']:,}",
        f"{row['n']:,}",
        row["index"],
        f"{row['build_s']:.2f}",
        *(f"{row[key]:.3g}" if key in row else "-" for key in ("recall", "c_true", "c_known")),
        f"{row['selection_s'] * 1e3:.1f}",
        f"{row['dense_s'] * 1e3:.1f}",
        "-" if slack is None else f"{slack * 1e3:.1f}",
    ]


if __name__ == "__main__":
    main()
