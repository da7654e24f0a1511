"""Which bound on a person is best, by noisy numbers of people and the noise under each bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow.core.chosen_bound import BoundRow

Floats = NDArray[np.float64]

SURE = 2.5
"""More people than a bound are believed where their noisy number is so many deviations above 0.
Chosen on generated people (``benchmarks/bounds.py``): with half of it a look takes noise for heavy
users, and with more their items are given away."""


@dataclass(frozen=True)
class NoiseUnderBounds:
    """The noise of a release under each bound, in people; public."""

    grid: tuple[int, ...]
    noise: tuple[float, ...]
    answers: float | None
    """How many answers share what is left out; None: answers are compared with each other."""
    tables: int = 1
    """In so many of them every row counts."""
    k: int = 1
    """Where answers are compared: how many are wanted."""

    @property
    def meaning(self) -> str:
        """What the errors are."""
        if self.answers is None:
            return "noise, and that of drawing items of people, over the part of items that counts"
        return "the absolute errors of all answers added up, from noise and from what is left out"


_SPREADS = 3.0
"""So many deviations away is what a bound with probability .99 allows for."""


def left_out_of(noisy: Sequence[int], grid: tuple[int, ...], deviation: float) -> Floats:
    """Items (or rows) beyond each bound, by the noisy numbers of people; never below 0.

    More than a bound have at least as many people as more than the next one: the noisy numbers are
    made so by the nearest falling line, weighed by their noise. Numbers that noise alone may bring
    are 0. Between two bounds people are taken to be spread evenly.
    """
    more = np.cumsum(np.array(noisy[:0:-1], np.float64))[::-1]  # people beyond each bound
    spread = deviation * np.sqrt(np.arange(len(grid), 0, -1))
    more = np.maximum(_falling(more, 1 / spread**2), 0)
    more = np.where(more < SURE * spread, 0.0, more)
    steps = np.diff(grid)
    each = steps * (more[:-1] + more[1:] + 2 * np.sqrt(more[:-1] * more[1:])) / 4
    return np.append(np.cumsum(each[::-1])[::-1], 0.0)


def compared(noise: NoiseUnderBounds, noisy: Sequence[int], deviation: float) -> list[BoundRow]:
    """Every bound with its error from noise and from what it leaves out."""
    left = left_out_of(noisy, noise.grid, deviation)
    if noise.answers is not None:
        whole = np.array(noise.noise) * noise.answers
        errors = whole + noise.tables * left
    else:
        whole = np.array(noise.noise)
        people = max(1.0, float(sum(noisy)))
        # Whoever has any has one: what is counted under the first bound is that many at least.
        first = people * noise.grid[0]
        counted = first + left[0] - left
        part = counted / counted[-1]
        drawn = _SPREADS**2 * counted * (1 - part) / noise.k  # the k-th has no more than counted/k
        errors = np.sqrt(whole**2 + drawn) / part
    rows = zip(noise.grid, whole, left, errors, strict=True)
    return [BoundRow(bound, float(n), float(out), float(error)) for bound, n, out, error in rows]


def best(rows: Sequence[BoundRow]) -> int:
    """The bound with the least error; of equal ones the smallest."""
    return min(rows, key=lambda row: (row.error, row.bound)).bound


def _falling(values: Floats, weights: Floats) -> Floats:
    """The nearest line that never rises, by the weighted squares (pool adjacent violators)."""
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        blocks.append((value, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] < blocks[-1][0]:
            (a, wa, na), (b, wb, nb) = blocks[-2:]
            blocks[-2:] = [((a * wa + b * wb) / (wa + wb), wa + wb, na + nb)]
    return np.concatenate([np.full(number, value) for value, _, number in blocks])


def pays_from(noise: NoiseUnderBounds) -> list[float | None]:
    """Of how many people with more items each further bound is worth its noise, at least."""
    if noise.answers is None:
        return [None] * len(noise.grid)
    steps = np.diff(np.array(noise.noise) * noise.answers) / np.diff(noise.grid)
    return [0.0, *(steps / noise.tables).tolist()]
