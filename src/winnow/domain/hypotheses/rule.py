"""A rule in words: if all of some tests hold, predict one class, else the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.domain.hypotheses.feature import Feature, Test

Codes = Sequence[NDArray[np.int32]] | Mapping[int, NDArray[np.int32]]
"""The codes of each feature by its place; those that no test asks for may be missing."""


@dataclass(frozen=True)
class Condition:
    """One test on one feature, given by its place."""

    feature: int
    test: Test

    def holds(self, codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether the test holds, for every code."""
        low, high, outside = self.test
        inside = (codes >= low) & (codes < high)
        return ~inside if outside else inside


@dataclass(frozen=True)
class Rule:
    """If all conditions hold, predict `outcome`, else the other class; everything is public."""

    conditions: tuple[Condition, ...]
    outcome: bool
    """Whether the positive class is predicted where the conditions hold."""

    def positive(self, codes: Codes, rows: int) -> NDArray[np.bool_]:
        """Which rows are predicted to be positive, from the codes of each feature."""
        held = np.ones(rows, np.bool_)
        for condition in self.conditions:
            held &= condition.holds(codes[condition.feature])
        return held if self.outcome else ~held

    def text(self, features: Sequence[Feature], classes: Sequence[Any]) -> str:
        """The rule for people."""
        then, otherwise = classes[int(self.outcome)], classes[1 - int(self.outcome)]
        if not self.conditions:
            return f"always {then}"
        tests = " and ".join(features[c.feature].text(c.test) for c in self.conditions)
        return f"{then} if {tests}, else {otherwise}"

    def to_dict(self) -> dict[str, Any]:
        """The rule as plain data, ready for JSON."""
        return {
            "if": [{"feature": c.feature, "codes": list(c.test)} for c in self.conditions],
            "then": self.outcome,
        }

    @classmethod
    def from_dict(cls, form: Any) -> Rule:
        """The rule of `to_dict`."""
        conditions = []
        for each in form["if"]:
            low, high, outside = each["codes"]
            conditions.append(Condition(int(each["feature"]), (int(low), int(high), bool(outside))))
        return cls(tuple(conditions), bool(form["then"]))
