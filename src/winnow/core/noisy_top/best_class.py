"""The noisiest class of an enormous universe, exactly, without visiting all classes.

Answers come in classes of equal score (all subsets with one loss, all sequences with one
utility), classes are grouped in blocks with a known number of members and a best score, and
blocks split into smaller ones. Top-down sampling [A* sampling, Maddison et al. 2014]:

A member's noise is F^-1(exp(-X)) for an Exp(1) clock X: early clocks are large noise. The
first clock of N members is E/N. When a block splits, one child holds the block's first
member, with probability N_child/N, and keeps its clock; by the memoryless property the first
clock of the other child is later by E'/N_other, E' fresh. So every block knows the largest
noise inside it, which bounds its noisy score from above, and only blocks whose bound can
still win are split. The law of the winner is that of noise on every member.

A block may also be opened at its first member, which is a uniform one: that one has the block's
clock, and the next clock among the others is later by E'/(N - 1), E' fresh. What the others are
need not be known, so nobody has to count them (`reveal`).

The law of those after the winner is that of noise on every member, too: once the first of N
members is out, the next clock of its class is later by E'/(N - 1), E' fresh. ``best_members`` goes
on in this way.

All decisions are exact: float64 intervals first, and where two classes overlap, intervals of
decimals with the exact integer counts.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import count as counter
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from winnow.core.arithmetic import Arithmetic, Interval, floor_of, is_above
from winnow.core.bounded import STAGE1_ERROR, clock_interval
from winnow.core.laws import Law
from winnow.core.noisy_top.log_counts import log_of
from winnow.core.tape import Tape

B = TypeVar("B")

_WORD, _EXTENSION = 2**32 - 1, 2**64 - 1


class Classes(Protocol[B]):
    """A universe of answers in blocks of classes; every block has at least one member."""

    def roots(self) -> list[B]:
        """Disjoint blocks that cover the universe."""
        ...

    def is_class(self, block: B) -> bool:
        """Whether all members have the block's score."""
        ...

    def split(self, block: B) -> list[B]:
        """One or two disjoint smaller blocks that cover a block."""
        ...

    def score(self, block: B) -> Fraction:
        """The best score in the block, in units of the noise."""
        ...

    def rough_score(self, block: B) -> float:
        """A score in float64, to a relative 2^-51."""
        ...

    def log_count(self, block: B) -> tuple[float, float]:
        """Lower and upper bounds on the logarithm of the number of members."""
        ...

    def count(self, block: B) -> int:
        """The number of members."""
        ...


class LargestNoise(Protocol):
    """Noise as a function of a clock x = exp(-g): early clocks are large noise."""

    def largest_bound(self, g: float, side: float) -> float:
        """A bound on the noise at one clock: below for side -1, above for side 1."""
        ...

    def largest_within(self, a: Arithmetic, g: Interval) -> Interval:
        """An interval around the noise at the clock."""
        ...


class _Clock(NamedTuple):
    """E_item / (count(block) - taken), added to an earlier clock: its exact definition."""

    item: int
    block: object
    taken: int
    before: _Clock | None


class _Node(Generic[B]):
    """A block with the first clock among its members, as bounds on g = -ln(clock).

    `taken` members with earlier clocks are gone.
    """

    __slots__ = ("block", "clock", "g_high", "g_low", "is_class", "lower", "taken", "upper")

    def __init__(self, block: B, clock: _Clock, g_low: float, g_high: float, taken: int = 0):
        self.block = block
        self.clock = clock
        self.taken = taken
        self.g_low = g_low
        self.g_high = g_high
        self.is_class = False
        self.lower = -math.inf
        self.upper = math.inf


class _Clocks:
    """Clocks and uniforms of successive tape items, read in batches."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self._next = 0
        self._start = 0
        self._size = 0
        self._fill(64)

    def _fill(self, size: int) -> None:
        self._start, self._size = self._start + self._size, size
        ids = np.arange(self._start, self._start + size)
        self._words: list[int] = self.tape.words(self._start, size).tolist()
        self._extension: list[int] = self.tape.extension(ids, 0)[:, 0].tolist()

    def take(self) -> tuple[int, float, float, float]:
        """An unused item, bounds on its -ln E, and its uniform to a relative 2^-52.

        E = -ln(1 - V), in scalars, because few items are looked at: where V and 1 - V have 45
        significant bits they are known to a relative 2^-51, E to 2^-50 and -ln E, at most 32
        and from libm to 16 units in the last place, to 2^-43.
        """
        if self._next == self._start + self._size:
            self._fill(min(4 * self._size, 4096))
        place = self._next - self._start
        self._next += 1
        word, extension = self._words[place], self._extension[place]
        v = word * 2.0**-32 + extension * 2.0**-96
        w = (_WORD - word) * 2.0**-32 + (_EXTENSION - extension) * 2.0**-96
        item = self._start + place
        if v < 2.0**-45 or w < 2.0**-45:
            return item, -math.inf, math.inf, v
        g = -math.log(-math.log1p(-v) if v < 0.5 else -math.log(w))
        return item, g - STAGE1_ERROR, g + STAGE1_ERROR, v


class Winner(Generic[B]):
    """The class of a member that was found, and as much of its noisy score as is asked for."""

    def __init__(self, search: _BestFirst[B], node: _Node[B]) -> None:
        self._search, self._node = search, node
        self.block = node.block

    def floor(self) -> int:
        """The noisy score rounded down, exactly; it is an integer with probability 0."""
        low, high = self._node.lower, self._node.upper
        if math.isfinite(low) and math.isfinite(high) and math.floor(low) == math.floor(high):
            return math.floor(low)
        return floor_of(partial(self._search.enclose, self._node))


def best_class(
    classes: Classes[B], law: Law, tape: Tape, reveal: Callable[[B], B | None] | None = None
) -> B:
    """The class that holds the member with the largest noisy score.

    `reveal(block)` draws a uniform member of a block that it did not draw before, and names its
    class; None: the block is to be split. A block that was revealed once must never be split.
    """
    node = _BestFirst(classes, law.formulas, tape, reveal).next()
    if node is None:
        raise ValueError("there are no classes")
    return node.block


def best_members(classes: Classes[B], noise: LargestNoise, tape: Tape) -> Iterator[Winner[B]]:
    """The members in decreasing order of their noisy scores, each by its class.

    Members of a class are alike, so which of those left it is, is uniform.
    """
    search = _BestFirst(classes, noise, tape)
    while True:
        node = search.next()
        if node is None:
            return
        yield Winner(search, node)
        search.after(node)


class _BestFirst(Generic[B]):
    """The blocks whose bounds are known, the most promising first."""

    def __init__(
        self,
        classes: Classes[B],
        noise: LargestNoise,
        tape: Tape,
        reveal: Callable[[B], B | None] | None = None,
    ) -> None:
        self.classes, self.noise, self.tape, self.reveal = classes, noise, tape, reveal
        self._clocks = _Clocks(tape)
        self._heap: list[tuple[float, int, _Node[B]]] = []
        self._order = counter()
        for block in classes.roots():
            item, low, high, _ = self._clocks.take()
            log_low, log_high = classes.log_count(block)
            clock = _Clock(item, block, 0, None)
            self._push(_Node(block, clock, _down(low + log_low), _up(high + log_high)))

    def _push(self, node: _Node[B]) -> None:
        _bound(self.classes, self.noise, node)
        self._keep(node)

    def _keep(self, node: _Node[B]) -> None:
        heapq.heappush(self._heap, (-node.upper, next(self._order), node))

    def next(self) -> _Node[B] | None:
        """The class of the member with the largest noisy score that is left."""
        best: _Node[B] | None = None
        passed: list[_Node[B]] = []
        while self._heap and (best is None or -self._heap[0][0] >= best.lower):
            node = heapq.heappop(self._heap)[2]
            if not node.is_class:
                self._open(node)
            elif best is None or self._larger(node, best):
                passed += [] if best is None else [best]
                best = node
            else:
                passed.append(node)
        for node in passed:
            self._keep(node)
        return best

    def _open(self, node: _Node[B]) -> None:
        """Put smaller blocks in the place of one, or its first member and the others."""
        first = None if self.reveal is None else self.reveal(node.block)
        if first is None:
            for child in _split(self.classes, node, self._clocks):
                self._push(child)
            return
        self._push(_Node(first, node.clock, node.g_low, node.g_high))
        self.after(node)

    def after(self, node: _Node[B]) -> None:
        """Go on with the members of a class or a block behind the one that was found."""
        taken = node.taken + 1
        left = self.classes.count(node.block) - taken
        if left == 0:
            return
        item, low, high, _ = self._clocks.take()
        log_low, log_high = log_of(left)
        g_low = _minus_log_sum(node.g_low, _down(low + log_low))
        g_high = _minus_log_sum(node.g_high, _up(high + log_high))
        clock = _Clock(item, node.block, taken, node.clock)
        self._push(_Node(node.block, clock, _down(g_low), _up(g_high), taken))

    def _larger(self, one: _Node[B], other: _Node[B]) -> bool:
        """Whether the noisy score of one class exceeds another's, refined as far as needed."""
        if one.lower > other.upper or one.upper < other.lower:
            return one.lower > other.upper
        return is_above(partial(self.enclose, one), partial(self.enclose, other))

    def enclose(self, node: _Node[B], arithmetic: Arithmetic, bits: int) -> Interval:
        """An interval around the noisy score of a class's first member that is left."""
        clock = Interval(Decimal(0), Decimal(0))
        part: _Clock | None = node.clock
        while part is not None:
            block: Any = part.block
            members = self.classes.count(block) - part.taken
            arrival = clock_interval(arithmetic, self.tape, part.item, bits)
            clock = arithmetic.add(clock, arithmetic.times(arrival, Fraction(1, members)))
            part = part.before
        z = self.noise.largest_within(arithmetic, arithmetic.negate(arithmetic.ln(clock)))
        return arithmetic.add(z, arithmetic.fraction(self.classes.score(node.block)))


def _bound(classes: Classes[B], noise: LargestNoise, node: _Node[B]) -> None:
    """Float64 bounds on the noisy score of the block's first member, at the best score."""
    node.is_class = classes.is_class(node.block)
    score = classes.rough_score(node.block)
    slack = 2.0**-50 * abs(score)
    low = noise.largest_bound(node.g_low, -1.0)
    high = noise.largest_bound(node.g_high, 1.0)
    node.lower, node.upper = _down(score - slack + low), _up(score + slack + high)


def _split(classes: Classes[B], node: _Node[B], clocks: _Clocks) -> list[_Node[B]]:
    blocks = classes.split(node.block)
    if len(blocks) == 1:
        return [_Node(blocks[0], node.clock, node.g_low, node.g_high)]
    first, second = blocks
    logs = [classes.log_count(block) for block in blocks]
    item, low, high, uniform = clocks.take()
    if not _holds_first(classes, first, second, logs, item, uniform, clocks.tape):
        first, second = second, first
        logs.reverse()
    # the other child's clock: x + E'/N, so g = -ln(e^-g + e^-(g' + ln N))
    item, low, high, _ = clocks.take()
    later_low = _minus_log_sum(node.g_low, _down(low + logs[1][0]))
    later_high = _minus_log_sum(node.g_high, _up(high + logs[1][1]))
    return [
        _Node(first, node.clock, node.g_low, node.g_high),
        _Node(second, _Clock(item, second, 0, node.clock), _down(later_low), _up(later_high)),
    ]


def _holds_first(
    classes: Classes[B],
    first: B,
    second: B,
    logs: list[tuple[float, float]],
    item: int,
    uniform: float,
    tape: Tape,
) -> bool:
    """True with probability N_first/(N_first + N_second), from the item's bits."""
    share_low = _share(logs[1][1] - logs[0][0]) * (1.0 - 2.0**-40)
    share_high = _share(logs[1][0] - logs[0][1]) * (1.0 + 2.0**-40)
    if uniform * (1.0 + 2.0**-40) + 2.0**-90 < share_low:
        return True
    if uniform * (1.0 - 2.0**-40) > share_high:
        return False
    chosen, other = classes.count(first), classes.count(second)
    bits = 96
    while True:
        known = tape.bits(item, bits)
        if (known + 1) * (chosen + other) <= chosen << bits:
            return True
        if known * (chosen + other) >= chosen << bits:
            return False
        bits *= 2


def _share(log_odds_against: float) -> float:
    """1/(1 + e^x), for any x; NaN (two unknown counts) becomes the whole range by the caller."""
    if math.isnan(log_odds_against):
        return math.nan
    if log_odds_against > 700.0:
        return 0.0
    return 1.0 / (1.0 + math.exp(log_odds_against))


def _minus_log_sum(a: float, b: float) -> float:
    """-ln(e^-a + e^-b), which increases in both; the error is below 2^-45 of the larger."""
    low, high = (a, b) if a < b else (b, a)
    if math.isinf(low) or high - low > 50.0:
        return low
    return low - math.log1p(math.exp(low - high))


def _down(x: float) -> float:
    """A bound below x that covers the rounding of a few float64 operations."""
    return x - 2.0**-46 * abs(x) - STAGE1_ERROR if math.isfinite(x) else x


def _up(x: float) -> float:
    """A bound above x that covers the rounding of a few float64 operations."""
    return x + 2.0**-46 * abs(x) + STAGE1_ERROR if math.isfinite(x) else x
