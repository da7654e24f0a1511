"""Indices at the paper's settings: recall, what can be certified, and time against a scan.

The paper's synthetic workload [FastMWEM, Section 5.1]: |X| = 3000, a query is binary with a
support of 600 draws of N(U/2, U/5), the histogram is n draws of N(U/3, U/15). A state in the
middle of a run is made by exact multiplicative steps on the true worst query (public here: it
is a benchmark). For each index, over the signed queries:

    recall     of the true top sqrt(m)
    c true     largest score outside the head minus the least inside, in nats
    c known    the same with the certified bound instead of the truth
    time       CPU time of one private selection, and of a float32 BLAS scan with Gumbel argmax

in nats at the epsilon_0 of T rounds that is calibrated for (epsilon, delta) = (1, 1e-3). Beside
them the envelope: what wn.release selects with by default, certified bounds on blocks of queries
(LazySelector), the mean of ROUNDS rounds that go on from that state, updates not counted. All but
the dense scan draw from the same law. The last part says from which m on an index is faster than
the exact draw without one, than the envelope, and than the dense scan. Each index is built once for
all n; one whose building takes longer than PATIENCE is left out for larger m.
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
from _common import arguments, best_time, opened, report, save
from winnow import IndexedExponential, Sealed, SealedVectors, SlackExponential, Workload
from winnow.core.relation import Relation
from winnow.core.run import single_run
from winnow.core.tape import Tape
from winnow.inner_product.problem import InnerProductGrid, InnerProductProblem
from winnow.inner_product.vectors import SealedQuery
from winnow.privacy import BoundedRange, Repeat
from winnow.release.rounds.crossing.lazy_selection import LazyExponential, LazySelector
from winnow.release.rounds.kernels.distribution import Distribution

CELLS = 3000
SCHEMA = wn.Schema.parse({"x": CELLS})
NONE = np.empty(0, np.int64)
SIZES = (1_000, 4_000, 16_000, 64_000)
PEOPLE = (50, 500, 32_561)
STEPS, ROUNDS = 10, 50
INDICES = ("exact", "flat", "lsh", "ivf", "hnsw")
PATIENCE = 15.0
"""CPU seconds."""


def bytes_of(workload: Workload) -> np.ndarray:
    """Binary queries in one byte per cell."""
    queries = np.empty((workload.size, CELLS), np.int8)
    (part,) = workload.parts
    for start in range(0, part.size, 4096):
        rows = part.bits[start : start + 4096].view(np.uint8)
        queries[start : start + len(rows)] = np.unpackbits(rows, axis=1, bitorder="little")[
            :, :CELLS
        ]
    return queries


def state(
    workload: Workload, single: np.ndarray, n: int, rounds: int, generator: Any
) -> tuple[np.ndarray, np.ndarray, Distribution]:
    """True counts, h - p after some multiplicative steps of a run of so many rounds, and p."""
    people = np.clip(generator.normal(CELLS / 3, CELLS / 15, n), 0, CELLS - 1).astype(np.int64)
    h = np.bincount(people, minlength=CELLS) / n
    distribution = Distribution(workload, n)
    for _ in range(STEPS):
        errors = single @ (h - distribution.weights()).astype(np.float32)
        worst = int(np.argmax(np.abs(errors)))
        distribution.update(worst, math.copysign(step_of(rounds), errors[worst]))
    counts = workload.counts([people], np.ones(n, np.int64))
    return counts, h - distribution.weights(), distribution


def step_of(rounds: int) -> float:
    return math.sqrt(math.log(CELLS) / rounds)


def envelope_time(
    counts: np.ndarray, distribution: Distribution, epsilon_0: float, n: int, rounds: int
) -> float:
    """The mean time of a selection of wn.release, over rounds that go on from this state."""
    key, _ = single_run(LazyExponential(epsilon_0), Relation.ADD_REMOVE, Tape.seeded(0))
    selector = LazySelector(Sealed(counts, "counts"), distribution.workload, epsilon_0, key=key)
    tape, spent = Tape.seeded(1), 0.0
    selector.draw(distribution, tape)  # what is done once
    for _ in range(ROUNDS):
        start = time.process_time()
        query, _ = selector.draw(distribution, tape)
        spent += time.process_time() - start
        gap = counts[query] / n - distribution.answer(query)
        distribution.update(query, math.copysign(step_of(rounds), gap))
    return spent / ROUNDS


def looked_at(vectors: SealedVectors, query: SealedQuery, scale: float) -> dict[str, float]:
    """Recall and c of the best sqrt(m) that the index proposes for both signs."""
    grid = InnerProductGrid.of(query.utility, signed=True)
    problem = InnerProductProblem(
        opened(vectors.content), opened(query.values), grid.power, signed=True
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
    key, _ = single_run(mechanism, private.relation, Tape.seeded(0))
    found = {
        "selection_s": best_time(
            lambda: mechanism.drawn(vectors, private, key, Tape.seeded(next(seeds))),
            repeats,
            clock=time.process_time,
        )
    }
    if vectors.index != "exact":
        scale = float(mechanism.scale(InnerProductGrid.of(private.utility, signed=True).utility))
        found |= looked_at(vectors, private, scale)
        found["slack_selection_s"] = best_time(
            lambda: slack.drawn(vectors, private, key, Tape.seeded(next(seeds))),
            repeats,
            clock=time.process_time,
        )
    return found


def on_workload(
    m: int, indices: list[str], options: Any, epsilon_0: float, generator: Any
) -> list[dict[str, Any]]:
    """All indices on one workload, for few and for many people; slow ones leave the list."""
    workload = wn.random_queries(m, kind="gaussian", seed=options.seed).over(SCHEMA)
    queries = bytes_of(workload)
    single = queries.astype(np.float32)
    repeats = 3 if options.quick else 5
    sealed: list[tuple[SealedVectors, float]] = []
    for index in list(indices):
        start = time.process_time()
        vectors = wn.seal_vectors(queries, index=index, copy=False)
        sealed.append((vectors, time.process_time() - start))
        print(f"{m:,} queries: {index} built in {sealed[-1][1]:.1f} s", flush=True)
        if sealed[-1][1] > PATIENCE:
            indices.remove(index)
    figures = []
    for n in PEOPLE:
        counts, query, distribution = state(workload, single, n, options.rounds, generator)
        private = wn.seal_query(query, sensitivity=1 / n, relation="substitution")
        noise = np.random.default_rng(1)
        factor = epsilon_0 * n / 2
        scan = best_time(
            partial(dense, single, query, factor, noise), repeats, clock=time.process_time
        )
        envelope = envelope_time(counts, distribution, epsilon_0, n, options.rounds)
        for vectors, built in sealed:
            times = {"build_s": built, "dense_s": scan, "envelope_s": envelope}
            figures.append(
                {"m": m, "n": n, "index": vectors.index} | times
                | measured(vectors, private, epsilon_0, repeats)
            )  # fmt: skip
        print(f"{m:,} queries, {n:,} rows: done", flush=True)
    return figures


def verdicts(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each index and n: the least m from which on it beats each of the others."""
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
                    "beats the envelope from m": _least(own, [r["envelope_s"] for r in own]),
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
    report(title, [*columns, "envelope ms", "dense ms", "slack ms"], list(map(shown, figures)))
    found = verdicts(figures)
    report(
        "From which m on an index is faster",
        ["n", "index", "than the exact draw", "than the envelope", "than the scan"],
        [[f"{v['n']:,}", v["index"],
          *("never" if v[key] is None else f"{v[key]:,}"
            for key in v if key.startswith("beats"))]
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
        f"{row['envelope_s'] * 1e3:.3f}",
        f"{row['dense_s'] * 1e3:.1f}",
        "-" if slack is None else f"{slack * 1e3:.1f}",
    ]


if __name__ == "__main__":
    main()
