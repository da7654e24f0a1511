"""Rounds over whole marginal tables, audited by enumeration and draws on tiny schemas."""

from __future__ import annotations

import numpy as np
import pytest

from winnow import Relation
from winnow.release.graphical.audit.claims import (
    CASES,
    SINGLE,
    broken_marginal_models,
    enumerate_marginal_rounds,
    fidelity_of_marginal_rounds,
)
from winnow.release.graphical.audit.model import (
    TWO_ROUNDS,
    AuditedRounds,
    Floats,
    Integers,
    MarginalModel,
    neighbours,
)
from winnow.release.rounds.mechanism import MeasureMarginals

FEW = 1000
NAMES = ["one round", "two rounds", "laplace", "two stages"]
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
    ids=["selection", "noise", "laplace noise", "stage"],
)
def test_a_change_counted_half_and_a_stage_for_nothing_are_caught(
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


class KeptTooLong(MarginalModel):
    """A twin: the table that was measured is not looked at again."""

    def _selection(
        self,
        truth: list[Integers],
        model: list[Floats],
        changed: int = 0,
        lines: Floats | None = None,
    ) -> Floats:
        if lines is not None:
            lines = np.broadcast_to(model[changed], lines.shape)
        return super()._selection(truth, model, changed, lines)


class LookedAtByData(MarginalModel):
    """A twin: whether a table is looked at again depends on its true counts."""

    def _selection(
        self,
        truth: list[Integers],
        model: list[Floats],
        changed: int = 0,
        lines: Floats | None = None,
    ) -> Floats:
        if lines is not None:
            near = np.abs(lines - truth[changed]).sum(axis=1, keepdims=True) < 1
            lines = np.where(near, lines, model[changed])
        return super()._selection(truth, model, changed, lines)


STRONG = MeasureMarginals(4.0, 0.75, 2)


def twin_of(kind: type[MarginalModel]) -> MarginalModel:
    honest = MarginalModel.of(STRONG, TWO_ROUNDS, SUBSTITUTION)
    return kind(honest.setting, honest.exponent, honest.noise, honest.rounds)


def test_tables_that_say_nothing_new_are_not_looked_at_and_the_law_is_that_of_a_scan() -> None:
    """False alarm below 1e-8; the seed is fixed."""
    assert fidelity_of_marginal_rounds(STRONG, twin_of(MarginalModel), FEW, 5).passed
    assert not fidelity_of_marginal_rounds(STRONG, twin_of(KeptTooLong), FEW, 5).passed


def second_range(model: MarginalModel) -> float:
    """By how much log-ratios of the second selection spread, given all that came before."""
    setting, widest = model.setting, 0.0
    for one, other in neighbours(setting, SUBSTITUTION):
        truths = [setting.tables(each) for each in (one, other)]
        for i, noisy in enumerate(model._outcomes):
            said = setting.followed(noisy)
            p, q = (model._selection(truth, setting.start(), i, said) for truth in truths)
            widest = max(widest, float(np.ptp(p - q, axis=1).max()))
    return widest


def test_the_second_selection_has_its_range_unless_data_decide_what_is_looked_at() -> None:
    assert second_range(twin_of(MarginalModel)) <= STRONG.epsilon * (1 + 1e-9)
    assert second_range(twin_of(KeptTooLong)) <= STRONG.epsilon * (1 + 1e-9)
    assert second_range(twin_of(LookedAtByData)) > 1.2 * STRONG.epsilon
