"""What to expect of every quantile, from public numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow.core.relation import Relation
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


def expected_of(mechanism: HalvingQuantiles, relation: Relation) -> tuple[QuantileRow, ...]:
    """One row for each quantile, in ascending order.

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
