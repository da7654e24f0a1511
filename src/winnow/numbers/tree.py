"""The public order in which quantiles are drawn: the middle one, then both sides by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property


@dataclass(frozen=True)
class Node:
    """One quantile of the rows between two others: at which share of these it lies."""

    place: int
    """Among all quantiles in ascending order."""
    share: Fraction
    before: Node | None
    """The quantiles below it, all between this one and the one before; None: there are none."""
    after: Node | None
    whole: bool
    """Whether it is one of all rows."""

    @property
    def leaf(self) -> bool:
        """Whether nothing is drawn on either side."""
        return self.before is None and self.after is None

    @property
    def spread(self) -> Fraction:
        """P = max(share, 1 - share): by how much a row moves the distance to the quantile."""
        return max(self.share, 1 - self.share)

    @property
    def depth(self) -> int:
        """How many levels there are from here on."""
        return 1 + max((side.depth for side in (self.before, self.after) if side), default=0)

    def __iter__(self) -> Iterator[Node]:
        yield self
        for side in (self.before, self.after):
            if side is not None:
                yield from side


@dataclass(frozen=True)
class QuantileTree:
    """Quantiles in ascending order, as whole parts of ``whole``."""

    parts: tuple[int, ...]
    whole: int

    @cached_property
    def root(self) -> Node:
        """The middle quantile."""
        return self._node(0, len(self.parts), 0, self.whole)

    @property
    def levels(self) -> int:
        """How many draws a row is in: ceil(log2(m + 1))."""
        return self.root.depth

    def mirrored(self) -> QuantileTree:
        """The quantiles seen from above: q becomes 1 - q."""
        return QuantileTree(tuple(self.whole - part for part in self.parts[::-1]), self.whole)

    def _node(self, first: int, last: int, low: int, high: int) -> Node:
        middle = first + (last - first) // 2
        part = self.parts[middle]
        share = Fraction(part - low, high - low)
        before = self._node(first, middle, low, part) if middle > first else None
        after = self._node(middle + 1, last, part, high) if last > middle + 1 else None
        return Node(middle, share, before, after, (low, high) == (0, self.whole))
