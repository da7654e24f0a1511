"""The errors of top-k mechanisms on a public profile of counts, by formula, in milliseconds.

For the automatic choice, which compares mechanisms on many profiles that nobody's data had a part
in. A profile says which count the item of each rank has. Ranks are put into blocks that grow with
the rank, so that a million items take as long as a thousand. The error is the mean largest error,
in the units of the counts: max_i |c_i - c_{s_i}| of a list, or of a set in its best order.

**Noise on every count.** An item is among the first i if its noisy count is above t_i, where the
expected number of such items is i. Lists: the item at place i has the noisy count t_i, so it is
item j with chance ~ f(t_i - c_j), f the density of the noise. Places count as independent. Sets:
the number of selected items with a count above x is normal, with the mean and the variance of
independent choices that add up to k. The i-th best of the set is where that number reaches i.

**Private labels.** Only what reaches a threshold is released; what is missing counts as 0.

**joint.** The error is v with chance ~ W'(v) e^(-scale v), where W(v) is the number of lists that
fall short by at most v: prod_i (#{j: c_j >= c_i - v} - i + 1) [Joint, Section 3]. Such a list is
uniform among them, so a better item than c_i stands at place i with the chance that it is left.

**canonical.** The set holds the best h, misses the next and ends at rank t, with chance ~ the
number of such sets times e^(-scale loss) [Canonical, Def 3.4]. What lies between is a uniform
sample.

The formulas are approximations;
``tests/select/test_topk_choice.py`` holds them against simulations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_LEVELS = (-1.645, -0.842, -0.385, 0.0, 0.385, 0.842, 1.645)
"""Normal quantiles of chances .05 to .95, over which errors of sets are averaged."""
_PLACES = 16
"""Places of the top k that stand for all."""
_STEPS = 40
"""Errors at which a distribution is evaluated."""
_OFFSETS = np.array([-1.0, 0.0, 0.35, 0.7, 1.5, 3.0])
"""Where thresholds may lie, in scales of the noise."""
_FAR = np.concatenate([np.linspace(-6.0, -2.0, 5), np.linspace(4.0, 20.0, 9)])
"""Where thresholds may lie, in scales of the noise from the count of a place, and of the last."""


@dataclass(frozen=True)
class NoiseLaw:
    """The law of noise of scale 1: the chance above z, and the density up to a constant."""

    above: Callable[[Floats], Floats]
    density: Callable[[Floats], Floats]
    offsets: Floats = field(default_factory=lambda: _OFFSETS)


def _one_sided(z: Floats) -> Floats:
    return np.exp(-np.maximum(z, 0.0))


def _uniform(z: Floats) -> Floats:
    return np.clip((1.0 - z) / 2.0, 0.0, 1.0)


LAWS = {
    "exponential": NoiseLaw(
        _one_sided, lambda z: np.where(z >= 0, np.exp(-np.maximum(z, 0.0)), 0.0)
    ),
    "laplace": NoiseLaw(
        lambda z: np.where(z > 0, 0.5 * _one_sided(z), 1 - 0.5 * _one_sided(-z)),
        lambda z: np.exp(-np.abs(z)),
    ),
    "gaussian": NoiseLaw(lambda z: ndtr(-z), lambda z: np.exp(-(z**2) / 2)),
    "gumbel": NoiseLaw(
        lambda z: -np.expm1(-np.exp(-np.maximum(z, -30.0))),
        lambda z: np.exp(-z - np.exp(-np.maximum(z, -30.0))),
    ),
    "uniform": NoiseLaw(
        _uniform, lambda z: np.where(np.abs(z) <= 1, 1.0, 0.0), np.linspace(-1.0, 1.0, 13)
    ),
}
"""The laws of noise that are predicted: formulas, not choices."""


@lru_cache(maxsize=64)
def blocks(d: int, k: int) -> tuple[Floats, Floats]:
    """The middle ranks of blocks of ranks 1 .. d, and their sizes; one ends at k."""
    ends = np.unique(np.rint(np.geomspace(1, d, 90)).astype(np.int64))
    near = np.arange(max(1, k - 4), min(d, k + 4) + 1)
    ends = np.unique(np.concatenate([np.arange(1, min(d, 16) + 1), ends, near, [k, d]]))
    starts = np.concatenate([[0], ends[:-1]])
    return (starts + ends + 1) / 2.0, (ends - starts).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Profile:
    """Counts by rank, from the best down, in blocks; of d items, of which k are wanted."""

    counts: Floats
    ranks: Floats
    sizes: Floats
    k: int

    @cached_property
    def inside(self) -> int:
        """How many blocks make up the top k."""
        return int(np.searchsorted(np.cumsum(self.sizes), self.k)) + 1

    @cached_property
    def places(self) -> tuple[Integers, Floats]:
        """Blocks of the top k that stand for all, and how many places each stands for."""
        last = self.inside
        if last <= _PLACES:
            return np.arange(last), self.sizes[:last]
        taken = np.unique(np.rint(np.linspace(0, last - 1, _PLACES)).astype(np.int64))
        edges = np.concatenate([[0], (taken[1:] + taken[:-1] + 1) // 2, [last]])
        sums = np.concatenate([[0.0], np.cumsum(self.sizes[:last])])
        return taken, sums[edges[1:]] - sums[edges[:-1]]

    @cached_property
    def steps(self) -> Floats:
        """Errors at which distributions of errors are evaluated, from 0 to the largest one."""
        span = max(float(self.counts[0] - self.counts[-1]), 1e-9)
        return np.concatenate([[0.0], np.geomspace(span * 1e-5, span, _STEPS - 1)])

    def at(self, rank: Floats) -> Floats:
        """The counts at these ranks."""
        return np.interp(rank, self.ranks, self.counts)

    def within(self, low: Floats) -> Floats:
        """How many items have this count or more; whole numbers."""
        items = np.interp(-low, -self.counts, self.ranks, left=0.0)
        return np.floor(items + 1e-9)


class Predicted(NamedTuple):
    """What to expect of a mechanism on a profile."""

    error: float
    """The mean largest error."""
    recall: float
    """The share of the true top k."""


def of_noise(profile: Profile, law: str, scale: float, *, ordered: bool) -> Predicted:
    """The k largest counts with noise of this scale."""
    noise, counts, sizes = LAWS[law], profile.counts, profile.sizes
    places, numbers = profile.places
    own = counts[places] if ordered else counts[profile.inside - 1 : profile.inside]
    near = np.add.outer(own, scale * noise.offsets).ravel()
    far = own[-1] + scale * _FAR
    around = counts[max(0, profile.inside - 5) : profile.inside + 5]
    grid = np.sort(np.concatenate([near, far, around]))
    expected = -np.log(noise.above((grid[:, None] - counts) / scale) @ sizes + 1e-300)
    threshold = float(np.interp(-math.log(profile.k), expected, grid))
    chance = noise.above((threshold - counts) / scale)
    last = profile.inside
    recall = float(sizes[:last] @ chance[:last] / max(float(profile.k), float(sizes @ chance)))
    if not ordered:
        return Predicted(_of_sets(profile, chance), recall)
    thresholds = np.interp(-np.log(profile.ranks[places] - 0.5), expected, grid)
    weight = noise.density((thresholds[:, None] - counts) / scale) * sizes
    weight /= np.maximum(weight.sum(1, keepdims=True), 1e-300)
    return Predicted(_of_lists(profile, weight, places, numbers), recall)


def of_threshold(
    profile: Profile, law: str, scale: float, level: float, *, ordered: bool
) -> Predicted:
    """The k largest counts with noise of this scale, of those that reach a level with it.

    What is not released counts as an item that nobody has.
    """
    noise, counts, sizes = LAWS[law], profile.counts, profile.sizes
    listed = of_noise(profile, law, scale, ordered=ordered)
    passing = sizes * noise.above((level - counts) / scale)
    released, last = float(passing.sum()), profile.inside
    if released >= profile.k:
        return listed
    missed = float(profile.at(np.array(released + 1.0)))
    recall = float(passing[:last].sum()) / profile.k
    return Predicted(max(listed.error, missed), min(listed.recall, recall))


def _of_lists(profile: Profile, weight: Floats, places: Integers, numbers: Floats) -> float:
    """The mean largest error where place i holds an item of block j with chance weight_ij."""
    steps, counts = profile.steps, profile.counts
    sums = np.concatenate([np.zeros((len(places), 1)), np.cumsum(weight, axis=1)], axis=1)
    own = counts[places][:, None]
    # items with counts at most own - v come from the first such block on, and those with at
    # least own + v up to the last such block
    worse = np.searchsorted(-counts, -(own - steps), side="left")
    better = np.searchsorted(-counts, -(own + steps), side="right")
    row = np.arange(len(places))[:, None]
    off = 1.0 - sums[row, worse] + sums[row, better]
    return _mean(steps, numbers @ -np.log1p(-np.clip(off, 0.0, 1.0 - 1e-12)))


def _mean(steps: Floats, rate: Floats) -> float:
    """The integral of the chance 1 - e^-rate that an error is a step or more, and not 0."""
    rate[0] = rate[1]
    return float(np.trapezoid(-np.expm1(-rate), steps))


def _of_sets(profile: Profile, chance: Floats) -> float:
    """The mean largest error of a set that holds an item of each block with this chance."""
    expected = np.cumsum(profile.sizes * chance)
    expected *= profile.k / expected[-1]
    spread = np.cumsum(profile.sizes * chance * (1.0 - chance))
    left = spread * (spread[-1] - spread) / max(float(spread[-1]), 1e-300)
    last = profile.inside
    wanted, errors = profile.ranks[:last] - 0.5, []
    for z in _LEVELS:
        number = np.maximum.accumulate(np.maximum(expected - z * np.sqrt(left), 0.0))
        at = np.minimum(np.searchsorted(number, wanted), len(number) - 1)
        errors.append(float(np.max(profile.counts[:last] - profile.counts[at])))
    return max(float(np.mean(errors)), 0.0)


def of_joint(profile: Profile, scale: float, *, ordered: bool = True) -> Predicted:
    """A list by the exponential mechanism over all lists.

    A set in its best order falls short by no more than the list.
    """
    places, numbers = profile.places
    own, ranks, steps = profile.counts[places], profile.ranks[places], profile.steps
    free = np.maximum(profile.within(own[:, None] - steps) - ranks[:, None] + 1.0, 1.0)
    lists = numbers @ np.log(free)
    with np.errstate(divide="ignore"):
        new = np.log(-np.expm1(np.minimum(lists[:-1] - lists[1:], 0.0)))
    middle = (steps[1:] + steps[:-1]) / 2
    logs = np.concatenate([[0.0], lists[1:] + new - scale * middle])
    chance = np.exp(logs - logs.max())
    chance /= chance.sum()
    short = float(chance[1:] @ middle)
    uniform = _UniformList(profile, free[:, int(np.searchsorted(np.cumsum(chance), 0.5))])
    return Predicted(max(short, uniform.above()) if ordered else short, uniform.recall())


@dataclass(frozen=True, eq=False)
class _UniformList:
    """A uniform list in which so many items are free to stand at each place."""

    profile: Profile
    free: Floats

    def left(self, better: Floats) -> Floats:
        """The expected number of the best so many items that are left when a place is filled.

        While all that may stand at a place are among them one is taken for each place; then every
        place takes a share of 1/free of those that are left.
        """
        places, numbers = self.profile.places
        ranks = self.profile.ranks[places]
        share = np.log1p(-1.0 / np.maximum(self.free, 1.0 + 1e-9))
        gone = np.maximum(np.concatenate([[0.0], np.cumsum(numbers * share)]), -700.0)
        allowed = self.free + ranks - 1.0
        start = np.searchsorted(allowed, better, side="right")
        begun = np.interp(better, allowed, ranks, left=0.0)
        here = np.arange(len(places))[:, None]
        lost = np.exp(np.minimum(gone[here] - gone[start], 0.0))
        return np.asarray(np.maximum(better - begun, 0.0) * lost)

    def above(self) -> float:
        """How far above its place an item stands, at the most, in the mean."""
        profile = self.profile
        places, numbers = profile.places
        better = profile.within(profile.counts[places][:, None] + profile.steps)
        better = np.minimum(better, profile.ranks[places][:, None] - 1.0)
        return _mean(profile.steps, numbers @ (self.left(better) / self.free[:, None]))

    def recall(self) -> float:
        """The share of places with an item of the true top k."""
        places, numbers = self.profile.places
        k = float(self.profile.k)
        some = self.left(np.full((len(places), 1), k))[:, 0] / self.free
        only = self.free + self.profile.ranks[places] - 1.0 <= k
        return float(numbers @ np.where(only, 1.0, np.minimum(some, 1.0))) / k


def of_canonical(profile: Profile, scale: float, gamma: float) -> Predicted:
    """A set by noise on the loss of every set."""
    k, d = profile.k, round(float(profile.sizes.sum()))
    if k >= d:
        return Predicted(0.0, 1.0)
    heads = _heads(k)
    ends = np.unique(np.rint(k + np.concatenate([[0], np.geomspace(1, d - k, 48)])).astype(int))
    first, last = ends[:-1].astype(float), ends[1:].astype(float)
    inside = _log_sets(last, heads, k)
    growth = np.clip(inside - _log_sets(first, heads, k), 1e-9, 700.0)
    numbers = np.diff(np.append(heads, k))
    log_sets = inside + np.log(-np.expm1(-growth)) + np.log(numbers)[:, None]
    missed = profile.at(heads.astype(np.float64) + 1.0)[:, None]
    end, own = (first + 1 + last) / 2, profile.counts[profile.inside - 1]
    loss = (1 - gamma) * missed - gamma * profile.at(end) - (1 - 2 * gamma) * own
    logs = log_sets - scale * loss
    top = max(float(logs.max()), 0.0)
    chance, none = np.exp(logs - top), math.exp(-top)
    total = float(chance.sum()) + none
    error, best, rest = np.zeros(logs.shape), heads[:, None], (k - heads)[:, None]
    ahead = (end - best - 1.0) / rest
    for part in (0.0, 0.15, 0.5, 1.0):
        place = np.ceil(np.maximum(part * rest, 1.0))
        taken = np.minimum(best + 1.0 + place * ahead, end)
        error = np.maximum(error, profile.at(best + place) - profile.at(taken))
    recall = (best + (rest - 1.0) * np.minimum(rest / np.maximum(end - best - 1.0, 1.0), 1.0)) / k
    return Predicted(
        float((chance * error).sum()) / total, (float((chance * recall).sum()) + none) / total
    )


def _heads(k: int) -> Integers:
    """How many of the best a set holds: all numbers, or many near both ends."""
    if k <= 24:
        return np.arange(k)
    part = np.rint(np.geomspace(1, k - 1, 16)).astype(np.int64)
    return np.unique(np.concatenate([[0], part, k - part]))


def _log_sets(t: Floats, heads: Integers, k: int) -> Floats:
    """The log number of sets with the best h, without the next, and none beyond rank t."""
    left, free = (k - heads)[:, None].astype(float), t - heads[:, None] - 1.0
    enough = np.maximum(free, left)
    logs = gammaln(enough + 1) - gammaln(left + 1) - gammaln(enough - left + 1)
    return np.where(free >= left, logs, -np.inf)
