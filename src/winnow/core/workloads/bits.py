"""Arbitrary binary queries over the flattened domain, one bit for each cell."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.schema import Schema
from winnow.core.workloads.forms import BitMatrix, Words
from winnow.core.workloads.part import (
    ArraysPart,
    Codes,
    Counts,
    Floats,
    cell_counts,
    check_cells,
    check_query,
)
from winnow.errors import ParameterError

_LITTLE = sys.byteorder == "little"
_BLOCK = 1 << 21  # bytes of queries looked at together: they stay in the cache


def words_per_query(cells: int) -> int:
    """How many 64-bit words hold one bit for each cell."""
    return -(-cells // 64)


LARGEST_COPY = 1 << 29
"""Up to so many bytes, a release that follows all queries lays their bits across as well."""


def bits_memory(queries: int, cells: int) -> int:
    """The bytes of the bits of some queries, and of their second copy."""
    own = queries * 8 * words_per_query(cells)
    return own if own > LARGEST_COPY else 2 * own


@dataclass(frozen=True, eq=False)
class BitsPart(ArraysPart):
    """Query j holds cell x when bit x % 64 of the word bits[j, x // 64] is set."""

    schema: Schema
    bits: Words
    name: str = "query"

    grid = 1

    def __post_init__(self) -> None:
        bits, words = self.bits, words_per_query(self.schema.cells)
        if bits.dtype != np.uint64 or bits.ndim != 2 or bits.shape[1] != words or not len(bits):
            raise ParameterError(
                f"bits of {self.schema.cells:,} cells are a uint64 array with {words:,} columns "
                "and one row for each query"
            )
        spare = 64 * words - self.schema.cells
        if spare and (bits[:, -1] >> np.uint64(64 - spare)).any():
            raise ParameterError("a bit beyond the last cell is set; clear it")
        object.__setattr__(self, "bits", np.ascontiguousarray(bits))

    @property
    def size(self) -> int:
        """How many queries there are."""
        return len(self.bits)

    def answers(self, p: Floats) -> Floats:
        """Sums of p over each query's cells."""
        return self._sums(check_cells(p, self.schema))

    def counts(self, codes: Codes, weights: Counts) -> Counts:
        """Sums of the histogram over each query's cells, in whole numbers."""
        return self._sums(cell_counts(codes, weights, self.schema))

    def _sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """Eight cells at a time: a table of the sums of the 256 subsets of each eight."""
        octets = self.bits.view(np.uint8) if _LITTLE else self.bits.byteswap().view(np.uint8)
        width = octets.shape[1]
        padded = np.zeros(8 * width, values.dtype)
        padded[: values.size] = values
        used = np.flatnonzero(padded.reshape(width, 8).any(axis=1))
        tables = _subset_sums(padded.reshape(width, 8)[used])
        sums = np.zeros(self.size, values.dtype)
        rows = max(1, _BLOCK // width)
        for first in range(0, self.size, rows):
            block = np.ascontiguousarray(octets[first : first + rows].T[used])
            part = sums[first : first + rows]
            for table, places in zip(tables, block, strict=True):
                part += table[places]
        return sums

    def row(self, query: int) -> Floats:
        """The bits of one query as zeros and ones."""
        words = self.bits[check_query(query, self.size)]
        octets = (words if _LITTLE else words.byteswap()).view(np.uint8)
        inside = np.unpackbits(octets, bitorder="little", count=self.schema.cells)
        return inside.astype(np.float64)

    def memory(self) -> int:
        """The bytes of the bits, and of their second copy."""
        return bits_memory(self.size, self.schema.cells)

    @cached_property
    def form(self) -> BitMatrix:
        """Written out over the cells."""
        return BitMatrix(self.bits)


def _subset_sums(octets: NDArray[Any]) -> NDArray[Any]:
    """For each eight values the sums of their 256 subsets, by the bits of the subset."""
    tables = np.zeros((len(octets), 256), octets.dtype)
    for bit in range(8):
        half = 1 << bit
        tables[:, half : 2 * half] = tables[:, :half] + octets[:, bit : bit + 1]
    return tables


def pack(inside: NDArray[Any]) -> Words:
    """Rows of zeros and ones over the cells, packed into 64-bit words."""
    rows, cells = inside.shape
    octets = np.zeros((rows, 8 * words_per_query(cells)), np.uint8)
    packed = np.packbits(inside, axis=1, bitorder="little")
    octets[:, : packed.shape[1]] = packed
    words = octets.view(np.uint64)
    return words if _LITTLE else words.byteswap()
