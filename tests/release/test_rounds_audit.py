"""Two rounds of selection and measurement, audited end to end by enumeration and draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from winnow import Relation
from winnow.audit.numerics import distance
from winnow.release.rounds.audit.rounds import (
    GAUSSIAN,
    INDEXED,
    LAPLACE,
    SHARP,
    TOTAL,
    RoundsModel,
    broken_models,
    enumerate_rounds,
    fidelity_of_rounds,
    pairs,
)
from winnow.release.rounds.crossing.rounds import SelectAndMeasure

FEW = 1000


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("mechanism", [GAUSSIAN, LAPLACE], ids=lambda m: m.measurement)
def test_neighbouring_tables_are_as_close_as_charged(
    mechanism: SelectAndMeasure, relation: Relation
) -> None:
    model = RoundsModel.of(mechanism, TOTAL)
    result = enumerate_rounds(mechanism, model, relation, quick=True)
    assert result.passed, result
    if mechanism.measurement == "laplace":
        assert result.measured > 0.6 * result.claimed  # and not by wasting noise


def test_several_rows_per_person_are_covered_by_their_sensitivity() -> None:
    honest = RoundsModel.of(SHARP, TOTAL, 2)
    assert enumerate_rounds(SHARP, honest, Relation.SUBSTITUTION, 2, quick=True).passed
    forgotten = RoundsModel.of(SHARP, TOTAL, 1)
    assert not enumerate_rounds(SHARP, forgotten, Relation.SUBSTITUTION, 2, quick=True).passed


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "broken"), broken_models(), ids=lambda x: str(x)[:40])
def test_half_the_sensitivity_is_caught(fault: str, broken: RoundsModel) -> None:
    assert not enumerate_rounds(GAUSSIAN, broken, Relation.SUBSTITUTION, quick=True).passed
    assert not fidelity_of_rounds(GAUSSIAN, broken, FEW, 5).passed


def test_the_rounds_draw_what_was_enumerated() -> None:
    """False alarm below 1e-8; the seed is fixed."""
    assert fidelity_of_rounds(GAUSSIAN, RoundsModel.of(GAUSSIAN, TOTAL), FEW, 5).passed


def test_rounds_over_an_index_draw_the_same_law_and_pay_their_slack() -> None:
    """False alarm below 1e-8; the seed is fixed."""
    assert fidelity_of_rounds(INDEXED, RoundsModel.of(INDEXED, TOTAL), 300, 5).passed
    unpaid = RoundsModel.of(replace(INDEXED, slack=0), TOTAL)
    assert not fidelity_of_rounds(INDEXED, unpaid, 300, 5).passed
    event = INDEXED.promise(Relation.SUBSTITUTION).event
    assert event == replace(INDEXED, slack=0).promise(Relation.SUBSTITUTION).event
    assert event == replace(INDEXED, slack=0, index=None).promise(Relation.SUBSTITUTION).event


def test_the_enumerated_window_holds_all_but_a_billionth() -> None:
    for mechanism in (GAUSSIAN, LAPLACE):
        model = RoundsModel.of(mechanism, TOTAL)
        inside = np.exp(model.log_probabilities(np.array([3, 0, 0, 0]), model.window())).sum()
        assert 1 - 1e-6 < inside <= 1 + 1e-9


def test_neighbours_are_enumerated_for_both_relations() -> None:
    for one, other in pairs(Relation.SUBSTITUTION, 3):
        assert one.sum() == other.sum() == 3 and np.abs(one - other).sum() == 2
    for one, other in pairs(Relation.ADD_REMOVE, 3):
        assert {int(one.sum()), int(other.sum())} == {2, 3} and np.abs(one - other).sum() == 1
    assert any(np.abs(a - b).sum() == 4 for a, b in pairs(Relation.SUBSTITUTION, 3, 2))


@pytest.mark.parametrize("spread", [1.0, 30.0], ids=["by powers", "by logs"])
def test_the_distance_of_two_laws_is_that_of_the_definitions(spread: float) -> None:
    rng = np.random.default_rng(5)
    logs = rng.normal(size=(2, 60)) * spread
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    found = distance(*logs, 0.5)
    p, q = np.exp(logs)
    orders, deltas = [], []
    for a, b in ((p, q), (q, p)):
        deltas.append(np.maximum(a - np.exp(0.5) * b, 0).sum())
        for order in (1.25, 2, 4, 16):
            terms = order * np.log(a) - (order - 1) * np.log(b)
            orders.append(np.logaddexp.reduce(terms) / (order - 1) / order)
    assert found.epsilon == np.abs(logs[0] - logs[1]).max()
    assert found.delta == pytest.approx(max(deltas), rel=1e-9)
    assert found.rho == pytest.approx(max(orders), rel=1e-9)
