"""What to expect of every quantile, from public numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow.core.relation import Relation
from winnow.numbers.cumulative import CumulativeQuantiles
from winnow.numbers.joint import JointQuantiles
from winnow.numbers.mechanism import PARTS, HalvingQuantiles, loss_passed
from winnow.numbers.tree import Node

MISSED = 0.05
"""Of the bound that a plan shows."""


@dataclass(frozen=True)
class QuantileRow:
    """How far a released quantile is from the true one, in rows between them."""

    quantile: float
    rank_error: float
    """The root mean square where rows lie close together, on no large gaps and few ties."""
    bound: float
    """All quantiles of a group are within theirs with probability 0.95, whatever the rows are."""


def expected_of(
    mechanism: HalvingQuantiles | JointQuantiles | CumulativeQuantiles, relation: Relation
) -> tuple[QuantileRow, ...]:
    """One row for each quantile, in ascending order."""
    match mechanism:
        case HalvingQuantiles():
            return _of_halving(mechanism, relation)
        case JointQuantiles():
            return _of_joint(mechanism, relation)
        case CumulativeQuantiles():
            return _of_cumulative(mechanism)


def _of_halving(mechanism: HalvingQuantiles, relation: Relation) -> tuple[QuantileRow, ...]:
    """
    A quantile of the rows between two others is off by its own error and by a mean of theirs,
    weighted by how near they are. Where rows lie close together its own error is Laplace noise
    of scale 1/rate.
    """
    tree = mechanism.tree
    size = len(tree.parts)
    own, reach = np.zeros(size), np.zeros(size)
    coefficients = np.zeros((size + 2, size))
    bounds = np.zeros(size + 2)

    def add(node: Node, before: int, after: int) -> None:
        points = mechanism.size if node.leaf else mechanism.size * PARTS
        target = mechanism.target(node, relation, points, low_end=False)
        share, place = float(node.share), node.place
        own[place] = math.sqrt(2) / float(target.rate)
        reach[place] = loss_passed(points, target.rate, MISSED / size)
        coefficients[place] = (1 - share) * coefficients[before] + share * coefficients[after]
        coefficients[place, place] = 1
        bounds[place] = reach[place] + (1 - share) * bounds[before] + share * bounds[after]
        if node.before is not None:
            add(node.before, before, place)
        if node.after is not None:
            add(node.after, place, after)

    add(tree.root, size, size + 1)
    errors: NDArray[np.float64] = np.sqrt((coefficients[:size] ** 2) @ own**2)
    return tuple(
        QuantileRow(part / tree.whole, float(error), float(bound))
        for part, error, bound in zip(tree.parts, errors, bounds[:size], strict=True)
    )


def _of_joint(mechanism: JointQuantiles, relation: Relation) -> tuple[QuantileRow, ...]:
    """Where rows lie close together the errors are a random walk of N = m + 1 Laplace steps.

    It returns to 0, and a point between two rows is off by half a row. By Parseval the j-th error
    has the variance 2 j (N - j) (N - 1/2)/(N (N + 1)) in squared steps. A list's loss passes R with
    probability at most C(size + m - 1, m) e^(-rate R) beyond the least loss, which is m rows at
    most; and it is twice each error at least.
    """
    rate = float(mechanism.target(relation).rate)
    parts, steps = mechanism.parts, len(mechanism.parts) + 1
    points, many = mechanism.size * PARTS, len(parts)
    lists = math.lgamma(points + many) - math.lgamma(points) - math.lgamma(steps)
    bound = (many + (lists - math.log(MISSED)) / rate) / 2
    each = 2 * (steps - 0.5) / (steps * (steps + 1))
    return tuple(
        QuantileRow(
            part / mechanism.whole, math.sqrt(each * j * (steps - j) / rate**2 + 0.25), bound
        )
        for j, part in enumerate(parts, start=1)
    )


def _of_cumulative(mechanism: CumulativeQuantiles) -> tuple[QuantileRow, ...]:
    """Each is off by the noise of the rows up to it, and up to the last number.

    A sum of Laplace or Gaussian noise with standard error s passes s t with probability at most
    4.4 e^-t: by Chernoff's bound at 1/s.
    """
    strategy = mechanism.prefixes.taken
    assert strategy.rms is not None and strategy.largest is not None
    bound = 2 * strategy.largest * math.log(4.4 * mechanism.size / MISSED)
    return tuple(
        QuantileRow(part / mechanism.whole, strategy.rms, bound) for part in mechanism.parts
    )
