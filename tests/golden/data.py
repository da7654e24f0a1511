"""Made-up data, small and the same everywhere."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import winnow as wn
from reference.reading import as_options

VOTES = {"ramen": 41, "tacos": 39, "pho": 35, "salad": 12, "soup": 11, "stew": 3}
SCHEMA = {
    "age": {"edges": [0, 30, 50, 120]},
    "sex": {"values": ["Female", "Male"]},
    "town": {"values": ["north", "south", "Ärö"], "other": True},
    "rooms": 4,
}
TOWNS = ("north", "south", "Ärö", "elsewhere")


def people(number: int = 240) -> list[dict[str, Any]]:
    """Rows of a table over the schema, two for each person."""
    return [
        {
            "id": f"p{i // 2}",
            "age": 18 + (i * 7) % 71,
            "sex": "Female" if (i * i) % 5 < 3 else "Male",
            "town": TOWNS[(i * i + i // 3) % 4],
            "rooms": (i * i // 7) % 4,
        }
        for i in range(number)
    ]


@cache
def table(number: int = 240, **options: Any) -> wn.SealedTable:
    """The same, sealed; read once."""
    import pandas as pd

    if "columns" in options:
        options["columns"] = options["columns"].split()
    given = {"schema": SCHEMA, "salt": "golden", **options}
    return wn.read_table(pd.DataFrame(people(number)), **as_options(given))


def scores(number: int) -> np.ndarray[Any, Any]:
    """Many whole scores with ties."""
    return (np.arange(number) * 7919 % 1009).astype(np.float64)


def baskets() -> list[list[str]]:
    """Baskets in which some things go together."""
    return [
        ["bread", "butter"] + ["jam"] * (i % 2) + ["milk"] * (i % 3 > 0) + [f"odd{i % 11}"]
        for i in range(160)
    ] + [["tea", "milk"]] * 40


def examples(number: int = 120) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Points with two real features, and classes that follow the first of them mostly."""
    place = np.arange(number)
    points = np.stack([(place * 37 % 101) / 10.0, (place * 53 % 97) / 10.0], axis=1)
    classes = ((points[:, 0] > 4.0) ^ (place % 11 == 0)).astype(np.int64)
    return points, classes


def write_csv(path: str, rows: list[dict[str, Any]]) -> str:
    """A CSV file, and its name."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_people() -> None:
    """people.csv, schema.json, votes.csv, log.csv and baskets.csv in the working folder."""
    write_csv("people.csv", people())
    Path("schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    write_csv("votes.csv", [{"dish": dish, "n": n} for dish, n in VOTES.items()])
    write_csv("log.csv", log())
    lines = "".join(",".join(basket) + "\n" for basket in baskets())
    Path("baskets.csv").write_text(lines, encoding="utf-8")


def log() -> list[dict[str, Any]]:
    """An event log: some things are common, some belong to one person."""
    common = ("home", "news", "shop", "help", "about")
    return [
        {"visitor": f"v{i % 150}", "page": common[(i % 150) * (i // 150 + 1) % 15 % 5]}
        for i in range(450)
    ] + [{"visitor": f"v{i}", "page": f"page{i}"} for i in range(12)]
