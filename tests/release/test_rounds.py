"""Measured rounds: one charge, at most T rounds, nothing of the data to be seen."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

from reference.running import paid_key
from winnow import (
    GrantError,
    InputError,
    Relation,
    Schema,
    Sealed,
    Workload,
    marginals,
    queries,
)
from winnow.privacy import (
    BoundedRange,
    Compose,
    DiscreteLaplace,
    Gaussian,
    Repeat,
    single_use_grant,
)
from winnow.release.rounds.crossing.rounds import OpenRun, SelectAndMeasure
from winnow.release.rounds.crossing.run_parts import Task
from winnow.release.rounds.kernels.distribution import uniform_distribution

SCHEMA = Schema.parse({"a": 2, "b": 3})
WORKLOAD = marginals(2).over(SCHEMA)
COUNTS = np.array([417, 0, 0, 3, 50, 30], np.int64)
HERE = Relation.SUBSTITUTION


def open_run(
    mechanism: SelectAndMeasure,
    counts: np.ndarray = COUNTS,
    workload: Workload = WORKLOAD,
    seed: int = 1,
    **options: object,
) -> OpenRun:
    task = Task(Sealed(counts, "counts"), workload, mechanism.rounds)
    key = paid_key(mechanism, HERE, seed)
    return mechanism.open([task], key, relation=HERE, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", list(Relation))
def test_the_whole_closed_plan_is_one_event(relation: Relation) -> None:
    gaussian = SelectAndMeasure(0.1, 30, 7).promise(relation)
    assert gaussian.event == Repeat(
        Compose((BoundedRange(0.1, relation), Gaussian(30, relation))), 7
    )
    laplace = SelectAndMeasure(0.1, 30, 7, "laplace", 12.5).promise(relation)
    loop = Repeat(Compose((BoundedRange(0.1, relation), DiscreteLaplace(30, relation))), 7)
    assert laplace.event == Compose((DiscreteLaplace(12.5, relation), loop))
    assert "FastMWEM" in gaussian.citation and "Canonne" in gaussian.citation


def test_no_more_rounds_are_drawn_than_were_paid_for() -> None:
    rounds = open_run(SelectAndMeasure(1.0, 2.0, 3)).tasks[0]
    distribution = uniform_distribution(WORKLOAD, 500)
    for left in (2, 1, 0):
        measured = rounds.next(distribution)
        assert rounds.left == left
        assert 0 <= measured.query < 6 and measured.sign in (-1, 1)
    with pytest.raises(GrantError, match="all rounds"):
        rounds.next(distribution)


def test_the_charge_comes_before_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    order = []
    monkeypatch.setattr(
        import_module("winnow.core.measurement"),
        "discrete_gaussian",
        lambda *_: order.append("noise") or 0,
    )
    redeem = type(single_use_grant(Gaussian(1, HERE))).redeem
    monkeypatch.setattr(
        "winnow.privacy.grant.Grant.redeem",
        lambda self, event: (order.append("charge"), redeem(self, event))[1],
    )
    run = open_run(SelectAndMeasure(1.0, 2.0, 2, total_multiplier=3.0), total=Sealed([417], "n"))
    run.tasks[0].next(uniform_distribution(WORKLOAD, 500))
    assert order == ["charge", "noise", "noise"]


def test_an_interrupted_round_stays_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("winnow.core.measurement"), "discrete_gaussian", interrupt)
    rounds = open_run(SelectAndMeasure(1.0, 2.0, 2)).tasks[0]
    with pytest.raises(KeyboardInterrupt):
        rounds.next(uniform_distribution(WORKLOAD, 500))
    assert rounds.left == 1


def test_noise_is_in_grid_units_and_grows_with_the_rows_of_a_person() -> None:
    mechanism = SelectAndMeasure(0.1, Fraction(5, 2), 1)
    assert mechanism.noise_scale(1) == Fraction(5, 2)
    assert mechanism.noise_scale(3 * 100) == 750
    values = np.full((1, 6), 100)
    fine = queries(values / 100, grid=100).over(SCHEMA)
    found = [
        open_run(mechanism, np.array([50_000]), fine, seed, rows_per_person=3)
        .tasks[0]
        .next(uniform_distribution(fine, 500))
        .count
        for seed in range(200)
    ]
    # The sample deviation of 200 normals is within 20 % of 750 but for 1 in 10^4.
    assert 0.8 < np.std(found) / 750 < 1.2


def test_the_number_of_rows_is_measured_first_where_it_is_private() -> None:
    mechanism = SelectAndMeasure(1.0, 2.0, 1, total_multiplier=0.01)
    assert open_run(mechanism, total=Sealed(np.array([417]), "rows")).total == 417
    assert "number of rows" in mechanism.name
    with pytest.raises(InputError, match="number of rows"):
        open_run(mechanism)
    with pytest.raises(InputError, match="number of rows"):
        open_run(SelectAndMeasure(1.0, 2.0, 1), total=Sealed(np.array([417]), "rows"))


def test_a_refusal_charges_nothing_and_shows_no_count() -> None:
    mechanism = SelectAndMeasure(1.0, 1e30, 1, "laplace")
    task = Task(Sealed(COUNTS, "counts"), WORKLOAD, 1)
    for wrong, named in (
        (lambda: mechanism.check([task]), "64 bits"),
        (lambda: SelectAndMeasure(1.0, 2.0, 2).check([task]), "rounds"),
        (lambda: SelectAndMeasure(1e12, 2.0, 1).check([task], 1, 10**6), "epsilon"),
    ):
        with pytest.raises(InputError, match=named) as caught:
            wrong()
        assert "417" not in str(caught.value)


@pytest.mark.parametrize(
    "parameters",
    [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1, 1, "cauchy"), (1, 1, 1, "laplace", 0)],
)
def test_parameters_are_checked(parameters: tuple[object, ...]) -> None:
    with pytest.raises(InputError):
        SelectAndMeasure(*parameters)  # type: ignore[arg-type]


def test_a_hypothesis_for_other_queries_is_refused() -> None:
    rounds = open_run(SelectAndMeasure(1.0, 2.0, 2)).tasks[0]
    with pytest.raises(InputError, match="queries"):
        rounds.next(uniform_distribution(marginals(1).over(SCHEMA), 500))
    assert rounds.left == 2
