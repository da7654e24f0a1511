"""Made-up tables, and what is measured of them."""

from __future__ import annotations

import numpy as np

import winnow as wn
from reference.inside import Rows, Sealed, SealedTable
from winnow import Relation


def sealed(
    shape: tuple[int, ...],
    histogram: np.ndarray,
    relation: str = "substitution",
    rows_per_person: int = 1,
) -> SealedTable:
    """A sealed table whose cells, in C order, have these counts."""
    schema = wn.Schema.parse({f"c{i}": size for i, size in enumerate(shape)})
    cells = np.flatnonzero(histogram)
    codes = tuple(each.astype(np.int32) for each in np.unravel_index(cells, shape))
    rows = Rows(codes, np.asarray(histogram).ravel()[cells].astype(np.int64))
    return SealedTable(schema, Sealed(rows, "made-up rows"), rows_per_person, Relation(relation))


def people(shape: tuple[int, ...], rows: int = 3_000, seed: int = 5) -> np.ndarray:
    """Counts of a skewed made-up population."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(int(np.prod(shape)), 0.3))
    return rng.multinomial(rows, weights)
