"""Additive models: noisy tables of classes by values, and a choice among what follows from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, exact
from winnow.core.key import Key
from winnow.core.noise import discrete_gaussian_array, discrete_laplace_array
from winnow.core.noisy_top.draw import SMALLEST_SCALE
from winnow.core.relation import Relation
from winnow.core.workloads.part import sum_of
from winnow.errors import ParameterError
from winnow.learn.additive import AdditiveFamily, balanced, balanced_where_rare, variants_of
from winnow.learn.crossing.rows import SealedLabelled, weighted
from winnow.learn.crossing.sizes import said_of
from winnow.privacy import Compose, Promise, promise
from winnow.select.crossing.selection import check_scale
from winnow.select.mechanisms.lipschitz import PermuteAndFlip


@dataclass(frozen=True)
class AdditiveModel:
    """Noisy tables of classes by values, one for each column; then one of the models they allow.

    Formal guarantees
        Two events, composed adaptively. (1) The tables, with discrete Laplace or discrete
        Gaussian noise. A person with at most r rows who is added or removed moves each of d
        tables by at most r in the l1 norm, and so in the l2 norm: all of them by d r, and by
        sqrt(d) r. A person who is replaced takes up to r from cells and adds up to r to others:
        2 d r, and sqrt(2 d) r. With Laplace noise these are d measurements of at most r each
        (2 d of a person who is replaced). [Canonne-Kamath-Steinke 2020]
        (2) Permute-and-flip over the models that follow from the noisy tables, by correct rows.
        Given the tables these are public functions of single rows, and so are weights that
        balance the noisy sizes of the classes: a person moves the scores as under ``utility``.
        [McKenna-Sheldon 2020; Canonical, Thm A.5]
    """

    law: str
    """Of the noise in the tables: "laplace" or "gaussian"."""
    multiplier: Real
    """The scale of that noise over the sensitivity of the tables."""
    epsilon: Real
    """For the choice among the models."""
    columns: int
    balanced: bool = False
    """Whether every class counts the same, by the noisy sizes."""
    delta: Real = 0
    """At which the guarantee is stated; Gaussian noise needs one."""
    where_rare: bool = False
    """Whether every row counts the same unless a class is rare, by the noisy sizes."""

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        weighed = said_of(self.balanced, self.where_rare)
        chosen = f"permute-and-flip among {variants_of(self.columns)} models{weighed}"
        return f"{self.columns} tables with discrete {self.law.title()} noise; {chosen}"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        law = f"discrete-{self.law}"
        parts = relation.people * self.columns if self.law == "laplace" else 1
        first = promise(law, "additive", relation, noise_multiplier=self.multiplier, moved=parts)
        second = self._selection.promise(relation)
        return Promise(
            Compose((first.event, second.event)),
            f"{first.citation}; choice: {second.citation}",
            f"{first.statement} {second.statement}",
        )

    @property
    def _selection(self) -> PermuteAndFlip:
        return PermuteAndFlip(self.epsilon)

    def variance(self, labelled: SealedLabelled) -> Fraction:
        """Of Gaussian noise: the square of multiplier times the l2 sensitivity."""
        rows, people = labelled.rows_per_person, labelled.relation.people
        return exact("multiplier", self.multiplier) ** 2 * (people * self.columns * rows**2)

    def scale(self, labelled: SealedLabelled) -> Fraction:
        """Of Laplace noise: multiplier times the l1 sensitivity."""
        rows, people = labelled.rows_per_person, labelled.relation.people
        return exact("multiplier", self.multiplier) * (people * self.columns * rows)

    def deviation(self, labelled: SealedLabelled) -> float:
        """The standard deviation of the noise in a cell, nearly."""
        if self.law == "gaussian":
            return math.sqrt(self.variance(labelled))
        return math.sqrt(2.0) * float(self.scale(labelled))

    def check(self, labelled: SealedLabelled) -> None:
        """Refuse what cannot be released, before anything is charged."""
        most = 1000 if self.balanced else 1
        half = most * labelled.utility.half_width
        check_scale(exact("epsilon", self.epsilon) / (2 * half))
        if not SMALLEST_SCALE < self.scale(labelled) < 2**40:
            raise ParameterError("epsilon is too small or too large for noisy tables of 64 bits")

    def drawn(
        self, labelled: SealedLabelled, shape: Sequence[int], key: Key
    ) -> tuple[AdditiveFamily, int]:
        """The models, and which of them was chosen."""
        rows = key.open(labelled.rows)
        family = AdditiveFamily.of(self._tables(labelled, shape, key), self.deviation(labelled))
        weights = self.weights(family, labelled)
        weighed, of_rows = replace(labelled, class_weights=weights), weighted(rows, weights)
        scores = np.array(
            [sum_of(of_rows[said == rows.labels]) for said in family.predictions(rows.codes)],
            np.int64,
        )
        chosen = self._selection.of_scores(
            scores, weighed.utility, key.tape.child("choice")
        ).members[0]
        return family, chosen

    def weights(self, family: AdditiveFamily, labelled: SealedLabelled) -> tuple[int, ...] | None:
        """What a correct row of each class counts: given, or by the noisy sizes of the classes."""
        if not self.balanced:
            return labelled.class_weights
        return (balanced_where_rare if self.where_rare else balanced)(family.sizes)

    def _tables(
        self, labelled: SealedLabelled, shape: Sequence[int], key: Key
    ) -> list[NDArray[np.int64]]:
        rows, classes = key.open(labelled.rows), len(labelled.classes)
        cells, drawn = classes * sum(shape), key.tape.child("tables")
        noise = (
            discrete_gaussian_array(drawn, cells, self.variance(labelled))
            if self.law == "gaussian"
            else discrete_laplace_array(drawn, cells, self.scale(labelled))
        )
        tables, start = [], 0
        for codes, values in zip(rows.codes, shape, strict=True):
            table = np.zeros((classes, values), np.int64)
            np.add.at(table, (rows.labels, codes), rows.weights)
            own = noise[start : start + table.size].reshape(table.shape)
            tables.append(table + own)
            start += table.size
        return tables
