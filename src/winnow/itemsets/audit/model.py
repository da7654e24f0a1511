"""Itemset selections that are wrong on purpose. Reachable from audits only."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

from winnow.audit.broken import BrokenUnderpaid
from winnow.audit.neighbours import Declared, counts
from winnow.audit.probabilities import Model, model_of
from winnow.core.baskets import Baskets
from winnow.core.laws import Law
from winnow.core.noisy_top.universe import ExplicitRanks
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.itemsets.kernels.mine import ItemsetRanks
from winnow.privacy import Promise
from winnow.select.audit.adaptive import AdaptiveModel, BrokenTrueLength, TrueLengthModel
from winnow.select.audit.ranked import OnUnknownUniverse
from winnow.select.audit.top_k import LimitedDomainModel, PeeledModel
from winnow.select.crossing.selection import Pick
from winnow.select.mechanisms.canonical import Canonical
from winnow.select.mechanisms.canonical_adaptive import CanonicalAdaptive
from winnow.select.mechanisms.conditional import Choosing, DistanceToInstability
from winnow.select.mechanisms.joint import Joint
from winnow.select.mechanisms.large_margin import LargeMargin
from winnow.select.mechanisms.lipschitz import LipschitzMechanism
from winnow.select.mechanisms.repeated import Repeated
from winnow.select.mechanisms.unknown_domain import LimitedDomain

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Scores = NDArray[np.int64] | NDArray[np.float64]

PAIRS = ((0, 1), (0, 2), (1, 2))
KINDS = (*PAIRS, (0, 1, 2))
"""The baskets over three items that hold a pair."""
HELD = np.array([[set(pair) <= set(kind) for pair in PAIRS] for kind in KINDS], np.int64)
"""Which kind of basket holds which pair."""


def baskets_of(numbers: Integers) -> Baskets:
    """So many baskets of each kind, and one with a single item."""
    rows = [
        (2,),
        *(kind for kind, n in zip(KINDS, numbers.tolist(), strict=True) for _ in range(n)),
    ]
    starts = np.cumsum([0, *map(len, rows)])
    return Baskets(starts.astype(np.int64), np.array([i for row in rows for i in row], np.int32), 3)


@dataclass(frozen=True)
class BasketsModel(Model):
    """The probabilities of a model of supports, at the supports of some baskets."""

    inner: Model
    random_ties: bool
    """Whether candidates of equal support share what the inner model gives by position."""

    def outcomes(self, d: int) -> Integers:
        """Pairs by their number; -1 where fewer are released."""
        return self.inner.outcomes(len(PAIRS))

    def log_probabilities(self, scores: Scores) -> Floats:
        """One row for each set of baskets."""
        return self.of_supports(np.asarray(scores, np.int64) @ HELD)

    def of_supports(self, supports: Integers) -> Floats:
        """One row for each row of supports."""
        distinct, where = np.unique(supports, axis=0, return_inverse=True)
        logs = self.inner.log_probabilities(distinct)
        if self.random_ties:
            logs = self._shared(logs, distinct)
        return np.asarray(logs[where.ravel()], np.float64)

    def _shared(self, logs: Floats, supports: Integers) -> Floats:
        labels = self.outcomes(0)[:, 0]
        held = np.exp(logs[:, labels >= 0])
        same = (supports[:, :, None] == supports[:, None, :]).astype(np.float64)
        shared = np.einsum("nij,nj->ni", same, held) / same.sum(axis=2)
        logs = logs.copy()
        with np.errstate(divide="ignore"):
            logs[:, labels >= 0] = np.log(shared)
        return logs


@dataclass(frozen=True)
class OnBaskets:
    """A selection of pairs of items, run on baskets of three items."""

    inner: Pick
    known: bool = True
    """Whether the list of items is public."""

    @property
    def name(self) -> str:
        """What it draws, and what the receipt calls it."""
        return f"{'itemsets' if self.known else 'unknown itemsets'}: {self.inner.name}"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return self.inner.promise(relation)

    def simulate(self, scores: Scores, utility: Utility, draws: int, seed: int) -> Integers:
        """The numbers of the released pairs, filled up with -1."""
        root, data = Tape.seeded(seed), baskets_of(np.asarray(scores, np.int64))
        width = model_of(self, utility).outcomes(0).shape[1]
        rows = np.full((draws, width), -1, np.int64)
        for draw, row in enumerate(rows):
            ranked = ItemsetRanks(data, 2, known_items=self.known)
            found = self.inner._draw(ranked, utility, root.child(f"draw-{draw}")).members
            numbers = [PAIRS.index(itemset) for itemset in found]
            row[: len(found)] = numbers if self.inner.ordered else sorted(numbers)
        return rows

    def model(self, utility: Utility) -> Model:
        """Its exact output distribution."""
        inner = self.inner
        by_position = isinstance(inner, LimitedDomain)
        if isinstance(inner, LargeMargin):
            by_position = self.known
        return BasketsModel(self._of_supports(utility), by_position)

    def _of_supports(self, utility: Utility) -> Model:
        """The mechanism on explicit counts whose law is the same."""
        inner = self.inner
        match inner:
            case LargeMargin() if self.known:
                return model_of(LargeMargin(inner.epsilon, inner.delta, inner.thresholds), utility)
            case LargeMargin() | DistanceToInstability() | Choosing():
                return model_of(OnUnknownUniverse(inner), utility)
            case LipschitzMechanism():
                return model_of(LipschitzMechanism(inner.epsilon, inner.noise), utility)
            case Joint() | Canonical():
                return model_of(inner, utility)
            case BrokenTrueLength():
                return TrueLengthModel(inner, utility)
            case CanonicalAdaptive():
                return AdaptiveModel(inner, utility)
            case LimitedDomain():
                listed = inner
                scale = float(listed.epsilon_per_round / utility.width)
                return LimitedDomainModel(
                    scale, listed.lead(utility), listed.reach or 0, listed.k, None
                )
            case Repeated(inner=LipschitzMechanism() as once):
                return PeeledModel(float(once.scale(utility)), inner.k)
        raise TypeError(f"no exact probabilities are known for a {type(inner).__name__}")


@lru_cache(maxsize=16)
def neighbours(declared: Declared, most: int) -> tuple[Integers, Integers]:
    """Sets of baskets and those with one person more, or with another person's in their place.

    A row for each pair; a person has as many baskets as the sensitivity says. There are 0, 1,
    .. or `most` of each kind. Pairs with the same supports, or that only name the items
    otherwise, stand there once: no mechanism here tells them apart.
    """
    values = sorted({0, 1, 2, most // 2, most})
    bases = np.array(list(product(values, repeat=len(KINDS))), np.int64)
    nothing = np.zeros((1, len(KINDS)), np.int64)
    one = np.vstack([nothing, np.eye(len(KINDS), dtype=np.int64)])
    person = one
    if declared.sensitivity == 2:
        places = combinations_with_replacement(range(len(one)), 2)
        person = np.unique([one[i] + one[j] for i, j in places], axis=0)
    gone = person if declared.relation is Relation.SUBSTITUTION else nothing
    moves = [(away, new) for away in gone for new in person if (away != new).any()]
    first = np.vstack([bases + away for away, _ in moves])
    second = np.vstack([bases + new for _, new in moves])
    supports = np.stack([first @ HELD, second @ HELD], axis=2)
    codes = supports[:, :, 0] * 1000 + supports[:, :, 1]  # one number for each pair of items
    _, kept = np.unique(np.sort(codes, axis=1), axis=0, return_index=True)
    return first[kept], second[kept]


@dataclass(frozen=True)
class BrokenBasketTwin:
    """What is broken, the broken selection, the honest one, and how often it is drawn."""

    fault: str
    broken: OnBaskets | BrokenUnderpaid
    honest: OnBaskets
    declared: Declared
    draws: int


@dataclass(frozen=True)
class BrokenOnlySeen(OnBaskets):
    """BROKEN: draws among the pairs that some basket holds, as if these were public."""

    def simulate(self, scores: Scores, utility: Utility, draws: int, seed: int) -> Integers:
        """The zero block is left out, unless there is nothing else."""
        supports = np.asarray(scores, np.int64) @ HELD
        there = np.flatnonzero(supports > 0) if supports.any() else np.arange(len(PAIRS))
        root, rows = Tape.seeded(seed), np.empty((draws, 1), np.int64)
        for draw in range(draws):
            ranked = ExplicitRanks(supports[there])
            (place,) = self.inner._draw(ranked, utility, root.child(f"draw-{draw}")).members
            rows[draw] = there[place]
        return rows

    def model(self, utility: Utility) -> Model:
        """Exact, with the same fault."""
        return _OnlySeenModel(self._of_supports(utility), False)


@dataclass(frozen=True)
class _OnlySeenModel(BasketsModel):
    def log_probabilities(self, scores: Scores) -> Floats:
        supports = np.asarray(scores, np.int64) @ HELD
        logs = super().log_probabilities(scores)
        logs[(supports == 0) & supports.any(axis=1, keepdims=True)] = -np.inf
        return np.asarray(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True), np.float64)


def broken_on_baskets() -> list[BrokenBasketTwin]:
    """One twin for each way in which baskets are more than counts."""
    one = counts(Relation.ADD_REMOVE)
    two = Declared("people with up to two baskets", Relation.ADD_REMOVE, 2, monotone=True)
    exponential = LipschitzMechanism(1.0, Law.GUMBEL)
    return [
        BrokenBasketTwin(
            "only itemsets that occur are candidates",
            BrokenOnlySeen(exponential),
            OnBaskets(exponential),
            one,
            400,
        ),
        BrokenBasketTwin(
            "the true length of a set is taken",
            OnBaskets(BrokenTrueLength(12.0, 2)),
            OnBaskets(CanonicalAdaptive(12.0, 2)),
            one,
            0,
        ),
        BrokenBasketTwin(
            "the second basket of a person is forgotten",
            BrokenUnderpaid(OnBaskets(LipschitzMechanism(Fraction(8), Law.GUMBEL))),
            OnBaskets(LipschitzMechanism(Fraction(4), Law.GUMBEL)),
            two,
            0,
        ),
        *(
            BrokenBasketTwin(
                f"1/{parts} of the epsilon is charged",
                BrokenUnderpaid(honest, Fraction(1, parts)),
                honest,
                one,
                0,
            )
            for honest, parts in (
                (OnBaskets(Joint(1.0, 2)), 2),
                (OnBaskets(Canonical(1.0, 2)), 4),
                (OnBaskets(CanonicalAdaptive(12.0, 2)), 2),
                (OnBaskets(Repeated(LipschitzMechanism(0.5, Law.EXPONENTIAL), 2)), 2),
                (OnBaskets(LimitedDomain(2.0, 0.2, 1, 3, reach=2), known=False), 4),
                # Its thresholds are far from tight on so few baskets.
                (OnBaskets(LargeMargin(6.0, 0.1)), 64),
                (OnBaskets(LargeMargin(6.0, 0.1, last_rank=6), known=False), 64),
            )
        ),
    ]
