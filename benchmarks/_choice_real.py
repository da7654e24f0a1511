"""Real data for the regret of the automatic choices: looked at once, at the end.

``--data DIR`` names a folder with the data sets of ``_wide_data`` and ``topk_counts/``,
``dpbench_1d/``, ``groceries/``, ``supermarket/`` and ``msweb/``. Nothing is chosen on these.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import winnow as wn
from _choice_data import Codes
from _choice_figures import Setting
from _choice_picks import (
    MOST_ITEMS,
    REAL_DRAWS,
    WORDS,
    hash_of,
    itemsets_of,
    labels_of,
    list_settings,
    lists_of,
)
from _choice_tables import WORKLOADS, budget_of, release_of, session_of, wide_of, workload_of
from _common import opened
from _wide_data import adult, books, income, movies, retail, steam, supermarket

Maker = Callable[[int, float], Iterator[Setting]]

TABLES = {"adult": adult, "income": income, "books": books, "movies": movies, "retail": retail}
WIDE = {"adult": adult, "income": income, "retail": retail, "steam": steam,
        "supermarket": supermarket}  # fmt: skip
MOST_CELLS = 60_000


def counts_in(folder: Path) -> dict[str, np.ndarray]:
    """Counts of items, largest first."""
    found = {}
    for place in ("topk_counts", "dpbench_1d"):
        for path in sorted((folder / place).glob("*.npy")):
            held = np.load(path).astype(np.int64)
            found[path.stem.split(".")[0]] = held
    log = pd.read_csv(folder / "msweb" / "user_item.csv.gz").drop_duplicates()
    found["msweb"] = log["item"].value_counts().to_numpy().astype(np.int64)
    return {name: np.sort(held)[::-1].copy() for name, held in found.items()}


def _lists(folder: Path, seed: int, size: float) -> Iterator[Setting]:
    for name, true in counts_in(folder).items():
        for asked in list_settings(seed + hash_of(name), max(1, round(15 * size))):
            made = lists_of("top-k", name, true, asked, seed, REAL_DRAWS)
            if made is not None:
                yield made


def _labels(folder: Path, seed: int, size: float) -> Iterator[Setting]:
    every = list(product((1, 10, 50), (0.1, 0.5, 2.0), (1e-9, 1e-5), (1, 5, 50, 500)))
    for name, true in counts_in(folder).items():
        random = np.random.default_rng(seed + hash_of(name))
        for place in random.permutation(len(every))[: max(1, round(6 * size))]:
            yield labels_of("private labels", name, true, every[place], seed)


def narrow(folder: Path, seed: int, number: int, cells: float) -> Iterator[tuple[Codes, Any]]:
    """Some columns of a real table, and some of its rows."""
    names = list(TABLES)
    whole = {name: read(folder) for name, read in TABLES.items()}
    for place in range(number):
        random = np.random.default_rng(seed + place)
        name = names[place % len(names)]
        codes = whole[name]
        columns: list[str] = []
        for column in random.permutation(list(codes.schema)).tolist():
            sizes = [codes.schema[c] for c in (*columns, column)]
            if len(columns) < 8 and np.prod(np.array(sizes, float)) <= cells:
                columns.append(column)
        rows = int(random.choice([300, 3_000, 30_000, 1_000_000]))
        frame = codes.frame[columns]
        if rows < len(frame):
            frame = frame.sample(rows, random_state=place)
        kept = {column: codes.schema[column] for column in columns}
        if len(columns) >= 3:
            yield Codes(name, frame.reset_index(drop=True), kept), random


def _tables(folder: Path, seed: int, size: float) -> Iterator[Setting]:
    for place, (codes, random) in enumerate(narrow(folder, seed, round(40 * size), MOST_CELLS)):
        ways = int(random.choice([1, 2, 2, 3, 3]))
        asked = budget_of(random)
        made = release_of("tables", codes.name, codes, wn.marginals(ways), asked, seed + place)
        if made is not None:
            made.asked["ways"] = ways
            yield made


def _workloads(folder: Path, seed: int, size: float) -> Iterator[Setting]:
    for place, (codes, random) in enumerate(narrow(folder, seed, round(25 * size), 8_000)):
        kind = WORKLOADS[place % len(WORKLOADS)]
        workload, asked = workload_of(kind, codes, random), budget_of(random)
        name = f"{kind}, {codes.name}"
        made = release_of("workloads", name, codes, workload, asked, seed + place)
        if made is not None:
            made.asked["kind"] = kind
            yield made


def _wide(folder: Path, seed: int, size: float) -> Iterator[Setting]:
    every = list(product(WIDE, (2, 3), (0.1, 1.0, 10.0)))
    random = np.random.default_rng(seed)
    for place in random.permutation(len(every))[: round(len(every) * size)]:
        name, ways, epsilon = every[place]
        held = WIDE[name](folder)
        codes = Codes(name, held.frame, held.schema)
        yield wide_of("wide", name, codes, ways, epsilon, seed + int(place))


def _lines(path: Path, separator: str) -> list[list[str]]:
    with gzip.open(path, "rt") as file:
        return [[item for item in line.strip().split(separator) if item] for line in file]


def baskets_in(folder: Path) -> dict[str, list[list[str]]]:
    """Baskets of items."""
    log = pd.read_csv(folder / "msweb" / "user_item.csv.gz").drop_duplicates()
    web = log.groupby("user")["item"].apply(lambda items: [str(item) for item in items])
    found = {
        "groceries": _lines(folder / "groceries" / "groceries.csv.gz", ","),
        "supermarket": _lines(folder / "supermarket" / "supermarket_trans.csv.gz", ","),
        "msweb": web.tolist(),
    }
    return {name: [basket for basket in held if basket] for name, held in found.items()}


def _itemsets(folder: Path, seed: int, size: float) -> Iterator[Setting]:
    every = list(product(WORDS, (5, 30, 100), (0.2, 1.0, 5.0)))
    for name, rows in baskets_in(folder).items():
        held = wn.read_baskets(
            rows, unit="basket", max_items=MOST_ITEMS, reading=wn.Reading(salt="choice")
        )
        random = np.random.default_rng(seed + hash_of(name))
        for place in random.permutation(len(every))[: max(2, round(18 * size))]:
            yield itemsets_of("itemsets", name, opened(held.data), every[place], seed)


def _sessions(folder: Path, seed: int, size: float) -> Iterator[Setting]:
    for place, (codes, random) in enumerate(narrow(folder, seed, round(25 * size), MOST_CELLS)):
        asked = {
            "epsilon": float(random.choice([0.1, 0.3, 1.0, 3.0])),
            "max_queries": int(random.choice([100, 1_000, 5_000, 50_000])),
        }
        made = session_of("sessions", codes.name, codes, asked, seed + place)
        if made is not None:
            yield made


def real_parts(folder: Path) -> dict[str, Maker]:
    """The parts over real data."""

    def of(part: Callable[[Path, int, float], Iterator[Setting]]) -> Maker:
        return lambda seed, size: part(folder, seed, size)

    return {
        "top-k": of(_lists),
        "private labels": of(_labels),
        "tables": of(_tables),
        "workloads": of(_workloads),
        "wide": of(_wide),
        "itemsets": of(_itemsets),
        "sessions": of(_sessions),
    }
