"""Tables by sum of squares reach the published optimum of residual planning.

[ResidualPlanner, Table 3] states root mean squared errors at privacy cost 1 (a squared ratio of 1
under add/remove) for the columns of ADULT and of a lender's table.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import winnow as wn
from winnow.core.relation import Relation
from winnow.release.tables.choice import Strategy
from winnow.release.tables.errors import Spread, predicted
from winnow.release.tables.settings import tables_settings
from winnow.release.terms import ReleaseTerms

ADULT = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)
LOANS = (101, 101, 101, 101, 3, 8, 36, 6, 51, 4, 5, 15)


def planned(shape: tuple[int, ...], ways: int, objective: str) -> Strategy:
    """What is measured of all tables of so many columns."""
    schema = wn.Schema.parse({f"c{i}": size for i, size in enumerate(shape)})
    terms = ReleaseTerms(wn.marginals(ways).over(schema), 1.0, 1e-6, Relation.ADD_REMOVE)
    return tables_settings(terms, objective=objective).strategy


def at_cost_one(strategy: Strategy, error: float) -> float:
    """An error for noise of squared ratio 1."""
    return error * math.sqrt(strategy.mechanism.size(Relation.ADD_REMOVE))


@pytest.mark.parametrize(
    ("shape", "ways", "published"),
    [
        (ADULT, 1, 3.047),
        (ADULT, 2, 6.359),
        (ADULT, 3, 10.515),
        (LOANS, 1, 2.875),
        (LOANS, 2, 5.634),
        (LOANS, 3, 8.702),
    ],
)
def test_tables_by_sum_of_squares_reach_the_published_optimum(
    shape: tuple[int, ...], ways: int, published: float
) -> None:
    found = planned(shape, ways, "mean")
    assert at_cost_one(found, found.errors.rms) == pytest.approx(published, rel=1e-3)


@pytest.mark.parametrize(("shape", "ways"), [(ADULT, 2), (LOANS, 1)])
def test_the_largest_error_is_below_that_of_the_least_largest_variance(
    shape: tuple[int, ...], ways: int
) -> None:
    """The dual of the least largest variance, in closed form, certifies what is compared."""
    found = planned(shape, ways, "max")
    deviation = math.sqrt(least_largest_variance(shape, ways))
    sizes = [math.prod(each) for each in itertools.combinations(shape, ways)]
    spreads = [Spread(np.array([deviation]), size) for size in sizes]
    even = predicted(spreads, "gaussian").largest
    assert at_cost_one(found, found.errors.largest) < even
    assert found.errors.largest < planned(shape, ways, "balanced").errors.largest
    assert found.errors.rms < 1.25 * planned(shape, ways, "mean").errors.rms


def least_largest_variance(shape: tuple[int, ...], ways: int) -> float:
    """The maximum over weights of tables of the least weighted sum of cells' variances."""
    parts = list(itertools.combinations(range(len(shape)), ways))
    spaces: dict[tuple[int, ...], int] = {}
    energy = np.zeros((len(parts), sum(math.comb(len(shape), k) for k in range(ways + 1))))
    for row, part in enumerate(parts):
        for size in range(ways + 1):
            for space in itertools.combinations(part, size):
                place = spaces.setdefault(space, len(spaces))
                factors = (1 - 1 / shape[c] if c in space else shape[c] ** -2.0 for c in part)
                energy[row, place] = math.prod(factors)
    price = np.array([math.prod(1 - 1 / shape[c] for c in space) for space in spaces])
    weights = np.full(len(parts), 1 / len(parts))
    for _ in range(100):
        gains = weights @ energy
        whole = np.sqrt(gains * price).sum()
        variances = energy @ (whole * np.sqrt(price / gains))
        weights *= variances
        weights /= weights.sum()
    assert variances.max() < 1.01 * whole**2  # so this is the optimum
    return float(whole**2)
