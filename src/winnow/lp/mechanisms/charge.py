"""What a private linear program is charged: rounds of selection, and a noisy look after them."""

from __future__ import annotations

from winnow.core.checks import Real
from winnow.core.laws import Law
from winnow.core.relation import Relation
from winnow.privacy import Compose, Event, Promise, Repeat, promise


def promise_of_rounds(
    relation: Relation,
    *,
    epsilon: Real,
    rounds: int,
    searches: int,
    check_multiplier: Real | None,
    measurement: str,
    citation: str,
    checked: str,
) -> Promise:
    """``rounds`` selections of ``epsilon``, the look that checks them, and all of it ``searches``
    times."""
    selection = promise(Law.GUMBEL, "argmax", relation, epsilon=epsilon)
    event: Event = selection.event
    if rounds > 1:
        event = Repeat(event, rounds)
    citation = f"{citation}; {selection.citation}"
    if check_multiplier is not None:
        look = promise(
            f"discrete-{measurement}", "additive", relation, noise_multiplier=check_multiplier
        )
        event = Compose((event, look.event))
        citation += f"; {checked}: {look.citation}"
        if searches > 1:
            event = Repeat(event, searches)
    return Promise(event, citation, f"{rounds} times: {selection.statement}")
