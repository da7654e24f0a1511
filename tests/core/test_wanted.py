"""The epsilon for a wanted error: as given, or the least one to four digits."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from winnow.core.wanted import epsilon_for
from winnow.errors import ParameterError


@pytest.mark.parametrize(
    "error_at",
    [
        lambda e: 7 / e,
        lambda e: 3 / e**2 + 1e-9,
        lambda e: 40 * math.exp(-e),
        lambda e: math.ceil(19 / e),
        lambda e: 100.0 if e < 0.03 else 0.5 / e**0.3,
    ],
    ids=["inverse", "square", "exponential", "whole rows", "a cliff"],
)
@pytest.mark.parametrize("wanted", [0.9, 2.0, 19.0])
def test_the_least_epsilon_is_found_to_four_digits(
    error_at: Callable[[float], float], wanted: float
) -> None:
    asked: list[float] = []

    def seen(epsilon: float) -> float:
        asked.append(epsilon)
        return error_at(epsilon)

    if error_at(2.0**20) > wanted:
        with pytest.raises(ParameterError, match="not reached by any epsilon"):
            epsilon_for(None, wanted, seen)
        return
    found = float(epsilon_for(None, wanted, seen))
    assert error_at(found) <= wanted < error_at(found * (1 - 3e-4))
    assert len(asked) < 62


def test_one_of_both_is_given() -> None:
    assert epsilon_for(0.3, None, lambda e: None) == 0.3
    for epsilon, error, said in ((None, None, "missing"), (1, 1, "both given")):
        with pytest.raises(ParameterError, match=said):
            epsilon_for(epsilon, error, lambda e: 1 / e)
    with pytest.raises(ParameterError, match="cannot be predicted"):
        epsilon_for(None, 3, lambda e: None)
