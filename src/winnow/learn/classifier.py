"""``winnow.PrivateClassifier``: ``winnow.learn`` with scikit-learn's estimator interface.

scikit-learn is not needed; where it is there, its cross-checks and pipelines accept this.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.options import AUTO
from winnow.core.released import Receipt, Released
from winnow.errors import DataError, ParameterError
from winnow.foreign import guarded, shown
from winnow.learn.labelled import labelled
from winnow.learn.predictor import Predictor
from winnow.learn.verb import learn


class PrivateClassifier:
    """A classifier of a public class that is chosen privately when it is fitted.

    The parameters are those of ``winnow.learn`` and ``winnow.labelled``. Every ``fit`` is a
    release of its own and costs (epsilon, delta): a grid search that fits ten times on the same
    people costs ten times, so give a ``budget``. ``score`` is exact: use it on public data only.
    A clone keeps the same budget.

    After ``fit``: ``released_`` with its guarantee and receipt, ``predictor_``, ``rule_``,
    ``classes_``, ``n_features_in_``.
    """

    _estimator_type = "classifier"

    def __init__(
        self,
        method: Any = AUTO,
        *,
        epsilon: Any = 1.0,
        delta: Any = 0.0,
        class_weights: Any = AUTO,
        calibrated: bool = False,
        classes: Any = (0, 1),
        schema: Any = None,
        relation: str = "substitution",
        budget: Any = None,
        seed: int | None = None,
    ) -> None:
        self.method = method
        self.epsilon = epsilon
        self.delta = delta
        self.class_weights = class_weights
        self.calibrated = calibrated
        self.classes = classes
        self.schema = schema
        self.relation = relation
        self.budget = budget
        self.seed = seed

    @guarded
    def fit(self, X: Any, y: Any) -> PrivateClassifier:
        """Choose a hypothesis privately; this spends (epsilon, delta)."""
        if y is None:
            raise DataError("requires y to be passed, but the target y is None")
        if isinstance(y, str):
            raise ParameterError(
                f"y={shown(y)} is a name; fit takes labels. For tables use wn.learn"
            )
        _check_numbers(X)
        options = self.get_params()
        described = {name: options.pop(name) for name in ("classes", "schema", "relation")}
        self.released_: Released[Predictor] = learn(labelled(X, y, **described), **options)
        self.classes_ = self.released_.value.classes_
        columns = getattr(X, "columns", None)
        if columns is not None and all(isinstance(name, str) for name in columns):
            self.feature_names_in_ = np.array(list(columns), object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        shape = np.shape(X)
        if len(shape) == 2:
            self.n_features_in_ = int(shape[1])
        return self

    @property
    def predictor_(self) -> Predictor:
        """The released predictor."""
        if not hasattr(self, "released_"):
            raise _not_fitted(self)
        return self.released_.value

    @property
    def rule_(self) -> str:
        """The released rule for people."""
        return self.predictor_.text

    @property
    def receipt_(self) -> Receipt:
        """The receipt of the release."""
        _ = self.predictor_
        return self.released_.receipt

    @guarded
    def predict(self, X: Any) -> NDArray[Any]:
        """The predicted class of every row."""
        predictor = self.predictor_
        self._check(X)
        return np.asarray(predictor.predict(X))

    def _check(self, X: Any) -> None:
        """Refuse rows that are not like those that were fitted."""
        _check_numbers(X)
        shape = np.shape(X)
        expected = getattr(self, "n_features_in_", None)
        if len(shape) == 2 and expected is not None and shape[1] != expected:
            raise DataError(
                f"X has {shape[1]} features, but {type(self).__name__} is expecting {expected} "
                "features as input"
            )

    @property
    def predict_proba(self) -> Any:
        """What gives the chance of each class for every row of X, of models that say chances."""
        if not getattr(self.predictor_, "gives_chances", False):
            raise AttributeError(
                f"{self.predictor_.kind} gives no chances; take calibrated=True, or another method"
            )
        return self._chances

    @guarded
    def _chances(self, X: Any) -> NDArray[np.float64]:
        self._check(X)
        model: Any = self.predictor_
        return np.asarray(model.predict_proba(X))

    @guarded
    def score(self, X: Any, y: Any) -> float:
        """The share of rows of *public* test data that are predicted right."""
        said, labels = self.predict(X), np.asarray(y)
        if labels.shape != said.shape or not len(said):
            raise DataError("give one label for each row, and at least one row")
        return float(np.mean(said == labels))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; `deep` changes nothing."""
        return {name: getattr(self, name) for name in _PARAMETERS}

    def set_params(self, **parameters: Any) -> PrivateClassifier:
        """Set parameters by name."""
        for name, value in parameters.items():
            if name not in _PARAMETERS:
                raise ParameterError(f"there is no parameter {name!r}; there are {_PARAMETERS}")
            setattr(self, name, value)
        return self

    def __sklearn_clone__(self) -> PrivateClassifier:
        """An unfitted twin that charges the same budget: a copy of it could be spent twice."""
        return type(self)(**self.get_params())

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn wants to know about an estimator."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(multi_class=False, poor_score=True),
            input_tags=InputTags(),
            non_deterministic=self.seed is None,
        )

    def __repr__(self) -> str:
        return f"PrivateClassifier({self.method!r}, epsilon={self.epsilon}, delta={self.delta})"


_PARAMETERS = list(inspect.signature(PrivateClassifier).parameters)


def _check_numbers(X: Any) -> None:
    """Refuse arrays that scikit-learn's estimators refuse, without a word about the values."""
    if hasattr(X, "tocsr"):
        raise DataError("a sparse matrix is not supported; give a dense one")
    if not isinstance(X, np.ndarray):
        return
    if X.dtype.kind == "c":
        raise DataError("Complex data not supported; give real numbers")
    if X.ndim == 2 and X.shape[1] == 0:
        raise DataError("0 feature(s) (shape=(n, 0)) while a minimum of 1 is required")
    if X.dtype.kind == "f" and not np.isfinite(X).all():
        raise DataError("X holds NaN or infinity; correct or drop these rows")


def _not_fitted(estimator: PrivateClassifier) -> Exception:
    message = f"This {type(estimator).__name__} instance is not fitted yet; call fit first"
    if "sklearn" not in sys.modules:  # nobody here who would know the difference
        return DataError(message)
    from sklearn.exceptions import NotFittedError

    class NotFitted(ParameterError, NotFittedError):  # type: ignore[misc]
        """For scikit-learn, which knows its own class only."""

    error: Exception = NotFitted(message)
    return error
