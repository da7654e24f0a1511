"""Audit 2: what an attacker who sees many draws could prove about epsilon.

The real sampler is run on two neighbouring score vectors. On one half of the draws the
event that tells them apart best is chosen; on the other half its probabilities are
bounded by Clopper and Pearson's exact intervals. The resulting lower bound on epsilon holds
with probability 1 - FALSE_ALARM, so a correct mechanism exceeds its claim no more often.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from winnow.audit.cases import (
    AuditedMechanism,
    Case,
    kept_in_an_engine,
    on_private_labels,
)
from winnow.audit.enumeration import Pair
from winnow.audit.neighbours import Boxes, Integers, counts, general
from winnow.audit.probabilities import Model, model_of
from winnow.audit.result import AuditResult
from winnow.core.laws import Law
from winnow.core.relation import Relation
from winnow.core.utility import Utility
from winnow.inner_product.audit import AdversarialIndexed, AdversarialSlack
from winnow.select.audit.counts import Counted
from winnow.select.audit.kept import KeptInEngine
from winnow.select.mechanisms.canonical import Canonical
from winnow.select.mechanisms.gamma import GammaMechanism
from winnow.select.mechanisms.gaussian_counts import GaussianCounts
from winnow.select.mechanisms.joint import Joint
from winnow.select.mechanisms.large_margin import LargeMargin
from winnow.select.mechanisms.lipschitz import LipschitzMechanism
from winnow.select.mechanisms.noisy_counts import NoisyCounts, WithCounts
from winnow.select.mechanisms.peeling import PeelGumbel, PeelPermuteAndFlip
from winnow.select.mechanisms.sparse_vector import SparseVector


@lru_cache(maxsize=256)
def tally(
    mechanism: AuditedMechanism, scores: tuple[int, ...], utility: Utility, draws: int, seed: int
) -> tuple[Integers, Integers]:
    """How often each outcome came, in the first and in the second half of the draws.

    The last entry counts outputs that the mechanism cannot give. Kept, so that the
    sampling and the fidelity audit look at the same draws.
    """
    rows = mechanism.simulate(np.array(scores, np.int64), utility, draws, seed)
    outcomes = model_of(mechanism, utility).outcomes(len(scores))
    base = max(len(scores), int(outcomes.max()) + 1) + 2  # entries start at -1 (not asked)
    digits = base ** np.arange(outcomes.shape[1])
    codes, drawn = (outcomes + 1) @ digits, (rows + 1) @ digits
    by_code = np.argsort(codes)
    place = np.minimum(np.searchsorted(codes[by_code], drawn), len(codes) - 1)
    column = np.where(codes[by_code][place] == drawn, by_code[place], len(codes))
    half = draws // 2
    first, second = (
        np.bincount(part, minlength=len(codes) + 1) for part in (column[:half], column[half:])
    )
    return first, second


Floats = NDArray[np.float64]

FALSE_ALARM = 1e-8
"""For one claim. A run makes fewer than 100 sampled claims: below 1e-6 for all together."""


_ENOUGH = 10_000
_TIE = 1e-9
"""Pairs that differ by less are equally telling: the first is drawn, however sums round."""


@dataclass(frozen=True)
class Sampled:
    """A case, the pair on which it is drawn, and how often."""

    case: Case
    pair: Pair
    draws: int
    seed: int

    def tallies(self) -> tuple[tuple[Integers, Integers], tuple[Integers, Integers]]:
        """Both halves of the draws on both sides of the pair."""
        mechanism, utility = self.case.mechanism, self.case.declared.utility
        return (
            tally(mechanism, self.pair.scores, utility, self.draws, self.seed),
            tally(mechanism, self.pair.neighbour, utility, self.draws, self.seed + 1),
        )


def sampled(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """The audit of every mechanism, each on its most telling pair of neighbours."""
    for sample in samples(quick=quick, seed=seed):
        yield sample_case(sample)


@lru_cache(maxsize=4)
def samples(*, quick: bool, seed: int) -> tuple[Sampled, ...]:
    """What is drawn: fast samplers often, the others a few hundred times."""
    many, few = (20_000, 300) if quick else (100_000, 700)
    people = counts(Relation.ADD_REMOVE), counts(Relation.SUBSTITUTION)
    fast = [LipschitzMechanism(2.0, law, kappa) for kappa in (1, 2) for law in Law]
    slow: list[AuditedMechanism] = [SparseVector(4.0, 0, cutoff) for cutoff in (1, 2)]
    slow += [LargeMargin(2.0, 0.1, thresholds) for thresholds in ("tight", "printed")]
    slow += [PeelPermuteAndFlip(2.0, 2), Joint(2.0, 2), GammaMechanism(2.0, 2)]
    slow += [AdversarialIndexed(2.0, adversary="worst")]
    slow += [AdversarialSlack(2.0, slack=0.4, adversary="worst")]
    slow += [Canonical(2.0, 2, noise=law) for law in (Law.GUMBEL, Law.EXPONENTIAL)]
    cases = [(Case(mechanism, declared), many) for mechanism in fast for declared in people]
    cases += [(Case(mechanism, general(Relation.ADD_REMOVE)), few) for mechanism in slow]
    people_only = counts(Relation.ADD_REMOVE)
    counted: list[AuditedMechanism] = [
        Counted(NoisyCounts(2.0, 1, with_counts=True), cells=4),
        Counted(GaussianCounts(2.0, 1, with_counts=True, delta=0.01), cells=4),
        Counted(WithCounts(Joint(1.0, 1), 2.0, 1), cells=4),
    ]
    counted += [*on_private_labels(), *kept_in_an_engine()]
    counted += [KeptInEngine(LipschitzMechanism(2.0, Law.EXPONENTIAL, 2))]
    counted += [KeptInEngine(GammaMechanism(2.0, 2)), KeptInEngine(Joint(2.0, 2))]
    # where no count is released, Gaussian noise of another scale shows late
    unseen = {mechanism.name for mechanism in kept_in_an_engine() if "gaussian" in mechanism.name}
    cases += [
        (Case(mechanism, people_only), 5 * few if mechanism.name in unseen else few)
        for mechanism in counted
    ]
    cases.append((Case(PeelGumbel(2.0, 0.01, 2), people_only), many))
    return tuple(sampled_case(case, draws, seed + 2 * i) for i, (case, draws) in enumerate(cases))


def sampled_case(case: Case, draws: int, seed: int) -> Sampled:
    """A case with the pair of neighbours on which so many draws should show most."""
    # for few draws no pair would tell anything, and the fidelity audit needs one with many outputs
    expected = max(draws // 2, _ENOUGH)
    pair = telling_pair(case.model, case.declared.boxes, expected, case.claimed[1])
    return Sampled(case, pair, draws, seed)


def sample_case(sample: Sampled) -> AuditResult:
    """One lower bound on epsilon, against the claim."""
    case = sample.case
    epsilon, delta = case.claimed
    bound, event = epsilon_lower_bound(*sample.tallies(), delta=delta)
    what = f"{case.mechanism.name}, {case.declared.name}"
    return AuditResult(
        "sampling",
        f"{what}: draws of the real sampler do not prove a larger epsilon than claimed.",
        case.mechanism.name,
        str(case.declared.relation),
        case.promise.citation,
        epsilon,
        bound,
        bound <= epsilon,
        f"lower bound at confidence 1 - {FALSE_ALARM:g} from {sample.draws} draws on each of "
        f"{sample.pair}; event of {event} outputs chosen on one half"
        + (f"; delta {delta:g} allowed for" if delta else ""),
    )


def epsilon_lower_bound(
    one: tuple[Integers, Integers], other: tuple[Integers, Integers], *, delta: float = 0.0
) -> tuple[float, int]:
    """A proven lower bound on epsilon, and the number of outputs in its event.

    Each argument holds the tallies of two halves. The event and its direction are chosen
    on the first halves: outputs in the order of their ratio, cut where the bound is best.
    """
    choices = []
    for direction, (p, q) in enumerate(((one, other), (other, one))):
        order = np.argsort(-(p[0] + 0.5) / (q[0] + 0.5), kind="stable")
        hits_p, hits_q = np.cumsum(p[0][order]), np.cumsum(q[0][order])
        bounds = _bounds(hits_p, int(p[0].sum()), hits_q, int(q[0].sum()), delta)
        best = int(np.argmax(bounds))
        choices.append((float(bounds[best]), direction, order[: best + 1]))
    _, direction, event = max(choices, key=lambda choice: choice[0])
    p, q = (one, other) if direction == 0 else (other, one)
    bound = _bounds(
        p[1][event].sum(keepdims=True),
        int(p[1].sum()),
        q[1][event].sum(keepdims=True),
        int(q[1].sum()),
        delta,
    )
    return max(0.0, float(bound[0])), len(event)


def _bounds(hits_p: Integers, draws_p: int, hits_q: Integers, draws_q: int, delta: float) -> Floats:
    """log of (lower bound on p - delta)/(upper bound on q), each at half the false alarm."""
    from scipy.special import betaincinv

    level = FALSE_ALARM / 2
    safe_p, safe_q = np.maximum(hits_p, 1), np.minimum(hits_q, draws_q - 1)
    lower = np.where(hits_p > 0, betaincinv(safe_p, draws_p - safe_p + 1, level), 0.0)
    upper = np.where(hits_q < draws_q, 1 - betaincinv(draws_q - safe_q, safe_q + 1, level), 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(lower - delta, 0.0)) - np.log(upper), np.float64)


@lru_cache(maxsize=128)
def telling_pair(model: Model, boxes: Boxes, draws: int, delta: float = 0.0) -> Pair:
    """Neighbours that so many draws should tell apart best, by their exact probabilities."""
    best, pair = -np.inf, Pair((), ())
    for bases, steps in model.instances(boxes, quick=True):
        neighbours = model.neighbours(bases, steps)
        p = np.exp(np.repeat(model.rows(bases), len(steps), axis=0))
        q = np.exp(model.rows(neighbours))
        expected = np.maximum(_expected(p, q, draws, delta), _expected(q, p, draws, delta))
        highest = float(expected.max())
        if highest > best + _TIE:
            place, best = int(np.argmax(expected > highest - _TIE)), highest
            scores, neighbour = bases[place // len(steps)], neighbours[place]
            pair = Pair(tuple(map(int, scores)), tuple(map(int, neighbour)))
    return pair


def _expected(p: Floats, q: Floats, draws: int, delta: float) -> Floats:
    """About the bound that the best event of each row will give."""
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.where(q > 0, p / q, np.inf), axis=1, kind="stable")
        p, q = (np.cumsum(np.take_along_axis(side, order, 1), axis=1) for side in (p, q))
        spread = np.sqrt(2 * np.log(2 / FALSE_ALARM) / draws)
        low = p - spread * np.sqrt(np.maximum(p * (1 - p), 0.0)) - delta
        high = q + spread * np.sqrt(np.maximum(q * (1 - q), 0.0)) + spread**2
        return np.asarray(np.log(np.maximum(low, 1e-300) / high).max(axis=1), np.float64)
