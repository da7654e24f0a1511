"""Signed weights added up by cell, compiled: one pass over the rows for each set of columns."""

from __future__ import annotations

from winnow.core.kernels.compiled import compiled


def _add_by_cell(prefix, last, size, signed, cells):  # type: ignore[no-untyped-def]
    """cells[prefix * size + last] += signed, row by row, in whole numbers."""
    for i in range(len(signed)):
        cells[prefix[i] * size + last[i]] += signed[i]


add_by_cell = compiled(_add_by_cell)
