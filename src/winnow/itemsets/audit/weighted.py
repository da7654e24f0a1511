"""Audits of weighted counts: what a person can do to them, their law, and broken twins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations, combinations_with_replacement, product, starmap
from math import exp

import numpy as np
from numpy.typing import NDArray

from winnow.audit.driver import TOLERANCE, enumeration, largest
from winnow.audit.fidelity import chi_square_p_value, fidelity_result
from winnow.audit.neighbours import Declared
from winnow.audit.result import AuditResult, as_twin
from winnow.core.baskets import Baskets
from winnow.core.checks import exact
from winnow.core.laws import Law
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.itemsets.audit.model import HELD, neighbours
from winnow.itemsets.kernels.weights import LONGEST, UNIT, item_counts, itemset_counts
from winnow.itemsets.mechanisms.chosen import (
    LONG_SHARE,
    WeightedOrCanonical,
    WeightedOrSelected,
    long_scores,
)
from winnow.itemsets.mechanisms.support import support_promise, support_scale
from winnow.itemsets.mechanisms.weighted import WeightedCounts, WeightedItemsets
from winnow.privacy import DiscreteGaussian, Truncated, guarantee_of
from winnow.select.audit.model import log_permute_and_flip
from winnow.select.mechanisms.lipschitz import LipschitzMechanism
from winnow.select.mechanisms.repeated import Repeated

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_ITEMS = 4
_DELTA = Fraction(1, 1000)


def weighted(
    delta: Fraction = Fraction(0), *, private: bool = False, max_items: int | None = None
) -> WeightedItemsets:
    """A tiny list."""
    return WeightedItemsets(Fraction(2), 2, delta, private, max_items=max_items)


def or_selected() -> WeightedOrSelected:
    """Rounds of the exponential mechanism, or weighted counts."""
    rest = WeightedOrSelected.rest(2)
    rounds = Repeated(LipschitzMechanism(rest / 2, Law.GUMBEL), 2)
    return WeightedOrSelected(2, rounds, WeightedCounts(rest, 0, 2), 5)


def or_canonical() -> WeightedOrCanonical:
    """A canonical set, or weighted counts."""
    return WeightedOrCanonical(Fraction(2), 2, 5)


def of_people(baskets: int, relation: Relation) -> Utility:
    """Supports, of people with so many baskets."""
    return Utility.declare(baskets, monotone=True, relation=relation)


def kinds() -> list[Baskets]:
    """One basket of every kind; the empty one stands for fewer baskets than allowed."""
    rows = [row for many in range(_ITEMS + 1) for row in combinations(range(_ITEMS), many)]
    return [
        Baskets(np.array([0, len(row)], np.int64), np.array(row, np.int32), _ITEMS) for row in rows
    ]


def moved_by(
    counts: Callable[[Baskets], Integers], utility: Utility, power: int
) -> tuple[Floats, int]:
    """How far each move of a person moves some counts, in the l1 norm or squared in the l2 norm.

    A person takes so many baskets away, or none, and brings as many: counts are sums over baskets.
    """
    each = np.array([counts(kind) for kind in kinds()], np.float64)
    chosen = list(combinations_with_replacement(range(len(each)), int(utility.one_sided)))
    people = np.array([each[list(places)].sum(axis=0) for places in chosen])
    gone = people if utility.relation is Relation.SUBSTITUTION else np.zeros((1, each.shape[1]))
    distances = (np.abs(people[None, :, :] - gone[:, None, :]) ** power).sum(axis=2)
    return distances.ravel(), distances.size


def weighted_enumerated(*, quick: bool = False) -> Iterator[AuditResult]:
    """All that is released on the way, between all small neighbours: as close as was charged."""
    for delta, relation, baskets in product((Fraction(0), _DELTA), Relation, (1, 2)):
        made = weighted(delta)
        yield enumerate_counts(made.counts(), of_people(baskets, relation), quick=quick)
        yield enumerate_support(made, of_people(baskets, relation))
        if delta == 0:  # lengths are told without a delta only
            yield enumerate_long(or_canonical(), of_people(baskets, relation))
    for relation, baskets, longest in product(Relation, (1, 3), (None, 1, 8)):
        private = weighted(_DELTA, private=True, max_items=longest).counts()
        yield enumerate_threshold(private, of_people(baskets, relation))
    yield from shares_add_up()


def enumerate_counts(made: WeightedCounts, utility: Utility, *, quick: bool = False) -> AuditResult:
    """Items and itemsets together, for many ways in which items may seem likely.

    Noise of one scale tells two vectors apart by their l1 distance over it, and by no more; what
    Gaussian noise tells is in the sum of squared distances over the variances.
    """
    likely = [np.array(each) for each in product((1.0, 0.1), repeat=_ITEMS)][:: 5 if quick else 1]
    keep, power = np.ones(_ITEMS, np.bool_), 2 if made.squares else 1
    items, number = moved_by(partial(item_counts, squares=made.squares), utility, power)
    second = np.zeros(number)
    for seem, shares, size in product(likely, (1, 2, 4), (2, 3)):
        how = {"keep": keep, "likely": seem, "size": size, "shares": shares}
        counts = partial(itemset_counts, squares=made.squares, **how)
        moved = moved_by(counts, utility, power)[0]
        second = np.maximum(second, moved / float(made.size_of_noise(1, shares, utility)))
    worst = float((items / float(made.size_of_noise(0, 1, utility)) + second).max())
    charged = made.promise(utility.relation).event
    if isinstance(charged, DiscreteGaussian):
        claimed, what = float(charged.squared_ratio), "the squared distance over the variances"
    else:
        claimed = guarantee_of(charged).epsilon
        what = "the log ratio of all noisy counts together"
    return enumeration(
        f"Weighted counts: {what} stays within what was charged.",
        made,
        utility.relation,
        claimed,
        worst,
        f"over {number} moves of a person, {6 * len(likely)} ways to weigh each",
        case=f", {utility.one_sided} baskets of a person",
    )


def enumerate_support(made: WeightedItemsets, utility: Utility) -> AuditResult:
    """The noisy support at a rank."""
    declared = Declared("", utility.relation, int(utility.one_sided), monotone=True)
    one, other = (-np.sort(-(side @ HELD), axis=1) for side in neighbours(declared, 4))
    moved = float(np.abs(one - other).max())
    loss = moved / float(support_scale(made.epsilon, utility))
    claimed = guarantee_of(support_promise(made.epsilon, utility.relation).event).epsilon
    return enumeration(
        "Weighted counts: the support at a rank is told no better than was charged.",
        made,
        utility.relation,
        claimed,
        loss,
        f"over {len(one)} pairs of neighbours and all ranks",
        case=f", {utility.one_sided} baskets of a person",
    )


def enumerate_long(made: WeightedOrCanonical, utility: Utility) -> AuditResult:
    """How long baskets are, drawn by permute-and-flip: exact probabilities of neighbours.

    Where many baskets are short and more are long, a short one that becomes longer than all lengths
    raises the scores of the likely lengths and lowers the others: that attains the charge.
    """
    bases = [*product((0, 3), repeat=3), (300, 0, 900)]
    lengths = (1, 2, 5, 40, 200)
    moves = list(combinations_with_replacement(lengths, int(utility.one_sided)))
    gone = moves if utility.relation is Relation.SUBSTITUTION else [()]
    scale = float(made.long_scale(utility))

    def told(numbers: tuple[int, ...], *moved: tuple[int, ...]) -> float:
        common = np.repeat([2, 4, 23], numbers)
        both = [
            long_scores(np.concatenate([common, np.array(more, np.int64)]), 2) for more in moved
        ]
        one, other = log_permute_and_flip(scale * np.array(both, np.float64))
        return float(np.abs(one - other).max())

    return largest(
        "Weighted or canonical: how long baskets are is told no better than was charged.",
        made,
        utility.relation,
        float(LONG_SHARE * exact("epsilon", made.epsilon)),
        starmap(told, product(bases, gone, moves)),
        case=f", {utility.one_sided} baskets of a person",
    )


def enumerate_threshold(made: WeightedCounts, utility: Utility) -> AuditResult:
    """The chance that an item leaves which only one person has, however long their baskets are."""
    m, variance = int(utility.one_sided), float(made.size_of_noise(0, 1, utility))
    threshold = made.threshold(utility)

    def passing(n: int) -> Iterator[float]:
        one = Baskets(np.array([0, n], np.int64), np.arange(n, dtype=np.int32), n)
        weight = int(item_counts(one, squares=True, longest=made.longest)[0])
        for items, each in ((n, m * weight), (m * n, weight)):  # the same in all baskets, or others
            leave = items * discrete_gaussian_tail(threshold - each, variance)
            yield leave if weight else 0.0

    lengths = (1, 2, 3, 7, 8, 9, 20, 100, 500, LONGEST, LONGEST + 1)
    charged = made.promise(utility.relation).event
    claimed = float(charged.delta) if isinstance(charged, Truncated) else 0.0
    return largest(
        "Weighted counts: items that only one person has leave no more often than is charged.",
        made,
        utility.relation,
        claimed,
        (each for n in lengths for each in passing(n)),
        "by {} sums over the discrete Gaussian law",
        case=f", {m} baskets of a person, of at most {made.longest} items",
        tolerance=0.0,
    )


def discrete_gaussian_tail(least: int, variance: float) -> float:
    """Pr[Z >= least]."""
    reach = int(12 * variance**0.5) + 1
    z = np.arange(-reach, max(reach, least) + reach, dtype=np.float64)
    mass = np.exp(-(z**2) / (2 * variance))
    return float(mass[z >= least].sum() / mass.sum())


def shares_add_up() -> Iterator[AuditResult]:
    """What one list is charged in all, whichever way it is drawn."""
    for made in (weighted(), or_selected(), or_canonical()):
        for relation in Relation:
            total = guarantee_of(made.promise(relation).event).epsilon
            yield AuditResult(
                "accounting",
                "The parts of a list by weighted counts add up to its epsilon.",
                made.name,
                str(relation),
                made.promise(relation).citation,
                float(exact("epsilon", made.epsilon)),
                total,
                total <= float(exact("epsilon", made.epsilon)) * (1 + TOLERANCE),
                "whichever way what was released before decides",
            )


def weighted_faithful(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """The itemset with the largest noisy count is drawn with its exact probability."""
    rows = [(0, 1)] * 9 + [(0, 2)] * 6 + [(1, 2), (0, 1, 2)]
    starts = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    baskets = Baskets(starts, np.array([i for row in rows for i in row], np.int32), 3)
    made, utility = weighted().counts(), of_people(1, Relation.ADD_REMOVE)
    keep, likely, draws = np.ones(3, np.bool_), np.array([1.0, 0.5, 0.2]), 300 if quick else 2000
    counts, root = itemset_counts(baskets, keep, likely, 2, 4, False), Tape.seeded(seed)
    asked = baskets, keep, likely, 2, 4, utility
    winners = [
        int(made.noisy_itemsets(*asked, root.child(f"{draw}")).argmax()) for draw in range(draws)
    ]
    expected = largest_of_laplace(counts, float(made.size_of_noise(1, 4, utility)))
    p_value = chi_square_p_value(np.append(np.bincount(winners, minlength=3), 0), expected)
    yield fidelity_result(
        "Weighted counts: the largest noisy count is that of each itemset with its exact chance.",
        weighted().name,
        made.promise(utility.relation).citation,
        p_value,
        f"{draws} draws",
        relation=str(utility.relation),
    )


def largest_of_laplace(counts: Integers, scale: float) -> Floats:
    """The chance of each to be the largest with discrete Laplace noise; ties go to the first."""
    q = exp(-1 / scale)
    reach = int(30 * scale)
    z = np.arange(counts.min() - reach, counts.max() + reach)
    mass = (1 - q) / (1 + q) * q ** np.abs(z[None, :] - counts[:, None])
    below = np.cumsum(mass, axis=1)  # Pr[noisy <= z]
    return np.array(
        [
            sum(
                mass[i]
                * np.prod(
                    [below[j] - (mass[j] if j < i else 0) for j in range(len(counts)) if j != i],
                    axis=0,
                )
            )
            for i in range(len(counts))
        ]
    )


class BrokenOneShare(WeightedCounts):
    """BROKEN: the noise is that of a basket with one share, whatever shares it has."""

    def size_of_noise(self, part: int, shares: int, utility: Utility) -> Fraction:
        """Without the shares."""
        return super().size_of_noise(part, 1, utility)


class BrokenAsAdded(WeightedCounts):
    """BROKEN: a person that is replaced counts like one that is added."""

    def size_of_noise(self, part: int, shares: int, utility: Utility) -> Fraction:
        """Of the other relation."""
        added = of_people(int(utility.one_sided), Relation.ADD_REMOVE)
        return super().size_of_noise(part, shares, added)


class BrokenOneBasket(WeightedCounts):
    """BROKEN: a person's second basket is forgotten."""

    def size_of_noise(self, part: int, shares: int, utility: Utility) -> Fraction:
        """Of one basket."""
        return super().size_of_noise(part, shares, of_people(1, utility.relation))


class BrokenThreshold(WeightedCounts):
    """BROKEN: an item leaves that seems to have more than one basket."""

    def threshold(self, utility: Utility) -> int:
        """Without what the noise may add."""
        return UNIT * int(utility.one_sided) + 1


class BrokenShort(WeightedCounts):
    """BROKEN: baskets have more items than the threshold is for."""

    def threshold(self, utility: Utility) -> int:
        """That of half as many items."""
        asked = self.epsilon, self.delta, self.k, self.private, self.accountant
        return WeightedCounts(*asked, max_items=self.longest // 2).threshold(utility)


class BrokenLong(WeightedOrCanonical):
    """BROKEN: a basket is taken to move the score of a length by 1."""

    def long_scale(self, utility: Utility) -> Fraction:
        """Without the factor of the score."""
        return 20 * super().long_scale(utility)


def weighted_twins(*, quick: bool = False) -> Iterator[AuditResult]:
    """Wrong sensitivities, shares and thresholds are caught."""
    added, replaced = (of_people(1, relation) for relation in Relation)
    two = of_people(2, Relation.ADD_REMOVE)
    for delta in (Fraction(0), _DELTA):
        honest = weighted(delta).counts()
        asked = honest.epsilon, honest.delta, honest.k
        for fault, made, utility in (
            ("the noise is that of one share", BrokenOneShare(*asked), added),
            ("replaced people count like added ones", BrokenAsAdded(*asked), replaced),
            ("a second basket is forgotten", BrokenOneBasket(*asked), two),
        ):
            audited = enumerate_counts(made, utility, quick=True)
            yield as_twin(fault, "Enumeration", audited)
    honest = weighted(_DELTA, private=True).counts()
    low = BrokenThreshold(honest.epsilon, honest.delta, honest.k, private=True)
    yield as_twin("the threshold is too low", "Enumeration", enumerate_threshold(low, added))
    short = BrokenShort(honest.epsilon, honest.delta, honest.k, private=True, max_items=8)
    audited = enumerate_threshold(short, added)
    yield as_twin("the threshold is for shorter baskets", "Enumeration", audited)
    scores = or_canonical()
    long = BrokenLong(scores.epsilon, scores.k, scores.needed)
    yield as_twin("lengths are told too well", "Enumeration", enumerate_long(long, added))
    dear = replace(or_selected(), counts=WeightedCounts(Fraction(2), 0, 2))
    total = guarantee_of(dear.promise(Relation.ADD_REMOVE).event).epsilon
    result = next(shares_add_up())
    yield as_twin(
        "one of two ways has all of epsilon",
        "Accounting",
        replace(result, measured=total, passed=total <= result.claimed * (1 + TOLERANCE)),
    )
