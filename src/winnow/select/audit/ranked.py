"""Selections from unknown universes that are wrong on purpose. Reachable from audits only."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.audit.numerics import log_functions
from winnow.audit.probabilities import ChargedAsInner, OfLabels
from winnow.core.laws import Law
from winnow.core.noisy_top.universe import ExplicitRanks
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.select.audit.model import LargeMarginModel, large_margin_model
from winnow.select.mechanisms.conditional import Choosing, DistanceToInstability
from winnow.select.mechanisms.large_margin import LargeMargin

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Scores = NDArray[np.int64] | NDArray[np.float64]
Ranked = LargeMargin | DistanceToInstability | Choosing


@dataclass(frozen=True)
class RankedModel(OfLabels):
    """What the models share; `items` bounds the labels of one person (None: no bound)."""

    items: int | None

    def outcomes(self, d: int) -> Integers:
        """None, or one label."""
        return np.arange(-1, d, dtype=np.int64)[:, None]

    @abstractmethod
    def log_probabilities(self, scores: Scores) -> Floats:
        """One row for each row of scores: 'none', then the labels."""


class RowByRowModel(RankedModel):
    """A model that follows its definition for one row of scores at a time."""

    def log_probabilities(self, scores: Scores) -> Floats:
        """Row by row from the definition."""
        with np.errstate(divide="ignore"):
            rows = [self._labels(np.asarray(row)) for row in scores]
            return np.asarray(np.log(np.array(rows)), np.float64)

    @abstractmethod
    def _labels(self, counts: Scores) -> Floats:
        """Pr['none'], then those of the labels."""


@dataclass(frozen=True)
class EndlessMarginModel(RankedModel):
    """The large margin mechanism whose search looks no further than rank `last`."""

    search: LargeMarginModel
    last: int

    def log_probabilities(self, scores: Scores) -> Floats:
        """Stopping ranks of all rows at once, then the choice among the leaders."""
        x = np.asarray(scores / self.search.sensitivity, np.float64)
        ranked = np.zeros((len(x), self.last + 1))
        ranked[:, : x.shape[1]] = -np.sort(-x, axis=1)
        stops = self.search.stopping_probabilities(ranked[:, :1] - ranked[:, 1:])[:, :-1]
        weights = np.exp(self.search.choice_scale * (ranked - ranked[:, :1]))[:, :-1]
        # rank r may be drawn when the search stops at any l >= r
        per_weight = stops / np.cumsum(weights, axis=1)
        chances = weights * np.cumsum(per_weight[:, ::-1], axis=1)[:, ::-1]
        # equal counts share what their ranks have; a count of 0 is no label
        of_count = np.sum(chances[:, None] * (ranked[:, None, :-1] == x[:, :, None]), axis=2)
        equals = np.sum(x[:, None] == x[:, :, None], axis=2)
        labels = np.where(x > 0, of_count / equals, 0.0)
        none = np.maximum(0.0, 1.0 - labels.sum(axis=1, keepdims=True))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.hstack([none, labels])), np.float64)


@dataclass(frozen=True)
class InstabilityModel(RowByRowModel):
    """The best label if its lead passes a test with Laplace noise."""

    width: float
    scale: float
    threshold: float

    def _labels(self, counts: Scores) -> Floats:
        first, second = np.sort(np.append(counts, [0, 0]))[::-1][:2]
        gap = (first - second) / self.width
        passed = _chance_above(gap - self.threshold, self.scale)
        best = np.where((counts == first) & (first > 0), 1.0, 0.0)
        labels = passed * best / max(1.0, best.sum())
        return _with_none(labels)


@dataclass(frozen=True)
class ChoosingModel(RowByRowModel):
    """A label of positive count by the exponential mechanism, if the largest passes a test."""

    width: float
    scale: float
    threshold: float

    def _labels(self, counts: Scores) -> Floats:
        q = counts / self.width
        passed = _chance_above(float(q.max()) - self.threshold, self.scale)
        weights = np.where(counts > 0, np.exp((q - q.max()) / self.scale), 0.0)
        labels = passed * weights / max(weights.sum(), 1e-300)
        return _with_none(labels)


def _with_none(labels: Floats) -> Floats:
    """Pr['none'] is what the labels leave."""
    return np.append(max(0.0, 1.0 - float(labels.sum())), labels)


def _chance_above(offset: float, scale: float) -> float:
    """Pr[offset + Laplace noise > 0]."""
    return float(np.exp(log_functions(Law.LAPLACE, np.array([offset / scale]))[1])[0])


@dataclass(frozen=True)
class OnUnknownUniverse(ChargedAsInner):
    """A selection from lazily listed candidates, run on small explicit counts."""

    inner: Ranked
    items: int | None = None

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.inner.name}, universe unknown"

    def simulate(self, scores: Scores, utility: Utility, draws: int, seed: int) -> Integers:
        """One label each, or -1."""
        root, counts = Tape.seeded(seed), np.asarray(scores, np.int64)
        rows = np.full((draws, 1), -1, np.int64)
        for draw, row in enumerate(rows):
            ranks = ExplicitRanks(counts, endless=True)
            found = self.inner._draw(ranks, utility, root.child(f"draw-{draw}")).members
            row[: len(found)] = found
        return rows

    def model(self, utility: Utility) -> RankedModel:
        """Its exact output distribution."""
        inner = self.inner
        epsilon = float(inner.epsilon)
        width = float(utility.width)
        if isinstance(inner, DistanceToInstability):
            return InstabilityModel(self.items, width, 1 / epsilon, inner.threshold())
        if isinstance(inner, Choosing):
            return ChoosingModel(self.items, width, 2 / epsilon, inner.threshold(utility))
        margins = large_margin_model(inner, utility)
        return EndlessMarginModel(self.items, margins, inner.last_rank)


def on_unknown_universes() -> list[Any]:
    """The mechanisms that need no list of candidates, with parameters that small counts feel."""
    loose = [
        OnUnknownUniverse(LargeMargin(*parameters, thresholds, last_rank=6))
        for parameters in ((0.2, 0.9), (4.0, 0.05))
        for thresholds in ("tight", "printed")
    ]
    return [
        *loose,
        OnUnknownUniverse(DistanceToInstability(1.0, 0.2)),
        OnUnknownUniverse(DistanceToInstability(4.0, 0.02)),
        OnUnknownUniverse(Choosing(2.0, 0.2, 1), items=1),
        OnUnknownUniverse(Choosing(4.0, 0.1, 2), items=2),
    ]


@dataclass(frozen=True)
class BrokenNoTest(Choosing):
    """BROKEN: draws among the candidates that somebody has without asking whether it may."""

    def threshold(self, utility: Utility) -> float:
        """Always passed."""
        return -1e6


@dataclass(frozen=True)
class BrokenShortLead(DistanceToInstability):
    """BROKEN: compares the lead with a threshold that knows nothing of delta."""

    def threshold(self) -> float:
        """One person's width, nothing for the tail."""
        return 1.0


def broken_on_unknown_universes() -> list[tuple[str, OnUnknownUniverse, OnUnknownUniverse]]:
    """What is wrong, the twin, and the honest mechanism: enumeration has to tell them apart."""
    return [
        (
            "nobody asks whether a choice among those that are there is allowed",
            OnUnknownUniverse(BrokenNoTest(2.0, 0.05, 1), items=1),
            OnUnknownUniverse(Choosing(2.0, 0.05, 1), items=1),
        ),
        (
            "the lead is compared with a threshold that knows nothing of delta",
            OnUnknownUniverse(BrokenShortLead(1.0, 0.05)),
            OnUnknownUniverse(DistanceToInstability(1.0, 0.05)),
        ),
    ]
