"""A guarantee in words, for people who do not know its definition."""

from __future__ import annotations

import math
from typing import assert_never

from winnow.core.checks import exact
from winnow.core.relation import Relation
from winnow.privacy import Guarantee
from winnow.privacy.rounding import text_up


def promise_in_words(guarantee: Guarantee, rows_per_person: int | None) -> list[str]:
    """The guarantee for people who do not know its definition."""
    contributed = ""
    if rows_per_person is not None:
        rows = "one row" if rows_per_person == 1 else f"at most {rows_per_person:,} rows"
        contributed = f"One person contributes {rows} of the table. "
    match guarantee.relation:
        case Relation.ADD_REMOVE:
            change = "were left out or added"
        case Relation.SUBSTITUTION:
            change = "were replaced by anything else"
        case never:
            assert_never(never)
    epsilon, delta = (text_up(exact("", x)) for x in (guarantee.epsilon, guarantee.delta))
    most = math.exp(min(guarantee.epsilon, 700))
    factor = f"e^{epsilon} = {most:.3g}" if most < 1e6 else f"e^{epsilon}"
    slack = f", but for a probability of at most delta = {delta}" if guarantee.delta else ""
    return [
        f"({epsilon}, {delta})-differential privacy. {contributed}"
        f"If the contribution of any one person {change}, no result would be more likely than "
        f"before by more than a factor of {factor}{slack}.",
        "This holds whatever others know, and whatever is computed from the release later.",
    ]
