"""A first hypothesis from tables that part of the charge buys.

The counts of all pairs of columns, with Gaussian noise, are released at once, and the session
starts from the distribution of maximum entropy that fits them (``winnow.fit``), mixed with
a little of the even one: that bounds the relative entropy of any data to it by ln M + ln(1/MIX),
so the cap of ``sizing`` is proved as without tables. The fit aims beside the mixture, which is then
no error.

What a start is worth is private, what it costs is not: the rounds have less of the charge, and
more noise. It is taken where the noise of the tables stays below what the rounds can see, and
where usual errors do not grow by more than a quarter. Few updates are left to make then, so fewer
are paid for, and the noise falls again. ``benchmarks/interactive.py`` measures it.

Where pairs cannot be fitted (a domain that is not held in memory, or has too many cells), a share
that the user asks for buys the counts of single columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from winnow.ask.crossing import column_sets
from winnow.ask.mechanism import prior_variance
from winnow.ask.sizes import MEAN_OF_NORMAL, Sized, WeightsSizes, laplace_within
from winnow.ask.terms import Terms
from winnow.core.checks import Real
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.fit.tables import NoisyTable, fit

SHARE = Fraction(1, 5)
"""The part of the charge that the tables get, unless the user says."""
FALLBACK = Fraction(1, 4)
"""The part for independent answers at the end: these have twice the noise that all of it buys."""
LOWER = 0.5
"""The bound has to fall to this part of what it is without them."""
PAIRS, SINGLE = 2, 1
"""The columns of a table that a session may start from."""
MIX, SINGLE_MIX = 0.01, 0.1
"""The part of the even distribution in the start, from pairs and from single columns."""
MOST_UPDATES_WARM, FEWEST_UPDATES = 200, 20
"""After pairs of columns: the most updates and the fewest."""

EVEN = 0.08
"""What the even distribution is off in the mean, as a part of the rows, on questions about half of
the codes of three columns. On eleven generated sessions without tables to start from, in which the
hypothesis learned little (``benchmarks/choice.py``), it was .027 to .095. With the mean of these,
.05, two more of 33 choices were worse than independent noise, whose error is certain."""
MISFIT, FITTED = 0.0003, 0.45
"""What pairs of columns do not know of a question about three, as a part of the rows; and what a
fit to all pairs leaves of their noise, and of what chance makes of rows.

Chosen on 45 generated tables of ``benchmarks/choice.py``, 24 of them with a start from pairs: a
mean error was then predicted within 1.3 in .67 of these (.13 with .0007 and 1), and every choice
was the best one (before, .91 within 1.15). Mixtures of classes have a misfit of up to .005,
independent columns none: nothing public tells which."""

_MOST_WORK = 1 << 25
"""Cells times pairs of columns that are fitted when a session opens."""
_PART = 4
"""Of the updates of a hypothesis that knows nothing, so few are paid for after pairs."""
_LEAST = 3.0
"""Updates for each nat of entropy, at least, where the session ends with them."""

Sizer = Callable[[Terms], Sized[WeightsSizes]]


def ways_of(shape: Sequence[int] | None) -> int:
    """How many columns the tables have: two, where all pairs of these columns can be fitted."""
    if shape is None or len(shape) < PAIRS:
        return SINGLE
    work = math.prod(shape) * math.comb(len(shape), PAIRS)
    return PAIRS if work <= _MOST_WORK else SINGLE


def mix_of(ways: int) -> float:
    """The part of the even distribution in the start."""
    return MIX if ways == PAIRS else SINGLE_MIX


def capped_updates(best: int, entropy: float, *, ends: bool) -> int:
    """How many updates to pay for after pairs; `best` is right for a hypothesis that knows nothing.

    Where the session ends with them, at least so many that the proved threshold is some 0.6 of
    the rows. Where independent answers come after them no threshold has to be proved to last, and
    half as many do.
    """
    few = min(MOST_UPDATES_WARM, best // _PART)
    least = math.ceil(_LEAST * entropy) if ends else FEWEST_UPDATES
    return min(best, max(few if ends else few // 2, least))


def deviation_of(
    shape: Sequence[int], multiplier: Real, rows_per_person: int, relation: Relation
) -> float:
    """The standard deviation of the noise on a count of the pairs of these columns."""
    tables = math.comb(len(shape), PAIRS)
    return math.sqrt(prior_variance(multiplier, rows_per_person, tables, relation))


def table_error(shape: Sequence[int], deviation: float) -> float:
    """The error that noise gives a question about half of the codes of two columns, at most."""
    first, second = sorted(shape)[-PAIRS:]
    return deviation * math.sqrt(first * second) / 2


def typical_error(sizes: WeightsSizes, terms: Terms) -> float:
    """The mean error of an answer to expect, whose kind is that of independent noise.

    After a start from pairs of columns few questions need an update. An answer has the noise of the
    tables that it sums up (of half of the codes of two columns), as far as a fit leaves it
    (``FITTED``), and misses what pairs do not know: ``MISFIT``, and what chance makes of rows that
    are independent draws, where a question about half of the codes of three columns has a deviation
    of (1/2)^3/sqrt(n) beyond its pairs.
    Where every question may have a fresh answer, it has the noise of one round. Otherwise nothing
    is known of the errors but what they usually keep to, and their mean is the part of it that the
    mean of normal noise is of what all the noise keeps to; or, if that is less, what the even
    distribution is off (``EVEN``), from which the hypothesis starts.
    """
    if sizes.rounds.updates >= sizes.max_queries:
        return laplace_within(sizes.rows_per_person / sizes.rounds.epsilon / sizes.rows)
    start = sizes.start
    if start is not None and start.ways == PAIRS and terms.shape is not None:
        deviation = deviation_of(
            terms.shape, start.multiplier, sizes.rows_per_person, terms.relation
        )
        sums = [math.sqrt(a * b) / 2 for a, b in combinations(terms.shape, PAIRS)]
        noise = deviation * sum(sums) / len(sums) / sizes.rows
        chance = 1 / (8 * math.sqrt(sizes.rows))
        left = FITTED * MEAN_OF_NORMAL * math.hypot(noise, chance)
        return min(sizes.usual, math.hypot(left, MISFIT))
    reached = -NormalDist().inv_cdf(sizes.beta / (2 * sizes.max_queries))
    return min(sizes.usual * MEAN_OF_NORMAL / reached, EVEN)


def by_default(terms: Terms) -> bool:
    """Whether the user has left the cap and the threshold to the plan."""
    given = (terms.method.updates, terms.method.threshold, terms.method.alpha)
    return all(value is None for value in given)


def better_start(terms: Terms, sized: Sizer) -> Sized[WeightsSizes]:
    """From tables, where the mean error to expect is no larger; otherwise from nothing.

    Before, what answers usually keep to decided, with a factor of 1.25: with four columns, 20,000
    rows and 1,000 questions a delta of 10^-4 in the place of 10^-5 lost the tables by that, and the
    mean error was three times as large.
    """
    cold = terms.by(warm_start=0)
    unlike = terms.universe is not None or terms.method.calibration == "paper"
    if unlike or not by_default(terms):
        return sized(cold)
    tables = _from_tables(terms, sized)
    if tables is None:
        return sized(cold)
    try:
        plain = sized(cold)
    except ParameterError:
        return tables
    return tables if tables.sizes.typical <= plain.sizes.typical else plain


def _from_tables(terms: Terms, sized: Sizer) -> Sized[WeightsSizes] | None:
    """The sizes with all pairs of columns, and independent answers at the end where they help.

    That is where the bound on all errors falls to a half. Where it falls by less, the largest
    errors of a hypothesis that has learned what it could were no worse than those of the noise at
    the end, in ``benchmarks/interactive.py`` with hostile
    questions.
    """
    if not isinstance(terms.method.fallback, str):
        return _with_tables(terms, sized)
    without = _with_tables(terms.by(fallback=0), sized)
    ending = _with_tables(terms.by(fallback=FALLBACK), sized)
    if without is None or ending is None:
        return without
    return ending if ending.sizes.bound <= LOWER * without.sizes.bound else without


def _with_tables(terms: Terms, sized: Sizer) -> Sized[WeightsSizes] | None:
    """The sizes with all pairs of columns, if their noise stays below what the rounds can see."""
    if terms.shape is None or ways_of(terms.shape) != PAIRS:
        return None
    try:
        settings = sized(terms.by(warm_start=SHARE))
    except ParameterError:
        return None
    sizes, start = settings.sizes, settings.sizes.start
    low = sizes.threshold.low if sizes.fallback is None else sizes.threshold.last
    if not low or start is None:
        return None
    deviation = deviation_of(terms.shape, start.multiplier, sizes.rows_per_person, terms.relation)
    return settings if table_error(terms.shape, deviation / sizes.rows) <= low else None


def fitted_start(
    shape: tuple[int, ...], tables: Sequence[NDArray[np.int64]], rows: int, deviation: float
) -> NDArray[np.float64]:
    """The distribution over all cells that fits noisy counts of all pairs, beside the mixture."""
    wanted = [
        NoisyTable(columns, np.asarray(counts - rows * MIX / len(counts)) / (1 - MIX), deviation)
        for columns, counts in zip(column_sets(len(shape), PAIRS), tables, strict=True)
    ]
    return fit(shape, wanted, rows).model.marginal(range(len(shape))).reshape(-1)
