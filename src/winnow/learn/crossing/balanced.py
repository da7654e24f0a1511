"""A rule for balanced accuracy: noisy sizes of the classes, then a choice that weighs by them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from winnow.core.checks import Real, exact
from winnow.core.mechanism import spend
from winnow.core.noise import discrete_laplace_array
from winnow.core.noisy_top.draw import SMALLEST_SCALE
from winnow.core.opening import open_sealed
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.core.tape import Tape
from winnow.core.workloads.part import sum_of
from winnow.errors import ParameterError
from winnow.learn.additive import balanced
from winnow.learn.crossing.rows import SealedLabelled, rule_scores
from winnow.learn.rules import RuleClass
from winnow.privacy import Compose, Grant, Promise, guarantee_of, promise
from winnow.select.crossing import check_scale
from winnow.select.mechanism import PermuteAndFlip


@dataclass(frozen=True)
class BalancedRule:
    """The noisy size of each class; then the rule with (nearly) the most correct rows, weighed.

    A correct row counts the less the larger the noisy size of its class, so that the sum is
    balanced accuracy, up to a constant and to the noise in the sizes. Sizes below the scale of that
    noise count as large as it, so that a class that is hardly there does not weigh all.

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

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return "noisy sizes of the classes; permute-and-flip, classes balanced"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        multiplier = 1 / exact("sizes", self.sizes)
        first = promise("discrete-laplace", "additive", relation, noise_multiplier=multiplier)
        second = self._selection.promise(relation)
        return Promise(
            Compose((first.event, second.event)),
            f"{first.citation}; choice: {second.citation}",
            f"{first.statement} {second.statement}",
        )

    @property
    def _selection(self) -> PermuteAndFlip:
        return PermuteAndFlip(self.epsilon)

    def scale(self, labelled: SealedLabelled) -> Fraction:
        """Of the noise in each size: the l1 sensitivity over epsilon."""
        moved = labelled.relation.people * labelled.rows_per_person
        return moved / exact("sizes", self.sizes)

    def weights(self, noisy: list[int], labelled: SealedLabelled) -> tuple[int, ...]:
        """The weights that follow from noisy sizes; public."""
        least = max(1, math.ceil(self.scale(labelled)))
        return balanced([max(least, size) for size in noisy])

    def check(self, labelled: SealedLabelled) -> None:
        """Refuse what cannot be released, before anything is charged."""
        half = 1000 * labelled.utility.half_width
        check_scale(exact("epsilon", self.epsilon) / (2 * half))
        if not SMALLEST_SCALE < self.scale(labelled) < 2**40:
            raise ParameterError("epsilon is too small or too large for noisy sizes of 64 bits")

    def release(
        self, labelled: SealedLabelled, rules: RuleClass, grant: Grant, tape: Tape
    ) -> Released[int]:
        """Spend the grant; the number of the rule that was chosen."""
        self.check(labelled)
        promised = self.promise(labelled.relation)
        receipt = spend(self.name, promised, grant, tape)
        chosen = self.drawn(labelled, rules, tape)
        return Released(chosen, guarantee_of(promised.event), receipt)

    def drawn(self, labelled: SealedLabelled, rules: RuleClass, tape: Tape) -> int:
        """The draw itself, for audits."""
        noisy = self._sizes(labelled, tape.child("sizes"))
        weighed = replace(labelled, class_weights=self.weights(noisy, labelled))
        scores: Any = open_sealed(rule_scores(weighed, rules).values)
        return int(self._selection._draw(scores, weighed.utility, tape.child("choice"))[0])

    def _sizes(self, labelled: SealedLabelled, tape: Tape) -> list[int]:
        rows = open_sealed(labelled.rows)
        noise = discrete_laplace_array(tape, len(labelled.classes), self.scale(labelled))
        true = [sum_of(rows.weights[rows.labels == c]) for c in range(len(labelled.classes))]
        return [size + int(each) for size, each in zip(true, noise, strict=True)]
