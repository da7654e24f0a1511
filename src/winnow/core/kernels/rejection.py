"""One draw of the exponential mechanism under certified bounds: the loop that all samplers share.

A sampler says how candidates are proposed, scored, and looked at in vain; ``envelope`` has the
proof that what is returned has the law of the mechanism, whatever these say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from winnow.core.kernels.compiled import compiled_bare
from winnow.core.kernels.draw_state import (
    BEGIN,
    BOUND,
    CANDIDATE,
    DONE,
    DRAWING,
    NEED_WORDS,
    PHASE,
    SCORE,
    SIGN,
    TOTAL,
    UNDECIDED,
    VIOLATED,
    WORD,
)
from winnow.core.kernels.envelope import ACCEPT, REJECT, below, decide, exponent_bound


def rejection(
    record: Callable[..., Any],
    begin: Callable[..., Any],
    propose: Callable[..., Any],
    score_of: Callable[..., Any],
    in_vain: Callable[..., Any],
) -> Callable[..., tuple[int, int]]:
    """The compiled draw: (status, next unused word), as far as the words and the filter reach."""

    def draw(plain, answers, words, place, state):  # type: ignore[no-untyped-def]
        recorded = record(plain)
        if state[PHASE] == BEGIN:
            begin(recorded, answers, state)
            state[PHASE] = DRAWING
        while True:
            value, after = below(2 * state[TOTAL], words, place)
            if value < 0 or after >= words.shape[0]:
                return NEED_WORDS, place
            group, i, bound = propose(recorded, value >> 1, state)
            score = score_of(recorded, answers, i, state)
            if exponent_bound(score, recorded.per_unit) > bound:
                return VIOLATED, place
            sign = 1 - 2 * (value & 1)
            verdict = decide(words[after], sign * score, recorded.beta, bound)
            place = after + 1
            if verdict != ACCEPT:
                in_vain(recorded, answers, group, i, score, state)
            if verdict != REJECT:
                state[CANDIDATE], state[SIGN], state[BOUND] = i, sign, bound
                state[SCORE], state[WORD] = score, after
                return DONE if verdict == ACCEPT else UNDECIDED, place

    return compiled_bare(draw)
