"""A vote of rules or an additive model: both are learned, and one of them is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, exact
from winnow.core.key import Key
from winnow.core.relation import Relation
from winnow.core.workloads.part import sum_of
from winnow.errors import ParameterError
from winnow.learn.additive import AdditiveFamily
from winnow.learn.boosted import vote_of
from winnow.learn.crossing.additive import AdditiveModel
from winnow.learn.crossing.boosted import BoostedRules
from winnow.learn.crossing.rows import LabelledRows, SealedLabelled, weighted
from winnow.learn.rules import RuleClass
from winnow.privacy import Compose, Promise
from winnow.select.crossing.selection import check_scale
from winnow.select.mechanisms.lipschitz import PermuteAndFlip

Drawn = tuple[AdditiveFamily, int] | tuple[int, ...]
"""An additive model, by its family and its number; or the numbers of the rules that vote."""


@dataclass(frozen=True)
class EitherModel:
    """An additive model and a vote of rules, and then the one with (nearly) more correct rows.

    Which of the two is better depends on the data: rules see how two columns act together, and
    additive models use every value of every column. Weights that balance the classes follow from
    the noisy sizes that the additive model measures; the rounds and the last choice take them over.

    Formal guarantees
        Three events, composed adaptively: those of ``AdditiveModel`` and of ``BoostedRules``, each
        with its part of epsilon (and of delta), and permute-and-flip between the two models. Given
        the noisy tables and the rules, both models and the weights of classes are public functions
        of single rows. So a person with at most r rows moves each of the two scores, the weighted
        numbers of correct rows, by 0 to r w, w the largest weight, all in one direction if added or
        removed: the sensitivity of ``utility``. All is charged before the first draw.
        [McKenna-Sheldon 2020; Canonical, Thm A.5; Dwork et al. 2006 for the sum]
    """

    model: AdditiveModel
    rules: BoostedRules
    """Without noisy sizes of its own."""
    epsilon: Real
    """Of the choice between the two."""

    def __post_init__(self) -> None:
        if self.rules.sizes is not None:
            raise ParameterError("the rules take the sizes that the additive model measures")

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.model.name}; {self.rules.name}; permute-and-flip between the two"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        parts = [each.promise(relation) for each in (self.model, self.rules, self._selection)]
        return Promise(
            Compose(tuple(part.event for part in parts)),
            "; ".join(dict.fromkeys(part.citation for part in parts)),
            " ".join(dict.fromkeys(part.statement for part in parts)),
        )

    @property
    def _selection(self) -> PermuteAndFlip:
        return PermuteAndFlip(self.epsilon)

    def check(self, labelled: SealedLabelled) -> None:
        """Refuse what cannot be released, before anything is charged."""
        self.model.check(labelled)
        self.rules.check(labelled)
        most = 1000 if self.model.balanced else 1
        half = most * labelled.utility.half_width
        check_scale(exact("epsilon", self.epsilon) / (2 * half))

    def drawn(
        self, labelled: SealedLabelled, shape: Sequence[int], rules: RuleClass, key: Key
    ) -> Drawn:
        """The one that was chosen."""
        family, number = self.model.drawn(labelled, shape, key.child("model"))
        weights = self.model.weights(family, labelled)
        weighed = replace(labelled, class_weights=weights)
        chosen = self.rules.drawn(weighed, rules, key.child("rules"))
        rows = key.open(labelled.rows)
        said = list(family.predictions(rows.codes))[number], vote_of(rules, chosen, rows.codes)
        first = self.first(rows, weighed, said, key)
        return (family, number) if first else chosen

    def first(
        self,
        rows: LabelledRows,
        weighed: SealedLabelled,
        said: tuple[NDArray[np.intp], NDArray[np.intp]],
        key: Key,
    ) -> bool:
        """Whether the first of two classes of every row is chosen."""
        of_rows = weighted(rows, weighed.class_weights)
        scores = np.array([sum_of(of_rows[each == rows.labels]) for each in said], np.int64)
        return self._selection._draw(scores, weighed.utility, key.tape.child("choice"))[0] == 0
