"""Additive models and class weights: what a person can move, what is charged, what is predicted."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.audited import chi_square_p_value, hockey_stick, model_of
from reference.inside import Sealed, Tape, open_sealed
from reference.learning import learned
from reference.running import paid_key, released
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.learn.additive import AdditiveFamily, balanced, variants_of
from winnow.learn.crossing.additive import AdditiveModel
from winnow.learn.crossing.rows import LabelledRows, SealedLabelled, rule_scores
from winnow.learn.rules import rules_over
from winnow.learn.settings import sized_model
from winnow.learn.weights import whole_weights
from winnow.privacy import Compose, DiscreteLaplace, PureDP, Repeat, single_use_grant
from winnow.select.mechanisms.lipschitz import PermuteAndFlip

ROWS = list(product((0, 1), (0, 1), (0, 1)))
"""All rows of two columns of two values, and a class."""
RULES = rules_over("stumps", wn.Schema.parse({"a": 2, "b": 2}))


def labelled(rows: list[tuple[int, ...]], relation: Any, **how: Any) -> SealedLabelled:
    columns = np.array(rows, np.int32).reshape(-1, 3).T
    held = LabelledRows(tuple(columns[:2]), columns[2], np.ones(len(rows), np.int64))
    return SealedLabelled(Sealed(held, "rows"), ("no", "yes"), wn.Relation.parse(relation), **how)


def neighbours(relation: wn.Relation) -> list[tuple[list[Any], list[Any]]]:
    base = [(0, 0, 0), (1, 1, 1), (0, 1, 1)]
    if relation is wn.Relation.ADD_REMOVE:
        return [(base, [*base, new]) for new in ROWS]
    return [([*base, old], [*base, new]) for old in ROWS for new in ROWS if old != new]


@pytest.mark.parametrize("relation", list(wn.Relation))
def test_weighted_scores_of_neighbours_are_as_close_as_promised(relation: wn.Relation) -> None:
    """And a twin that forgets the weights in the sensitivity is caught."""
    weights = (1000, 250)
    sides = [
        [
            open_sealed(rule_scores(labelled(rows, relation, class_weights=weights), RULES).values)
            for rows in pair
        ]
        for pair in neighbours(relation)
    ]
    first, second = (np.array(side, np.int64) for side in zip(*sides, strict=True))
    honest = labelled([], relation, class_weights=weights).utility
    broken = labelled([], relation).utility
    losses = []
    for utility in (honest, broken):
        model = model_of(PermuteAndFlip(1.0), utility)
        p, q = (np.exp(model.rows(side)) for side in (first, second))
        losses.append(max(hockey_stick(p, q, 1.0).max(), hockey_stick(q, p, 1.0).max()))
    assert losses[0] <= 1e-9 < 0.1 < losses[1]
    moved = np.abs(second - first)
    assert moved.max() == max(honest.up, honest.down) == 1000


@pytest.mark.parametrize("relation", list(wn.Relation))
def test_no_neighbour_moves_the_tables_further_than_the_noise_is_scaled_to(relation) -> None:
    """The norms of the docstring are reached, so a smaller scale would not do."""
    furthest = np.zeros(2)
    for pair in neighbours(relation):
        one, other = (
            np.concatenate([_table(rows, column).ravel() for column in (0, 1)]) for rows in pair
        )
        moved = (other - one).astype(float)
        furthest = np.maximum(furthest, [np.abs(moved).sum(), np.sqrt((moved**2).sum())])
    held = labelled([], relation)
    l1 = AdditiveModel("laplace", 1, 1, 2).scale(held)
    l2 = AdditiveModel("gaussian", 1, 1, 2).variance(held)
    assert furthest[0] == l1 == 2 * relation.people
    assert furthest[1] == pytest.approx(math.sqrt(l2))
    several = replace(held, rows_per_person=3)
    assert AdditiveModel("laplace", 1, 1, 2).scale(several) == 3 * l1
    assert AdditiveModel("gaussian", 1, 1, 2).variance(several) == 9 * l2


def _table(rows: list[tuple[int, ...]], column: int) -> Any:
    table = np.zeros((2, 2), np.int64)
    for row in rows:
        table[row[2], row[column]] += 1
    return table


def test_the_tables_have_the_noise_that_is_charged() -> None:
    """1,600 cells of noise: a chi-square test that a right program fails once in 10,000 seeds."""
    held = labelled([(0, 0, 0)] * 5, "add-remove")
    model = AdditiveModel("laplace", Fraction(3, 2), 1, 2)
    truth = [np.array([[5, 0], [0, 0]])] * 2
    drawn = np.concatenate(
        [
            (table - own).ravel()
            for seed in range(200)
            for table, own in zip(
                model._tables(held, (2, 2), paid_key(model, held.relation, seed)),
                truth,
                strict=True,
            )
        ]
    )
    q = math.exp(-1 / 3)  # scale 3/2 times two tables
    expected = [(1 - q) / (1 + q) * q ** abs(z) for z in range(-6, 7)]
    observed = np.array([(drawn == z).sum() for z in range(-6, 7)] + [(abs(drawn) > 6).sum(), 0])
    assert chi_square_p_value(observed, np.array([*expected, 1 - sum(expected)])) > 1e-4


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_every_cell_of_every_table_has_noise_of_its_own(law: str) -> None:
    """Of no rows the tables are the noise: with scales of 10^6 no two cells are alike."""
    model, held = AdditiveModel(law, 10**6, 1, 2), labelled([], "substitution")
    for seed in range(10):
        tables = model._tables(held, (2, 2), paid_key(model, held.relation, seed))
        cells = np.concatenate([table.ravel() for table in tables])
        assert len(set(cells.tolist())) == 8


@pytest.mark.parametrize("relation", list(wn.Relation))
def test_the_choice_knows_what_rows_weigh_by_the_noisy_sizes(
    relation: wn.Relation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest weight is a thousand, and a person has three rows: else epsilon is passed."""
    seen: list[wn.Utility] = []

    def drawn(self: Any, universe: Universe, utility: wn.Utility, tape: Tape) -> Drawn:
        seen.append(utility)
        return Drawn([(0, 0)])

    monkeypatch.setattr(PermuteAndFlip, "_draw", drawn)
    held = labelled(ROWS, relation, rows_per_person=3)
    for even in (True, False):
        model = AdditiveModel("laplace", 1, 1, 2, even)
        grant = single_use_grant(model.promise(relation).event)
        released(model, held, grant, Tape.seeded(1), (2, 2))
    assert [each.relation for each in seen] == [relation] * 2
    assert [each.one_sided for each in seen] == [3000, 3]


def test_what_is_charged_and_that_the_smaller_noise_is_taken() -> None:
    held = labelled(ROWS, "substitution")
    few = sized_model(held, 2, epsilon=6, delta=0, balanced=False, accountant="best")
    event = few.model.promise(held.relation).event
    # two tables, from each of which a replaced person takes and to each of which they add
    tables = Repeat(DiscreteLaplace(Fraction(4, 5), held.relation), 4)
    assert event == Compose((tables, PureDP(Fraction(1), held.relation)))
    assert few.guarantee.epsilon == 6 and few.guarantee.delta == 0 and few.reason == ""
    how = {"epsilon": 1, "delta": 1e-6, "balanced": False}
    narrow = sized_model(held, 2, accountant="best", **how)
    assert narrow.model.law == "laplace" and narrow.guarantee.delta == 0
    wide = sized_model(held, 40, accountant="best", **how)
    assert wide.model.law == "gaussian" and 0 < wide.guarantee.delta <= 1e-6
    assert wide.guarantee.epsilon <= 1 and "Laplace" in wide.reason
    assert sized_model(held, 40, accountant="pure", **how).model.law == "laplace"


def shop(n: int = 3000, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    kind = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    seen = {f"c{i}": np.where(rng.random(n) < 0.7, kind, rng.integers(0, 3, n)) for i in range(4)}
    return pd.DataFrame(
        {**seen, "noise": rng.integers(0, 2, n), "kind": np.array(["a", "b", "c"])[kind]}
    )


SCHEMA: dict[str, Any] = {
    **{f"c{i}": 3 for i in range(4)}, "noise": 2, "kind": {"values": ["a", "b", "c"]},
}  # fmt: skip


def test_more_than_two_classes_are_told_apart_and_the_model_is_saved(tmp_path: Path) -> None:
    found = learned(shop(), "kind", method="additive", epsilon=2.0, schema=SCHEMA, seed=1)
    model = found.value
    assert isinstance(model, wn.AdditivePredictor) and found.guarantee.epsilon <= 2
    fresh = shop(seed=4)
    assert model.score(fresh, fresh["kind"]) > 0.8
    assert model.classes == ("a", "b", "c") and model.hypotheses == variants_of(5)
    path = tmp_path / "model.json"
    path.write_text(found.to_json())
    again = wn.load_predictor(path)
    assert (again.predict(fresh) == model.predict(fresh)).all() and again.text == model.text
    assert "c0" in model.text and model.n_features_in_ == 5


def test_balanced_classes_raise_the_share_of_the_rare_one() -> None:
    options = {"method": "additive", "epsilon": 4.0, "schema": SCHEMA, "seed": 1}
    plain = learned(shop(), "kind", **options)
    even = learned(shop(), "kind", class_weights="balanced", **options)
    assert "balanced" in even.receipt.mechanism
    fresh = shop(seed=4)

    def worst(model: Any) -> float:
        right = model.predict(fresh) == fresh["kind"].to_numpy()
        return float(right[fresh["kind"] == "c"].mean())

    assert worst(even.value) >= worst(plain.value)
    declared = learned(shop(), "kind", class_weights={"a": 1, "b": 2, "c": 6}, **options)
    assert worst(declared.value) >= worst(plain.value)


def test_a_rule_follows_the_class_that_counts_more() -> None:
    rows = [(0, 0, 0)] * 600 + [(1, 0, 1)] * 100 + [(1, 0, 0)] * 200
    table = pd.DataFrame(rows, columns=["a", "b", "y"])
    options = {
        "method": "stumps",
        "epsilon": 5.0,
        "schema": {"a": 2, "b": 2, "y": 2},
        "seed": 2,
    }
    plain, weighed = (
        learned(table, "y", class_weights=weights, **options).value for weights in (None, (1, 8))
    )
    new = pd.DataFrame({"a": [1], "b": [0]})
    assert (plain.predict(new).tolist(), weighed.predict(new).tolist()) == ([0], [1])
    assert weighed.bound is None and plain.bound is not None


def test_arrays_take_cuts_and_several_classes() -> None:
    X = np.arange(3000.0).reshape(1000, 3) % 97
    y = np.digitize(X[:, 1], [30, 60])
    found = learned(X, y, method=wn.Additive(cuts=[30, 60]), classes=(0, 1, 2), epsilon=4.0, seed=1)
    assert found.value.score(X, y) > 0.9


def test_an_unknown_value_has_no_points_and_nobody_is_no_error() -> None:
    model = learned(shop(), "kind", method="additive", epsilon=4.0, schema=SCHEMA, seed=1).value
    odd = pd.DataFrame({f"c{i}": [7, 1] for i in range(4)} | {"noise": [0, 0]})
    assert model.predict(odd).tolist()[1] == "b"
    nobody = learned(
        pd.DataFrame({name: [] for name in SCHEMA}), "kind", method="additive", epsilon=1.0,
        schema=SCHEMA, relation="add-remove",
    )  # fmt: skip
    assert nobody.value.classes == ("a", "b", "c")


def test_weights_are_thousandths_of_the_largest() -> None:
    assert whole_weights((1, 4), ("no", "yes")) == (250, 1000)
    assert whole_weights({"yes": 1, "no": 1e-9}, ("no", "yes")) == (1, 1000)
    assert balanced((100, 400, 1)) == (10, 2, 1000)
    family = AdditiveFamily.of([np.array([[-5, -9], [3, -50]])], 4.0)
    assert family.sizes == (6, 6) and len(family.variants) == variants_of(1)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"method": "additive", "class_weights": (1, 2)}, "2 class_weights for 3"),
        ({"method": "additive", "class_weights": "even"}, "give a number for each"),
        ({"method": "additive", "class_weights": {"a": 1}}, "lack 'b'"),
        ({"method": "additive", "class_weights": (1, 0, 2)}, "not positive"),
        ({"method": "additive", "epsilon": 0}, "not above 0"),
        ({"method": "stumps"}, "additive"),
    ],
)
def test_bad_requests_are_refused_before_anything_is_charged(how: Any, message: str) -> None:
    budget = wn.Budget(1.0)
    request = {"epsilon": 1.0, "schema": SCHEMA, "relation": "add-remove"} | how
    with pytest.raises(wn.InputError, match=message):
        learned(shop(50), "kind", budget=budget, **request)
    wn.select({"a": 3, "b": 1}, epsilon=1.0, budget=budget)  # all is left


def test_a_budget_is_charged_once_before_the_tables_are_drawn() -> None:
    held = labelled(ROWS, "add-remove")
    model = AdditiveModel("laplace", 1, 1, 2)
    grant = single_use_grant(model.promise(held.relation).event)
    released(model, held, grant, Tape.seeded(1), (2, 2))
    with pytest.raises(Exception, match=r"redeem|used|spent|grant"):
        released(model, held, grant, Tape.seeded(2), (2, 2))


def test_gaussian_tables_are_released_at_their_delta() -> None:
    wide = pd.DataFrame({f"x{i}": [0, 1] * 40 for i in range(30)} | {"y": [0, 1] * 40})
    schema = dict.fromkeys(wide.columns, 2)
    found = learned(wide, "y", method="additive", epsilon=1.0, delta=1e-6, schema=schema)
    assert "Gaussian" in found.receipt.mechanism
    assert found.guarantee.epsilon <= 1.0 and 0 < found.guarantee.delta <= 1e-6
