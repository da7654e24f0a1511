"""How a class of rules is asked for: in words, or with public cut points.

``hypotheses="conjunctions:2"`` takes the features of a schema. ``wn.stumps(cuts=...)`` brings
its own: one list of cut points for every column of an array, a list of lists, or a dict.
"""

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

from winnow.core.checks import count
from winnow.core.schema import Schema
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.learn.features import Feature, Test, Tests

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


MOST = 100_000_000
"""Rules in one class: each has a score of eight bytes, and a choice copies them a few times."""
MOST_CELLS = 50_000_000
"""Cells of one table of counts."""

KINDS = ("thresholds", "intervals", "stumps", "conjunctions", "boosted", "additive", "auto")
SIZED = {"conjunctions": None, "boosted": 2}
"""Kinds with a length of rules, and the one that is taken if nothing is said."""
LONGEST = 4
MOST_ROUNDS = 1000


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


@dataclass(frozen=True)
class Hypotheses:
    """A kind of rules, not yet over any features."""

    kind: str
    size: int = 1
    cuts: Any = None
    """Public cut points, or None: the features of a schema are used."""
    rounds: int | None = None
    """Of boosting; None: as many as public numbers recommend."""

    def __post_init__(self) -> None:
        count(size=self.size)
        if self.rounds is not None:
            count(rounds=self.rounds)
            if self.rounds > MOST_ROUNDS:
                raise ParameterError(f"rounds={self.rounds} is above {MOST_ROUNDS:,}; lower it")
        object.__setattr__(self, "size", int(self.size))
        if self.size > LONGEST:
            raise ParameterError(f"size={self.size} is above {LONGEST}; give 1 to {LONGEST}")
        if self.cuts is not None and not isinstance(self.cuts, Mapping | Sequence | np.ndarray):
            raise ParameterError(
                f"cuts={shown(self.cuts)} is a {type(self.cuts).__name__}; give a list of numbers, "
                "one list for each column, or a dict of lists"
            )

    def over(self, schema: Schema) -> RuleClass:
        """The class over the columns of a schema."""
        return RuleClass(tuple(map(Feature.of_column, schema.columns)), self.kind, self.size)

    def cut(self, names: Sequence[str], *, named: bool) -> RuleClass:
        """The class over real columns of these names, at its own cut points.

        ``named``: the data brought the names, so that cuts may be given by name.
        """
        cuts = self.cuts
        if cuts is None:
            maker = "boosted" if self.kind == "auto" else self.kind
            raise ParameterError(
                f"hypotheses over an array need public cut points; give them as in "
                f"wn.{maker}(cuts=[...]), or give a schema"
            )
        if isinstance(cuts, Mapping):
            if not named:
                raise ParameterError(
                    "cuts are given by name, and an array has no names; give a list of cuts for "
                    "each column, [] for a column that is not used"
                )
            missing = [name for name in cuts if name not in names]
            if missing:
                raise ParameterError(
                    f"there are cuts for {missing[0]!r}, and there is no such column"
                )
            chosen = [Feature.cut_at(name, cuts[name]) for name in names if name in cuts]
            return RuleClass(tuple(chosen), self.kind, self.size)
        if (
            len(cuts)
            and isinstance(cuts[0], Sequence | np.ndarray)
            and not isinstance(cuts[0], str)
        ):
            if len(cuts) != len(names):
                raise ParameterError(
                    f"there are {len(cuts)} lists of cuts for {len(names)} columns; give one each"
                )
            pairs = zip(names, cuts, strict=True)
            return RuleClass(
                tuple(Feature.cut_at(name, own, unused=True) for name, own in pairs),
                self.kind,
                self.size,
            )
        every = tuple(Feature.cut_at(name, cuts) for name in names)
        return RuleClass(every, self.kind, self.size)

    def __repr__(self) -> str:
        size = f"{self.size}, " if self.kind in SIZED else ""
        cuts = "a schema's features" if self.cuts is None else "public cuts"
        return f"<{self.kind}: {size}{cuts}>"


def thresholds(*, cuts: Any = None) -> Hypotheses:
    """Rules 'positive if x >= cut', one for every cut point of every column with an order."""
    return Hypotheses("thresholds", cuts=cuts)


def intervals(*, cuts: Any = None) -> Hypotheses:
    """Rules 'positive if low <= x < high' and their opposites, half-lines included."""
    return Hypotheses("intervals", cuts=cuts)


def stumps(*, cuts: Any = None) -> Hypotheses:
    """Decision stumps: one test on one column, either way."""
    return Hypotheses("stumps", cuts=cuts)


def conjunctions(size: int, *, cuts: Any = None) -> Hypotheses:
    """Rules with up to `size` tests, each on another column, that predict either class."""
    return Hypotheses("conjunctions", size, cuts)


def additive(*, cuts: Any = None) -> Hypotheses:
    """Models that add points of every column's value; for two classes or more."""
    return Hypotheses("additive", cuts=cuts)


def boosted(size: int = 2, *, rounds: int | None = None, cuts: Any = None) -> Hypotheses:
    """Votes of rules with up to `size` tests, chosen one after the other, for two classes.

    ``rounds`` is how many rules vote; if nothing is said, public numbers decide.
    """
    return Hypotheses("boosted", size, cuts, rounds)


def parse(words: object) -> Hypotheses:
    """The class that a text names: auto, stumps, conjunctions:2, boosted, additive and others."""
    if isinstance(words, Hypotheses):
        return words
    forms = (
        "auto, thresholds, intervals, stumps, boosted, additive, or conjunctions:N with N from 1 "
        "to 4"
    )
    if not isinstance(words, str):
        raise ParameterError(
            f"hypotheses are a {type(words).__name__}; give {forms}, an array of predictions with "
            "a row for each hypothesis, or a list of functions"
        )
    kind, colon, number = words.strip().partition(":")
    if kind not in KINDS or (colon and kind not in SIZED) or (not colon and kind == "conjunctions"):
        raise ParameterError(f"hypotheses={shown(words)} are unknown; give {forms}")
    if not colon:
        return Hypotheses(kind, SIZED.get(kind) or 1)
    if not number.isdecimal() or not number.isascii():
        raise ParameterError(f"hypotheses={shown(words)} are unknown; give {forms}")
    return Hypotheses(kind, int(number))
