"""One draw of the exponential mechanism under certified bounds: the loop that all samplers share.

A sampler says how candidates are proposed, scored and looked at, which proposals are refused by a
bound of their own before they are scored, and when a scan would be faster; ``envelope`` has the
proof that what is returned has the law of the mechanism, whatever these say. A sampler is a record
of hooks, compiled helpers all of them; a draw goes on from its state when it is called again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from winnow.core.kernels.compiled import inlined
from winnow.core.kernels.draw_state import (
    BEGIN,
    BOUND,
    CANDIDATE,
    DONE,
    DRAWING,
    NEED_WORDS,
    PHASE,
    SCAN,
    SCORE,
    SIGN,
    TOTAL,
    UNDECIDED,
    VIOLATED,
    WORD,
)
from winnow.core.kernels.envelope import ACCEPT, REJECT, below, decide, exponent_bound


@inlined
def _never(records, answers, state):  # type: ignore[no-untyped-def]
    return False


@inlined
def _not_refused(records, answers, group, i, bound, word, state):  # type: ignore[no-untyped-def]
    return False


@inlined
def _beyond(records, group, i, score, bound, state):  # type: ignore[no-untyped-def]
    return exponent_bound(score, records.per_unit) > bound


@inlined
def _beta(records, i):  # type: ignore[no-untyped-def]
    return records.beta


Hook = Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """What a draw asks of a sampler; ``records`` are its own, ``answers`` what scores are against.

    Compiled by its hooks: ``draw(records, answers, words, place, state)`` gives the status and the
    next unused word, as far as the words and the filter reach.
    """

    begin: Hook
    """(records, answers, state): set the weights of proposals, before the first one of a draw."""
    propose: Hook
    """(records, target, state): group, candidate, whole bound at a place below the total."""
    score_of: Hook
    """(records, answers, candidate, state)."""
    looked_at: Hook
    """(records, answers, group, candidate, score, verdict, state): learn from what was scored."""
    enough: Hook = _never
    """(records, answers, state): whether a scan is due; asked before the bits of a proposal."""
    refused: Hook = _not_refused
    """(records, answers, group, candidate, bound, word, state): refused before it is scored."""
    beyond: Hook = _beyond
    """(records, group, candidate, score, bound, state): whether a certified bound does not hold."""
    beta: Hook = _beta
    """(records, candidate): the exponent of one unit of its score."""
    signed: bool = True
    """Whether candidates come with signs, and their bounds hold for both."""

    def compiled(self) -> Hook:
        """The loop."""
        begin, propose, score_of, looked_at = (
            self.begin, self.propose, self.score_of, self.looked_at,
        )  # fmt: skip
        enough, refused, beyond, beta = self.enough, self.refused, self.beyond, self.beta
        signs = 1 if self.signed else 0

        def draw(records, answers, words, place, state):  # type: ignore[no-untyped-def]
            if state[PHASE] == BEGIN:
                begin(records, answers, state)
                state[PHASE] = DRAWING
            while True:
                if enough(records, answers, state):
                    return SCAN, place
                value, after = below(state[TOTAL] << signs, words, place)
                if value < 0 or after >= words.shape[0]:
                    return NEED_WORDS, place
                group, i, bound = propose(records, value >> signs, state)
                word, place_after = words[after], after + 1
                if refused(records, answers, group, i, bound, word, state):
                    place = place_after
                    continue
                score = score_of(records, answers, i, state)
                if beyond(records, group, i, score, bound, state):
                    return VIOLATED, place
                sign = 1 - 2 * (value & signs)
                verdict = decide(word, sign * score, beta(records, i), bound)
                place = place_after
                looked_at(records, answers, group, i, score, verdict, state)
                if verdict != REJECT:
                    state[CANDIDATE], state[SIGN], state[BOUND] = i, sign, bound
                    state[SCORE], state[WORD] = score, after
                    return DONE if verdict == ACCEPT else UNDECIDED, place

        return inlined(draw)
