"""The audits of interactive sessions, and that their models are right."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from winnow.ask.audit.claims import (
    TABLE,
    ask_enumerated,
    ask_faithful,
    ask_sampled,
    ask_twins,
    enumerate_repeated,
    fidelity_of_sessions,
    session_model,
)
from winnow.ask.audit.independent import (
    QUERIES,
    REPEATS,
    Redrawing,
    claimed_delta,
    enumerate_answers,
    sample_answers,
)
from winnow.ask.audit.model import (
    Forgetful,
    RepeatedModel,
    capped_delta,
    sample_adversary,
    steps_for,
)


def by_transcripts(model: RepeatedModel, epsilon: float, moved: int) -> float:
    """The same divergence, transcript by transcript, for few rounds."""
    q = math.exp(-1 / model.scale)

    def outcomes(true: int) -> dict[object, float]:
        found: dict[object, float] = {}
        for count in range(-60, 61):
            quiet = abs(count - model.distance) <= model.threshold
            chance = (1 - q) / (1 + q) * q ** abs(count - true)
            found["quiet" if quiet else count] = found.get("quiet" if quiet else count, 0) + chance
        return found

    one, other = outcomes(0), outcomes(moved)

    def over(rounds: int, releases: int, p: float, p_other: float) -> float:
        if rounds == model.rounds or releases == model.updates:
            return max(0.0, p - math.exp(epsilon) * p_other)
        return sum(
            over(rounds + 1, releases + (outcome != "quiet"), p * one[outcome],
                 p_other * other[outcome])
            for outcome in one
        )  # fmt: skip

    return over(0, 0, 1.0, 1.0)


@pytest.mark.parametrize(("distance", "threshold"), [(0, 1.5), (3, 2.5), (-2, 0.5), (5, 6.0)])
@pytest.mark.parametrize("moved", [1, -1])
def test_the_sums_over_repeated_rounds_are_sums_over_transcripts(
    distance: int, threshold: float, moved: int
) -> None:
    model = RepeatedModel(1.0, 2, 2, distance, threshold)
    assert model.delta(0.7, moved) == pytest.approx(by_transcripts(model, 0.7, moved), rel=1e-9)


def test_the_transcripts_of_a_session_have_the_chance_one_together() -> None:
    logs = session_model().log_probabilities(np.array([TABLE, (0, 3, 0, 0), (0, 1, 1, 1)]))
    assert np.exp(logs).sum(axis=0) == pytest.approx([1, 1, 1], abs=1e-6)


def test_sessions_and_repeated_questions_tell_no_more_than_is_charged() -> None:
    results = [*ask_enumerated(), *ask_sampled(quick=True, seed=5)]
    assert [r for r in results if not r.passed] == []
    assert {r.kind for r in results} == {"enumeration", "sampling"}


def test_real_sessions_draw_the_model() -> None:
    assert all(r.passed for r in ask_faithful(quick=True, seed=5))
    wrong = replace(session_model(), threshold=2.2)
    assert not fidelity_of_sessions(wrong, 1_000, 5).passed


def test_broken_sessions_are_caught() -> None:
    results = list(ask_twins(quick=True, seed=5))
    assert len(results) == 13 and all(r.passed for r in results)


@pytest.mark.slow
def test_samples_of_broken_sessions_prove_more_than_is_claimed() -> None:
    """Seeds are fixed: the same draws on every run."""
    forgetful = sample_adversary(600, 5, kind=Forgetful)
    assert not forgetful.passed and forgetful.measured > forgetful.claimed
    redrawing = sample_answers(400, 5, Redrawing)
    assert not redrawing.passed and redrawing.measured > redrawing.claimed


def test_an_adversary_learns_nothing_from_asking_for_the_same_answer_again() -> None:
    """One event of all: what 28 answers of a session say is what its two noises say."""
    assert enumerate_answers(QUERIES, 2.0).measured < claimed_delta()
    assert not enumerate_answers(REPEATS * QUERIES, 2.0).passed


def test_many_quiet_rounds_cost_something_and_are_paid_for() -> None:
    few, many = (enumerate_repeated(0.5, 1, 0.75, rounds=r) for r in (1, 60))
    assert few.measured < many.measured <= many.claimed == capped_delta(0.5, 1, 0.75)
    assert steps_for(0.5, 1, 0.75) > 1
