"""Generated data that span the regimes in which an automatic choice may go wrong.

Counts by rank, tables of codes, baskets, and labelled rows. All numbers follow from a seed. What is
chosen automatically may be chosen on these families; real data are looked at once, at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import winnow as wn

Generator = np.random.Generator


def counts(seed: int, items: int) -> dict[str, np.ndarray]:
    """Counts of items: flat, Zipf, steps, one peak, near ties, sparse, a line, log-normal."""
    random, rank = np.random.default_rng(seed), np.arange(1, items + 1.0)
    size = float(np.exp(random.uniform(np.log(40), np.log(400_000))))
    power = float(random.uniform(0.3, 2.0))
    head = int(random.integers(2, max(3, items // 20)))
    found = {
        "flat": random.poisson(size, items),
        f"Zipf {power:.2f}": size / rank**power,
        f"Zipf-Mandelbrot {power:.2f}": size * ((head + 1) / (rank + head)) ** power,
        "steps": size / 2 ** np.floor(np.log2(rank) / 1.3),
        "one peak": np.where(rank == 1, size, size / 15),
        f"{head} alike, then less": np.where(
            rank <= head, size * (1 + 0.1 * random.random(items)), random.poisson(size / 15, items)
        ),
        "near ties": np.maximum(size - rank, 0),
        "sparse": np.where(
            rank <= 3 * head,
            random.geometric(min(1.0, 12 / size), items),
            random.random(items) < 0.05,
        ),
        "a line": size * (1 - rank / (items + 1)),
        "log-normal": size * np.exp(random.normal(0, 1.1, items) - 3),
    }
    whole = {name: np.rint(held).astype(np.int64) for name, held in found.items()}
    return {name: np.sort(held)[::-1].copy() for name, held in whole.items()}


@dataclass(frozen=True)
class Codes:
    """A table of codes, with the number of codes of each column."""

    name: str
    frame: pd.DataFrame
    schema: dict[str, int]
    label: str = ""


def sizes_of(random: Generator, columns: int, most: int, cells: float) -> list[int]:
    """So many codes for each column, evenly in logarithms, within so many cells."""
    while True:
        logs = random.uniform(np.log(2), np.log(most + 1), columns)
        sizes = np.maximum(2, np.exp(logs).astype(int))
        if float(np.prod(sizes.astype(float))) <= cells:
            return [int(size) for size in sizes]
        most = max(2, int(most * 0.9))


KINDS = ("mixture", "independent", "chain", "functions", "few rows", "skewed mixture")


def table(kind: str, rows: int, sizes: list[int], seed: int) -> Codes:
    """Codes that depend on each other in one of six ways."""
    random = np.random.default_rng(seed)

    def shares(size: int, concentration: float) -> np.ndarray:
        return random.dirichlet(np.full(size, concentration))

    def drawn(share: np.ndarray, number: int) -> np.ndarray:
        return random.choice(len(share), number, p=share)

    if kind == "independent":
        zipf = [1 / np.arange(1, size + 1) for size in sizes]
        columns = [drawn(share / share.sum(), rows) for share in zipf]
    elif kind in ("mixture", "skewed mixture"):
        classes = int(random.integers(2, 9))
        concentration = 0.7 if kind == "mixture" else 0.15
        own = drawn(shares(classes, 2.0), rows)
        columns = []
        for size in sizes:
            laws = np.array([shares(size, concentration) for _ in range(classes)])
            ahead = laws.cumsum(1)[own]
            columns.append(np.minimum((ahead < random.random((rows, 1))).sum(1), size - 1))
    elif kind in ("chain", "functions"):  # of the column before; with some noise, or none
        noise = 0.25 if kind == "chain" else 0.0
        columns = [drawn(shares(sizes[0], 1.0), rows)]
        for place, size in enumerate(sizes[1:]):
            before = columns[int(random.integers(0, place + 1))]
            said = random.integers(0, size, before.max() + 1)[before]
            other = drawn(shares(size, 1.0), rows)
            alone = random.random(rows) < (noise if place % 2 else max(noise, 0.1))
            columns.append(np.where(alone, other, said))
    else:  # few distinct rows, repeated
        kinds = np.array([random.integers(0, s, 40) for s in sizes])
        columns = list(kinds[:, drawn(shares(40, 0.3), rows)])
    names = [f"c{place}" for place in range(len(sizes))]
    frame = pd.DataFrame(dict(zip(names, columns, strict=True)))
    return Codes(kind, frame, dict(zip(names, sizes, strict=True)), names[-1])


def baskets(kind: str, number: int, items: int, seed: int) -> list[list[int]]:
    """Baskets of items by popularity alone, in themes, or with pairs that go together."""
    random = np.random.default_rng(seed)
    power = {"popular": 1.0, "flat": 0.3, "themes": 0.7, "together": 0.8}[kind]
    share = 1 / np.arange(1, items + 1) ** power
    share /= share.sum()
    themes = [random.permutation(share) for _ in range(6)]
    found = []
    for _ in range(number):
        size = 1 + min(int(random.poisson(5)), items - 1)
        law = themes[int(random.integers(6))] if kind == "themes" else share
        held = set(random.choice(items, size, p=law).tolist())
        if kind == "together":
            held |= {item ^ 1 for item in held if random.random() < 0.6 and (item ^ 1) < items}
        found.append(sorted(held))
    return found


def labelled(rows: int, columns: int, rare: float, classes: int, seed: int) -> Codes:
    """Rows with a class that depends on some columns; the first class has so small a share."""
    random = np.random.default_rng(seed)
    shares = np.array([rare, *np.full(classes - 1, (1 - rare) / (classes - 1))])
    own = random.choice(classes, rows, p=shares)
    frame = {"label": own}
    sizes = {"label": classes}
    for column in range(columns):
        size = int(random.integers(2, 9))
        tells = random.random() < 0.6
        laws = np.array([random.dirichlet(np.full(size, 0.8)) for _ in range(classes)])
        laws = laws if tells else np.repeat(laws[:1], classes, 0)
        drawn = (laws.cumsum(1)[own] < random.random((rows, 1))).sum(1)
        frame[f"c{column}"] = np.minimum(drawn, size - 1)
        sizes[f"c{column}"] = size
    return Codes(f"{classes} classes, {rare:g}", pd.DataFrame(frame), sizes, "label")


def ruled(kind: str, rows: int, columns: int, rare: float, seed: int) -> Codes:
    """Rows whose class follows from pairs of columns (rules, xor) or from their sum (a score).

    Columns depend on each other by a hidden group; the rows with the least noisy score are class 0.
    """
    random = np.random.default_rng(seed)
    sizes = [int(random.integers(2, 9)) for _ in range(columns)]
    group = random.integers(0, 3, rows)
    held = []
    for size in sizes:
        laws = random.dirichlet(np.full(size, 1.5), 3)
        laws = laws if random.random() < 0.5 else np.repeat(laws[:1], 3, 0)
        ahead = laws.cumsum(1)[group] < random.random((rows, 1))
        held.append(np.minimum(ahead.sum(1), size - 1))
    score = np.zeros(rows)
    if kind == "rules":
        for _ in range(int(random.integers(2, 6))):
            a, b = random.choice(columns, 2, replace=False)
            least, most = random.integers(0, sizes[b]), random.integers(0, sizes[a])
            score += random.choice([-1, 1]) * ((held[a] <= most) & (held[b] >= least))
    elif kind == "xor":
        a, b, c = random.choice(columns, 3, replace=False)
        high = [column >= size // 2 for column, size in zip(held, sizes, strict=True)]
        score += 2 * (high[a] ^ high[b]) + high[c]
    else:
        for column, size in zip(held, sizes, strict=True):
            score += random.normal(0, 1, size)[column]
    score += random.normal(0, 0.3 * score.std() + 1e-3, rows)
    names = [f"c{place}" for place in range(columns)]
    frame = pd.DataFrame({"label": (score >= np.quantile(score, rare)).astype(int)})
    for name, column in zip(names, held, strict=True):
        frame[name] = column
    return Codes(
        f"{kind}, {rare:g}", frame, {"label": 2, **dict(zip(names, sizes, strict=True))}, "label"
    )


def read(codes: Codes, **how: Any) -> Any:
    """The table as a user reads it."""
    return wn.read_table(codes.frame.astype(int), schema=codes.schema, **how)
