"""Mechanisms for universes that nobody lists, and the automatic choice for given classes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from winnow.core.checks import Real, exact, positive, probability
from winnow.core.laws import Law
from winnow.core.options import Method, options
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.mechanisms import CLASSES, MechanismRow, row_named
from winnow.privacy import ApproxDP, Event, Repeat, calibrate
from winnow.select.about import AboutClasses, AboutScores
from winnow.select.crossing.selection import LARGEST_UNIVERSE, FromClasses, Pick, Selection
from winnow.select.label_methods import TOP_K_METHODS
from winnow.select.mechanisms.peeling import calibrated_rounds
from winnow.select.mechanisms.repeated import Repeated
from winnow.select.methods import CLASSES as FROM_CLASSES
from winnow.select.methods import (
    SELECT_METHODS,
    Choosing,
    Exponential,
    LargeMargin,
    Lipschitz,
    PermuteAndFlip,
    PickMethod,
    Sizes,
    bound_on_growth,
    check_delta,
    check_kind,
)
from winnow.select.table import check_built
from winnow.select.top_k_methods import (
    GAMMA,
    Canonical,
    Joint,
    LimitedDomain,
    options_of,
)


@dataclass(frozen=True)
class RankedOptions:
    """What some mechanisms need beyond epsilon, delta and k."""

    thresholds: str | None = None
    growth: int | None = None
    reach: int | None = None
    moved: int | None = None
    """The most candidates that one person has; None: not bounded."""
    max_items: int | None = None
    """The most items of a basket; None: not bounded."""
    gamma: Real | None = None
    noise: str | Law | None = None
    accountant: str = "best"
    """What sizes repeated rounds: "pure" under a budget that adds up epsilons."""
    private: bool = False
    """Whether the items of baskets are private."""

    def said(self) -> dict[str, Any]:
        """The options that only some mechanisms take."""
        return {
            "thresholds": self.thresholds,
            "growth": self.growth,
            "reach": self.reach,
            "gamma": self.gamma,
            "noise": self.noise,
        }


def chosen_for_classes(
    method: PickMethod | str, about: AboutClasses, sizes: Sizes, ordered: bool | None
) -> tuple[PickMethod, Pick, str]:
    """The method, or the one that public numbers choose, its mechanism, and why."""
    reason = ""
    if isinstance(method, str):
        delta = exact("delta", sizes.delta)
        method, reason = _automatic(sizes.k, delta, ordered, about.total)
    check_kind(method, FROM_CLASSES, TOP_K_METHODS)
    if type(method) not in (*SELECT_METHODS, *TOP_K_METHODS):
        return method, own_of_classes(method, about, sizes), ""
    word = method.word()
    row = row_named(CLASSES, word)
    said = options_for(row, method)
    if word == "canonical" and said["gamma"] is None:
        said["gamma"] = GAMMA
    ranked = RankedOptions(**said, moved=about.max_items, accountant=sizes.accountant)
    mechanism = built(row, epsilon=sizes.epsilon, delta=sizes.delta, k=sizes.k, options=ranked)
    if ordered and not mechanism.ordered:
        raise ParameterError(f"{word} releases a set; leave out ordered=, or use joint")
    return method, mechanism, reason


def own_of_classes(method: PickMethod, about: AboutClasses, sizes: Sizes) -> Selection:
    """What a method of somebody's own builds: its one draw takes classes like any universe."""
    public = AboutScores(utility=about.utility, candidates=about.total, max_items=about.max_items)
    chosen = method.mechanism(public, sizes)
    check_built(method, chosen)
    return chosen


def one_of_classes(method: PickMethod, about: AboutClasses, sizes: Sizes) -> FromClasses:
    """The mechanism of a method that takes one candidate from given classes."""
    check_kind(method, FROM_CLASSES, SELECT_METHODS)
    if type(method) not in SELECT_METHODS:
        return FromClasses(own_of_classes(method, about, sizes))
    row = row_named(CLASSES, method.word())
    check_delta(method, sizes.delta, SELECT_METHODS)
    asked: dict[str, Any] = {
        "epsilon": sizes.epsilon,
        "delta": sizes.delta,
        "noise": Law.parse(
            (method.noise if isinstance(method, Lipschitz) else None) or "exponential"
        ),
        "thresholds": method.thresholds if isinstance(method, LargeMargin) else "tight",
    }
    if isinstance(method, Choosing):
        asked["growth"] = bound_on_growth(method.growth, about.max_items)
    return FromClasses(row.build(asked))


def options_for(row: MechanismRow, method: Method) -> dict[str, Any]:
    """What was said of a method, as far as its row takes it; anything else is refused."""
    said = options_of(method)
    for field in options(type(method)):
        if field.name not in row.options and said.pop(field.name) != field.default:
            raise ParameterError(f"{field.name}= of {row.word} is not for {row.verb}; leave it out")
    return said


def _automatic(
    k: int, delta: Fraction, ordered: bool | None, total: int | None
) -> tuple[PickMethod, str]:
    if total is None:
        return LimitedDomain(), "nobody knows the universe"
    if k == 1:
        return PermuteAndFlip(), "one candidate of a public universe"
    if total > LARGEST_UNIVERSE or (delta > 0 and k > 30):
        size = "more than 2^50 candidates" if total > LARGEST_UNIVERSE else f"k={k} is above 30"
        return Exponential(), f"{size}: one round after another"
    if ordered is False:
        return Canonical(), "a set is enough: one draw over all subsets"
    return Joint(), f"a list in order with k={k}: one draw over all sequences"


def built(row: MechanismRow, *, epsilon: Real, delta: Real, k: int, options: RankedOptions) -> Pick:
    """The selection of a row, k times if it releases one; epsilon and delta are for all of it."""
    positive(epsilon=epsilon)
    _refuse_unused(row, delta, k, options)
    asked: dict[str, Any] = {
        **vars(options),
        "epsilon": epsilon,
        "delta": delta,
        "k": k,
        "thresholds": options.thresholds or "tight",
        "noise": Law.parse(options.noise or Law.EXPONENTIAL),
        "gamma": Fraction(1, 2) if options.gamma is None else options.gamma,
    }
    if "growth" in row.options:
        asked["growth"] = bound_on_growth(options.growth, options.moved)
    if "k" in row.takes or k == 1:
        whole: Pick = row.build(asked)
        return whole
    total, allowed = exact("epsilon", epsilon), exact("delta", delta)
    if row.needs_delta:
        asked["epsilon"], asked["delta"] = rounds_of(total, allowed, k, options.accountant)
    elif allowed > 0:
        epsilon_each = calibrated_rounds(
            total, allowed, k, Fraction(0), Relation.ADD_REMOVE, options.accountant
        )
        asked["epsilon"] = exact("epsilon", epsilon_each.parameter)
    else:
        asked["epsilon"] = total / k
    return Repeated(row.build(asked), k, delta)


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


def _refuse_unused(row: MechanismRow, delta: Real, k: int, options: RankedOptions) -> None:
    """Refuse what does nothing; rounds of the exponential mechanism may use a delta."""
    used = exact("delta", delta)
    if row.needs_delta and used != 0:
        probability(delta=delta)
    composed = (row.word == "exponential" and k > 1) or row.may_use_delta
    row.refuse_unused(Fraction(0) if composed else used, options.said())
