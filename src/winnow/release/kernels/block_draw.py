"""Compiled draws over maintained answers: blocks of candidates under a parent's bound.

Candidate i has the score s_i = h_i - A_i, A_i = rint(answer_i * scale), and signs +1 and -1. A
block is a run of candidates that lie inside one parent cell, so 0 <= A_i <= A_parent and
|s_i| <= max(largest h of the block, A_parent), all to within the rounding that `slack` covers (an
answer that is kept up to date may fall below 0): blocks whose bound is far below the best score
are not looked at. A block that is looked at has every score
computed; one that is not is proposed from by its bound, and looked at when it was proposed in
vain. Either way the law is that of ``envelope``.

State, an int64 array: 0 phase, 1 largest bound, 2 total weight, 3 largest bound of the last
draw, 4 evaluations, 5 candidate, 6 sign, 7 bound, 8 score, 9 place of the acceptance word.
"""

from __future__ import annotations

import numpy as np

from winnow.core.kernels.compiled import bare, compiled
from winnow.core.kernels.envelope import (
    ACCEPT,
    DONE,
    NEED_WORDS,
    REJECT,
    UNDECIDED,
    VIOLATED,
    below,
    decide,
    exponent_bound,
)

STATE = 10


@bare
def _score(answers, counts, i, scale):  # type: ignore[no-untyped-def]
    return counts[i] - np.int64(np.rint(answers[i] * scale))


@bare
def _look(  # type: ignore[no-untyped-def]
    answers, counts, scale, per_unit, first, stop, bounds
):
    """Bounds of all candidates of a block from their scores, and the largest."""
    largest = np.int32(0)
    for i in range(first, stop):
        bound = np.int32(exponent_bound(_score(answers, counts, i, scale), per_unit))
        bounds[i] = bound
        largest = max(largest, bound)
    return largest


@bare
def _weight(bounds, first, stop, lowest):  # type: ignore[no-untyped-def]
    """The sum of 2^(bound - lowest), bounds below `lowest` raised to it."""
    total = np.int64(0)
    for i in range(first, stop):
        total += np.int64(1) << np.int64(max(np.int32(0), bounds[i] - lowest))
    return total


@bare
def _weigh(firsts, size, looked, block_bounds, bounds, weights, reach, state):  # type: ignore[no-untyped-def]
    """The weights of all blocks relative to the largest bound, and their total."""
    blocks = firsts.shape[0]
    top = np.int32(0)
    for b in range(blocks):
        top = max(top, block_bounds[b])
    lowest = np.int32(top - reach)
    total = np.int64(0)
    for b in range(blocks):
        stop = firsts[b + 1] if b + 1 < blocks else size
        if block_bounds[b] <= lowest:
            weights[b] = stop - firsts[b]
        elif looked[b]:
            weights[b] = _weight(bounds, firsts[b], stop, lowest)
        else:
            weights[b] = (stop - firsts[b]) << np.int64(block_bounds[b] - lowest)
        total += weights[b]
    state[1], state[2] = top, total


@bare
def _prepare(  # type: ignore[no-untyped-def]
    answers, scale, counts, firsts, parents, highest, slack, per_unit, depth, reach, looked,
    block_bounds, bounds, weights, state,
):  # fmt: skip
    """Bound every block by its parent, and look at those that may matter."""
    blocks, size = firsts.shape[0], counts.shape[0]
    for b in range(blocks):
        looked[b] = False
        if parents[b] < 0:
            block_bounds[b] = np.int32(2**30)
        else:
            largest = max(answers[parents[b]] * scale, highest[b]) + slack
            block_bounds[b] = np.int32(np.ceil(largest * per_unit))
    threshold = state[3] - depth
    best = np.int32(-1)
    for _ in range(3):
        for b in range(blocks):
            if not looked[b] and block_bounds[b] > threshold:
                stop = firsts[b + 1] if b + 1 < blocks else size
                looked[b] = True
                block_bounds[b] = _look(answers, counts, scale, per_unit, firsts[b], stop, bounds)
                best = max(best, block_bounds[b])
                state[4] += stop - firsts[b]
        if best >= 0 and best - depth >= threshold:
            break
        if best >= 0:
            threshold = best - depth
        else:
            highest_left = np.int32(0)
            for b in range(blocks):
                highest_left = max(highest_left, block_bounds[b])
            threshold = highest_left - depth
    state[3] = max(best, np.int32(0))
    _weigh(firsts, size, looked, block_bounds, bounds, weights, reach, state)


@bare
def _find(  # type: ignore[no-untyped-def]
    target, firsts, size, looked, block_bounds, bounds, weights, lowest
):
    """The block and the candidate at a place below the total weight."""
    b = 0
    while target >= weights[b]:
        target -= weights[b]
        b += 1
    stop = firsts[b + 1] if b + 1 < firsts.shape[0] else size
    if block_bounds[b] <= lowest:
        return b, firsts[b] + target, lowest
    if not looked[b]:
        return b, firsts[b] + (target >> np.int64(block_bounds[b] - lowest)), block_bounds[b]
    i = firsts[b]
    while i < stop:
        weight = np.int64(1) << np.int64(max(np.int32(0), bounds[i] - lowest))
        if target < weight:
            break
        target -= weight
        i += 1
    return b, i, max(bounds[i], lowest)


def _draw(  # type: ignore[no-untyped-def]
    answers, scale, counts, firsts, parents, highest, slack, beta, per_unit, depth, reach,
    looked, block_bounds, bounds, weights, words, place, state,
):  # fmt: skip
    """One draw, or as far as the words and the filter reach: (status, next unused word)."""
    size = counts.shape[0]
    if state[0] == 0:
        _prepare(
            answers, scale, counts, firsts, parents, highest, slack, per_unit, depth, reach,
            looked, block_bounds, bounds, weights, state,
        )  # fmt: skip
        state[0] = 1
    while True:
        lowest = np.int32(state[1] - reach)
        value, after = below(2 * state[2], words, place)
        if value < 0 or after >= words.shape[0]:
            return NEED_WORDS, place
        b, i, bound = _find(value >> 1, firsts, size, looked, block_bounds, bounds, weights, lowest)
        score = _score(answers, counts, i, scale)
        if exponent_bound(score, per_unit) > bound:
            return VIOLATED, place
        sign = 1 - 2 * (value & 1)
        verdict = decide(words[after], sign * score, beta, bound)
        place = after + 1
        if verdict != ACCEPT and not looked[b]:
            stop = firsts[b + 1] if b + 1 < firsts.shape[0] else size
            looked[b] = True
            before = block_bounds[b]
            block_bounds[b] = _look(answers, counts, scale, per_unit, firsts[b], stop, bounds)
            state[4] += stop - firsts[b]
            if before >= state[1]:  # what was largest may be smaller now
                _weigh(firsts, size, looked, block_bounds, bounds, weights, reach, state)
            else:
                fresh = stop - firsts[b]
                if block_bounds[b] > lowest:
                    fresh = _weight(bounds, firsts[b], stop, lowest)
                state[2] += fresh - weights[b]
                weights[b] = fresh
        if verdict != REJECT:
            state[5], state[6], state[7], state[8], state[9] = i, sign, bound, score, after
            return DONE if verdict == ACCEPT else UNDECIDED, place


draw = compiled(_draw)
