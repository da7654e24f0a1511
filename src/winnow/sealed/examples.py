"""Labelled examples, sealed, for boosting: what every weak learner says about each of them.

An example is one person. Its column of the predictions and its label are private; the list of
weak learners is public. Weights of examples are functions of how often the learners chosen so
far were right about that example, and of nothing else: no normaliser is shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.domain.neighbours import Relation
from winnow.domain.utility import Utility
from winnow.errors import InputError
from winnow.sealed.opening import open_sealed
from winnow.sealed.seal import Sealed
from winnow.sealed.vectors import EXACT, SealedQuery, SealedVectors, seal_vectors


@dataclass(frozen=True)
class SealedExamples:
    """Predictions of public weak learners on private examples, and the private labels."""

    predictions: SealedVectors
    labels: Sealed[NDArray[np.int8]]

    @staticmethod
    def utility(relation: Relation) -> Utility:
        """How far one example moves sum_j w_j y_j h(x_j), with weights in [0, 1].

        Its own term lies in [-1, 1] and no other term depends on it: added or removed it moves
        the sum by at most 1, replaced by at most 2.
        """
        return Utility.declare((1, 1), relation=relation)

    def weighed(
        self, chosen: Sequence[int], weights: NDArray[np.float64], relation: Relation
    ) -> SealedQuery:
        """The query w_j y_j, where w_j depends on the votes for example j only.

        `weights` has 2 T + 1 entries in [0, 1] for T chosen learners: entry T + a is the weight
        of an example about which a more learners were right than wrong. Looked up, so that
        equal examples have equal weights to the last bit, wherever they stand.
        """
        if len(weights) != 2 * len(chosen) + 1 or weights.min() < 0 or weights.max() > 1:
            raise ValueError("weights must lie in [0, 1], one for each possible vote")
        labels = open_sealed(self.labels)
        table = open_sealed(self.predictions.content).vectors
        votes = np.zeros(len(labels), np.int64)
        for learner in chosen:
            votes += labels * table[learner].astype(np.int64)
        values = weights[votes + len(chosen)] * labels
        return SealedQuery(Sealed(values, "a query vector"), len(values), self.utility(relation))


def seal_examples(
    predictions: Any, labels: Any, *, index: str = EXACT, names: Any = None
) -> SealedExamples:
    """Seal predictions (one row per learner, one column per example) and labels of -1 and 1."""
    truth = np.asarray(labels)
    if truth.ndim != 1 or not np.isin(truth, (-1, 1)).all():
        raise InputError("labels must be a list of -1 and 1, one for each example")
    table = np.asarray(predictions)
    if table.ndim != 2 or not np.isin(table, (-1, 0, 1)).all():
        raise InputError(
            "predictions must be a matrix of -1, 0 and 1 with a row for each learner and a "
            "column for each example"
        )
    if table.shape[1] != len(truth):
        raise InputError(
            "predictions have another number of columns than there are labels; "
            "give one column for each example"
        )
    vectors = seal_vectors(table.astype(np.int8), index=index, labels=names, copy=False)
    return SealedExamples(vectors, Sealed(truth.astype(np.int8), "labels of examples"))
