"""Noisy counts of rows by what a model says of them, by which its chances are calibrated."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from winnow.core.checks import Real, exact
from winnow.core.key import Key
from winnow.core.noise import discrete_laplace_array
from winnow.core.noisy_top.draw import SMALLEST_SCALE
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.learn.chances import BINS, ChanceCurve, ScoredPredictor, bins_of, fitted, odds_of
from winnow.learn.crossing.bins import Learnt
from winnow.learn.crossing.rows import SealedLabelled
from winnow.privacy import Compose, Guarantee, Promise, guarantee_of, promise


@dataclass(frozen=True)
class CalibratedModel:
    """What is learned, and then how many rows of each kind it says as much of, with noise.

    Formal guarantees
        Two events, composed adaptively. (1) That of what is learned. (2) A table with discrete
        Laplace noise in every cell. Given the released model, the cell of a row is a public
        function of this row: the bin of the log odds, and its class (of more than two classes,
        whether the likeliest is right). A person with at most r rows who is added or removed moves
        the table by at most r in the l1 norm; one who is replaced takes up to r rows out of cells
        and puts up to r into others: 2 r. All is charged before the first draw.
        [Canonne-Kamath-Steinke 2020; Dwork et al. 2006 for the sum]
    """

    then: Learnt
    epsilon: Real
    """Of the table."""
    delta: Real = 0
    """At which the guarantee is stated."""

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.then.name}; calibrated on noisy counts of {BINS} bins"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        first = self.then.promise(relation)
        multiplier = 1 / exact("epsilon", self.epsilon)
        table = promise(
            "discrete-laplace", "additive", relation,
            noise_multiplier=multiplier, moved=relation.people,
        )  # fmt: skip
        return Promise(
            Compose((first.event, table.event)),
            "; ".join(dict.fromkeys([first.citation, table.citation])),
            " ".join(dict.fromkeys([first.statement, table.statement])),
        )

    def guarantee(self, promised: Promise) -> Guarantee:
        """Of both together."""
        return guarantee_of(promised.event, self.delta)

    def scale(self, labelled: SealedLabelled) -> Fraction:
        """Of the noise in each cell: the l1 sensitivity over epsilon."""
        moved = labelled.relation.people * labelled.rows_per_person
        return moved / exact("epsilon", self.epsilon)

    def check(self, labelled: SealedLabelled) -> None:
        """Refuse noise that does not fit, before anything is charged."""
        if not SMALLEST_SCALE < self.scale(labelled) < 2**40:
            raise ParameterError("epsilon is too small or too large for noisy counts of 64 bits")

    def drawn(self, labelled: SealedLabelled, model: ScoredPredictor, key: Key) -> ChanceCurve:
        """The calibration of a model that was released."""
        rows, scale = key.open(labelled.rows), self.scale(labelled)
        scores = model.scores(rows.codes, len(rows.labels))
        two = len(labelled.classes) == 2
        yes = rows.positive if two else scores.argmax(axis=1) == rows.labels
        noise = discrete_laplace_array(key.tape.child("counts"), 2 * BINS, scale)
        counts = noise.reshape(BINS, 2).astype(np.int64)
        np.add.at(counts, (bins_of(odds_of(scores)), yes.astype(np.intp)), rows.weights)
        return fitted(counts, float(scale))
