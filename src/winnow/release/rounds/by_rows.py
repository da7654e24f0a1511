"""Rounds that follow a noisy number of rows, where the number itself is private.

The best number of rounds grows with the root of the rows. A public table says how many are run
from how many noisy rows on; each line of it is a plan of its own that meets the whole target
together with what is measured first, all by one accountant. Which one is run depends on a released
number only: see ``SelectAndMeasure`` for the proof.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from winnow.core.checks import Real
from winnow.privacy import AnyOf, Compose, Event
from winnow.privacy.calibration import target_guarantee
from winnow.privacy.closed_plan import RoundsPlan, calibrate_rounds
from winnow.release.rounds.crossing.run_parts import RowsChoice
from winnow.release.terms import ReleaseTerms

STARTS = tuple(250 * 4**k for k in range(9))
"""From 250 to 16 million rows: within a factor of 2 of each there is a plan for it."""


@dataclass(frozen=True, eq=False)
class RoundsByRows:
    """A plan for each number of rows, and the whole that is charged."""

    choices: tuple[RowsChoice, ...]
    plans: tuple[RoundsPlan, ...]
    """Of each choice, as if it were the only one."""
    whole: RoundsPlan
    """The usual choice, with the event and the guarantee of all."""
    usual: tuple[int, ...]

    def plan(self, rows: int) -> tuple[RoundsPlan, tuple[int, ...]]:
        """The plan and the rounds of each task that are run for a noisy number of rows."""
        last = [i for i, each in enumerate(self.choices) if each.least_rows <= rows][-1:]
        place = (last or [0])[0]
        plan = replace(self.plans[place], event=self.whole.event, guarantee=self.whole.guarantee)
        return plan, self.choices[place].rounds


def rounds_by_rows(
    terms: ReleaseTerms,
    rounds: Callable[[int], list[int]],
    *,
    share: Real,
    law: str,
    initial: Event,
    usual: int,
) -> RoundsByRows:
    """The plans; ``rounds`` says how many each task gets for a number of rows."""
    delta = 0.0 if terms.pure else terms.delta
    choices, plans = [], []
    for start in STARTS:
        own = rounds(2 * start)
        plan = calibrate_rounds(
            sum(own),
            epsilon=terms.epsilon,
            delta=delta,
            relation=terms.relation,
            share=share,
            measurement=law,
            accountant="pure" if terms.pure else "zcdp",
            initial=initial,
        )
        plans.append(plan)
        multiplier, epsilon = plan.noise_multiplier, plan.selection_epsilon
        choices.append(RowsChoice(start, epsilon, multiplier, tuple(own)))
    loops = tuple(_loop(plan) for plan in plans)
    event = Compose((initial, AnyOf(loops)))
    place = max(i for i, start in enumerate(STARTS) if start <= usual)
    guarantee = target_guarantee(event, terms.epsilon, delta)
    whole = replace(plans[place], event=event, guarantee=guarantee)
    return RoundsByRows(tuple(choices), tuple(plans), whole, choices[place].rounds)


def _loop(plan: RoundsPlan) -> Event:
    """The rounds of a plan without what is measured first."""
    assert isinstance(plan.event, Compose)
    return plan.event.events[-1]
