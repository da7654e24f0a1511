"""A rule for balanced accuracy: noisy sizes of the classes, then a choice that weighs by them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from winnow.core.checks import Real, exact
from winnow.core.key import Key
from winnow.core.relation import Relation
from winnow.learn.crossing.rows import SealedLabelled, rule_scores
from winnow.learn.crossing.sizes import ClassSizes, said_of
from winnow.learn.rules import RuleClass
from winnow.privacy import Compose, Promise
from winnow.select.crossing.selection import check_scale
from winnow.select.mechanisms.lipschitz import PermuteAndFlip


@dataclass(frozen=True)
class BalancedRule:
    """The noisy size of each class; then the rule with (nearly) the most correct rows, weighed.

    A correct row counts the less the larger the noisy size of its class, so that the sum is
    balanced accuracy, up to a constant and to the noise in the sizes.

    Formal guarantees
        Two events, composed adaptively. (1) The sizes, with discrete Laplace noise. A person with
        at most r rows who is added or removed moves them by at most r in the l1 norm; one who is
        replaced takes up to r rows out of classes and puts up to r into others: 2 r.
        [Canonne-Kamath-Steinke 2020]
        (2) Permute-and-flip over the rules by the weights of correct rows. Given the noisy sizes
        the weights are public, and a person moves the scores as under ``utility``: by at most r
        times the largest weight, all in one direction if added or removed.
        [McKenna-Sheldon 2020; Canonical, Thm A.5]
    """

    sizes: Real
    """The epsilon of the sizes."""
    epsilon: Real
    """Of the choice."""
    where_rare: bool = False
    """Whether every row counts the same unless a class is rare, by the noisy sizes."""

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"noisy sizes of the classes; permute-and-flip{said_of(True, self.where_rare)}"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        first = self.counted.charged(relation)
        second = self._selection.promise(relation)
        return Promise(
            Compose((first.event, second.event)),
            f"{first.citation}; choice: {second.citation}",
            f"{first.statement} {second.statement}",
        )

    @property
    def _selection(self) -> PermuteAndFlip:
        return PermuteAndFlip(self.epsilon)

    @property
    def counted(self) -> ClassSizes:
        """The sizes, as they are measured."""
        return ClassSizes(self.sizes, self.where_rare)

    def scale(self, labelled: SealedLabelled) -> Fraction:
        """Of the noise in each size: the l1 sensitivity over epsilon."""
        return self.counted.scale(labelled)

    def weights(self, noisy: list[int], labelled: SealedLabelled) -> tuple[int, ...]:
        """The weights that follow from noisy sizes; public."""
        return self.counted.weights(noisy, labelled)

    def check(self, labelled: SealedLabelled) -> None:
        """Refuse what cannot be released, before anything is charged."""
        half = 1000 * labelled.utility.half_width
        check_scale(exact("epsilon", self.epsilon) / (2 * half))
        self.counted.check(labelled)

    def drawn(self, labelled: SealedLabelled, rules: RuleClass, key: Key) -> int:
        """The number of the rule that was chosen."""
        tape = key.tape
        weights = self.counted.drawn(labelled, key, tape.child("sizes"))
        weighed = replace(labelled, class_weights=weights)
        scores: Any = key.open(rule_scores(weighed, rules).values)
        return int(self._selection.one_of_scores(scores, weighed.utility, tape.child("choice")))
