"""The itemset mechanisms by name, with the epsilon of each round where they are repeated."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from winnow.core.checks import Real, exact, one_of, positive, probability
from winnow.core.laws import Law
from winnow.core.relation import Relation
from winnow.errors import InputError
from winnow.privacy import ApproxDP, Event, Repeat, calibrate
from winnow.select.ranked import OneOf, RankedNoisyMax, RankedSelection, Repeated
from winnow.select.ranked_conditional import Choosing, DistanceToInstability
from winnow.select.ranked_large_margin import RankedLargeMargin
from winnow.topk.mechanisms.peeling import calibrated_rounds
from winnow.topk.mechanisms.ranked import RankedCanonical, RankedJoint, RankedLimitedDomain

NEED_DELTA = ("large-margin", "limited-domain", "distance-to-instability", "choosing")
PURE = {
    "exponential": Law.GUMBEL,
    "permute-and-flip": Law.EXPONENTIAL,
    "noisy-max": Law.LAPLACE,
}
MECHANISMS = (*NEED_DELTA, *PURE, "joint", "canonical")


@dataclass(frozen=True)
class ItemsetOptions:
    """What some mechanisms need beyond epsilon, delta and k."""

    thresholds: str | None = None
    growth: int | None = None
    reach: int | None = None
    moved: int | None = None
    """The most itemsets that one person has; None: not bounded."""
    accountant: str = "best"
    """What sizes repeated rounds: "pure" under a budget that adds up epsilons."""


def itemset_mechanism(
    mechanism: str, *, epsilon: Real, delta: Real, k: int, options: ItemsetOptions
) -> RankedSelection:
    """The selection of this name; epsilon and delta are for all of it."""
    one_of(MECHANISMS, mechanism=mechanism)
    positive(epsilon=epsilon)
    _refuse_unused(mechanism, delta, k, options)
    if mechanism == "joint":
        return RankedJoint(epsilon, k)
    if mechanism == "canonical":
        return RankedCanonical(epsilon, k)
    if mechanism == "limited-domain":
        return RankedLimitedDomain(
            epsilon, delta, k, options.moved, options.reach, options.accountant
        )
    if mechanism in PURE:
        share = exact("epsilon", epsilon) / k
        if exact("delta", delta) > 0:
            found = calibrated_rounds(
                exact("epsilon", epsilon), exact("delta", delta), k, Fraction(0),
                Relation.ADD_REMOVE, options.accountant,
            )  # fmt: skip
            share = exact("epsilon", found.parameter)
        once: OneOf = RankedNoisyMax(epsilon if k == 1 else share, PURE[mechanism])
        return once if k == 1 else Repeated(once, k, delta)
    e, d = (
        (epsilon, delta)
        if k == 1
        else rounds_of(exact("epsilon", epsilon), exact("delta", delta), k, options.accountant)
    )
    if mechanism == "large-margin":
        once = RankedLargeMargin(e, d, options.thresholds or "tight")
    elif mechanism == "distance-to-instability":
        once = DistanceToInstability(e, d)
    else:
        growth = options.growth if options.growth is not None else options.moved
        if growth is None:
            raise InputError(
                "choosing needs a bound on the itemsets of one person: read the baskets with "
                "max_items=, or declare growth="
            )
        if options.moved is not None and growth < options.moved:
            raise InputError(
                f"growth={growth}, and one person may hold {options.moved} itemsets of this size "
                "in the baskets as they were read; leave out growth=, or read them with a smaller "
                "max_items="
            )
        once = Choosing(e, d, growth)
    return once if k == 1 else Repeated(once, k, delta)


@lru_cache(maxsize=64)
def rounds_of(
    epsilon: Fraction, delta: Fraction, k: int, accountant: str = "best"
) -> tuple[Fraction, Fraction]:
    """(epsilon, delta) of each of k rounds: plainly divided, or composed if that is better.

    Composition needs a delta of its own, so the rounds get half of it then.
    """
    if accountant == "pure":
        return epsilon / k, delta / k
    own = delta / (2 * k)

    def plan(e: float) -> Event:
        return Repeat(ApproxDP(e, own, Relation.ADD_REMOVE), k)

    composed = calibrate(plan, epsilon=epsilon, delta=delta, accountant=accountant)
    if exact("epsilon", composed.parameter) > epsilon / k:
        return exact("epsilon", composed.parameter), own
    return epsilon / k, delta / k


def _refuse_unused(mechanism: str, delta: Real, k: int, options: ItemsetOptions) -> None:
    if mechanism in NEED_DELTA:
        if exact("delta", delta) == 0:
            raise InputError(f"{mechanism} needs delta > 0, for example delta=1e-6")
        probability(delta=delta)
    elif exact("delta", delta) != 0 and (mechanism != "exponential" or k == 1):
        raise InputError(
            f"delta={delta}: {mechanism} is pure epsilon-DP and has no use for it; leave out "
            "delta, or choose large-margin"
        )
    if options.thresholds is not None and mechanism != "large-margin":
        raise InputError(f"thresholds= is for large-margin; {mechanism} has none")
    if options.growth is not None and mechanism != "choosing":
        raise InputError(f"growth= is for choosing; {mechanism} has none")
    if options.reach is not None and mechanism != "limited-domain":
        raise InputError(f"reach= is for limited-domain; {mechanism} has none")
