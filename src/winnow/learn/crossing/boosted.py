"""Boosted rules: rounds of private choices, each by the rows that the vote does not have yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, count, exact
from winnow.core.key import Key
from winnow.core.relation import Relation
from winnow.core.unit import counted
from winnow.errors import ParameterError
from winnow.learn.boosted import GRID, step, still_wanted
from winnow.learn.crossing.rows import LabelledRows, SealedLabelled, of_class, times
from winnow.learn.crossing.sizes import ClassSizes, said_of
from winnow.learn.kernels.rule_counts import correct_by_rule
from winnow.learn.rules import RuleClass
from winnow.privacy import Compose, Event, Promise, Repeat
from winnow.select.crossing.selection import check_scale
from winnow.select.mechanisms.lipschitz import (
    ExponentialMechanism,
    LipschitzMechanism,
    PermuteAndFlip,
)

SELECTIONS: dict[str, Callable[[Real], LipschitzMechanism]] = {
    "permute-and-flip": PermuteAndFlip,
    "exponential": ExponentialMechanism,
}
"""What may choose the rule of a round."""


@dataclass(frozen=True)
class BoostedRules:
    """In every round the rule with (nearly) the most weight of correct rows; the rules then vote.

    A row weighs all as long as the vote is against its class or undecided, and the less the
    larger its majority is: twice the logistic chance that the vote is wrong, at most 1
    (SmoothBoost's bound on weights, Servedio 2003), in thousandths.

    Formal guarantees
        (1) With balanced classes first their noisy sizes: see `ClassSizes`.
        (2) In every round one selection. Given the sizes and the rules of earlier rounds, all of
        them released, the weight of a row is a public function of this row alone, a whole number
        from 0 to the largest weight w of a class. So a person with at most r rows moves the score
        of every rule by 0 to r w, all in one direction if added or removed: the same sensitivity
        in every round, whatever was chosen before. Rounds compose adaptively; their number and
        their epsilon are fixed beforehand, and all is charged before the first draw.
        [McKenna-Sheldon 2020 or McSherry-Talwar 2007 for a round; Dwork et al. 2006 for the sum,
        or Dong-Durfee-Rogers 2020 for the bounded range of the exponential mechanism]
    """

    rounds: int
    epsilon: Real
    """Of one round."""
    selection: str = "permute-and-flip"
    sizes: Real | None = None
    """The epsilon of the noisy sizes of the classes, if every class counts the same."""
    delta: Real = 0
    """At which the guarantee is stated."""
    where_rare: bool = False
    """Whether every row counts the same unless a class is rare, by the noisy sizes."""

    def __post_init__(self) -> None:
        count(rounds=self.rounds)
        if self.selection not in SELECTIONS:
            raise ParameterError(f"selection={self.selection!r}; give one of {list(SELECTIONS)}")

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        first = "" if self.sizes is None else "noisy sizes of the classes; "
        weighed = said_of(self.sizes is not None, self.where_rare)
        return f"{first}boosting, {counted(self.rounds, 'round')} of {self.selection}{weighed}"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        each = self._selection.promise(relation)
        event: Event = Repeat(each.event, self.rounds)
        said = f"{each.statement} This {self.rounds} times, composed."
        if self.sizes is None:
            return Promise(event, each.citation, said)
        first = ClassSizes(self.sizes, self.where_rare).charged(relation)
        return Promise(
            Compose((first.event, event)),
            f"{first.citation}; rounds: {each.citation}",
            f"{first.statement} {said}",
        )

    @property
    def _selection(self) -> LipschitzMechanism:
        return SELECTIONS[self.selection](self.epsilon)

    def check(self, labelled: SealedLabelled) -> None:
        """Refuse what cannot be released, before anything is charged."""
        if len(labelled.classes) != 2:
            raise ParameterError("boosted rules tell two classes apart; learn 'additive'")
        half = GRID * labelled.rows_per_person * labelled.relation.people
        check_scale(exact("epsilon", self.epsilon) / half)
        if self.sizes is not None:
            ClassSizes(self.sizes).check(labelled)

    def drawn(
        self,
        labelled: SealedLabelled,
        rules: RuleClass,
        key: Key,
        lean: NDArray[np.int64] | None = None,
    ) -> tuple[int, ...]:
        """The numbers of the rules that vote, in order.

        ``lean`` is what is said of every row before the first vote, by what was released earlier.
        """
        tape = key.tape
        weights = labelled.class_weights or (GRID,) * 2
        if self.sizes is not None:
            sizes = ClassSizes(self.sizes, self.where_rare)
            weights = sizes.drawn(labelled, key, tape.child("sizes"))
        utility = replace(labelled, class_weights=weights).utility
        rows = key.open(labelled.rows)
        margins = np.zeros(len(rows.labels), np.int64)
        if lean is not None:
            margins = np.where(rows.positive, lean, -lean)
        chosen: list[int] = []
        for number in range(self.rounds):
            scores = weighed_scores(rows, rules, weights, margins)
            own = tape.child(f"round-{number}")
            chosen.append(self._selection.one_of_scores(scores, utility, own))
            right = rules.rule(chosen[-1]).positive(rows.codes, len(margins)) == rows.positive
            margins += np.where(right, step(number), -step(number))
        return tuple(chosen)


def weighed_scores(
    rows: LabelledRows,
    rules: RuleClass,
    class_weights: tuple[int, ...],
    margins: NDArray[np.int64],
) -> NDArray[np.int64]:
    """What every rule gets right, when rows weigh by their class and by their margin."""
    each = still_wanted(margins, of_class(rows, class_weights))
    return correct_by_rule(rules, rows.codes, rows.positive, times(rows, each))
