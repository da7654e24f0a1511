"""The itemset mechanisms by name, and the automatic choice.

Which support the k-th itemset has to have to be found: what the automatic choice compares.

Nothing is read. What is known is k, epsilon, delta, how many itemsets there are if the items are
public, and what one person can move. How supports fall from rank to rank is private, so one shape
stands for all: support proportional to rank^(-1/3), between dense tables, which fall slower, and
web logs, which fall faster. The choice that follows is measured by ``benchmarks/itemsets.py``.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from winnow.core.checks import Real, exact, positive, probability
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.itemsets.mechanisms.chosen import WeightedOrCanonical, WeightedOrSelected
from winnow.itemsets.mechanisms.weighted import WeightedCounts
from winnow.mechanisms import AUTO, ITEMSETS, row_named, rows
from winnow.select.ranked import RankedNoisyMax, RankedSelection, Repeated
from winnow.topk.classes import RankedOptions, built
from winnow.topk.mechanisms.ranked import LARGEST_UNIVERSE, RankedCanonical, RankedLimitedDomain
from winnow.topk.mechanisms.ranked_adaptive import SPARE, RankedCanonicalAdaptive, needed_counts

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
        case RankedCanonicalAdaptive():
            return _adaptive(selection, utility, total)
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


def _adaptive(selection: RankedCanonicalAdaptive, utility: Utility, total: int | None) -> float:
    """A set of every length i up to k: the support that its last itemset needs, and their mean.

    The mean is that of logarithms: a mechanism in rounds, which needs the same support for
    every itemset, finds as many of them over all sizes of supports if it needs this one.
    """
    if total is None:
        return math.inf
    spare = float(SPARE / selection.length_scale(utility))
    logs = []
    for needed in needed_counts(selection.k, total, selection.set_scale(utility)):
        ranks = np.arange(1, len(needed) + 1)
        logs.append(math.log(float(((needed + spare) * (ranks / len(needed)) ** FALL).max())))
    return math.exp(sum(logs) / len(logs))


def _log_binomial(n: int, k: int) -> float:
    """ln C(n, k); n may be larger than a float holds."""
    k = min(k, n - k)
    return sum(math.log(n - i) - math.log(i + 1) for i in range(k))


_ALL_OR_NOTHING = 20
"""Canonical finds nearly all of a long list or nearly nothing, and no public number tells which.

Rounds with a delta lose the end of the list instead, so longer lists are drawn in rounds. Without
a delta rounds are weak, and part of epsilon is better spent on how long the list can be.
"""
_LONGEST_SET = 2_000
"""Public numbers of an adaptive set are k (k + 1)/2: of longer ones they take seconds."""


_ENOUGH = {"limited-domain": 0.8}
"""The part of its needed support from which on a selection finds more than weighted counts."""


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
    options: RankedOptions,
    utility: Utility,
    total: int | None,
    weighted: bool = True,
) -> ItemsetChoice:
    """The mechanism of this name, or the one that is predicted to find the most.

    ``total`` is the number of itemsets where the items are public, None where they are private.
    Only public numbers enter, so the choice itself costs nothing. Whether weighted counts find
    more depends on private numbers: with ``weighted`` a list is drawn by a mechanism that pays for
    a look at them.
    """
    options = replace(options, private=total is None)
    if mechanism != AUTO:
        return ItemsetChoice(
            itemset_mechanism(mechanism, epsilon=epsilon, delta=delta, k=k, options=options)
        )
    _refuse_options(options)
    positive(epsilon=epsilon)
    if exact("delta", delta) != 0:
        probability(delta=delta)
    asked = _ListAsked(exact("epsilon", epsilon), exact("delta", delta), k, options, utility, total)
    looking = _looking(asked) if weighted and k > 1 else None
    if looking is not None:
        return looking
    found = asked.compared()
    best = min(found, key=lambda word: found[word][1])
    chosen, support = found[best]
    if total is None:
        return ItemsetChoice(chosen, "the items are private, and a search for a margin costs more")
    others = ", ".join(f"{word} {found[word][1]:.0f}" for word in found if word != best)
    reason = f"predicted to find itemsets from a support of about {support:.0f} on"
    return ItemsetChoice(chosen, f"{reason} ({others})" if others else reason)


@dataclass(frozen=True)
class _ListAsked:
    """What the automatic choice knows."""

    epsilon: Fraction
    delta: Fraction
    k: int
    options: RankedOptions
    utility: Utility
    total: int | None

    def compared(self) -> dict[str, tuple[RankedSelection, float]]:
        """The mechanisms, and the support that each needs."""
        return compared(**vars(self))


def _looking(asked: _ListAsked) -> ItemsetChoice | None:
    """The choice that a mechanism makes by what it pays for; None: there is none here."""
    if asked.delta == 0:
        found = asked.compared()
        if min(found, key=lambda word: found[word][1]) != "canonical-adaptive":
            return None
        whole = WeightedOrCanonical(asked.epsilon, asked.k, 0).sets().set_of(asked.k)
        needed = int(min(_canonical(whole, asked.utility, asked.total), 2.0**50))
        looks: RankedSelection = WeightedOrCanonical(asked.epsilon, asked.k, needed)
        reason = f"a set stands out from a support of about {needed} on, and weighted counts find "
        return _if_possible(looks, asked, f"{reason}more far below")
    if asked.options.accountant == "pure":  # Gaussian noise has no pure epsilon
        return None
    rest = replace(asked, epsilon=WeightedOrSelected.rest(asked.epsilon))
    found = rest.compared()
    best = min(found, key=lambda word: found[word][1])
    selection, support = found[best]
    needed = int(min(_ENOUGH.get(best, 1.0) * support, 2.0**50))
    counts = WeightedCounts(
        rest.epsilon, asked.delta, asked.k, asked.total is None, asked.options.accountant
    )
    looks = WeightedOrSelected(asked.epsilon, selection, counts, needed)
    known = "the items are private: " if asked.total is None else ""
    reason = f"{known}{best} finds itemsets from a support of about {needed} on, and weighted "
    return _if_possible(looks, asked, f"{reason}counts find more below")


def _if_possible(looks: RankedSelection, asked: _ListAsked, reason: str) -> ItemsetChoice | None:
    """Noise that does not fit 64 bits is left to selections, which need none."""
    with suppress(ParameterError):
        looks.check(asked.utility, asked.total)
        return ItemsetChoice(looks, reason)
    return None


def compared(
    *,
    epsilon: Real,
    delta: Real,
    k: int,
    options: RankedOptions,
    utility: Utility,
    total: int | None,
) -> dict[str, tuple[RankedSelection, float]]:
    """The mechanisms that the automatic choice compares, and the support that each needs."""
    words = [("limited-domain", True)]
    if total is not None:
        words = [
            (word, uses_delta)
            for word, uses_delta in _candidates(k, exact("delta", delta))
            if not word.startswith("canonical") or total <= LARGEST_UNIVERSE
        ]
    found = {
        word: itemset_mechanism(
            word, epsilon=epsilon, delta=delta if uses_delta else 0, k=k, options=options
        )
        for word, uses_delta in words
    }
    return {word: (each, needed_support(each, utility, total)) for word, each in found.items()}


def _candidates(k: int, delta: Fraction) -> list[tuple[str, bool]]:
    """What the automatic choice compares on public items, and whether each uses the delta."""
    pure = [("permute-and-flip", False)]
    if k == 1:  # the others do not gain on it with one itemset
        return pure
    if delta == 0:
        return [*pure, ("canonical-adaptive", False)] if k <= _LONGEST_SET else pure
    if k <= _ALL_OR_NOTHING:
        pure.append(("canonical", False))
    return [("exponential", True), ("limited-domain", True), *pure]


def _refuse_options(options: RankedOptions) -> None:
    for name, value in options.said().items():
        if value is not None:
            takers = " and ".join(row.word for row in rows(ITEMSETS) if name in row.options)
            raise ParameterError(f"{name} is for {takers}; name that mechanism, or leave it out")


def itemset_mechanism(
    mechanism: str, *, epsilon: Real, delta: Real, k: int, options: RankedOptions
) -> RankedSelection:
    """The selection of this name; epsilon and delta are for all of it."""
    row = row_named(ITEMSETS, mechanism)
    return built(row, epsilon=epsilon, delta=delta, k=k, options=options)
