"""The public numbers that the rules of a graphical model go by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from winnow.fit.junction_tree import Columns
from winnow.release.graphical.rules import (
    UNSEEN,
    Schedule,
    mean_distance,
    pair_noise,
    plain_distance,
)
from winnow.release.terms import ASSUMED_ROWS, ReleaseTerms


@dataclass(frozen=True, eq=False)
class Situation:
    """What a release asks for, and what the rules of thumb say of it."""

    terms: ReleaseTerms
    sets: list[Columns]
    """The columns of each table; columns of none are tables of their own."""
    noise: float
    """Of a pair: see ``rules``."""
    schedule: Schedule

    @property
    def rows(self) -> int:
        """The number of rows, or what is assumed in its place."""
        return rows_of(self.terms)

    @property
    def distance(self) -> float:
        """About the mean total variation distance of a model's tables."""
        return mean_distance(self.noise, map(len, self.sets))

    @property
    def expected(self) -> float:
        """The mean distance to expect; of columns alone where rounds would be noise."""
        return self.distance if self.schedule.rounds else UNSEEN


def rows_of(terms: ReleaseTerms) -> int:
    """The public number of rows, or what is assumed in its place."""
    return terms.total or ASSUMED_ROWS


def noise_of_pair(terms: ReleaseTerms, pairs: Sequence[Columns]) -> float:
    """The total variation distance that noise puts into a usual table of two columns."""
    return pair_noise(
        terms.schema.shape,
        pairs,
        epsilon=float(terms.epsilon),
        rho=terms.rho,
        people=terms.relation.people,
        rows_per_person=terms.rows_per_person,
        rows=rows_of(terms),
    )


def noise_of_tables(terms: ReleaseTerms, sizes: Sequence[int]) -> float:
    """The mean total variation distance that plain noise puts into tables of so many cells."""
    return plain_distance(
        sizes,
        epsilon=float(terms.epsilon),
        rho=terms.rho,
        people=terms.relation.people,
        rows_per_person=terms.rows_per_person,
        rows=rows_of(terms),
    )
