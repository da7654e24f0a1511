"""One question has one answer, however it is asked; and it is the best number that is known."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.releasing import flat_release
from winnow.core.workloads.written import read_workload, written_workload
from winnow.release.value import AnsweredSynthetic

SIZES = {"age": 9, "school": 6, "work": 5, "house": 3, "sex": 2}
ROWS = 8_000
HOW: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "seed": 3}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    generator = np.random.default_rng(2)
    age = generator.integers(0, 9, ROWS)
    school = np.where(age < 2, 0, generator.integers(0, 6, ROWS))
    work = np.where(school == 0, 0, (school + generator.integers(0, 2, ROWS)) % 5)
    house, sex = age // 3, generator.integers(0, 2, ROWS)
    return pd.DataFrame({"age": age, "school": school, "work": work, "house": house, "sex": sex})


@pytest.fixture(scope="module")
def people(rows: pd.DataFrame) -> wn.SealedTable:
    return wn.read_table(rows, schema=wn.Schema.parse(SIZES))


RELEASES = {
    "tables": lambda t: flat_release(t, wn.marginals(2), method="tables", **HOW),
    "mwem": lambda t: flat_release(t, wn.marginals(2), method="mwem", **HOW),
    "adaptive": lambda t: flat_release(t, wn.marginals(2), method="adaptive", **HOW),
    "graphical": lambda t: flat_release(t, wn.marginals(2), method="graphical", **HOW),
    "wide": lambda t: flat_release(
        t, wn.marginals(2), method=wn.Graphical(), **HOW | {"epsilon": 5.0}
    ),
    "wide, rounds": lambda t: flat_release(
        t, wn.marginals(2), method=wn.Graphical(rounds=4), **HOW
    ),
    "wide, some": lambda t: flat_release(
        t, wn.marginals(2), method=wn.Graphical(model_cells=100), **HOW | {"epsilon": 20.0}
    ),
}


@pytest.fixture(scope="module", params=RELEASES)
def value(request: pytest.FixtureRequest, people: wn.SealedTable) -> Any:
    return RELEASES[request.param](people).value


def test_all_ways_to_ask_for_a_table_give_the_same_numbers(value: Any) -> None:
    first = value.answers()
    for workload in (wn.marginals(2), wn.marginals(2).over(value.schema), value.workload):
        np.testing.assert_array_equal(value.answers(workload), first)
        np.testing.assert_allclose(value.counts(workload), value.total * first)
        np.testing.assert_allclose(value.to_columns(workload)["estimate"], value.total * first)
        held = [row["answer"] for row in value.table(workload)]
        np.testing.assert_allclose(held, first)
    place = 0
    for pair in combinations(SIZES, 2):
        table = value.marginal(*pair)
        inside = first[place : place + table.size].reshape(table.shape)
        np.testing.assert_allclose(table, inside, atol=1e-15)
        np.testing.assert_allclose(value.marginal(*pair[::-1]), inside.T, atol=1e-15)
        place += table.size


def test_the_fit_says_how_far_the_model_is_from_the_answers(value: Any) -> None:
    if value.fit is None:  # of MWEM, which fits nothing
        np.testing.assert_array_equal(value.answers(), value.fitted())
        return
    apart = np.abs(value.answers() - value.fitted()) / 2
    ends = value.workload.offsets[1:-1]
    seen = np.mean([own.sum() for own in np.split(apart, ends)])
    assert value.fit.distance == pytest.approx(seen, abs=1e-12)


def test_errors_are_told_for_a_workload_however_it_is_named(value: Any) -> None:
    own, named = value.to_columns(), value.to_columns(wn.marginals(2).over(value.schema))
    if "standard_error" in own:
        assert list(own) == list(named)
        for name in ("standard_error", "estimate"):
            np.testing.assert_array_equal(own[name], named[name])


def test_a_file_has_the_answers_that_a_user_sees(value: Any) -> None:
    document = json.loads(json.dumps(value.to_dict()))
    if "answers" in document:
        np.testing.assert_allclose(document["answers"], value._fractions(value.workload))
    if value.fit is not None:
        assert document["fit"]["gap"] == value.fit.gap


def test_a_release_that_was_saved_answers_as_before(value: Any) -> None:
    again: Any = wn.SyntheticDistribution.from_dict(json.loads(json.dumps(value.to_dict())))
    assert type(again) is type(value)
    for workload in (wn.marginals(2), wn.marginals(1), wn.marginals(["sex", "age"])):
        np.testing.assert_allclose(again.answers(workload), value.answers(workload), atol=1e-12)
    if "released" in value.to_dict():
        one, two = value.to_columns(), again.to_columns()
        assert list(one) == list(two)
        for name in {"estimate", "standard_error", "unbiased", "low", "high"} & set(one):
            np.testing.assert_allclose(one[name], two[name], rtol=1e-9, atol=1e-7)
    if isinstance(value, AnsweredSynthetic):
        assert again.errors.to_dict() == pytest.approx(value.errors.to_dict())
        assert again.to_dict().keys() == value.to_dict().keys()


@pytest.mark.parametrize(
    "asked",
    [wn.prefixes("age"), wn.where(age=[0, 4], sex=1), wn.ranges("age") * wn.marginals("sex")],
    ids=["prefixes", "where", "products"],
)
def test_a_saved_release_of_other_queries_answers_as_before(
    asked: Any, people: wn.SealedTable
) -> None:
    value: Any = flat_release(people, asked, **HOW).value
    again: Any = wn.SyntheticDistribution.from_dict(json.loads(json.dumps(value.to_dict())))
    np.testing.assert_allclose(again.answers(), value.answers(), atol=1e-12)
    np.testing.assert_allclose(again.answers(asked), value.answers(asked), atol=1e-12)
    np.testing.assert_array_equal(again.standard_errors, value.standard_errors)
    assert again.workload.label(0) == value.workload.label(0)


def test_every_kind_of_query_is_written_and_read() -> None:
    schema, random = wn.Schema.parse({"a": 3, "b": 4}), np.random.default_rng(5)
    every = (
        wn.marginals(2)
        + wn.ranges("a")
        + wn.prefixes("b") * wn.marginals("a")
        + wn.where(a=[0, 2], b=1)
        + wn.queries(random.random((3, 12)) < 0.5)
        + wn.queries(random.integers(-50, 51, (2, 12)) / 50, grid=50, bound=1)
    )
    workload, weights = every.over(schema), random.dirichlet(np.ones(12))
    again = read_workload(schema, json.loads(json.dumps(written_workload(workload))))
    assert [type(part) for part in again.parts] == [type(part) for part in workload.parts]
    np.testing.assert_array_equal(again.answers(weights), workload.answers(weights))
    assert [again.label(i) for i in range(again.size)] == [
        workload.label(i) for i in range(workload.size)
    ]


def test_rows_are_drawn_from_the_model_that_fitted_tells_of(value: Any) -> None:
    drawn = value.sample(40_000, seed=1)
    place = 0
    for a, b in combinations(SIZES, 2):
        size = SIZES[a] * SIZES[b]
        cells = np.bincount(drawn[a] * SIZES[b] + drawn[b], minlength=size) / 40_000
        said = value.fitted()[place : place + size]
        # six standard errors of a normal cell, and more for small ones; the seed is fixed
        assert (np.abs(cells - said) <= 6 * np.sqrt(said / 40_000) + 1e-3).all()
        place += size


@pytest.mark.parametrize("method", ["tables", "wide"])
def test_smaller_tables_come_from_the_released_ones_with_their_errors(
    method: str, people: wn.SealedTable, rows: pd.DataFrame
) -> None:
    value = RELEASES[method](people).value
    columns = value.to_columns(wn.marginals(1))
    assert np.isfinite(columns["standard_error"]).all()
    truth = np.concatenate([np.bincount(rows[c], minlength=k) for c, k in SIZES.items()])
    # standard errors, and what the answer was moved by; the seed is fixed
    assert (np.abs(columns["estimate"] - truth) <= 9 * columns["standard_error"] + 1).all()
    three = value.to_columns(wn.marginals(3))
    assert "standard_error" not in three  # only the model speaks of these
    np.testing.assert_allclose(
        value.counts(wn.marginals(3)), value.total * value.fitted(wn.marginals(3))
    )


def test_queries_that_were_released_are_answered_by_their_numbers(people: wn.SealedTable) -> None:
    asked = wn.prefixes("age")
    value = flat_release(people, asked, **HOW).value
    np.testing.assert_array_equal(value.answers(wn.prefixes("age")), value.answers())
    assert "standard_error" in value.to_columns(wn.prefixes("age"))


def test_more_budget_makes_model_and_answers_better(
    people: wn.SealedTable, rows: pd.DataFrame
) -> None:
    """Of three draws each, all pairs: ten times epsilon leaves less than half of the error."""
    workload = wn.marginals(2).over(people.schema)
    truth = np.concatenate([
        np.bincount(rows[a] * SIZES[b] + rows[b], minlength=SIZES[a] * SIZES[b])
        for a, b in combinations(SIZES, 2)
    ]) / ROWS  # fmt: skip
    for method in ("auto", wn.Graphical()):
        before: Any = np.inf
        for epsilon in (0.5, 5.0, 50.0):
            found = []
            for seed in range(3):
                asked: dict[str, Any] = {"epsilon": epsilon, "delta": 1e-6, "seed": seed}
                value: Any = wn.release(people, workload, method=method, **asked).value
                found.append(
                    [np.abs(each - truth).mean() for each in (value.answers(), value.fitted())]
                )
            mean = np.mean(found, axis=0)
            assert (mean < 0.5 * before).all() or (mean < 1e-6).all()
            before = np.maximum(mean, 1e-12)
