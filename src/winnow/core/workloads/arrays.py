"""``wn.random_queries``: public random queries over the flattened domain, for experiments."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, exact, one_of
from winnow.core.checks import count as check_count
from winnow.core.schema import Schema
from winnow.core.workloads.bits import BitsPart, bits_memory, pack, words_per_query
from winnow.core.workloads.forms import Words
from winnow.core.workloads.part import Part
from winnow.core.workloads.real import GridPart
from winnow.core.workloads.workload import Maker
from winnow.errors import ParameterError
from winnow.foreign import instead, shown


class Stream:
    """The bytes of one seed and purpose, from the beginning."""

    def __init__(self, seed: int, purpose: str) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._seed = check_seed(seed)
        key = hashlib.blake2b(b"%d" % self._seed, person=b"winnow-workload", digest_size=48)
        key.update(purpose.encode())
        secret = key.digest()
        self._cipher = Cipher(algorithms.AES256(secret[:32]), modes.CTR(secret[32:])).encryptor()

    def take(self, count: int, kind: Any) -> NDArray[Any]:
        """The next ``count`` little-endian unsigned integers of a type."""
        wanted = np.dtype(kind).newbyteorder("<")
        taken = bytearray(count * wanted.itemsize)
        self._cipher.update_into(bytes(len(taken)), _room(taken))
        return np.frombuffer(taken, wanted, count).astype(kind, copy=False)

    def below(self, bound: int, count: int) -> NDArray[np.int64]:
        """``count`` whole numbers 0 .. bound-1, each as likely but for 2^-32 or less."""
        if bound >= 2**31:
            raise ParameterError(f"{bound} choices are too many; give fewer than 2^31")
        words = self.take(count, np.uint64) >> np.uint64(1)
        return (words % np.uint64(bound)).astype(np.int64)

    def choose(self, total: int, count: int) -> list[int]:
        """``count`` different numbers of 0 .. total-1, in increasing order."""
        if total <= 1 << 20:
            keys = self.take(total, np.uint64)
            return sorted(np.argsort(keys, kind="stable")[:count].tolist())
        chosen: set[int] = set()
        while len(chosen) < count:
            wide = int.from_bytes(self.take(32, np.uint8).tobytes(), "little")
            chosen.add(wide % total)
        return sorted(chosen)


def _room(taken: bytearray) -> memoryview:
    return memoryview(taken)


def check_seed(seed: object) -> int:
    """A seed: a whole number."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise ParameterError(f"seed={shown(seed)} is not an integer; give an integer")
    return int(seed)


MOST_GRID = 2**31 - 1
_BLOCK = 1 << 21  # values looked at together


@dataclass(frozen=True, eq=False)
class ArrayQueries(Maker):
    """Rows of an array as queries."""

    array: NDArray[Any]
    grid: int
    bound: Fraction | None
    units: bool

    advice = "give fewer queries or fewer cells"

    @property
    def part_grid(self) -> int:
        """The grid on [0, 1]: values in [-c, c] need twice as many steps."""
        return self.grid if self.bound is None else 2 * self.grid

    def size(self, schema: Schema) -> int:
        """One query for each row."""
        return len(self.array)

    def own_memory(self, schema: Schema) -> int:
        """A bit for each cell of binary queries, else a small integer."""
        cells = int(self.array.shape[1])
        if self.part_grid == 1:
            return bits_memory(len(self.array), cells)
        return len(self.array) * cells * np.dtype(grid_type(self.part_grid)).itemsize

    def parts(self, schema: Schema) -> tuple[Part, ...]:
        """One part, checked value by value."""
        if self.array.shape[1] != schema.cells:
            raise ParameterError(
                f"the queries have {self.array.shape[1]:,} values each for the "
                f"{schema.cells:,} cells of the schema; give one value for each cell"
            )
        rows = max(1, _BLOCK // schema.cells)
        starts = range(0, len(self.array), rows)
        blocks = (self._units(self.array[first : first + rows]) for first in starts)
        if self.part_grid == 1:
            bits = np.empty((len(self.array), words_per_query(schema.cells)), np.uint64)
            for first, block in zip(starts, blocks, strict=True):
                bits[first : first + rows] = pack(block.astype(np.bool_))
            return (BitsPart(schema, bits),)
        values = np.empty(self.array.shape, grid_type(self.part_grid))
        for first, block in zip(starts, blocks, strict=True):
            values[first : first + rows] = block
        return (GridPart(schema, values, self.part_grid, self.bound),)

    def _units(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Values as whole grid units of [0, 1], or an error where one is off the grid."""
        low, high = (0, 1) if self.bound is None else (-self.bound, self.bound)
        if self.units:
            steps = values.astype(np.int64)
        else:
            step = (Fraction(1) if self.bound is None else self.bound) / self.grid
            numbers = values.astype(np.float64)
            with np.errstate(invalid="ignore", over="ignore"):
                steps = np.rint(numbers * step.denominator / step.numerator).astype(np.int64)
            if not (steps * step.numerator / step.denominator == numbers).all():
                raise ParameterError(
                    f"a value of the queries is not a multiple of {step}; round the values to the "
                    "grid, or declare a finer one with grid="
                )
        lowest = 0 if self.bound is None else -self.grid
        if steps.size and not (lowest <= int(steps.min()) and int(steps.max()) <= self.grid):
            raise ParameterError(
                f"a value of the queries is outside [{low}, {high}]; rescale them, or declare "
                "bound=c for values in [-c, c]"
            )
        return steps - lowest


def queries(
    array: Any, *, grid: int = 1, bound: Real | None = None, units: bool = False
) -> ArrayQueries:
    """Queries from a 2-d array: one row for each query, one value for each cell in C order.

    Values lie in [0, 1] and are multiples of 1/``grid`` (a float counts as the fraction that
    it is nearest to); grid=1 means zeros and ones. With ``bound=c`` they lie in [-c, c], are
    multiples of c/``grid``, and are brought to [0, 1] by (q + c) / (2c). ``units=True`` says
    that the array holds whole numbers of those steps already.
    """
    check_count(grid=grid)
    limit = None if bound is None else exact("bound", bound)
    if limit is not None and limit <= 0:
        raise ParameterError(f"bound={bound} is not positive; give c for values in [-c, c]")
    if int(grid) > MOST_GRID // 2:
        raise ParameterError(f"grid={grid} is too fine; give at most {MOST_GRID // 2}")
    if limit is not None and max(limit.numerator, limit.denominator * int(grid)) > 2**53:
        raise ParameterError(f"bound={bound} has too many digits for grid={grid}; give fewer")
    with instead(
        ParameterError("the queries are not an array of numbers; give rows alike"),
        TypeError,
        ValueError,
    ):
        values = np.array(array)
    if values.ndim != 2 or values.dtype.kind not in "buif" or not values.size:
        raise ParameterError(
            "the queries are not a 2-d array of numbers; give one row for each query"
        )
    if values.dtype.itemsize > 8 or (values.dtype.kind == "f" and not np.isfinite(values).all()):
        raise ParameterError("a value of the queries is not a finite number of 64 bits; correct it")
    if not isinstance(units, bool) or (units and values.dtype.kind not in "iu"):
        raise ParameterError("units=True needs an array of whole numbers")
    return ArrayQueries(values, int(grid), limit, units)


def grid_type(grid: int) -> type[np.generic]:
    """The smallest integers that hold 0 .. grid."""
    return np.uint8 if grid <= 255 else np.uint16 if grid <= 65535 else np.int32


_DRAWN_BLOCK = 1 << 22  # numbers drawn together
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
        """How many queries were asked for."""
        return self.number

    def own_memory(self, schema: Schema) -> int:
        """A bit for each cell of binary queries, else a small integer."""
        if self.kind == "real":
            return self.number * schema.cells * np.dtype(grid_type(self.grid)).itemsize
        return bits_memory(self.number, schema.cells)

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
        raise ParameterError(
            "density= is for kind='binary', grid= for 'real' and draws= for 'gaussian'; leave "
            "the others out"
        )
    chance = Fraction(1, 2) if density is None else exact("density", density)
    if not 0 < round(chance * 2**_DIGITS) < 2**_DIGITS:
        raise ParameterError(f"density={density} is not inside (0, 1); give a chance like 0.1")
    steps = 255 if grid is None else grid
    points = 600 if draws is None else draws
    check_count(grid=steps, draws=points)
    if int(steps) > MOST_GRID:
        raise ParameterError(f"grid={grid} is too fine; give at most {MOST_GRID}")
    return RandomQueries(int(m), kind, chance, int(steps), int(points), check_seed(seed))


def _blocks(rows: int, width: int) -> list[slice]:
    step = max(1, _DRAWN_BLOCK // width)
    return [slice(first, min(rows, first + step)) for first in range(0, rows, step)]
