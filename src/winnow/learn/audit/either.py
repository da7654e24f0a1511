"""Audits of rules on top of an additive model: they and the last choice on all tiny neighbours.

The noisy tables are enumerated with additive models. Here the additive model is given, as the last
choice takes it, and what is enumerated are the rules of all rounds on top of it together with which
part of all that is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from winnow.audit.driver import enumerate_choices
from winnow.audit.fidelity import chi_square_p_value, fidelity_result
from winnow.audit.result import AuditResult, as_twin
from winnow.core.relation import Relation
from winnow.core.run import single_run
from winnow.core.tape import Tape
from winnow.learn.audit.balanced import CELLS, RULES, empty
from winnow.learn.audit.boosted import BoostedModel
from winnow.learn.boosted import step
from winnow.learn.crossing.additive import AdditiveModel
from winnow.learn.crossing.boosted import BoostedRules
from winnow.learn.crossing.either import EitherModel
from winnow.learn.crossing.rows import LabelledRows, SealedLabelled
from winnow.privacy import Compose, Promise
from winnow.select.audit.model import log_permute_and_flip
from winnow.select.mechanisms.lipschitz import PermuteAndFlip

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ADDED = np.array([-900, 700])
"""What the given additive model says of the two values of the column, for the second class."""
WEIGHTS = (1000, 400)
"""What a correct row of each class counts, as noisy sizes may say."""
_DRAWN = 2_000


def made() -> EitherModel:
    """A tiny one."""
    model = AdditiveModel("laplace", 2, Fraction(1, 4), 1, balanced=True)
    return EitherModel(model, BoostedRules(2, Fraction(1, 2)), Fraction(3, 4))


@dataclass(frozen=True)
class EitherLaw:
    """The exact law of the rules, and of the choice among them and a given model."""

    either: EitherModel
    held: SealedLabelled
    most: int = max(WEIGHTS)
    """What the last choice believes that a row weighs at most."""
    drawn: int = 1
    """How often the choice is drawn: with the same outcome each time."""

    @classmethod
    def of(cls, either: EitherModel, relation: Relation, rows: int) -> EitherLaw:
        """The law of a mechanism."""
        return cls(either, empty(relation, rows))

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return self.either.name

    def promise(self, relation: Relation) -> Promise:
        """What the rules and the choice are charged."""
        rules, choice = self.either.rules, PermuteAndFlip(self.either.epsilon)
        first, last = rules.promise(relation), choice.promise(relation)
        whole = self.either.promise(relation)
        return Promise(Compose((first.event, last.event)), whole.citation, whole.statement)

    def log_probabilities(self, table: Integers) -> Floats:
        """Of every sequence of rules with every choice."""
        cells = np.array(CELLS)
        lean = ADDED[cells[:, 0]]
        log_rules = BoostedModel(
            self.either.rules, self.held, weights=WEIGHTS, lean=tuple(lean.tolist())
        )
        outcomes = []
        sequences = product(RULES, repeat=self.either.rules.rounds)
        for log_chance, rules in zip(log_rules.log_probabilities(table), sequences, strict=True):
            votes, said = np.zeros(len(CELLS), np.int64), [lean > 0]
            for place, rule in enumerate(rules):
                votes = votes + np.where(rule[cells[:, 0]] == 1, step(place), -step(place))
                said += [lean + votes > 0, votes > 0]
            outcomes.append(log_chance + self.drawn * self._log_choice(np.stack(said), table))
        return np.concatenate(outcomes)

    def _log_choice(self, said: Integers, table: Integers) -> Floats:
        """Of every model, by what they say of the cells."""
        labels = np.array(CELLS)[:, 1]
        scores = ((said == labels) * np.array(WEIGHTS)[labels] * table).sum(axis=1)
        utility = replace(self.held, class_weights=(self.most,) * 2).utility
        scale = float(PermuteAndFlip(self.either.epsilon).scale(utility))
        return np.asarray(log_permute_and_flip((scale * scores)[None])[0])


def either_enumerated(*, quick: bool = False) -> Iterator[AuditResult]:
    """No neighbours are told apart by the rules and the choice more than was charged."""
    for relation, rows in product(Relation, (1,) if quick else (1, 2)):
        yield enumerate_either(EitherLaw.of(made(), relation, rows))


def enumerate_either(law: EitherLaw) -> AuditResult:
    """One result, in epsilon, over all tables of up to three rows."""
    return enumerate_choices(
        "A vote, an additive model or both: those of neighbours are as close as was charged.",
        law,
        law.log_probabilities,
        len(CELLS),
        law.held.relation,
        law.held.rows_per_person,
    )


def either_faithful(*, seed: int) -> Iterator[AuditResult]:
    """The choice among models has its stated law."""
    yield fidelity_of_choice(made(), seed)


def fidelity_of_choice(
    either: EitherModel, seed: int, stated: Fraction | None = None
) -> AuditResult:
    """Many choices against the law for the stated epsilon."""
    table, relation, root = np.array([2, 1, 1, 1]), Relation.ADD_REMOVE, Tape.seeded(seed)
    cells = np.repeat(np.array(CELLS), table, axis=0).astype(np.int32)
    rows = LabelledRows((cells[:, 0],), cells[:, 1], np.ones(len(cells), np.int64))
    labelled = replace(empty(relation, 1), class_weights=WEIGHTS)
    ends = np.array([[0, 1], [1, 1], [0, 0]])  # what each of three models says of the two values
    said = list(ends[:, cells[:, 0]])
    observed = np.zeros(4, np.int64)
    for draw in range(_DRAWN):
        key, _ = single_run(either, relation, root.child(f"draw-{draw}"))
        observed[either.choice(rows, labelled, said, key)] += 1
    law = EitherLaw.of(replace(either, epsilon=stated or either.epsilon), relation, 1)
    chances = np.exp(law._log_choice(ends[:, np.array(CELLS)[:, 0]], table))
    p_value = chi_square_p_value(observed, chances)
    return fidelity_result(
        "A vote, an additive model or both: each is chosen with its exact probability.",
        either.name,
        either.promise(relation).citation,
        p_value,
        f"{_DRAWN} choices",
    )


def either_twins(*, quick: bool = False) -> Iterator[AuditResult]:
    """Wrong sensitivities, and a choice that is not paid for, are caught."""
    honest = EitherLaw.of(made(), Relation.SUBSTITUTION, 1)
    several = EitherLaw.of(made(), Relation.ADD_REMOVE, 2)
    twins = [
        ("the choice forgets the weights of rows", replace(honest, most=1)),
        ("the choice is drawn three times and paid for once", replace(several, drawn=3)),
    ]
    for fault, law in twins:
        yield as_twin(fault, "Enumeration", enumerate_either(law))
    result = fidelity_of_choice(made(), 1, Fraction(3))
    yield as_twin("the choice has a quarter of its epsilon", "Fidelity", result)
