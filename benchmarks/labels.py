"""How many labels that nobody listed are found in logs, and how many of the top k, by method.

Means of `--runs` seeded runs on three logs drawn from `winnow.select.generated_logs`, and on those
of `--data DIR` (steam, last.fm, bigrams, online retail, MSWeb), with bounds of 1 and 5 items where
a method needs one.
Run: python benchmarks/labels.py [--data DIR] [--quick]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

import winnow as wn
from _common import arguments, report, save
from winnow.select.generated_logs import Log, generated_logs

BUDGETS = ((1.0, 1e-5), (1.0, 1e-6), (0.3, 1e-6))
LOGS = {
    "steam": ("steam/purchases.csv.gz", "user", "game", ","),
    "last.fm": ("lastfm_hetrec/user_artists.tsv.gz", "userID", "artistID", "\t"),
    "bigrams": ("reddit_ngrams/user_ngram.csv.gz", "user", "ngram", ","),
    "MSWeb": ("msweb/user_item.csv.gz", "user", "item", ","),
}


def logs(folder: Path) -> dict[str, pd.DataFrame]:
    """People and their items, each pair once."""
    found = {}
    for name, (file, person, item, between) in LOGS.items():
        rows = pd.read_csv(folder / file, sep=between, usecols=[person, item], dtype=str)
        found[name] = rows.set_axis(["person", "item"], axis=1)[["person", "item"]]
        if rows.columns[0] != person:
            found[name] = found[name].set_axis(["item", "person"], axis=1)[["person", "item"]]
    columns = ["CustomerID", "StockCode"]
    retail = pq.read_table(folder / "online_retail/online_retail.parquet", columns=columns)
    frame = retail.to_pandas().set_axis(["person", "item"], axis=1)
    found["online retail"] = frame[frame["person"] != 0].astype(str)
    return {name: rows.dropna().drop_duplicates() for name, rows in found.items()}


def generated(rng: np.random.Generator) -> dict[str, pd.DataFrame]:
    """Logs of 10,000 people, drawn from the generated ones whose popularity falls in three ways."""
    people = [log for log in generated_logs() if log.people == 10_000]
    some = [log for log in people if 6 < float(np.median(log.owned)) < 9][1:6:2]
    return {f"generated, {place}": drawn(log, rng) for place, log in enumerate(some, 1)}


def drawn(log: Log, rng: np.random.Generator) -> pd.DataFrame:
    """People and their labels, by the chances of a log."""
    each, rows = log.people // len(log.has), list[pd.DataFrame]()
    starts = np.concatenate([[0], np.cumsum(log.sizes)[:-1]]).astype(np.int64)
    for group, chances in enumerate(log.has):
        for block, chance in enumerate(chances):
            size = int(log.sizes[block])
            many = int(rng.binomial(each * size, chance))
            pairs = pd.DataFrame(
                {"person": rng.integers(0, each, many) + group * each,
                 "item": rng.integers(0, size, many) + starts[block]}
            )  # fmt: skip
            rows.append(pairs)
    return pd.concat(rows).drop_duplicates().astype(str)


METHODS: dict[str, tuple[Any, int | None]] = {
    "truncated-laplace, 1 item": (wn.TruncatedLaplace(), 1),
    "truncated-laplace, 5 items": (wn.TruncatedLaplace(), 5),
    "optimal-rule, 1 item": (wn.OptimalRule(), 1),
    "weighted-gaussian, one round": (wn.WeightedGaussian(rounds=1), None),
    "weighted-gaussian, two rounds": (wn.WeightedGaussian(rounds=2), None),
    "auto, no bound": ("auto", None),
}


def measured(rows: pd.DataFrame, runs: int) -> list[dict[str, Any]]:
    """The mean number of labels of each method and budget."""
    counted = {
        most: wn.counts(
            rows, item="item", person="person", max_items=most, reading=wn.Reading(salt="benchmark")
        )
        for most in (None, 1, 5)
    }
    found = []
    for epsilon, delta in BUDGETS:
        for name, (method, most) in METHODS.items():
            asked = {"epsilon": epsilon, "delta": delta, "method": method}
            sizes = [len(wn.labels(counted[most], **asked, seed=run).value) for run in range(runs)]
            mean = sum(sizes) / runs
            found.append({"epsilon": epsilon, "delta": delta, "method": name, "labels": mean})
    return found


OF_TOP_K: dict[str, tuple[Any, int | None]] = {
    "limited-domain": ("limited-domain", None),
    "stability, 5 items": ("stability", 5),
    "weights, one round": (wn.WeightedGaussian(rounds=1, peel=0), None),
    "weights and peeling, halves": (wn.WeightedGaussian(rounds=1, peel=0.5), None),
    "weights, two rounds": (wn.WeightedGaussian(rounds=2, peel=0), None),
    "auto": ("auto", None),
}
KS = (10, 100, 1000)


def recalled(rows: pd.DataFrame, runs: int) -> list[dict[str, Any]]:
    """The share of the true top k that is released at (1, 1e-6)."""
    true = rows["item"].value_counts().index
    counted = {
        most: wn.counts(
            rows, item="item", person="person", max_items=most, reading=wn.Reading(salt="benchmark")
        )
        for most in (None, 5)
    }
    found = []
    for k in (k for k in KS if k <= len(true)):
        best = set(true[:k])
        for name, (method, most) in OF_TOP_K.items():
            asked = {"k": k, "epsilon": 1.0, "delta": 1e-6, "method": method}
            shares = [
                len(best & set(wn.top_k(counted[most], **asked, seed=run).value)) / k
                for run in range(runs)
            ]
            found.append({"k": k, "method": name, "recall": sum(shares) / runs})
    return found


def main() -> None:
    """Measure every log, print, save."""
    parser = arguments(__doc__ or "", "labels")
    parser.add_argument("--quick", action="store_true", help="one run each")
    parser.add_argument("--runs", type=int, default=5, help="runs of which the mean is taken")
    parser.add_argument("--data", type=Path, help="a folder with real logs")
    chosen = parser.parse_args()
    runs, done, lists = 1 if chosen.quick else chosen.runs, list[Any](), list[Any]()
    read = generated(np.random.default_rng(chosen.seed))
    read |= {} if chosen.data is None else logs(chosen.data)
    for name, rows in read.items():
        people, items = rows["person"].nunique(), rows["item"].nunique()
        for row in measured(rows, runs):
            done.append({"log": name, "people": people, "items": items, **row})
        lists += [{"log": name, **row} for row in recalled(rows, runs)]
    budgets = [f"({epsilon:g}, {delta:g})" for epsilon, delta in BUDGETS]
    lines: dict[tuple[str, str], list[str]] = {}
    for row in done:
        lines.setdefault((row["log"], row["method"]), []).append(f"{row['labels']:.1f}")
    report(
        "labels found", ["log", "method", *budgets], [[*key, *row] for key, row in lines.items()]
    )
    by_k: dict[tuple[str, str], list[str]] = {}
    for row in lists:
        by_k.setdefault((row["log"], row["method"]), []).append(f"{row['recall']:.2f}")
    heads = ["log", "method", *(f"k = {k}" for k in KS)]
    filled = [[*key, *row, *[""] * (len(KS) - len(row))] for key, row in by_k.items()]
    report("share of the top k, (1, 1e-06)", heads, filled)
    save(chosen.out, {"quick": chosen.quick, "runs": runs, "rows": done, "top_k": lists})


if __name__ == "__main__":
    main()
