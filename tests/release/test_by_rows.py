"""Rounds that follow a noisy number of rows: what is charged, what is run, and the audit."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.running import paid_key
from winnow import Relation
from winnow.core.sealed import Sealed
from winnow.errors import ParameterError
from winnow.privacy import (
    AnyOf,
    BoundedRange,
    Compose,
    PureDP,
    as_substitution,
    from_json,
    guarantee_of,
    pure_cost,
    tight_delta,
    to_json,
    zcdp_cost,
)
from winnow.privacy.closed_plan import RoundsPlan
from winnow.read.crossing import Rows, SealedTable
from winnow.release.rounds.audit.by_rows import GAUSSIAN, LAPLACE, RowsModel, enumerate_by_rows
from winnow.release.rounds.crossing.rounds import SelectAndMeasure
from winnow.release.rounds.crossing.run_parts import RowsChoice, Task
from winnow.release.rounds.mwem_plan import mwem_settings
from winnow.release.terms import ReleaseTerms

ADD = Relation.ADD_REMOVE


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("mechanism", [GAUSSIAN, LAPLACE], ids=lambda m: m.measurement)
def test_rounds_by_noisy_rows_keep_to_what_is_charged(
    mechanism: SelectAndMeasure, relation: Relation
) -> None:
    result = enumerate_by_rows(RowsModel(mechanism), relation)
    assert result.passed, result


@pytest.mark.parametrize("mechanism", [GAUSSIAN, LAPLACE], ids=lambda m: m.measurement)
def test_rounds_by_the_true_number_of_rows_are_caught(mechanism: SelectAndMeasure) -> None:
    assert not enumerate_by_rows(RowsModel(mechanism, by_truth=True), ADD).passed


def test_one_of_several_events_costs_what_the_dearest_does() -> None:
    small, large = PureDP(Fraction(1, 2), ADD), BoundedRange(2, ADD)
    event = AnyOf((small, large))
    assert pure_cost(event).epsilon == 2 and zcdp_cost(event) == zcdp_cost(large)
    assert from_json(to_json(event)) == event and event.relation is ADD
    assert pure_cost(as_substitution(event)).epsilon == 4
    assert guarantee_of(Compose((small, event))).epsilon == 2.5
    for accountant in ("pure", "zcdp", "tight"):
        stated = guarantee_of(event, 1e-6, accountant).epsilon
        dearest = max(guarantee_of(each, 1e-6, accountant).epsilon for each in (small, large))
        assert dearest <= stated <= 1.0001 * dearest, accountant
    for wrong in ((), [small], (small, 1)):
        with pytest.raises(ParameterError):
            AnyOf(wrong)  # type: ignore[arg-type]


def people(rows: int) -> wn.SealedTable:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.integers(0, 4, rows), "b": rng.integers(0, 5, rows) % 3})
    return wn.read_table(frame, schema={"a": 4, "b": 5}, relation="add-remove")


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_more_rows_get_more_rounds_for_the_same_charge(delta: float) -> None:
    found = [
        wn.release(people(n), wn.marginals(2), epsilon=1, delta=delta, method="mwem", seed=1)
        for n in (300, 30_000)
    ]
    few, many = (len(each.value.measurements) for each in found)
    assert 1 <= few < many / 3
    assert found[0].receipt.event == found[1].receipt.event
    assert found[0].guarantee == found[1].guarantee and found[0].guarantee.epsilon <= 1
    event = found[0].receipt.event
    assert isinstance(event, Compose) and isinstance(event.events[1], AnyOf)
    assert "by the noisy number of rows" in found[0].receipt.reason


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_every_choice_meets_the_whole_target(delta: float) -> None:
    schema = wn.Schema.parse({"a": 4, "b": 5})
    terms = ReleaseTerms(wn.marginals(2).over(schema), 1.0, delta, ADD)
    planned = mwem_settings(wn.MWEM(), terms)
    assert planned.by_rows is not None
    for plan in planned.by_rows.plans:
        accountants = ("zcdp", "tight") if delta else ("pure",)
        stated = [guarantee_of(plan.event, delta, accountant) for accountant in accountants]
        assert min(each.epsilon for each in stated) <= 1
        assert all(each.delta <= delta for each in stated)
        own = plan.guarantee
        assert (own.epsilon, own.delta) == (1, delta)
        assert own.rho is None or own.rho >= zcdp_cost(plan.event).rho
    assert planned.mechanism.promise(ADD).event == planned.event
    if delta:  # the choice is accounted for as it is, and hardly costs anything
        assert tight_delta(planned.event, 1) <= delta
        by_rho = rounds_by_rho(replace(terms, accountant="zcdp"))
        short = [p for p in planned.by_rows.plans if p.rounds < 200]
        gains = [b.noise_multiplier / p.noise_multiplier for p, b in zip(short, by_rho)]  # noqa: B905
        assert len(short) >= 3 and min(gains) > 1.04
    fixed = mwem_settings(wn.MWEM(rounds=7), terms)
    assert fixed.by_rows is None and fixed.rounds.rounds == 7


def rounds_by_rho(terms: ReleaseTerms) -> tuple[RoundsPlan, ...]:
    planned = mwem_settings(wn.MWEM(), terms)
    assert planned.by_rows is not None
    return planned.by_rows.plans


def test_choices_are_in_order_and_need_a_measured_number_of_rows() -> None:
    choices = (RowsChoice(1, 1.0, 2.0, (1,)), RowsChoice(9, 1.0, 3.0, (2,)))
    mechanism = SelectAndMeasure(1.0, 2.0, 1, total_multiplier=5.0, by_rows=choices)
    assert [mechanism.taken(n).rounds for n in (-4, 0, 8, 9, 10**9)] == [1, 1, 1, 2, 2]
    with pytest.raises(ParameterError, match="only where that is measured"):
        SelectAndMeasure(1.0, 2.0, 1, by_rows=choices)
    with pytest.raises(ParameterError, match="in the order"):
        SelectAndMeasure(1.0, 2.0, 1, total_multiplier=5.0, by_rows=choices[::-1])


@pytest.mark.parametrize(("epsilon", "rows", "rounds"), [(1e-12, 30, None), (1e4, 10**8, 1)])
@pytest.mark.parametrize("index", [None, "flat"])
def test_no_noisy_number_of_rows_makes_a_paid_run_fail(
    epsilon: float, rows: int, rounds: int | None, index: str | None
) -> None:
    """Noise of 10^13 rows, and 10^8 rows at an epsilon whose exponents would leave their bounds."""
    schema = wn.Schema.parse({"a": 2, "b": 2})
    codes = (np.array([0, 1], np.int32), np.array([0, 1], np.int32))
    content = Sealed(Rows(codes, np.array([rows, 7], np.int64)), "rows")
    table = SealedTable(schema, content, relation=ADD)
    for seed in range(6):
        found = wn.release(
            table,
            wn.marginals(2),
            epsilon=epsilon,
            seed=seed,
            method=wn.MWEM(rounds=rounds, index=index),
        )
        assert np.isfinite(found.value.answers()).all()


@pytest.mark.parametrize("true", [2, 4])
def test_the_noisy_number_of_rows_chooses_the_rounds_that_are_drawn(true: int) -> None:
    """Not the true one: on either side of the threshold both choices are met."""
    schema = wn.Schema.parse({"a": 4})
    workload = wn.marginals(1).over(schema)
    counts = Sealed(np.array([true, 0, 0, 0], np.int64), "counts")
    seen = set()
    for seed in range(20):
        run = GAUSSIAN.open(
            [Task(counts, workload, 1)], paid_key(GAUSSIAN, ADD, seed), relation=ADD,
            total=Sealed(np.array([true], np.int64), "rows"),
        )  # fmt: skip
        taken = GAUSSIAN.taken(run.total or 0)
        assert run.tasks[0]._run._mechanism == taken
        seen.add(taken)
    assert len(seen) == 2
