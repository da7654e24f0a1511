"""A distribution for each group of columns that released tables join."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from winnow.fit.tables import FitQuality, together
from winnow.release.factors import Factor
from winnow.release.rising import monotone
from winnow.release.tables.estimates import Layer
from winnow.release.tables.parts import TablePart
from winnow.release.tables.split import components
from winnow.release.tables.white import fit_layer
from winnow.release.terms import ReleaseTerms

Columns = tuple[int, ...]


def fitted_factors(
    layer: Layer, request: ReleaseTerms, rows: int
) -> tuple[tuple[Factor, ...], FitQuality | None]:
    """A distribution for each group of columns that tables join, and how well it fits.

    Columns that no table has are uniform.
    """
    shape = request.schema.shape
    joined = components(part.columns for part in layer.geometry.parts)
    factors, qualities = [], []
    for columns in joined:
        sizes = tuple(shape[c] for c in columns)
        alone = TablePart(request.schema, columns)
        if is_rising(layer, alone):
            weights = monotone(np.cumsum(layer.cells(alone)), rows)
        else:
            fitted, _ = fit_layer(layer, request.schema, columns, rows)
            weights = fitted.model.marginal(range(len(columns))).reshape(-1)
            qualities.append(fitted.quality)
        factors.append(Factor(columns, sizes, weights))
    return (*factors, *uniform_factors(shape, joined)), together(qualities)


def is_rising(layer: Layer, part: TablePart) -> bool:
    """Whether only prefixes and ranges are asked of the one column of a part, and by itself."""
    asked = [each for each in layer.geometry.parts if set(each.columns) & set(part.columns)]
    return all(len(each.columns) == 1 and not each.of_cells for each in asked)


def uniform_factors(shape: tuple[int, ...], joined: Sequence[Columns]) -> list[Factor]:
    """Of the columns that nothing was measured of."""
    seen = {column for columns in joined for column in columns}
    return [
        Factor((c,), (size,), np.full(size, 1.0 / size))
        for c, size in enumerate(shape)
        if c not in seen
    ]
