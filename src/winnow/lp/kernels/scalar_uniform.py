"""The rounds of the scalar-private solver while all rows are about as likely: uniform proposals.

A round proposes rows uniformly and keeps row i with probability exp(beta (s_i - ceiling)), the
ceiling a whole number of steps that no score exceeds at any point of the simplex (``envelope`` with
one bound for all rows, which need not be a multiple of ln 2 then). Which rows are proposed is a
function of the tape alone, so that they are fetched ahead, many at a time: waiting for memory is
most of the time that a proposal takes. That is why this loop is not the one of all other samplers
(``core.kernels.rejection``), which proposes from weights that every evaluation may change, and so
cannot know the next proposal before it has looked at this one.

The loop leaves as soon as it has evaluated so many rows that bounds of their own would pay
(``scalar_bucketed``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from winnow.core.kernels.compiled import bare, compiled_bare
from winnow.core.kernels.draw_state import (
    ACCEPTED,
    BOUND,
    CANDIDATE,
    DONE,
    EVALUATIONS,
    NEED_WORDS,
    NEXT_STAGE,
    PHASE,
    SCORE,
    UNDECIDED,
    VIOLATED,
    WORD,
)
from winnow.core.kernels.envelope import ACCEPT, REJECT, below, decide
from winnow.lp.kernels.scalar_point import finish_round, move, row_value
from winnow.lp.kernels.scalar_program import (
    MAY_LEAVE,
    PROPOSALS,
    ROUND,
    ROUNDS,
    Floats,
    Integers,
    Matrix,
)

_AHEAD = 32
_PATIENCE, _HEAD_START = 12, 96  # evaluations for each round, and once


class Fetched(NamedTuple):
    """Proposals that were read from the tape ahead, and what they need."""

    proposed: Integers
    word: Integers
    """The place of the acceptance word of each."""
    offsets: Integers
    rows: Floats
    """Copies of dense rows."""

    @classmethod
    def room(cls, width: int) -> Fetched:
        """For rows of so many columns."""
        proposed, word, offsets = np.zeros((3, _AHEAD), np.int64)
        return cls(proposed, word, offsets, np.zeros((_AHEAD, width)))

    def __repr__(self) -> str:
        return "<fetched proposals>"


@bare
def _fetch(program, fetched, words, place):  # type: ignore[no-untyped-def]
    """Read proposals as far as the words reach; returns how many."""
    dense, filled = program.matrix.dense, 0
    while filled < _AHEAD:
        row, after = below(program.offsets.shape[0], words, place)
        if row < 0 or after >= words.shape[0]:
            break
        fetched.proposed[filled], fetched.word[filled] = row, after
        place = after + 1
        filled += 1
    for k in range(filled):
        row = fetched.proposed[k]
        fetched.offsets[k] = program.offsets[row]
        if dense.shape[0] > 0:
            for j in range(dense.shape[1]):
                fetched.rows[k, j] = dense[row, j]
    return filled


def _run(program, point, ceiling, fetched, words, place, state):  # type: ignore[no-untyped-def]
    """Rounds, as far as the words, the filter and the patience reach: (status, next word)."""
    matrix = program.matrix
    is_dense = matrix.dense.shape[0] > 0
    copies = Matrix(fetched.rows, matrix.starts, matrix.columns, matrix.values)
    if state[PHASE] == ACCEPTED:
        finish_round(program, point, state)
    while state[ROUND] < state[ROUNDS]:
        patience = _PATIENCE * state[ROUND] + _HEAD_START
        if state[MAY_LEAVE] > 0 and state[EVALUATIONS] > patience:
            return NEXT_STAGE, place
        filled = _fetch(program, fetched, words, place)
        if filled == 0:
            return NEED_WORDS, place
        for k in range(filled):
            row, word = fetched.proposed[k], fetched.word[k]
            value = row_value(k, copies, point.x) if is_dense else row_value(row, matrix, point.x)
            score = np.int64(np.rint(value * program.per_step)) - fetched.offsets[k]
            state[EVALUATIONS] += 1
            state[PROPOSALS] += 1
            if score > ceiling:
                return VIOLATED, place
            place = word + 1
            verdict = decide(words[word], score - ceiling, program.beta, 0)
            if verdict == REJECT:
                continue
            state[CANDIDATE], state[BOUND] = row, 0
            state[SCORE], state[WORD] = score - ceiling, word
            if verdict != ACCEPT:
                return UNDECIDED, place
            point.chosen[state[ROUND]] = row
            if is_dense:
                move(k, copies, program, point)
            else:
                move(row, matrix, program, point)
            state[ROUND] += 1
            if state[ROUND] == state[ROUNDS]:
                break
    return DONE, place


run = compiled_bare(_run)
