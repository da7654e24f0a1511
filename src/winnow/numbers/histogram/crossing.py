"""Which bin each row is in: sealed again, so that the draw of a table of counts opens it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.schema import Schema
from winnow.numbers.histogram.bins import Bins
from winnow.read.crossing import Rows, SealedTable
from winnow.read.kept import KeptRows

Placed = tuple[int, Bins | None]
"""A column of a table, and the bins of its codes; None: it stays as it is."""


def binned(table: SealedTable, columns: Sequence[Placed], schema: Schema) -> SealedTable:
    """Some columns of a table, those of numbers as bins.

    A row stays a row of the same person, so neighbours stay neighbours.
    """

    def placed(content: Rows | KeptRows) -> Rows | KeptRows:
        if isinstance(content, KeptRows):
            return _BinnedRows(content, columns)
        codes, weights = content
        return Rows(tuple(_coded(codes[place], bins) for place, bins in columns), weights)

    return replace(table, schema=schema, rows=table.rows.map(placed, "rows"))


def _coded(codes: NDArray[Any], bins: Bins | None) -> NDArray[np.int32]:
    return codes if bins is None else bins.places(codes).astype(np.int32)


class _BinnedRows(KeptRows):
    """Some columns of a table in an engine, which sends the numbers of those that are asked for."""

    def __init__(self, whole: KeptRows, columns: Sequence[Placed]) -> None:
        self._whole, self._columns = whole, tuple(columns)

    def tables(self, sets: Sequence[tuple[int, ...]]) -> list[tuple[tuple[Any, ...], Any]]:
        """Those of the whole table, with numbers as bins."""
        places = [sorted({self._columns[i][0] for i in each}) for each in sets]
        counts = self._whole.tables([tuple(each) for each in places])
        return [
            (
                tuple(
                    _coded(codes[set_there.index(self._columns[i][0])], self._columns[i][1])
                    for i in each
                ),
                weights,
            )
            for each, set_there, (codes, weights) in zip(sets, places, counts, strict=True)
        ]
