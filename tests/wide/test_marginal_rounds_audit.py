"""Rounds over whole marginal tables, audited by enumeration and draws on tiny schemas."""

from __future__ import annotations

import numpy as np
import pytest

from winnow import Relation
from winnow.release.mechanism import MeasureMarginals
from winnow.wide.audit.claims import (
    CASES,
    SINGLE,
    broken_marginal_models,
    enumerate_marginal_rounds,
    fidelity_of_marginal_rounds,
)
from winnow.wide.audit.model import TWO_ROUNDS, AuditedRounds, MarginalModel, neighbours

FEW = 1000
NAMES = ["one round", "two rounds", "laplace"]
SUBSTITUTION = Relation.SUBSTITUTION


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(("mechanism", "setting"), CASES, ids=NAMES)
def test_neighbouring_tables_are_as_close_as_charged(
    mechanism: MeasureMarginals, setting: AuditedRounds, relation: Relation
) -> None:
    model = MarginalModel.of(mechanism, setting, relation)
    result = enumerate_marginal_rounds(mechanism, model, relation, quick=True)
    assert result.passed, result


def test_several_rows_per_person_are_covered_by_their_sensitivity() -> None:
    honest = MarginalModel.of(SINGLE, TWO_ROUNDS, SUBSTITUTION, 2)
    assert enumerate_marginal_rounds(SINGLE, honest, SUBSTITUTION, 2, quick=True).passed
    forgotten = MarginalModel.of(SINGLE, TWO_ROUNDS, SUBSTITUTION, 1)
    assert not enumerate_marginal_rounds(SINGLE, forgotten, SUBSTITUTION, 2, quick=True).passed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "mechanism", "broken"),
    broken_marginal_models(),
    ids=["selection", "noise", "laplace noise"],
)
def test_a_replaced_row_counted_as_one_change_is_caught(
    fault: str, mechanism: MeasureMarginals, broken: MarginalModel
) -> None:
    assert not enumerate_marginal_rounds(mechanism, broken, SUBSTITUTION, quick=True).passed
    assert not fidelity_of_marginal_rounds(mechanism, broken, FEW, 5).passed


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "setting"), CASES, ids=NAMES)
def test_the_rounds_draw_what_was_enumerated(
    mechanism: MeasureMarginals, setting: AuditedRounds
) -> None:
    """False alarm below 1e-8; the seed is fixed."""
    model = MarginalModel.of(mechanism, setting, SUBSTITUTION)
    assert fidelity_of_marginal_rounds(mechanism, model, FEW, 5).passed


def test_the_enumerated_window_holds_nearly_everything() -> None:
    for mechanism, setting in CASES:
        model = MarginalModel.of(mechanism, setting, SUBSTITUTION)
        table = np.bincount([0] * setting.total, minlength=setting.cells)
        inside = np.exp(model.log_probabilities(table)).sum()
        assert 1 - 2e-5 < inside <= 1 + 1e-9


def test_neighbours_differ_by_one_person() -> None:
    for one, other in neighbours(TWO_ROUNDS, SUBSTITUTION):
        assert one.sum() == other.sum() == 3 and np.abs(one - other).sum() == 2
    for one, other in neighbours(TWO_ROUNDS, Relation.ADD_REMOVE):
        assert {int(one.sum()), int(other.sum())} == {2, 3}
