"""In which order axes are summed out so that all tables share their partial sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Plan:
    """Buffers by their sets of axes (bit masks), how each arises, and which table adds which."""

    masks: Integers
    sources: Integers
    dropped: Integers
    table_buffer: Integers

    def scratch(self, sizes: Sequence[int]) -> int:
        """How many values all buffers but the first hold, with so many codes in each column."""
        return sum(_size(int(mask), sizes) for mask in self.masks[1:])


def plan(active: int, sizes: Sequence[int], tables: Sequence[int]) -> Plan:
    """Sum out one axis at a time, largest tables first, each from the smallest buffer above it.

    ``active`` and ``tables`` are sets of columns as bit masks.
    """
    numbers = {active: 0}
    masks, sources, dropped = [active], [0], [0]
    wanted = {mask & active for mask in tables}
    for target in sorted(wanted, key=lambda mask: (-mask.bit_count(), mask)):
        if target in numbers:
            continue
        above = [mask for mask in masks if mask & target == target]
        source = min(above, key=lambda mask: _size(mask, sizes))
        extra = [c for c in range(source.bit_length()) if (source ^ target) >> c & 1]
        for column in sorted(extra, key=lambda c: -sizes[c]):
            smaller = source & ~(1 << column)
            if smaller not in numbers:
                numbers[smaller] = len(masks)
                masks.append(smaller)
                sources.append(numbers[source])
                dropped.append(column)
            source = smaller
    buffers = [numbers[mask & active] for mask in tables]
    return Plan(*(np.array(x, np.int64) for x in (masks, sources, dropped, buffers)))


def _size(mask: int, sizes: Sequence[int]) -> int:
    return math.prod(n for column, n in enumerate(sizes) if mask >> column & 1)
