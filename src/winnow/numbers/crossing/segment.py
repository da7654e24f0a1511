"""The rows between two points of a grid, and one private quantile of them, drawn exactly.

Points a .. b - 1 are candidates. Of n rows B lie below a point g, T at it, A above it; t is the
target, the rank share n + shift. The loss of g is how many rows lie between g and that rank:

    loss(g) = max(0, B - t, t - (B + T))

and 0 on the point that holds it: a whole number once it is multiplied by the denominator of the
share.

Sensitivity, with q the share and P = max(q, 1-q).
- A row more, wherever it lies. With n = B + T + A, B - t = (1-q)B - q(A+T) - shift moves by
  -q or 1-q, and t - (B+T) = qA - (1-q)(B+T) + shift by q or -(1-q). So the loss moves by at most P.
- A row replaced inside the segment: n stays, B and B+T move by at most 1, and so does the loss.
- A row that leaves this segment and enters another moves the losses of both by at most P.
A shift is a public number and moves nothing.

Only some W = (ln(points) + 45)/rate rows on each side of the target can matter. All points beyond
these are one class, whose loss is W at least: a member of it is drawn with its own loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.borders import Border
from winnow.core.exponential_choice import Member, exponential_choice
from winnow.core.tape import Tape

Integers = NDArray[np.int64]

WINDOW = Border(
    45.0,
    "rows around a rank",
    decides="how many rows lie between a point and the rank that is wanted",
    ways="a point is listed with its loss; all points beyond are one class, thinned by their own",
    same="law",
    because="rejection from any weights above the true ones gives the exponential mechanism's law",
)
"""All points beyond the window together weigh e^-45 of the best one at most: they are proposed
once in 10^19 draws."""


@dataclass(frozen=True)
class Segment:
    """Sorted positions of private rows, all of them in start .. stop - 1."""

    rows: Integers
    start: int
    stop: int

    def split(self, at: int) -> tuple[Segment, Segment]:
        """What lies below a point, and the rest."""
        place = int(np.searchsorted(self.rows, at))
        below, rest = self.rows[:place], self.rows[place:]
        return Segment(below, self.start, at), Segment(rest, at, self.stop)

    def coarse(self, parts: int) -> Segment:
        """Its rows on a coarser grid: each point of that stands for so many of these."""
        last = self.stop - 1
        return Segment(self.rows // parts, self.start // parts, last // parts + 1)


@dataclass(frozen=True)
class RankTarget:
    """Which rank of a segment is wanted, and how fast probabilities fall with the distance."""

    share: Fraction
    rate: Fraction
    """The exponent of one row."""
    shift: int | None = None
    """By how many rows the rank is lowered, for the lower end of an interval; None: by none. Then
    "below everything" is a candidate, too, for ranks below 0: its answer is the start."""


def drawn(segment: Segment, target: RankTarget, tape: Tape) -> int:
    """A point of the segment, with probability ~ exp(-rate loss); the start of an empty one."""
    if segment.stop <= segment.start:
        return segment.start
    classes = _classes(segment, target)
    member = exponential_choice(
        classes.sizes,
        classes.losses,
        target.rate / target.share.denominator,
        tape,
        None if classes.far is None else classes.loss,
    )
    return classes.point(member)


@dataclass(frozen=True)
class _Classes:
    """Runs of points of one loss each; losses are in parts of a row."""

    segment: Segment
    target: RankTarget
    starts: Integers
    sizes: Integers
    losses: Integers
    far: int | None
    """The place of the class of all points beyond the window; None: there are none."""
    window: tuple[int, int]

    def point(self, member: Member) -> int:
        """The point that a member stands for."""
        low, high = self.window
        if member.place != self.far:
            return int(self.starts[member.place]) + member.number
        below = low - self.segment.start
        return self.segment.start + member.number + (high - low if member.number >= below else 0)

    def loss(self, member: Member) -> int:
        """The loss of one point."""
        if member.place != self.far:
            return int(self.losses[member.place])
        point = self.point(member)
        rows = self.segment.rows
        ends = (np.searchsorted(rows, point), np.searchsorted(rows, point, side="right"))
        below, until = (np.array([int(end)], np.int64) for end in ends)
        return int(losses(below, until, rank(self.target, len(rows)), self.target.share)[0])


def rank(target: RankTarget, rows: int) -> int:
    """The rank that is wanted, in parts of a row."""
    share = target.share
    return share.numerator * rows - share.denominator * (target.shift or 0)


def losses(below: Integers, until: Integers, wanted: int, share: Fraction) -> Integers:
    """How many rows lie between points and the wanted rank, in parts of a row."""
    whole = share.denominator
    return np.maximum(0, np.maximum(whole * below - wanted, wanted - whole * until))


def _classes(segment: Segment, target: RankTarget) -> _Classes:
    rows, n = segment.rows, len(segment.rows)
    points = segment.stop - segment.start
    wanted = rank(target, n)
    reach = max(1, math.ceil((math.log(points) + WINDOW.at) / float(target.rate)) + 1)
    middle = wanted // target.share.denominator
    first, last = max(0, min(middle - reach, n)), max(0, min(middle + reach + 2, n))
    values = np.unique(rows[first:last])
    below = np.searchsorted(rows, values)
    until = np.searchsorted(rows, values, side="right")
    low = segment.start if first == 0 else int(values[0])
    high = low if last == first < n else int(values[-1]) + 1 if last < n else segment.stop
    edges = np.concatenate([[low - 1], values, [high]]).astype(np.int64)
    size = 2 * len(values) + 1
    starts, sizes, before, after = (np.zeros(size, np.int64) for _ in range(4))
    starts[0::2], sizes[0::2] = edges[:-1] + 1, np.diff(edges) - 1
    before[0::2] = after[0::2] = np.concatenate([[0 if first == 0 else first], until])
    starts[1::2], sizes[1::2], before[1::2], after[1::2] = values, 1, below, until
    lost = losses(before, after, wanted, target.share)
    kept = sizes > 0
    starts, sizes, lost = starts[kept], sizes[kept], lost[kept]
    far = None
    beyond = points - (high - low)
    if beyond:
        far = len(sizes)
        least = reach * target.share.denominator
        starts, sizes, lost = _with(starts, low), _with(sizes, beyond), _with(lost, least)
    if target.shift is not None:
        starts, sizes, lost = (
            _with(starts, segment.start),
            _with(sizes, 1),
            _with(lost, max(0, wanted)),
        )
    return _Classes(segment, target, starts, sizes, lost, far, (low, high))


def _with(array: Integers, more: int) -> Integers:
    return np.append(array, np.int64(more))
