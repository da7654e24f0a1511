"""L items per person: which mechanism the automatic choice takes, and which would have been best.

Lists and sets, without a delta and with 1e-6; k from 5 to 100, L from 2 to 60. The largest error,
in the mean over some draws, of one draw over lists or sets (joint, canonical), of noise on every
count (laplace, gaussian, oneshot) and of peel-gumbel. The automatic choice
(``winnow.select.choice``) was made on profiles of its own. The sizes of these were widened once
after a look at the results, by the figures of other generated settings; those of ``--data``
(topk_counts) decided nothing.
Run: python benchmarks/items.py --data DIR
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from _common import arguments, report, save
from winnow.select.about import AboutScores
from winnow.select.errors import best_order, l_infinity
from winnow.select.mechanisms.lipschitz import LipschitzMechanism
from winnow.select.methods import Sizes
from winnow.select.plan.top_k.known import COUNTS, simplest
from winnow.select.table import choose, mechanism_of
from winnow.select.top_k_methods import OF_LISTS

ITEMS = (2, 3, 5, 8, 13, 20, 35, 60)
SIZES = (5, 10, 20, 50, 100)
EPSILONS = (0.1, 1.0)
DELTA = 1e-6
DRAWS = 40
NEAR = 1.1
KINDS = ("lists", "sets")
BY_ITEMS = ("laplace", "gaussian")


def made_up(seed: int) -> dict[str, np.ndarray]:
    """Counts by name, largest first: the weights were found on these."""
    rng, found = np.random.default_rng(seed + 5), {}
    for d in (1000, 10_000):
        ranks = np.arange(1, d + 1)
        for top, power in product((2000, 50_000), (0.5, 1.0, 1.5)):
            found[f"{top:,} / rank^{power:g} of {d:,}"] = top / ranks**power
        found[f"lognormal of {d:,}"] = np.sort(np.exp(rng.normal(6, 1.5, d)))[::-1]
        found[f"linear of {d:,}"] = 20_000 / d * (d + 1 - ranks)
    return {name: np.rint(counts).astype(np.int64) for name, counts in found.items()}


def real(folder: Path) -> dict[str, np.ndarray]:
    """The counts of the data folder."""
    files = sorted((folder / "topk_counts").glob("*.npy"))
    return {file.stem: np.sort(np.load(file).astype(np.int64))[::-1].copy() for file in files}


def drawn(word: str, counts: np.ndarray, k: int, epsilon: float, most: int | None) -> np.ndarray:
    """Draws of a mechanism, a row each; a list by noise on every count holds all shorter ones."""
    delta = DELTA if word in ("gaussian", "peel-gumbel") else 0
    about = AboutScores(utility=COUNTS, max_items=most if word in BY_ITEMS else None)
    method = next(each for each in OF_LISTS if each.word() == word)
    made = mechanism_of(method(), about, Sizes(epsilon=epsilon, delta=delta, k=k))
    if isinstance(made, LipschitzMechanism):
        made = replace(made, in_order=True)
    return simplest(made).simulate(counts, COUNTS, DRAWS, 1)


def error(counts: np.ndarray, rows: np.ndarray, kind: str) -> float:
    """The mean largest error, of lists in their order or of sets."""
    judged = rows if kind == "lists" else best_order(counts, rows)
    return float(l_infinity(counts, judged).mean())


def settings(counts: np.ndarray) -> list[dict[str, Any]]:
    """Every setting on these counts: the errors, and what is chosen."""
    rows = []
    for epsilon in EPSILONS:
        largest = max(SIZES)
        noisy = {
            (word, most): drawn(word, counts, largest, epsilon, most)
            for word in BY_ITEMS
            for most in ITEMS
        }
        for k in SIZES:
            fixed = {word: drawn(word, counts, k, epsilon, None)
                     for word in ("joint", "canonical", "oneshot", "peel-gumbel")}  # fmt: skip
            for most, kind, delta in product(ITEMS, KINDS, (0.0, DELTA)):
                words = {"joint", "oneshot", "laplace"} | (
                    {"canonical"} if kind == "sets" else set()
                )
                words |= {"gaussian", "peel-gumbel"} if delta else set()
                found = {
                    word: error(
                        counts, noisy[word, most][:, :k] if word in BY_ITEMS else fixed[word], kind
                    )
                    for word in words
                }
                about = AboutScores(utility=COUNTS, candidates=len(counts), max_items=most)
                sizes = Sizes(epsilon=epsilon, delta=delta, k=k)
                taken = choose("auto", about, sizes, kind == "lists").method.word()
                rows.append({"k": k, "epsilon": epsilon, "items": most, "kind": kind,
                             "delta": delta, "taken": taken, "errors": found})  # fmt: skip
    return rows


def summed(rows: list[dict[str, Any]], taken: str | None = None) -> dict[str, Any]:
    """How often a choice is within a tenth of the best, and how far off it is in the mean."""
    near, factors = 0, []
    for row in rows:
        own, best = row["errors"][taken or row["taken"]], min(row["errors"].values())
        near += own <= NEAR * best + 1e-9
        factors.append((own + 1) / (best + 1))
    mean = math.exp(float(np.mean(np.log(factors))))
    return {"settings": len(rows), "near": int(near), "mean factor": round(mean, 3),
            "worst factor": round(max(factors), 1)}  # fmt: skip


def main() -> None:
    """Run, print, save."""
    parser = arguments(__doc__ or "", "items")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data sets")
    chosen = parser.parse_args()
    parts = {"made up": made_up(chosen.seed), "real": real(chosen.data)}
    found = []
    for part, sets in parts.items():
        rows = [row for counts in sets.values() for row in settings(counts)]
        for kind, delta in product(KINDS, (0.0, DELTA)):
            own = [row for row in rows if (row["kind"], row["delta"]) == (kind, delta)]
            one = "joint" if kind == "lists" else "canonical"
            choices = {"auto": None, one: one, "laplace": "laplace"}
            choices |= {"gaussian": "gaussian", "peel-gumbel": "peel-gumbel"} if delta else {}
            for name, word in choices.items():
                found.append({"counts": part, "kind": kind, "delta": delta, "choice": name,
                              **summed(own, word)})  # fmt: skip
    heads = ["counts", "kind", "δ", "choice", "settings", "within 10 %", "mean factor", "worst"]
    lines = [
        [r["counts"], r["kind"], f"{r['delta']:g}", r["choice"], str(r["settings"]), str(r["near"]),
         f"{r['mean factor']:g}", f"{r['worst factor']:g}"]
        for r in found
    ]  # fmt: skip
    report("the largest error, against the best of all", heads, lines)
    save(chosen.out, {"draws": DRAWS, "rows": found})


if __name__ == "__main__":
    main()
