"""Audits of balanced rules: sizes and choice together on all tiny neighbours, and broken twins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from winnow.audit.driver import enumerate_choices
from winnow.audit.result import AuditResult, as_twin
from winnow.core.relation import Relation
from winnow.learn.crossing.balanced import BalancedRule
from winnow.learn.crossing.rows import SealedLabelled, no_rows
from winnow.select.audit.model import log_permute_and_flip
from winnow.select.mechanisms.lipschitz import PermuteAndFlip

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

RULES = np.array([[1, 1], [0, 0], [0, 1], [1, 0]])
"""What each rule says of the two values of one column: the constants, and both stumps."""
CELLS = list(product(range(2), range(2)))
"""A value and a class."""


def made(where_rare: bool = False) -> BalancedRule:
    """A tiny one."""
    return BalancedRule(Fraction(1, 2), 1, where_rare)


def empty(relation: Relation, rows: int) -> SealedLabelled:
    """No rows: what the scale of the noise depends on is public."""
    return no_rows(("no", "yes"), relation, rows)


@dataclass(frozen=True)
class BalancedModel:
    """The exact law of noisy sizes and of the rule, written out."""

    rule: BalancedRule
    held: SealedLabelled
    noise: Fraction
    """The scale of the noise in the sizes."""
    counted: bool = True
    """Whether the choice knows that a row weighs up to a thousand."""
    by_noise: bool = True
    """Whether the weights follow from the noisy sizes; a twin takes the true ones."""
    window: tuple[int, int] = (-6, 13)
    """Noisy sizes: further out noise tells no more, and weights are nearly those at the edge."""

    @classmethod
    def of(cls, rule: BalancedRule, relation: Relation, rows: int) -> BalancedModel:
        """The model of a mechanism, with the scales that it states."""
        labelled = empty(relation, rows)
        return cls(rule, labelled, rule.scale(labelled))

    def log_probabilities(self, table: Integers) -> Floats:
        """Of each pair of noisy sizes in the window, up to a constant, and each rule."""
        cells = np.array(CELLS)
        true = np.array([table[cells[:, 1] == own].sum() for own in (0, 1)])
        far = np.abs(self._sizes - true).sum(axis=1) / float(self.noise)
        weights, scales = self._weights
        right = (RULES[:, cells[:, 0]] == cells[:, 1]) * table  # rules by cells
        by_class = np.stack([right[:, cells[:, 1] == own].sum(axis=1) for own in (0, 1)])
        if not self.by_noise:
            class_weights = np.array(self.rule.weights(true.tolist(), self.held), np.float64)
            weights = np.broadcast_to(class_weights, weights.shape)
        chosen = log_permute_and_flip(scales[:, None] * (weights @ by_class))
        return np.asarray(chosen - far[:, None])

    @cached_property
    def _sizes(self) -> Integers:
        return np.array(list(product(range(*self.window), repeat=2)), np.int64)

    @cached_property
    def _weights(self) -> tuple[Floats, Floats]:
        """The weights of the classes at each pair of sizes, and the scale of the choice."""
        weights, scales = [], []
        for sizes in self._sizes.tolist():
            weights.append(self.rule.weights(sizes, self.held))
            weighed = replace(self.held, class_weights=weights[-1] if self.counted else None)
            scales.append(float(PermuteAndFlip(self.rule.epsilon).scale(weighed.utility)))
        return np.array(weights, np.float64), np.array(scales)


def balanced_enumerated(*, quick: bool = False) -> Iterator[AuditResult]:
    """No neighbours are told apart by the sizes and the rule together more than was charged."""
    for relation, rows, where_rare in product(Relation, (1, 2), (False, True)):
        yield enumerate_rules(BalancedModel.of(made(where_rare), relation, rows))


def enumerate_rules(model: BalancedModel) -> AuditResult:
    """One result, in epsilon, over all tables of up to three rows."""
    return enumerate_choices(
        "Balanced rules: sizes and rules of neighbours are as close as was charged.",
        model.rule,
        model.log_probabilities,
        len(CELLS),
        model.held.relation,
        model.held.rows_per_person,
    )


def balanced_twins(*, quick: bool = False) -> Iterator[AuditResult]:
    """Wrong sensitivities are caught."""
    honest = BalancedModel.of(made(), Relation.SUBSTITUTION, 1)
    added = made().scale(empty(Relation.ADD_REMOVE, 1))
    several = BalancedModel.of(made(), Relation.ADD_REMOVE, 2)
    rare = BalancedModel.of(BalancedRule(4, 1, True), Relation.ADD_REMOVE, 1)
    twins = [
        ("a replaced person moves the sizes like an added one", replace(honest, noise=added)),
        ("the choice forgets the weights of rows", replace(honest, counted=False)),
        ("a second row is forgotten in the sizes", replace(several, noise=several.noise / 2)),
        ("a class is rare by its true size", replace(rare, by_noise=False)),
    ]
    for fault, model in twins[: 2 if quick else 4]:
        yield as_twin(fault, "Enumeration", enumerate_rules(model))
