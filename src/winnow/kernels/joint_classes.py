"""The sequences of Joint in classes of equal utility, in blocks of consecutive utilities."""

from __future__ import annotations

import math
from bisect import insort
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.kernels.log_binomial import log_difference, log_product
from winnow.kernels.ranking import Ranking
from winnow.random.tape import BitStream

Block = tuple[int, int]
"""All sequences with low <= utility <= high."""


class JointClasses:
    """Sequences S of k distinct items with utility u(S) = -max_i (c_i - c_{S_i}) [Joint, Sec 3].

    With the counts c in descending order and t_r(u) = #{j : c_j >= c_r + u} there are
    N(u) = prod_r (t_r(u) - (r - 1)) sequences of utility u or more: the sets grow with r, so
    row r always finds the r - 1 items already taken among its own. One N(u) takes k binary
    searches; a draw needs a few dozen of them, whatever the range of the counts.

    Blocks are split at multiples of `cell` first and only then inside a cell. So a draw does not
    change when all counts and the cell are multiplied by a power of two: counts in ones and
    counts in fine steps give the same list for the same tape.
    """

    def __init__(self, ranking: Ranking, k: int, scale: Fraction, cell: int = 1) -> None:
        self.k = k
        self.scale = scale
        self._rough_scale = float(scale)
        self._cell = cell
        self._ranking = ranking
        # counted from the smallest, no sum below leaves int64 as long as the range fits it
        self._leaders = ranking.leaders(k)
        self._rows = np.arange(k)
        self._lowest = -(int(self._leaders[0]) // cell)
        """The cell of the least utility; cell c holds utilities above (c - 1) cell to c cell."""
        self._known: dict[int, tuple[NDArray[np.int64], bytes, tuple[float, float]]] = {}

    def reach(self, utility: int) -> NDArray[np.int64]:
        """t_r(u) for the k rows."""
        return self._at(utility)[0]

    def _at(self, utility: int) -> tuple[NDArray[np.int64], bytes, tuple[float, float]]:
        """t_r(u), the same as bytes to compare them, and bounds on the logarithm of N(u)."""
        found = self._known.get(utility)
        if found is None:
            reach = self._ranking.at_least(self._leaders + utility)
            log = log_product(reach - self._rows)
            found = self._known[utility] = reach, reach.tobytes(), log
        return found

    def roots(self) -> list[Block]:
        """What is likely to win, and all that is not: it is looked at only if it does win.

        There are at most d^k sequences, so all those with a scaled utility of 40 below
        -k ln d weigh less than e^-40 times the best one. The least utility is that of the
        last item in the first row.
        """
        weight = self._rough_scale * self._cell
        likely = math.ceil((self.k * math.log(self._ranking.size) + 40.0) / weight)
        if likely >= -self._lowest:
            return [self._cells(self._lowest, 0)]
        return [self._cells(self._lowest, -likely - 1), self._cells(-likely, 0)]

    def _cells(self, first: int, last: int) -> Block:
        return (first - 1) * self._cell + 1, last * self._cell

    def is_class(self, block: Block) -> bool:
        """Whether all sequences of the block have its highest utility."""
        low, high = block
        if high - low >= self._cell:
            return False
        return low == high or self._at(low)[1] == self._at(high)[1]

    def split(self, block: Block) -> list[Block]:
        """Halves by utility; a half without sequences is left out."""
        low, high = block
        middle = (low + high) // 2
        if high - low >= self._cell:
            first, last = -(-low // self._cell), high // self._cell
            middle = (first + last) // 2 * self._cell
        at_middle = self._at(middle + 1)[1]
        halves = []
        if self._at(low)[1] != at_middle:
            halves.append((low, middle))
        if self._at(high + 1)[1] != at_middle:
            halves.append((middle + 1, high))
        return halves

    def score(self, block: Block) -> Fraction:
        """The best utility of the block, scaled."""
        return self.scale * block[1]

    def rough_score(self, block: Block) -> float:
        """The same to a relative 2^-51: three roundings."""
        return self._rough_scale * block[1]

    def log_count(self, block: Block) -> tuple[float, float]:
        """Bounds on the logarithm of N(low) - N(high + 1)."""
        return log_difference(self._at(block[0])[2], self._at(block[1] + 1)[2])

    def count(self, block: Block) -> int:
        """N(low) - N(high + 1)."""
        return self._at_least(block[0]) - self._at_least(block[1] + 1)

    def _at_least(self, utility: int) -> int:
        free = self.reach(utility) - self._rows
        return 0 if free.min() <= 0 else math.prod(free.tolist())

    def sample(self, utility: int, stream: BitStream) -> list[int]:
        """A sequence of ranks, uniform among those of exactly this utility.

        Let i be the first row that attains the minimum: rows before it stay above, row i
        takes one of the t_i(u) - t_i(u+1) items at the level (no earlier row could), rows
        after it take anything left.
        """
        here, above = self.reach(utility), self.reach(utility + 1)
        free_here = (here - self._rows).tolist()
        free_above = np.maximum(above - self._rows, 0).tolist()
        level = (here - above).tolist()
        after = [1]
        for free in reversed(free_here[1:]):
            after.append(after[-1] * free)
        after.reverse()
        weights, before = [], 1
        for row in range(self.k):
            weights.append(before * level[row] * after[row])
            before *= free_above[row]
        pick = stream.below(sum(weights))
        first = 0
        while pick >= weights[first]:
            pick -= weights[first]
            first += 1
        ranks: list[int] = []
        taken: list[int] = []  # ascending; every row's own range holds all of them
        for row in range(self.k):
            if row == first:
                rank = int(above[row]) + stream.below(level[row])
            else:
                size = int(above[row] if row < first else here[row])
                rank = _free_rank(taken, stream.below(size - row))
            ranks.append(rank)
            insort(taken, rank)
        return ranks


def _free_rank(taken: list[int], index: int) -> int:
    """The rank that has `index` free ranks before it: index + #{taken ranks below it}."""
    low, high = 0, len(taken)
    while low < high:
        middle = (low + high) // 2
        if taken[middle] - middle <= index:
            low = middle + 1
        else:
            high = middle
    return index + low
