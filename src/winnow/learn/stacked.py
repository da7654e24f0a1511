"""Rules on top of an additive model: what both say of a row is added up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.learn.additive import AdditivePredictor, Integers, lean_of
from winnow.learn.boosted import BoostedPredictor, scores_of
from winnow.learn.chances import ScoredPredictor
from winnow.learn.rules import Codes, Rule
from winnow.learn.words import ADDITIVE

ON_TOP = f"{ADDITIVE} and "
"""What the kind begins with."""


@dataclass(frozen=True, eq=False, repr=False)
class StackedPredictor(ScoredPredictor):
    """Points of an additive model and votes of rules; the class with more is predicted."""

    points: tuple[tuple[int, Integers], ...] = ()
    """The place of each column that is used, and its points: classes by values."""
    start: tuple[int, ...] = ()
    """What each class has before any column."""
    rules: tuple[Rule, ...] = ()
    numbers: tuple[int, ...] = ()
    """The numbers of the rules in their class."""

    @cached_property
    def parts(self) -> tuple[AdditivePredictor, BoostedPredictor]:
        """The additive model, and the vote."""
        said = (self.classes, self.number, self.hypotheses, self.kind, None, self.rows, None)
        return (
            AdditivePredictor(*said, self.features, self.points, self.start),
            BoostedPredictor(*said, self.features, self.rules, self.numbers),
        )

    @property
    def text(self) -> str:
        """The model for people."""
        added, vote = self.parts
        return f"{added.text}, and {vote.text}"

    @property
    def used(self) -> set[int]:
        """The places of the features that are looked at."""
        added, vote = self.parts
        return added.used | vote.used

    def of_codes(self, codes: Codes, rows: int) -> NDArray[np.intp]:
        """The number of the class of every row, from the codes of each feature."""
        return np.asarray(self.margins(codes, rows) > 0, np.intp)

    def scores(self, codes: Codes, rows: int) -> NDArray[np.float64]:
        """What is said of every row for each class, in nats."""
        return scores_of(self.margins(codes, rows))

    def margins(self, codes: Codes, rows: int) -> NDArray[np.int64]:
        """By how much every row is of the second class, in thousandths of a nat."""
        lean = lean_of(dict(self.points), self.start, codes, rows)
        return lean + self.parts[1].margins(codes, rows)

    def to_dict(self) -> dict[str, Any]:
        """The predictor as plain data, ready for JSON; `load_predictor` reads it back."""
        added, vote = (part.to_dict() for part in self.parts)
        return added | vote | super().to_dict()

    @classmethod
    def from_dict(cls, form: Any) -> StackedPredictor:
        """The predictor of `to_dict`."""
        return on_top(AdditivePredictor.from_dict(form), BoostedPredictor.from_dict(form), form)


def on_top(added: AdditivePredictor, vote: BoostedPredictor, form: Any = None) -> StackedPredictor:
    """Both as one."""
    hypotheses = added.hypotheses + vote.hypotheses if form is None else int(form["hypotheses"])
    kind = f"{ON_TOP}{vote.kind}" if form is None else str(form["kind"])
    return StackedPredictor(
        added.classes, added.number, hypotheses, kind, None, added.rows, None, added.features,
        added.points, added.start, vote.rules, vote.numbers, calibration=added.calibration,
    )  # fmt: skip
