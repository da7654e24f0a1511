"""The crossing for itemsets: sealed baskets in, labels of itemsets out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from math import comb
from typing import Any

from winnow.core.baskets import Baskets
from winnow.core.checks import Real, exact, positive, set_counts
from winnow.core.cut import laplace_margin
from winnow.core.key import Key
from winnow.core.noise import discrete_laplace_array
from winnow.core.noisy_top.classes import _uniform_subset as uniform_subset
from winnow.core.noisy_top.count_classes import ListedClasses
from winnow.core.noisy_top.draw import SMALLEST_SCALE
from winnow.core.noisy_top.universe import Drawn, Found, Universe
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.core.tape import BitStream, Tape
from winnow.errors import ParameterError
from winnow.itemsets.about import AboutBaskets, about_baskets
from winnow.itemsets.kernels.mine import ItemsetRanks
from winnow.itemsets.rules import ItemsetSupports, subsets_of
from winnow.privacy import Guarantee, Promise, guarantee_of
from winnow.privacy.rounding import stated_at_least
from winnow.read.baskets import SealedBaskets
from winnow.read.kept import KeptBaskets, Snapshot, changed
from winnow.select.crossing.selection import Pick
from winnow.select.lists import CountedItems
from winnow.select.mechanisms.noisy_counts import promise_with_counts

FREE_SIZE = 4
"""Itemsets of up to so many items are mined whatever baskets hold: a basket of n items has fewer
than n^4 / 24 of them, of larger ones up to 2^n."""
MOST_OF_A_BASKET = 1 << 20
"""So many itemsets of a size, or of a smaller one, a basket may have beyond that. Where no two
baskets share one the walk meets them all, in .1 us each (300 made-up baskets of 22 items, sets of
12: 19 s); else it ends far earlier (of 43 items, sets of 5: .2 s). Baskets of 60 items have half
as many itemsets of 4."""
MOST_SUPPORTS = 1 << 20
"""So many supports of subsets are measured at most: each is a question of its own."""
LARGEST_JOINED = 2
"""Of baskets that nothing bounds, in an engine."""


@dataclass(frozen=True)
class FrequentItemsets:
    """A selection over all itemsets of a size, and noisy supports of the winners if asked.

    Formal guarantees
        Those of the selection. With `counts_epsilon` also discrete Laplace noise on the
        winners' supports: one person moves each by at most one_sided and has at most
        max_baskets C(max_items, size) itemsets, so the l1 sensitivity is the smaller
        of k one_sided and of that (twice that under substitution); `k` is the most that can be
        released. It is charged as ``moved`` measurements, where neighbours move no more supports
        than that, each by no more than an even share of that sensitivity (``moved_alike``).
        [Canonne-Kamath-Steinke 2020]
        With `subsets` the supports of all subsets of the winners are measured by one
        event, the number of baskets among them (the empty set). Which these are follows from
        what is released, so their number t is public when the noise is scaled: the l1
        sensitivity is the smaller of t one_sided and of max_baskets times the sum of
        C(max_items, j) over j = 0 .. size, twice that under substitution. t may be 1, so that
        the event is that of one number.
    """

    selection: Pick
    size: int
    k: int = 1
    counts_epsilon: Real | None = None
    subsets: bool = False
    moved: int = 1
    """So many measurements the noise on the supports is charged as."""

    def __post_init__(self) -> None:
        set_counts(self, size="size", k="k", moved="moved")
        if self.counts_epsilon is not None:
            positive(epsilon=self.counts_epsilon)

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        whose = "the winners and their subsets" if self.subsets else "the winners"
        counts = f"; supports of {whose} with discrete Laplace noise"
        return f"{self.selection.name}; itemsets of {self.size}" + (
            counts if self.counts_epsilon is not None else ""
        )

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        first = self.selection.promise(relation)
        if self.counts_epsilon is None:
            return first
        return promise_with_counts(first, relation, self.counts_epsilon, self.moved)

    def guarantee(self, promised: Promise) -> Guarantee:
        """What the release states about itself."""
        relation = promised.event.relation
        first = self.selection.guarantee(self.selection.promise(relation))
        if self.counts_epsilon is None:
            return first
        together = guarantee_of(promised.event, first.delta)
        total = exact("epsilon", first.epsilon) + exact("epsilon", self.counts_epsilon)
        if total >= exact("epsilon", together.epsilon):
            return together
        return Guarantee(stated_at_least(total), first.delta, relation, together.rho)

    def check(self, baskets: SealedBaskets | AboutBaskets) -> None:
        """Refuse what cannot be released, before anything is charged."""
        about = about_baskets(baskets)
        total = about.universe(self.size)
        if about.max_items is not None and about.max_items < self.size:
            raise ParameterError(
                f"baskets of at most {about.max_items} items hold no itemset of {self.size}; "
                "raise max_items or lower size"
            )
        self._check_work(about)
        if about.stay and not self._joined(about):
            raise ParameterError(
                f"an engine joins {self.size} items of each basket with each other, so long ones "
                "have to be cut: read them with max_items=, or with keep='memory'"
            )
        if self.selection.reads_baskets and not about.here:
            raise ParameterError(
                f"{self.selection.title} counts baskets in memory; read them with keep='memory', "
                "or choose another method"
            )
        self.selection.check_public(about.utility, total)
        if self.counts_epsilon is not None and not (
            self.noise_scale(about, 1) > SMALLEST_SCALE
            and self.noise_scale(about, self._most_numbers()) < 2**50
        ):
            raise ParameterError("epsilon is too small or too large for noisy counts of 64 bits")
        if self.moved > 1 and self.moved > self.moved_alike(about):
            raise ParameterError(
                f"moved={self.moved} measurements were planned for other baskets; of these a "
                f"person moves {self.moved_alike(about)} supports alike: plan for them"
            )

    def _check_work(self, about: AboutBaskets) -> None:
        """Refuse what may take too long, by public numbers alone."""
        bounds = [each for each in (about.max_items, about.items) if each is not None]
        most = _itemsets_of(min(bounds), self.size) if bounds else None
        if self.size > FREE_SIZE and (most is None or most > MOST_OF_A_BASKET):
            longest = _longest(self.size)
            has = f"has {most:,}" if most else "may have any number of"
            mend = f"read the baskets with max_items={longest} or less, or " if longest else ""
            raise ParameterError(
                f"size={self.size}: a basket {has} itemsets of up to {self.size} items, and "
                f"{MOST_OF_A_BASKET:,} can be looked at; {mend}lower size"
            )
        if self.subsets and self._most_numbers() > MOST_SUPPORTS:
            raise ParameterError(
                f"supports='subsets' of {self.k:,} itemsets of {self.size} items are up to "
                f"{self._most_numbers():,} numbers, and at most {MOST_SUPPORTS:,} are measured; "
                "ask for a shorter list, for smaller itemsets, or for supports='winners'"
            )

    def moved_alike(self, baskets: SealedBaskets | AboutBaskets) -> int:
        """The most measurements that the noise on the winners' supports may be charged as.

        Either all k supports may move, each by at most one_sided, which the noise is scaled to.
        Or a bound on baskets allows less than k one_sided in all: where one_sided is 1 it allows so
        many supports, by one each. Where it is more a few may move further than an even share.
        """
        whole = self._sensitivity(baskets, self.k)
        one = baskets.utility.one_sided
        if self.subsets or self.counts_epsilon is None:
            return 1
        return self.k if whole == self.k * one else int(whole) if one == 1 else 1

    def _joined(self, baskets: SealedBaskets | AboutBaskets) -> bool:
        """Whether an engine can count the itemsets, however long baskets are."""
        return self.size <= LARGEST_JOINED or baskets.max_items is not None

    def _most_numbers(self) -> int:
        """The most supports that are measured."""
        return self.k * (2**self.size - 1) + 1 if self.subsets else self.k

    def noise_scale(self, baskets: SealedBaskets | AboutBaskets, numbers: int) -> Fraction:
        """The scale of the noise on so many supports: l1 sensitivity/epsilon."""
        if self.counts_epsilon is None:
            raise ValueError("no counts are released")
        return self._sensitivity(baskets, numbers) / exact("epsilon", self.counts_epsilon)

    def _sensitivity(self, baskets: SealedBaskets | AboutBaskets, numbers: int) -> Fraction:
        """By how much one person moves so many supports in all."""
        utility = baskets.utility
        moved: Fraction = numbers * utility.one_sided
        if baskets.max_items is not None:
            sizes = range(self.size + 1) if self.subsets else (self.size,)
            own = baskets.max_baskets * sum(comb(baskets.max_items, j) for j in sizes)
            moved = min(moved, Fraction(max(1, utility.relation.people * own)))
        return moved

    def one_drawn(self, baskets: SealedBaskets, key: Key) -> Any:
        """The best itemset, with its support if asked; None: no itemset stands out."""
        best = self.drawn(baskets, key)
        return best[0] if best else None

    def drawn(self, baskets: SealedBaskets, key: Key) -> Any:
        """Itemsets as tuples of labels; with `subsets` an ``ItemsetSupports``."""
        content, names = key.open(baskets.data), baskets.labels
        utility, tape = baskets.utility, key.tape
        mined: _InMemory | _InEngine
        if isinstance(content, KeptBaskets) and not self._joined(baskets):
            content, brought_names = content.brought()
            names = Sealed(brought_names, "items") if isinstance(names, Sealed) else names
        if isinstance(content, KeptBaskets):
            mined = _InEngine(content, self.size, None if isinstance(names, Sealed) else names)
        elif isinstance(names, Sealed):
            mined = _InMemory(content, self.size, key.open(names), known=False)
        else:
            mined = _InMemory(content, self.size, names, known=True)

        def draw(universe: Universe) -> Drawn:
            return self.selection._draw(universe, utility, tape.child("selection"))

        found = mined.drawn(draw)
        if not self.selection.ordered:
            found.sort(key=lambda pair: pair[1])  # the order of the items
        value: list[Any] = [mined.named(itemset) for _, itemset in found]
        if self.counts_epsilon is None:
            return value
        if not self.subsets:
            supports = [support for support, _ in found]
            width = self.noise_scale(baskets, self.k)
            pairs = zip(value, self._noisy(supports, width, tape), strict=True)
            margin = laplace_margin(width, 0.95)
            return CountedItems(pairs, margin=margin, ordered=self.selection.ordered)
        asked = subsets_of([itemset for _, itemset in found])
        scale = self.noise_scale(baskets, len(asked))
        noisy = self._noisy(mined.supports(asked), scale, tape)
        named = [mined.named(itemset) for itemset in asked]
        return ItemsetSupports(tuple(value), dict(zip(named, noisy, strict=True)), float(scale))

    def _noisy(self, supports: list[int], scale: Fraction, tape: Tape) -> list[int]:
        noise = discrete_laplace_array(tape.child("counts"), len(supports), scale)
        return [support + int(z) for support, z in zip(supports, noise, strict=True)]


def _itemsets_of(items: int, size: int) -> int:
    """The most itemsets of one size, up to this one, of a basket of so many items."""
    return comb(items, min(size, items // 2))


@lru_cache(maxsize=64)
def _longest(size: int) -> int | None:
    """The most items that a basket may have for itemsets of this size."""
    longest = size
    while _itemsets_of(longest, size) <= MOST_OF_A_BASKET:
        longest += 1
    return longest - 1 if longest > size else None


Draw = Callable[[Universe], Drawn]


class _InMemory:
    """Itemsets of baskets in memory, mined; an item is its place among the labels."""

    def __init__(self, baskets: Baskets, size: int, labels: Sequence[Any], *, known: bool) -> None:
        self._labels = labels
        self._ranked = ItemsetRanks(baskets, size, known_items=known)

    def drawn(self, draw: Draw) -> list[Found]:
        """What is drawn, with its support."""
        return [(support, tuple(itemset)) for support, itemset in draw(self._ranked).found]

    def named(self, itemset: tuple[int, ...]) -> tuple[Any, ...]:
        """The labels of an itemset."""
        return tuple(self._labels[code] for code in itemset)

    def supports(self, itemsets: list[tuple[int, ...]]) -> list[int]:
        """How many baskets hold each."""
        return [self._ranked.support(itemset) for itemset in itemsets]


class _InEngine:
    """Itemsets of baskets that stay in their engine; an item is its text, or its public place.

    The engine tells how many itemsets have each support, and which ones were drawn.
    """

    def __init__(self, baskets: KeptBaskets, size: int, labels: Sequence[Any] | None) -> None:
        self._baskets, self._size, self._labels = baskets, size, labels
        self._texts = None if labels is None else [str(label) for label in labels]
        self._winners: list[Found] = []

    def drawn(self, draw: Draw) -> list[Found]:
        """What is drawn, with its support."""
        from winnow.read.engines.basket_query import items_of_text

        with self._baskets.itemsets(self._size).snapshot() as asked:
            many = None if self._texts is None else len(self._texts)
            places = _Places(asked.sizes(), self._size, many, partial(self._seen, asked))
            found = draw(places).found
            names = iter(asked.members([place for count, place in found if count]))
        codes = {text: code for code, text in enumerate(self._texts or ())}
        self._winners = []
        for count, member in found:
            itemset = member
            if count:
                texts = items_of_text(next(names))
                itemset = tuple(sorted(codes[text] for text in texts)) if codes else texts
            self._winners.append((count, itemset))
        return list(self._winners)

    def _seen(self, asked: Snapshot, itemset: tuple[int, ...]) -> bool:
        """Whether a basket holds these public items."""
        return bool(asked.counts_of([self._text(itemset)])[0])

    def named(self, itemset: tuple[Any, ...]) -> tuple[Any, ...]:
        """The labels of an itemset."""
        if self._labels is None:
            return itemset
        return tuple(self._labels[code] for code in itemset)

    def supports(self, itemsets: list[tuple[Any, ...]]) -> list[int]:
        """How many baskets hold each, all in one question; the winners must have what they had."""
        with self._baskets.itemsets(*range(self._size + 1)).snapshot() as asked:
            texts = [self._text(itemset) for itemset in itemsets]
            found = dict(zip(itemsets, asked.counts_of(texts), strict=True))
        if any(found[itemset] != support for support, itemset in self._winners):
            raise changed()
        return [found[itemset] for itemset in itemsets]

    def _text(self, itemset: tuple[Any, ...]) -> str:
        from winnow.read.engines.basket_query import itemset_text

        return itemset_text(
            itemset if self._texts is None else (self._texts[code] for code in itemset)
        )


class _Places(ListedClasses):
    """All itemsets of a size by their support: those of one have places, and nobody has others."""

    def __init__(
        self,
        sizes: Mapping[int, int],
        size: int,
        items: int | None,
        seen: Callable[[tuple[int, ...]], bool],
    ) -> None:
        super().__init__(sizes)
        self._itemset, self._items, self._is_seen = size, items, seen
        self.total = None if items is None else comb(items, size)

    def unseen(self, stream: BitStream) -> Any:
        """A uniform itemset that no basket holds, by rejection, as ``ItemsetRanks.unseen``."""
        if self._items is None:
            return None
        while True:
            found = tuple(uniform_subset(stream, self._items, self._itemset))
            if not self._is_seen(found):
                return found
