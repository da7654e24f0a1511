"""Audits of boosted rules: all rounds together on all tiny neighbours, and broken twins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from winnow.audit.driver import enumerate_choices
from winnow.audit.result import AuditResult, as_twin
from winnow.core.relation import Relation
from winnow.learn.audit.balanced import CELLS, RULES, empty
from winnow.learn.boosted import GRID, step, still_wanted
from winnow.learn.crossing.boosted import BoostedRules
from winnow.learn.crossing.rows import SealedLabelled
from winnow.select.audit.model import log_permute_and_flip

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def made(selection: str = "permute-and-flip") -> BoostedRules:
    """A tiny one; its rounds are alike, and three of them can overrule the first."""
    return BoostedRules(3, Fraction(1, 2), selection)


@dataclass(frozen=True)
class BoostedModel:
    """The exact law of the rules of all rounds, written out over cells of rows."""

    rules: BoostedRules
    held: SealedLabelled
    most: int = GRID
    """What the choice believes that a row weighs at most."""
    weights: tuple[int, int] = (GRID, GRID)
    """What a correct row of each class counts."""
    lean: tuple[int, ...] = (0,) * len(CELLS)
    """What is said of every cell for the second class before the first round."""
    heaviest: int = 1
    """By how much rows that the vote has wrong are multiplied: 1."""

    @classmethod
    def of(cls, rules: BoostedRules, relation: Relation, rows: int) -> BoostedModel:
        """The model of a mechanism."""
        return cls(rules, empty(relation, rows))

    def log_probabilities(self, table: Integers) -> Floats:
        """Of every sequence of rules."""
        cells = np.array(CELLS)
        right = RULES[:, cells[:, 0]] == cells[:, 1]  # rules by cells
        utility = replace(self.held, class_weights=(self.most,) * 2).utility
        scale = float(self.rules._selection.scale(utility))
        lean = np.array(self.lean, np.int64)
        sequences = [(np.where(cells[:, 1] == 1, lean, -lean), 0.0)]
        for number in range(self.rules.rounds):
            following = []
            for margins, log_chance in sequences:
                weights = still_wanted(margins, np.array(self.weights)[cells[:, 1]])
                weights = np.where(margins < 0, self.heaviest * weights, weights)
                scores = scale * (right * (weights * table)).sum(axis=1)
                law = self._log_law(scores)
                following += [
                    (margins + np.where(right[i], step(number), -step(number)), log_chance + law[i])
                    for i in range(len(RULES))
                ]
            sequences = following
        return np.array([log_chance for _, log_chance in sequences])

    def _log_law(self, scaled: Floats) -> Floats:
        if self.rules.selection == "exponential":
            return np.asarray(scaled - np.logaddexp.reduce(scaled))
        return np.asarray(log_permute_and_flip(scaled[None])[0])


def boosted_enumerated(*, quick: bool = False) -> Iterator[AuditResult]:
    """No neighbours are told apart by all rounds together more than was charged.

    The noisy sizes of balanced classes are enumerated with balanced rules.
    """
    for selection, relation, rows in product(
        ("permute-and-flip", "exponential"), Relation, (1,) if quick else (1, 2)
    ):
        yield enumerate_votes(BoostedModel.of(made(selection), relation, rows))


def enumerate_votes(model: BoostedModel) -> AuditResult:
    """One result, in epsilon, over all tables of up to three rows."""
    return enumerate_choices(
        "Boosted rules: the votes of neighbours are as close as was charged.",
        model.rules,
        model.log_probabilities,
        len(CELLS),
        model.held.relation,
        model.held.rows_per_person,
    )


def boosted_twins(*, quick: bool = False) -> Iterator[AuditResult]:
    """Wrong sensitivities are caught."""
    honest = BoostedModel.of(made(), Relation.SUBSTITUTION, 1)
    several = BoostedModel.of(made(), Relation.ADD_REMOVE, 2)
    twins = [
        ("a choice takes a row for half of its weight", replace(honest, most=GRID // 2)),
        ("rows that the vote has wrong weigh more than was charged", replace(honest, heaviest=4)),
        ("a second row is forgotten", replace(several, most=GRID // 2)),
    ]
    for fault, model in twins[: 2 if quick else 3]:
        yield as_twin(fault, "Enumeration", enumerate_votes(model))
