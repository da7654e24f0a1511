"""Lists of itemsets: the share of the true top k that each mechanism finds, on many baskets."""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from pathlib import Path
from typing import Any

import winnow as wn
from _common import opened, report
from _itemset_bases import recall_of_bases
from winnow.core.tape import Tape
from winnow.itemsets.kernels.mine import ItemsetRanks
from winnow.itemsets.request import Itemsets
from winnow.itemsets.table import AUTO, WantedItemsets, choose

PEOPLE = wn.Utility.declare(1, monotone=True)
DELTA, MOST_ITEMS, SIZE = 1e-6, 50, 2
LISTS, EPSILONS, SMALL = (10, 50, 100), (0.5, 1.0, 2.0), (0.05, 0.1, 0.2)
LARGE = ("T10I4D100K", "online retail", "kosarak")
"""With these a draw over all pairs of public items takes seconds: private items only."""
TESTED_ON = ("kosarak",)
"""The automatic choice was made while looking at the others; these only test it."""

Case = tuple[str, float, int]
"""A mechanism, the delta that it is given, and how often it is drawn."""
PRIVATE: tuple[Case, ...] = (
    (AUTO, DELTA, 8),
    ("weighted", DELTA, 8),
    ("limited-domain", DELTA, 8),
    ("large-margin", DELTA, 1),
    ("choosing", DELTA, 2),
    ("distance-to-instability", DELTA, 1),
)
PUBLIC: tuple[Case, ...] = (
    (AUTO, DELTA, 8),
    ("weighted", DELTA, 8),
    ("exponential", DELTA, 8),
    ("limited-domain", DELTA, 8),
    ("joint", 0.0, 2),
    ("canonical", 0.0, 4),
)
PURE: tuple[Case, ...] = (
    (AUTO, 0.0, 16),
    ("weighted", 0.0, 16),
    ("joint", 0.0, 2),
    ("canonical", 0.0, 4),
    ("canonical-adaptive", 0.0, 16),
    ("permute-and-flip", 0.0, 4),
)
OF_SMALL: tuple[Case, ...] = (
    (AUTO, 0.0, 16),
    ("weighted", 0.0, 16),
    ("canonical-adaptive", 0.0, 16),
    ("permute-and-flip", 0.0, 8),
)
SETTINGS = {"private items": PRIVATE, "public items": PUBLIC, "public items, no delta": PURE}


def sources(folder: Path) -> dict[str, Callable[[], wn.SealedBaskets]]:
    def read(path: str, **how: Any) -> Callable[[], wn.SealedBaskets]:
        common = {"unit": "basket", "max_items": MOST_ITEMS, "salt": "lists"}
        return lambda: wn.read_baskets(folder / path, **common, **how)

    return {
        "groceries": read("groceries/groceries.csv.gz"),
        "msweb": read("msweb/user_item.csv.gz", basket="user", item="item"),
        "supermarket": read("supermarket/supermarket_trans.csv.gz"),
        "epub": read("epub/epub.tsv.gz"),
        "mushroom": read("fimi/mushroom.dat.gz"),
        "T10I4D100K": read("fimi/T10I4D100K.dat.gz"),
        "online retail": read(
            "online_retail/online_retail.parquet", basket="InvoiceNo", item="Description"
        ),
        "income": read("income_esl/income.tsv.gz"),
        "kosarak": read("fimi/kosarak_prefix36682.dat.gz"),
    }


def recall(ranks: ItemsetRanks, case: Case, k: int, epsilon: float, seed: int) -> float:
    """The mean share of the k released that are among the k most frequent."""
    word, delta, draws = case
    method = Itemsets(size=SIZE, epsilon=epsilon, method=word).method
    moved = comb(MOST_ITEMS, SIZE)
    chosen = choose(method, WantedItemsets(epsilon, delta, k, PEOPLE, ranks.total, moved))
    least = int(ranks.scores_at([k - 1])[0])
    found = [
        chosen.selection._draw(ranks, PEOPLE, Tape.seeded(seed + draw).child("lists")).found
        for draw in range(draws)
    ]
    return sum(sum(count >= least for count, _ in one) for one in found) / (k * draws)


def lists(
    folder: Path, seed: int, quick: bool, kept: list[dict[str, Any]], only: str | None = None
) -> list[dict[str, Any]]:
    """A row for each set of baskets, setting, length of the list and epsilon.

    With ``only`` one setting is measured, and the rows of others are kept.
    """
    rows = [row for row in kept if only not in (None, row["setting"])]
    for name, read in sources(folder).items():
        if name in LARGE and only not in (None, "private items"):
            continue
        baskets = opened(read().data)
        for setting, cases in SETTINGS.items():
            if only not in (None, setting) or (name in LARGE and setting != "private items"):
                continue
            ranks = ItemsetRanks(baskets, SIZE, known_items=setting != "private items")
            for k in LISTS[:1] if quick else LISTS:
                for epsilon in EPSILONS:
                    row = {
                        word if delta or setting != "public items" else f"{word}, no delta": recall(
                            ranks, (word, delta, draws), k, epsilon, seed
                        )
                        for word, delta, draws in cases
                        if word != "large-margin" or k < LISTS[-1]  # its rounds take seconds
                    }
                    bases = {}
                    if setting == "public items, no delta":
                        bases = {"bases": recall_of_bases(ranks, k, epsilon, 4, seed)}
                    rows.append(
                        {
                            "data": name,
                            "chosen on": name not in TESTED_ON,
                            "baskets": len(baskets),
                            "items": baskets.item_count,
                            "setting": setting,
                            "k": k,
                            "epsilon": epsilon,
                            "recall": row,
                            **bases,
                        }
                    )
    for setting in dict.fromkeys(row["setting"] for row in rows):
        here = [row for row in rows if row["setting"] == setting]
        words = list(here[0]["recall"])
        report(
            f"{setting}: share of the k most frequent pairs that is found",
            ["data", "k", "epsilon", *words],
            [[r["data"], str(r["k"]), f"{r['epsilon']:g}",
              *(f"{100 * r['recall'][w]:.0f} %" if w in r["recall"] else "-" for w in words)]
             for r in here],
        )  # fmt: skip
    return rows


def small_epsilons(folder: Path, seed: int) -> list[dict[str, Any]]:
    """Lists of pairs of public items without a delta where epsilon is small."""
    rows = []
    for name, read in sources(folder).items():
        if name in LARGE:
            continue
        ranks = ItemsetRanks(opened(read().data), SIZE, known_items=True)
        for k in LISTS:
            for epsilon in SMALL:
                row = {case[0]: recall(ranks, case, k, epsilon, seed) for case in OF_SMALL}
                rows.append({"data": name, "k": k, "epsilon": epsilon, "recall": row})
    words = [case[0] for case in OF_SMALL]
    report(
        "small epsilon, public items, no delta: share of the k most frequent pairs",
        ["data", "k", "epsilon", *words],
        [[r["data"], str(r["k"]), f"{r['epsilon']:g}",
          *(f"{100 * r['recall'][w]:.0f} %" for w in words)] for r in rows],
    )  # fmt: skip
    return rows
