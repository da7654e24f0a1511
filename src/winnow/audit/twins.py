"""Every audit against deliberately broken twins: one that catches nothing audits nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from winnow.audit.accounting import repeat_costs_its_count
from winnow.audit.broken import (
    BrokenBareThreshold,
    BrokenCutoffForgotten,
    BrokenHalvedAlways,
    BrokenInvertedScales,
    BrokenLittleNoise,
    BrokenNoFactorTwo,
    BrokenNoLead,
    BrokenOneshotForOne,
    BrokenSmallThresholds,
    BrokenTruncatedNoise,
    BrokenUnderpaid,
    cost_repeat_once,
    with_epsilon,
)
from winnow.audit.cases import AuditedMechanism, Case, OnLabels
from winnow.audit.enumeration import enumerate_case
from winnow.audit.fidelity import fidelity_of
from winnow.audit.neighbours import Declared, counts, general
from winnow.audit.probabilities import model_of
from winnow.audit.result import AuditResult
from winnow.audit.sampling import sample_case, sampled_case, samples
from winnow.core.laws import Law
from winnow.core.relation import Relation
from winnow.inner_product.audit import AdversarialIndexed, AdversarialSlack, BrokenNoCertificate
from winnow.select.audit.border import AtBorder
from winnow.select.audit.counts import (
    BrokenFreeCounts,
    BrokenHalfNoise,
    BrokenLowThreshold,
    BrokenOneRoundTooMany,
    BrokenOwnDeviation,
    BrokenTiesByPosition,
    Counted,
    CountedAtOnce,
)
from winnow.select.audit.kept import BrokenOnePerClass, KeptInEngine
from winnow.select.audit.labels import BrokenEarlyEdge
from winnow.select.audit.leads import broken_leads
from winnow.select.audit.ranked import broken_on_unknown_universes
from winnow.select.audit.top_k import BrokenOneItem, to_underpay
from winnow.select.mechanisms.approximate_oneshot import ApproximateOneshot
from winnow.select.mechanisms.canonical import Canonical
from winnow.select.mechanisms.gaussian_counts import GaussianCounts
from winnow.select.mechanisms.large_margin import LargeMargin
from winnow.select.mechanisms.lipschitz import LipschitzMechanism, PermuteAndFlip
from winnow.select.mechanisms.noisy_counts import NoisyCounts, WithCounts
from winnow.select.mechanisms.peeling import PeelGumbel
from winnow.select.mechanisms.sparse_vector import SparseVector
from winnow.select.mechanisms.truncated_laplace import TruncatedLaplace
from winnow.select.mechanisms.unknown_domain import LimitedDomain, StabilityThreshold


@dataclass(frozen=True)
class Twin:
    """What is broken, the broken mechanism, and the honest one with the same claim."""

    fault: str
    broken: AuditedMechanism
    honest: AuditedMechanism
    declared: Declared
    draws: int


def twins(*, quick: bool = False) -> list[Twin]:
    """One twin for each way of being wrong, in the laws where it could happen."""
    many, more = (20_000, 100_000) if quick else (60_000, 200_000)
    people, any_scores = counts(Relation.ADD_REMOVE), general(Relation.ADD_REMOVE)
    replaced = counts(Relation.SUBSTITUTION)
    listed = [
        Twin(
            "the factor 2 is missing in the scale",
            BrokenNoFactorTwo(1.0, law),
            LipschitzMechanism(1.0, law),
            people,
            many,
        )
        for law in Law
    ]
    listed += [
        Twin(
            "the sensitivity of counts is halved under substitution",
            BrokenHalvedAlways(1.0, law),
            LipschitzMechanism(1.0, law),
            replaced,
            many,
        )
        for law in (Law.GUMBEL, Law.EXPONENTIAL)
    ]
    listed += [
        Twin(
            "oneshot does not divide epsilon by k",
            BrokenOneshotForOne(1.0, law, 2),
            LipschitzMechanism(1.0, law, 2),
            people,
            5 * many,
        )
        for law in (Law.GUMBEL, Law.EXPONENTIAL, Law.LAPLACE)
    ]
    listed += [
        Twin(
            "the noise is truncated",
            BrokenTruncatedNoise(1.0, Law.GUMBEL),
            LipschitzMechanism(1.0, Law.GUMBEL),
            people,
            many,
        ),
        Twin(
            "the noise of the values lacks the factor cutoff",
            BrokenCutoffForgotten(2.0, 0, 3),
            SparseVector(2.0, 0, 3),
            any_scores,
            more,
        ),
        Twin(
            "the threshold has no noise",
            BrokenBareThreshold(1.0, 0),
            SparseVector(1.0, 0),
            any_scores,
            more,
        ),
        Twin(
            "the thresholds are far too small",
            BrokenSmallThresholds(1.0, 0.05),
            LargeMargin(1.0, 0.05),
            any_scores,
            many,
        ),
        Twin(
            "the noise scales are inverted",
            BrokenInvertedScales(1.0, 0.05),
            LargeMargin(1.0, 0.05),
            any_scores,
            many,
        ),
        Twin(
            "the index is trusted without a certificate",
            BrokenNoCertificate(2.0, slack=0.1, adversary="worst"),
            AdversarialSlack(2.0, slack=0.1, adversary="worst"),
            any_scores,
            many,
        ),
        Twin(
            "labels leave without a threshold",
            OnLabels(BrokenNoLead(1.0, 0.2, 1, None, reach=2)),
            OnLabels(LimitedDomain(1.0, 0.2, 1, None, reach=2)),
            people,
            600,
        ),
        Twin(
            "labels leave at one count below the threshold",
            OnLabels(BrokenLowThreshold(2.0, 0.2, 1, 1, with_counts=True), cells=3),
            OnLabels(StabilityThreshold(2.0, 0.2, 1, 1, with_counts=True), cells=3),
            people,
            1_000,
        ),
        Twin(
            "noisy counts have half the noise",
            Counted(BrokenHalfNoise(2.0, 1, with_counts=True), cells=4),
            Counted(NoisyCounts(2.0, 1, with_counts=True), cells=4),
            people,
            1_200,
        ),
        Twin(
            "Gaussian noise has the scale of Laplace noise",
            Counted(BrokenOwnDeviation(1.0, 1, with_counts=True, delta=0.01), cells=4),
            Counted(GaussianCounts(1.0, 1, with_counts=True, delta=0.01), cells=4),
            people,
            many,
        ),
        Twin(
            "the counts of the winners are not charged",
            CountedAtOnce(BrokenFreeCounts(PermuteAndFlip(2.0), 2.0, 1), cells=4),
            CountedAtOnce(WithCounts(PermuteAndFlip(1.0), 1.0, 1), cells=4),
            people,
            many,
        ),
        Twin(
            "a round too many is run with the epsilon of a round",
            BrokenOneRoundTooMany(2.0, 0.01, 2),
            PeelGumbel(2.0, 0.01, 2),
            people,
            many,
        ),
    ]
    return listed


def enumerated_twins() -> list[Twin]:
    """Twins of the mechanisms that have none above: wrong scales show in their draws too."""
    people = counts(Relation.ADD_REMOVE)
    little = Fraction(1, 5), Fraction(1, 20), 2
    honest: list[AuditedMechanism] = [
        *to_underpay(),
        AdversarialIndexed(1.0, adversary="worst"),
    ]
    return [
        *(
            Twin("half of the epsilon is charged", BrokenUnderpaid(one), one, people, 0)
            for one in honest
        ),
        Twin(
            "the noise is a fortieth",
            BrokenLittleNoise(*little),
            ApproximateOneshot(*little),
            people,
            0,
        ),
        *(Twin(*twin, people, 0) for twin in broken_on_unknown_universes()),
        Twin(*broken_leads(), people, 0),
        Twin(
            "people have many items, and the noise is for one",
            BrokenOneItem(1.0, 2, one_item=True),
            Canonical(1.0, 2, one_item=True),
            people,
            0,
        ),
        Twin(
            "a class of equal counts has the noise of one candidate",
            KeptInEngine(BrokenOnePerClass(0.5)),
            KeptInEngine(LipschitzMechanism(0.5, Law.GUMBEL)),
            people,
            0,
        ),
        Twin(
            "noise ends one count below what delta allows",
            OnLabels(BrokenEarlyEdge(2.0, 0.1, 1, 1, with_counts=True), cells=3),
            OnLabels(TruncatedLaplace(2.0, 0.1, 1, 1, with_counts=True), cells=3),
            people,
            0,
        ),
        Twin(
            "equal noisy counts are listed by position up to a number of labels, by lot beyond",
            AtBorder(OnLabels(BrokenTiesByPosition(2.0, 0.1, 2, 1, with_counts=True), 3), 2),
            AtBorder(OnLabels(StabilityThreshold(2.0, 0.1, 2, 1, with_counts=True), 3), 2),
            people,
            0,
        ),
    ]


def caught(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Every twin under every audit that has to catch it."""
    for i, twin in enumerate(twins(quick=quick)):
        for audit in (by_enumeration, by_sampling, by_fidelity):
            yield audit(twin, seed + 1000 + 2 * i)
    for twin in enumerated_twins():
        yield by_enumeration(twin)
    yield from wrong_scales(quick=quick, seed=seed)
    result = repeat_costs_its_count(cost_repeat_once)
    yield _as_twin("a loop is charged once", "Accounting", result)


def wrong_scales(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """The draws of the honest samplers do not fit the probabilities of another epsilon."""
    for sample in samples(quick=quick, seed=seed):
        factor = Fraction(5, 4) if sample.draws >= 20_000 else Fraction(4)
        other = with_epsilon(sample.case.mechanism, factor)
        result = fidelity_of(sample, model_of(other, sample.case.declared.utility))
        yield _as_twin(f"the scale is off by a factor {float(factor):g}", "Fidelity", result)


def by_enumeration(twin: Twin, seed: int = 0) -> AuditResult:
    """Exact probabilities show the loss."""
    result = next(enumerate_case(Case(twin.broken, twin.declared), quick=True))
    return _as_twin(twin.fault, "Enumeration", result)


def by_sampling(twin: Twin, seed: int) -> AuditResult:
    """Draws of the twin prove more than the claimed epsilon."""
    result = sample_case(sampled_case(Case(twin.broken, twin.declared), twin.draws, seed))
    return _as_twin(twin.fault, "Sampling", result)


def by_fidelity(twin: Twin, seed: int) -> AuditResult:
    """Draws of the twin do not follow the honest mechanism's probabilities."""
    sample = sampled_case(Case(twin.broken, twin.declared), twin.draws, seed)
    return _as_twin(
        twin.fault, "Fidelity", fidelity_of(sample, model_of(twin.honest, twin.declared.utility))
    )


def _as_twin(fault: str, audit: str, result: AuditResult) -> AuditResult:
    return AuditResult(
        "twin",
        f"{audit} catches that {fault}.",
        f"{result.mechanism}, broken on purpose",
        result.relation,
        result.citation,
        result.claimed,
        result.measured,
        not result.passed,
        f"{'caught' if not result.passed else 'NOT CAUGHT'}: {result.claim} {result.detail}",
    )
