"""Frequent pairs by bases [Li, Qardaji, Su, Cao 2012]: to compare, and nothing that is offered.

The most frequent items are chosen in rounds of the exponential mechanism with three tenths of
epsilon, and groups of them cover all of their pairs. Each group is counted as one histogram of
all its subsets, with Laplace noise from the rest; the support of a pair is a sum of bins, averaged
over the groups that hold it. How many items there are is chosen in hindsight, which favours it.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from winnow.core.baskets import Baskets
from winnow.itemsets.kernels.mine import ItemsetRanks

ITEMS = (5, 6, 7, 8, 10, 12, 16, 20, 24, 32)
FOR_ITEMS, LARGEST_GROUP, GROUP = 0.3, 8, 6


def groups(items: int) -> list[tuple[int, ...]]:
    """Groups of six that hold all pairs of so many items, greedily; one group of up to eight."""
    if items <= LARGEST_GROUP:
        return [tuple(range(items))]
    left, found = set(combinations(range(items), 2)), []
    while left:
        group = list(min(left))
        while len(group) < GROUP:
            rest = [item for item in range(items) if item not in group]
            gains = [sum(tuple(sorted((item, one))) in left for one in group) for item in rest]
            group.append(rest[int(np.argmax(gains))])
        left -= set(combinations(sorted(group), 2))
        found.append(tuple(sorted(group)))
    return found


def pairs_found(
    baskets: Baskets, k: int, epsilon: float, items: int, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """The k pairs of the largest noisy supports."""
    each = FOR_ITEMS * epsilon / items
    chosen = np.argsort(-(baskets.supports() + rng.gumbel(0, 1 / each, baskets.item_count)))[:items]
    held = np.zeros((len(baskets), baskets.item_count), np.bool_)
    held[np.repeat(np.arange(len(baskets)), baskets.lengths()), baskets.items] = True
    covers = groups(items)
    scale = len(covers) / ((1 - FOR_ITEMS) * epsilon)
    sums: dict[tuple[int, int], list[float]] = {}
    for group in covers:
        codes = held[:, chosen[list(group)]] @ (1 << np.arange(len(group)))
        bins = np.bincount(codes, minlength=1 << len(group)).astype(np.float64)
        bins += rng.laplace(0, scale, len(bins))
        masks = np.arange(len(bins))
        for (a, first), (b, second) in combinations(enumerate(group), 2):
            both = bool_of(masks, a) & bool_of(masks, b)
            pair = tuple(sorted((int(chosen[first]), int(chosen[second]))))
            sums.setdefault((pair[0], pair[1]), []).append(float(bins[both].sum()))
    means = {pair: float(np.mean(found)) for pair, found in sums.items()}
    return sorted(means, key=lambda pair: -means[pair])[:k]


def bool_of(masks: Any, place: int) -> Any:
    return (masks >> place) & 1 == 1


def recall_of_bases(
    ranks: ItemsetRanks, k: int, epsilon: float, draws: int, seed: int
) -> dict[str, float]:
    """The best mean share of the k most frequent pairs over the numbers of items, and that."""
    least = int(ranks.scores_at([k - 1])[0])
    found: dict[int, float] = {}
    for items in ITEMS:
        if items > ranks.baskets.item_count:
            continue
        rng = np.random.default_rng(seed)
        hits = 0
        for _ in range(draws):
            pairs = pairs_found(ranks.baskets, k, epsilon, items, rng)
            hits += sum(ranks.support(pair) >= least for pair in pairs)
        found[items] = hits / (k * draws)
    best = max(found, key=lambda items: found[items])
    return {"recall": found[best], "items": best}
