"""Audit 3: the sampler draws the distribution that the enumeration looked at.

The chi-square test in its likelihood-ratio form: n times the relative entropy of the
observed frequencies from the exact probabilities. Its level is proven, not asymptotic, so
that rare outcomes need no pooling. An output that cannot occur fails at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.audit.probabilities import Model, model_of
from winnow.audit.result import AuditResult
from winnow.audit.sampling import Sampled, samples
from winnow.core.laws import Law
from winnow.core.noisy_top.log_counts import LogCounts
from winnow.core.noisy_top.rows import noisy_top_rows
from winnow.core.tape import Tape
from winnow.select.audit.model import NoisyTopModel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FALSE_ALARM = 1e-8
"""For one claim. A run makes fewer than 100 of them: below 1e-6 for all together."""


def faithful(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """The audit of every sampler, on the draws of the sampling audit, and of grouped maxima."""
    for sample in samples(quick=quick, seed=seed):
        yield fidelity_of(sample, model_of(sample.case.mechanism, sample.case.declared.utility))
    for i, law in enumerate(Law):
        yield _grouped_maxima(law, 20_000 if quick else 100_000, seed + i)


def fidelity_of(sample: Sampled, model: Model) -> AuditResult:
    """Both sides of the pair of a sample against a model (that of the mechanism, or another)."""
    case = sample.case
    one, other = sample.tallies()
    sides = [(sample.pair.scores, one[0] + one[1]), (sample.pair.neighbour, other[0] + other[1])]
    p_values = []
    for scores, observed in sides:
        probabilities = np.exp(model.log_probabilities(np.array([scores], np.int64))[0])
        p_values.append(chi_square_p_value(observed, probabilities))
    p_value = min(1.0, 2 * min(p_values))
    return fidelity_result(
        f"{case.mechanism.name}, {case.declared.name}: the sampler draws the exact probabilities.",
        case.mechanism.name,
        case.promise.citation,
        p_value,
        f"{sample.draws} draws on each of {sample.pair}",
        relation=str(case.declared.relation),
    )


def fidelity_result(
    claim: str, mechanism: str, citation: str, p_value: float, draws: str, relation: str = "both"
) -> AuditResult:
    """What a p-value, or a bound on it, says of a sampler."""
    return AuditResult(
        "fidelity",
        claim,
        mechanism,
        relation,
        citation,
        FALSE_ALARM,
        p_value,
        p_value >= FALSE_ALARM,
        f"p-value at most this, from {draws}; rejected below {FALSE_ALARM:g}",
    )


def chi_square_p_value(observed: Integers, probabilities: Floats) -> float:
    """A proven bound on the p-value of counts (the last one: impossible outputs).

    For n draws among k outcomes with relative entropy D from the truth and x = n D > k - 1:
    Pr[as far or further] <= e^-x (e x/(k-1))^(k-1) [Agrawal 2020].
    """
    possible = probabilities > 0
    if observed[-1] or np.any(observed[:-1][~possible]):
        return 0.0
    seen, mean = observed[:-1][possible], probabilities[possible] * observed.sum()
    hit = seen > 0
    x = float(np.sum(seen[hit] * np.log(seen[hit] / mean[hit])))
    freedom = len(seen) - 1
    if x <= freedom or freedom == 0:
        return 1.0
    return math.exp(min(0.0, freedom * (1 + math.log(x / freedom)) - x))


def _grouped_maxima(law: Law, draws: int, seed: int) -> AuditResult:
    """Candidates that stand for many equal ones: the largest of N draws, not N draws."""
    scores, sizes = np.array([2, 1, 0]), (1, 3, 40)
    rows = noisy_top_rows(
        scores, Tape.seeded(seed), law, Fraction(3, 2), draws, 1, LogCounts.of_integers(sizes)
    )
    observed = np.append(np.bincount(rows[:, 0], minlength=3), 0)
    model = NoisyTopModel(law, 1.5, counts=sizes)
    p_value = chi_square_p_value(observed, np.exp(model.log_probabilities(scores[None])[0]))
    return fidelity_result(
        f"{law} noise: the largest of N draws has its exact distribution, for groups of "
        f"{', '.join(map(str, sizes))}.",
        f"grouped maxima ({law} noise)",
        "Canonical, Section 2.1",
        p_value,
        f"{draws} draws",
        relation="none",
    )
