"""Audit 3: real releases have the exact probabilities, and its p-values are proven.

The draws of the audit itself are those of the whole run, in `test_run_audits`.
"""

from collections import Counter

import numpy as np
import pytest

from reference.audited import Case, chi_square_p_value, counts, general, model_of
from reference.inside import Law, Tape
from reference.mechanisms import (
    Canonical,
    ExponentialMechanism,
    Joint,
    LargeMargin,
    LipschitzMechanism,
    PermuteAndFlip,
    SparseVector,
)
from reference.running import released
from winnow import Relation, seal_scores
from winnow.privacy import single_use_grant
from winnow.select.crossing.selection import Selection


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [
        *(LipschitzMechanism(1.5, law) for law in Law),
        ExponentialMechanism(1.5, kappa=2),
        PermuteAndFlip(1.5, kappa=2),
        LargeMargin(4.0, 0.3),
        Joint(2.0, 2),
        Canonical(2.0, 2),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_releases_have_the_exact_probabilities(mechanism: Selection) -> None:
    """The way that users take: sealed scores, a grant, a tape of its own for every release."""
    declared, scores, draws = general(Relation.ADD_REMOVE), [4, 3, 0, 0, -2], 800
    sealed = seal_scores(scores, declared.utility)
    event = mechanism.promise(declared.relation).event
    root, seen = Tape.seeded(5), Counter[tuple[int, ...]]()
    for draw in range(draws):
        tape = root.child(f"release-{draw}")
        seen[tuple(released(mechanism, sealed, single_use_grant(event), tape).value)] += 1
    model = model_of(mechanism, declared.utility)
    outcomes = list(map(tuple, model.outcomes(5).tolist()))
    observed = np.array([*(seen[outcome] for outcome in outcomes), 0])
    observed[-1] = draws - observed.sum()
    exact = np.exp(model.log_probabilities(np.array([scores]))[0])
    assert chi_square_p_value(observed, exact) > 1e-8


def test_sparse_vector_releases_have_the_exact_probabilities() -> None:
    declared, values, draws = general(Relation.ADD_REMOVE), [1, -1, 0, 2], 800
    mechanism = SparseVector(4.0, 0, 2)
    sealed = seal_scores(values, declared.utility)
    event = mechanism.promise(declared.relation).event
    root, seen = Tape.seeded(6), Counter[tuple[int, ...]]()
    for draw in range(draws):
        grant, tape = single_use_grant(event), root.child(f"{draw}")
        answer = released(mechanism, sealed, grant, tape).value
        above = [int(i in answer.above) for i in range(answer.answered)]
        seen[(*above, *(-1,) * (4 - answer.answered))] += 1
    model = model_of(mechanism, declared.utility)
    outcomes = list(map(tuple, model.outcomes(4).tolist()))
    observed = np.array([*(seen[outcome] for outcome in outcomes), 0])
    assert observed.sum() == draws
    exact = np.exp(model.log_probabilities(np.array([values]))[0])
    assert chi_square_p_value(observed, exact) > 1e-8


@pytest.mark.parametrize(("outcomes", "draws"), [(3, 50), (12, 30), (12, 400)])
def test_the_p_value_is_never_too_small(outcomes: int, draws: int) -> None:
    """Also where few draws are expected, and where chi-square tables are wrong."""
    generator = np.random.default_rng(outcomes)
    truth = generator.dirichlet(np.full(outcomes, 0.4))
    samples = generator.multinomial(draws, truth, size=4000)
    p_values = np.array([chi_square_p_value(np.append(s, 0), truth) for s in samples])
    for level in (0.2, 0.05, 0.01):
        assert np.mean(p_values < level) <= level


def test_a_far_sample_and_an_impossible_output_are_rejected() -> None:
    truth = np.array([0.5, 0.5, 0.0])
    assert chi_square_p_value(np.array([500, 500, 0, 0]), truth) == 1
    assert chi_square_p_value(np.array([600, 400, 0, 0]), truth) < 1e-6
    assert chi_square_p_value(np.array([500, 499, 1, 0]), truth) == 0
    assert chi_square_p_value(np.array([500, 499, 0, 1]), truth) == 0


def test_the_case_of_a_plan_has_the_model_of_its_mechanism() -> None:
    declared = counts(Relation.SUBSTITUTION)
    case = Case(PermuteAndFlip(1.0), declared)
    assert case.model == model_of(case.mechanism, declared.utility)
