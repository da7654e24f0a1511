"""What is known of each mechanism of top-k before it runs: one record each.

Ties count as right everywhere: any k items with the k highest scores are the top k, and any
order of equal scores is their order.

| mechanism | the top k as a set | the top k in order |
|---|---|---|
| joint | sum over classes, ``plan.joint`` | the same |
| canonical, Gumbel noise | sum over classes, ``plan.canonical`` | releases a set |
| canonical, other noises | sum and one integral, ``plan.canonical`` | releases a set |
| oneshot, oneshot-approximate | one integral, ``top_set_chance`` | releases a set |
| oneshot with Gumbel noise, peel-gumbel | one integral, ``top_set_chance`` | product of softmaxes |
| peel-permute-and-flip | not known | product of k integrals, ``win_chances`` |
| gamma, laplace, gaussian | not known | not known |

Sums are good to about 1e-11 relatively and integrals to 1e-13 absolutely; both are called
exact here. Where nothing is known the functions return None, and only simulation is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from winnow.core.checks import exact
from winnow.core.laws import Law
from winnow.core.noisy_top.filter import Scores
from winnow.core.utility import Utility
from winnow.select.crossing.selection import Selection
from winnow.select.mechanisms.approximate_oneshot import ApproximateOneshot
from winnow.select.mechanisms.canonical import Canonical
from winnow.select.mechanisms.gamma import GammaMechanism
from winnow.select.mechanisms.gaussian_counts import GaussianCounts
from winnow.select.mechanisms.joint import Joint
from winnow.select.mechanisms.lipschitz import ExponentialMechanism, LipschitzMechanism
from winnow.select.mechanisms.noisy_counts import NoisyCounts, WithCounts
from winnow.select.mechanisms.peeling import PeelGumbel, PeelPermuteAndFlip
from winnow.select.plan.bounds import top_set_chance
from winnow.select.plan.chances import Floats, win_chances
from winnow.select.plan.top_k.bounds import (
    TopKBound,
    canonical_bound,
    gamma_bound,
    gaussian_counts_bound,
    joint_bound,
    noisy_counts_bound,
    pairs_bound,
    peeling_bound,
)
from winnow.select.plan.top_k.canonical import CanonicalChances, canonical_chances
from winnow.select.plan.top_k.joint import JointChances, joint_chances
from winnow.select.plan.top_k.profile import grouped, stepped
from winnow.select.plan.top_k.subsets import Loss

COUNTS = Utility.declare(1, monotone=True)
"""Counts of people under add/remove, the default of ``top_k``."""


@dataclass(frozen=True, eq=False)
class Chances:
    """What is known exactly of a mechanism on public scores, found when asked; None: not known."""

    mechanism: Any
    scores: Scores
    utility: Utility

    @property
    def top(self) -> float | None:
        """Pr[the released items are k of the highest scores]."""
        return None

    @property
    def sequence(self) -> float | None:
        """Pr[the list is that of the k highest scores in order]."""
        return None

    @property
    def great(self) -> float | None:
        """GREAT-k of Canonical, by rank."""
        return None

    @property
    def good(self) -> float | None:
        """GOOD-k of Canonical, by rank."""
        return None

    def signed_quantile(self, confidence: float) -> float | None:
        """What max_i (c_i - c_{s_i}) does not exceed, in steps."""
        return None

    def tail_quantile(self, confidence: float) -> float | None:
        """How far the worst item lies behind the k-th best at most, in steps."""
        return None


def chances_of_joint(mechanism: Joint, scores: Scores, utility: Utility = COUNTS) -> JointChances:
    """How a draw of Joint ends; utilities are in steps (1 for integer scores)."""
    steps, in_steps, _ = stepped(scores, utility)
    return joint_chances(steps, mechanism.k, float(mechanism.scale(in_steps)))


def chances_of_canonical(
    mechanism: Canonical, scores: Scores, utility: Utility = COUNTS
) -> CanonicalChances:
    """How a draw of Canonical ends; gaps are in steps (1 for integer scores)."""
    steps, in_steps, _ = stepped(scores, utility)
    if mechanism.rounded:
        loss = Loss.rounded(in_steps.one_sided, exact("epsilon", mechanism.epsilon))
    else:
        loss = Loss.canonical(exact("gamma", mechanism.gamma), mechanism.scale(in_steps))
    return canonical_chances(steps, mechanism.k, loss, mechanism.noise)


class _OfJoint(Chances):
    @cached_property
    def _found(self) -> JointChances:
        return chances_of_joint(self.mechanism, self.scores, self.utility)

    @property
    def top(self) -> float:
        return math.exp(self._found.log_top_set)

    @property
    def sequence(self) -> float:
        return math.exp(self._found.log_top_sequence)

    def signed_quantile(self, confidence: float) -> float:
        return self._found.error_quantile(confidence)


class _OfCanonical(Chances):
    @cached_property
    def _found(self) -> CanonicalChances:
        return chances_of_canonical(self.mechanism, self.scores, self.utility)

    @property
    def top(self) -> float:
        return self._found.top

    @property
    def great(self) -> float:
        return self._found.great

    @property
    def good(self) -> float:
        return self._found.good

    def tail_quantile(self, confidence: float) -> float:
        return self._found.gap_quantile(confidence)


class _OfOneshot(Chances):
    mechanism: LipschitzMechanism

    @cached_property
    def _groups(self) -> tuple[Floats, Floats]:
        return grouped(self.scores, float(self.mechanism.scale(self.utility)))

    @property
    def top(self) -> float:
        return top_set_chance(self.mechanism.noise, *self._groups, self.mechanism.kappa)

    @property
    def sequence(self) -> float | None:
        if self.mechanism.noise is Law.GUMBEL:
            return _peeled(Law.GUMBEL, *self._groups, self.mechanism.kappa)
        return self.top if self.mechanism.kappa == 1 else None


class _OfApproximateOneshot(Chances):
    mechanism: ApproximateOneshot

    @property
    def top(self) -> float:
        scale = float(self.mechanism.scale(self.utility, len(self.scores)))
        return top_set_chance(Law.LAPLACE, *grouped(self.scores, scale), self.mechanism.k)


class _OfPeeled(Chances):
    mechanism: PeelPermuteAndFlip

    @property
    def sequence(self) -> float:
        groups = grouped(self.scores, float(self.mechanism.scale(self.utility)))
        return _peeled(Law.EXPONENTIAL, *groups, self.mechanism.k)


def _peeled(law: Law, scores: Floats, counts: Floats, k: int) -> float:
    """The chance that k rounds each take a best item of those left.

    The rounds' chances multiply: after a right round, up to ties, the scores left are known.
    """
    left = counts.copy()
    chance, group = 1.0, 0
    for _ in range(k):
        if left[group] == 0:
            group += 1
        chance *= float(win_chances(law, scores[group:] - scores[group], left[group:])[0])
        left[group] -= 1
        if chance == 0.0:
            break
    return chance


def as_one_draw(mechanism: PeelGumbel) -> ExponentialMechanism:
    """The oneshot exponential mechanism that peel-gumbel is, calibrated once."""
    per_round = exact("epsilon", mechanism.calibrated().parameter)
    return ExponentialMechanism(per_round * mechanism.k, kappa=mechanism.k)


Bound = Callable[[Any, int, Utility, float, float], TopKBound]
"""Of a mechanism, on d items, for a chance to miss it, with the step of the grid."""


@dataclass(frozen=True)
class Known:
    """What is known of the mechanisms of one class."""

    bound: Bound
    chances: type[Chances] = Chances
    as_one: Callable[[Any], Selection] | None = None
    """Another mechanism that selects the same with the same probabilities."""
    highest_epsilon: float = math.inf
    """Beyond it the mechanism has no proof."""


def _no_bound(m: Any, d: int, utility: Utility, miss: float, step: float) -> TopKBound:
    return TopKBound(None, None, "no bound is known", "none")


def _of_lipschitz(
    m: LipschitzMechanism, d: int, utility: Utility, miss: float, step: float
) -> TopKBound:
    scale = float(m.scale(utility))
    if m.noise is Law.GUMBEL:
        return peeling_bound(scale, d, m.kappa, miss)
    return pairs_bound(m.noise, scale, d, m.kappa, miss)


KNOWN: dict[type[Selection], Known] = {
    Joint: Known(joint_bound, _OfJoint),
    Canonical: Known(canonical_bound, _OfCanonical),
    LipschitzMechanism: Known(_of_lipschitz, _OfOneshot),
    PeelGumbel: Known(_no_bound, as_one=as_one_draw),
    PeelPermuteAndFlip: Known(
        lambda m, d, u, miss, _: peeling_bound(float(m.scale(u)), d, m.k, miss), _OfPeeled
    ),
    ApproximateOneshot: Known(
        lambda m, d, u, miss, _: pairs_bound(Law.LAPLACE, float(m.scale(u, d)), d, m.k, miss),
        _OfApproximateOneshot,
        highest_epsilon=0.2,
    ),
    GammaMechanism: Known(lambda m, d, u, miss, _: gamma_bound(float(m.scale(u)), d, miss)),
    NoisyCounts: Known(
        lambda m, d, u, miss, _: noisy_counts_bound(float(m.scale(u)), d, m.k, miss)
    ),
}


KNOWN[GaussianCounts] = Known(
    lambda m, d, u, miss, _: gaussian_counts_bound(m.deviation(u), d, m.k, miss)
)
KNOWN[WithCounts] = Known(_no_bound, as_one=lambda m: simplest(m.selection))


def known(mechanism: Selection) -> Known:
    """The record of a mechanism, or of the nearest class that it is made from."""
    records = (KNOWN[kind] for kind in type(mechanism).__mro__ if kind in KNOWN)
    return next(records, Known(_no_bound))


def simplest(mechanism: Selection) -> Selection:
    """The mechanism, or one that is the same and quicker to compute with."""
    as_one = known(mechanism).as_one
    return mechanism if as_one is None else as_one(mechanism)


def chances_of(mechanism: Selection, scores: Scores, utility: Utility) -> Chances:
    """What is known exactly of a mechanism on public scores."""
    mechanism = simplest(mechanism)
    return known(mechanism).chances(mechanism, scores, utility)


def top_k_bound(
    mechanism: Selection, d: int, utility: Utility, miss: float, step: float = 0.0
) -> TopKBound:
    """The bounds of a mechanism on d items; ``step`` is that of the grid for real scores."""
    mechanism = simplest(mechanism)
    return known(mechanism).bound(mechanism, d, utility, miss, step)
