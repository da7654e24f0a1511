"""Audit 3: the sampler draws the distribution that the enumeration looked at.

A chi-square test of the draws against exact probabilities; outcomes that are expected
fewer than five times are pooled. An output that cannot occur fails at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.audit.probabilities import Model, model_of
from winnow.audit.result import AuditResult
from winnow.audit.sampling import Sampled, plans
from winnow.audit.selection_model import NoisyTopModel
from winnow.kernels.log_counts import LogCounts
from winnow.kernels.rows import noisy_top_rows
from winnow.random.laws import Law
from winnow.random.tape import Tape

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FALSE_ALARM = 1e-8
"""For one claim. A run makes fewer than 100 of them: below 1e-6 for all together."""


def faithful(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """The audit of every sampler, on the draws of the sampling audit, and of grouped maxima."""
    for plan in plans(quick=quick, seed=seed):
        yield fidelity_of(plan, model_of(plan.case.mechanism, plan.case.declared.utility))
    for i, law in enumerate(Law):
        yield _grouped_maxima(law, 20_000 if quick else 100_000, seed + i)


def fidelity_of(plan: Sampled, model: Model) -> AuditResult:
    """Both sides of the plan's pair against a model (that of the mechanism, or another)."""
    case = plan.case
    one, other = plan.tallies()
    sides = [(plan.pair.scores, one[0] + one[1]), (plan.pair.neighbour, other[0] + other[1])]
    p_values = []
    for scores, observed in sides:
        probabilities = np.exp(model.log_probabilities(np.array([scores], np.int64))[0])
        p_values.append(chi_square_p_value(observed, probabilities))
    p_value = min(1.0, 2 * min(p_values))
    return AuditResult(
        "fidelity",
        f"{case.mechanism.name}, {case.declared.name}: the sampler draws the exact probabilities.",
        case.mechanism.name,
        str(case.declared.relation),
        case.promise.citation,
        FALSE_ALARM,
        p_value,
        p_value >= FALSE_ALARM,
        f"chi-square p-value of {plan.draws} draws on each of {plan.pair}; "
        f"rejected below {FALSE_ALARM:g}",
    )


def chi_square_p_value(observed: Integers, probabilities: Floats) -> float:
    """Of counts (the last one: impossible outputs) against probabilities."""
    from scipy.special import chdtrc

    if observed[-1]:
        return 0.0
    expected = probabilities * observed.sum()
    order = np.argsort(expected)
    # pool the rarest outcomes until five are expected
    pooled = int(np.searchsorted(np.cumsum(expected[order]), 5.0)) + 1
    starts = np.concatenate([[0], np.arange(pooled, len(order))])
    seen = np.add.reduceat(observed[:-1][order], starts)
    mean = np.add.reduceat(expected[order], starts)
    if len(seen) < 2:
        return 1.0
    return float(chdtrc(len(seen) - 1, np.sum((seen - mean) ** 2 / mean)))


def _grouped_maxima(law: Law, draws: int, seed: int) -> AuditResult:
    """Candidates that stand for many equal ones: the largest of N draws, not N draws."""
    scores, sizes = np.array([2, 1, 0]), (1, 3, 40)
    rows = noisy_top_rows(
        scores, Tape.seeded(seed), law, Fraction(3, 2), draws, 1, LogCounts.of_integers(sizes)
    )
    observed = np.append(np.bincount(rows[:, 0], minlength=3), 0)
    model = NoisyTopModel(law, 1.5, counts=sizes)
    p_value = chi_square_p_value(observed, np.exp(model.log_probabilities(scores[None])[0]))
    return AuditResult(
        "fidelity",
        f"{law} noise: the largest of N draws has its exact distribution, for groups of "
        f"{', '.join(map(str, sizes))}.",
        f"grouped maxima ({law} noise)",
        "none",
        "Canonical, Section 2.1",
        FALSE_ALARM,
        p_value,
        p_value >= FALSE_ALARM,
        f"chi-square p-value of {draws} draws; rejected below {FALSE_ALARM:g}",
    )
