"""What is audited: every selection of the guarantee table, on small score vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import ceil
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.audit.neighbours import Declared, declarations, moves
from winnow.audit.probabilities import Exchangeable, Model, Scores, model_of
from winnow.core.checks import Real
from winnow.core.laws import Law
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.inner_product.audit import ADVERSARIES, AdversarialIndexed, AdversarialSlack, LazyModel
from winnow.privacy import Promise, pure_cost
from winnow.select.audit.model import LargeMarginModel, NoisyTopModel, SparseVectorModel
from winnow.select.audit.ranked import RankedModel, on_unknown_universes
from winnow.select.large_margin import LargeMargin
from winnow.select.mechanism import LipschitzMechanism
from winnow.select.sparse_vector import SparseVector
from winnow.topk.audit.counts import Counted, ListThenCountsModel, NoisyCountsModel
from winnow.topk.audit.model import (
    CanonicalModel,
    CubeModel,
    JointModel,
    LimitedDomainModel,
    PeeledModel,
    SizedSetModel,
    StabilityModel,
)
from winnow.topk.mechanisms.approximate_oneshot import ApproximateOneshot
from winnow.topk.mechanisms.canonical import Canonical
from winnow.topk.mechanisms.gamma import GammaMechanism
from winnow.topk.mechanisms.joint import Joint
from winnow.topk.mechanisms.noisy_counts import NoisyCounts, WithCounts
from winnow.topk.mechanisms.peeling import PeelGumbel, PeelPermuteAndFlip
from winnow.topk.mechanisms.unknown_domain import LimitedDomain, StabilityThreshold

Integers = NDArray[np.int64]

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

    inner: LimitedDomain | StabilityThreshold
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
            released, counts = inner._draw(present, utility, root.child(f"draw-{draw}"))
            row[: len(released)] = there[released]
            if counts is not None and isinstance(inner, StabilityThreshold):
                above = np.array(counts, np.int64) - inner.threshold(utility)
                row[inner.k :][: len(counts)] = np.minimum(above, self.cells - 1)
        return rows

    def model(self, utility: Utility) -> Model:
        """Its exact output distribution."""
        inner = self.inner
        if isinstance(inner, LimitedDomain):
            scale = float(inner._per_round() / utility.width)
            lead, reach = inner.lead(utility), inner.reach or 0
            return LimitedDomainModel(scale, lead, reach, inner.k, inner.max_items_per_user)
        return StabilityModel(
            float(inner.scale(utility)),
            inner.threshold(utility),
            inner.k,
            inner.max_items_per_user,
            self.cells,
        )


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
        if isinstance(mechanism, PeelGumbel):
            whole = mechanism.guarantee(promised)
            return float(whole.epsilon), float(whole.delta)
        cost = pure_cost(promised.event)
        return float(cost.epsilon), float(cost.delta)


def selections(*, quick: bool = False) -> list[AuditedMechanism]:
    """One mechanism or more for every selection row of the guarantee table."""
    epsilon = EPSILON
    found: list[AuditedMechanism] = [LipschitzMechanism(epsilon, law) for law in Law]
    for kappa in (2,) if quick else (2, 3):
        found += [LipschitzMechanism(epsilon, law, kappa) for law in Law]
        found.append(UnorderedGumbel(epsilon, Law.GUMBEL, kappa))
    found += [PeelPermuteAndFlip(epsilon, 2), Joint(epsilon, 2)]
    found += [PeelGumbel(epsilon, Fraction(1, 100), k) for k in ((2,) if quick else (2, 3))]
    found += [Canonical(epsilon, 2, gamma=Fraction(1, 2), noise=law) for law in Law]
    for law in (Law.GUMBEL, Law.EXPONENTIAL):
        found += [Canonical(epsilon, 2, gamma=gamma, noise=law) for gamma in (0, 1)]
        found.append(Canonical(epsilon, 2, noise=law, rounded=True))
    found += [GammaMechanism(epsilon, k) for k in (1, 2)]
    found.append(ApproximateOneshot(Fraction(1, 5), Fraction(1, 20), 2))
    found += [SparseVector(epsilon, 0, cutoff) for cutoff in (1, 2)]
    found.append(AdversarialIndexed(epsilon, adversary="worst"))
    for adversary in ("turning",) if quick else ADVERSARIES:
        found.append(AdversarialSlack(epsilon, slack=Fraction(1, 5), adversary=adversary))
    if not quick:
        found.append(AdversarialIndexed(epsilon, 2, adversary="worst"))
        found.append(AdversarialSlack(2 * epsilon, 2, slack=Fraction(1, 4), adversary="turning"))
    for parameters in MARGIN_PARAMETERS[: 1 if quick else None]:
        found += [LargeMargin(*parameters, thresholds) for thresholds in ("tight", "printed")]
    return found


def on_private_labels() -> list[AuditedMechanism]:
    """Mechanisms of the table that are about counts of private labels only."""
    return [
        OnLabels(LimitedDomain(4.0, 0.2, 2, None, reach=2)),
        OnLabels(LimitedDomain(4.0, 0.2, 2, 1, reach=3)),
        OnLabels(StabilityThreshold(1.0, 0.2, 2, 1)),
        OnLabels(StabilityThreshold(2.0, 0.1, 2, 1, with_counts=True), cells=3),
        OnLabels(StabilityThreshold(2.0, 0.1, 1, 2, with_counts=True), cells=3),
    ]


def with_noisy_counts() -> list[AuditedMechanism]:
    """Mechanisms of counts of people that release noisy counts, or lists by them."""
    joint = WithCounts(Joint(EPSILON, 2), EPSILON, 2)
    canonical = WithCounts(Canonical(EPSILON, 2), EPSILON, 2, max_items_per_user=1)
    return [
        Counted(NoisyCounts(EPSILON, 2, 1), cells=0),
        Counted(NoisyCounts(2 * EPSILON, 2, 2, with_counts=True), cells=3),
        Counted(NoisyCounts(EPSILON, 1, 1, with_counts=True), cells=4),
        Counted(joint, cells=3),
        Counted(canonical, cells=3),
    ]


def all_cases(*, quick: bool = False) -> list[Case]:
    """Every selection, for counts, general and asymmetric scores, under both relations."""
    declared = declarations()
    if quick:
        declared = tuple(d for d in declared if d.monotone or d.relation is Relation.ADD_REMOVE)
        declared = tuple(d for d in declared if d.monotone or d.sensitivity != 1)
    cases = [Case(mechanism, d) for mechanism in selections(quick=quick) for d in declared]
    people = [d for d in declared if d.monotone]
    of_people = on_private_labels() + with_noisy_counts() + on_unknown_universes()
    return cases + [Case(mechanism, d) for mechanism in of_people for d in people]


Boxes = frozenset[tuple[int, int]]


def instances(model: Model, boxes: Boxes, *, quick: bool) -> Iterator[tuple[Integers, Integers]]:
    """Score vectors and the moves to their neighbours, for the kind of the model."""
    match model:
        case NoisyTopModel() | PeeledModel() | JointModel():
            yield from _for_selection(model, boxes, quick)
        case CanonicalModel() | SizedSetModel() | CubeModel():
            yield from _for_selection(model, boxes, quick)
        case LazyModel():  # in every order: an index may go by position
            far = ceil(12 / model.scale)
            yield _vectors((0, 1, 2, 3) if quick else (0, 1, 2, 3, far), 3), moves(boxes, 3)
            few = quick or model.k > 1
            yield _vectors((0, 2) if few else (0, 1, 2), 4), moves(boxes, 4)
        case SparseVectorModel():
            yield from _for_thresholds(model, boxes, quick)
        case LimitedDomainModel() | StabilityModel() | RankedModel():
            yield from _for_private_labels(model, boxes, quick)
        case NoisyCountsModel() | ListThenCountsModel():
            yield from _for_noisy_counts(model, boxes, quick)
        case LargeMarginModel():
            yield from _for_margins(model, boxes, quick)
        case _:
            yield _vectors((0, 1, 2, 3, 4, 5, 6), 3), moves(boxes, 3)


def neighbours_of(model: Model, bases: Integers, steps: Integers) -> Integers:
    """A row for each vector and each move. Counts of labels stop at 0: nobody is missing twice."""
    moved = (bases[:, None] + steps).reshape(-1, bases.shape[1])
    of_labels = isinstance(model, LimitedDomainModel | StabilityModel | RankedModel)
    return np.maximum(moved, 0) if of_labels else moved


def _for_selection(
    model: Exchangeable, boxes: Boxes, quick: bool
) -> Iterator[tuple[Integers, Integers]]:
    """All sorted vectors of small scores with ties, and far-off scores where losses peak."""
    far = ceil(12 / model.scale)
    winners = model.outcomes(6).shape[1]
    for d in (4,) if quick else (3, 4, 5):
        if d > winners and (d < 5 or not isinstance(model, CubeModel)):
            steps = moves(boxes, d, inside=d == 3)
            yield _sorted_vectors((0, 1, 2, 3) if d < 5 and not quick else (0, 1, 2), d), steps
            yield _sorted_vectors((0, far, 2 * far) if d == 3 else (0, far), d), steps


def _for_thresholds(
    model: SparseVectorModel, boxes: Boxes, quick: bool
) -> Iterator[tuple[Integers, Integers]]:
    """All orders of near and far values; then reports that a neighbour finds hardest.

    Those are: far below the threshold and yet reported above, after values far above that
    are all reported below.
    """
    far = ceil(12 * model.value_scale)
    yield _vectors((-1, 0, 1), 3), moves(boxes, 3)
    # two halves of three, moved apart: what draws can show best
    yield np.repeat(_vectors((-1, 0, 1), 2), 3, axis=1), np.repeat(moves(boxes, 2), 3, axis=1)
    if not quick:
        yield _vectors((-far, 0, far), 3), moves(boxes, 3)
    yield _vectors((-far, far), 4), moves(boxes, 4)
    planted = [-far] * (model.cutoff - 1) + [far] * 4 + [-far]
    steps = moves(boxes, len(planted))
    middle = steps[:, model.cutoff - 1 : -1]
    yield np.array([planted]), steps[np.all(middle == middle[:, :1], axis=1)]


def _for_margins(
    model: LargeMarginModel, boxes: Boxes, quick: bool
) -> Iterator[tuple[Integers, Integers]]:
    """Gaps at ties, at 2 sensitivities and around the thresholds; the leader first or last."""
    raw = model.thresholds(np.arange(1, 4)) * model.sensitivity
    for d in (3,) if quick else (3, 4):
        ties, around = ((0, 1, 2, 3, 4), (-1, 0, 2)) if d == 3 else ((0, 1, 2), (1,))
        gaps = {*ties, *(int(t) + step for t in raw[: d - 1] for step in around)}
        bases = -_sorted_vectors(tuple(gaps), d - 1)
        bases = np.hstack([np.zeros((len(bases), 1), np.int64), bases])
        yield np.vstack([bases, bases[:, ::-1]]), moves(boxes, d, inside=d == 3)
    if not quick:  # five candidates, moved to the corners of a box
        gaps = {0, 1, 3, int(raw[0]) + 1}
        bases = -_sorted_vectors(tuple(gaps), 4)
        corners = {step for box in boxes for step in product(box, repeat=5)} - {(0,) * 5}
        yield np.insert(bases, 0, 0, axis=1), np.array(sorted(corners), np.int64)
    # The last candidate leads many equals and may fall back among them: there the
    # thresholds are needed most.
    many = 60
    leading = np.array([(0,) * (many - 1) + (gap,) for gap in (0, 1, 2)], np.int64)
    steps = [(others,) * (many - 1) + (leader,) for others, leader in moves(boxes, 2).tolist()]
    yield leading, np.array(steps, np.int64)


def _for_private_labels(
    model: LimitedDomainModel | StabilityModel | RankedModel, boxes: Boxes, quick: bool
) -> Iterator[tuple[Integers, Integers]]:
    """Small counts, zeros and all; one person has at most `items` labels."""
    d = 3 if quick or isinstance(model, StabilityModel) else 4
    values = (0, 1, 2, 4) if isinstance(model, StabilityModel) else (0, 1, 2, 3, 5, 8)
    yield _sorted_vectors(values, d), _within(model.items, moves(boxes, d))


def _for_noisy_counts(
    model: NoisyCountsModel | ListThenCountsModel, boxes: Boxes, quick: bool
) -> Iterator[tuple[Integers, Integers]]:
    """Small counts with ties, forwards and backwards, because ties go by position."""
    for d in (4,) if quick else (3, 4):
        bases = _sorted_vectors((0, 1, 2) if d == 4 else (0, 1, 2, 5), d)
        yield np.vstack([bases, bases[:, ::-1]]), _within(model.items, moves(boxes, d))


def _within(items: int | None, steps: Integers) -> Integers:
    """The moves of a person with at most so many items; of one who leaves and one who comes."""
    if items is None:
        return steps
    up, down = np.sum(steps > 0, axis=1), np.sum(steps < 0, axis=1)
    return np.asarray(steps[(up <= items) & (down <= items)], np.int64)


def _sorted_vectors(values: tuple[int, ...], d: int) -> Integers:
    return np.array(list(combinations_with_replacement(sorted(values, reverse=True), d)), np.int64)


def _vectors(values: tuple[int, ...], d: int) -> Integers:
    return np.array(list(product(values, repeat=d)), np.int64)
