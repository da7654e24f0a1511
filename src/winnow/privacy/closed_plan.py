"""Rounds of selection and measurement, calibrated as one closed plan.

MWEM and its kin repeat two steps T times: select a query with the exponential mechanism,
then measure it with noise. T and all parameters are fixed before the first round, so the
whole run is one closed plan, charged at once, and the best accountant that is valid for
closed plans may size it.

One number scales the plan: the precision y = 1/noise_multiplier of a measurement. Its rho
is y^2/2 (Gaussian; for small y also discrete Laplace), that of the selection is
epsilon_s^2/8, and a share s of rho for the selection means epsilon_s = 2 sqrt(s/(1-s)) y.

Rounds may fall into stages, at times that are fixed beforehand: in each stage both steps are
more precise than in the stage before, by the factor ``STAGE_GAIN``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from winnow.core.checks import Real, count, delta_range, exact, one_of, positive, probability
from winnow.core.measurement import MEASUREMENTS
from winnow.core.relation import Relation
from winnow.errors import GuaranteeError, ParameterError
from winnow.privacy.calibration import SIZINGS, meets, sized, target_guarantee
from winnow.privacy.events import (
    BoundedRange,
    Compose,
    DiscreteLaplace,
    Event,
    Gaussian,
    Repeat,
    check_event,
    describe,
)
from winnow.privacy.guarantee import ACCOUNTANTS, Guarantee

_EVENTS: dict[str, type[Gaussian] | type[DiscreteLaplace]] = {
    "gaussian": Gaussian,
    "laplace": DiscreteLaplace,
}

STAGE_GAIN = Fraction(7, 5)
"""About the root of 2: the rho of a round about doubles from stage to stage."""

_DIGITS = 6
"""Parameters are rounded to so many digits, to the safe side: they are read, stored and
sampled exactly, and a millionth of accuracy is nothing."""


@dataclass(frozen=True)
class RoundsPlan:
    """T rounds of [selection, measurement], perhaps after a first measurement.

    ``selection_epsilon`` is the bounded range of one selection, ``noise_multiplier`` the
    noise of one measurement (sigma or Laplace scale, divided by the sensitivity), both in the
    first of ``stages``; both mean the decimal that they show. ``event`` is what the whole run
    is charged with.
    """

    rounds: int
    selection_epsilon: float
    noise_multiplier: float
    measurement: str
    event: Event
    accountant: str
    guarantee: Guarantee
    stages: int = 1

    @property
    def selected(self) -> BoundedRange:
        """The event of one selection; in a later stage it costs more."""
        return BoundedRange(self.selection_epsilon, self.event.relation)

    @property
    def measured(self) -> Gaussian | DiscreteLaplace:
        """The event of one measurement; in a later stage it costs more."""
        return _measured(self.noise_multiplier, self.measurement, self.event.relation)


def calibrate_rounds(
    rounds: int,
    *,
    epsilon: Real,
    delta: Real = 0.0,
    relation: str | Relation,
    share: Real = Fraction(1, 2),
    measurement: str | None = None,
    accountant: str = "best",
    initial: Event | None = None,
    stages: int = 1,
) -> RoundsPlan:
    """The most precise plan of so many rounds that is (epsilon, delta)-DP as a whole.

    ``share`` is the part of each round's rho that the selection gets. ``measurement`` is
    "gaussian" (the default with a delta) or "laplace" (the only one that "pure" has), both
    discrete. ``initial`` is an event before the first round, such as a first measurement;
    it keeps its own parameters, and the rounds get what it leaves. In each of ``stages`` the
    precision of both steps is ``STAGE_GAIN`` times that of the one before (``stage_lengths``).

    ``accountant`` is "pure", "zcdp", "summed" (the better of these two), "tight" or "best", which
    takes the plan with the least noise; "tight" gains some 5 to 12 % and takes up to some seconds
    for a thousand rounds.
    The result errs on the safe side only: the returned plan was itself checked.

    Guarantee: (epsilon, delta)-DP for the plan as a whole, under ``relation``, also when
    each round depends on what the rounds before it released. A budget that the plan is
    charged to counts its own cost of the event, whatever accountant sized it: a plan sized by
    "tight" for (1, 1e-6) costs more rho than a zcdp budget of (1, 1e-6) has.
    """
    count(rounds=rounds, stages=stages)
    positive(epsilon=epsilon)
    delta_range(delta=delta)
    probability(share=share)
    kind = Relation.parse(relation)
    one_of(SIZINGS, accountant=accountant)
    noise = _measurement(measurement, delta, accountant)
    _check_initial(initial, kind, epsilon, delta, accountant)
    shape = _Shape(int(rounds), noise, kind, exact("share", share), initial, int(stages))
    return shape.plan(*_precision(shape, epsilon, delta, accountant), epsilon, delta)


def more_precise(plan: RoundsPlan, factor: float, initial: Event) -> RoundsPlan:
    """Give the rounds of a plan so many times the precision, and the event that is charged for it.

    The plan has one stage and follows ``initial``. It keeps the (epsilon, delta) of its
    ``guarantee``, against which whoever calls this holds the new event, and loses the rho.
    """
    if factor == 1:
        return plan
    gain, relation = Fraction(factor), plan.event.relation
    epsilon = _short(exact("epsilon", plan.selection_epsilon) * gain, ROUND_FLOOR)
    multiplier = _short(exact("noise", plan.noise_multiplier) / gain, ROUND_CEILING)
    measured = _measured(multiplier, plan.measurement, relation)
    event = rounds_event(
        [Compose((BoundedRange(epsilon, relation), measured))], plan.rounds, initial
    )
    return replace(
        plan,
        selection_epsilon=epsilon,
        noise_multiplier=multiplier,
        event=event,
        guarantee=replace(plan.guarantee, rho=None),
    )


def stage_lengths(rounds: int, stages: int) -> list[int]:
    """How many rounds each stage has: as even as can be, the last ones the longer."""
    ends = [rounds * stage // stages for stage in range(stages + 1)]
    return [end - start for start, end in pairwise(ends)]


def stage_epsilon(epsilon: Real, stage: int) -> Real:
    """The bounded range of a selection in a stage, in a few digits, rounded down."""
    return epsilon if stage == 0 else _short(_gained("epsilon", epsilon, stage), ROUND_FLOOR)


def stage_multiplier(multiplier: Real, stage: int) -> Real:
    """The noise multiplier of a measurement in a stage, in a few digits, rounded up."""
    if stage == 0:
        return multiplier
    return _short(_gained("noise_multiplier", multiplier, -stage), ROUND_CEILING)


def _gained(name: str, value: Real, stage: int) -> Fraction:
    return exact(name, value) * STAGE_GAIN**stage


def rounds_event(each: Sequence[Event], rounds: int, initial: Event | None = None) -> Event:
    """The event of rounds in stages, by the event of one round of each stage."""
    loops = [
        Repeat(one, length)
        for one, length in zip(each, stage_lengths(rounds, len(each)), strict=True)
        if length
    ]
    parts: list[Event] = [*loops] if initial is None else [initial, *loops]
    return parts[0] if len(parts) == 1 else Compose(tuple(parts))


def paper_round_epsilon(epsilon: Real, delta: Real, rounds: int) -> float:
    """epsilon_0 = epsilon/sqrt(2 T ln(1/delta)), as FastMWEM's Algorithm 1 prints it.

    One round then selects with an exponential mechanism at epsilon_0/2 and measures with
    Laplace noise at epsilon_0/2. For comparisons only: this leaves out the second term of
    the composition theorem that it cites (C.1: epsilon_0 sqrt(2 T ln(1/delta)) +
    2 T epsilon_0^2), so it is no proof, although the plan is far inside the target.
    Algorithm 2 of the same paper prints sqrt(2) times as much.
    """
    positive(epsilon=epsilon)
    probability(delta=delta)
    count(rounds=rounds)
    return float(epsilon) / math.sqrt(2 * rounds * math.log(1 / float(delta)))


@dataclass(frozen=True)
class _Shape:
    """Everything of a plan but its precision."""

    rounds: int
    measurement: str
    relation: Relation
    share: Fraction
    initial: Event | None
    stages: int = 1

    def event(self, selection_epsilon: Real, noise_multiplier: Real) -> Event:
        return rounds_event(
            [
                Compose(
                    (
                        BoundedRange(stage_epsilon(selection_epsilon, stage), self.relation),
                        _measured(
                            stage_multiplier(noise_multiplier, stage),
                            self.measurement,
                            self.relation,
                        ),
                    )
                )
                for stage in range(self.stages)
            ],
            self.rounds,
            self.initial,
        )

    def rounded(self, precision: float) -> tuple[float, float]:
        """(epsilon of selection, noise multiplier) in a few digits; it never costs more for it."""
        y = exact("precision", precision)
        return _short(self._ratio * y, ROUND_FLOOR), _short(1 / y, ROUND_CEILING)

    def short(self, precision: float) -> Event:
        """The event with its parameters as they will be used."""
        return self.event(*self.rounded(precision))

    def plan(self, precision: float, accountant: str, epsilon: Real, delta: Real) -> RoundsPlan:
        event = self.short(precision)
        return RoundsPlan(
            self.rounds,
            *self.rounded(precision),
            self.measurement,
            event,
            accountant,
            target_guarantee(event, epsilon, delta),
            self.stages,
        )

    @property
    def _ratio(self) -> Fraction:
        """epsilon of selection for precision 1; any value is safe, it is the event that counts."""
        odds = self.share / (1 - self.share)
        return exact("share", 2 * math.sqrt(odds))


@lru_cache(maxsize=128, typed=True)  # typed: a float is read as its decimal, a fraction as it is
def _precision(shape: _Shape, epsilon: Real, delta: Real, accountant: str) -> tuple[float, str]:
    """The largest precision found, and by which accountant; all of it from public numbers.

    Kept: releases of one plan are often made one after another.
    """
    precision = sized(shape.short, epsilon, delta, accountant)
    return precision.parameter, precision.accountant


def _measured(multiplier: Real, measurement: str, relation: Relation) -> Gaussian | DiscreteLaplace:
    return _EVENTS[measurement](multiplier, relation)


def _measurement(measurement: str | None, delta: Real, accountant: str) -> str:
    pure = exact("delta", delta) == 0 or accountant == "pure"
    if measurement is None:
        return "laplace" if pure else "gaussian"
    one_of(tuple(MEASUREMENTS), measurement=measurement)
    if measurement == "gaussian" and pure:
        raise GuaranteeError(
            "measurement='gaussian' has no pure epsilon; use 'laplace', or give a delta > 0 and "
            "another accountant"
        )
    return measurement


def _check_initial(
    initial: Event | None, relation: Relation, epsilon: Real, delta: Real, accountant: str
) -> None:
    if initial is None:
        return
    check_event(initial)
    if initial.relation is not relation:
        raise ParameterError(
            f"initial is {describe(initial)}, and the rounds are under {relation}; give both the "
            "same relation"
        )
    names = (accountant,) if accountant in ACCOUNTANTS else ACCOUNTANTS
    if exact("delta", delta) == 0:
        names = ("pure",)
    target = exact("epsilon", epsilon), exact("delta", delta)
    if not any(meets(initial, name, *target) for name in names):
        raise ParameterError(
            f"initial, {describe(initial)}, alone costs more than epsilon={epsilon}, "
            f"delta={delta}; give it more noise"
        )


def few_digits_up(value: float) -> float:
    """A parameter in a few digits, rounded up: for noise, to the safe side."""
    return _short(Fraction(value), ROUND_CEILING)


def _short(value: Fraction, rounding: str) -> float:
    """The value in a few digits, rounded as said; the float shows exactly these digits."""
    context = Context(prec=_DIGITS, rounding=rounding)
    return float(context.divide(Decimal(value.numerator), Decimal(value.denominator)))
