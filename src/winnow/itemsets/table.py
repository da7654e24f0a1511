"""The itemset mechanisms by name, the epsilon of each round, and the automatic choice.

Which support the k-th itemset has to have to be found: what the automatic choice compares.

Nothing is read. What is known is k, epsilon, delta, how many itemsets there are if the items are
public, and what one person can move. How supports fall from rank to rank is private, so one shape
stands for all: support proportional to rank^(-1/3), between dense tables, which fall slower, and
web logs, which fall faster. The choice that follows is measured by ``benchmarks/itemsets.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from winnow.core.checks import Real, exact, positive, probability
from winnow.core.laws import Law
from winnow.core.relation import Relation
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.mechanisms import AUTO, ITEMSETS, MechanismRow, row_named, rows
from winnow.privacy import ApproxDP, Event, Repeat, calibrate
from winnow.select.ranked import RankedNoisyMax, RankedSelection, Repeated
from winnow.topk.mechanisms.peeling import calibrated_rounds
from winnow.topk.mechanisms.ranked import LARGEST_UNIVERSE, RankedCanonical, RankedLimitedDomain

FALL = 1 / 3
"""How fast supports fall with the rank, as an exponent."""


def needed_support(selection: RankedSelection, utility: Utility, total: int | None) -> float:
    """The support at the last rank asked for from which on it is about as likely found as not."""
    match selection:
        case RankedLimitedDomain():
            listed = selection._explicit()
            beyond = ((listed.reach or 0) + 1) / selection.k
            return listed.lead(utility) / (1 - math.pow(beyond, -FALL))
        case RankedNoisyMax():
            return _log(total) / float(selection.scale(utility))
        case Repeated():
            return needed_support(selection.inner, utility, total)
        case RankedCanonical():
            return _canonical(selection, utility, total)
    raise TypeError(f"nothing is predicted for a {type(selection).__name__}")


def _log(total: int | None) -> float:
    return math.inf if total is None else math.log(total)


def _canonical(selection: RankedCanonical, utility: Utility, total: int | None) -> float:
    """The h best stay and the others are any of the universe: the worst h decides.

    Such sets lose half of the support at rank h + 1, and there are C(total, k - h) of them.
    """
    if total is None:
        return math.inf
    k, scale = selection.k, float(selection._explicit().scale(utility))
    worst = 0.0
    for kept in range(k):
        sets = _log_binomial(total, k - kept)
        worst = max(worst, 2 * sets / scale * ((kept + 1) / k) ** FALL)
    return worst


def _log_binomial(n: int, k: int) -> float:
    """ln C(n, k); n may be larger than a float holds."""
    k = min(k, n - k)
    return sum(math.log(n - i) - math.log(i + 1) for i in range(k))


_ALL_OR_NOTHING = 20
"""Canonical finds nearly all of a long list or nearly nothing, and no public number tells which.

Rounds lose the end of the list instead, so longer lists are drawn in rounds.
"""


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

    def said(self) -> dict[str, Any]:
        """The options that only some mechanisms take."""
        return {"thresholds": self.thresholds, "growth": self.growth, "reach": self.reach}


@dataclass(frozen=True)
class ItemsetChoice:
    """The selection that will run, and why, where it was chosen automatically."""

    selection: RankedSelection
    reason: str = ""


def choose(
    mechanism: str,
    *,
    epsilon: Real,
    delta: Real,
    k: int,
    options: ItemsetOptions,
    utility: Utility,
    total: int | None,
) -> ItemsetChoice:
    """The mechanism of this name, or the one that is predicted to find the most.

    ``total`` is the number of itemsets where the items are public, None where they are private.
    Only public numbers enter, so the choice itself costs nothing.
    """
    if mechanism != AUTO:
        return ItemsetChoice(
            itemset_mechanism(mechanism, epsilon=epsilon, delta=delta, k=k, options=options)
        )
    _refuse_options(options)
    positive(epsilon=epsilon)
    if exact("delta", delta) != 0:
        probability(delta=delta)
    if total is None:
        word = "limited-domain"
        found = itemset_mechanism(word, epsilon=epsilon, delta=delta, k=k, options=options)
        return ItemsetChoice(found, "the items are private, and a search for a margin costs more")
    built = {
        word: itemset_mechanism(
            word, epsilon=epsilon, delta=delta if uses_delta else 0, k=k, options=options
        )
        for word, uses_delta in _candidates(k, exact("delta", delta))
        if word != "canonical" or total <= LARGEST_UNIVERSE
    }
    needed = {word: needed_support(built[word], utility, total) for word in built}
    best = min(needed, key=lambda word: needed[word])
    others = ", ".join(f"{word} {needed[word]:.0f}" for word in needed if word != best)
    reason = f"predicted to find itemsets from a support of about {needed[best]:.0f} on"
    return ItemsetChoice(built[best], f"{reason} ({others})" if others else reason)


def _candidates(k: int, delta: Fraction) -> list[tuple[str, bool]]:
    """What the automatic choice compares on public items, and whether each uses the delta."""
    pure = [("permute-and-flip", False)]
    if k == 1:  # the others do not gain on it with one itemset
        return pure
    if k <= _ALL_OR_NOTHING:
        pure.append(("canonical", False))
    return [("exponential", True), ("limited-domain", True), *pure] if delta > 0 else pure


def _refuse_options(options: ItemsetOptions) -> None:
    for name, value in options.said().items():
        if value is not None:
            takers = " and ".join(row.word for row in rows(ITEMSETS) if name in row.options)
            raise ParameterError(f"{name} is for {takers}; name that mechanism, or leave it out")


def itemset_mechanism(
    mechanism: str, *, epsilon: Real, delta: Real, k: int, options: ItemsetOptions
) -> RankedSelection:
    """The selection of this name; epsilon and delta are for all of it."""
    row = row_named(ITEMSETS, mechanism)
    positive(epsilon=epsilon)
    _refuse_unused(row, delta, k, options)
    asked: dict[str, Any] = {
        **vars(options),
        "epsilon": epsilon,
        "delta": delta,
        "k": k,
        "thresholds": options.thresholds or "tight",
        "noise": None if row.noise is None else Law.parse(row.noise),
    }
    if "growth" in row.options:
        asked["growth"] = _growth(options)
    if "k" in row.takes or k == 1:
        whole: RankedSelection = row.build(asked)
        return whole
    total, allowed = exact("epsilon", epsilon), exact("delta", delta)
    if row.needs_delta:
        asked["epsilon"], asked["delta"] = rounds_of(total, allowed, k, options.accountant)
    elif allowed > 0:
        found = calibrated_rounds(
            total, allowed, k, Fraction(0), Relation.ADD_REMOVE, options.accountant
        )
        asked["epsilon"] = exact("epsilon", found.parameter)
    else:
        asked["epsilon"] = total / k
    return Repeated(row.build(asked), k, delta)


def _growth(options: ItemsetOptions) -> int:
    """By how many itemsets one person can make the candidates grow."""
    growth = options.growth if options.growth is not None else options.moved
    if growth is None:
        raise ParameterError(
            "choosing needs a bound on the itemsets of one person: read the baskets with "
            "max_items=, or declare growth="
        )
    if options.moved is not None and growth < options.moved:
        raise ParameterError(
            f"growth={growth}, and one person may hold {options.moved} itemsets of this size "
            "in the baskets as they were read; leave out growth=, or read them with a smaller "
            "max_items="
        )
    return growth


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


def _refuse_unused(row: MechanismRow, delta: Real, k: int, options: ItemsetOptions) -> None:
    """Refuse what does nothing; many rounds of the exponential mechanism may use a delta."""
    used = exact("delta", delta)
    if row.needs_delta and used != 0:
        probability(delta=delta)
    composed = row.word == "exponential" and k > 1
    row.refuse_unused(Fraction(0) if composed else used, options.said())
