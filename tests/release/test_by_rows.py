"""Rounds that follow a noisy number of rows: what is charged, what is run, and the audit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from winnow import Relation
from winnow.errors import GuaranteeError, ParameterError
from winnow.privacy import (
    AnyOf,
    BoundedRange,
    Compose,
    PureDP,
    as_substitution,
    from_json,
    guarantee_of,
    pure_cost,
    to_json,
    zcdp_cost,
)
from winnow.release.audit.by_rows import GAUSSIAN, LAPLACE, RowsModel, enumerate_by_rows
from winnow.release.crossing.rounds import SelectAndMeasure
from winnow.release.crossing.run_parts import RowsChoice
from winnow.release.request import ReleaseRequest
from winnow.release.settings import release_settings

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
    with pytest.raises(GuaranteeError, match="tight"):
        guarantee_of(event, 1e-6, accountant="tight")
    for wrong in ((), [small], (small, 1)):
        with pytest.raises(ParameterError):
            AnyOf(wrong)  # type: ignore[arg-type]


def people(rows: int) -> wn.SealedTable:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.integers(0, 4, rows), "b": rng.integers(0, 5, rows) % 3})
    return wn.read_table(frame, schema={"a": 4, "b": 5}, relation="add-remove")


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


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_every_choice_meets_the_whole_target(delta: float) -> None:
    schema = wn.Schema.parse({"a": 4, "b": 5})
    request = ReleaseRequest(wn.marginals(2), schema, 1.0, delta, ADD)
    planned = release_settings(request)
    assert planned.by_rows is not None
    for plan in planned.by_rows.plans:
        stated = guarantee_of(plan.event, delta, "zcdp" if delta else "pure")
        assert stated.epsilon <= 1 and stated.delta <= delta
    assert planned.mechanism.promise(ADD).event == planned.event
    fixed = release_settings(ReleaseRequest(wn.marginals(2), schema, 1.0, delta, ADD, rounds=7))
    assert fixed.by_rows is None and fixed.rounds.rounds == 7


def test_choices_are_in_order_and_need_a_measured_number_of_rows() -> None:
    choices = (RowsChoice(1, 1.0, 2.0, (1,)), RowsChoice(9, 1.0, 3.0, (2,)))
    mechanism = SelectAndMeasure(1.0, 2.0, 1, total_multiplier=5.0, by_rows=choices)
    assert [mechanism.taken(n).rounds for n in (-4, 0, 8, 9, 10**9)] == [1, 1, 1, 2, 2]
    with pytest.raises(ParameterError, match="only where that is measured"):
        SelectAndMeasure(1.0, 2.0, 1, by_rows=choices)
    with pytest.raises(ParameterError, match="in the order"):
        SelectAndMeasure(1.0, 2.0, 1, total_multiplier=5.0, by_rows=choices[::-1])
