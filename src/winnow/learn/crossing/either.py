"""A vote of rules, an additive model or both: all are learned, and one of them is chosen."""

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
from winnow.learn.boosted import lengths, votes_of
from winnow.learn.crossing.additive import AdditiveModel
from winnow.learn.crossing.boosted import BoostedRules
from winnow.learn.crossing.rows import LabelledRows, SealedLabelled, weighted
from winnow.learn.rules import RuleClass
from winnow.privacy import Compose, Promise
from winnow.select.crossing.selection import check_scale
from winnow.select.mechanisms.lipschitz import PermuteAndFlip


@dataclass(frozen=True, eq=False)
class ChosenModels:
    """What was chosen: an additive model, a vote of rules, or rules on top of an additive model."""

    family: AdditiveFamily | None
    number: int
    """Of the additive model in its family."""
    rules: tuple[int, ...]
    """The numbers of the rules that vote."""


@dataclass(frozen=True)
class EitherModel:
    """An additive model, rules that mend it, and then the part with (nearly) most correct rows.

    Rules see how two columns act together, and additive models use every value of every column. So
    the first round of the vote weighs rows by what the additive model says of them, as if that had
    been the vote before. Compared are the additive model alone, votes of the first rules alone,
    and these on top of the additive model. Weights that balance the classes follow from
    the noisy sizes that the additive model measures; the rounds and the last choice take them over.

    Formal guarantees
        Three events, composed adaptively: those of ``AdditiveModel`` and of ``BoostedRules``, each
        with its part of epsilon (and of delta), and permute-and-flip among what was compared. Given
        the noisy tables and the rules, all models and the weights of classes are public functions
        of single rows: so the weight of a row in every round is one of this row alone, at most that
        of its class, and the sensitivity of rounds is that of ``BoostedRules``. A person with at
        most r rows moves each of the last scores, weighted
        numbers of correct rows, by 0 to r w, w the largest weight, all in one direction if added or
        removed: the sensitivity of ``utility``. All is charged before the first draw.
        [McKenna-Sheldon 2020; Canonical, Thm A.5; Dwork et al. 2006 for the sum]
    """

    model: AdditiveModel
    rules: BoostedRules
    """Without noisy sizes of its own."""
    epsilon: Real
    """Of the last choice."""

    def __post_init__(self) -> None:
        if self.rules.sizes is not None:
            raise ParameterError("the rules take the sizes that the additive model measures")

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        parts = f"{self.model.name}; on top of it {self.rules.name}"
        return f"{parts}; permute-and-flip among {self.compared}"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        parts = [each.promise(relation) for each in (self.model, self.rules, self._selection)]
        return Promise(
            Compose(tuple(part.event for part in parts)),
            "; ".join(dict.fromkeys(part.citation for part in parts)),
            " ".join(dict.fromkeys(part.statement for part in parts)),
        )

    @property
    def compared(self) -> int:
        """How many models the last choice is among."""
        return 1 + 2 * len(lengths(self.rules.rounds))

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
    ) -> ChosenModels:
        """The one that was chosen."""
        family, number = self.model.drawn(labelled, shape, key.child("model"))
        weights = self.model.weights(family, labelled)
        weighed = replace(labelled, class_weights=weights)
        rows = key.open(labelled.rows)
        lean = family.lean(number, rows.codes)
        numbers = self.rules.drawn(weighed, rules, key.child("rules"), lean)
        candidates = [ChosenModels(family, number, ())]
        said = [list(family.predictions(rows.codes))[number]]
        votes = list(votes_of([rules.rule(each) for each in numbers], rows.codes, len(lean)))
        for length in lengths(len(numbers)):
            own, majority = numbers[:length], votes[length - 1]
            candidates += [ChosenModels(family, number, own), ChosenModels(None, number, own)]
            said += [(lean + majority > 0).astype(np.intp), (majority > 0).astype(np.intp)]
        return candidates[self.choice(rows, weighed, said, key)]

    def choice(
        self,
        rows: LabelledRows,
        weighed: SealedLabelled,
        said: Sequence[NDArray[np.intp]],
        key: Key,
    ) -> int:
        """Which of several classes of every row is chosen."""
        of_rows = weighted(rows, weighed.class_weights)
        scores = np.array([sum_of(of_rows[each == rows.labels]) for each in said], np.int64)
        return int(self._selection.one_of_scores(scores, weighed.utility, key.tape.child("choice")))
