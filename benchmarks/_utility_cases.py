"""Data sets and workloads of the comparison of utility: tables, queries and true answers."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import winnow as wn

Counts = np.ndarray[Any, np.dtype[np.int64]]

SIX = ("education-num", "marital-status", "occupation", "relationship", "race", "sex")
EIGHT = ("income", "sex", "marital status", "age", "occupation", "dual incomes",
         "householder status", "type of home")  # fmt: skip
LINES = ("ADULTFRANK", "HEPTH", "MEDCOST", "NETTRACE", "SEARCHLOGS")
PLANES = ("Loan_2D", "twitter")
ORDERED = {"line": "x", "plane": "x", "adult6": "education-num"}
"""The column that is asked for prefixes and ranges, by the kind of the data."""

ONE = {"line": ["x"], "plane": ["x", "y"], "adult6": ["race", "relationship"],
       "income8": ["marital status", "occupation"]}  # fmt: skip
WORKLOADS = ("one table", "2-way", "3-way", "14 columns 2-way", "prefixes", "ranges",
             "unstructured")  # fmt: skip
RANGES = 2000


@dataclass(frozen=True, eq=False)
class Data:
    """Rows as public codes, for the benchmark, and as a sealed table, for Winnow."""

    name: str
    kind: str
    shape: dict[str, int]
    codes: tuple[Counts, ...]
    """Of the distinct rows, a line for each column."""
    weights: Counts
    """How many rows each of them stands for."""

    @property
    def rows(self) -> int:
        return int(self.weights.sum())

    @cached_property
    def schema(self) -> wn.Schema:
        return wn.Schema.parse(self.shape)

    @cached_property
    def table(self) -> wn.SealedTable:
        import pyarrow as pa

        pairs = zip(self.shape, self.codes, strict=True)
        held = {name: np.repeat(codes, self.weights) for name, codes in pairs}
        return wn.read_table(pa.table(held), schema=self.schema)


@dataclass(frozen=True, eq=False)
class Case:
    """A workload over a data set, with its true answers in rows."""

    data: Data
    workload_name: str
    queries: wn.Workload
    truth: Counts

    @property
    def name(self) -> tuple[str, str]:
        return self.data.name, self.workload_name


def names() -> list[str]:
    return ["adult6", "adult14", "income8", "income14", *LINES, *PLANES]


@lru_cache(maxsize=2)
def load(folder: Path, name: str) -> Data | None:
    """A data set, or nothing where its files are missing."""
    if name.startswith("adult"):
        return _adult(folder / "adult_pgm", name)
    if name.startswith("income"):
        return _income(folder / "income_esl", name)
    if name in LINES:
        file = folder / "dpbench_1d" / f"{name}.n4096.npy"
        return None if not file.exists() else _histogram(name, "line", np.load(file))
    file = folder / "dpbench_2d" / f"{name}_256_256.npz"
    return None if not file.exists() else _histogram(name, "plane", np.load(file)["x"])


def _adult(folder: Path, name: str) -> Data | None:
    if not (folder / "adult.csv.gz").exists():
        return None
    domain = json.loads((folder / "adult-domain.json").read_text())
    with gzip.open(folder / "adult.csv.gz", "rt") as lines:
        names = next(lines).strip().split(",")
        held = np.loadtxt(lines, np.int64, delimiter=",")
    kept = SIX if name == "adult6" else tuple(domain)
    columns = [held[:, names.index(each)] for each in kept]
    return _grouped(name, name, {each: domain[each] for each in kept}, columns)


def _income(folder: Path, name: str) -> Data | None:
    file = folder / "income.tsv.gz"
    if not file.exists():
        return None
    with gzip.open(file, "rt") as lines:
        rows = [dict(field.split("=", 1) for field in line.strip("\n").split("\t"))
                for line in lines]  # fmt: skip
    kept = EIGHT if name == "income8" else tuple(rows[0])
    shape, columns = {}, []
    for each in kept:
        found, codes = np.unique([row[each] for row in rows], return_inverse=True)
        shape[each] = len(found)
        columns.append(codes.astype(np.int64))
    return _grouped(name, name, shape, columns)


def _grouped(name: str, kind: str, shape: dict[str, int], columns: list[Counts]) -> Data:
    rows, weights = np.unique(np.array(columns), axis=1, return_counts=True)
    return Data(name, kind, shape, tuple(rows), weights.astype(np.int64))


def _histogram(name: str, kind: str, held: np.ndarray) -> Data:
    places = np.nonzero(held)
    shape = dict(zip("xy", held.shape, strict=False))
    codes = tuple(place.astype(np.int64) for place in places)
    return Data(name, kind, shape, codes, held[places].astype(np.int64))


def cases(data: Data, wanted: list[str], unstructured: int) -> Iterator[Case]:
    """The workloads that make sense for a data set."""
    for name in wanted:
        maker = _maker(data, name, unstructured)
        if maker is not None:
            queries = maker.over(data.schema)
            yield Case(data, name, queries, queries.counts(data.codes, data.weights))


def _maker(data: Data, name: str, unstructured: int) -> Any:
    wide, flat = data.kind in ("adult14", "income14"), data.kind in ("adult6", "income8")
    match name:
        case "one table" if data.kind in ONE:
            return wn.marginals(len(ONE[data.kind]), columns=ONE[data.kind])
        case "2-way" | "3-way" if flat:
            return wn.marginals(int(name[0]))
        case "14 columns 2-way" if wide:
            return wn.marginals(2)
        case "prefixes" if data.kind in ORDERED:
            return wn.prefixes(ORDERED[data.kind])
        case "ranges" if data.kind in ORDERED:
            codes = data.shape[ORDERED[data.kind]]
            return wn.ranges(ORDERED[data.kind], min(RANGES, codes * (codes + 1) // 2))
        case "unstructured" if flat:
            return wn.predicates(_conjunctions(data, unstructured))
    return None


def _conjunctions(data: Data, number: int) -> list[Any]:
    """Half of the codes of each of three columns."""
    rng, columns = np.random.default_rng(7), list(data.shape)
    found = []
    for _ in range(number):
        chosen = [columns[i] for i in sorted(rng.choice(len(columns), 3, replace=False))]
        halves = {name: rng.choice(data.shape[name], max(1, data.shape[name] // 2), replace=False)
                  for name in chosen}  # fmt: skip
        found.append(wn.where({name: sorted(codes.tolist()) for name, codes in halves.items()}))
    return found
