"""Lazy selection that is wrong on purpose, as the printed pseudocode or a hasty reading has it.

They are reachable from the audits only, and release nothing. Draws are in float64: good enough
for twins that are wrong anyway.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from winnow.audit.neighbours import Boxes, moves, vectors
from winnow.audit.probabilities import Model, Scores
from winnow.core.laws import Law
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.inner_product.crossing import IndexedExponential, IndexedSelection, SlackExponential

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ADVERSARIES = ("best", "worst", "first", "turning")
"""What the index answers: the true head, the worst one, always the same candidates, or one of
the first two by the parity of the scores, so that it turns between neighbours."""


def answer(adversary: str, scores: Integers, left: Integers, count: int) -> Integers:
    """So many of the candidates that are left, as the adversary likes, for each row of scores."""
    match adversary:
        case "first":
            sign = np.zeros((len(scores), 1), np.int64)
        case "turning":
            sign = np.where(scores.sum(axis=1, keepdims=True) % 2, 1, -1)
        case _:
            sign = np.full((len(scores), 1), 1 if adversary == "worst" else -1)
    order = np.argsort(sign * scores[:, left], axis=1, kind="stable")
    return np.asarray(left[order[:, :count]], np.int64)


@dataclass(frozen=True)
class AnsweredProblem:
    """A vector of scores with an adversary for an index, and a bound that is just true."""

    values: Integers
    adversary: str

    @property
    def size(self) -> int:
        """The number of candidates."""
        return len(self.values)

    def propose(self, count: int, taken: Integers) -> tuple[Integers, int | None]:
        """The adversary's head, and the largest score of the others."""
        left = np.setdiff1d(np.arange(self.size), taken)
        head = answer(self.adversary, self.values[None], left, count)[0]
        rest = np.setdiff1d(left, head)
        return head, int(self.values[rest].max()) if len(rest) else int(self.values[head].min())

    def scores(self, ids: Integers) -> Integers:
        """The scores of some candidates."""
        return self.values[ids]

    def all_scores(self) -> Integers:
        """All scores."""
        return self.values


def _simulate(
    mechanism: IndexedSelection, adversary: str, scores: Scores, utility: Utility, draws: int,
    seed: int,
) -> Integers:  # fmt: skip
    problem = AnsweredProblem(np.asarray(scores, np.int64), adversary)
    root, scale = Tape.seeded(seed), mechanism.scale(utility)
    drawn = [mechanism.draw(problem, scale, root.child(f"draw-{r}")) for r in range(draws)]
    return np.array(drawn, np.int64)


@dataclass(frozen=True)
class AdversarialIndexed(IndexedExponential):
    """The exact variant over an adversary's index, on scores that are steps already."""

    adversary: str = "best"

    @property
    def name(self) -> str:
        """What audits call it."""
        return f"{super().name}, {self.adversary} head"

    def _few(self, size: int, scores: Integers, level: int, scale: object) -> bool:
        return True  # never the scan: the lazy path is what is audited

    def simulate(self, scores: Scores, utility: Utility, draws: int, seed: int) -> Integers:
        """Draws on made-up scores, a row for each."""
        return _simulate(self, self.adversary, scores, utility, draws, seed)

    def model(self, utility: Utility) -> Model:
        """Its exact output distribution."""
        return LazyModel(float(self.scale(utility)), self.k, self.adversary, None)


@dataclass(frozen=True)
class AdversarialSlack(SlackExponential):
    """The approximate variant over an adversary's index, on scores that are steps already."""

    adversary: str = "best"

    @property
    def name(self) -> str:
        """What audits call it."""
        return f"{super().name}, {self.adversary} head"

    def _few(self, size: int, scores: Integers, level: int, scale: object) -> bool:
        return True

    def simulate(self, scores: Scores, utility: Utility, draws: int, seed: int) -> Integers:
        """Draws on made-up scores, a row for each."""
        return _simulate(self, self.adversary, scores, utility, draws, seed)

    def model(self, utility: Utility) -> Model:
        """Its exact output distribution."""
        scale = float(self.scale(utility))
        return LazyModel(scale, self.k, self.adversary, float(self.slack))


@dataclass(frozen=True)
class LazyModel(Model):
    """The law of k draws; the tail's level is the head's least score within the slack."""

    scale: float
    k: int
    adversary: str
    slack: float | None
    """None: the level is a true bound, so the law is the softmax."""

    def outcomes(self, d: int) -> Integers:
        """Sequences of k candidates."""
        return np.array(list(permutations(range(d), self.k)), np.int64)

    def instances(self, boxes: Boxes, *, quick: bool) -> Iterator[tuple[Integers, Integers]]:
        """In every order: an index may go by position."""
        far = math.ceil(12 / self.scale)
        yield vectors((0, 1, 2, 3) if quick else (0, 1, 2, 3, far), 3), moves(boxes, 3)
        few = quick or self.k > 1
        yield vectors((0, 2) if few else (0, 1, 2), 4), moves(boxes, 4)

    def log_probabilities(self, scores: Scores) -> Floats:
        """Draw after draw, each from the candidates that are left."""
        outcomes = self.outcomes(scores.shape[1])
        values_of = np.asarray(scores, np.int64)
        common = values_of.max(axis=1, keepdims=True)  # taken off, it changes no law
        if self.adversary == "turning":
            common -= common % 2  # nor any parity
        distinct, where = np.unique(values_of - common, axis=0, return_inverse=True)
        result = np.zeros((len(distinct), len(outcomes)))
        laws: dict[tuple[int, ...], Floats] = {}
        for column, sequence in enumerate(map(tuple, outcomes.tolist())):
            for turn, chosen in enumerate(sequence):
                taken = sequence[:turn]
                if taken not in laws:
                    laws[taken] = self._log_law(distinct, list(taken))
                result[:, column] += laws[taken][:, chosen]
        return np.asarray(result[where.ravel()], np.float64)

    def _log_law(self, values: Integers, taken: list[int]) -> Floats:
        """The log-probabilities of the next candidate, for each row of scores."""
        left = np.ones(values.shape, np.bool_)
        left[:, taken] = False
        count = isqrt(values.shape[1] - 1) + 1
        head = np.zeros(values.shape, np.bool_)
        answered = answer(self.adversary, values, np.flatnonzero(left[0]), count)
        np.put_along_axis(head, answered, True, axis=1)
        tail = left & ~head
        x = self.scale * (values - values.max(axis=1, keepdims=True)).astype(np.float64)
        level = _largest(x, tail)
        if self.slack is not None:
            near = head & (x >= (level - self.slack * (1 + 1e-12))[:, None])
            some = near.any(axis=1) & tail.any(axis=1)
            level = np.where(some, np.minimum(level, -_largest(-x, near)), _largest(x, left))
            head = np.where(some[:, None], near, head)  # or a scan: every candidate counts
            tail = left & ~head
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(lazy_law(x, head, tail, level)), np.float64)


def _largest(x: Floats, among: NDArray[np.bool_]) -> Floats:
    """Of each row, among some of its places; -inf where there are none."""
    return np.asarray(np.max(x, axis=1, where=among, initial=-np.inf), np.float64)


def lazy_law(x: Floats, head: NDArray[np.bool_], tail: NDArray[np.bool_], level: Floats) -> Floats:
    """The probabilities of the candidates in each row, for any head, tail and level."""
    weights = np.exp(x)
    total = np.sum(weights, axis=1, where=head)[:, None]
    rates = np.where(tail, weights, 0.0)
    with np.errstate(over="ignore"):
        reach = np.where(tail, np.minimum(1.0, np.exp(level[:, None] - x)), 0.0)
    order = np.argsort(reach, axis=1)
    edges = np.pad(np.take_along_axis(reach, order, axis=1), ((0, 0), (1, 0)))
    heights = total + np.sum(np.minimum(edges[:, :, None], reach[:, None]) * rates[:, None], axis=2)
    pieces = np.diff(edges, axis=1) / (heights[:, 1:] * heights[:, :-1])
    share = np.empty_like(reach)
    np.put_along_axis(share, order, np.cumsum(pieces, axis=1), axis=1)
    at_one = total + np.sum(reach * rates, axis=1, keepdims=True)
    return np.asarray(np.where(head, weights / at_one, rates * total * share), np.float64)


def _uniforms(seed: int, draws: int, d: int) -> Floats:
    words = Tape.seeded(seed).words(0, draws * d)
    return np.asarray((words + 0.5) * 2.0**-32, np.float64).reshape(draws, d)


def _head(adversary: str, scores: Scores) -> Integers:
    values = np.asarray(scores, np.int64)
    count = math.isqrt(len(values) - 1) + 1
    return np.asarray(answer(adversary, values[None], np.arange(len(values)), count)[0], np.int64)


@dataclass(frozen=True)
class BrokenNoCertificate(AdversarialSlack):
    """BROKEN: trusts whatever the index answers, as if it lay within the slack."""

    def simulate(self, scores: Scores, utility: Utility, draws: int, seed: int) -> Integers:
        """Draws in float64."""
        noise = Law.GUMBEL.formulas.inv_log_sf(np.log(_uniforms(seed, draws, len(scores))))
        x, head = float(self.scale(utility)) * scores, _head(self.adversary, scores)
        margin = (x + noise)[:, head].max(axis=1) - x[head].min()
        looked_at = noise > margin[:, None]
        looked_at[:, head] = True
        winners = np.argmax(np.where(looked_at, x + noise, -np.inf), axis=1)
        return np.asarray(winners[:, None], np.int64)

    def model(self, utility: Utility) -> Model:
        """Its exact output distribution: any slack will do."""
        return LazyModel(float(self.scale(utility)), self.k, self.adversary, math.inf)


@dataclass(frozen=True)
class BrokenPrintedBinomial(AdversarialIndexed):
    """BROKEN: a tail candidate passes with probability 1 - e^-B [FastMWEM, Alg 2 line 9]."""

    adversary: str = field(default="best", init=False)

    def simulate(self, scores: Scores, utility: Utility, draws: int, seed: int) -> Integers:
        """Draws in float64: pass first, then noise given that it exceeds B."""
        d = len(scores)
        u, pass_u = _uniforms(seed, draws, d), _uniforms(seed + 500_000, draws, d)
        x, head = float(self.scale(utility)) * scores, _head(self.adversary, scores)
        noise = -np.log(-np.log(u))
        margin = ((x + noise)[:, head].max(axis=1) - x[head].min())[:, None]
        rate = np.exp(-margin)
        noise_above = -np.log(-np.log1p(u * np.expm1(-rate)))  # E = -log1p(-u (1 - e^-rate))
        passed = pass_u < 1.0 - np.exp(-np.maximum(margin, 0.0))
        values = np.where(passed, x + noise_above, -np.inf)
        values[:, head] = (x + noise)[:, head]
        return np.asarray(np.argmax(values, axis=1)[:, None], np.int64)


@dataclass(frozen=True)
class BrokenAbsoluteScores(AdversarialIndexed):
    """BROKEN: absolute scores with a head from a signed search [FastMWEM, Alg 2 lines 5, 7, 8]."""

    adversary: str = field(default="best", init=False)

    def simulate(self, scores: Scores, utility: Utility, draws: int, seed: int) -> Integers:
        """Draws in float64."""
        noise = Law.GUMBEL.formulas.inv_log_sf(np.log(_uniforms(seed, draws, len(scores))))
        x, head = float(self.scale(utility)) * np.abs(scores), _head(self.adversary, scores)
        margin = (x + noise)[:, head].max(axis=1) - x[head].min()
        looked_at = noise > margin[:, None]
        looked_at[:, head] = True
        winners = np.argmax(np.where(looked_at, x + noise, -np.inf), axis=1)
        return np.asarray(winners[:, None], np.int64)
