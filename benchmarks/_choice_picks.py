"""Top k, private labels and itemsets: every method forced, the automatic choice beside them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import product
from math import comb
from typing import Any

import numpy as np

import winnow as wn
from _choice_data import baskets, counts
from _choice_figures import Seen, Setting
from _common import opened
from winnow.core.tape import Tape
from winnow.itemsets.kernels.mine import ItemsetRanks
from winnow.itemsets.request import Itemsets
from winnow.itemsets.table import AUTO, WantedItemsets
from winnow.itemsets.table import choose as choose_itemsets
from winnow.select.about import AboutScores
from winnow.select.crossing.selection import Selection
from winnow.select.errors import best_order
from winnow.select.methods import Sizes
from winnow.select.table import choose, in_order, noises, unit_of
from winnow.select.top_k_methods import LimitedDomain, Stability

COUNTS = wn.Utility.declare(1, monotone=True)
DRAWS, REAL_DRAWS, PRIVATE_DRAWS = 60, 30, 12
AGAIN, SUSPECT = 8, 1.1
"""A method that looks better than the choice by so much is drawn again together with it, so many
times as often and with other seeds, and what is told is that: the least of several means of few
draws is too small by chance."""


def _off(true: np.ndarray, rows: np.ndarray) -> float:
    """The mean largest error, place by place."""
    wanted = np.sort(true)[::-1][: rows.shape[1]]
    return float(np.abs(wanted - true[rows]).max(1).mean())


def _found(true: np.ndarray, rows: np.ndarray) -> float:
    """The share of places with an item of the true top k, ties included."""
    least = np.sort(true)[::-1][rows.shape[1] - 1]
    return float((true[rows] >= least).mean())


def seen(mechanism: Selection, true: np.ndarray, seed: int, draws: int, *, ordered: bool) -> Seen:
    """What a mechanism does on counts that are known."""
    rows = mechanism.simulate(true, COUNTS, draws, seed)
    rows = rows if ordered else best_order(true, rows)
    return Seen(_off(true, rows), _found(true, rows))


def list_settings(seed: int, number: int) -> Iterator[tuple[int, float, float, int | None, bool]]:
    """k, epsilon, delta, items per person, and whether the order is wanted: spread evenly."""
    every = list(
        product(
            (1, 3, 10, 30, 100), (0.01, 0.1, 0.3, 1.0), (0.0, 1e-6), (None, 1, 3, 20), (True, False)
        )
    )
    random = np.random.default_rng(seed)
    for place in random.permutation(len(every))[:number]:
        yield every[place]


def lists_of(
    part: str, data: str, true: np.ndarray, asked: Any, seed: int, draws: int
) -> Setting | None:
    """Every method for a list, a set, or one item."""
    k, epsilon, delta, most, ordered = asked
    if 2 * k > len(true):
        return None
    about = AboutScores(utility=COUNTS, candidates=len(true), max_items=most)
    sizes = Sizes(epsilon=epsilon, delta=delta, k=k)
    chosen = choose(AUTO, about, sizes, None if ordered else False)
    made: dict[str, Selection] = {}
    for method in noises(about, sizes, ordered):
        asked_of = sizes if method.needs_delta else replace(sizes, delta=0.0)
        with suppress(wn.ParameterError):
            each = method.mechanism(about, asked_of)
            made[method.word()] = in_order(each) if ordered else each
    word, default = chosen.method.word(), chosen.mechanism
    assert isinstance(default, Selection)

    def drawn(mechanism: Selection, start: int, times: int = 1) -> Seen:
        return seen(mechanism, true, start, times * draws, ordered=ordered)

    found = {each: drawn(mechanism, seed) for each, mechanism in made.items()}
    own = found[word] if made.get(word) == default else drawn(default, seed)
    unit, again = unit_of(epsilon), ""
    while True:
        best = min(found, key=lambda each: found[each].error)
        if max(own.error, unit) <= SUSPECT * max(found[best].error, unit) or again == best:
            break
        own, found[best] = drawn(default, seed + 1, AGAIN), drawn(made[best], seed + 2, AGAIN)
        again = best
    said = {"k": k, "epsilon": epsilon, "delta": delta, "max_items": most, "ordered": ordered,
            "items": len(true)}  # fmt: skip
    return Setting(part, data, said, word, unit, found, own)


def top_k(seed: int, size: float) -> Iterator[Setting]:
    """Lists, sets, single items over generated counts."""
    per = max(1, round(7 * size))
    for place, items in enumerate((60, 1_000, 10_000)):
        for name, true in counts(seed + place, items).items():
            for asked in list_settings(seed + hash_of(name, items), per):
                made = lists_of(
                    "top-k", name, true, asked, seed, DRAWS if items < 5_000 else REAL_DRAWS
                )
                if made is not None:
                    yield made


def hash_of(*words: Any) -> int:
    """A number that is the same in every process."""
    return sum(ord(letter) * (place + 1) for place, letter in enumerate("".join(map(str, words))))


def labels_of(part: str, data: str, true: np.ndarray, asked: Any, seed: int) -> Setting:
    """Both methods for private labels of at most L items per person; or one where L is unknown."""
    k, epsilon, delta, most = asked
    held = true[true > 0]
    about = AboutScores(utility=COUNTS, private=True, max_items=most)
    sizes = Sizes(epsilon=epsilon, delta=delta, k=k)
    chosen: Any = choose(AUTO, about, sizes, None)

    def seen_of(mechanism: Any, start: int) -> Seen:
        wanted = np.sort(held)[::-1][:k]
        least, off, right = wanted[-1], [], []
        for row in mechanism.simulate(held, COUNTS, PRIVATE_DRAWS, start):
            got = np.zeros(len(wanted))
            got[: len(row)] = held[row]
            off.append(float(np.abs(wanted - got).max()))
            right.append(float((held[row] >= least).sum()) / len(wanted))
        return Seen(float(np.mean(off)), float(np.mean(right)))

    found = {}
    for method in (LimitedDomain(), Stability()):
        if method == Stability() and most is None:
            continue
        found[method.word()] = seen_of(method.among_private(about, sizes), seed)
    word = chosen.method.word()
    default = found.get(word) or seen_of(chosen.mechanism, seed)
    said = {"k": k, "epsilon": epsilon, "delta": delta, "max_items": most, "items": len(held)}
    return Setting(part, data, said, word, unit_of(epsilon), found, default)


def private_labels(seed: int, size: float) -> Iterator[Setting]:
    """Lists of labels that nobody lists, over generated counts."""
    every = list(product((1, 10, 50), (0.1, 0.5, 2.0), (1e-9, 1e-5), (1, 5, 50, 500)))
    for place, items in enumerate((1_000, 10_000)):
        for name, true in counts(seed + place, items).items():
            random = np.random.default_rng(seed + hash_of(name, items))
            for chosen in random.permutation(len(every))[: max(1, round(4 * size))]:
                if (true > 0).sum() > 100:
                    yield labels_of("private labels", name, true, every[chosen], seed)


WORDS = {
    "private items": ("weighted", "limited-domain"),
    "public items": ("weighted", "exponential", "limited-domain", "permute-and-flip"),
    "public items, no delta": ("weighted", "canonical-adaptive", "permute-and-flip", "canonical"),
}
PURE = ("permute-and-flip", "canonical", "canonical-adaptive")
ITEMSET_SIZE, MOST_ITEMS, ITEMSET_DRAWS = 2, 30, 8


def itemsets_of(part: str, data: str, content: Any, asked: Any, seed: int) -> Setting:
    """Every method for a list of pairs of items."""
    setting, k, epsilon = asked
    public, delta = setting != "private items", 0.0 if "no delta" in setting else 1e-6
    ranks = ItemsetRanks(content, ITEMSET_SIZE, known_items=public)
    least = max(1, int(ranks.scores_at([k - 1])[0]))
    moved = comb(MOST_ITEMS, ITEMSET_SIZE)

    def share(word: str) -> Seen:
        given = 0.0 if word in PURE else delta
        method = Itemsets(size=ITEMSET_SIZE, epsilon=epsilon, method=word).method
        wanted = WantedItemsets(epsilon, given, k, COUNTS, ranks.total, moved)
        chosen = choose_itemsets(method, wanted).selection
        found = [
            chosen._draw(ranks, COUNTS, Tape.seeded(seed + draw).child("choice")).found
            for draw in range(ITEMSET_DRAWS)
        ]
        recall = sum(sum(c >= least for c, _ in one) for one in found) / (k * ITEMSET_DRAWS)
        return Seen(1.0 - recall, recall)

    found = {}
    for word in WORDS[setting]:
        with suppress(wn.ParameterError):
            found[word] = share(word)
    said = {"setting": setting, "k": k, "epsilon": epsilon, "baskets": len(content)}
    # what is missed of a list: to miss a tenth of it more is counted as equal
    return Setting(part, data, said, AUTO, 0.1, found, share(AUTO))


def itemsets(seed: int, size: float) -> Iterator[Setting]:
    """Lists of pairs over generated baskets."""
    every = list(product(WORDS, (5, 30, 100), (0.2, 1.0, 5.0)))
    place = 0
    for kind in ("popular", "flat", "themes", "together"):
        for number, items in ((2_000, 60), (20_000, 200)):
            place += 1
            rows = baskets(kind, number, items, seed + place)
            lines = [" ".join(f"i{item}" for item in row) for row in rows]
            held = wn.read_baskets(
                [line.split() for line in lines],
                unit="basket",
                max_items=MOST_ITEMS,
                reading=wn.Reading(salt="choice"),
            )
            random = np.random.default_rng(seed + hash_of(kind, number))
            for chosen in random.permutation(len(every))[: max(2, round(9 * size))]:
                yield itemsets_of("itemsets", kind, opened(held.data), every[chosen], seed)
