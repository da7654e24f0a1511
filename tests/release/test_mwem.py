"""The algorithm above the rounds: it follows the papers, and its slow twin, step by step."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reference.inside import Tape, discrete_gaussian
from reference.mwem import mixture_rows, slow_mwem
from reference.running import paid_key
from winnow import InputError, Relation, Schema, Sealed, Workload, marginals, prefixes, queries
from winnow.release.rounds.crossing.rounds import SelectAndMeasure
from winnow.release.rounds.crossing.run_parts import Measurement, Task
from winnow.release.rounds.kernels.distribution import uniform_distribution
from winnow.release.rounds.mwem import Fit, Mwem, default_rounds

SCHEMA = Schema.parse({"a": 3, "b": 4, "c": 2, "d": 2})
SHAPE = SCHEMA.shape
N = 4000


def small_workload(kind: str) -> Workload:
    if kind == "marginals":
        return marginals([1, 2]).over(SCHEMA)
    if kind == "mixed":
        return (marginals(2) + prefixes("b")).over(SCHEMA)
    values = np.random.default_rng(5).integers(0, 11, (12, SCHEMA.cells))
    return queries(values / 10, grid=10).over(SCHEMA)


def run(
    mwem: Mwem, workload: Workload, *, seed: int = 7, rounds: int = 12, noise: float = 20.0
) -> tuple[Fit, Workload]:
    codes = mixture_rows(3, SHAPE, N)
    counts = workload.counts(codes, np.ones(N, np.int64))
    mechanism = SelectAndMeasure(0.05, noise, rounds)
    task = Task(Sealed(counts, "counts"), workload, rounds)
    opened = mechanism.open(
        [task], paid_key(mechanism, Relation.SUBSTITUTION, seed), relation=Relation.SUBSTITUTION
    )
    distribution = uniform_distribution(workload, N)
    return mwem.fit(opened.tasks[0], distribution, workload, noise / N), workload


@pytest.mark.parametrize("kind", ["marginals", "mixed", "grid"])
@pytest.mark.parametrize(
    "mwem",
    [
        Mwem("sign"),
        Mwem("sign", result="last"),
        Mwem("hardt", replay=0),
        Mwem("hardt", replay=2, result="average"),
        Mwem("gap"),
        Mwem("gap", replay=3, result="average"),
        Mwem("gap", step=1.5),
    ],
    ids=lambda mwem: mwem.name,
)
def test_the_weights_are_those_of_the_slow_twin(kind: str, mwem: Mwem) -> None:
    fit, workload = run(mwem, small_workload(kind))
    rows = np.array([workload.row(i) for i in range(workload.size)])
    grids = workload.grids
    measured = [(m.query, m.count / (int(grids[m.query]) * N)) for m in fit.measurements]
    twin = slow_mwem(
        rows,
        measured,
        update=mwem.update,
        step=mwem.step_for(SCHEMA.cells, 12),
        replay=mwem.replay or 0,
        result=mwem.result or "",
        noise=20.0 / N,
    )
    np.testing.assert_allclose(fit.weights, twin, rtol=0, atol=1e-12)
    assert fit.weights.sum() == pytest.approx(1.0)


def test_measurements_are_true_counts_plus_the_noise_on_the_tape() -> None:
    workload = small_workload("grid")
    fit, _ = run(Mwem("gap"), workload)
    truth = workload.counts(mixture_rows(3, SHAPE, N), np.ones(N, np.int64))
    stream = Tape.seeded(7).child("task-0").child("measurement").stream()
    for measured in fit.measurements:
        noise = discrete_gaussian(stream, SelectAndMeasure(1, 20.0, 1).noise_scale(10) ** 2)
        assert measured.count == truth[measured.query] + noise


class Scripted:
    """Rounds that release what a test says."""

    def __init__(self, *measurements: Measurement) -> None:
        self.script = list(measurements)

    @property
    def left(self) -> int:
        return len(self.script)

    def next(self, distribution: object) -> Measurement:
        return self.script.pop(0)


@pytest.mark.parametrize("mwem", [Mwem("sign", result="last"), Mwem("hardt"), Mwem("gap")])
@pytest.mark.parametrize("count", [0, 3000])
def test_every_update_moves_towards_the_measurement(mwem: Mwem, count: int) -> None:
    workload = small_workload("marginals")
    distribution = uniform_distribution(workload, N)
    before = distribution.answer(0)
    fit = mwem.fit(Scripted(Measurement(0, 1, count)), distribution, workload, 0.001)  # type: ignore[arg-type]
    after = workload.answers(fit.weights)[0]
    assert abs(count / N - after) < abs(count / N - before)
    assert bool(after > before) is (count / N > before)
    assert fit.gaps[0] == pytest.approx(count / N - before)
    assert 0 < fit.drift <= 1
    assert abs(after - before) <= fit.drift + 1e-12


def test_the_gap_update_leaves_alone_what_lies_within_the_noise() -> None:
    workload = small_workload("marginals")
    distribution = uniform_distribution(workload, N)
    near = round(N * distribution.answer(0)) + 10
    fit = Mwem("gap").fit(Scripted(Measurement(0, 1, near)), distribution, workload, 20 / N)  # type: ignore[arg-type]
    assert np.ptp(fit.weights) == 0
    assert fit.drift == 0


def test_a_repeated_measurement_counts_with_its_mean() -> None:
    workload = small_workload("marginals")
    twice = [Measurement(0, 1, 3000), Measurement(0, 1, 1000)]
    fit = Mwem("gap", replay=200).fit(
        Scripted(*twice),
        uniform_distribution(workload, N),
        workload,
        1e-9,  # type: ignore[arg-type]
    )
    assert workload.answers(fit.weights)[0] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("update", ["gap", "hardt", "sign"])
def test_errors_vanish_with_the_noise(update: str) -> None:
    """A great epsilon: the largest error over all queries is small, and smallest for gap."""
    workload = small_workload("marginals")
    mwem = Mwem(update, result="last")
    codes = mixture_rows(3, SHAPE, N)
    counts = workload.counts(codes, np.ones(N, np.int64))
    mechanism = SelectAndMeasure(5.0, 0.1, 150)
    task = Task(Sealed(counts, "counts"), workload, 150)
    opened = mechanism.open(
        [task], paid_key(mechanism, Relation.SUBSTITUTION, 1), relation=Relation.SUBSTITUTION
    )
    fit = mwem.fit(opened.tasks[0], uniform_distribution(workload, N), workload, 0.1 / N)
    error = np.abs(workload.answers(fit.weights) - counts / N).max()
    assert error < {"gap": 0.002, "hardt": 0.01, "sign": 0.1}[update]


def test_the_step_of_algorithm_1_uses_the_domain_size() -> None:
    assert Mwem("sign").step_for(1024, 100) == pytest.approx(math.sqrt(math.log(1024) / 100))
    assert Mwem("hardt").step_for(1024, 100) == 0.5
    assert Mwem("gap").step_for(1024, 100) == 4.0


def test_defaults_follow_the_update() -> None:
    assert (Mwem("sign").result, Mwem("sign").replay) == ("average", 0)
    assert (Mwem("gap").result, Mwem("gap").replay) == ("last", 1)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"update": "newton"}, "newton"),
        ({"step": 0}, "step"),
        ({"step": math.inf}, "step"),
        ({"replay": -1}, "replay"),
        ({"replay": True}, "replay"),
        ({"update": "sign", "replay": 1}, "replay"),
        ({"result": "median"}, "median"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, object], named: str) -> None:
    with pytest.raises(InputError, match=named):
        Mwem(**options)  # type: ignore[arg-type]


def test_more_rows_or_more_budget_mean_more_rounds() -> None:
    public = {"cells": 1024, "queries": 960}
    by_rows = [default_rounds(**public, total=n, rho=0.0244) for n in (10, 500, 2000, 30_000)]
    assert by_rows == sorted(by_rows) and 15 <= by_rows[1] <= 30 and 100 <= by_rows[3] <= 200
    pure = [default_rounds(**public, total=5000, epsilon=e) for e in (0.01, 1, 100)]
    assert pure == sorted(pure) and pure[0] >= 1
    assert default_rounds(cells=10**9, queries=2, total=10**12, rho=1.0) == 100_000
    assert default_rounds(**public, total=10**8, rho=0.0244) > 1000
    many = default_rounds(**public, total=30_000, rows_per_person=10, rho=0.0244)
    assert many < by_rows[3]
