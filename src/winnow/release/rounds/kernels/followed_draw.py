"""Compiled draws over binary queries whose answers follow the distribution step by step.

The bits lie across as well: word j of cell x of a chunk holds that cell's bit of 64 queries. So a
change of few cells reaches the sums of all queries by reading the bits of these cells only, and 512
queries are added up at once, one binary digit after another (``bit_planes``).

`reference` holds whole weights v_x, and sums_i = sum of v_x over the cells of query i, exactly. The
answers that scores are taken against are sums of other whole weights w_x, and for any factor s

    w(i) - s sums_i = sum over the cells of query i of r_x,     r_x = w_x - s v_x,

lies between -sum (r_x)- and sum (r_x)+. ``follow`` keeps these small: it moves v_x to w_x/s where
r_x is large. With s the ratio of the masses, a step on one query leaves r_x outside of it alone.
So |h_i - s sums_i| plus that error bounds a score, and ``envelope`` has the proof that draws under
any bounds have the law of the exponential mechanism; proposals go by blocks as in ``block_draw``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.core.kernels.compiled import bare, compiled_bare, inlined
from winnow.core.kernels.draw_state import BEGIN, EVALUATIONS, OWN, PHASE, TOP, TOTAL
from winnow.core.kernels.envelope import ACCEPT, exponent_bound
from winnow.core.kernels.rejection import Sampler
from winnow.release.rounds.kernels.bit_planes import GROUP, GROUPS, PLANES, compress, to_numbers
from winnow.release.rounds.kernels.block_draw import propose, weigh
from winnow.release.rounds.kernels.dense import masked_sum

MOVED, STATE = OWN, OWN + 1
"""How many cells were moved in all draws; the number of entries of the state."""

BINS = 64


class Followed(NamedTuple):
    """All that draws keep between them; the fields of ``QueryBlocks`` mean the same."""

    counts: NDArray[np.int64]
    firsts: NDArray[np.int64]
    evaluated: NDArray[np.bool_]
    """Always: every candidate has a bound of its own."""
    block_bounds: NDArray[np.int32]
    bounds: NDArray[np.int32]
    weights: NDArray[np.int64]
    beta: float
    per_unit: float
    reach: int
    highest: NDArray[np.float64]
    """The counts as floats."""
    bits: NDArray[np.uint64]
    across: NDArray[np.uint64]
    """The bits of the counts by chunk, cell and group of queries, flat."""
    sums: NDArray[np.int32]
    """Of each binary query, over the reference; with room for whole chunks."""
    reference: NDArray[np.int32]
    moved: NDArray[np.int64]
    """The cells of a move."""
    steps: NDArray[np.int64]
    """By how much each of them moves."""
    starts: NDArray[np.int64]
    """Of each binary digit, where its cells begin among these:"""
    places: NDArray[np.int64]
    """where a cell that has the digit lies in a chunk,"""
    flips: NDArray[np.int64]
    """and -1 where its bits count as their complement, else 0."""
    carries: NDArray[np.uint64]
    """Two lists of lines, those of one digit and of the next."""
    planes: NDArray[np.uint64]
    """The digits of 512 sums,"""
    numbers: NDArray[np.uint32]
    """and the same memory as numbers."""
    bins: NDArray[np.float64]
    """What is missing in all, by the power of two of a cell's part in it."""
    margin: float
    """More than the rounding of a score in floats, in units."""

    def __repr__(self) -> str:
        return "<private counts of queries that are followed>"


@bare
def _bin(missing, unit):  # type: ignore[no-untyped-def]
    """The power of two of what is missing in a cell, from a unit on."""
    if missing <= unit:
        return 0
    return min(BINS - 1, np.int64(math.frexp(missing / unit)[1]))


@bare
def _choose(followed, whole, factor, allowed):  # type: ignore[no-untyped-def]
    """Take the cells that miss most as moved, until less than `allowed` is missing.

    Returns how many are moved, and what is missing afterwards.
    """
    reference, bins = followed.reference, followed.bins
    for k in range(BINS):
        bins[k] = 0.0
    for x in range(whole.shape[0]):
        missing = abs(np.float64(whole[x]) - factor * np.float64(reference[x]))
        bins[_bin(missing, factor)] += missing
    left, kept = bins[0], 0
    while kept + 1 < BINS and left + bins[kept + 1] <= allowed:
        kept += 1
        left += bins[kept]
    count, more, less = np.int64(0), 0.0, 0.0
    for x in range(whole.shape[0]):
        weight = np.float64(whole[x])
        missing = weight - factor * np.float64(reference[x])
        if _bin(abs(missing), factor) > kept:
            now = np.int32(np.rint(weight / factor))
            followed.moved[count] = x
            followed.steps[count] = np.int64(now) - np.int64(reference[x])
            count += 1
            reference[x] = now
            missing = weight - factor * np.float64(now)
        more += max(missing, 0.0)
        less += max(-missing, 0.0)
    return count, max(more, less)


@bare
def _digits(followed, count):  # type: ignore[no-untyped-def]
    """Write all steps in signed binary digits, digit by digit; returns what flipping adds.

    A digit -1 of a bit b is that of its complement, less 1: -b = (1 - b) - 1.
    """
    starts, steps = followed.starts, followed.steps
    for p in range(PLANES + 1):
        starts[p] = 0
    for k in range(count):
        left, p = steps[k], 0
        while left != 0 and p < PLANES:
            if left & 1:
                starts[p + 1] += 1
                left -= 2 - (left & 3)
            left >>= 1
            p += 1
    for p in range(PLANES):
        starts[p + 1] += starts[p]
    flipped = np.int64(0)
    for k in range(count):
        left, p = steps[k], 0
        while left != 0 and p < PLANES:
            if left & 1:
                digit = 2 - (left & 3)
                followed.places[starts[p]] = followed.moved[k] * GROUPS
                followed.flips[starts[p]] = (digit - 1) >> 1
                flipped += (digit < 0) << p
                starts[p] += 1
                left -= digit
            left >>= 1
            p += 1
    for p in range(PLANES, 0, -1):
        starts[p] = starts[p - 1]
    starts[0] = 0
    return flipped


@bare
def _sweep(followed, count):  # type: ignore[no-untyped-def]
    """Bring the sums of all queries to the reference, which was moved in `count` cells.

    Numbers are added modulo 2^32, and all sums lie between 0 and 2^31.
    """
    flipped = np.uint32(_digits(followed, count) & 0xFFFFFFFF)
    starts, numbers, sums = followed.starts, followed.numbers, followed.sums
    chunk = np.int64(followed.reference.shape[0] * GROUPS)
    half = np.int64(followed.carries.shape[0] // 2)
    for c in range(followed.sums.shape[0] // (GROUP * GROUPS)):
        now, later, made = np.int64(0), half, np.int64(0)
        for p in range(PLANES):
            made = compress(
                followed.across, np.int64(c) * chunk, followed.places, followed.flips, starts[p],
                starts[p + 1], followed.carries, now, made, later, followed.planes, np.int64(p),
            )  # fmt: skip
            now, later = later, now
        to_numbers(numbers)
        for lane in range(2 * GROUPS):
            first = c * GROUP * GROUPS + lane * PLANES
            for r in range(PLANES):
                sums[first + r] += np.int32(numbers[r, lane] - flipped)


@bare
def _bound_all(followed, maintained, scale, factor, error):  # type: ignore[no-untyped-def]
    """A bound for every candidate, and for every block the largest."""
    counts, bounds, per_unit = followed.counts, followed.bounds, followed.per_unit
    table = counts.shape[0] - followed.bits.shape[0]
    for i in range(table):
        score = counts[i] - np.int64(np.rint(maintained[i] * scale))
        bounds[i] = np.int32(exponent_bound(score, per_unit))
    for j in range(followed.bits.shape[0]):
        score = followed.highest[table + j] - factor * np.float64(followed.sums[j])
        bounds[table + j] = np.int32(np.ceil((abs(score) + error) * per_unit))
    for b in range(followed.firsts.shape[0]):
        _bound_block(followed, b)


@bare
def _bound_block(followed, b):  # type: ignore[no-untyped-def]
    first = followed.firsts[b]
    stop = min(first + GROUP, np.int64(followed.bounds.shape[0]))
    largest = np.int32(0)
    for i in range(first, stop):
        largest = max(largest, followed.bounds[i])
    followed.block_bounds[b] = largest


def _follow(plain, plain_answers, factor, allowed, state):  # type: ignore[no-untyped-def]
    """Bound all candidates against new answers."""
    followed = Followed(*plain)
    maintained, scale, whole = plain_answers
    count, missing = _choose(followed, whole, factor, allowed)
    if count > 0:
        _sweep(followed, count)
    error = missing * (1.0 + 2.0**-30) + followed.margin
    _bound_all(followed, maintained, scale, factor, error)
    state[MOVED] += count
    state[PHASE] = BEGIN


@bare
def _tighten(followed, b, i, bound, lowest, state):  # type: ignore[no-untyped-def]
    """Lower the bound of a candidate that was looked at in vain."""
    before = followed.bounds[i]
    followed.bounds[i] = bound
    if before >= followed.block_bounds[b]:  # always the largest, else nothing would lower the top
        _bound_block(followed, b)
    if before >= state[TOP]:
        weigh(followed, state)
        return
    less = np.int64(1) << np.int64(max(np.int32(0), before - lowest))
    less -= np.int64(1) << np.int64(max(np.int32(0), bound - lowest))
    followed.weights[b] -= less
    state[TOTAL] -= less


@inlined
def _start(followed, answers, state):  # type: ignore[no-untyped-def]
    weigh(followed, state)


@inlined
def _proposed(followed, target, state):  # type: ignore[no-untyped-def]
    return propose(followed, target, np.int32(state[TOP] - followed.reach))


@inlined
def _scored(followed, answers, i, state):  # type: ignore[no-untyped-def]
    maintained, scale, whole = answers
    table = followed.counts.shape[0] - followed.bits.shape[0]
    if i < table:
        answer = np.int64(np.rint(maintained[i] * scale))
    else:
        answer = masked_sum(followed.bits[i - table], whole)
    state[EVALUATIONS] += 1
    return followed.counts[i] - answer


@inlined
def _looked_at(followed, answers, b, i, score, verdict, state):  # type: ignore[no-untyped-def]
    if verdict == ACCEPT:
        return
    own = np.int32(exponent_bound(score, followed.per_unit))
    if own < followed.bounds[i]:
        _tighten(followed, b, i, own, np.int32(state[TOP] - followed.reach), state)


follow = compiled_bare(_follow)
_one = Sampler(begin=_start, propose=_proposed, score_of=_scored, looked_at=_looked_at).compiled()


def _draw(plain, answers, words, place, state):  # type: ignore[no-untyped-def]
    """One draw, or as far as the words and the filter reach: (status, next unused word)."""
    return _one(Followed(*plain), answers, words, place, state)


draw = compiled_bare(_draw)
