"""Labels of people who have one each: released with the largest chance that privacy allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import exact
from winnow.core.key import Key
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.privacy import ApproxDP, Promise
from winnow.read.counts import SealedCounts, label_text
from winnow.select.crossing.private_labels import EVERY, UnknownDomain

Integers = NDArray[np.int64]

_MOST_STEPS = 1_000_000
"""Of the rule: more people than that are needed only where epsilon and delta are tiny."""
_FINE = 64
"""Bits of a chance beyond those of delta: rounding down takes 2^-64 of delta from each."""


@lru_cache(maxsize=64)
def chances(epsilon: Fraction, delta: Fraction) -> tuple[tuple[int, ...], int]:
    """The chance that a label of 0, 1, ... people is released, times 2^bits, up to 1; and bits.

    Each is the largest that the one before allows, rounded down.
    """
    bits = _FINE + math.ceil(-math.log2(delta))
    one = 1 << bits
    least = math.floor(delta * one)
    growth = math.floor(math.exp(min(float(epsilon), 600.0)) * (1 - 2.0**-45) * 2**40)
    growth, unit = max(growth, 1 << 40), 1 << 40  # e^epsilon, rounded down
    chances_so_far = [0]
    while chances_so_far[-1] < one:
        if len(chances_so_far) > _MOST_STEPS:
            raise ParameterError(
                "epsilon and delta are so small that a label needs more than a million people; "
                "allow more"
            )
        last = chances_so_far[-1]
        grown = growth * last // unit + least
        missing = one - last - least
        shrunk = one if missing <= 0 else one - -(-missing * unit // growth)
        chances_so_far.append(min(grown, shrunk, one))
    return tuple(chances_so_far), bits


@dataclass(frozen=True)
class OptimalRule(UnknownDomain):
    """Release each label with the largest chance that its number of people allows.

    A label of n people is released with chance p(n), independently of the others, where p(0) = 0
    and p(n) = min(a p(n-1) + d, 1 - (1 - p(n-1) - d)/a, 1), a = e^epsilon and d = delta: no rule
    that looks at one label at a time releases any label more often. It is for people with one label
    each, and tells no counts; labels are listed by their text.
    [Desfontaines, Voss, Gipson, Mandayam 2022]

    Formal guarantees
        (epsilon, delta)-DP under add/remove: one person moves the count of one label by one, and p
        meets p(n) <= a p(n-1) + d and 1 - p(n-1) <= a (1 - p(n)) + d; p grows, so the other two
        inequalities hold, too. Rounding p(n) down, each from the one before as it was rounded,
        keeps them; a is e^epsilon or less. Under substitution two labels move, and each has half of
        epsilon and of delta.
    """

    max_items: int | None = 1
    title: ClassVar[str] = "optimal-rule"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_items != 1:
            raise ParameterError(
                "optimal-rule is for people with one label each; count with max_items=1, or use "
                "method='weighted-gaussian'"
            )
        if self.with_counts:
            raise ParameterError("optimal-rule releases no counts; use method='truncated-laplace'")
        if self.k != EVERY:
            raise ParameterError(
                "optimal-rule releases labels without an order, so it cannot choose k of them; "
                "use method='weighted-gaussian'"
            )

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.title}, 1 label per person"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return Promise(
            ApproxDP(exact("epsilon", self.epsilon), exact("delta", self.delta), relation),
            "optimal partition selection: Desfontaines-Voss-Gipson-Mandayam 2022; rounding is "
            "proved beside the mechanism",
            "labels of people with one label each, every one with the largest chance",
        )

    def rule(self, relation: Relation) -> tuple[tuple[int, ...], int]:
        """The chances by the number of people, times 2^bits; and bits."""
        people = relation.people
        return chances(exact("epsilon", self.epsilon) / people, exact("delta", self.delta) / people)

    def people_needed(self, relation: Relation) -> int:
        """So many people, of whom a label is released as often as not or more."""
        rule, bits = self.rule(relation)
        return next(people for people, chance in enumerate(rule) if 2 * chance >= 1 << bits)

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        if utility.one_sided != 1:
            raise ParameterError(
                "optimal-rule is for counts of people, which one person moves by 1"
            )
        self.rule(utility.relation)

    def _labels(self, counts: SealedCounts, key: Key) -> tuple[list[Any], list[int] | None]:
        """By their text: the order in which an engine tells them is that of their counts."""
        return sorted(super()._labels(counts, key)[0], key=label_text), None

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        rule, bits = self.rule(utility.relation)

        def trial(counts: Integers, trials: Tape) -> NDArray[np.bool_]:
            return _passes(np.minimum(counts, len(rule) - 1), rule, bits, trials)

        return Drawn(universe.passing(trial, tape))


def _passes(people: Integers, rule: tuple[int, ...], bits: int, tape: Tape) -> NDArray[np.bool_]:
    """One trial for each label: 32 bits of the tape decide it, or all where they are equal."""
    if len(people) == 0:
        return np.zeros(0, np.bool_)
    first = np.array([chance >> (bits - 32) for chance in rule], np.int64)[people]
    words = tape.words(0, len(people)).astype(np.int64)
    passing = words < first
    for place in np.flatnonzero(words == first).tolist():
        passing[place] = tape.bits(place, bits) < rule[int(people[place])]
    return passing
