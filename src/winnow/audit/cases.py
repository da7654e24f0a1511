"""What is audited: every selection of the guarantee table, on small score vectors."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.audit.neighbours import Declared, declarations
from winnow.audit.probabilities import Model, Scores, model_of
from winnow.audit.ties import RandomTies
from winnow.core.checks import Real
from winnow.core.laws import Law
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.inner_product.audit import ADVERSARIES, AdversarialIndexed, AdversarialSlack
from winnow.privacy import Promise, pure_cost
from winnow.select.audit.border import AtBorder
from winnow.select.audit.counts import BrokenTiesByPosition, Counted
from winnow.select.audit.kept import KeptInEngine
from winnow.select.audit.leads import with_leads
from winnow.select.audit.ranked import on_unknown_universes
from winnow.select.audit.top_k import (
    BoundedNoiseModel,
    LimitedDomainModel,
    StabilityModel,
    lists_and_sets,
    of_one_item,
)
from winnow.select.mechanisms.canonical import Canonical
from winnow.select.mechanisms.gaussian_counts import GaussianCounts
from winnow.select.mechanisms.joint import Joint
from winnow.select.mechanisms.large_margin import LargeMargin
from winnow.select.mechanisms.lipschitz import LipschitzMechanism
from winnow.select.mechanisms.noisy_counts import NoisyCounts, WithCounts
from winnow.select.mechanisms.peeling import PeelGumbel
from winnow.select.mechanisms.sparse_vector import SparseVector
from winnow.select.mechanisms.truncated_laplace import TruncatedLaplace
from winnow.select.mechanisms.unknown_domain import LimitedDomain, StabilityThreshold

EPSILON = 1.0
MARGIN_PARAMETERS = ((0.2, 0.9), (4.0, 0.05))
"""(epsilon, delta) of the large margin mechanism: a loose pair, at which a tiny instance
comes nearest to its delta, and one whose thresholds lie at small integers."""


class AuditedMechanism(Protocol):
    """What audits ask of a mechanism."""

    @property
    def name(self) -> str:
        """What the receipt calls it."""

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""

    def simulate(
        self, scores: Scores, utility: Utility, draws: int, seed: int
    ) -> NDArray[np.int64]:
        """Draws on made-up scores, a row for each."""

    def __hash__(self) -> int:
        """Mechanisms are frozen sets of public parameters."""


class UnorderedGumbel(LipschitzMechanism):
    """Oneshot Gumbel noise that releases the set only, as a row of the table has it."""

    @property
    def ordered(self) -> bool:
        """Whether the order is part of the release: never for a set."""
        return self.kappa == 1

    @property
    def name(self) -> str:
        """What audits call it."""
        return f"{super().name}, as a set"


@dataclass(frozen=True)
class OnLabels:
    """A top-k mechanism on private labels: drawn over those that are in the data.

    With `cells`, noisy counts too: at the threshold, 1 above it, ..., and all beyond.
    """

    inner: LimitedDomain | StabilityThreshold | TruncatedLaplace
    cells: int = 0

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.inner.name}{', counts released' if self.cells else ''}"

    @property
    def epsilon(self) -> Real:
        """The total for the call."""
        return self.inner.epsilon

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return self.inner.promise(relation)

    def simulate(
        self, scores: Scores, utility: Utility, draws: int, seed: int
    ) -> NDArray[np.int64]:
        """Lists of labels, filled up with -1; a count of 0 is a label that is not there."""
        inner, there, root = self.inner, np.flatnonzero(scores > 0), Tape.seeded(seed)
        rows = np.full((draws, inner.k * (2 if self.cells else 1)), -1, np.int64)
        present = np.asarray(scores[there], np.int64)
        for draw, row in enumerate(rows):
            drawn = inner.of_scores(present, utility, root.child(f"draw-{draw}"))
            released, counts = drawn.members, drawn.noisy
            row[: len(released)] = there[released]
            if counts is not None and not isinstance(inner, LimitedDomain):
                above = np.array(counts, np.int64) - inner.threshold(utility)
                row[inner.k :][: len(counts)] = np.minimum(above, self.cells - 1)
        return rows

    def model(self, utility: Utility) -> Model:
        """Its exact output distribution."""
        inner = self.inner
        if isinstance(inner, LimitedDomain):
            scale = float(inner.epsilon_per_round / utility.width)
            lead, reach = inner.lead(utility), inner.reach or 0
            most = inner.max_items
            return RandomTies(LimitedDomainModel(scale, lead, reach, inner.k, most), inner.k)
        of_noise = BoundedNoiseModel if isinstance(inner, TruncatedLaplace) else StabilityModel
        by_position = of_noise(
            float(inner.scale(utility)),
            inner.threshold(utility),
            inner.k,
            inner.max_items,
            self.cells,
        )
        broken = isinstance(inner, BrokenTiesByPosition)
        return by_position if broken else RandomTies(by_position, inner.k)


@dataclass(frozen=True)
class Case:
    """A mechanism, and what was declared about its scores."""

    mechanism: AuditedMechanism
    declared: Declared

    @property
    def model(self) -> Model:
        """Its exact output distribution."""
        return model_of(self.mechanism, self.declared.utility)

    @property
    def promise(self) -> Promise:
        """What it promises under the declared relation."""
        return self.mechanism.promise(self.declared.relation)

    @property
    def claimed(self) -> tuple[float, float]:
        """(epsilon, delta) of its event, or of the rounds composed where that is the claim."""
        mechanism, promised = self.mechanism, self.promise
        while isinstance(mechanism, Counted | KeptInEngine | AtBorder):
            mechanism = mechanism.inner
        if isinstance(mechanism, PeelGumbel | GaussianCounts):
            whole = mechanism.guarantee(promised)
            return float(whole.epsilon), float(whole.delta)
        cost = pure_cost(promised.event)
        return float(cost.epsilon), float(cost.delta)


def selections(*, quick: bool = False) -> list[AuditedMechanism]:
    """One mechanism or more for every selection row of the guarantee table."""
    epsilon = EPSILON
    listed: list[AuditedMechanism] = [LipschitzMechanism(epsilon, law) for law in Law]
    for kappa in (2,) if quick else (2, 3):
        listed += [LipschitzMechanism(epsilon, law, kappa) for law in Law]
        listed.append(UnorderedGumbel(epsilon, Law.GUMBEL, kappa))
    listed += [
        LipschitzMechanism(epsilon, law, 2, in_order=True) for law in Law if law is not Law.GUMBEL
    ]
    listed += with_leads(epsilon)
    listed += lists_and_sets(epsilon, quick=quick)
    listed += [SparseVector(epsilon, 0, cutoff) for cutoff in (1, 2)]
    listed.append(AdversarialIndexed(epsilon, adversary="worst"))
    for adversary in ("turning",) if quick else ADVERSARIES:
        listed.append(AdversarialSlack(epsilon, slack=Fraction(1, 5), adversary=adversary))
    if not quick:
        listed.append(AdversarialIndexed(epsilon, 2, adversary="worst"))
        listed.append(AdversarialSlack(2 * epsilon, 2, slack=Fraction(1, 4), adversary="turning"))
    for parameters in MARGIN_PARAMETERS[: 1 if quick else None]:
        listed += [LargeMargin(*parameters, thresholds) for thresholds in ("tight", "printed")]
    return listed


def on_private_labels() -> list[AuditedMechanism]:
    """Mechanisms of the table that are about counts of private labels only."""
    return [
        OnLabels(LimitedDomain(4.0, 0.2, 2, None, reach=2)),
        OnLabels(LimitedDomain(4.0, 0.2, 2, 1, reach=3)),
        OnLabels(StabilityThreshold(1.0, 0.2, 2, 1)),
        OnLabels(StabilityThreshold(2.0, 0.1, 2, 1, with_counts=True), cells=3),
        OnLabels(StabilityThreshold(2.0, 0.1, 1, 2, with_counts=True), cells=3),
        OnLabels(TruncatedLaplace(2.0, 0.1, 2, 1, with_counts=True), cells=3),
        OnLabels(TruncatedLaplace(2.0, 0.1, 1, 2, with_counts=True), cells=3),
    ]


def with_noisy_counts() -> list[AuditedMechanism]:
    """Mechanisms of counts of people that release noisy counts, or lists by them."""
    joint = WithCounts(Joint(EPSILON, 2), EPSILON, 2)
    canonical = WithCounts(Canonical(EPSILON, 2), EPSILON, 2, max_items=1)
    return [
        Counted(NoisyCounts(EPSILON, 2, 1), cells=0),
        Counted(NoisyCounts(2 * EPSILON, 2, 2, with_counts=True), cells=3),
        Counted(NoisyCounts(EPSILON, 1, 1, with_counts=True), cells=4),
        Counted(GaussianCounts(2.0, 2, 2, delta=0.01), cells=0),
        Counted(GaussianCounts(2.0, 1, 2, with_counts=True, delta=0.01), cells=4),
        Counted(joint, cells=3),
        Counted(canonical, cells=3),
        *of_one_item(EPSILON),
    ]


def kept_in_an_engine() -> list[AuditedMechanism]:
    """Mechanisms of counts that stay in an engine, from some number of labels on or always."""
    return [
        KeptInEngine(Counted(NoisyCounts(EPSILON, 1, 1, with_counts=True), cells=3)),
        KeptInEngine(Counted(GaussianCounts(2.0, 2, 1, delta=0.01), cells=0)),
        AtBorder(OnLabels(StabilityThreshold(2.0, 0.1, 2, 1, with_counts=True), cells=3), 2),
        AtBorder(OnLabels(TruncatedLaplace(2.0, 0.1, 2, 1, with_counts=True), cells=3), 2),
        AtBorder(OnLabels(LimitedDomain(4.0, 0.2, 2, 1, reach=2)), 2),
    ]


def all_cases(*, quick: bool = False) -> list[Case]:
    """Every selection, for counts, general and asymmetric scores, under both relations."""
    declared = declarations()
    if quick:
        declared = tuple(d for d in declared if d.monotone or d.relation is Relation.ADD_REMOVE)
        declared = tuple(d for d in declared if d.monotone or d.sensitivity != 1)
    cases = [Case(mechanism, d) for mechanism in selections(quick=quick) for d in declared]
    people = [d for d in declared if d.monotone]
    of_people = on_private_labels() + with_noisy_counts() + kept_in_an_engine()
    of_people += on_unknown_universes()
    return cases + [Case(mechanism, d) for mechanism in of_people for d in people]
