"""What a private linear program is charged: rounds of selection, and a noisy look after them."""

from __future__ import annotations

from typing import Protocol

from winnow.core.checks import Real
from winnow.core.laws import Law
from winnow.core.relation import Relation
from winnow.privacy import Compose, Event, Promise, Repeat, promise


class CheckedRounds(Protocol):
    """What the charge of a program rests on."""

    @property
    def epsilon(self) -> Real:
        """Of one selection."""

    @property
    def rounds(self) -> int:
        """Selections of one solve."""

    @property
    def searches(self) -> int:
        """How many solves there are at most, each with its look."""

    @property
    def check_multiplier(self) -> Real | None:
        """Of the noise of the look; None: there is none."""

    @property
    def measurement(self) -> str:
        """The kind of that noise."""


def promise_of_rounds(
    run: CheckedRounds, relation: Relation, *, citation: str, checked: str
) -> Promise:
    """All selections, the look that checks them, and that as often as there are solves."""
    selection = promise(Law.GUMBEL, "argmax", relation, epsilon=run.epsilon)
    event: Event = selection.event
    if run.rounds > 1:
        event = Repeat(event, run.rounds)
    citation = f"{citation}; {selection.citation}"
    if run.check_multiplier is not None:
        noise = f"discrete-{run.measurement}"
        look = promise(noise, "additive", relation, noise_multiplier=run.check_multiplier)
        event = Compose((event, look.event))
        citation += f"; {checked}: {look.citation}"
        if run.searches > 1:
            event = Repeat(event, run.searches)
    return Promise(event, citation, f"{run.rounds} times: {selection.statement}")
