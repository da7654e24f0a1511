"""Which top-k mechanism has the least error, by public numbers only.

Which one is best depends on the counts, and the choice may not see them. It takes two steps:

1. **Dominance.** One item (k = 1): permute-and-flip, which is the largest count with exponential
   noise [Ding et al. 2021]. Its error is never stochastically larger than that of the exponential
   mechanism at the same scale [McKenna-Sheldon 2020, Thm 2], and joint is this mechanism at k = 1,
   with twice the noise. Canonical at k = 1 is permute-and-flip with at least as much noise.
   With noise on every count, an item that is behind by u scales overtakes another with chance
   e^-u/2 by exponential noise, and (1 + u/2) e^-u/2 by Laplace noise. So Laplace noise of
   the same scale or a larger one is out, and, as 1 + u/2 <= e^(u/2), exponential noise
   of twice the scale of Laplace noise or more. (Pairs of items: for k > 1 this is no proof.)
2. **A public library.** What is left is compared on every profile of a library: shapes from flat
   to steep, times sizes from some hundred people to millions. Errors and the share of the true
   top k that is found are predicted by formula (``winnow.select.predicted``). Taken is what loses
   least in the mean against the best on each profile; errors below 1/epsilon people are equal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from winnow.select.predicted import (
    Predicted,
    Profile,
    blocks,
    of_canonical,
    of_joint,
    of_noise,
    of_threshold,
)

Floats = NDArray[np.float64]

_SIZES = tuple(float(size) for size in np.geomspace(60, 3_000_000, 6))
"""People of the most common item, a factor of nine apart. On 452 generated settings ten sizes and
twice the shapes had a geometric mean of 1.054, these 1.059, and five sizes from 300 on 1.076."""
_SAME = 0.02
"""Mean losses that the predictions do not tell apart: then no delta is spent, and what stands
first is taken."""
USUAL_ITEMS = (100, 3_000, 100_000)
"""Over which the choice is averaged where nobody knows the number of items yet."""


@dataclass(frozen=True)
class PlannedNoise:
    """What is known of a mechanism before it runs: how its noise scales, in people."""

    law: str
    """Of noise on every count; or "joint" or "canonical"."""
    scale: float
    """Of the noise; of joint and canonical the inverse factor of the loss."""
    gamma: float = 0.5
    spends_delta: bool = False
    level: float | None = None
    """Of private labels: the noisy count from which on one may be released."""
    reach: int | None = None
    """Of private labels: the level is so much above the count at the rank that comes next."""


def _shapes(d: int, ranks: Floats, size: float) -> list[Floats]:
    """Profiles whose best item has so many people; none was fitted to anybody's data."""
    normal = ndtri(1.0 - (ranks - 0.5) / d)
    below = normal - float(ndtri(1.0 - 0.5 / d))
    rest = size / 20 + math.sqrt(size / 20) * normal
    return [
        size + math.sqrt(size) * below,  # all alike, but for chance
        size * (1.0 - (ranks - 1.0) / d),
        size * np.exp(1.2 * below),
        *(size / ranks**power for power in (0.25, 0.5, 0.75, 1.0, 1.5)),
        *(size * (head + 1) / (ranks + head) for head in (10, 100) if head < d),
        *(  # some stand out, and the others are alike
            np.where(ranks <= head, size * (1.1 - 0.1 * ranks / head), rest)
            for head in (1, 5, 50)
            if head < d
        ),
    ]


@lru_cache(maxsize=32)
def library(d: int, k: int) -> tuple[Profile, ...]:
    """The public profiles of d items: shapes times sizes."""
    ranks, sizes = blocks(d, k)
    return tuple(
        Profile(np.minimum.accumulate(np.maximum(counts, 0.0)), ranks, sizes, k)
        for size in _SIZES
        for counts in _shapes(d, ranks, size)
    )


def predicted(profile: Profile, noise: PlannedNoise, *, ordered: bool) -> Predicted:
    """What to expect of a mechanism on a profile, by formula."""
    if noise.law == "joint":
        return of_joint(profile, 1 / noise.scale, ordered=ordered)
    if noise.law == "canonical":
        return of_canonical(profile, 1 / noise.scale, noise.gamma)
    if noise.level is not None:
        level = noise.level
        if noise.reach is not None and noise.reach < profile.ranks[-1]:
            level += float(profile.at(np.array(noise.reach + 1.0)))
        return of_threshold(profile, noise.law, noise.scale, level, ordered=ordered)
    return of_noise(profile, noise.law, noise.scale, ordered=ordered)


def undominated(noises: Mapping[str, PlannedNoise]) -> dict[str, PlannedNoise]:
    """What dominance leaves of the mechanisms."""
    left = dict(noises)
    one = "peel-permute-and-flip" if "peel-permute-and-flip" in left else "oneshot"
    if one != "oneshot":  # k = 1
        for word in ("joint", "canonical"):
            left.pop(word, None)
    if one in left and "laplace" in left:
        if left["laplace"].scale >= left[one].scale:
            left.pop("laplace")
        elif left[one].scale >= 2 * left["laplace"].scale:
            left.pop(one)
    return left


def mean_losses(
    noises: Mapping[str, PlannedNoise], d: int, k: int, unit: float, *, ordered: bool
) -> dict[str, float]:
    """What each mechanism loses against the best of a profile, in the mean over the library."""
    losses = loss_table(noises, d, k, unit, ordered=ordered).mean(axis=0)
    return dict(zip(noises, losses.tolist(), strict=True))


def loss_table(
    noises: Mapping[str, PlannedNoise], d: int, k: int, unit: float, *, ordered: bool
) -> Floats:
    """What each mechanism (column) loses against the best of them on each profile (row).

    The loss is log((error + unit)/(best + unit)), and how much less of the true top k is found.
    """
    losses = np.array(
        [[predicted(p, n, ordered=ordered) for n in noises.values()] for p in library(d, k)]
    )
    logs, recall = np.log(losses[:, :, 0] + unit), losses[:, :, 1]
    worse = logs - logs.min(axis=1, keepdims=True)
    return np.asarray(worse + recall.max(axis=1, keepdims=True) - recall, np.float64)


def least(
    noises: Mapping[str, PlannedNoise], d: int | None, k: int, unit: float, *, ordered: bool
) -> str:
    """The mechanism to take, of those given in the order in which they are preferred.

    ``unit`` is an error that matters to nobody.
    """
    left = undominated(noises)
    if len(left) == 1:
        return next(iter(left))
    known = [max(items, 2 * k) for items in USUAL_ITEMS] if d is None else [max(d, k)]
    total = dict.fromkeys(left, 0.0)
    for items in known:
        for word, loss in mean_losses(left, items, k, unit, ordered=ordered).items():
            total[word] += loss / len(known)
    best = min(total.values())
    same = [word for word in left if total[word] <= best + _SAME]
    return min(same, key=lambda word: left[word].spends_delta)  # the first of those
