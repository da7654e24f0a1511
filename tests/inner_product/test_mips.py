"""Private maximum inner product search: what it returns, charges and refuses.

False alarms: chi-square bounds are rejected below 1e-8.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference.audited import chi_square_p_value
from reference.inside import open_sealed
from winnow import Utility
from winnow.inner_product.crossing import IndexedSelection
from winnow.inner_product.problem import InnerProductGrid, InnerProductProblem
from winnow.privacy import BoundedRange, Repeat

VECTORS = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0]], np.float64)
QUERY = np.array([0.625, -1.0, 0.25])
OF_QUERY = ("sensitivity", "monotone", "relation", "upper_bounds")


def searched(candidates: Any, query: Any, *, index: str = "auto", **given: Any) -> Any:
    """``wn.mips`` with what is said of the vectors, the query and the search in one list."""
    about = {name: given.pop(name) for name in OF_QUERY if name in given}
    labels = given.pop("labels", None)
    if labels is not None:
        candidates = wn.seal_vectors(candidates, labels=labels)
    search = {name: given.pop(name) for name in ("head", "slack") if name in given}
    method: Any = "auto"
    if index == "exact":
        method = wn.Scan()
    elif index != "auto" or search:
        method = wn.Indexed(**search | ({} if index == "auto" else {"index": index}))
    return wn.mips(candidates, wn.seal_query(query, **about), method=method, **given)


def test_the_best_candidate_wins_with_a_large_epsilon() -> None:
    best = searched(VECTORS, QUERY, epsilon=1e4, sensitivity=1)
    assert best.value == int(np.argmax(VECTORS @ QUERY))
    assert str(best.guarantee) == "10000-DP, protects each person (add or remove one)"
    named = searched(
        VECTORS, QUERY, epsilon=1e4, sensitivity=1, labels=list("abcde"), k=2, index="flat"
    )
    assert named.value == ["a", "e"]


@pytest.mark.parametrize("index", ["exact", "flat", "lsh"])
def test_signed_search_sees_both_ends(index: str) -> None:
    found = searched(VECTORS, QUERY, epsilon=1e5, sensitivity=1, signed=True, k=3, index=index)
    assert found.value == [(0, 1), (1, -1), (4, 1)]


def draws(index: str, count: int, monkeypatch: pytest.MonkeyPatch, **options: object) -> Counter:
    monkeypatch.setattr(IndexedSelection, "_few", lambda *_: True)
    sealed = wn.seal_vectors(VECTORS, index=index)
    return Counter(
        searched(sealed, 2 * QUERY, epsilon=2, sensitivity=1, seed=r, **options).value
        for r in range(count)
    )


@pytest.mark.slow
@pytest.mark.parametrize("index", ["exact", "flat", "lsh"])
def test_every_index_draws_the_exponential_mechanism(
    index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = draws(index, 400, monkeypatch)
    weights = np.exp(2 * VECTORS @ QUERY)
    observed = np.array([seen[i] for i in range(5)] + [0])
    assert chi_square_p_value(observed, weights / weights.sum()) > 1e-8


def test_signed_draws_follow_both_exponents(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = draws("flat", 400, monkeypatch, signed=True)
    x = 2 * VECTORS @ QUERY
    weights = np.exp(np.concatenate([x, -x]))
    pairs = [(i, s) for s in (1, -1) for i in range(5)]
    observed = np.array([seen[pair] for pair in pairs] + [0])
    assert chi_square_p_value(observed, weights / weights.sum()) > 1e-8


def test_bounds_of_the_caller_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = open_sealed(wn.seal_vectors(VECTORS, index="lsh").content)
    loose = InnerProductProblem(vectors, QUERY, -10)
    tight = InnerProductProblem(vectors, QUERY, -10, upper_bounds=VECTORS @ QUERY)
    none = np.empty(0, np.int64)
    (head, first), (_, second) = loose.propose(2, none), tight.propose(2, none)
    left = np.delete(tight.all_scores(), head)
    assert first is not None and second is not None
    assert first > second == left.max()


@pytest.mark.parametrize("signed", [False, True])
def test_what_is_proposed_bounds_the_rest(signed: bool) -> None:
    generator = np.random.default_rng(4)
    for index in ("flat", "lsh"):
        matrix = generator.normal(size=(30, 4))
        vectors = open_sealed(wn.seal_vectors(matrix, index=index).content)
        problem = InnerProductProblem(vectors, generator.normal(size=4), -12, signed=signed)
        taken = np.array([2, 7, 29])
        head, bound = problem.propose(5, taken)
        rest = np.setdiff1d(np.arange(problem.size), np.concatenate([head, taken]))
        assert not np.isin(head, taken).any() and len(set(head.tolist())) == len(head)
        assert bound is not None and bound >= problem.scores(rest).max()
        assert problem.all_scores()[head].tolist() == problem.scores(head).tolist()


def test_the_charge_is_the_total_whatever_the_slack() -> None:
    sealed = wn.seal_vectors(VECTORS, index="flat")
    once = searched(sealed, QUERY, epsilon=1, sensitivity=1, slack=0.1)
    assert once.receipt.event == BoundedRange(1, wn.Relation.ADD_REMOVE)
    assert once.receipt.mechanism == "indexed exponential with slack"
    three = searched(
        sealed, QUERY, epsilon=1, sensitivity=1, slack=0.1, k=3, relation="substitution"
    )
    assert three.receipt.event == Repeat(BoundedRange(Fraction(1, 3), "substitution"), 3)
    mechanism = wn.SlackExponential(1, 3, slack=0.1)
    assert mechanism.scale(Utility.declare(1)) == (Fraction(1, 3) - Fraction(1, 5)) / 2


def test_a_budget_is_charged_once_and_the_index_is_not_in_the_receipt() -> None:
    budget = wn.Budget(1.0)
    found = searched(VECTORS, QUERY, epsilon=0.75, sensitivity=1, budget=budget, index="lsh")
    assert "lsh" not in str(found) and found.receipt.reason == ""
    with pytest.raises(wn.BudgetExceeded):
        searched(VECTORS, QUERY, epsilon=0.5, sensitivity=1, budget=budget)


def test_by_default_there_is_no_index_and_the_receipt_says_why() -> None:
    found = searched(VECTORS, QUERY, epsilon=1, sensitivity=1, seed=4)
    assert found.receipt.reason.startswith("method='auto' takes no index")
    exact = searched(VECTORS, QUERY, epsilon=1, sensitivity=1, seed=4, index="exact")
    assert exact.value == found.value and exact.receipt.reason == ""
    sealed = wn.seal_vectors(VECTORS, index="flat")
    assert wn.seal_vectors(VECTORS).index == wn.seal_vectors(VECTORS, index="auto").index == "exact"
    kept = searched(sealed, QUERY, epsilon=1, sensitivity=1, index="auto")
    assert sealed.index == "flat" and kept.receipt.reason == ""


def test_the_grid_counts_what_rounding_adds() -> None:
    grid = InnerProductGrid.of(Utility.declare(Fraction(1, 3)), signed=False)
    unit = Fraction(2) ** grid.power
    assert Fraction(1, 3) <= grid.utility.up * unit < Fraction(1, 3) * (1 + Fraction(1, 500))
    one_way = Utility.declare(1, monotone=True)
    assert (
        InnerProductGrid.of(one_way, signed=False).utility.half_width * 2
        == InnerProductGrid.of(one_way, signed=True).utility.half_width
    )


def test_sealed_vectors_show_nothing() -> None:
    sealed = wn.seal_vectors(np.full((3, 417), 4.25), index="lsh")
    assert "4.25" not in repr(sealed) and "417" not in repr(sealed)


@pytest.mark.parametrize("index", ["exact", "flat", "lsh"])
@pytest.mark.parametrize(("size", "sensitivity"), [(1e30, 1.0), (1e35, 1e-250)])
def test_inner_products_of_any_size_are_clipped_and_not_refused(
    index: str, size: float, sensitivity: float
) -> None:
    """Whether they exceed a bound is private: an error would tell it."""
    candidates = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [size, 1.0]])
    for signed, winners in ((False, {1, 3}), (True, {(0, -1), (1, 1), (3, 1)})):
        for seed in range(4):
            found = searched(
                candidates, [size, 1.0], epsilon=100, sensitivity=sensitivity, index=index,
                signed=signed, seed=seed,
            )  # fmt: skip
            assert found.value in winners


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"candidates": VECTORS[0]}, "one candidate per row"),
        ({"candidates": VECTORS[:, :2]}, "one length"),
        ({"candidates": np.full((2, 3), np.nan)}, "NaN"),
        ({"candidates": np.full((2, 3), 1e200)}, "2\\^400"),
        ({"candidates": [["a"]]}, "integers or floats"),
        ({"query": [np.inf, 0, 0]}, "infinite"),
        ({"query": [[1.0, 2.0, 3.0]]}, "one vector"),
        ({"epsilon": 0}, "epsilon"),
        ({"sensitivity": 0}, "sensitivity"),
        ({"k": 6}, "exceeds 5 candidates"),
        ({"index": "annoy"}, "annoy"),
        ({"signed": 1}, "signed"),
        ({"slack": 0.1}, "without an index; name one"),
        ({"head": 2}, "without an index; name one"),
        ({"slack": 0.5, "index": "flat"}, "uses up epsilon"),
        ({"slack": -1, "index": "flat"}, "slack"),
        ({"upper_bounds": [1.0] * 5}, "leave them out"),
        ({"upper_bounds": [1.0], "index": "flat"}, "give one for each"),
        ({"upper_bounds": [np.nan] * 5, "index": "flat"}, "NaN"),
        ({"labels": ["a"]}, "1 labels for 5"),
        ({"labels": list("aabcd")}, "appears again"),
    ],
)
def test_bad_input_is_refused_before_anything_is_charged(
    change: dict[str, object], message: str
) -> None:
    budget = wn.Budget(1.0)
    given = {"candidates": VECTORS, "query": QUERY, "epsilon": 1, "sensitivity": 1} | change
    candidates, query = given.pop("candidates"), given.pop("query")
    with pytest.raises(wn.InputError, match=message):
        searched(candidates, query, budget=budget, **given)  # type: ignore[arg-type]
    searched(VECTORS, QUERY, epsilon=1, sensitivity=1, budget=budget)
