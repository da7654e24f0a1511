"""The privacy boundary: sealed values show nothing, and the public names are pinned."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import winnow as wn
from reference.inside import open_sealed


@pytest.mark.parametrize(
    "attempt",
    [
        len, list, iter, bool, float, int, bytes, pickle.dumps, copy.copy, copy.deepcopy,
        np.asarray, lambda s: s[0], lambda s: 7 in s, lambda s: s == s, lambda s: s < s,
        lambda s: s + 1, vars,
    ],
)  # fmt: skip
def test_a_sealed_value_refuses_every_way_in(attempt) -> None:
    sealed = wn.Sealed(np.array([417, 418]), "two numbers")
    with pytest.raises(TypeError) as caught:
        attempt(sealed)
    assert "417" not in str(caught.value)


def test_a_sealed_value_shows_nothing_of_itself() -> None:
    sealed = wn.Sealed([417], "one number")
    for text in (repr(sealed), str(sealed), f"{sealed}"):
        assert text == "<sealed one number>"
    assert open_sealed(sealed) == [417]
    scores = wn.seal_scores({"a": 417}, wn.Utility.declare(1))
    assert "417" not in repr(scores)


def test_errors_of_a_release_do_not_carry_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(wn.InputError) as caught:
        wn.select({"a": 417.5, "b": float("nan")}, epsilon=1.0)
    assert "417" not in str(caught.value)


TABLES_AND_WORKLOADS = {
    "Column", "Schema", "SealedTable", "Workload", "marginals", "predicates", "prefixes",
    "queries", "random_queries", "ranges", "read_table", "release", "SyntheticDistribution",
    "where", "WideSynthetic", "Run", "Tables", "Toeplitz", "Explicit", "Adaptive", "MWEM",
    "Graphical",
}  # fmt: skip


INNER_PRODUCTS = {
    "IndexedExponential", "SealedVectors", "SlackExponential", "boost", "mips",
    "seal_vectors", "seal_query", "seal_examples", "SealedQuery", "SealedExamples", "Scan",
    "Indexed",
}  # fmt: skip


ITEMSETS = {
    "Weighted",
}  # fmt: skip


LEARNING = {
    "Predictor", "PrivateClassifier", "learn", "load_predictor", "labelled", "Labelled",
    "Additive", "AdditivePredictor", "Boosted", "BoostedPredictor", "OneRule",
    "StackedPredictor", "VoteOrAdditive",
}  # fmt: skip


SELECTION = {
    "Choosing", "DistanceToInstability", "Exponential", "LargeMargin", "Lipschitz", "NoisyMax",
    "PermuteAndFlip", "Canonical", "CanonicalAdaptive", "Gamma", "Gaussian", "Joint", "Laplace",
    "LimitedDomain", "Oneshot", "OneshotApproximate", "PeelGumbel", "PeelPermuteAndFlip",
    "Stability", "OpenSelection", "SealedClasses", "SealedCounts", "SealedScores", "above",
    "classes", "counts", "open_above", "open_selection", "scores", "seal_counts", "seal_scores",
    "select", "top_k",
}  # fmt: skip


def test_the_public_names_are_pinned() -> None:
    assert sorted(wn.__all__) == dir(wn)
    for name in wn.__all__:
        assert getattr(wn, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = wn.nonsense
    assert set(wn.__all__) == {
        "Budget", "BudgetError", "BudgetExceeded", "ExtraMissing", "GrantError",
        "Guarantee", "GuaranteeError", "InputError", "Receipt", "Relation", "RelationMismatch",
        "Released", "Sealed", "Session", "Utility", "WinnowError", "__version__",
        "as_substitution", "calibrate", "plan", "tabulate", "ReleasedTable",
        "ReleasedTables", *TABLES_AND_WORKLOADS, *INNER_PRODUCTS, *LEARNING, *SELECTION,
        "SealedBaskets", "itemsets", "read_baskets", "AssociationRule", "Run", *ITEMSETS,
        "AssociationRules", "ItemsetSupports",
        "ask", "resume", "Independent", "MultiplicativeWeights", "connect",
        "moments", "ReleasedMoments", "bounds", "ReleasedBounds", "histogram", "ReleasedHistogram",
        "quantiles", "ReleasedQuantiles", "labels", "OptimalRule", "WeightedGaussian",
        "TruncatedLaplace", "LpProblem", "LpSolution", "lp", "lp_problem", "read_lp",
        "PersonRows", "ScalarSides", "describe", "Description", "ColumnSummary",
        "Halving", "Cumulative", "in_bins", "regress", "ReleasedRegression", "Odometer",
        "Groups", "ListsByGroup", "Join", "Reading", "TextFormat", "Lines", "Pairs", "Indicators",
        "DataError", "ForeignError",
        "ParameterError", "SavingError", "SessionExhausted",
    }  # fmt: skip


def test_no_other_randomness_in_the_package() -> None:
    source = Path(wn.__file__).parent
    for file in source.rglob("*.py"):
        text = file.read_text()
        assert "np.random" not in text, file
        assert "numpy.random" not in text, file
        assert "import random\n" not in text, file
