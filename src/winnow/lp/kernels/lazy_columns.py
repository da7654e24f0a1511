"""The exponential mechanism over columns whose scores drift, without scoring all columns.

[FastMWEM, Theorem B.6: the lazy oracle over the columns N_j]. Column j has the exponent
x_j = rate s_j, s_j = the score -scale_j sum_i y_i A_ij rounded to the grid. A scan at some y'
scores all columns and leaves certified bounds x_j <= b_j ln 2. Later y has moved by d = y - y', and
a score rose by at most

    scale_j (high_j * the n_j most negative d_i, summed, + low_j * the n_j most positive ones)

and by at most scale_j ||A_j|| ||d||, where column j has n_j entries between -low_j and high_j: the
clock of a few classes of columns that are alike in this respect. A column is proposed with
probability ~ 2^(b_j + clock of its class), by integers; it is scored; it is accepted with
probability exp(x_j - bound ln 2), decided exactly. What is accepted has the law ~ exp(x_j),
whatever the bounds are (``envelope`` has the proof). When proposals have cost as much as a
scan, there is a scan.

How many columns were looked at depends on private data and never leaves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.noisy_top.proposals import exact_acceptance
from winnow.core.tape import Tape
from winnow.errors import InternalError
from winnow.lp.kernels.owned_rows import SUM_ERROR, SparseRows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_LN2 = 0.6931471805599453
_UP = 1.0 + 2.0**-20
"""More than the rounding of sums and products of bounds."""
_CLASSES = 8
_DEPTH = 20
"""Weights are kept down to 2^-20 of the largest of their class, and classes down to 2^-20 of the
largest class; what is lower is raised to that. So all weights together stay below 2^62."""
MOST_COLUMNS = 1 << 21
"""More of them could take the weights beyond that."""
_BATCH, _LARGEST_BATCH = 16, 1024
_PROPOSAL, _COLUMN, _SINGLE = 2000, 40, 6
"""What a proposal, and a column in a scan, cost beside their entries, and what an entry costs that
is read singly: in entries of a scan."""


@dataclass(repr=False)
class _Class:
    """Columns with alike clocks, and the weights that a scan gave them."""

    columns: Integers
    entries: int
    high: float
    low: float
    length: float
    top: int = 0
    """The largest b_j."""
    bounds: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    """b_j, raised where it is far below the largest."""
    cumulated: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    clock: int = 0
    """How far scores may have risen since the scan, as a power of two."""

    def weigh(self, bounds: Integers) -> None:
        """Take in the bounds of a scan."""
        self.top = int(bounds.max())
        self.bounds = np.maximum(bounds, self.top - _DEPTH)
        self.cumulated = np.cumsum(np.int64(1) << (self.bounds - (self.top - _DEPTH)))
        self.clock = 0


@dataclass(repr=False)
class _Cursor:
    """The first item of a tape that was not read."""

    tape: Tape
    first: int = 0


class LazyColumns:
    """Private state of draws over one matrix. ``rate`` is the exponent of one step of the grid."""

    def __init__(self, rows: SparseRows, scale: Floats, rate: Fraction, grid: float) -> None:
        self._rows, self._scale, self._rate, self._grid = rows, scale, rate, grid
        self._per_step = float(rate) / _LN2
        entries, high, low, length = rows.shapes()
        self._largest = float((scale * np.maximum(high, low)).max())
        order = np.argsort(scale * length, kind="stable")
        self._classes = [
            _Class(
                part,
                int(entries[part].max()),
                float((scale * high)[part].max()),
                float((scale * low)[part].max()),
                float((scale * length)[part].max()),
            )
            for part in np.array_split(order, min(_CLASSES, len(order)))
        ]
        self._reference: Floats | None = None
        self._entries = entries
        self._most = int(entries.sum()) + _COLUMN * rows.size + 2 * _BATCH * _PROPOSAL
        self._spent = 0
        self.scored = 0
        """For benchmarks: single columns that were scored; it depends on private data."""
        self.scans = 0

    def draw(self, y: Floats, tape: Tape) -> int:
        """A column with probability ~ exp(rate s_j); y are the weights of the rows."""
        proposals, uniforms = _Cursor(tape.child("proposals")), tape.child("acceptance")
        if self._reference is None or self._spent >= self._most:
            self._scan(y)
        else:
            self._advance(y)
        item, batch = 0, _BATCH
        while True:
            if item and self._spent >= self._most:
                self._scan(y)
            ids, bounds = self._proposed(batch, proposals)
            scores = np.rint(-self._rows.sums(y, ids) * self._scale[ids] * self._grid)
            self._spent += batch * _PROPOSAL + _SINGLE * int(self._entries[ids].sum())
            self.scored += batch
            accepted = self._accepted(scores.astype(np.int64), bounds, uniforms, item)
            if accepted is not None:
                return int(ids[accepted])
            item += batch
            batch = min(2 * batch, _LARGEST_BATCH)

    def _scan(self, y: Floats) -> None:
        steps = -self._rows.sums(y) * self._scale * self._grid
        # one step covers both roundings to the grid; sums are off by SUM_ERROR now and later
        slack = 1.0 + 4.0 * SUM_ERROR * self._largest * self._grid
        raised = (steps + slack) * self._per_step
        bounds = np.ceil(raised + np.abs(raised) * 2.0**-40).astype(np.int64)
        for part in self._classes:
            part.weigh(bounds[part.columns])
        self._reference = y
        self._spent = 0
        self.scans += 1

    def _advance(self, y: Floats) -> None:
        """Set the clocks by how far y is away from where the scan was."""
        assert self._reference is not None
        moved = y - self._reference
        length = math.sqrt(float(np.square(moved).sum())) * _UP
        moved.sort()
        falls = np.cumsum(np.maximum(-moved, 0.0)) * _UP
        rises = np.cumsum(np.maximum(moved[::-1], 0.0)) * _UP
        for part in self._classes:
            last = min(part.entries, len(moved)) - 1
            if last < 0:
                continue  # columns of zeros do not move
            rise = min(part.high * falls[last] + part.low * rises[last], part.length * length)
            part.clock = math.ceil(rise * _UP * self._grid * self._per_step)

    def _proposed(self, count: int, words: _Cursor) -> tuple[Integers, Integers]:
        """Columns in proportion to 2^bound, one after another, and these bounds."""
        exponents = [part.top + part.clock for part in self._classes]
        least = max(exponents) - _DEPTH
        shifts = [max(0, exponent - least) for exponent in exponents]
        weights = [
            int(part.cumulated[-1]) << shift
            for part, shift in zip(self._classes, shifts, strict=True)
        ]
        ends = np.cumsum(np.array(weights, np.int64))
        targets = uniform_below(int(ends[-1]), count, words)
        kinds = np.searchsorted(ends, targets, side="right")
        ids, bounds = np.empty(count, np.int64), np.empty(count, np.int64)
        for kind, (part, shift) in enumerate(zip(self._classes, shifts, strict=True)):
            mine = np.flatnonzero(kinds == kind)
            inside = (targets[mine] - (int(ends[kind]) - weights[kind])) >> shift
            places = np.searchsorted(part.cumulated, inside, side="right")
            ids[mine] = part.columns[places]
            # a class below the least exponent is raised to it
            bounds[mine] = part.bounds[places] + max(part.clock, least - part.top)
        return ids, bounds

    def _accepted(
        self, scores: Integers, bounds: Integers, uniforms: Tape, first: int
    ) -> int | None:
        """The first place where V <= exp(rate score - bound ln 2), V uniform from a tape item."""
        exponents, shifts = float(self._rate) * scores, bounds * _LN2
        gaps = exponents - shifts
        margins = 2.0**-48 * (np.abs(exponents) + np.abs(shifts) + 1.0)
        if (gaps > 4.0 * margins).any():
            raise InternalError("a certified bound was exceeded; please report this defect")
        words = uniforms.words(first, len(scores)).astype(np.float64)
        chances = np.exp(np.minimum(gaps, 1.0)) * 2.0**32
        errors = chances * (2.0 * margins + 2.0**-40) + 2.0**-20
        unclear = margins > 2.0**-10
        possible = unclear | (words < chances + errors)
        sure = ~unclear & (words + 1.0 <= chances - errors)
        for place in np.flatnonzero(possible).tolist():
            exponent = self._rate * int(scores[place])
            if sure[place] or exact_acceptance(
                uniforms, first + place, exponent, int(bounds[place])
            ):
                return int(place)
        return None


def uniform_below(bound: int, count: int, words: _Cursor) -> Integers:
    """Uniform whole numbers below `bound` <= 2^62, by rejection of 64-bit words cut to its bits."""
    mask = np.uint64((1 << (bound - 1).bit_length()) - 1)
    drawn = np.empty(0, np.int64)
    while len(drawn) < count:
        wanted = 2 * (2 * (count - len(drawn)) + 8)
        read = words.tape.words(words.first, wanted).astype(np.uint64)
        words.first += wanted
        values = ((read[::2] << np.uint64(32)) | read[1::2]) & mask
        drawn = np.concatenate([drawn, values[values < np.uint64(bound)].astype(np.int64)])
    return drawn[:count]
