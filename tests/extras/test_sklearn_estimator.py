"""``wn.PrivateClassifier`` among scikit-learn's estimators."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import winnow as wn

pytestmark = pytest.mark.extras
sklearn = pytest.importorskip("sklearn")

DECLARED = "the two classes are declared, never learned from the labels"
EXPECTED = {
    "check_estimators_dtypes": DECLARED,
    "check_complex_data": DECLARED,
    "check_classifier_data_not_an_array": DECLARED,
    "check_classifiers_classes": DECLARED,
    "check_classifiers_regression_target": DECLARED,
    "check_classifier_not_supporting_multiclass": DECLARED,
    "check_fit2d_1feature": DECLARED,
    "check_dtype_object": "an unreadable value leaves as InputError, without its text",
    "check_supervised_y_2d": "a column of labels is refused rather than flattened",
    "check_estimators_empty_data_messages": "the number of rows may be private: it is not named",
}


def classifier(**options: object) -> wn.PrivateClassifier:
    return wn.PrivateClassifier(
        wn.OneRule(of="stumps", cuts=[-1, 0, 1]), epsilon=5.0, seed=0, **options
    )


def test_the_checks_of_estimators_pass_where_they_make_sense() -> None:
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            classifier(), expected_failed_checks=EXPECTED, on_fail=None, on_skip=None
        )
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []
    assert sum(r["status"] == "passed" for r in results) >= 44


def test_pipelines_clones_and_cross_validation_work() -> None:
    from sklearn.base import clone, is_classifier
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    x = np.random.default_rng(0).normal(size=(600, 2))
    y = (x[:, 1] >= 0).astype(int)
    assert is_classifier(classifier())
    assert clone(classifier(delta=1e-6)).delta == 1e-6
    assert cross_val_score(classifier(), x, y, cv=3).min() > 0.95
    pipeline = make_pipeline(FunctionTransformer(lambda data: data * 2), classifier())
    assert pipeline.fit(x, y).score(x, y) > 0.95


def test_each_fit_is_charged_to_a_shared_budget() -> None:
    from sklearn.model_selection import cross_val_score

    x = np.random.default_rng(0).normal(size=(60, 2))
    y = (x[:, 1] >= 0).astype(int)
    budget = wn.Budget(epsilon=12, relation="substitution")
    with pytest.raises(wn.BudgetExceeded):
        cross_val_score(classifier(budget=budget), x, y, cv=3, error_score="raise")


def test_what_is_not_fitted_says_so_in_their_words() -> None:
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        classifier().predict(np.zeros((2, 2)))
