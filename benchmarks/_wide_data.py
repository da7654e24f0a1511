"""Tables for the benchmark of wide releases: codes of people or events, with public schemas.

Numbers are cut at edges that are written here, not at quantiles of the data; items are those
that a public list could name (the most common ones, taken from the data for the benchmark only).
The rules of ``wn.Graphical`` were chosen on ``CHOSEN_ON`` and checked on ``CHECKED_ON``.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

ADULT_SIX = ("workclass", "education-num", "marital-status", "relationship", "sex", "income>50K")


@dataclass(frozen=True)
class Codes:
    """A table of codes, the size of each column, and the column that a classifier predicts."""

    frame: pd.DataFrame
    schema: dict[str, int]
    label: str


def adult(folder: Path, columns: tuple[str, ...] | None = None) -> Codes:
    place = folder / "adult_pgm"
    schema = json.loads((place / "adult-domain.json").read_text())
    names = list(columns or schema)
    frame = pd.read_csv(place / "adult.csv.gz")[names]
    return Codes(frame, {name: schema[name] for name in names}, "income>50K")


def income(folder: Path) -> Codes:
    lines = _lines(folder / "income_esl" / "income.tsv.gz")
    rows = [dict(item.split("=", 1) for item in line.split("\t")) for line in lines]
    return _coded(pd.DataFrame(rows), "income")


def retail(folder: Path) -> Codes:
    raw = pd.read_parquet(folder / "online_retail" / "online_retail.parquet")
    when = pd.to_datetime(raw["InvoiceDate"], format="%d.%m.%Y %H:%M")
    common = raw["Country"].value_counts().index[:11]
    frame = pd.DataFrame(
        {
            "quantity": np.digitize(
                raw["Quantity"], [0, 1, 2, 3, 4, 6, 8, 12, 13, 24, 25, 48, 100]
            ),
            "price": np.digitize(
                raw["UnitPrice"], [0.4, 0.6, 0.9, 1.3, 1.7, 2.2, 3, 4.2, 5, 8, 13]
            ),
            "month": when.dt.month - 1,
            "weekday": when.dt.weekday,
            "hour": np.clip(when.dt.hour - 6, 0, 14),
            "country": pd.Categorical(raw["Country"], categories=common).codes.astype(int) + 1,
            "first": raw["StockCode"].str.slice(0, 2).pipe(_first_two),
            "known": (raw["CustomerID"] > 0).astype(int),
            "cancelled": raw["InvoiceNo"].str.startswith("C").astype(int),
        }
    )
    sizes = {"quantity": 14, "price": 12, "month": 12, "weekday": 7, "hour": 15, "country": 12,
             "first": 20, "known": 2, "cancelled": 2}  # fmt: skip
    return Codes(frame, sizes, "known")


def _first_two(codes: pd.Series) -> np.ndarray:
    """The first two digits of an article's number: 20 groups."""
    common = [str(each) for each in (*range(20, 25), *range(35, 38), *range(47, 49), 71, 72, 79,
              *range(82, 86), 90, 16)]  # fmt: skip
    return pd.Categorical(codes, categories=common).codes.astype(int) + 1


def steam(folder: Path) -> Codes:
    raw = pd.read_csv(folder / "steam" / "purchases.csv.gz").drop_duplicates()
    return _baskets(raw["user"], raw["game"], 40)


def supermarket(folder: Path) -> Codes:
    lines = _lines(folder / "supermarket" / "supermarket_trans.csv.gz")
    pairs = [(i, item) for i, line in enumerate(lines) for item in line.split(",") if item]
    raw = pd.DataFrame(pairs, columns=["basket", "item"]).drop_duplicates()
    return _baskets(raw["basket"], raw["item"], 30)


def groceries(folder: Path) -> Codes:
    lines = _lines(folder / "groceries" / "groceries.csv.gz")
    pairs = [(i, item) for i, line in enumerate(lines) for item in line.split(",") if item]
    raw = pd.DataFrame(pairs, columns=["basket", "item"]).drop_duplicates()
    return _baskets(raw["basket"], raw["item"], 25)


def web_log(folder: Path) -> Codes:
    raw = pd.read_csv(folder / "msweb" / "user_item.csv.gz").drop_duplicates()
    return _baskets(raw["user"], raw["item"], 35)


def mushrooms(folder: Path) -> Codes:
    rows = [line.split() for line in _lines(folder / "fimi" / "mushroom.dat.gz")]
    frame = pd.DataFrame(rows).astype(int)
    several = [c for c in frame if frame[c].nunique() > 1]
    return _coded(frame[several].rename(columns=lambda c: f"a{c}"), f"a{several[0]}")


def books(folder: Path) -> Codes:
    raw = pd.read_csv(folder / "goodreads_books" / "books.csv.gz")
    languages = raw["language_code"].value_counts().index[:7]
    frame = pd.DataFrame(
        {
            "rating": np.digitize(raw["average_rating"], np.arange(3.0, 4.7, 0.1)),
            "language": pd.Categorical(raw["language_code"], categories=languages).codes + 1,
            "pages": np.digitize(raw["num_pages"], [20, 50, *range(100, 801, 50), 1000]),
            "ratings": np.digitize(raw["ratings_count"], 2.0 ** np.arange(1, 20)),
            "reviews": np.digitize(raw["text_reviews_count"], 2.0 ** np.arange(0, 14)),
            "title": np.clip(raw["title"].str.len() // 10, 0, 11),
            "series": raw["title"].str.contains("#").astype(int),
            "authors": np.clip(raw["authors"].str.count("/"), 0, 4),
        }
    ).astype(int)
    sizes = {"rating": 18, "language": 8, "pages": 19, "ratings": 20, "reviews": 15, "title": 12,
             "series": 2, "authors": 5}  # fmt: skip
    return Codes(frame, sizes, "series")


def movies(folder: Path) -> Codes:
    place = folder / "movielens_latest_small"
    raw = pd.read_csv(place / "ratings.csv.gz").merge(pd.read_csv(place / "movies.csv.gz"))
    when = pd.to_datetime(raw["timestamp"], unit="s")
    year = raw["title"].str.extract(r"\((\d{4})\)")[0].fillna("1990").astype(int)
    columns = {
        "rating": (2 * raw["rating"]).astype(int) - 1,
        "hour": when.dt.hour,
        "weekday": when.dt.weekday,
        "year": when.dt.year - 1996,
        "made": np.digitize(year, [1940, 1960, 1970, 1980, 1985, 1990, 1995, 2000, 2005, 2010]),
    }
    sizes = {"rating": 10, "hour": 24, "weekday": 7, "year": 23, "made": 11}
    for genre in ("Action", "Adventure", "Animation", "Children", "Comedy", "Crime", "Drama",
                  "Fantasy", "Horror", "Romance", "Sci-Fi", "Thriller"):  # fmt: skip
        columns[genre] = raw["genres"].str.contains(genre, regex=False).astype(int)
        sizes[genre] = 2
    return Codes(pd.DataFrame(columns), sizes, "Drama")


def generated(columns: int, rows: int, seed: int) -> Codes:
    """Columns of 2 to 12 codes, each depending on up to two earlier ones; made up."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(2, 13, columns)
    found: list[np.ndarray] = []
    for place, size in enumerate(sizes):
        parents = generator.choice(place, min(place, 2), replace=False) if place else []
        given = np.zeros(rows, np.int64)
        for parent in parents:
            given = given * sizes[parent] + found[parent]
        lines = generator.dirichlet(np.full(size, 0.5), int(given.max()) + 1)
        ends = np.cumsum(lines, axis=1)[given]
        codes = (generator.random(rows)[:, None] > ends).sum(axis=1)
        found.append(np.minimum(codes, size - 1))
    names = [f"c{i}" for i in range(columns)]
    frame = pd.DataFrame(dict(zip(names, found, strict=True)))
    return Codes(frame, dict(zip(names, sizes.tolist(), strict=True)), names[-1])


def _part(codes: Codes, *names: str) -> Codes:
    return Codes(codes.frame[list(names)], {n: codes.schema[n] for n in names}, names[-1])


def _lines(path: Path) -> list[str]:
    with gzip.open(path, "rt") as file:
        return file.read().strip().split("\n")


def _coded(frame: pd.DataFrame, label: str) -> Codes:
    codes = frame.apply(lambda column: pd.factorize(column, sort=True)[0])
    return Codes(codes, {name: int(codes[name].max()) + 1 for name in codes}, label)


def _baskets(who: pd.Series, what: pd.Series, items: int) -> Codes:
    """A column of 0 and 1 for each of the most common items."""
    common = what.value_counts().index[:items]
    frame = pd.crosstab(who, what)[list(common)].clip(0, 1).reset_index(drop=True)
    frame.columns = [str(name) for name in common]
    return Codes(frame, dict.fromkeys(frame.columns, 2), str(common[0]))


CHOSEN_ON: dict[str, Callable[[Path], Codes]] = {
    "books": books,
    "books-5": lambda folder: _part(
        books(folder), "language", "ratings", "title", "series", "authors"
    ),
    "movies-6": lambda folder: _part(
        movies(folder), "rating", "weekday", "made", "Action", "Comedy", "Drama"
    ),
    "movies-17": movies,
    "groceries-25": groceries,
    "msweb-35": web_log,
    "mushroom": mushrooms,
    "generated-30": lambda folder: generated(30, 15_000, 7),
    "generated-12": lambda folder: generated(12, 20_000, 1),
    "generated-9": lambda folder: generated(9, 400_000, 11),
    "generated-5": lambda folder: generated(5, 5_000, 5),
}
CHECKED_ON: dict[str, Callable[[Path], Codes]] = {
    "adult": adult,
    "adult-6": lambda folder: adult(folder, ADULT_SIX),
    "income": income,
    "retail": retail,
    "steam": steam,
    "supermarket": supermarket,
    "generated-40": lambda folder: generated(40, 50_000, 2),
}
