"""The words of methods and of classes of rules."""

from __future__ import annotations

from winnow.errors import ParameterError
from winnow.foreign import shown

BOOSTED = "boosted"
ADDITIVE = "additive"
CONJUNCTIONS = "conjunctions"
PLAIN_RULES = ("thresholds", "intervals", "stumps")
"""Classes of rules with one test."""
LONGEST = 4
"""Tests in a rule."""
MOST_ROUNDS = 1000


def rules_named(option: str, words: str) -> tuple[str, int]:
    """The kind of a class of rules, and the most tests in one: of conjunctions:2, 2."""
    kind, colon, number = words.strip().partition(":")
    if kind in PLAIN_RULES and not colon:
        return kind, 1
    if kind == CONJUNCTIONS and colon:
        return kind, size_named(option, words, number)
    raise ParameterError(f"{option}={shown(words)} is unknown; {_FORMS}")


_FORMS = f"give {', '.join(PLAIN_RULES)}, or {CONJUNCTIONS}:N with N from 1 to {LONGEST}"


def size_named(option: str, words: str, number: str) -> int:
    """The number after the colon."""
    if not number.isdecimal() or not number.isascii():
        raise ParameterError(f"{option}={shown(words)} is unknown; give a number after the colon")
    if not 1 <= int(number) <= LONGEST:
        side = "below 1" if int(number) < 1 else f"above {LONGEST}"
        raise ParameterError(f"{option}={shown(words)}: {number} is {side}; give 1 to {LONGEST}")
    return int(number)
