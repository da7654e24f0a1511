"""How many rows every rule gets right, by running every rule over every row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from winnow.learn.rules import RuleClass


def holds(low: int, high: int, outside: bool, code: int) -> bool:
    return (low <= code < high) != outside


def predictions(rules: RuleClass, row: Sequence[int]) -> list[bool]:
    """What every rule says about one row of codes."""
    said = []
    for number in range(len(rules)):
        rule = rules.rule(number)
        met = all(holds(*c.test, row[c.feature]) for c in rule.conditions)
        said.append(met == rule.outcome)
    return said


def correct_by_running(
    rules: RuleClass,
    codes: Sequence[NDArray[np.int32]],
    positive: NDArray[np.bool_],
    weights: NDArray[np.int64],
) -> list[int]:
    correct = [0] * len(rules)
    for i in range(len(positive)):
        said = predictions(rules, [int(column[i]) for column in codes])
        for number, says in enumerate(said):
            if says == bool(positive[i]):
                correct[number] += int(weights[i])
    return correct
