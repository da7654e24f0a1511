"""One driver of all enumerations: the laws of neighbours, how far they lie apart, and the result.

An audit brings the exact law of what is released, and the neighbours to look at. What is found is
held against what was charged, in the currency of the noise: epsilon for Laplace noise and for
choices, delta and rho for Gaussian noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.audit.neighbours import person_moves
from winnow.audit.noise import outcomes
from winnow.audit.numerics import NOTHING, Distance, distance
from winnow.audit.result import AuditResult
from winnow.core.relation import Relation
from winnow.privacy import Event, Promise, guarantee_of, pure_cost, zcdp_cost

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

DELTA = 1e-3
"""At which Gaussian noise is looked at."""
TOLERANCE = 1e-9
"""Relative; quadrature is good to 1e-13."""


class WithPromise(Protocol):
    """What an audit needs of a mechanism: without a name it is called by its class."""

    def promise(self, relation: Relation, /) -> Promise:
        """What it is charged."""


class Audited(WithPromise, Protocol):
    """What every mechanism says of itself."""

    @property
    def name(self) -> str:
        """What the receipt calls it."""


class Measuring(Audited, Protocol):
    """Rounds with Laplace noise, charged in epsilon, or with Gaussian noise, charged in rho."""

    @property
    def title(self) -> str:
        """What it is."""

    @property
    def measurement(self) -> str:
        """The kind of noise."""


def enumeration(
    claim: str,
    mechanism: WithPromise,
    relation: Relation | None,
    claimed: float,
    measured: float,
    searched: str,
    *,
    case: str = "",
    also: bool = True,
    tolerance: float = TOLERANCE,
) -> AuditResult:
    """What an enumeration found, against the claim; ``also`` says whether all else held.

    ``case`` stands behind the name of the mechanism. No relation: the charge is one for both.
    """
    return AuditResult(
        "enumeration",
        claim,
        (getattr(mechanism, "name", None) or type(mechanism).__name__) + case,
        "both" if relation is None else str(relation),
        mechanism.promise(relation or Relation.SUBSTITUTION).citation,
        claimed,
        measured,
        measured <= claimed * (1 + tolerance) and also,
        searched,
    )


def largest(
    claim: str,
    mechanism: WithPromise,
    relation: Relation | None,
    claimed: float,
    told: Iterable[float],
    searched: str = "over {} pairs of neighbours",
    *,
    case: str = "",
    tolerance: float = TOLERANCE,
) -> AuditResult:
    """One result: the largest of what the outputs of pairs of neighbours tell; they are counted."""
    found = list(told)
    worst, searched = max(found, default=0.0), searched.format(len(found))
    return enumeration(
        claim, mechanism, relation, claimed, worst, searched, case=case, tolerance=tolerance
    )


def listing(
    claim: str, mechanism: str, citation: str, wanted: int, missing: Sequence[str]
) -> AuditResult:
    """One result: whether all of so many are there that have to be."""
    detail = f"missing: {', '.join(missing)}" if missing else "none is missing"
    return AuditResult(
        "enumeration", claim, mechanism, "both", citation, wanted, wanted - len(missing),
        not missing, detail,
    )  # fmt: skip


@dataclass(frozen=True)
class NoiseCharge:
    """What noise of one law is charged: an epsilon, or a delta at an epsilon."""

    pure: bool
    epsilon: float

    @classmethod
    def of(cls, event: Event, law: str) -> NoiseCharge:
        """What an event claims of Laplace noise, or of Gaussian noise."""
        if law == "laplace":
            return cls(True, float(pure_cost(event).epsilon))
        return cls(False, guarantee_of(event, DELTA).epsilon)

    @property
    def claimed(self) -> float:
        """The number that is held against what was measured."""
        return self.epsilon if self.pure else DELTA

    def measured(self, worst: Distance) -> float:
        """The number that was measured."""
        return worst.epsilon if self.pure else worst.delta

    @property
    def text(self) -> str:
        """What is claimed, in words."""
        if self.pure:
            return "no output's log-probability moves by more than epsilon"
        return f"outputs are (epsilon, delta)-close at epsilon={self.epsilon:.4g}"


def farthest(pairs: Iterable[tuple[Floats, Floats]], epsilon: float) -> Distance:
    """The largest distance between the log-probabilities of two neighbours."""
    worst = NOTHING
    for p, q in pairs:
        worst = worst.or_larger(distance(p, q, epsilon))
    return worst


def of_moves(
    noises: list[Fraction], law: str, moves: Iterable[Iterable[Integers]]
) -> Iterator[tuple[Floats, Floats]]:
    """The log-probabilities of noisy numbers for each way in which one person moves them."""
    for moved in moves:
        yield outcomes(noises, law, list(moved))


def of_neighbours(
    law: Callable[[Integers], Floats], pairs: Iterable[tuple[Integers, ...]], kept: int
) -> Iterator[tuple[Floats, Floats]]:
    """The log-probabilities for both tables of each pair; those of the last tables are kept."""

    @lru_cache(maxsize=kept)
    def known(table: tuple[int, ...]) -> Floats:
        return law(np.array(table)).ravel()

    for one, other in pairs:
        yield known(tuple(one.tolist())), known(tuple(other.tolist()))


def enumerate_choices(
    claim: str,
    mechanism: Audited,
    law: Callable[[Integers], Floats],
    cells: int,
    relation: Relation,
    rows: int,
) -> AuditResult:
    """One result, in epsilon, over all tables of up to three rows and all moves of a person."""
    neighbour_pairs = [
        (table, table + by)
        for size in range(4)
        for places in combinations_with_replacement(range(cells), size)
        for table in [np.bincount(np.array(places, np.int64), minlength=cells)]
        for by in person_moves(cells, rows, relation)
        if by.any() and (table + by).min() >= 0
    ]
    compared = of_neighbours(law, neighbour_pairs, len(neighbour_pairs))
    return enumeration(
        claim,
        mechanism,
        relation,
        guarantee_of(mechanism.promise(relation).event).epsilon,
        max(float(np.abs(p - q).max()) for p, q in compared),
        f"over {len(neighbour_pairs)} pairs of neighbours",
        case=f", {rows} row{'s' if rows > 1 else ''} per person",
    )


def enumerate_measured(
    mechanism: Measuring,
    relation: Relation,
    where: str,
    pairs: Iterable[tuple[Floats, Floats]],
    searched: str,
) -> AuditResult:
    """One result: in epsilon for Laplace noise, in delta and rho for Gaussian noise.

    ``pairs`` are the log-probabilities of all outputs for two neighbours each.
    """
    event = mechanism.promise(relation).event
    claim = NoiseCharge.of(event, mechanism.measurement)
    rho = float(zcdp_cost(event).rho)
    worst = farthest(pairs, claim.epsilon)
    return enumeration(
        f"{mechanism.title}, {where}: between neighbours {claim.text}.",
        mechanism,
        relation,
        claim.claimed,
        claim.measured(worst),
        f"{searched}; rho {worst.rho:.4g} of {rho:.4g} charged",
        also=worst.rho <= rho * (1 + TOLERANCE),
    )
