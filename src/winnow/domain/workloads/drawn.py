"""``wn.random_queries``: public random queries over the flattened domain, for experiments."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from winnow.domain.checks import Real, exact, one_of
from winnow.domain.checks import count as check_count
from winnow.domain.schema import Schema
from winnow.domain.workloads.arrays import MOST_GRID, grid_type
from winnow.domain.workloads.bits import BitsPart, Words, pack, words_per_query
from winnow.domain.workloads.maker import Maker
from winnow.domain.workloads.part import Part
from winnow.domain.workloads.real import GridPart
from winnow.domain.workloads.stream import Stream, check_seed
from winnow.errors import InputError

_BLOCK = 1 << 22  # numbers drawn together
_DIGITS = 16


@dataclass(frozen=True)
class RandomQueries(Maker):
    """Random queries of one kind."""

    number: int
    kind: str
    density: Fraction
    grid: int
    draws: int
    seed: int

    advice = "ask for fewer queries, or name fewer columns"

    def size(self, schema: Schema) -> int:
        """As many as were asked for."""
        return self.number

    def own_memory(self, schema: Schema) -> int:
        """A bit for each cell of binary queries, else a small integer."""
        if self.kind == "real":
            return self.number * schema.cells * np.dtype(grid_type(self.grid)).itemsize
        return self.number * 8 * words_per_query(schema.cells)

    def parts(self, schema: Schema) -> tuple[Part, ...]:
        """One part, drawn a block of queries at a time."""
        stream = Stream(self.seed, f"random queries {self.kind}")
        if self.kind == "real":
            return (GridPart(schema, self._real(stream, schema.cells), self.grid),)
        draw = self._binary if self.kind == "binary" else self._gaussian
        return (BitsPart(schema, draw(stream, schema.cells)),)

    def _binary(self, stream: Stream, cells: int) -> Words:
        """Each bit is set with the chance 0.b1 b2 ... in binary, from as many random words."""
        scaled = round(self.density * 2**_DIGITS)
        digits = f"{scaled:0{_DIGITS}b}".rstrip("0")
        words = words_per_query(cells)
        bits = np.empty((self.number, words), np.uint64)
        for rows in _blocks(self.number, words):
            drawn = np.zeros((rows.stop - rows.start, words), np.uint64)
            for digit in reversed(digits):
                fresh = stream.take(drawn.size, np.uint64).reshape(drawn.shape)
                drawn = drawn | fresh if digit == "1" else drawn & fresh
            bits[rows] = drawn
        bits[:, -1] &= np.uint64(2**64 - 1) >> np.uint64(64 * words - cells)
        return bits

    def _real(self, stream: Stream, cells: int) -> NDArray[np.generic]:
        values = np.empty((self.number, cells), grid_type(self.grid))
        for rows in _blocks(self.number, cells):
            count = (rows.stop - rows.start) * cells
            if self.grid == 255:
                drawn = stream.take(count, np.uint8)
            else:
                words = stream.take(count, np.uint32).astype(np.uint64)
                drawn = (words * np.uint64(self.grid + 1)) >> np.uint64(32)
            values[rows] = drawn.reshape(-1, cells)
        return values

    def _gaussian(self, stream: Stream, cells: int) -> Words:
        """The cells hit by draws of N(U/2, U/5), by a table of 2^16 quantiles."""
        law = NormalDist(cells / 2, cells / 5)
        hit = np.array([law.inv_cdf((i + 0.5) / 2**16) for i in range(2**16)])
        hit = np.where((hit >= 0) & (hit < cells), np.floor(hit), cells)  # one spare cell
        places = hit.astype(np.uint32 if cells < 2**31 else np.int64)
        words = words_per_query(cells)
        bits = np.empty((self.number, words), np.uint64)
        for rows in _blocks(self.number, max(self.draws, cells)):
            count = rows.stop - rows.start
            drawn = places[stream.take(count * self.draws, np.uint16)].reshape(count, self.draws)
            drawn += np.arange(count, dtype=drawn.dtype)[:, None] * drawn.dtype.type(cells + 1)
            inside = np.zeros(count * (cells + 1), np.bool_)
            inside[drawn] = True
            bits[rows] = pack(inside.reshape(count, cells + 1)[:, :cells])
        return bits


def random_queries(
    m: int,
    *,
    kind: str = "binary",
    density: Real | None = None,
    grid: int | None = None,
    draws: int | None = None,
    seed: int = 0,
) -> RandomQueries:
    """``m`` random queries over all cells, repeatable by the public ``seed``.

    'binary': every cell is inside with the chance ``density`` (1/2; to 16 binary digits).
    'real': every value is one of 0, 1/grid, ..., 1 alike (``grid`` 255).
    'gaussian': a binary query whose support is ``draws`` (600) draws of N(U/2, U/5), U being
    the number of cells; draws outside are lost and repeated ones count once. This is the
    synthetic workload of [FastMWEM, Section 5.1].
    """
    check_count(m=m)
    one_of(("binary", "real", "gaussian"), kind=kind)
    wrong = {"binary": (grid, draws), "real": (density, draws), "gaussian": (density, grid)}[kind]
    if any(option is not None for option in wrong):
        raise InputError(
            "density= is for kind='binary', grid= for 'real' and draws= for 'gaussian'; leave "
            "the others out"
        )
    chance = Fraction(1, 2) if density is None else exact("density", density)
    if not 0 < round(chance * 2**_DIGITS) < 2**_DIGITS:
        raise InputError(f"density={density} is not inside (0, 1); give a chance like 0.1")
    steps = 255 if grid is None else grid
    points = 600 if draws is None else draws
    check_count(grid=steps, draws=points)
    if int(steps) > MOST_GRID:
        raise InputError(f"grid={grid} is too fine; give at most {MOST_GRID}")
    return RandomQueries(int(m), kind, chance, int(steps), int(points), check_seed(seed))


def _blocks(rows: int, width: int) -> list[slice]:
    step = max(1, _BLOCK // width)
    return [slice(first, min(rows, first + step)) for first in range(0, rows, step)]
