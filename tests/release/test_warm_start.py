"""Tables of single columns before the rounds: their law, their price, and what they are for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.audited import FALSE_ALARM, chi_square_p_value
from reference.inside import Sealed, Tape
from reference.releasing import flat_release
from reference.running import paid_key
from winnow import Relation
from winnow.core.workloads.tables import marginals
from winnow.errors import ParameterError
from winnow.privacy import Compose, DiscreteLaplace, Gaussian, Repeat
from winnow.release.rounds.audit.warm_start import (
    GAUSSIAN,
    LAPLACE,
    StartModel,
    broken_models,
    enumerate_start,
)
from winnow.release.rounds.crossing.rounds import SelectAndMeasure
from winnow.release.rounds.crossing.run_parts import Task
from winnow.release.rounds.kernels.distribution import Distribution
from winnow.release.rounds.mwem import Mwem
from winnow.release.rounds.mwem_plan import mwem_settings
from winnow.release.rounds.warm_start import independent_start, single_columns
from winnow.release.terms import ReleaseTerms

SCHEMA = wn.Schema.parse({"a": 2, "b": 3})
WORKLOAD = marginals(2).over(SCHEMA)


@pytest.mark.slow
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("mechanism", [GAUSSIAN, LAPLACE], ids=lambda m: m.measurement)
def test_a_table_and_a_round_after_it_keep_to_what_is_charged(
    mechanism: SelectAndMeasure, relation: Relation
) -> None:
    result = enumerate_start(mechanism, StartModel.of(mechanism, relation), relation)
    assert result.passed, result


@pytest.mark.parametrize("place", range(2))
def test_a_table_priced_as_if_one_cell_moved_is_caught(place: int) -> None:
    mechanism, broken = broken_models()[place]
    assert not enumerate_start(mechanism, broken, Relation.SUBSTITUTION).passed


@pytest.mark.parametrize("measurement", ["gaussian", "laplace"])
def test_first_tables_have_the_noise_of_the_model(measurement: str) -> None:
    """False alarm below 1e-8; the seed is fixed."""
    mechanism = SelectAndMeasure(1.0, 2.0, 1, measurement, first=(0.75, 1.5))
    relation = Relation.SUBSTITUTION
    root, draws = Tape.seeded(11), 1500
    tables = single_columns(SCHEMA)
    found = []
    for draw in range(draws):
        run = mechanism.open(
            [Task(Sealed(np.full(6, 4), "counts"), WORKLOAD, 1)],
            paid_key(mechanism, relation, root.child(f"draw-{draw}")),
            relation=relation,
            first=Sealed(np.array([12, 12, 8, 8, 8]), "columns"),
            tables=tables,
        )
        assert [len(table) for table in run.first] == [2, 3]
        found.append([run.first[0][1] - 12, run.first[1][2] - 8])
    far = np.arange(-60, 61)
    for drawn, noise in zip(np.array(found).T, mechanism.table_noises(relation, 1), strict=True):
        size = float(noise.size)
        logs = -(far**2) / (2 * size) if measurement == "gaussian" else -np.abs(far) / size
        chances = np.exp(logs) / np.exp(logs).sum()
        observed = np.bincount(np.clip(drawn, -60, 60) + 60, minlength=121)
        assert chi_square_p_value(np.append(observed, 0), chances) >= FALSE_ALARM


def test_the_promise_names_rows_tables_and_rounds() -> None:
    mechanism = SelectAndMeasure(0.1, 30, 7, "gaussian", 12.5, first=(20, 20, 40))
    event = mechanism.promise(Relation.ADD_REMOVE).event
    assert isinstance(event, Compose)
    before, loop = event.events
    relation = Relation.ADD_REMOVE
    twice = Repeat(Gaussian(20, relation), 2)
    assert before == Compose((Gaussian(12.5, relation), Compose((twice, Gaussian(40, relation)))))
    assert loop == SelectAndMeasure(0.1, 30, 7).promise(relation).event
    assert "the number of rows, then 3 tables, then 7 rounds" in mechanism.name


def test_the_plan_charges_what_the_mechanism_promises() -> None:
    for delta in (0.0, 1e-6):
        for public in (20_000, None):
            relation = Relation.ADD_REMOVE if public is None else Relation.SUBSTITUTION
            planned = mwem_settings(
                wn.MWEM(), ReleaseTerms(WORKLOAD, 1.0, delta, relation, total=public)
            )
            assert isinstance(planned.mechanism, SelectAndMeasure)
            assert len(planned.mechanism.first) == 2
            assert planned.event == planned.mechanism.promise(relation).event
            assert planned.guarantee.epsilon <= 1.0
            assert "10 % of the budget for the tables of single columns" in planned.reason


def test_papers_updates_and_tables_that_are_noise_start_uniform() -> None:
    def first(rows: int = 20_000, **given: Any) -> tuple[object, ...]:
        planned = mwem_settings(wn.MWEM(**given), ReleaseTerms(WORKLOAD, 1.0, total=rows))
        assert isinstance(planned.mechanism, SelectAndMeasure)
        return planned.mechanism.first

    assert first() and first(update="sign", warm_start=0.1)
    for given in (
        {"update": "sign"}, {"update": "hardt"}, {"index": "flat"}, {"universe": 4},
        {"rows": 100}, {"warm_start": 0},
    ):  # fmt: skip
        assert first(**given) == ()
    assert first(rows=100, warm_start=0.2)  # who asks for it gets it


def test_laplace_tables_cost_a_share_of_epsilon() -> None:
    planned = mwem_settings(wn.MWEM(warm_start=0.25), ReleaseTerms(WORKLOAD, 1.0, total=20_000))
    assert isinstance(planned.mechanism, SelectAndMeasure)
    first = planned.mechanism.first
    assert sum(1 / float(each) for each in first) == pytest.approx(0.25, rel=1e-4)
    assert DiscreteLaplace(first[0], Relation.SUBSTITUTION) in planned.event.events[0].events  # type: ignore[union-attr]


def test_a_start_is_what_its_tables_say_and_gives_up_no_cell() -> None:
    weights = independent_start(
        [np.array([900, 100]), np.array([-5, 0, 1005])], [3.0, 3.0], 1000
    ).reshape(2, 3)
    assert weights.min() > 0
    assert weights.sum() == pytest.approx(1, abs=1e-6)
    assert weights.sum(axis=1)[0] == pytest.approx(0.9, abs=0.01)
    assert weights.sum(axis=0)[2] > 0.97
    assert np.linalg.matrix_rank(weights, tol=1e-6) == 1


def test_a_distribution_that_starts_elsewhere_answers_and_averages_from_there() -> None:
    start = np.arange(1.0, 7.0)
    distribution = Distribution(WORKLOAD, 100, start)
    assert np.allclose(distribution.answers(), start / 21)
    distribution.update(0, 0.5)
    moved = distribution.weights()
    assert np.allclose(distribution.average(), (start / 21 + moved) / 2)
    assert np.allclose(distribution.average(start=False), moved)


def test_rounds_from_tables_know_the_columns_that_no_round_chose() -> None:
    """One round, little noise: whatever it measures, the columns come out as they are."""
    rng = np.random.default_rng(3)
    people = pd.DataFrame(
        {"a": (rng.random(5000) < 0.1) * 1, "b": rng.choice(3, 5000, p=[0.7, 0.2, 0.1])}
    )
    table = wn.read_table(people, schema=SCHEMA)
    told = {"epsilon": 2.0, "delta": 1e-6, "rounds": 1, "seed": 4}
    true = people["b"].value_counts(normalize=True).sort_index().to_numpy()
    warm = flat_release(table, wn.marginals(2), method=wn.MWEM(warm_start=0.5), **told)
    cold = flat_release(table, wn.marginals(2), method=wn.MWEM(warm_start=0), **told)
    assert np.abs(warm.value.marginal("b") - true).max() < 0.02
    assert np.abs(cold.value.marginal("b") - true).max() > 0.04
    assert "2 tables, then 1 round" in warm.receipt.mechanism


@pytest.mark.parametrize(
    "given",
    [
        {"warm_start": 1.5}, {"warm_start": -0.1}, {"warm_start": float("nan")},
        {"warm_start": 0.1, "universe": 3},
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_start_from_tables_is_refused(given: dict[str, object]) -> None:
    table = wn.read_table(pd.DataFrame({"a": [0, 1], "b": [0, 2]}), schema=SCHEMA)
    with pytest.raises(ParameterError, match="warm_start"):
        flat_release(table, wn.marginals(2), epsilon=1.0, **given)  # type: ignore[arg-type]


def test_counts_of_first_tables_are_given_where_they_are_measured_only() -> None:
    mechanism = SelectAndMeasure(1.0, 2.0, 1, first=(3.0,))
    key = paid_key(mechanism, Relation.SUBSTITUTION)
    with pytest.raises(ParameterError, match="1 first tables"):
        mechanism.open(
            [Task(Sealed(np.full(6, 4), "counts"), WORKLOAD, 1)],
            key,
            relation=Relation.SUBSTITUTION,
        )
    with pytest.raises(ParameterError):
        SelectAndMeasure(1.0, 2.0, 1, first=(-1.0,))


def test_the_paper_starts_uniform_by_name() -> None:
    """With the update of the paper nothing is measured before the first round."""
    assert Mwem("sign").result == "average"
    table = wn.read_table(pd.DataFrame({"a": [0, 1] * 50, "b": [0, 2] * 50}), schema=SCHEMA)
    told = {"epsilon": 5.0, "delta": 1e-6, "rounds": 2, "update": "sign", "seed": 1}
    one = flat_release(table, wn.marginals(2), **told)
    other = flat_release(table, wn.marginals(2), method=wn.MWEM(warm_start=0), **told)
    assert one.receipt.mechanism == other.receipt.mechanism
    assert np.array_equal(one.value.weights(), other.value.weights())
