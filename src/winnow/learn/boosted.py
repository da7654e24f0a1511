"""A vote of rules that were chosen one after the other, and how it weighs rows and rounds.

Rows are weighed like in SmoothBoost [Servedio 2003; private: Bun-Carmosino-Sorrell 2020]: no row
counts more than one that is not yet right, so that one person moves every round's scores by the
same. Steps and margins are whole
numbers, so that a vote is the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.unit import counted
from winnow.learn.chances import ScoredPredictor, calibration_of
from winnow.learn.features import Feature
from winnow.learn.rules import Codes, Rule

GRID = 1000
"""Weight of a row that the vote does not have yet, and the vote of the first rule."""
SHOWN = 3
"""Rules that a text spells out."""


def step(number: int) -> int:
    """What the vote of the rule of this round counts: 1/sqrt(round), in thousandths."""
    return round(GRID / math.sqrt(number + 1))


def still_wanted(margins: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.int64]:
    """The weights of rows by the majority that each has for its class; at most ``whole``."""
    chance = 2.0 / (1.0 + np.exp(np.clip(margins, 0, 50 * GRID) / GRID))
    return np.asarray(np.minimum(np.rint(whole * chance), whole), np.int64)


def votes_of(rules: Sequence[Rule], codes: Any, rows: int) -> Iterator[NDArray[np.int64]]:
    """The majority of every row for the second class, after each rule."""
    total = np.zeros(rows, np.int64)
    for number, rule in enumerate(rules):
        total = total + np.where(rule.positive(codes, rows), step(number), -step(number))
        yield total


def scores_of(margins: NDArray[np.int64]) -> NDArray[np.float64]:
    """Majorities in thousandths as nats for each of two classes."""
    return np.stack([np.zeros(len(margins)), margins / GRID], axis=1)


def lengths(rounds: int) -> list[int]:
    """How many rules votes that are compared have: growing by about a half, up to all."""
    return sorted({min(rounds, n) for n in (1, 2, 3, 5, 8, 13, 20, 32)} | {rounds})


@dataclass(frozen=True, eq=False, repr=False)
class BoostedPredictor(ScoredPredictor):
    """Rules that vote, the earlier with more weight."""

    rules: tuple[Rule, ...] = ()
    numbers: tuple[int, ...] = ()
    """The numbers of the rules in their class."""

    @property
    def text(self) -> str:
        """The vote for people."""
        shown = [rule.text(self.features, self.classes) for rule in self.rules[:SHOWN]]
        more = len(self.rules) - len(shown)
        return f"a vote of {counted(len(self.rules), 'rule')}: {'; '.join(shown)}" + (
            f"; and {more} more" if more else ""
        )

    @property
    def used(self) -> set[int]:
        """The places of the features that are looked at."""
        return {condition.feature for rule in self.rules for condition in rule.conditions}

    def of_codes(self, codes: Codes, rows: int) -> NDArray[np.intp]:
        """The number of the class of every row, from the codes of each feature."""
        return np.asarray(self.margins(codes, rows) > 0, np.intp)

    def scores(self, codes: Codes, rows: int) -> NDArray[np.float64]:
        """What is said of every row for each class, in nats."""
        return scores_of(self.margins(codes, rows))

    def margins(self, codes: Codes, rows: int) -> NDArray[np.int64]:
        """The majority of every row for the second class, in thousandths of a nat."""
        *_, last = np.zeros(rows, np.int64), *votes_of(self.rules, codes, rows)
        return last

    def to_dict(self) -> dict[str, Any]:
        """The predictor as plain data, ready for JSON; `load_predictor` reads it back."""
        return super().to_dict() | {
            "rules": [rule.to_dict() for rule in self.rules],
            "numbers": list(self.numbers),
        }

    @classmethod
    def from_dict(cls, form: Any) -> BoostedPredictor:
        """The predictor of `to_dict`."""
        negative, positive = form["classes"]
        features = tuple(map(Feature.from_dict, form["features"]))
        rules = tuple(map(Rule.from_dict, form["rules"]))
        if any(not 0 <= c.feature < len(features) for rule in rules for c in rule.conditions):
            raise ValueError("a test of a feature that is not there")
        return cls(
            (negative, positive), int(form["number"]), int(form["hypotheses"]), str(form["kind"]),
            None, form["rows"], None, features, rules, tuple(map(int, form["numbers"])),
            calibration=calibration_of(form),
        )  # fmt: skip
