"""Noisy sizes of the classes, and the weights that follow from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from winnow.core.checks import Real, exact
from winnow.core.key import Key
from winnow.core.noise import discrete_laplace_array
from winnow.core.noisy_top.draw import SMALLEST_SCALE
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.workloads.part import sum_of
from winnow.errors import ParameterError
from winnow.learn.additive import balanced, balanced_where_rare
from winnow.learn.crossing.rows import SealedLabelled
from winnow.privacy import Promise, promise


@dataclass(frozen=True)
class ClassSizes:
    """The first part of what is balanced: how many rows each class has, with noise.

    Sizes below the scale of the noise count as large as it, so that a class that is hardly there
    does not weigh all. A person with at most r rows who is added or removed moves the sizes by at
    most r in the l1 norm; one who is replaced takes up to r rows out of classes and puts up to r
    into others: 2 r. [Canonne-Kamath-Steinke 2020]
    """

    epsilon: Real
    where_rare: bool = False
    """Whether every row counts the same unless a class is rare."""

    def charged(self, relation: Relation) -> Promise:
        """What the sizes are charged, as a part of a release."""
        multiplier = 1 / exact("sizes", self.epsilon)
        return promise(
            "discrete-laplace",
            "additive",
            relation,
            noise_multiplier=multiplier,
            moved=relation.people,  # rows that leave classes, and rows that come into others
        )

    def scale(self, labelled: SealedLabelled) -> Fraction:
        """Of the noise in each size: the l1 sensitivity over epsilon."""
        moved = labelled.relation.people * labelled.rows_per_person
        return moved / exact("sizes", self.epsilon)

    def weights(self, noisy: list[int], labelled: SealedLabelled) -> tuple[int, ...]:
        """The weights that follow from noisy sizes; public."""
        least = max(1, math.ceil(self.scale(labelled)))
        weights = balanced_where_rare if self.where_rare else balanced
        return weights([max(least, size) for size in noisy])

    def check(self, labelled: SealedLabelled) -> None:
        """Refuse noise that does not fit, before anything is charged."""
        if not SMALLEST_SCALE < self.scale(labelled) < 2**40:
            raise ParameterError("epsilon is too small or too large for noisy sizes of 64 bits")

    def drawn(self, labelled: SealedLabelled, key: Key, tape: Tape) -> tuple[int, ...]:
        """The weights by sizes that are measured now."""
        rows = key.open(labelled.rows)
        noise = discrete_laplace_array(tape, len(labelled.classes), self.scale(labelled))
        true = [sum_of(rows.weights[rows.labels == c]) for c in range(len(labelled.classes))]
        noisy = [size + int(each) for size, each in zip(true, noise, strict=True)]
        return self.weights(noisy, labelled)


def said_of(balanced: bool, where_rare: bool) -> str:
    """How a mechanism names what its classes count."""
    if not balanced:
        return ""
    return ", classes balanced where one is rare" if where_rare else ", classes balanced"
