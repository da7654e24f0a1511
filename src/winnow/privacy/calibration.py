"""Turn a target into a parameter: the most that a closed plan may use of each step.

A plan is closed when its events are fixed before it starts, up to one parameter: twenty
rounds of selection at epsilon x. What adaptive analysts do is not a plan; see ``budget``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from winnow.core.checks import Real, delta_range, exact, one_of, positive
from winnow.errors import GuaranteeError, ParameterError
from winnow.privacy.accountants import pure_cost, zcdp_cost, zcdp_epsilon, zcdp_rho
from winnow.privacy.discrete_gaussian import largest_squared_ratio
from winnow.privacy.events import DiscreteGaussian, Event
from winnow.privacy.guarantee import CLOSED_ACCOUNTANTS, Guarantee, guarantee_of
from winnow.privacy.rounding import at_most, stated_at_least
from winnow.privacy.tight import MOST_WORK, QUICK_WORK, WORTH, tight_delta

_DOUBLINGS = 200
_STEPS = 64
"""Halvings after a bracket of ratio 2 is found: down to neighbouring float64s."""

_TIGHT_STEPS = 40
_TIGHT_MISS = 0.003
"""Stop this far below log delta: the parameter is then within about 1e-4 of the largest."""

_TIGHT_WIDTH = 2e-5
"""Stop when what is safe and what is not are relatively this close."""


SIZINGS = ("best", "summed", *CLOSED_ACCOUNTANTS)
"""By what a plan may be sized."""


@dataclass(frozen=True)
class Calibration:
    """A parameter, and the guarantee that the plan has with it."""

    parameter: float
    accountant: str
    guarantee: Guarantee


def calibrate(
    plan: Callable[[float], Event],
    *,
    epsilon: Real,
    delta: Real = 0.0,
    accountant: str = "best",
    low: float | None = None,
    high: float | None = None,
) -> Calibration:
    """The largest parameter with which the plan is (epsilon, delta)-DP.

    ``plan`` makes the events for a parameter, and must cost more for a larger one (for
    noise, use its inverse). ``accountant`` is "pure", "zcdp", "summed" (the better of these
    two, for a plan that a budget pays for), "tight", which takes seconds instead of
    milliseconds, or "best": the best of all, with "tight" on a coarser grid and not for long
    plans. "tight" finds the parameter to about four digits. With ``delta=0`` only "pure" is
    valid. ``low`` and ``high`` bound the search; without them it starts at 1 and doubles or
    halves.

    The result errs on the safe side only: the returned parameter was itself checked.
    """
    positive(epsilon=epsilon)
    delta_range(delta=delta)
    one_of(SIZINGS, accountant=accountant)
    work = QUICK_WORK if accountant == "best" else MOST_WORK
    return sized(plan, epsilon, delta, accountant, low=low, high=high, work=work)


def sized(
    plan: Callable[[float], Event],
    epsilon: Real,
    delta: Real,
    accountant: str,
    *,
    low: float | None = None,
    high: float | None = None,
    work: float = MOST_WORK,
) -> Calibration:
    """``calibrate`` with a limit on the work of the tight accountant."""
    if accountant == "tight":
        return _calibrate_tight(plan, epsilon, delta, low, high)
    calibration = _calibrate_summed(plan, epsilon, delta, accountant, low, high)
    if accountant != "best" or exact("delta", delta) == 0:
        return calibration
    try:
        parameter = largest_tight(
            lambda parameter: tight_delta(plan(parameter), epsilon, work=work),
            at_most(exact("delta", delta)),
            start=calibration.parameter,
            high=high,
            below=False,
        )
    except GuaranteeError:  # there are plans that it has no theorem or time for
        return calibration
    worth = WORTH if calibration.accountant == "pure" else 0
    if parameter is None or parameter <= calibration.parameter * (1 + worth):
        return calibration
    return Calibration(parameter, "tight", target_guarantee(plan(parameter), epsilon, delta))


def _calibrate_summed(
    plan: Callable[[float], Event],
    epsilon: Real,
    delta: Real,
    accountant: str,
    low: float | None,
    high: float | None,
) -> Calibration:
    target = (exact("epsilon", epsilon), exact("delta", delta))
    names = _valid_accountants(accountant, target[1])

    def met_by(parameter: float) -> str | None:
        event = plan(parameter)
        return next((name for name in names if meets(event, name, *target)), None)

    safe, unsafe = _bracket(met_by, low, high)
    ends = (low or safe / 2, safe) if unsafe is None else (safe, unsafe)
    if zcdp_cost(plan(ends[0])).rho > zcdp_cost(plan(ends[1])).rho:
        raise ParameterError(_FALLING)
    if unsafe is not None:
        for _ in range(_STEPS + math.ceil(math.log2(unsafe / safe))):
            middle = safe + (unsafe - safe) / 2
            if met_by(middle):
                safe = middle
            else:
                unsafe = middle
    largest = met_by(safe)
    if largest is None:
        raise ParameterError(
            "the plan gives different events for the same parameter; make it fixed"
        )
    return Calibration(safe, largest, guarantee_of(plan(safe), delta, largest))


def _calibrate_tight(
    plan: Callable[[float], Event],
    epsilon: Real,
    delta: Real,
    low: float | None,
    high: float | None,
) -> Calibration:
    if exact("delta", delta) == 0:
        raise ParameterError("the tight accountant needs a delta; give delta > 0, or use 'pure'")
    start = _calibrate_summed(plan, epsilon, delta, "summed", None, high).parameter
    largest = largest_tight(
        lambda parameter: tight_delta(plan(parameter), epsilon),
        at_most(exact("delta", delta)),
        start=max(start, low or 0.0),
        high=high,
    )
    if largest is None or largest < (low or 0.0):
        raise ParameterError(f"the plan misses the target already at low={low}; lower it")
    return Calibration(largest, "tight", target_guarantee(plan(largest), epsilon, delta))


def largest_tight(
    delta_at: Callable[[float], float],
    target: float,
    *,
    start: float,
    high: float | None = None,
    below: bool = True,
) -> float | None:
    """About the largest parameter with delta_at(parameter) <= target; None if none is near.

    ``delta_at`` grows with the parameter and is slow, so this follows the slope of log
    delta over log parameter; with ``below=False`` it gives up when ``start`` misses. Every
    parameter that it returns was itself checked.
    """
    safe: float | None = None
    unsafe: float | None = None
    ends: list[tuple[float, float]] = []  # the last two points: log parameter, log ratio
    parameter, slope = start, 30.0
    for _ in range(_TIGHT_STEPS):
        try:
            ratio = delta_at(parameter) / target
        except GuaranteeError:
            if not ends:
                raise
            ratio = math.inf
        missed = min(math.log(ratio), 10.0) if ratio > 0 else -700.0
        if missed <= 0:
            safe = parameter
            if missed >= -_TIGHT_MISS or parameter == high:
                break
        elif safe is None and not below:
            break
        else:
            unsafe = parameter
        ends = [*ends[-1:], (math.log(parameter), missed)]
        if len(ends) == 2 and ends[0][0] != ends[1][0]:
            rate = (ends[1][1] - ends[0][1]) / (ends[1][0] - ends[0][0])
            slope = min(max(rate, 2.0), 1000.0)
        parameter *= math.exp(min(max((-_TIGHT_MISS / 2 - missed) / slope, -0.5), 0.5))
        if safe is not None and unsafe is not None:
            if unsafe / safe < 1 + _TIGHT_WIDTH:
                break
            if not safe < parameter < unsafe:
                parameter = math.sqrt(safe * unsafe)
        if high is not None:
            parameter = min(parameter, high)
    return safe


def target_guarantee(event: Event, epsilon: Real, delta: Real) -> Guarantee:
    """The target as the statement about a plan that was checked to meet it."""
    cost = zcdp_cost(event)
    return Guarantee(
        stated_at_least(exact("epsilon", epsilon)),
        stated_at_least(exact("delta", delta)),
        event.relation,
        stated_at_least(cost.rho) if cost.delta == 0 else None,
    )


def sized_guarantee(event: Event, epsilon: Real, delta: Real) -> Guarantee:
    """What noise guarantees that ``largest_squared_ratio`` sized, or a sum, for a target.

    Epsilon is stated from the event, and rounded up a second time: at epsilons below 10^-4 or so
    that would pass the target, by up to 10^-5 of it, which the sizing proved to be met.
    """
    stated = guarantee_of(event, delta)
    if isinstance(event, DiscreteGaussian) and exact("epsilon", stated.epsilon) > exact(
        "epsilon", epsilon
    ):
        most = largest_squared_ratio(epsilon, delta, least_variance=event.least_variance)
        if exact("squared_ratio", event.squared_ratio) <= exact("squared_ratio", most):
            return target_guarantee(event, epsilon, delta)
    return stated


def _valid_accountants(accountant: str, delta: Fraction) -> tuple[str, ...]:
    if delta == 0:
        if accountant == "zcdp":
            raise ParameterError("the zcdp accountant needs a delta; give delta > 0, or use 'pure'")
        return ("pure",)
    return ("pure", "zcdp") if accountant in ("best", "summed") else (accountant,)


def meets(event: Event, accountant: str, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether the event is (epsilon, delta)-DP by this accountant."""
    if accountant == "pure":
        try:
            pure = pure_cost(event)
        except GuaranteeError:
            if delta == 0:
                raise  # no parameter can help, and the message says what does
            return False
        return pure.epsilon <= epsilon and pure.delta <= delta
    cost = zcdp_cost(event)
    if cost.delta >= delta:
        return False
    # Both ways of solving the same line, so that neither rounding is ever in the way: a
    # calibrated plan fits into Budget(epsilon, delta), and states no more than epsilon.
    return (
        cost.rho <= exact("rho", zcdp_rho(epsilon, delta - cost.delta))
        and exact("epsilon", zcdp_epsilon(cost.rho, delta - cost.delta)) <= epsilon
    )


def _bracket(
    met_by: Callable[[float], str | None], low: float | None, high: float | None
) -> tuple[float, float | None]:
    """A parameter that meets the target and one that does not (None: even high does)."""
    for name, end in (("low", low), ("high", high)):
        if end is not None:
            positive(**{name: end})
    if low is not None and high is not None and not low < high:
        raise ParameterError(f"low={low} is not below high={high}; exchange them")
    if low is not None and not met_by(low):
        raise ParameterError(
            f"the plan misses the target already at low={low}; lower it, or give the plan a "
            "parameter that costs more when it is larger"
        )
    if high is not None and met_by(high):
        return high, None
    safe, unsafe = low, high
    step = safe or unsafe or 1.0
    for _ in range(_DOUBLINGS):
        if safe is not None and unsafe is not None:
            return safe, unsafe
        if met_by(step):
            safe, step = step, step * 2
        else:
            unsafe, step = step, step / 2
    raise ParameterError(_FALLING)


_FALLING = (
    "no parameter just meets the target; the plan must cost more for a larger parameter "
    "(for a noise multiplier, let the plan take its inverse)"
)
