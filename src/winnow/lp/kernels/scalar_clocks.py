"""Clocks for the rows of a scalar-private program: how far a score can have moved.

Exponents are in units of ln 2, as in ``groups``. The score of row i is a whole number of steps,
the rounded A_i x minus b_i, and its exponent is at most

    key_i + clock(e, c),   clock(e, c) = min(rate2_c |z - r_e|_2, rate1_c |z - r_e|_1) + slack,

for any later z, where r_e is the reference of the epoch in which the key was set and c the norm
class of the row: differences of points of the simplex sum to 0, so that A_i moves with them by at
most |v_i - mean|_2 |z - r|_2 (Cauchy-Schwarz) and by half the range of v_i times |z - r|_1. Both
bounds are distances, so keys can be carried over from one reference to another. `slack` covers
the rounding of two values and of the sums of two points.

Slot e C + c of the groups holds the rows of class c in epoch e, of C classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from winnow.core.kernels.compiled import bare
from winnow.core.kernels.envelope import raised
from winnow.core.kernels.groups import WIDE, clear_slot, merge
from winnow.lp.kernels.scalar_program import Floats

SLOTS = 16


class Epochs(NamedTuple):
    """Points that keys were set at, and the clocks since then."""

    references: Floats
    """Of each epoch."""
    clocks: Floats
    """Of each slot."""

    @classmethod
    def room(cls, epochs: int, slots: int, simplex: int) -> Epochs:
        """For points with `simplex` coordinates."""
        return cls(np.zeros((epochs, simplex)), np.zeros(slots))


@bare
def _distances(p, r):  # type: ignore[no-untyped-def]
    square, sizes = 0.0, 0.0
    for j in range(p.shape[0]):
        step = p[j] - r[j]
        square += step * step
        sizes += abs(step)
    return np.sqrt(square), sizes


@bare
def _moved(drift, c, distances):  # type: ignore[no-untyped-def]
    """How far exponents of class c move between two points, without slack."""
    long, wide = distances
    return min(drift.rate2[c] * long, drift.rate1[c] * wide) * (1.0 + 2.0**-40)


@bare
def set_clocks(epochs, e, z, drift):  # type: ignore[no-untyped-def]
    """The clocks of one epoch; returns the fastest without its slack."""
    distances = _distances(z, epochs.references[e])
    classes = drift.rate2.shape[0]
    fastest = 0.0
    for c in range(classes):
        moved = _moved(drift, c, distances)
        epochs.clocks[e * classes + c] = raised(moved + drift.slack)
        fastest = max(fastest, moved)
    return fastest


@bare
def start_epoch(epochs, e, z, drift):  # type: ignore[no-untyped-def]
    """Take the present point as the reference of an epoch."""
    for j in range(z.shape[0]):
        epochs.references[e, j] = z[j]
    set_clocks(epochs, e, z, drift)


@bare
def _held(members, e, classes):  # type: ignore[no-untyped-def]
    """How many rows an epoch has."""
    total = np.int64(0)
    for c in range(classes):
        total += members[e * classes + c]
    return total


@bare
def _empty_epoch(epochs, groups, current, drift, ceiling):  # type: ignore[no-untyped-def]
    """(an epoch without rows, how many were carried over from it to the nearest one)."""
    classes = drift.rate2.shape[0]
    count = SLOTS // classes
    spare = -1
    for e in range(count):
        if e != current and (
            spare < 0 or _held(groups.members, e, classes) < _held(groups.members, spare, classes)
        ):
            spare = e
    carried = _held(groups.members, spare, classes)
    if carried > 0:
        nearest, shortest = -1, 0.0
        for e in range(count):
            if e != spare:
                long, _ = _distances(epochs.references[spare], epochs.references[e])
                if nearest < 0 or long < shortest:
                    nearest, shortest = e, long
        distances = _distances(epochs.references[spare], epochs.references[nearest])
        for c in range(classes):
            apart = raised(_moved(drift, c, distances) + drift.slack)
            merge(
                groups, WIDE, spare * classes + c, nearest * classes + c, apart, drift.cap, ceiling
            )
    return spare, carried


@bare
def renew_clocks(epochs, groups, current, z, drift, patience, ceiling):  # type: ignore[no-untyped-def]
    """Read all clocks, and open a new epoch when the current one is older than `patience`.

    Returns the current epoch, and how many rows were carried over to another.
    """
    classes = drift.rate2.shape[0]
    age = 0.0
    for e in range(SLOTS // classes):
        if e == current or _held(groups.members, e, classes) > 0:
            fastest = set_clocks(epochs, e, z, drift)
            if e == current:
                age = fastest
    carried = np.int64(0)
    if age <= patience:
        return np.int64(current), carried
    if _held(groups.members, current, classes) > 0:
        current, carried = _empty_epoch(epochs, groups, current, drift, ceiling)
    for c in range(classes):
        clear_slot(groups, WIDE, current * classes + c, ceiling)
    start_epoch(epochs, current, z, drift)
    return np.int64(current), carried
