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
from typing import Any

import numpy as np

from winnow.core.checks import Real, exact
from winnow.core.options import AUTO, Method
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.itemsets.mechanisms.chosen import WeightedOrCanonical, WeightedOrSelected
from winnow.itemsets.mechanisms.weighted import WeightedCounts
from winnow.itemsets.methods import METHODS, ItemsetMethod
from winnow.mechanisms import ITEMSETS, row_named, words
from winnow.select.crossing.selection import LARGEST_UNIVERSE, Pick
from winnow.select.mechanisms.canonical import Canonical
from winnow.select.mechanisms.canonical_adaptive import SPARE, CanonicalAdaptive, needed_counts
from winnow.select.mechanisms.lipschitz import LipschitzMechanism
from winnow.select.mechanisms.repeated import Repeated
from winnow.select.mechanisms.unknown_domain import LimitedDomain
from winnow.select.of_classes import RankedOptions, built, options_for

FALL = 1 / 3
"""How fast supports fall with the rank, as an exponent."""


def needed_support(selection: Pick, utility: Utility, total: int | None) -> float:
    """The support at the last rank asked for from which on it is about as likely found as not."""
    match selection:
        case LimitedDomain():
            listed = selection
            beyond = ((listed.reach or 0) + 1) / selection.k
            return listed.lead(utility) / (1 - math.pow(beyond, -FALL))
        case LipschitzMechanism():
            return _log(total) / float(selection.scale(utility))
        case Repeated():
            return needed_support(selection.inner, utility, total)
        case Canonical():
            return _canonical(selection, utility, total)
        case CanonicalAdaptive():
            return _adaptive(selection, utility, total)
    raise TypeError(f"nothing is predicted for a {type(selection).__name__}")


def found_from(selection: Pick, utility: Utility, total: int | None) -> float | None:
    """The support at which the last itemset is found half of the time; None: not predicted.

    Where weighted counts may be taken instead, they find more below it.
    """
    match selection:
        case WeightedOrSelected():
            return found_from(selection.selection, utility, total)
        case WeightedOrCanonical():
            return float(selection.needed)
        case Repeated() if not isinstance(selection.inner, LipschitzMechanism):
            return None
        case Canonical() if exact("gamma", selection.gamma) != Fraction(1, 2):
            return None
        case (
            LimitedDomain() | LipschitzMechanism() | Repeated() | Canonical() | CanonicalAdaptive()
        ):
            return needed_support(selection, utility, total)
    return None


def _log(total: int | None) -> float:
    return math.inf if total is None else math.log(total)


def _canonical(selection: Canonical, utility: Utility, total: int | None) -> float:
    """The h best stay and the others are any of the universe: the worst h decides.

    Such sets lose half of the support at rank h + 1, and there are C(total, k - h) of them.
    """
    if total is None:
        return math.inf
    k, scale = selection.k, float(selection.scale(utility))
    worst = 0.0
    for kept in range(k):
        sets = _log_binomial(total, k - kept)
        worst = max(worst, 2 * sets / scale * ((kept + 1) / k) ** FALL)
    return worst


def _adaptive(selection: CanonicalAdaptive, utility: Utility, total: int | None) -> float:
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


@dataclass(frozen=True)
class WantedItemsets:
    """What is wanted, and what is public of the itemsets: all that a method may know."""

    epsilon: Real
    delta: Real
    k: int
    utility: Utility
    total: int | None
    """The number of itemsets where the items are public; None: the items are private."""
    moved: int | None = None
    """The most itemsets of one person; None: not bounded."""
    max_items: int | None = None
    """The most items of a basket; None: not bounded."""
    accountant: str = "best"
    """What sizes repeated rounds: "pure" under a budget that adds up epsilons."""
    weighted: bool = True
    """Whether the automatic choice may pay for a look at what weighted counts would find."""

    def compared(self) -> dict[str, tuple[Pick, float]]:
        """The mechanisms that the automatic choice compares, and the support that each needs."""
        words = [("limited-domain", True)]
        if self.total is not None:
            words = [
                (word, uses_delta)
                for word, uses_delta in _candidates(self.k, exact("delta", self.delta))
                if not word.startswith("canonical") or self.total <= LARGEST_UNIVERSE
            ]
        found = {
            word: itemset_mechanism(word, self if uses_delta else replace(self, delta=0))
            for word, uses_delta in words
        }
        return {
            word: (each, needed_support(each, self.utility, self.total))
            for word, each in found.items()
        }


@dataclass(frozen=True)
class ItemsetChoice:
    """The selection that will run, and why, where it was chosen automatically."""

    selection: Pick
    reason: str = ""


def choose(method: Method | str, wanted: WantedItemsets) -> ItemsetChoice:
    """The mechanism of this method, or with "auto" the one that is predicted to find the most.

    Only public numbers enter, so the choice itself costs nothing. Whether weighted counts find
    more depends on private numbers: a list is drawn by a mechanism that pays for a look at them.
    """
    if isinstance(method, ItemsetMethod):
        return ItemsetChoice(method.selection(wanted))
    if isinstance(method, Method) and type(method) in METHODS:
        return ItemsetChoice(named(method, wanted))
    if method != AUTO:
        what = method.word() if isinstance(method, Method) else f"method={shown(method)}"
        raise ParameterError(
            f"{what} does not select itemsets; choose one of: {', '.join(words(ITEMSETS))}"
        )
    wanted = replace(
        wanted, epsilon=exact("epsilon", wanted.epsilon), delta=exact("delta", wanted.delta)
    )
    if wanted.total is None and wanted.delta == 0:
        raise ParameterError(
            "private items need a delta; give one, such as delta=1e-6, or the public list of items "
            "where baskets are read: items="
        )
    looking = _looking(wanted) if wanted.weighted and wanted.k > 1 else None
    if looking is not None:
        return looking
    found = wanted.compared()
    best = min(found, key=lambda word: found[word][1])
    chosen, support = found[best]
    if wanted.total is None:
        return ItemsetChoice(chosen, "the items are private, and a search for a margin costs more")
    others = ", ".join(f"{word} {found[word][1]:.0f}" for word in found if word != best)
    reason = f"predicted to find itemsets with a support of at least about {support:.0f}"
    return ItemsetChoice(chosen, f"{reason} ({others})" if others else reason)


def _looking(asked: WantedItemsets) -> ItemsetChoice | None:
    """The choice that a mechanism makes by what it pays for; None: there is none here."""
    if asked.delta == 0:
        found = asked.compared()
        if min(found, key=lambda word: found[word][1]) != "canonical-adaptive":
            return None
        whole = WeightedOrCanonical(asked.epsilon, asked.k, 0).sets().set_of(asked.k)
        needed = int(min(_canonical(whole, asked.utility, asked.total), 2.0**50))
        looks: Pick = WeightedOrCanonical(asked.epsilon, asked.k, needed)
        reason = f"a set stands out at a support of about {needed} or more; weighted counts find "
        return _if_possible(looks, asked, f"{reason}more far below")
    if asked.accountant == "pure":  # Gaussian noise has no pure epsilon
        return None
    rest = replace(asked, epsilon=WeightedOrSelected.rest(asked.epsilon))
    found = rest.compared()
    best = min(found, key=lambda word: found[word][1])
    selection, support = found[best]
    needed = int(min(support, 2.0**50))
    counts = WeightedCounts(
        rest.epsilon, asked.delta, asked.k, asked.total is None, asked.accountant, asked.max_items
    )
    looks = WeightedOrSelected(asked.epsilon, selection, counts, needed)
    known = "the items are private: " if asked.total is None else ""
    reason = f"{known}{best} finds itemsets with a support of about {needed} or more; weighted "
    return _if_possible(looks, asked, f"{reason}counts find more below")


def _if_possible(looks: Pick, asked: WantedItemsets, reason: str) -> ItemsetChoice | None:
    """Noise that does not fit 64 bits is left to selections, which need none."""
    with suppress(ParameterError):
        looks.check_public(asked.utility, asked.total)
        return ItemsetChoice(looks, reason)
    return None


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


def named(method: Method, wanted: WantedItemsets) -> Pick:
    """The selection of a method by the row of its word, with its options."""
    said = options_for(row_named(ITEMSETS, method.word()), method)
    return itemset_mechanism(method.word(), wanted, **said)


def itemset_mechanism(word: str, wanted: WantedItemsets, **said: Any) -> Pick:
    """The selection of a word of the table; epsilon and delta are for all of it."""
    ranked = RankedOptions(
        moved=wanted.moved,
        max_items=wanted.max_items,
        accountant=wanted.accountant,
        private=wanted.total is None,
        **said,
    )
    row = row_named(ITEMSETS, word)
    return built(row, epsilon=wanted.epsilon, delta=wanted.delta, k=wanted.k, options=ranked)
