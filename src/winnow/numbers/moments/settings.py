"""Which noise, and how much of it on which sum: from public numbers only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from winnow.core.checks import Real, exact
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.numbers.moments.measured import PARTS, SQUARED, MeasuredSum, ValuedColumn
from winnow.numbers.moments.mechanism import NoisySums
from winnow.numbers.moments.noise import SumNoise
from winnow.numbers.moments.sensitivity import Exchanged, largest_move, spread_of, squared_move
from winnow.privacy import zcdp_rho
from winnow.privacy.discrete_gaussian import largest_squared_ratio

_LEAST_SCALE = 64
"""Less noise than 2^-18 of what one row adds is not drawn: a larger epsilon is not used up."""
_LEAST_VARIANCE = _LEAST_SCALE**2
_LARGEST_SCALE, _LARGEST_VARIANCE = 1 << 48, 1 << 98

TYPICAL = Fraction(1, 3)
"""The square of a mean on the scale of its column, and a variance, if nothing is known of them: of
values that are spread evenly. Noise is divided by it; what is promised does not depend on it."""


@dataclass(frozen=True)
class MomentsTerms:
    """What is asked for, and what is public."""

    epsilon: Real
    delta: Real
    columns: tuple[ValuedColumn, ...]
    statistics: tuple[str, ...]
    who: Exchanged
    accountant: str = "best"

    @property
    def laws(self) -> tuple[str, ...]:
        """The laws of noise that are private enough."""
        return laws_for(self.delta, self.accountant)


def laws_for(delta: Real, accountant: str) -> tuple[str, ...]:
    """The laws of noise that are private enough for a delta under an accountant."""
    if exact("delta", delta) == 0 or accountant == "pure":
        return ("box",)
    return ("gaussian",) if accountant == "zcdp" else ("box", "gaussian")


def box_scale(moved: Fraction, epsilon: Real) -> Fraction:
    """The scale of box noise on sums that move so far."""
    scale = max(moved / exact("epsilon", epsilon), Fraction(_LEAST_SCALE))
    if scale > _LARGEST_SCALE:
        raise _too_small(epsilon)
    return scale


def variances(
    moved: Fraction, relative: Sequence[Fraction], epsilon: Real, delta: Real, accountant: str
) -> tuple[Fraction, ...]:
    """The variance of each sum that is ``relative`` times as precise as one of precision 1.

    ``moved`` is the most that all squared moves, each times its precision, add up to.
    """
    unit = moved / _squared_ratio(epsilon, delta, accountant)
    noise = tuple(Fraction(max(math.ceil(unit / each), _LEAST_VARIANCE)) for each in relative)
    if max(noise) > _LARGEST_VARIANCE:
        raise _too_small(epsilon)
    return noise


def chosen(terms: MomentsTerms, measured: tuple[MeasuredSum, ...]) -> NoisySums:
    """The noise of which all statistics have the least geometric mean of predicted errors."""
    made = [(_box if law == "box" else _gaussian)(terms, measured) for law in terms.laws]
    return min(made, key=lambda each: _score(terms, each))


def _box(terms: MomentsTerms, measured: tuple[MeasuredSum, ...]) -> NoisySums:
    fine = _as_fine(measured, terms.who)
    moved = Fraction(largest_move(fine, terms.who, PARTS))
    return _sums(terms, fine, "box", (box_scale(moved, terms.epsilon),))


def _as_fine(measured: tuple[MeasuredSum, ...], who: Exchanged) -> tuple[MeasuredSum, ...]:
    """Sums that move less than the largest one are measured more finely, for nothing."""
    whole = largest_move(measured, who, PARTS)
    sums = list(measured)
    for place, each in enumerate(measured):
        finer = replace(each, times=2)
        trial = (*sums[:place], finer, *sums[place + 1 :])
        if spread_of(each) < 2 and largest_move(trial, who, PARTS) <= whole:
            sums[place] = finer
    return tuple(sums)


def _gaussian(terms: MomentsTerms, measured: tuple[MeasuredSum, ...]) -> NoisySums:
    relative = _precisions(measured, terms)
    moved = squared_move(measured, relative, terms.who, PARTS) * PARTS**2
    noise = variances(moved, relative, terms.epsilon, terms.delta, terms.accountant)
    return _sums(terms, measured, "gaussian", noise)


def _precisions(measured: Sequence[MeasuredSum], terms: MomentsTerms) -> list[Fraction]:
    """How precise each sum is, relative to the others.

    Where a value is replaced by another in the one group there is, squares are free up to two
    thirds of the precision of values, and numbers of rows with a value up to what is left when
    one comes: ``sensitivity`` has the proof. Else all precisions add up, and the best ones are as
    the roots of what each sum's variance adds to the variances of all statistics.
    """
    who = terms.who
    substituted = who.relation is Relation.SUBSTITUTION
    squares = any(each.kind == "second" for each in measured)
    if substituted and who.groups == 1 and who.rows_per_person == 1:
        free: dict[str, Fraction] = {
            "first": Fraction(1),
            "second": Fraction(2, 3),
            "total": Fraction(1),
        }
        free["present"] = 3 - (free["second"] if squares else Fraction(0))
        if not any(each.kind == "first" for each in measured):
            free["present"] = Fraction(1)
        return [free[each.kind] for each in measured]
    gain: dict[str, float] = {"total": 1.0, "present": 1 / 3, "first": 1.0, "second": 0.0}
    if squares:  # of the deviation, sqrt(v) with v = 1/3
        gain |= {"first": 2.0, "second": 3 / 16, "present": 1 / 3 + 3 / 16}
    shared = sum(not each.optional for each in terms.columns)
    gain["rows"] = gain["present"] * max(1, shared)
    if set(terms.statistics) == {"count"}:
        gain = dict.fromkeys(gain, 1.0)
    return [Fraction(math.sqrt(gain[each.kind])).limit_denominator(1000) for each in measured]


def _squared_ratio(epsilon: Real, delta: Real, accountant: str) -> Fraction:
    if accountant == "zcdp":
        ratio_allowed = 2 * exact("rho", zcdp_rho(epsilon, delta))
    else:
        least = Fraction(_LEAST_VARIANCE)
        ratio = largest_squared_ratio(epsilon, delta, least_variance=least)
        ratio_allowed = exact("squared_ratio", ratio)
    if ratio_allowed <= 0:
        raise _too_small(epsilon)
    return ratio_allowed


def _score(terms: MomentsTerms, mechanism: NoisySums) -> float:
    """The sum of the logarithms of the predicted errors of all columns."""
    noise = SumNoise.of(mechanism)
    squared = bool(set(terms.statistics) & SQUARED)
    score = 0.0
    for column in terms.columns:
        if set(terms.statistics) == {"count"}:
            score += math.log(noise.of_count(column) or 1.0)
            continue
        score += math.log(noise.of_mean(column, float(TYPICAL) ** 0.5))
        if squared:
            score += math.log(noise.of_variance(column, float(TYPICAL) ** 0.5, float(TYPICAL)))
    return score


def _sums(
    terms: MomentsTerms, measured: tuple[MeasuredSum, ...], law: str, noise: tuple[Fraction, ...]
) -> NoisySums:
    return NoisySums(
        epsilon=terms.epsilon,
        measured=measured,
        law=law,
        noise=noise,
        groups=terms.who.groups,
        rows_per_person=terms.who.rows_per_person,
        delta=terms.delta,
    )


def _too_small(epsilon: Real) -> ParameterError:
    return ParameterError(
        f"epsilon={float(epsilon):g} is too small: the noise would leave 64 bits; raise it"
    )
