"""The public parameters of a release, whatever its method."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from winnow.core.checks import Real, count, delta_range, exact, positive_float
from winnow.core.relation import Relation
from winnow.core.schema import Schema
from winnow.core.workloads.workload import Workload
from winnow.privacy import zcdp_rho


@dataclass(frozen=True, eq=False)
class ReleaseTerms:
    """What is asked for: a workload over a schema, and a budget."""

    workload: Workload
    epsilon: Real
    delta: Real
    relation: Relation = Relation.SUBSTITUTION
    rows_per_person: int = 1
    total: int | None = None
    """The public number of rows; None: it is private."""
    accountant: str = "best"
    memory: str | int = "4GB"

    def __post_init__(self) -> None:
        positive_float(epsilon=self.epsilon)
        delta_range(delta=self.delta)
        count(rows_per_person=self.rows_per_person)

    @property
    def schema(self) -> Schema:
        """The schema of the workload."""
        return self.workload.schema

    @cached_property
    def rho(self) -> float | None:
        """What there is to spend with Gaussian noise; None: pure privacy."""
        if self.pure:
            return None
        return float(zcdp_rho(self.epsilon, self.delta))

    @property
    def pure(self) -> bool:
        """Whether there is no delta to use."""
        return self.exact_delta == 0 or self.accountant == "pure"

    @cached_property
    def exact_delta(self) -> Fraction:
        """delta as it was written."""
        return exact("delta", self.delta)
