"""What the compiled loops of the exact samplers leave behind: a status and an int64 array.

A loop returns its status and the next unused word of the tape. It goes on from its state, so that
the caller can bring more words, or decide a comparison exactly, and call it again. A sampler's own
entries follow those that all have.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.noisy_top.proposals import TapeWords, exact_acceptance
from winnow.core.tape import Words
from winnow.errors import InternalError

DONE, NEED_WORDS, UNDECIDED, VIOLATED, SCAN, NEXT_STAGE = range(6)
"""Undecided: the float filter left an acceptance open. Scan: too many candidates were evaluated
one by one. Next stage: another sampler would be faster."""

PHASE, TOP, TOTAL, EVALUATIONS, CANDIDATE, SIGN, BOUND, SCORE, WORD, OWN = range(10)
"""The phase; the largest bound and the total weight of all proposals; evaluations of candidates;
of the last proposal that was not rejected: its candidate, sign, bound and score and the place of
its acceptance word in the buffer; the first entry that is a sampler's own."""

BEGIN, DRAWING, ACCEPTED = range(3)
"""Phases: weights are to be set, proposals are drawn, a candidate was accepted."""


def settled(state: NDArray[np.int64], words: TapeWords, rate: Fraction) -> bool:
    """Whether the proposal that the filter left open is accepted, decided exactly."""
    sign, bound, score, word = (int(state[k]) for k in (SIGN, BOUND, SCORE, WORD))
    return exact_acceptance(words.tape, words.first + word, rate * sign * score, bound)


def run_on(
    loop: Callable[[Words, int], tuple[int, int]],
    words: TapeWords,
    state: NDArray[np.int64],
    rate_of: Callable[[int], Fraction],
) -> int:
    """Call a compiled loop until a proposal is accepted, or it has a status of its own.

    It gets words of the tape as it needs them. What the filter left open is decided exactly, by
    the exponent of one unit of the candidate's score. An acceptance that was decided here is in
    the phase, for a loop that goes on with the next round.
    """
    while True:
        status, words.place = loop(words.buffer, words.place)
        if status == NEED_WORDS:
            words.refill()
        elif status == VIOLATED:
            raise violated()
        elif status != UNDECIDED:
            return status
        elif settled(state, words, rate_of(int(state[CANDIDATE]))):
            state[PHASE] = ACCEPTED
            return DONE
        else:
            state[PHASE] = DRAWING


def violated() -> InternalError:
    """The error of a bound that did not hold; it names no number."""
    return InternalError("a certified bound was exceeded; please report this defect")
