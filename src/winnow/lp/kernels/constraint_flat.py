"""The rounds of the scalar-private solver while all rows are about as likely: no keys, no groups.

A round proposes rows uniformly and keeps row i with probability exp(beta (s_i - top)), `top` a
whole number of steps that no score exceeds at any point of the simplex (``envelope`` with one
bound for all rows, which need not be a multiple of ln 2 then). Which rows are proposed is a
function of the tape alone, so that they are fetched ahead, many at a time: waiting for memory is
most of the time that a proposal takes.

The loop leaves as soon as it has looked at so many rows that bounds of their own would pay, by
``constraint_loop``; the state is the same.
"""

from __future__ import annotations

import numpy as np

from winnow.core.kernels.compiled import compiled
from winnow.core.kernels.envelope import (
    ACCEPT,
    DONE,
    NEED_WORDS,
    REJECT,
    SCAN,
    UNDECIDED,
    VIOLATED,
    below,
    decide,
)
from winnow.lp.kernels.constraint_point import move
from winnow.lp.kernels.constraint_rows import row_value

AHEAD = 32
_PATIENCE, _HEAD_START = 12, 96  # looks for each round, and once


def _run_flat(  # type: ignore[no-untyped-def]
    dense, starts, columns, values, offsets, scale, step, per_step, beta, logs, z, point, total,
    chosen, top, fetched, owed, proposed, places, words, place, state,
):  # fmt: skip
    """Rounds, as far as the words, the filter and the patience reach: (status, next word)."""
    size = offsets.shape[0]
    if state[0] == 2:
        chosen[state[16]] = state[5]
        move(state[5], dense, starts, columns, values, scale, step, logs, z, point, total)
        state[16] += 1
        state[0] = 0
    while state[16] < state[17]:
        if state[11] > 0 and state[4] > _PATIENCE * state[16] + _HEAD_START:
            return SCAN, place
        filled, ahead = 0, place
        while filled < AHEAD:
            target, after = below(size, words, ahead)
            if target < 0 or after >= words.shape[0]:
                break
            proposed[filled], places[filled] = target, after
            ahead = after + 1
            filled += 1
        if filled == 0:
            return NEED_WORDS, place
        for k in range(filled):
            owed[k] = offsets[proposed[k]]
            if dense.shape[0] > 0:
                for j in range(dense.shape[1]):
                    fetched[k, j] = dense[proposed[k], j]
        for k in range(filled):
            if dense.shape[0] > 0:
                value = row_value(k, fetched, starts, columns, values, point)
            else:
                value = row_value(proposed[k], dense, starts, columns, values, point)
            score = np.int64(np.rint(value * per_step)) - owed[k]
            state[4] += 1
            state[21] += 1
            if score > top:
                return VIOLATED, place
            place = places[k] + 1
            verdict = decide(words[places[k]], score - top, beta, 0)
            if verdict == REJECT:
                continue
            state[5], state[7], state[8], state[9] = proposed[k], 0, score - top, places[k]
            if verdict != ACCEPT:
                return UNDECIDED, place
            chosen[state[16]] = proposed[k]
            if dense.shape[0] > 0:
                move(k, fetched, starts, columns, values, scale, step, logs, z, point, total)
            else:
                move(proposed[k], dense, starts, columns, values, scale, step, logs, z, point,
                     total)  # fmt: skip
            state[16] += 1
            if state[16] == state[17]:
                break
    return DONE, place


run_flat = compiled(_run_flat)
