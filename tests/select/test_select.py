"""``wn.select``: labels in, labels out; bad input is refused and costs nothing."""

import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import winnow as wn
from reference.inside import Law
from winnow import ParameterError
from winnow.core.utility import declared

CLEAR = {"apple": 1000, "pear": 3, "plum": 1}


@pytest.mark.parametrize(
    "scores",
    [
        CLEAR,
        pd.DataFrame({"fruit": CLEAR.keys(), "votes": CLEAR.values()}),
        pl.DataFrame({"fruit": list(CLEAR), "votes": list(CLEAR.values())}),
        pl.LazyFrame({"fruit": list(CLEAR), "votes": list(CLEAR.values())}),
        pa.table({"fruit": list(CLEAR), "votes": list(CLEAR.values())}),
        {name: float(votes) for name, votes in CLEAR.items()},
        {name: np.int32(votes) for name, votes in CLEAR.items()},
    ],
    ids=lambda scores: f"{type(scores).__module__.split('.')[0]}.{type(scores).__name__}",
)
def test_labelled_scores_give_a_label(scores: Any) -> None:
    assert wn.select(scores, epsilon=1.0, seed=1).value == "apple"


@pytest.mark.parametrize(
    "scores",
    [
        [3, 1000, 1],
        (3.0, 1000.0, 1.0),
        np.array([3, 1000, 1]),
        np.array([3, 1000, 1], np.uint16),
        np.array([3, 1000, 1], np.float32),
        np.array([0, 3, 0, 1000, 0, 1])[1::2],
        pl.Series([3, 1000, 1]),
        pa.array([3, 1000, 1]),
        pa.chunked_array([[3, 1000], [1]]),
        [2**62, 2**62 + 10_000, 0],
    ],
    ids=lambda scores: f"{type(scores).__module__.split('.')[0]}.{type(scores).__name__}",
)
def test_unlabelled_scores_give_a_position_or_the_given_label(scores: Any) -> None:
    assert wn.select(scores, epsilon=1.0, seed=1).value == 1
    assert (
        wn.select(wn.seal_scores(scores, labels=["x", "y", "z"]), epsilon=1.0, seed=1).value == "y"
    )


@pytest.mark.parametrize(
    "scores",
    [
        {7: 3, 9: 1000, 11: 1},
        {7: 3, 9.0: 1000, True: 1},
        pd.Series([3, 1000, 1], index=pd.RangeIndex(7, 12, 2)),
    ],
    ids=["integers", "a float among them", "a step of two"],
)
def test_labels_may_be_numbers(scores: Any) -> None:
    assert wn.select(scores, epsilon=1.0, seed=1).value == 9


def test_integers_of_65_bits_in_a_list_are_refused_in_words() -> None:
    with pytest.raises(wn.DataError, match="does not fit 64 bits"):
        wn.select([1, 2**63], epsilon=1.0)


def test_named_columns_of_a_wide_table_are_found() -> None:
    table = pl.DataFrame({"id": [7, 8], "name": ["x", "y"], "votes": [0, 900]})
    pick = wn.select(
        wn.seal_scores(table, label_column="name", score_column="votes"), epsilon=1.0, seed=1
    )
    assert pick.value == "y"
    two = table.select("votes", "name")
    assert wn.select(wn.seal_scores(two, score_column="votes"), epsilon=1.0, seed=1).value == "y"


@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential", "noisy-max"])
def test_every_mechanism_finds_a_clear_winner(mechanism: str) -> None:
    pick = wn.select(CLEAR, epsilon=1.0, method=mechanism)
    assert pick.value == "apple"
    assert pick.receipt.mechanism == mechanism
    assert pick.receipt.randomness == "os"


@pytest.mark.parametrize("noise", list(Law))
def test_the_lipschitz_mechanism_takes_any_of_the_five_noises(noise: Law) -> None:
    pick = wn.select(CLEAR, epsilon=1.0, method=wn.Lipschitz(noise=noise), k=2)
    assert "apple" in pick.value
    assert str(noise) in pick.receipt.mechanism


def test_the_large_margin_mechanism_has_both_thresholds() -> None:
    for thresholds in ("tight", "printed"):
        pick = wn.select(
            CLEAR, epsilon=1.0, delta=1e-6, method=wn.LargeMargin(thresholds=thresholds)
        )
        assert pick.value == "apple"
        assert pick.guarantee.delta == 1e-6
        assert thresholds in pick.receipt.mechanism


def test_a_set_lists_the_candidates_in_their_own_order() -> None:
    """The order of the noisy scores is not covered by the theorem, so it must not leak."""
    for seed in range(50):
        chosen = wn.select([5, 5, 5, 5, 5], epsilon=0.1, k=3, seed=seed).value
        assert chosen == sorted(chosen)


def test_the_exponential_mechanism_gives_an_order() -> None:
    orders = [
        tuple(wn.select([5, 5, 5], epsilon=0.1, k=3, method="exponential", seed=s).value)
        for s in range(60)
    ]
    assert len(set(orders)) == 6


def test_k_gives_a_list_and_no_k_gives_a_label() -> None:
    assert wn.select(CLEAR, epsilon=1.0).value == "apple"
    assert wn.select(CLEAR, epsilon=1.0, k=1).value == ["apple"]
    assert wn.select(CLEAR, epsilon=1.0, k=3).value == ["apple", "pear", "plum"]


def test_a_seed_repeats_and_taints() -> None:
    first, second = (wn.select([1, 2, 3, 2], epsilon=0.1, seed=9) for _ in range(2))
    assert first.value == second.value
    assert first.receipt.randomness == "seeded"
    assert "not private" in str(first)


def test_the_json_of_a_release_has_value_guarantee_and_receipt() -> None:
    document = json.loads(wn.select(CLEAR, epsilon=0.5, method="exponential").to_json())
    assert document["value"] == "apple"
    assert document["guarantee"] == {
        "epsilon": 0.5,
        "delta": 0.0,
        "relation": "add-remove",
        "rho": pytest.approx(0.0311420922),  # a little below epsilon^2/8
        "unit": "person",
    }
    assert set(document["receipt"]) >= {
        "mechanism",
        "event",
        "citation",
        "randomness",
        "exact",
        "version",
    }
    assert document["receipt"]["exact"] is True
    assert document["receipt"]["ledger"] == "unrecorded"


NAN, INF = math.nan, math.inf
BAD: list[tuple[str, Callable[[], dict[str, Any]], str]] = [
    ("empty list", lambda: {"scores": []}, "no candidates"),
    ("empty dict", lambda: {"scores": {}}, "no candidates"),
    ("empty array", lambda: {"scores": np.array([])}, "no candidates"),
    ("NaN", lambda: {"scores": [1.0, NAN]}, "NaN or infinite"),
    ("infinite", lambda: {"scores": [1.0, -INF]}, "NaN or infinite"),
    ("span", lambda: {"scores": [1e308, -1e308]}, "span"),
    ("epsilon zero", lambda: {"epsilon": 0}, "epsilon=0 is not above 0"),
    ("epsilon negative", lambda: {"epsilon": -1.0}, "epsilon=-1.0 is not above 0"),
    ("epsilon NaN", lambda: {"epsilon": NAN}, "not finite"),
    ("epsilon infinite", lambda: {"epsilon": INF}, "not finite"),
    ("epsilon text", lambda: {"epsilon": "1"}, "not a number"),
    ("k zero", lambda: {"k": 0}, "k=0 is below 1"),
    ("k negative", lambda: {"k": -3}, "below 1"),
    ("k too large", lambda: {"k": 4}, "k=4 exceeds 3 candidates; lower k"),
    ("k fraction", lambda: {"k": 1.5}, "whole number"),
    ("duplicate labels", lambda: {"scores": [1, 2], "labels": ["a", "a"]}, "appears again"),
    ("duplicate index", lambda: {"scores": pd.Series([1, 2], ["a", "a"]), "labels": "public"},
     "appears again"),
    ("labels too few", lambda: {"scores": [1, 2], "labels": ["a"]}, "1 labels for 2 scores"),
    ("label None", lambda: {"scores": [1, 2], "labels": ["a", None]}, "missing"),
    ("label list", lambda: {"scores": [1, 2], "labels": [["a"], ["b"]]}, "hashable"),
    ("labels twice", lambda: {"labels": ["a", "b", "c"]}, "own labels"),
    ("texts", lambda: {"scores": ["41", "40"]}, "contain str"),
    ("booleans", lambda: {"scores": [True, False]}, "contain bool"),
    ("None", lambda: {"scores": [1, None]}, "contain NoneType"),
    ("complex array", lambda: {"scores": np.array([1j, 2])}, "complex128"),
    ("boolean array", lambda: {"scores": np.array([True, False])}, "bool"),
    ("matrix", lambda: {"scores": np.zeros((2, 2))}, "2 dimensions"),
    ("too long integer", lambda: {"scores": [2**63, 1]}, "64 bits"),
    ("too long unsigned", lambda: {"scores": np.array([2**63, 1], np.uint64)}, "64-bit"),
    ("mixed big", lambda: {"scores": [2**53 + 1, 0.5]}, "mixed"),
    ("long double", lambda: {"scores": np.array([1.0], np.longdouble)}, "64 bits"),
    ("masked array", lambda: {"scores": np.ma.array([1, 2], mask=[0, 1])}, "masked"),
    ("long double in a list", lambda: {"scores": [np.longdouble(1), 2.0]}, "longdouble"),
    ("durations", lambda: {"scores": [np.timedelta64(1), np.timedelta64(2)]}, "timedelta64"),
    ("a number", lambda: {"scores": 5}, "give a dict"),
    ("a text", lambda: {"scores": "abc"}, "give a dict"),
    ("a set", lambda: {"scores": {1, 2}}, "give a dict"),
    ("missing value", lambda: {"scores": pl.Series([1, None])}, "missing"),
    ("text column", lambda: {"scores": pl.Series(["1", "2"])}, "String"),
    ("three columns", lambda: {"scores": pl.DataFrame({"a": [1], "b": [1], "c": [1]})}, "name"),
    ("unknown column", lambda: {"scores": pl.DataFrame({"a": ["x"], "b": [1]}),
                                "score_column": "votes"}, "no column 'votes'"),
    ("column of a dict", lambda: {"score_column": "votes"}, "data frames"),
    ("null label", lambda: {"scores": pl.DataFrame({"a": ["x", None], "b": [1, 2]})}, "missing"),
    ("unknown mechanism", lambda: {"method": "magic"}, "unknown; choose one of"),
    ("unknown noise", lambda: {"method": wn.Lipschitz(noise="normal")}, "unknown"),
    ("noise missing", lambda: {"method": "lipschitz"}, "needs noise"),
    ("delta unwanted", lambda: {"delta": 1e-6}, "leave out delta"),
    ("delta missing", lambda: {"method": "large-margin"}, "needs delta"),
    ("delta one", lambda: {"method": "large-margin", "delta": 1}, "delta=1 is not below 1"),
    ("k for large margin", lambda: {"method": "large-margin", "delta": 1e-6, "k": 2}, "one"),
    ("thresholds", lambda: {"method": wn.LargeMargin(thresholds="x")}, "unknown"),
    ("sensitivity zero", lambda: {"sensitivity": 0}, "not positive"),
    ("relation", lambda: {"relation": "both"}, "unknown"),
    ("seed", lambda: {"seed": "x"}, "not an integer"),
    ("scale", lambda: {"sensitivity": 1e-299}, "orders of magnitude"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), [case[1:] for case in BAD], ids=[c[0] for c in BAD])
def test_bad_input_is_refused_clearly_and_costs_nothing(
    make: Callable[[], dict[str, Any]], message: str
) -> None:
    budget = wn.Budget(1.0)

    def asked() -> Any:
        return chosen({"scores": CLEAR, "epsilon": 0.5, "budget": budget, **make()})

    with pytest.raises(wn.InputError, match=message):
        asked()
    assert budget.spent.amount == 0
    assert budget.events == ()


def chosen(arguments: dict[str, Any]) -> Any:
    """A selection; what describes the scores is said where they are sealed."""
    about = ("labels", "score_column", "sensitivity", "relation")
    said = {name: arguments.pop(name) for name in about if name in arguments}
    scores = arguments.pop("scores")
    return wn.select(wn.seal_scores(scores, **said) if said else scores, **arguments)


@given(st.lists(st.integers(10**15, 10**15 + 10**6), min_size=2, max_size=6), st.integers(0, 4))
def test_no_error_message_contains_a_score(scores: list[int], kind: int) -> None:
    attempts: list[dict[str, Any]] = [
        {"scores": [*scores, None]},
        {"scores": [*map(float, scores), NAN]},
        {"scores": scores, "k": 99},
        {"scores": scores, "labels": ["a"] * len(scores)},
        {"scores": [*scores, 0.5, 2**53 + 1]},
    ]
    with pytest.raises(wn.InputError) as caught:
        chosen({"epsilon": 1.0, **attempts[kind]})
    assert not any(str(score) in str(caught.value) for score in scores)


@given(st.dictionaries(st.text(max_size=5), st.integers(-(2**62), 2**62), min_size=1, max_size=8))
def test_the_value_is_always_one_of_the_candidates(scores: dict[str, int]) -> None:
    assert wn.select(scores, epsilon=0.3, seed=2).value in scores


def test_nothing_is_drawn_before_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    from winnow.core.tape import Randomness

    def no_tape(self: Randomness) -> None:
        raise AssertionError("noise was asked for before the charge")

    monkeypatch.setattr(Randomness, "tape", no_tape)
    with pytest.raises(wn.BudgetExceeded):
        wn.select(CLEAR, epsilon=2.0, budget=wn.Budget(1.0))


def test_a_session_adds_up_and_refuses_what_passes_the_cap() -> None:
    with wn.Session(epsilon=1.0, seed=3) as session:
        for _ in range(4):
            assert session.select(CLEAR, epsilon=0.25).receipt.randomness == "seeded"
        with pytest.raises(wn.BudgetExceeded, match="left"):
            session.select(CLEAR, epsilon=0.01)
    assert "used" in repr(session)


def test_seeded_calls_of_a_session_differ_from_each_other() -> None:
    session = wn.Session(epsilon=10.0, seed=3)
    picks = [session.select([0] * 50, epsilon=0.1).value for _ in range(10)]
    assert len(set(picks)) > 3


def test_a_session_has_one_relation() -> None:
    session = wn.Session(epsilon=1.0, relation="substitution")
    assert session.select(CLEAR, epsilon=0.5).guarantee.relation == "substitution"
    with pytest.raises(wn.RelationMismatch, match="substitution"):
        session.select(wn.seal_scores(CLEAR, relation="add-remove"), epsilon=0.1)
    with pytest.raises(wn.RelationMismatch):
        wn.select(CLEAR, epsilon=0.1, budget=session.budget)


def test_a_zcdp_session_holds_more_exponential_selections_than_a_pure_one() -> None:
    pure, zcdp = wn.Session(epsilon=1.0), wn.Session(epsilon=1.0, delta=1e-6)

    def capacity(session: wn.Session) -> int:
        done = 0
        try:
            while True:
                session.select(CLEAR, epsilon=0.02, method="exponential")
                done += 1
        except wn.BudgetExceeded:
            return done

    assert capacity(pure) == 50
    assert capacity(zcdp) > 400


def test_sealed_scores_can_be_selected_from_twice() -> None:
    utility = wn.Utility.declare(1.0)
    sealed = wn.seal_scores(CLEAR, utility)
    assert wn.select(sealed, epsilon=1.0).value == "apple"
    with pytest.raises(wn.InputError, match="sealed already"):
        wn.select(wn.seal_scores(sealed, sensitivity=2.0), epsilon=1.0)
    with pytest.raises(wn.InputError, match="sealed already"):
        wn.select(wn.seal_scores(sealed, labels=["a", "b", "c"]), epsilon=1.0)


def test_parameters_are_kept_as_they_were_written() -> None:
    """What is worked out once for a loop does not mix up 1, 1.0 and True, or 0.3 and its binary."""
    votes = {"a": 3, "b": 2}
    for epsilon in (1, 1.0, Fraction(1), 1, 1.0):
        charged = wn.select(votes, epsilon=epsilon, seed=1).receipt.event
        assert type(charged.epsilon) is type(epsilon)
    written = wn.select(wn.seal_scores(votes, sensitivity=(0, Fraction(0.3))), epsilon=1, seed=1)
    rounded = wn.select(wn.seal_scores(votes, sensitivity=(0, 0.3)), epsilon=1, seed=1)
    assert written.guarantee == rounded.guarantee
    assert declared((0, 0.3), False, "add-remove").up != Fraction(0.3)
    for wrong in (True, [1.0], {"epsilon": 1}, np.array([1.0]), "1"):
        for _ in range(2):  # an error is not kept, and comes again
            with pytest.raises(ParameterError, match="epsilon"):
                wn.select(votes, epsilon=wrong)
            with pytest.raises(ParameterError, match="epsilon"):
                wn.top_k(votes, k=1, epsilon=wrong)


def test_a_budget_is_charged_anew_by_every_call_with_the_same_parameters() -> None:
    budget = wn.Budget(epsilon=1.0)
    for _ in range(2):
        wn.select({"a": 3, "b": 2}, epsilon=0.5, budget=budget)
    with pytest.raises(wn.BudgetExceeded):
        wn.select({"a": 3, "b": 2}, epsilon=0.5, budget=budget)
