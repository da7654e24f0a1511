"""Counts that stay in an engine: their draws go by classes of equal counts, and are audited too.

The laws are those of draws from counts in memory. (But large margin breaks ties by position there,
and at random here: which of them it is follows from ``keep=`` and the public list.) Broken twins
are reachable from the audits only, and release nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.audit.neighbours import Boxes
from winnow.audit.probabilities import Model, Scores, model_of
from winnow.audit.ties import RandomTies
from winnow.core.laws import Law
from winnow.core.noisy_top.count_classes import CountClasses, Place
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.privacy import Promise
from winnow.read.kept import KeptCounts, Snapshot
from winnow.select.audit.counts import BrokenTiesByPosition
from winnow.select.crossing.private_labels import UnknownDomain
from winnow.select.mechanisms.large_margin import LargeMargin
from winnow.select.mechanisms.lipschitz import LipschitzMechanism
from winnow.select.mechanisms.truncated_laplace import TruncatedLaplace
from winnow.select.mechanisms.unknown_domain import StabilityThreshold

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class ListedCounts(KeptCounts, Snapshot):
    """A small list of counts that is asked as an engine would be."""

    def __init__(
        self, counts: Sequence[int] | Integers, labels: Sequence[Any] | None = None
    ) -> None:
        values = np.asarray(counts, np.int64).tolist()
        self._members: dict[int, list[Any]] = {}
        for label, count in zip(
            range(len(values)) if labels is None else labels, values, strict=True
        ):
            self._members.setdefault(count, []).append(label)

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """It does not change."""
        yield self

    def sizes(self) -> dict[int, int]:
        """How many have each count."""
        return {count: len(members) for count, members in self._members.items()}

    def members(self, places: Sequence[Place]) -> list[Any]:
        """Positions, or labels where there are some."""
        return [self._members[count][index] for count, index in places]

    def counts_of(self, items: Sequence[Any]) -> list[int]:
        """The counts of members."""
        found = {item: count for count, members in self._members.items() for item in members}
        return [found.get(item, 0) for item in items]


@dataclass(frozen=True)
class KeptInEngine:
    """An audited mechanism of counts, drawn from their classes."""

    inner: Any

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.inner.name}, counts kept in an engine"

    @property
    def _mechanism(self) -> Any:
        return getattr(self.inner, "inner", self.inner)

    @property
    def _cells(self) -> int:
        return int(getattr(self.inner, "cells", 0))

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        promised: Promise = self.inner.promise(relation)
        return promised

    def simulate(self, scores: Scores, utility: Utility, draws: int, seed: int) -> Integers:
        """A row for each draw: positions, filled up with -1, then cells of noisy counts."""
        root, drawn = Tape.seeded(seed), []
        for draw in range(draws):
            chosen, noisy = self._one(scores, utility, root.child(f"draw-{draw}"))
            drawn.append((chosen, noisy or []))
        k = getattr(self._mechanism, "k", getattr(self._mechanism, "kappa", 1))
        rows = np.full((draws, k * (2 if self._cells else 1)), -1, np.int64)
        for row, (chosen, noisy) in zip(rows, drawn, strict=True):
            row[: len(chosen)] = chosen
            if self._cells:
                row[k : k + len(noisy)] = noisy
        return rows

    def _one(
        self, scores: Scores, utility: Utility, tape: Tape
    ) -> tuple[list[int], list[int] | None]:
        mechanism, counts = self._mechanism, np.asarray(scores, np.int64)
        last = self._cells - 1
        if not isinstance(mechanism, UnknownDomain):
            chosen, noisy = mechanism._selected(ListedCounts(counts), utility, tape)
            return chosen, noisy and [min(max(n, 0), last) for n in noisy]
        there = np.flatnonzero(counts > 0)
        found, noisy = ListedCounts(counts[there]).drawn(
            lambda universe: mechanism._draw(universe, utility, tape)
        )
        if isinstance(mechanism, StabilityThreshold | TruncatedLaplace):
            threshold = mechanism.threshold(utility)
            noisy = noisy and [min(n - threshold, last) for n in noisy]
        return there[found].tolist() if found else [], noisy

    def model(self, utility: Utility) -> Model:
        """Its exact output distribution."""
        found = model_of(self.inner, utility)
        mechanism = self._mechanism
        if isinstance(mechanism, LargeMargin | BrokenTiesByPosition):
            return RandomTies(found, getattr(mechanism, "k", 1))
        return found


@dataclass(frozen=True)
class OnePerClassModel(Model):
    """The model of ``BrokenOnePerClass`` with Gumbel noise."""

    inner: Model
    scale: float

    def outcomes(self, d: int) -> Integers:
        """One candidate."""
        return np.arange(d, dtype=np.int64)[:, None]

    def instances(self, boxes: Boxes, *, quick: bool) -> Iterator[tuple[Integers, Integers]]:
        """The instances of the honest mechanism."""
        return self.inner.instances(boxes, quick=quick)

    def log_probabilities(self, scores: Scores) -> Floats:
        """The weight of a class, shared by its members."""
        x = self.scale * np.asarray(scores, np.float64)
        x = x - np.log((scores[:, :, None] == scores[:, None, :]).sum(axis=2))
        return np.asarray(x - np.logaddexp.reduce(x, axis=1)[:, None], np.float64)


@dataclass(frozen=True)
class BrokenOnePerClass(LipschitzMechanism):
    """BROKEN: noise once for each class, however many candidates it has."""

    noise: Law = Law.GUMBEL

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        if not isinstance(universe, CountClasses):
            return super()._draw(universe, utility, tape)
        one_each = CountClasses(dict.fromkeys(universe.counts.tolist(), 1))
        counts = [count for count, _ in super()._draw(one_each, utility, tape).found]
        return Drawn(universe.take(counts, tape.child("place").stream()))

    def model(self, utility: Utility) -> Model:
        """Its exact output distribution."""
        honest = LipschitzMechanism(self.epsilon, self.noise)
        return OnePerClassModel(model_of(honest, utility), float(self.scale(utility)))
