"""Compiled clocks for the rows of a linear program: how far a score can have moved.

Exponents are in units of ln 2, as in ``constraint_groups``. The score of row i is a whole number
of steps, the rounded A_i x minus b_i, and its exponent is at most

    key_i + clock(e, c),   clock(e, c) = min(rate2_c |z - r_e|_2, rate1_c |z - r_e|_1) + slack,

for any later z, where r_e is the reference of the epoch in which the key was set and c the norm
class of the row: differences of points of the simplex sum to 0, so that A_i moves with them by at
most |v_i - mean|_2 |z - r|_2 (Cauchy-Schwarz) and by half the range of v_i times |z - r|_1. Both
bounds are distances, so keys can be carried over from one reference to another. `slack` covers
the rounding of two values and of the sums of two points.

Slot e C + c of ``constraint_groups`` holds the rows of class c in epoch e, of C classes.
"""

from __future__ import annotations

import numpy as np

from winnow.core.kernels.compiled import helper
from winnow.core.kernels.envelope import raised
from winnow.lp.kernels.constraint_groups import SLOTS, clear_slot, merge


@helper
def _distances(p, r):  # type: ignore[no-untyped-def]
    square, sizes = 0.0, 0.0
    for j in range(p.shape[0]):
        step = p[j] - r[j]
        square += step * step
        sizes += abs(step)
    return np.sqrt(square), sizes


@helper
def set_clocks(z, reference, e, rate2, rate1, slack, clocks):  # type: ignore[no-untyped-def]
    """The clocks of one epoch; returns the fastest without its slack."""
    long, wide = _distances(z, reference)
    classes = rate2.shape[0]
    fastest = 0.0
    for c in range(classes):
        moved = min(rate2[c] * long, rate1[c] * wide) * (1.0 + 2.0**-40)
        clocks[e * classes + c] = raised(moved + slack)
        fastest = max(fastest, moved)
    return fastest


@helper
def _held(members, e, classes):  # type: ignore[no-untyped-def]
    total = np.int64(0)
    for c in range(classes):
        total += members[e * classes + c]
    return total


@helper
def begin_round(  # type: ignore[no-untyped-def]
    z, references, clocks, rate2, rate1, slack, patience, cap, keys, group, limit, pool, table,
    where, count, members, spans, free, state,
):  # fmt: skip
    """Read all clocks, and open a new epoch when the current one is old."""
    classes = rate2.shape[0]
    epochs = SLOTS // classes
    current = state[10]
    age = 0.0
    for e in range(epochs):
        if e == current or _held(members, e, classes) > 0:
            fastest = set_clocks(z, references[e], e, rate2, rate1, slack, clocks)
            if e == current:
                age = fastest
    if age <= patience:
        return
    if _held(members, current, classes) > 0:
        spare = -1
        for e in range(epochs):
            if e != current and (
                spare < 0 or _held(members, e, classes) < _held(members, spare, classes)
            ):
                spare = e
        if _held(members, spare, classes) > 0:
            state[22] += _held(members, spare, classes)
            nearest, shortest = -1, 0.0
            for e in range(epochs):
                if e != spare:
                    long, wide = _distances(references[spare], references[e])
                    if nearest < 0 or long < shortest:
                        nearest, shortest = e, long
            long, wide = _distances(references[spare], references[nearest])
            for c in range(classes):
                moved = min(rate2[c] * long, rate1[c] * wide) * (1.0 + 2.0**-40)
                merge(
                    spare * classes + c, nearest * classes + c, raised(moved + slack), cap,
                    state[3], keys, group, limit, pool, table, where, count, members, spans, free,
                )  # fmt: skip
        current = spare
    for c in range(classes):
        clear_slot(current * classes + c, state[3], limit, spans)
    references[current, :] = z
    set_clocks(z, references[current], current, rate2, rate1, slack, clocks)
    state[10] = current
