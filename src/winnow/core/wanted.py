"""The epsilon of a plan: as it was given, or the least one that brings a wanted error."""

from __future__ import annotations

import math
from collections.abc import Callable

from winnow.core.checks import Real
from winnow.errors import ParameterError

UNKNOWN = "this error cannot be predicted; give epsilon"
"""What is said where nothing is known of an error."""
_TRIES, _QUICK = 60, 8
"""So many tries at most; where so few do not do, every second one halves what is left."""
_LEAST_EPSILON, _MOST_EPSILON = 2.0**-20, 2.0**20
"""Where an epsilon is looked for: a millionth to a million, beyond what anybody asks for."""
_CLOSE = 1e-4
"""By which part the epsilon that is found may be above the least one: four digits are shown."""
_TINY = 1e-12
"""An error of 0 has no logarithm."""


def epsilon_for(
    epsilon: Real | None,
    error: Real | None,
    error_at: Callable[[float], float | None],
    *,
    unknown: str = UNKNOWN,
) -> Real:
    """The epsilon that was given, or the one found for an error; one of the two is given.

    ``error_at`` says what to expect at an epsilon; None: nothing is known of it, which is refused
    by saying ``unknown``.
    """
    if epsilon is not None and error is not None:
        raise ParameterError("epsilon and error are both given; leave out one of them")
    if epsilon is not None:
        return epsilon
    if error is None:
        raise ParameterError(
            "epsilon is missing; give epsilon=, or error= for the least epsilon that reaches it"
        )
    return _least_epsilon(error_at, float(error), unknown)


def _least_epsilon(error_at: Callable[[float], float | None], error: float, unknown: str) -> float:
    """The least epsilon, to four digits, whose error is at most the wanted one.

    Errors fall about as one over epsilon, so that the slope between two tries leads there.
    """

    def expected(epsilon: float) -> float:
        predicted = error_at(epsilon)
        if predicted is None:
            raise ParameterError(unknown)
        return max(predicted, _TINY)

    low, high, size, slope = _LEAST_EPSILON, math.inf, 1.0, -1.0
    before: tuple[float, float] | None = None
    for step in range(_TRIES):
        here = expected(size)
        low, high = (low, size) if here <= error else (size, high)
        if high / low < 1 + _CLOSE:
            break
        if before is not None and here != before[1]:
            steep = math.log(here / before[1]) / math.log(size / before[0])
            slope = min(max(steep, -4.0), -0.25)
        before = size, here
        aside = 1 - _CLOSE / 3 if here <= error else 1 + _CLOSE / 3  # to the other side of it
        size *= aside * (error / here) ** (1 / slope)
        if not low < size < high or (step > _QUICK and step % 2):
            size = math.sqrt(low * high) if high < math.inf else 2 * low
        if size > _MOST_EPSILON:
            raise ParameterError(
                f"error={error:g} is not reached by any epsilon; allow a larger one"
            )
    short = float(f"{high:.5g}")
    return short if expected(short) <= error else high
