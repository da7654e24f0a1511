"""Exact output probabilities of every selection mechanism on small instances.

Nothing here touches a tape or a kernel: a model holds the public parameters of a
mechanism and computes the probabilities of all its outputs from the definitions, by
closed formulas where there are some and by quadrature otherwise, many score vectors at a
time. A row of ``outcomes`` looks like a row of the mechanism's ``simulate``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from winnow.core.utility import Utility
from winnow.select.audit.model import LargeMarginModel, NoisyTopModel, SparseVectorModel
from winnow.select.large_margin import LargeMargin
from winnow.select.margin_search import stopping_margin
from winnow.select.mechanism import LipschitzMechanism
from winnow.select.sparse_vector import SparseVector
from winnow.topk.audit.model import (
    CanonicalModel,
    CubeModel,
    JointModel,
    PeeledModel,
    SizedSetModel,
)
from winnow.topk.mechanisms.approximate_oneshot import ApproximateOneshot
from winnow.topk.mechanisms.canonical import Canonical
from winnow.topk.mechanisms.gamma import GammaMechanism
from winnow.topk.mechanisms.joint import Joint
from winnow.topk.mechanisms.peeling import PeelGumbel, PeelPermuteAndFlip

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Scores = NDArray[np.int64] | NDArray[np.float64]


class Model(Protocol):
    """A mechanism as its output distribution."""

    def outcomes(self, d: int) -> Integers:
        """All outputs for d candidates, one per row."""

    def log_probabilities(self, scores: Scores) -> Floats:
        """A row for each score vector (a row of `scores`), a column for each outcome."""

    def __hash__(self) -> int:
        """Models are frozen, so that what was measured can be kept."""


@runtime_checkable
class HasModel(Protocol):
    """A mechanism that brings its own exact probabilities (broken twins do)."""

    def model(self, utility: Utility) -> Model:
        """Its output distribution."""


@dataclass(frozen=True)
class StoppingMargins:
    """The thresholds T(l) of the shipped large margin mechanism."""

    epsilon: float
    delta: float
    thresholds: str

    def __call__(self, ranks: Integers) -> Floats:
        """T(l) for each rank l."""
        return stopping_margin(ranks, self.epsilon, self.delta, self.thresholds)


@dataclass(frozen=True)
class OneshotScale:
    """The scale of the approximate oneshot mechanism, which depends on d."""

    mechanism: ApproximateOneshot
    utility: Utility

    def __call__(self, d: int) -> float:
        """For d candidates."""
        return float(self.mechanism.scale(self.utility, d))


def model_of(mechanism: object, utility: Utility) -> Model:
    """The output distribution that a mechanism's public parameters define."""
    match mechanism:
        case HasModel():
            return mechanism.model(utility)
        case LipschitzMechanism():
            scale = float(mechanism.scale(utility))
            return NoisyTopModel(mechanism.noise, scale, mechanism.kappa, mechanism.ordered)
        case PeelGumbel():
            return model_of(mechanism._mechanism(), utility)
        case PeelPermuteAndFlip():
            return PeeledModel(float(mechanism.scale(utility)), mechanism.k)
        case Joint():
            return JointModel(float(mechanism.scale(utility)), mechanism.k)
        case Canonical():
            return CanonicalModel(
                mechanism.noise,
                float(mechanism.scale(utility)),
                mechanism.k,
                float(mechanism.gamma),
                float(utility.one_sided) if mechanism.rounded else None,
            )
        case ApproximateOneshot():
            return SizedSetModel(OneshotScale(mechanism, utility), mechanism.k)
        case GammaMechanism():
            return CubeModel(float(mechanism.scale(utility)), mechanism.k)
        case SparseVector():
            threshold_scale, value_scale = map(float, mechanism.scales(utility))
            return SparseVectorModel(
                float(mechanism.threshold), threshold_scale, value_scale, mechanism.cutoff
            )
        case LargeMargin():
            epsilon, delta = float(mechanism.epsilon), float(mechanism.delta)
            return LargeMarginModel(
                float(utility.half_width),
                (3 / epsilon, 6 / epsilon, 12 / epsilon),  # [LMM, Alg 1]
                StoppingMargins(epsilon, delta, mechanism.thresholds),
                epsilon / 6,
            )
    raise TypeError(f"no exact probabilities are known for a {type(mechanism).__name__}")


Exchangeable = NoisyTopModel | PeeledModel | JointModel | CanonicalModel | SizedSetModel | CubeModel
"""Models without ties by position: exchanging candidates exchanges their probabilities."""


def log_probability_rows(model: Model, scores: Integers) -> Floats:
    """``model.log_probabilities``, computed once for vectors that are the same for the model.

    Adding a constant to all scores changes no selection, nor does the order of candidates
    where there are no ties by position.
    """
    match model:
        case NoisyTopModel(counts=None) | PeeledModel() | JointModel():
            return _by_sorted_rows(model, scores)
        case CanonicalModel() | SizedSetModel() | CubeModel():
            return _by_sorted_rows(model, scores)
        case LargeMarginModel():
            scores = scores - scores.max(axis=1, keepdims=True)
    distinct, where = np.unique(scores, axis=0, return_inverse=True)
    return model.log_probabilities(distinct)[where.ravel()]


def _by_sorted_rows(model: Exchangeable, scores: Integers) -> Floats:
    d = scores.shape[1]
    order = np.argsort(-scores, axis=1, kind="stable")
    descending = np.take_along_axis(scores, order, axis=1)
    distinct, where = np.unique(descending - descending[:, :1], axis=0, return_inverse=True)
    table = model.log_probabilities(distinct)
    outcomes = model.outcomes(d)
    ranks = np.argsort(order, axis=1)[:, outcomes]  # each outcome in terms of sorted places
    if not model.ordered:
        ranks.sort(axis=2)
    digits = d ** np.arange(outcomes.shape[1])
    codes = outcomes @ digits
    by_code = np.argsort(codes)
    columns = by_code[np.searchsorted(codes[by_code], ranks @ digits)]
    return np.asarray(table[where.reshape(-1, 1), columns], np.float64)


def hockey_stick(p: Floats, q: Floats, epsilon: float) -> Floats:
    """The smallest delta with P <= e^epsilon Q + delta: the sum of (p - e^epsilon q)+."""
    return np.asarray(np.sum(np.maximum(p - np.exp(epsilon) * q, 0.0), axis=-1), np.float64)
