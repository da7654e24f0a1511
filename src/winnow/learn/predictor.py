"""A released classifier: one hypothesis of a public class, ready to predict.

It has what scikit-learn expects of a fitted classifier (`predict`, `score`, `classes_`,
`get_params`), and does not need it. Everything in it was released or is public.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.errors import DataError, ParameterError
from winnow.foreign import guarded
from winnow.learn.bound import GeneralisationBound
from winnow.learn.inputs import like_rows


@dataclass(frozen=True, eq=False, repr=False)
class Predictor(ABC):
    """A learned classifier: one hypothesis of a public class."""

    classes: tuple[Any, ...]
    """The classes; of two, the negative and the positive one."""
    number: int
    """The number of the hypothesis in its class."""
    hypotheses: int
    """How many hypotheses the class has."""
    kind: str
    """The class in words, as in 'conjunctions:2'."""
    correct: int | None = None
    """The noisy number of correct rows, where it was asked and paid for."""
    rows: int | None = None
    """The public number of rows, where there is one."""
    bound: GeneralisationBound | None = None

    @property
    @abstractmethod
    def text(self) -> str:
        """The hypothesis for people."""

    @abstractmethod
    def _chosen(self, data: Any) -> NDArray[np.intp]:
        """The number of the class that is predicted for every row."""

    @property
    def accuracy(self) -> float | None:
        """The noisy share of correct rows in the training data, or None; it may leave [0, 1]."""
        if self.correct is None or self.rows is None:
            return None
        return self.correct / self.rows

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, as scikit-learn names them."""
        return np.array(self.classes)

    @guarded
    def predict(self, X: Any) -> Any:
        """The predicted class of every row: an array, or of a pandas frame a series like it."""
        return like_rows(X, self.classes_[self._chosen(X)])

    @guarded
    def score(self, X: Any, y: Any) -> float:
        """The share of rows of *public* test data that are predicted right."""
        said, labels = np.asarray(self.predict(X)), np.asarray(y)
        if labels.shape != said.shape:
            raise DataError(f"{labels.shape} labels for {len(said)} rows; give one for each")
        if not len(said):
            raise DataError("there are no rows to score; give at least one")
        return float(np.mean(said == labels))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What the predictor is, under scikit-learn's name for it; `deep` changes nothing."""
        return {"kind": self.kind, "number": self.number, "classes": self.classes}

    def to_dict(self) -> dict[str, Any]:
        """The predictor as plain data, ready for JSON."""
        return {
            "rule": self.text,
            "classes": list(self.classes),
            "number": self.number,
            "hypotheses": self.hypotheses,
            "kind": self.kind,
            "correct": self.correct,
            "rows": self.rows,
            "accuracy": self.accuracy,
            "bound": None if self.bound is None else self.bound.to_dict(),
        }

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<classifier, one of {self.hypotheses:,} {self.kind}: {self.text}>"


@dataclass(frozen=True, eq=False, repr=False)
class ListedPredictor(Predictor):
    """A hypothesis that was given as a function, or as a row of predictions."""

    function: Callable[[Any], Any] | None = None

    @property
    def text(self) -> str:
        """The number of the hypothesis: it has no other public description."""
        name = getattr(self.function, "__name__", "")
        return f"hypothesis {self.number}" + (f" ({name})" if name.isidentifier() else "")

    def _chosen(self, data: Any) -> NDArray[np.intp]:
        if self.function is not None:
            return np.asarray(np.asarray(self.function(data)) == self.classes[1], np.intp)
        rows = np.asarray(data)
        if rows.ndim != 2 or len(rows) != self.hypotheses:
            raise ParameterError(
                "this classifier is a row of predictions; give the predictions of all "
                f"{self.hypotheses:,} hypotheses on the new rows, one row each"
            )
        return np.asarray(rows[self.number], np.bool_).astype(np.intp)
