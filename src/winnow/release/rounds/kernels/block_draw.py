"""Compiled draws over maintained answers: blocks of candidates under a parent's bound.

Candidate i has the score s_i = h_i - A_i, A_i = rint(answer_i * scale), and signs +1 and -1. A
block is a run of candidates that lie inside one parent cell, so 0 <= A_i <= A_parent and
|s_i| <= max(largest h of the block, A_parent), all to within the rounding that `slack` covers (an
answer that is kept up to date may fall below 0): blocks whose bound is far below the best score
are not evaluated. A block that is evaluated has every score computed; one that is not is proposed
from by its bound, and evaluated when it was proposed in vain. Either way the law is that of
``envelope``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.core.kernels.compiled import bare, compiled_bare, inlined
from winnow.core.kernels.draw_state import EVALUATIONS, OWN, TOP, TOTAL
from winnow.core.kernels.envelope import ACCEPT, exponent_bound
from winnow.core.kernels.rejection import Sampler

BEST, STATE = OWN, OWN + 1
"""The largest bound that the last draw found; the number of entries of the state."""


class QueryBlocks(NamedTuple):
    """All candidates with their private counts, in blocks, and what proposals go by."""

    counts: NDArray[np.int64]
    """h_i in units."""
    firsts: NDArray[np.int64]
    """The first candidate of each block."""
    parents: NDArray[np.int64]
    """The candidate whose answer bounds those of a block, or -1."""
    highest: NDArray[np.float64]
    """The largest count of each block."""
    slack: float
    beta: float
    """The exponent of one unit."""
    per_unit: float
    """The exponent of one unit, in units of ln 2, rounded up."""
    depth: int
    """How far below the best a block's bound may be to be evaluated."""
    reach: int
    """Bounds are raised to this far below the largest, so that all weights fit."""
    evaluated: NDArray[np.bool_]
    block_bounds: NDArray[np.int32]
    bounds: NDArray[np.int32]
    """Of each candidate of a block that is evaluated."""
    weights: NDArray[np.int64]
    """Of each block, relative to the largest bound."""

    def __repr__(self) -> str:
        return "<private counts in blocks>"


@inlined
def _score(answers, scale, blocks, i):  # type: ignore[no-untyped-def]
    return blocks.counts[i] - np.int64(np.rint(answers[i] * scale))


@inlined
def _stop(blocks, b):  # type: ignore[no-untyped-def]
    """Behind the last candidate of a block."""
    if b + 1 < blocks.firsts.shape[0]:
        return blocks.firsts[b + 1]
    return np.int64(blocks.counts.shape[0])


@inlined
def _evaluate(answers, scale, blocks, b, state):  # type: ignore[no-untyped-def]
    """Bounds of all candidates of a block from their scores, and the largest."""
    counts, bounds, per_unit = blocks.counts, blocks.bounds, blocks.per_unit
    largest = np.int32(0)
    first, stop = blocks.firsts[b], _stop(blocks, b)
    for i in range(first, stop):
        score = counts[i] - np.int64(np.rint(answers[i] * scale))
        bound = np.int32(exponent_bound(score, per_unit))
        bounds[i] = bound
        largest = max(largest, bound)
    blocks.evaluated[b] = True
    blocks.block_bounds[b] = largest
    state[EVALUATIONS] += stop - first


@bare
def _sum_of_powers(bounds, first, stop, lowest):  # type: ignore[no-untyped-def]
    """The sum of 2^(bound - lowest), bounds below `lowest` raised to it."""
    total = np.int64(0)
    for i in range(first, stop):
        total += np.int64(1) << np.int64(max(np.int32(0), bounds[i] - lowest))
    return total


@inlined
def weight_of(blocks, b, lowest):  # type: ignore[no-untyped-def]
    """The weight of a block."""
    first, stop = blocks.firsts[b], _stop(blocks, b)
    bound = blocks.block_bounds[b]
    if bound <= lowest:
        return stop - first
    if not blocks.evaluated[b]:
        return (stop - first) << np.int64(bound - lowest)
    return _sum_of_powers(blocks.bounds, first, stop, lowest)


@bare
def weigh(blocks, state):  # type: ignore[no-untyped-def]
    """The weights of all blocks relative to the largest bound, and their total."""
    top = np.int32(0)
    for b in range(blocks.firsts.shape[0]):
        top = max(top, blocks.block_bounds[b])
    lowest = np.int32(top - blocks.reach)
    total = np.int64(0)
    for b in range(blocks.firsts.shape[0]):
        blocks.weights[b] = weight_of(blocks, b, lowest)
        total += blocks.weights[b]
    state[TOP], state[TOTAL] = top, total


@bare
def _begin(answers, scale, blocks, state):  # type: ignore[no-untyped-def]
    """Bound every block by its parent, and evaluate those that may matter."""
    bounds = blocks.block_bounds
    for b in range(blocks.firsts.shape[0]):
        blocks.evaluated[b] = False
        if blocks.parents[b] < 0:
            bounds[b] = np.int32(2**30)
        else:
            largest = max(answers[blocks.parents[b]] * scale, blocks.highest[b]) + blocks.slack
            bounds[b] = np.int32(np.ceil(largest * blocks.per_unit))
    threshold = state[BEST] - blocks.depth
    best = np.int32(-1)
    for _ in range(3):
        for b in range(blocks.firsts.shape[0]):
            if not blocks.evaluated[b] and bounds[b] > threshold:
                _evaluate(answers, scale, blocks, b, state)
                best = max(best, bounds[b])
        if best >= 0 and best - blocks.depth >= threshold:
            break
        if best >= 0:
            threshold = best - blocks.depth
        else:
            highest_left = np.int32(0)
            for b in range(blocks.firsts.shape[0]):
                highest_left = max(highest_left, bounds[b])
            threshold = highest_left - blocks.depth
    state[BEST] = max(best, np.int32(0))
    weigh(blocks, state)


@inlined
def propose(blocks, target, lowest):  # type: ignore[no-untyped-def]
    """(block, candidate, bound) at a place below the total weight."""
    b = 0
    while target >= blocks.weights[b]:
        target -= blocks.weights[b]
        b += 1
    bound = blocks.block_bounds[b]
    if bound <= lowest:
        return b, blocks.firsts[b] + target, lowest
    if not blocks.evaluated[b]:
        return b, blocks.firsts[b] + (target >> np.int64(bound - lowest)), bound
    i, stop = blocks.firsts[b], _stop(blocks, b)
    while i < stop:
        weight = np.int64(1) << np.int64(max(np.int32(0), blocks.bounds[i] - lowest))
        if target < weight:
            break
        target -= weight
        i += 1
    return b, i, max(blocks.bounds[i], lowest)


@inlined
def _start(blocks, answers, state):  # type: ignore[no-untyped-def]
    _begin(answers[0], answers[1], blocks, state)


@inlined
def _proposed(blocks, target, state):  # type: ignore[no-untyped-def]
    return propose(blocks, target, np.int32(state[TOP] - blocks.reach))


@inlined
def _scored(blocks, answers, i, state):  # type: ignore[no-untyped-def]
    return _score(answers[0], answers[1], blocks, i)


@inlined
def _looked_at(blocks, answers, b, i, score, verdict, state):  # type: ignore[no-untyped-def]
    """Evaluate the block of a candidate that was proposed in vain."""
    if verdict == ACCEPT or blocks.evaluated[b]:
        return
    before = blocks.block_bounds[b]
    _evaluate(answers[0], answers[1], blocks, b, state)
    if before >= state[TOP]:  # what was largest may be smaller now
        weigh(blocks, state)
    else:
        weight = weight_of(blocks, b, np.int32(state[TOP] - blocks.reach))
        state[TOTAL] += weight - blocks.weights[b]
        blocks.weights[b] = weight


_one = Sampler(begin=_start, propose=_proposed, score_of=_scored, looked_at=_looked_at).compiled()


def _draw(plain, answers, words, place, state):  # type: ignore[no-untyped-def]
    """One draw, or as far as the words and the filter reach: (status, next unused word)."""
    return _one(QueryBlocks(*plain), answers, words, place, state)


draw = compiled_bare(_draw)
