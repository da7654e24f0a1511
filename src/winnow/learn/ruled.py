"""One rule as a classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.learn.bound import GeneralisationBound
from winnow.learn.chances import Floats, ScoredPredictor, calibration_of
from winnow.learn.features import Feature
from winnow.learn.rules import Codes, Rule

ALWAYS = Rule((), True)
"""The rule without a test."""
_SAID = 0.75
"""In nats: the middle of a bin of calibration."""


@dataclass(frozen=True, eq=False, repr=False)
class RulePredictor(ScoredPredictor):
    """A rule over declared features."""

    rule: Rule = ALWAYS

    @property
    def text(self) -> str:
        """The rule for people."""
        return self.rule.text(self.features, self.classes)

    @property
    def used(self) -> set[int]:
        """The places of the features that are looked at."""
        return {condition.feature for condition in self.rule.conditions}

    def of_codes(self, codes: Codes, rows: int) -> NDArray[np.intp]:
        """The number of the class of every row, from the codes of each feature."""
        return self.rule.positive(codes, rows).astype(np.intp)

    def scores(self, codes: Codes, rows: int) -> Floats:
        """Nats for the class that the rule predicts, and 0 for the other; the same in every row.

        What a prediction is worth, calibration says.
        """
        said = self.of_codes(codes, rows)
        return np.where(said[:, None] == np.arange(2), _SAID, 0.0)

    @property
    def _sure(self) -> bool:
        return False

    def to_dict(self) -> dict[str, Any]:
        """The predictor as plain data, ready for JSON; `load_predictor` reads it back."""
        return super().to_dict() | {"tests": self.rule.to_dict()}

    @classmethod
    def from_dict(cls, form: Any) -> RulePredictor:
        """The predictor of `to_dict`."""
        bound = form.get("bound")
        if bound is not None:
            bound = GeneralisationBound(**{k: v for k, v in bound.items() if k != "excess"})
        negative, positive = form["classes"]
        features = tuple(Feature.from_dict(feature) for feature in form["features"])
        rule = Rule.from_dict(form["tests"])
        if any(not 0 <= condition.feature < len(features) for condition in rule.conditions):
            raise ValueError("a test of a feature that is not there")
        return cls(
            (negative, positive),
            int(form["number"]),
            int(form["hypotheses"]),
            str(form["kind"]),
            form["correct"],
            form["rows"],
            bound,
            features,
            rule,
            calibration=calibration_of(form),
        )
