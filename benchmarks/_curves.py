"""A curve: one method along one axis, its points, and made-up tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

import winnow as wn

DELTA = 1e-6
Call = Callable[[], Any]


@dataclass(frozen=True)
class Curve:
    """How to call a method at each point of an axis; the data are made outside of the call."""

    verb: str
    method: str
    axis: str
    points: tuple[int, ...]
    call: Callable[[int], Call]
    rival: Callable[[int], Call] | None = None
    against: str = ""
    power: float = 1.0
    """The growth law: time grows at most like n^power."""
    borders: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.points) < 12:
            raise ValueError(f"{self.verb} {self.method} {self.axis} has {len(self.points)} points")


def spaced(low: int, high: int, borders: tuple[int, ...] = (), count: int = 12) -> tuple[int, ...]:
    """Numbers with equal ratios, and each border with the number after it."""
    even = {round(low * (high / low) ** (i / (count - 1))) for i in range(count)}
    inside = {n for border in borders for n in (border, border + 1) if low <= n <= high}
    return tuple(sorted(even | inside))


@lru_cache(maxsize=2)
def frame(rows: int, columns: int, codes: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, codes, rows)
    drawn = {
        f"c{i}": np.where(rng.random(rows) < 0.5, kind, rng.integers(0, codes, rows))
        for i in range(columns)
    }
    return pd.DataFrame(drawn)


@lru_cache(maxsize=2)
def table(rows: int, columns: int, codes: int = 5) -> wn.SealedTable:
    held = frame(rows, columns, codes)
    return wn.read_table(held, schema=dict.fromkeys(held, codes))
