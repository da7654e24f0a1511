"""All r-itemsets of some baskets by decreasing support, mined only as deep as asked.

The lattice is never held. A pass at a floor counts, for every support from there on, how many
itemsets have it; a second pass that stops early finds one member. Each pass keeps only the
items, and the baskets, that can still matter at its floor, and walks them with bitsets where
baskets are dense and by occurrence delivery where they are sparse. Supports that nothing asks
for cost nothing, so 10^12 itemsets over 17,000 items are no more than those above the floor.

Members of equal support are in lexicographic order of the item codes, which are public or
follow the order of the labels: an order that is fixed before any basket is seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.baskets import Baskets
from winnow.core.noisy_top.classes import _uniform_subset as uniform_subset
from winnow.core.noisy_top.universe import InClasses
from winnow.core.process import in_thread
from winnow.core.tape import BitStream
from winnow.itemsets.kernels import borders


def stoppable(kernel: Callable[..., Any], steps: float, *arguments: Any) -> Any:
    """The result of a kernel whose last argument is its flag: an array of one byte.

    `steps` bounds those of its inner loop. A thread, which leaves this one free to hear of
    Ctrl-C, takes longer to start than many a kernel runs.
    """
    stop = np.zeros(1, np.uint8)
    if steps <= borders.SHORT.at:
        return kernel(*arguments, stop)
    return in_thread(lambda: kernel(*arguments, stop), lambda: stop.fill(1))


Integers = NDArray[np.int64]
Itemset = tuple[int, ...]
Listed = tuple[Integers, Integers]
"""Supports, and the itemsets that have them: a row of item codes for each."""

_LEADERS = 32
"""How many of the most frequent items are looked at for a first guess of the top."""
_SAMPLE, _TELLING = 2048, 6
"""So many baskets are a sample, and an itemset that so many of them hold is looked at."""
_ALL = 2**63 - 1
_NONE, _NO_PAIRS = np.empty(0, np.int64), np.empty((0, 0), np.int32)


def restricted(baskets: Baskets, keep: NDArray[np.bool_], least: int) -> tuple[Baskets, Integers]:
    """The baskets restricted to some items, those with `least` of them; and the old codes."""
    from winnow.itemsets.kernels.intersect import restrict

    codes = np.flatnonzero(keep).astype(np.int64)
    new = np.full(baskets.item_count, -1, np.int32)
    new[codes] = np.arange(len(codes), dtype=np.int32)
    items = np.empty(len(baskets.items) + 1, np.int32)
    starts = np.zeros(len(baskets) + 1, np.int64)
    kept = restrict(baskets.items, baskets.starts, new, least, items, starts)
    starts = starts[: kept + 1]
    return Baskets(starts, items[: starts[-1]], len(codes)), codes


def bits_of(baskets: Baskets, items: Integers, least: int) -> tuple[Any, int]:
    """A row for each of some items, and its words: a bit for each basket of `least` or more."""
    from winnow.itemsets.kernels.intersect import fill_bits

    rows = np.full(baskets.item_count, -1, np.int32)
    rows[items] = np.arange(len(items), dtype=np.int32)
    words = (int((baskets.lengths() >= least).sum()) + 63) // 64
    bits = np.zeros((len(items), words), np.uint64)
    fill_bits(baskets.items, baskets.starts, rows, least, bits)
    return bits, words


class ItemsetRanks(InClasses):
    """The r-itemsets by decreasing support: a universe in classes.

    ``known_items=False``: the items came from the data, so the universe has countably many
    candidates without a name and of support 0 in place of the itemsets that nobody has.
    """

    def __init__(self, baskets: Baskets, size: int, *, known_items: bool) -> None:
        self.baskets, self.size = baskets, size
        self.total = comb(baskets.item_count, size) if known_items else None
        self._item_supports = baskets.supports()
        self._counts, self._sizes = _NONE, list[int]()
        self._floor: int | None = None
        self._crowded: list[int] = []  # at b: the largest support known to be that of 2^b or more
        self._plain: dict[int, list[Itemset]] | None = None
        self._found: Listed | None = None  # all that is counted, if it is little
        self._vertical: tuple[Integers, Integers] | None = None
        self._pairs: tuple[int, Integers, NDArray[np.int32]] | None = None
        self._bits: tuple[Any, int] | None = None  # of all items, and so many words of each
        lengths = np.bincount(baskets.lengths())
        self._by_length = [(n, c) for n, c in enumerate(lengths.tolist()) if c and n >= size]

    @property
    def floor(self) -> int:
        """Every itemset of this support or more is counted."""
        return len(self.baskets) + 1 if self._floor is None else self._floor

    def top(self, reach: int = 0) -> int:
        """The largest support; 0 if no basket holds r items."""
        if self._floor is None:
            guess = self._guess()
            self.lower(max(1, guess - reach), int(borders.AHEAD.at) if reach else None)
            self.lower(max(1, guess))
        while not len(self._counts) and self.floor > 1:
            self.lower(max(1, self.floor // 2))
        return int(self._counts[0]) if len(self._counts) else 0

    def _guess(self) -> int:
        """A lower bound on the largest support: greedily among the most frequent items."""
        supports = self._item_supports
        if self.size == 1 or len(supports) < self.size:
            return int(supports.max(initial=0))
        from winnow.itemsets.kernels.intersect import greedy

        many = min(_LEADERS, len(supports))
        least = np.partition(supports, len(supports) - many)[len(supports) - many]
        leaders = np.flatnonzero(supports >= least)
        leaders = leaders[np.argsort(-supports[leaders], kind="stable")[:many]]
        kept = self._kept_bits()
        if kept is not None:
            bits, words = kept
            return int(greedy(bits[leaders], words, self.size))
        support = int(greedy(*bits_of(self.baskets, leaders, self.size), self.size))
        if len(self.baskets) < borders.SAMPLE.at or 16 * support > int(supports.max()):
            return support  # it is a good one, or a sample would be most of the baskets
        best = self._best_of_sample()
        if best is not None:
            support = max(support, int(greedy(*bits_of(self.baskets, best, self.size), self.size)))
        return support

    def _best_of_sample(self) -> Integers | None:
        """An itemset that many baskets of a sample hold; None: it tells nothing, or takes long."""
        lengths = self.baskets.lengths()
        taken = np.zeros(len(lengths), np.bool_)
        taken[:: max(1, len(lengths) // _SAMPLE)] = True
        taken &= (lengths >= self.size) & (lengths <= borders.SHORT.number ** (1 / self.size) / 8)
        starts = np.concatenate([[0], np.cumsum(lengths[taken])]).astype(np.int64)
        items = self.baskets.items[np.repeat(taken, lengths)]
        sample = ItemsetRanks(
            Baskets(starts, items, self.baskets.item_count), self.size, known_items=False
        )
        floor = int(sample._item_supports.max(initial=0)) // 2
        while floor >= _TELLING and not len(sample._counts):
            sample.lower(floor)
            floor //= 2
        return np.array(sample.listing(1)[0][1]) if len(sample._counts) else None

    def _kept_bits(self) -> tuple[Any, int] | None:
        """The bits of all items, for every pass, where they are few."""
        if self._bits is None:
            long_enough = sum(count for _, count in self._by_length)
            most = min(borders.KEPT_BYTES.at, borders.BITSET_BYTES.at)
            if long_enough * self.baskets.item_count > 8 * most:
                return None
            self._bits = bits_of(self.baskets, np.arange(self.baskets.item_count), self.size)
        return self._bits

    def lower(self, floor: int, most: int | None = None) -> None:
        """Count all itemsets of support `floor` or more; with `most` only if they are no more.

        A pass that meets more than `most` ends there. It allows for up to twice as many, so that
        what it finds out answers later questions, which ask for a few more or fewer.
        """
        floor = max(1, floor)
        if self._floor is not None and floor >= self._floor:
            return
        bits = 63 if most is None else min(most.bit_length(), 63)
        if bits < len(self._crowded) and floor <= self._crowded[bits]:
            return
        if self.size == 1:
            floor = 1
            histogram = np.bincount(self._item_supports, minlength=1)
        elif self._small():
            floor = 1
            histogram = self._count_plainly()
        else:
            histogram = np.zeros(len(self.baskets) + 1, np.int64)
            room, many = int(borders.LISTED.at), (1 << bits) - 1
            listed = self._walk(floor, len(self.baskets), histogram, 0, room, many)
            tallied = int(histogram.sum())
            if tallied > many:
                self._crowded += [0] * (bits + 1 - len(self._crowded))
                self._crowded[: bits + 1] = [max(floor, c) for c in self._crowded[: bits + 1]]
                return
            self._found = listed if len(listed[0]) == tallied else None
        counts = np.flatnonzero(histogram[floor:])[::-1] + floor
        self._counts, self._sizes = counts.astype(np.int64), histogram[counts].tolist()
        self._floor = floor

    def classes(self) -> tuple[Integers, list[int]]:
        """Supports from the top down to the floor, and how many itemsets have each."""
        return self._counts, self._sizes

    def member(self, count: int, index: int) -> Itemset:
        """The itemset at a place of its class, in lexicographic order."""
        if self.size == 1:
            return (int(np.flatnonzero(self._item_supports == count)[index]),)
        if self._plain is not None:
            return self._plain[count][index]
        if self._found is not None:
            supports, itemsets = self._found
            return _itemset(itemsets[np.flatnonzero(supports == count)[index]])
        return _itemset(self._walk(count, count, _NONE, index, 1)[1][0])

    def listing(self, size: int) -> list[tuple[int, Itemset]]:
        """The first `size` itemsets by decreasing support, with it; fewer if fewer have any."""
        self.top()
        while self.floor > 1 and sum(self._sizes) < size:
            self.lower(max(1, self.floor * 3 // 4))
        counted = np.cumsum(self._sizes)
        if not len(counted):
            return []
        last = min(int(np.searchsorted(counted, size)), len(counted) - 1)
        least = int(self._counts[last])
        if self.size == 1 or self._plain is not None:
            itemsets = [
                (count, self.member(count, place))
                for count, many in zip(self._counts[: last + 1].tolist(), self._sizes, strict=False)
                for place in range(many)
            ]
            return itemsets[:size]
        listed = self._found
        if listed is None:
            listed = self._walk(least, len(self.baskets), _NONE, 0, int(counted[last]))
        order = np.argsort(-listed[0], kind="stable")[:size]  # ties stay lexicographic
        return [(int(listed[0][place]), _itemset(listed[1][place])) for place in order.tolist()]

    def stream(self) -> Iterator[tuple[int, Itemset]]:
        """All itemsets of positive support, one after another, mined in growing batches."""
        done, batch = 0, 64
        while True:
            itemsets = self.listing(done + batch)
            yield from itemsets[done:]
            if len(itemsets) < done + batch:
                return
            done, batch = len(itemsets), 4 * batch

    def unseen(self, stream: BitStream) -> Itemset | None:
        """A uniform itemset that no basket holds, by rejection; None if items have no list.

        Itemsets of support 0 never weigh more than others, so a draw ends among them with
        probability at most their share of all; the trials that it then takes are the inverse
        of that share on average. Together: one, whatever the data.
        """
        while True:
            itemset = self.sample(stream)
            if itemset is None:
                return None
            if itemset[0] == 0:
                return itemset[1]

    def sample(self, stream: BitStream) -> tuple[int, Itemset] | None:
        """A uniform itemset with its support; None if items have no list."""
        if self.total is None:
            return None
        itemset = tuple(uniform_subset(stream, self.baskets.item_count, self.size))
        return self.support(itemset), itemset

    def support(self, itemset: Itemset) -> int:
        """How many baskets hold all items; of no items, all do."""
        if not itemset:
            return len(self.baskets)
        if self._vertical is None:
            order = np.argsort(self.baskets.items, kind="stable")
            tids = np.repeat(np.arange(len(self.baskets)), self.baskets.lengths())[order]
            self._vertical = np.concatenate([[0], np.cumsum(self._item_supports)]), tids
        starts, tids = self._vertical
        lists = sorted((tids[starts[i] : starts[i + 1]] for i in itemset), key=len)
        common = lists[0]
        for other in lists[1:]:
            if not len(common):
                break
            common = np.intersect1d(common, other, assume_unique=True)
        return len(common)

    def _small(self) -> bool:
        pairs: int = sum(comb(n, self.size) * c for n, c in self._by_length)
        return pairs <= borders.PLAIN.at

    def _count_plainly(self) -> Integers:
        counts: Counter[Itemset] = Counter()
        codes, starts = self.baskets.items.tolist(), self.baskets.starts.tolist()
        for first, last in pairwise(starts):
            counts.update(combinations(codes[first:last], self.size))
        self._plain = {}
        for itemset in sorted(counts):
            self._plain.setdefault(counts[itemset], []).append(itemset)
        histogram = np.zeros(len(self.baskets) + 1, np.int64)
        for count, members in self._plain.items():
            histogram[count] = len(members)
        return histogram

    def _walk(
        self, low: int, high: int, histogram: Integers, skip: int, room: int, most: int = _ALL
    ) -> Listed:
        """One pass of a compiled kernel over what can reach `low`; it tallies `most` and one."""
        from winnow.itemsets.kernels.intersect import intersect, occurrences, walk_occurrences

        itemsets, supports = np.empty((room, self.size), np.int64), np.empty(room, np.int64)
        asked = self.size, low, high, histogram, most, skip, itemsets, supports
        rows = np.flatnonzero(self._item_supports >= low)
        kept = self._kept_bits()
        if kept is not None:
            share = float(self._item_supports[rows].sum()) / max(1, len(self.baskets.items))
            pairs = share**2 * sum(n * (n - 1) * c for n, c in self._by_length)
            if _dense(kept[1], len(rows), pairs):
                most = comb(len(rows), self.size) * kept[1]
                done = stoppable(intersect, most, *kept, rows, _NONE, _NO_PAIRS, *asked)
                return supports[:done], itemsets[:done]
        reduced, codes = restricted(self.baskets, self._item_supports >= low, self.size)
        lengths = reduced.lengths().astype(np.float64)
        words = (len(reduced) + 63) // 64
        within = 8.0 * words * len(codes) <= borders.BITSET_BYTES.at
        if within and _dense(words, len(codes), float((lengths * (lengths - 1)).sum())):
            rows = np.arange(len(codes))
            most = comb(len(codes), self.size) * words
            bits = bits_of(reduced, rows, 0)
            done = stoppable(intersect, most, *bits, rows, *self._pairs_of(codes, low), *asked)
        else:
            item_starts = np.concatenate([[0], np.cumsum(reduced.supports())]).astype(np.int64)
            kind = np.int32 if len(reduced.items) < borders.NARROW.at else np.int64
            positions = np.empty(len(reduced.items), kind)
            ends = np.empty(len(reduced.items), kind)
            occurrences(reduced.items, reduced.starts, item_starts[:-1].copy(), positions, ends)
            steps = float((lengths ** min(self.size, 20)).sum())
            done = stoppable(
                walk_occurrences, steps, reduced.items, item_starts, positions, ends, *asked
            )
        return supports[:done], codes[itemsets[:done]]

    def _pairs_of(self, codes: Integers, low: int) -> tuple[Integers, NDArray[np.int32]]:
        """The supports of pairs for larger itemsets, and the rows of some items in them.

        They are counted for all passes after the first, for more items than the next one needs.
        """
        from winnow.itemsets.kernels.intersect import count_pairs

        if self.size == 2 or self._floor is None or len(codes) < borders.FEW_ITEMS.at:
            return _NONE, _NO_PAIRS
        if self._pairs is None or low < self._pairs[0]:
            floor = max(1, 2 * low // 3)
            counted = np.flatnonzero(self._item_supports >= floor)
            if len(counted) > borders.MOST_ITEMS.at:
                floor, counted = low, codes
            if len(counted) > borders.MOST_ITEMS.at:
                return _NONE, _NO_PAIRS
            rows = np.full(self.baskets.item_count, -1, np.int64)
            rows[counted] = np.arange(len(counted))
            pairs = np.zeros((len(counted), len(counted)), np.int32)
            places = np.empty(len(counted), np.int64)
            count_pairs(self.baskets.items, self.baskets.starts, rows, places, pairs)
            self._pairs = floor, rows, pairs
        return self._pairs[1][codes], self._pairs[2]


def _dense(words: int, items: int, pairs: float) -> bool:
    """Whether bitsets are faster than occurrences, by the pairs of items that baskets hold."""
    return words * items * (items - 1.0) <= borders.DENSE.at * pairs


def _itemset(row: Integers) -> Itemset:
    return tuple(row.tolist())
