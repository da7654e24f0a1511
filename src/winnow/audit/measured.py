"""Audits of rounds that measure with noise: neighbours are told apart no more than was charged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.audit.numerics import NOTHING, distance
from winnow.audit.result import AuditResult
from winnow.core.relation import Relation
from winnow.privacy import Promise, guarantee_of, pure_cost, zcdp_cost

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

DELTA = 1e-3
"""At which Gaussian noise is looked at."""
_TOLERANCE = 1e-9


class Measuring(Protocol):
    """Rounds with Laplace noise, charged in epsilon, or with Gaussian noise, charged in rho."""

    @property
    def title(self) -> str:
        """What it is."""

    @property
    def name(self) -> str:
        """What the receipt calls it."""

    @property
    def measurement(self) -> str:
        """The kind of noise."""

    def promise(self, relation: Relation) -> Promise:
        """What it is charged."""


def of_neighbours(
    law: Callable[[Integers], Floats], pairs: Iterable[tuple[Integers, ...]], kept: int
) -> Iterator[tuple[Floats, Floats]]:
    """The log-probabilities for both tables of each pair; those of the last tables are kept."""

    @lru_cache(maxsize=kept)
    def known(table: tuple[int, ...]) -> Floats:
        return law(np.array(table)).ravel()

    for one, other in pairs:
        yield known(tuple(one.tolist())), known(tuple(other.tolist()))


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
    promised = mechanism.promise(relation)
    pure = mechanism.measurement == "laplace"
    claimed = (
        float(pure_cost(promised.event).epsilon)
        if pure
        else guarantee_of(promised.event, DELTA).epsilon
    )
    rho = float(zcdp_cost(promised.event).rho)
    worst = NOTHING
    for p, q in pairs:
        worst = worst.or_larger(distance(p, q, claimed))
    what = "no output's log-probability moves by more than epsilon" if pure else (
        f"outputs are (epsilon, delta)-close at epsilon={claimed:.4g}"
    )  # fmt: skip
    return AuditResult(
        "enumeration",
        f"{mechanism.title}, {where}: between neighbours {what}.",
        mechanism.name,
        str(relation),
        promised.citation,
        claimed if pure else DELTA,
        worst.epsilon if pure else worst.delta,
        worst.rho <= rho * (1 + _TOLERANCE)
        and (worst.epsilon <= claimed * (1 + _TOLERANCE) if pure else worst.delta <= DELTA),
        f"{searched}; rho {worst.rho:.4g} of {rho:.4g} charged",
    )
