"""Lazy Gumbel sampling over indices that an adversary answers for, and its exact law.

With weights w = e^x, A the head's sum and b_j = min(1, e^(t - x_j)) for a tail of level t, the
noisy scores are clocks of rate w of which the earliest wins, and a tail candidate counts only
below b_j times the head's clock. So, with D(u) = A + sum over the tail of w_j min(u, b_j),

    Pr[i in the head] = w_i/D(1),      Pr[i in the tail] = w_i A * integral_0^{b_i} du/D(u)^2,

and D is linear between the b_j, where the integral of 1/D^2 is (u2 - u1)/(D(u1) D(u2)). When t
bounds the tail every b_j is 1 and this is the softmax.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from winnow.audit.probabilities import Model, Scores
from winnow.domain.utility import Utility
from winnow.mechanisms.indexed_selection import (
    IndexedExponential,
    IndexedSelection,
    SlackExponential,
)
from winnow.random.tape import Tape

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ADVERSARIES = ("best", "worst", "first", "turning")
"""What the index answers: the true head, the worst one, always the same candidates, or one of
the first two by the parity of the scores, so that it turns between neighbours."""


def answer(adversary: str, scores: Integers, left: Integers, count: int) -> Integers:
    """So many of the candidates that are left, as the adversary likes."""
    values = scores[left]
    if adversary == "turning":
        adversary = "worst" if int(scores.sum()) % 2 else "best"
    match adversary:
        case "first":
            return left[:count]
        case "worst":
            return left[np.argsort(values, kind="stable")[:count]]
        case _:
            return left[np.argsort(-values, kind="stable")[:count]]


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
        head = answer(self.adversary, self.values, left, count)
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
class LazyModel:
    """The law of k draws; the tail's level is the head's least score within the slack."""

    scale: float
    k: int
    adversary: str
    slack: float | None
    """None: the level is a true bound, so the law is the softmax."""

    def outcomes(self, d: int) -> Integers:
        """Sequences of k candidates."""
        return np.array(list(permutations(range(d), self.k)), np.int64)

    def log_probabilities(self, scores: Scores) -> Floats:
        """Draw after draw, each from the candidates that are left."""
        outcomes = self.outcomes(scores.shape[1])
        values_of = np.asarray(scores, np.int64)
        common = values_of.max(axis=1, keepdims=True)  # taken off, it changes no law
        if self.adversary == "turning":
            common -= common % 2  # nor any parity
        distinct, where = np.unique(values_of - common, axis=0, return_inverse=True)
        result = np.zeros((len(distinct), len(outcomes)))
        for row, values in enumerate(distinct):
            laws: dict[tuple[int, ...], Floats] = {}
            for column, sequence in enumerate(outcomes.tolist()):
                for turn, chosen in enumerate(sequence):
                    taken = tuple(sequence[:turn])
                    if taken not in laws:
                        laws[taken] = np.log(self._law(values, list(taken)))
                    result[row, column] += laws[taken][chosen]
        return np.asarray(result[where.ravel()], np.float64)

    def _law(self, values: Integers, taken: list[int]) -> Floats:
        behind = np.ones(len(values), np.bool_)
        behind[taken] = False
        left = np.flatnonzero(behind)
        count = isqrt(len(values) - 1) + 1
        head = answer(self.adversary, values, left, count)
        behind[head] = False
        tail = np.flatnonzero(behind)
        x = self.scale * (values - values.max()).astype(np.float64)
        level = float(x[tail].max(initial=-np.inf))
        if self.slack is not None and len(tail):
            near = head[x[head] >= level - self.slack * (1 + 1e-12)]
            if len(near):
                behind[head] = True
                behind[near] = False
                head, tail = near, np.flatnonzero(behind)
                level = min(level, float(x[head].min()))
            else:
                level = float(x[left].max())  # the scan: every candidate counts
        probabilities = np.ones(len(values))  # log 1 = 0 for those that no sequence asks for
        probabilities[np.concatenate([head, tail])] = lazy_law(x[head], x[tail], level)
        return probabilities


def lazy_law(head: Floats, tail: Floats, level: float) -> Floats:
    """The probabilities of the head's candidates, then the tail's, for any level."""
    weights, rates = np.exp(head), np.exp(tail)
    reach = np.minimum(1.0, np.exp(level - tail))
    edges = np.unique(np.concatenate([[0.0], reach]))
    total = weights.sum()
    heights = total + np.minimum(edges[:, None], reach) @ rates
    pieces = np.diff(edges) / (heights[1:] * heights[:-1])
    integral = np.concatenate([[0.0], np.cumsum(pieces)])
    share = integral[np.searchsorted(edges, reach)]
    at_one = total + float(reach @ rates)
    return np.concatenate([weights / at_one, rates * total * share])
