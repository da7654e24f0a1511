"""Rules over features, and public classes of them: all numbered, none written down."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.schema import Schema
from winnow.errors import ParameterError
from winnow.learn.features import Feature, Test, Tests, schema_features
from winnow.learn.words import rules_named

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
        met = np.ones(rows, np.bool_)
        for condition in self.conditions:
            met &= condition.holds(codes[condition.feature])
        return met if self.outcome else ~met

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


MOST = 100_000_000
"""Rules in one class: each has a score of eight bytes, and a choice copies them a few times."""
MOST_CELLS = 50_000_000
"""Cells of one table of counts."""


@dataclass(frozen=True, eq=False)
class Block:
    """Rules with tests on the same features."""

    features: tuple[int, ...]
    tests: tuple[Tests, ...]
    outcomes: tuple[bool, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Outcomes, then the tests of each feature."""
        return (len(self.outcomes), *(len(tests) for tests in self.tests))

    @property
    def size(self) -> int:
        """How many rules there are."""
        return math.prod(self.shape)

    def rule(self, place: int) -> Rule:
        """The rule of this number inside the block."""
        outcome, *chosen = (int(i) for i in np.unravel_index(place, self.shape))
        conditions = tuple(
            Condition(feature, tests[i])
            for feature, tests, i in zip(self.features, self.tests, chosen, strict=True)
        )
        return Rule(conditions, self.outcomes[outcome])


@dataclass(frozen=True)
class RuleClass:
    """All rules of one kind over some features; everything in it is public.

    Both constants belong to every kind. 'thresholds': x >= cut. 'stumps': one test on one
    feature. 'intervals': low <= x < high, or not. 'conjunctions': up to `size` tests, each on
    another feature, predicting either class.
    """

    features: tuple[Feature, ...]
    kind: str
    size: int = 1

    def __post_init__(self) -> None:
        if not self.features:
            raise ParameterError("there is no feature to test; give at least one")
        rules = self._at_most()
        if rules > MOST:
            raise ParameterError(
                f"{self.name} over these features are up to {rules:,} rules; at most {MOST:,} are "
                "scored at once: use fewer features, fewer cuts or shorter conjunctions"
            )
        for block in self.blocks:
            cells = math.prod(self.features[i].cardinality for i in block.features)
            if cells > MOST_CELLS:
                raise ParameterError(
                    f"a table of {cells:,} cells is too large to count; use fewer codes per feature"
                )

    @property
    def name(self) -> str:
        """The words that name the kind."""
        return f"conjunctions:{self.size}" if self.kind == "conjunctions" else self.kind

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks in the order of their numbers."""
        return tuple(block for block in self._blocks() if block.size)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first number of each block, and the number of all rules."""
        starts = [0]
        for block in self.blocks:
            starts.append(starts[-1] + block.size)
        return tuple(starts)

    def __len__(self) -> int:
        return self.starts[-1]

    def rule(self, number: int) -> Rule:
        """The rule of this number."""
        if not 0 <= number < len(self):
            raise ParameterError(f"rule {number} is outside 0 to {len(self) - 1}")
        block = bisect_right(self.starts, number) - 1
        return self.blocks[block].rule(number - self.starts[block])

    def __repr__(self) -> str:
        return f"<{len(self):,} {self.name} over {len(self.features)} features>"

    def _blocks(self) -> Iterator[Block]:
        yield Block((), (), (True, False))
        everything = range(len(self.features))
        tests = [self._tests(feature) for feature in self.features]
        longest = self.size if self.kind == "conjunctions" else 1
        for length in range(1, longest + 1):
            # One test's opposite is among the tests; a longer conjunction's is not.
            outcomes = (True,) if length == 1 else (True, False)
            for chosen in combinations(everything, length):
                yield Block(chosen, tuple(tests[i] for i in chosen), outcomes)

    def _at_most(self) -> int:
        """How many rules there are at most, before any of them is written down."""
        if self.kind == "intervals":
            return 2 + sum(f.count * (f.count + 1) for f in self.features if f.ordered)
        if self.kind != "conjunctions":
            return 2 + sum(4 * f.cardinality for f in self.features)
        ways = [1] + [0] * self.size  # ways to choose tests on so many features
        for feature in self.features:
            tests = len(feature.tests())
            for length in range(self.size, 0, -1):
                ways[length] += ways[length - 1] * tests
        return 2 + ways[1] + 2 * sum(ways[2:])

    def _tests(self, feature: Feature) -> Tests:
        match self.kind:
            case "thresholds":
                return feature.thresholds()
            case "intervals":
                return feature.intervals()
            case _:
                return feature.tests()


def rule_class(words: str, features: Sequence[Feature]) -> RuleClass:
    """The class that words name, such as "stumps" or "conjunctions:2", over some features."""
    return RuleClass(tuple(features), *rules_named("of", words))


def rules_over(words: str, schema: Schema) -> RuleClass:
    """The class that words name, over the columns of a schema."""
    return rule_class(words, schema_features(schema))
