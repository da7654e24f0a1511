"""What is written down about a session, whatever its method: for whoever goes on with it."""

from __future__ import annotations

from dataclasses import dataclass

from winnow.ask.questions import Question

ELSEWHERE = "ask there, or go on from its state file after it was closed"

Release = tuple[int, Question, int]
"""The number of a round or an answer, its question, and the noisy count that it released."""


@dataclass(frozen=True)
class Kept:
    """What was written down about a run: places used up, releases made, and its charge."""

    rounds: int
    crossings: int
    record: str
    answers: int = 0
    """Independent answers after the rounds."""
