"""Lists with leads: exact probabilities of the first lead, and a twin with too little noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from winnow.audit.neighbours import Boxes, moves, sorted_vectors
from winnow.audit.numerics import log_functions, rule_between
from winnow.audit.probabilities import ChargedAsInner, Model, Scores
from winnow.core.checks import Real
from winnow.core.laws import Law
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.select.mechanisms.lipschitz import NoisyTopWithLeads

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class LeadsModel(Model):
    """The kappa = 1 or 2 largest in order, and the first lead: 0, 1, .., `cells` - 1 or more."""

    law: Law
    scale: float
    kappa: int
    cells: int

    def outcomes(self, d: int) -> Integers:
        """Lists, each with every lead."""
        lists = permutations(range(d), self.kappa)
        return np.array([(*each, lead) for each in lists for lead in range(self.cells)], np.int64)

    def log_probabilities(self, scores: Scores) -> Floats:
        """An integral over v, the noisy score of the runner-up, which the first one leads.

        With one winner the runner-up is any of the others, and all that are left lie below it.
        """
        x = self.scale * np.asarray(scores, np.float64)
        n, d = x.shape
        # a lead is rounded to whole units: it is at least j if the difference is j - 1/2 or more
        edges = self.scale * np.append(0.0, np.arange(1, self.cells) - 0.5)
        values, where = np.unique(x, return_inverse=True)
        places = where.reshape(n, d).T
        v, weights = rule_between((values[:, None] - edges).ravel())
        tables = (np.exp(table) for table in log_functions(self.law, v - values[:, None]))
        density, below, _ = (table[places] for table in tables)
        leading = [
            np.exp(log_functions(self.law, v + edge - values[:, None])[2])[places] for edge in edges
        ]
        columns = []
        for winners in permutations(range(d), self.kappa):
            first = winners[0]
            seconds = winners[1:] or tuple(i for i in range(d) if i != first)
            at_least = np.zeros((self.cells, n))
            for second in seconds:
                inside = density[second] * weights
                for other in set(range(d)) - {first, second}:
                    inside = inside * below[other]
                for cell in range(self.cells):
                    at_least[cell] += (inside * leading[cell][first]).sum(axis=1)
            exactly = at_least - np.vstack([at_least[1:], np.zeros((1, n))])
            columns.append(exactly.T)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(np.hstack(columns), 0.0)), np.float64)

    def instances(self, boxes: Boxes, *, quick: bool) -> Iterator[tuple[Integers, Integers]]:
        """Few score vectors, because leads multiply the outcomes; candidates are alike."""
        yield sorted_vectors((0, 1, 6) if quick else (0, 1, 3, 6), 3), moves(boxes, 3)
        yield sorted_vectors((0, 2), 4), moves(boxes, 4)


@dataclass(frozen=True)
class WithLeads(ChargedAsInner):
    """A list with leads as the audits see it: winners, and the first lead up to a cell."""

    inner: NoisyTopWithLeads
    cells: int = 3

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return self.inner.name

    def simulate(self, scores: Scores, utility: Utility, draws: int, seed: int) -> Integers:
        """Rows of winners and the cell of the first lead."""
        root = Tape.seeded(seed)
        rows = []
        for draw in range(draws):
            drawn = self.inner.of_scores(scores, utility, root.child(f"draw-{draw}"))
            rows.append((*drawn.members, min(int((drawn.noisy or [0])[0]), self.cells - 1)))
        return np.array(rows, np.int64)

    def model(self, utility: Utility) -> Model:
        """Its exact output distribution."""
        inner = self.inner
        return LeadsModel(inner.noise, float(inner.scale(utility)), inner.kappa, self.cells)


def with_leads(epsilon: Real) -> list[WithLeads]:
    """A lead over the best loser where that is released, and leads inside lists for all laws."""
    single = [WithLeads(NoisyTopWithLeads(epsilon, law)) for law in (Law.LAPLACE, Law.LOGISTIC)]
    return [*single, *(WithLeads(NoisyTopWithLeads(epsilon, law, 2)) for law in Law)]


@dataclass(frozen=True)
class BrokenPaidForOne(NoisyTopWithLeads):
    """BROKEN: scales the noise as if one winner were released."""

    def scale(self, utility: Utility) -> Fraction:
        """Without kappa."""
        return self.kappa * super().scale(utility)


def broken_leads() -> tuple[str, WithLeads, WithLeads]:
    """What is wrong, the twin, and the honest mechanism."""
    return (
        "the noise is for one winner, and two are released with their lead",
        WithLeads(BrokenPaidForOne(1.0, Law.EXPONENTIAL, 2)),
        WithLeads(NoisyTopWithLeads(1.0, Law.EXPONENTIAL, 2)),
    )
