"""Chances of classes from what a model says of a row, and how noisy counts calibrate them."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.learn.features import Feature
from winnow.learn.inputs import like_rows, pick_columns
from winnow.learn.predictor import Predictor
from winnow.learn.rules import Codes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BINS = 24
"""Bins of half a nat each, from 6 nats against a class to 6 nats for it: chances of 1 in 400."""
REACH = 6.0
_TRUSTED = 2.0
"""Noisy counts of a bin below so many scales of their noise may be noise alone."""
_STEPS = 30


@dataclass(frozen=True)
class ChanceCurve:
    """Log odds are ``slope`` times what the model says, and ``offset``.

    They are those of the second of two classes; of more, those of the class with the highest score,
    and the others share what is left as the model says.
    """

    slope: float
    offset: float = 0.0

    def to_dict(self) -> dict[str, float]:
        """Slope and offset as plain data, ready for JSON."""
        return {"slope": self.slope, "offset": self.offset}


def bins_of(odds: Floats) -> NDArray[np.intp]:
    """The bin of log odds."""
    places = np.floor((odds + REACH) * (BINS / (2 * REACH)))
    return np.clip(places, 0, BINS - 1).astype(np.intp)


def odds_of(scores: Floats) -> Floats:
    """The log odds of the second of two classes; of more, of the class with the highest score."""
    if scores.shape[1] == 2:
        return np.asarray(scores[:, 1] - scores[:, 0])
    ordered = np.sort(scores, axis=1)
    others = np.logaddexp.reduce(ordered[:, :-1], axis=1)
    return np.asarray(ordered[:, -1] - others)


def fitted(counts: Integers, scale: float) -> ChanceCurve:
    """The logistic curve through noisy counts: bins by no and yes.

    Bins that may hold noise alone are left out. A slope of 1 and an offset of 0 have the weight of
    as many rows as the scale of the noise, so that few rows leave chances as the model says them.
    """
    rows_by_bin = np.maximum(counts, 0).astype(np.float64)
    rows_by_bin[counts.sum(axis=1) < _TRUSTED * scale] = 0
    middle = (np.arange(BINS) + 0.5) * (2 * REACH / BINS) - REACH
    design = np.stack([middle, np.ones(BINS)], axis=1)
    start = np.array([1.0, 0.0])
    curve, rows = start.copy(), rows_by_bin.sum(axis=1)
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(design @ curve, -50, 50)))
        pull = design.T @ (rows_by_bin[:, 1] - rows * chance) - scale * (curve - start)
        bend = (design.T * (rows * chance * (1 - chance))) @ design + scale * np.eye(2)
        curve = curve + np.clip(np.linalg.solve(bend, pull), -1, 1)
    slope = max(float(curve[0]), 0.0)  # what says more of a class never lowers its chance
    return ChanceCurve(round(slope, 6), round(float(curve[1]), 6))


@dataclass(frozen=True, eq=False, repr=False)
class ScoredPredictor(Predictor):
    """A model that says how much every row is of each class."""

    features: tuple[Feature, ...] = ()
    calibration: ChanceCurve | None = field(default=None, kw_only=True)
    """How chances follow from scores, where that was asked and paid for."""

    @property
    def n_features_in_(self) -> int:
        """The number of features, as scikit-learn names it."""
        return len(self.features)

    @property
    @abstractmethod
    def used(self) -> set[int]:
        """The places of the features that are looked at."""

    @abstractmethod
    def scores(self, codes: Codes, rows: int) -> Floats:
        """What is said of every row for each class, in nats."""

    @abstractmethod
    def of_codes(self, codes: Codes, rows: int) -> NDArray[np.intp]:
        """The number of the class of every row, from the codes of each feature."""

    def encoded(self, data: Any) -> tuple[dict[int, NDArray[np.int32]], int]:
        """The codes of the features that are looked at, and the number of rows."""
        columns = pick_columns(self.features, data)
        named = {place: f"the column {self.features[place].name!r}" for place in sorted(self.used)}
        codes = {
            place: self.features[place].encode(columns[place], name)
            for place, name in named.items()
        }
        return codes, len(columns[0])

    def _chosen(self, data: Any) -> NDArray[np.intp]:
        return self.of_codes(*self.encoded(data))

    @property
    def _sure(self) -> bool:
        """Whether scores are log odds, as far as the model knows, without calibration."""
        return True

    @property
    def gives_chances(self) -> bool:
        """Whether ``predict_proba`` says something."""
        return self.calibration is not None or self._sure

    @guarded
    def predict_proba(self, X: Any) -> Any:
        """The chance of each class for every row: an array, or of a pandas frame a frame like it.

        With ``calibrated=True`` chances are calibrated by noisy counts; else they are what the
        model says by itself. Where classes count the same (balanced), a class may be predicted
        though its calibrated chance is below one half.
        """
        if not self.gives_chances:
            raise ParameterError(
                "one rule gives no chances by itself; learn with calibrated=True, which measures "
                "them"
            )
        codes, rows = self.encoded(X)
        return like_rows(X, self.chances(self.scores(codes, rows)), self.classes)

    def chances(self, scores: Floats) -> Floats:
        """The chance of each class, from scores."""
        own = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
        if self.calibration is None:
            return np.asarray(own)
        odds = np.clip(odds_of(scores), -REACH, REACH)
        known = 1 / (1 + np.exp(-(self.calibration.slope * odds + self.calibration.offset)))
        if len(self.classes) == 2:
            return np.stack([1 - known, known], axis=1)
        first = scores.argmax(axis=1)[:, None] == np.arange(len(self.classes))
        rest = np.where(first, 0.0, own)
        rest *= (1 - known)[:, None] / np.maximum(rest.sum(axis=1, keepdims=True), 1e-300)
        return np.where(first, known[:, None], rest)

    def to_dict(self) -> dict[str, Any]:
        """The predictor as plain data, ready for JSON; `load_predictor` reads it back."""
        own = {"features": [feature.to_dict() for feature in self.features]}
        if self.calibration is not None:
            own["calibration"] = self.calibration.to_dict()  # type: ignore[assignment]
        return super().to_dict() | own


def calibration_of(form: Any) -> ChanceCurve | None:
    """The calibration of a saved model."""
    saved = form.get("calibration")
    if saved is None:
        return None
    made = ChanceCurve(float(saved["slope"]), float(saved["offset"]))
    if not (math.isfinite(made.slope) and math.isfinite(made.offset)):
        raise ValueError("a calibration without numbers")
    return made
