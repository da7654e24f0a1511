"""Whole numbers that are linear in the rows, with integer noise, charged as one event."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import one_of, set_counts
from winnow.core.key import Key
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.privacy import Promise, promise
from winnow.privacy.rounding import rounded_up
from winnow.read.crossing import SealedTable, check_planned
from winnow.release.matrices.crossing import noisy_numbers
from winnow.release.matrices.strategies import LinearStrategy, QueriesStrategy
from winnow.release.tables.crossing import MOST_ROWS, check_rows

LAWS = ("gaussian", "laplace")
_LARGEST_NUMBER = 1 << 62
_LARGEST_VARIANCE = 1 << 100
_LARGEST_SCALE = 1 << 50


@dataclass(frozen=True)
class MeasureLinear:
    """A strategy's whole numbers, each with independent integer noise, released at once.

    ``noise`` is the variance of a discrete Gaussian, or the scale of a discrete Laplace law, the
    same for every number.

    Formal guarantees
        Gaussian: one DiscreteGaussian event with the squared ratio D/noise. D is the largest
        squared distance that one person moves the numbers by.

        Proof. A row moves the numbers by a column of the strategy's matrix. A person with up to L
        rows moves them by a sum of at most L columns, or, replaced, by a sum of L differences
        of two vectors out of the columns and 0 (a row may be missing on either side, if L > 1).
        So D is at most L^2 times the largest squared norm (``single``) under add/remove, the
        largest squared distance of two columns (``pair``) under substitution with one row, and
        the larger of both with several. [Canonne-Kamath-Steinke 2020; matrix mechanism:
        Li-Miklau-Hay-McGregor-Rastogi 2015; Toeplitz: Fichtenberger-Henzinger-Upadhyay 2023]

        Laplace (for queries as they are): each of m numbers moves by at most L x reach, so the
        release is pure with epsilon m L reach/noise. [Dwork-McSherry-Nissim-Smith 2006]
    """

    strategy: LinearStrategy
    noise: int
    law: str = "gaussian"
    rows_per_person: int = 1
    title: ClassVar[str] = "measure-linear"

    def __post_init__(self) -> None:
        one_of(LAWS, law=self.law)
        set_counts(self, rows_per_person="rows_per_person")
        if self.law == "laplace" and not isinstance(self.strategy, QueriesStrategy):
            raise ParameterError(
                "Laplace noise is for queries as they are: a row that is replaced moves other "
                "numbers by up to twice their reach"
            )
        if self.noise < 1:
            raise ParameterError("noise is below 1; the numbers need a whole amount of it")
        largest = _LARGEST_VARIANCE if self.law == "gaussian" else _LARGEST_SCALE
        if self.strategy.reach * MOST_ROWS >= _LARGEST_NUMBER or self.noise >= largest:
            raise ParameterError(
                "the numbers do not fit 64 bits; ask for a larger epsilon or a coarser grid"
            )

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        law = f"discrete {self.law.capitalize()} noise"
        return f"{self.title}, {self.strategy.title}: {self.strategy.size} numbers with {law}"

    def size(self, relation: Relation) -> Fraction:
        """The squared ratio of Gaussian noise, or the epsilon of Laplace noise."""
        strategy, people = self.strategy, self.rows_per_person
        if self.law == "laplace":
            return Fraction(strategy.size * people * strategy.reach, self.noise)
        return Fraction(people**2 * moved(strategy, relation, people), self.noise)

    def promise(self, relation: Relation) -> Promise:
        """What the release of all numbers is charged, and why."""
        size = self.size(relation)
        if self.law == "laplace":
            return promise(
                "discrete-laplace",
                "additive",
                relation,
                noise_multiplier=1 / size,
                moved=self.strategy.size,
            )
        made = promise(
            "discrete-gaussian",
            "additive-joint",
            relation,
            squared_ratio=rounded_up(size),
            least_variance=self.noise,
        )
        cited = f"{made.citation}; matrix mechanism: Li-Miklau-Hay-McGregor-Rastogi 2015"
        return Promise(made.event, cited, made.statement)

    def check(self, table: SealedTable) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_planned(table, self.rows_per_person)
        check_rows(table)

    def drawn(self, table: SealedTable, key: Key) -> NDArray[np.int64]:
        """Every number with its noise."""
        return noisy_numbers(table, self.strategy, self.noise, self.law, key)


def moved(strategy: LinearStrategy, relation: Relation, rows_per_person: int) -> int:
    """The largest squared distance that one of a person's rows stands for."""
    if relation is Relation.ADD_REMOVE:
        return strategy.single
    return strategy.pair if rows_per_person == 1 else max(strategy.pair, strategy.single)
