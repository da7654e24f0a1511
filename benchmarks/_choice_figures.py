"""Regret: how much more the automatic choice errs than the best method forced."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

CLOSE, FAIR = 1.15, 1.5
LOST = 0.2
"""So much of the true top k may be missed more than by the best method."""


@dataclass(frozen=True)
class Seen:
    """What one method did: its error in people or rows, or the share that it found or got right."""

    error: float
    recall: float | None = None
    predicted: float | None = None


@dataclass
class Setting:
    """One question on one data set: what was chosen, and every method forced."""

    part: str
    data: str
    asked: dict[str, Any]
    chosen: str
    unit: float
    """An error that counts as none."""
    methods: dict[str, Seen]
    default: Seen
    plain: float | None = None
    more: dict[str, Any] = field(default_factory=dict)
    rivals: dict[str, float] = field(default_factory=dict)
    """The errors of what others have published."""

    @property
    def best(self) -> str:
        """The method with the least error, of those forced."""
        return min(self.methods, key=lambda word: self.methods[word].error)

    @property
    def ratio(self) -> float:
        """The error of the choice over the least one; errors below the unit are equal."""
        least = max(self.methods[self.best].error, self.unit)
        return max(max(self.default.error, self.unit) / least, 1e-9)

    @property
    def lost(self) -> float:
        """How much less of what was to be found the choice finds than the best method."""
        found = [each.recall for each in self.methods.values() if each.recall is not None]
        if not found or self.default.recall is None:
            return 0.0
        return max(found) - self.default.recall

    def to_dict(self) -> dict[str, Any]:
        """The setting as plain data."""
        plain = asdict(self)
        return plain | {"best": self.best, "ratio": self.ratio, "lost": self.lost}


def summary(settings: Iterable[Setting]) -> dict[str, float]:
    """The figures of a part."""
    held = list(settings)
    ratios = np.array([max(each.ratio, 1.0) for each in held])
    lost = np.array([each.lost for each in held])
    predicted = [
        each.default.error / each.default.predicted
        for each in held
        if each.default.predicted and each.default.error > 0
    ]
    found = {
        "settings": len(held),
        "within 1.15": float((ratios <= CLOSE).mean()),
        "within 1.5": float((ratios <= FAIR).mean()),
        "geometric mean": math.exp(float(np.log(ratios).mean())),
        "worst": float(ratios.max()),
        "recall lost by .2": float((lost > LOST).mean()),
    }
    against = [each.default.error / each.plain for each in held if each.plain]
    if against:
        found["over plain noise by 1.05"] = float((np.array(against) > 1.05).mean())
        found["mean of plain noise"] = math.exp(float(np.log(np.maximum(against, 1e-9)).mean()))
    for word in dict.fromkeys(word for each in held for word in each.rivals):
        shares = [e.default.error / max(e.rivals[word], 1e-9) for e in held if word in e.rivals]
        found[f"of {word}"] = math.exp(float(np.log(shares).mean()))
        found[f"of {word}, worst"] = max(shares)
    if predicted:
        near = np.abs(np.log(predicted)) <= math.log(1.3)
        found["predicted within 1.3"] = float(near.mean())
    return found


def counted(settings: Iterable[Setting]) -> Mapping[str, int]:
    """How often each method was chosen where another one would have been better by 1.15."""
    found: dict[str, int] = {}
    for each in settings:
        if each.ratio > CLOSE:
            what = f"{each.chosen} for {each.best}"
            found[what] = found.get(what, 0) + 1
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))
