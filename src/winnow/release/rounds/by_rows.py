"""Rounds that follow a noisy number of rows, where the number itself is private.

The best number of rounds grows with the root of the rows. A public table says how many are run
from how many noisy rows on; each line of it is a plan of its own that meets the whole target
together with what is measured first. Which one is run depends on a released number only: see
``SelectAndMeasure`` for the proof. All of them by one accountant; where no budget adds up rho, the
plans that are short enough then get what the tight accountant finds unused of delta: it takes the
choice as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from winnow.core.checks import Real, exact
from winnow.errors import GuaranteeError
from winnow.privacy import AnyOf, Compose, Event
from winnow.privacy.calibration import largest_tight, target_guarantee
from winnow.privacy.closed_plan import RoundsPlan, calibrate_rounds, more_precise
from winnow.privacy.rounding import at_most
from winnow.privacy.tight import QUICK_WORK, tight_delta
from winnow.release.rounds.crossing.run_parts import RowsChoice
from winnow.release.terms import ReleaseTerms

STARTS = tuple(250 * 4**k for k in range(9))
"""From 250 to 16 million rows: within a factor of 2 of each there is a plan for it."""

ALONE = 0.8
"""The part of delta that each plan alone may have: the choice among them costs the rest. Chosen on
plans for 20 to 10^5 cells at (1, 1e-6) and (0.3, 1e-9)."""
LESS = (1.0, 0.99, 0.98, 0.97)
"""What is tried of that precision; any of it is checked."""


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
    lengths: list[tuple[int, ...]] = []
    plans: list[RoundsPlan] = []
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
        lengths.append(tuple(own))
    if terms.accountant == "best" and delta:
        plans = _with_all_of_delta(plans, initial, terms)
    event = _whole(plans, initial)
    choices = [
        RowsChoice(start, plan.selection_epsilon, plan.noise_multiplier, own)
        for start, plan, own in zip(STARTS, plans, lengths, strict=True)
    ]
    place = max(i for i, start in enumerate(STARTS) if start <= usual)
    guarantee = target_guarantee(event, terms.epsilon, delta)
    whole = replace(plans[place], event=event, guarantee=guarantee)
    return RoundsByRows(tuple(choices), tuple(plans), whole, choices[place].rounds)


def _whole(plans: list[RoundsPlan], initial: Event) -> Event:
    """What is measured first, and then any of the plans."""
    return Compose((initial, AnyOf(tuple(_loop(plan) for plan in plans))))


def _loop(plan: RoundsPlan) -> Event:
    """The rounds of a plan without what is measured first."""
    assert isinstance(plan.event, Compose)
    return plan.event.events[-1]


def _with_all_of_delta(
    plans: list[RoundsPlan], initial: Event, terms: ReleaseTerms
) -> list[RoundsPlan]:
    """Each plan with the precision that it may have alone; then all with a little less, to fit.

    Plans that are too long for the tight accountant stay as they are.
    """
    target = at_most(exact("delta", terms.delta))
    gains = [_gain(plan, initial, terms.epsilon, ALONE * target) for plan in plans]
    with suppress(GuaranteeError):  # too costly a plan: all of it is left to rho
        for less in LESS:
            finer = [
                more_precise(plan, max(1.0, gain * less), initial)
                for plan, gain in zip(plans, gains, strict=True)
            ]
            if tight_delta(_whole(finer, initial), terms.epsilon) <= target:
                return finer
    return plans


def _gain(plan: RoundsPlan, initial: Event, epsilon: Real, target: float) -> float:
    """By which factor a plan alone could be more precise."""

    def delta_at(factor: float) -> float:
        event = more_precise(plan, factor, initial).event
        return tight_delta(event, epsilon, work=QUICK_WORK)

    with suppress(GuaranteeError):
        return largest_tight(delta_at, target, start=1.0, below=False) or 1.0
    return 1.0
