"""How a class of rules is asked for: in words, or with public cut points.

``hypotheses="conjunctions:2"`` takes the features of a schema. ``wn.stumps(cuts=...)`` brings
its own: one list of cut points for every column of an array, a list of lists, or a dict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from winnow.domain.checks import count
from winnow.domain.hypotheses.feature import Feature
from winnow.domain.hypotheses.rules import KINDS, LONGEST, RuleClass
from winnow.domain.schema import Schema
from winnow.errors import InputError


@dataclass(frozen=True)
class Hypotheses:
    """A kind of rules, not yet over any features."""

    kind: str
    size: int = 1
    cuts: Any = None
    """Public cut points, or None: the features of a schema are used."""

    def __post_init__(self) -> None:
        count(size=self.size)
        object.__setattr__(self, "size", int(self.size))
        if self.size > LONGEST:
            raise InputError(f"size={self.size} is above {LONGEST}; give 1 to {LONGEST}")
        if self.cuts is not None and not isinstance(self.cuts, Mapping | Sequence | np.ndarray):
            raise InputError(
                f"cuts={self.cuts!r} is a {type(self.cuts).__name__}; give a list of numbers, one "
                "list for each column, or a dict of lists"
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
            raise InputError(
                f"{self.kind} over an array need public cut points; give them as in "
                f"wn.{self.kind}(cuts=[...]), or give a schema"
            )
        if isinstance(cuts, Mapping):
            if not named:
                raise InputError(
                    "cuts are given by name, and an array has no names; give a list of cuts for "
                    "each column, [] for a column that is not used"
                )
            missing = [name for name in cuts if name not in names]
            if missing:
                raise InputError(f"there are cuts for {missing[0]!r}, and there is no such column")
            chosen = [Feature.cut_at(name, cuts[name]) for name in names if name in cuts]
            return RuleClass(tuple(chosen), self.kind, self.size)
        if (
            len(cuts)
            and isinstance(cuts[0], Sequence | np.ndarray)
            and not isinstance(cuts[0], str)
        ):
            if len(cuts) != len(names):
                raise InputError(
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
        size = f"{self.size}, " if self.kind == "conjunctions" else ""
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


def parse(words: object) -> Hypotheses:
    """The class that a text names: thresholds, intervals, stumps or conjunctions:2."""
    if isinstance(words, Hypotheses):
        return words
    forms = "thresholds, intervals, stumps, or conjunctions:N with N from 1 to 4"
    if not isinstance(words, str):
        raise InputError(
            f"hypotheses are a {type(words).__name__}; give {forms}, an array of predictions with "
            "a row for each hypothesis, or a list of functions"
        )
    kind, colon, number = words.strip().partition(":")
    if kind not in KINDS or (kind == "conjunctions") != bool(colon):
        raise InputError(f"hypotheses={words!r} are unknown; give {forms}")
    if not colon:
        return Hypotheses(kind)
    if not number.isdecimal() or not number.isascii():
        raise InputError(f"hypotheses={words!r} are unknown; give {forms}")
    return Hypotheses(kind, int(number))
