"""The public numbers of a release, whatever its method: what every plan goes by."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from winnow.core.checks import Real, count, delta_range, exact, one_of, positive_float
from winnow.core.relation import Relation
from winnow.core.schema import Schema
from winnow.core.workloads.workload import Workload
from winnow.errors import ParameterError
from winnow.privacy import zcdp_rho
from winnow.privacy.calibration import SIZINGS
from winnow.privacy.discrete_gaussian import largest_squared_ratio

LARGE = Fraction(10**9)
"""A variance at which a discrete Gaussian is as good as a continuous one."""
ASSUMED_ROWS = 20_000
"""What rules go by where the number of rows is private."""


@dataclass(frozen=True, eq=False)
class ReleaseTerms:
    """A workload over a schema, a budget, and what is public of the table."""

    workload: Workload
    epsilon: Real
    delta: Real = 0.0
    relation: Relation = Relation.SUBSTITUTION
    rows_per_person: int = 1
    total: int | None = None
    """The public number of rows, or what was stated in its place; None: it is private."""
    accountant: str = "best"
    memory: str | int = "4GB"

    def __post_init__(self) -> None:
        positive_float(epsilon=self.epsilon)
        delta_range(delta=self.delta)
        count(rows_per_person=self.rows_per_person)
        one_of(SIZINGS, accountant=self.accountant)

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
        """Whether there is no delta to use: noise has the Laplace law, and epsilons add up."""
        return self.exact_delta == 0 or self.accountant == "pure"

    @cached_property
    def exact_epsilon(self) -> Fraction:
        """epsilon as it was written."""
        return exact("epsilon", self.epsilon)

    @cached_property
    def exact_delta(self) -> Fraction:
        """delta as it was written."""
        return exact("delta", self.delta)

    @property
    def laws(self) -> tuple[str, ...]:
        """The laws of noise that are private enough, for one measurement of everything."""
        if self.pure:
            return ("laplace",)
        # At the same rho, Laplace noise has twice the variance, or more.
        return ("gaussian",) if self.accountant == "zcdp" else ("laplace", "gaussian")

    def squared_ratio(self, least_variance: Fraction) -> Fraction:
        """What Gaussian noise may have, if no variance is below this."""
        by = "zcdp" if self.accountant in ("zcdp", "summed") else "best"
        return _squared_ratio(self.exact_epsilon, self.exact_delta, least_variance, by)


@lru_cache(maxsize=256)
def _squared_ratio(epsilon: Fraction, delta: Fraction, least: Fraction, by: str) -> Fraction:
    if by == "zcdp":
        ratio_allowed = 2 * exact("rho", zcdp_rho(epsilon, delta))
    else:
        ratio = largest_squared_ratio(epsilon, delta, least_variance=least)
        ratio_allowed = exact("squared_ratio", ratio)
    if ratio_allowed <= 0:
        raise ParameterError(
            f"epsilon={float(epsilon):g} is too small for Gaussian noise of any size; raise it"
        )
    return ratio_allowed
