"""The plan of a release whose bound on a person is chosen by a look at their numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeVar

from winnow.core.checks import Real, exact
from winnow.core.chosen_bound import ChosenBound
from winnow.core.key import Key
from winnow.core.notebook import Card, Printed, lines_card
from winnow.core.padding import Padding
from winnow.core.plan import Plan
from winnow.core.released import Released
from winnow.core.unit import Unit
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.privacy import Budget
from winnow.read.bound_choice import AboutChoice, BoundChoice
from winnow.read.counts import SealedCounts
from winnow.select.compared_bounds import NoiseUnderBounds, best, compared, pays_from
from winnow.select.mechanisms.people_look import BoundFromLook, PeopleLook

P = TypeVar("P", bound=Plan[Any, Any])

SHARE = Fraction(1, 10)
"""Of epsilon, for the look."""
SMALL_SHARE = Fraction(1, 20)
"""Of epsilon, where many answers share what it costs: an error of the look weighs less there. Both
were chosen on generated people (``benchmarks/bounds.py``)."""
MANY_ANSWERS = 1000
"""From so many answers on they are many."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AutoBoundPlan(Printed, Plan[Any, Any]):
    """A look at people, and the plan of the release under every bound that may come of it."""

    mechanism: BoundFromLook
    choice: AboutChoice = field(repr=False)
    plans: tuple[Plan[Any, Any], ...] = field(repr=False)
    """One for each bound."""
    noise: NoiseUnderBounds = field(repr=False)
    """What is compared of them."""
    accepts: Callable[[Any], None] = field(repr=False)
    """Refuses data of another kind, before anything is charged."""

    @property
    def epsilon(self) -> float:
        """The privacy loss in total."""
        return float(self.guarantee.epsilon)

    @property
    def answers(self) -> int | None:
        """How many answers the release has under any bound; None: that is private."""
        return getattr(self.plans[0], "answers", None)

    @property
    def error(self) -> None:
        """Not known: it goes by how much people have."""
        return None

    def ready(self, data: Any) -> Any:
        """The data with the numbers of people, read now; those of another plan are refused."""
        choice = getattr(data, "choice", None)
        if not isinstance(choice, BoundChoice):
            raise ParameterError(
                f"the plan chooses a bound on the {self.choice.what}s of a person, and these data "
                "were read with one; plan again for these"
            )
        self.accepts(data)
        if choice.about.grid != self.choice.grid:
            raise ParameterError("the plan compares other bounds; plan again for these data")
        return replace(data, choice=choice.read())

    @guarded
    def run(
        self,
        data: Any,
        *,
        budget: Budget | None = None,
        seed: int | None = None,
        padding: Padding | None = None,
    ) -> Released[Any]:
        """Charge the budget, look, choose the bound, and release under it."""
        drawn = super().run(data, budget=budget, seed=seed, padding=padding)
        value, chosen, unit = drawn.value
        released: Released[Any] = replace(drawn.map(lambda _: value), bound=chosen)
        return released.about(unit).because(str(chosen))

    def ran(self, released: Released[Any]) -> Any:
        """The plan of the release under the bound that was chosen."""
        assert released.bound is not None  # ``run`` says it
        return self.plans[self.choice.grid.index(released.bound.bound)]

    @property
    def rows(self) -> tuple[tuple[int, float, float | None], ...]:
        """Every bound with its noise, and of how many people with more it is worth that noise."""
        noise = self.noise
        return tuple(zip(noise.grid, noise.noise, pays_from(noise), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        return {
            "mechanism": self.name,
            "epsilon": self.epsilon,
            "guarantee": self.guarantee.to_dict(),
            "relation": str(self.relation),
            "look": float(self.mechanism.look.epsilon),
            "bounds": [
                {"bound": bound, "noise": noise, "pays_from": worth}
                for bound, noise, worth in self.rows
            ],
        }

    def table(self) -> list[list[str]]:
        """The bounds as a table, its first line the headings."""
        lines = [["bound", "noise", "pays from"]]
        for bound, noise, worth in self.rows:
            people = "-" if worth is None else f"{worth:,.3g} people"
            lines.append([f"{bound:,}", f"{noise:,.4g}", people])
        return lines

    def _card(self) -> Card:
        return lines_card(f"{self.name}, {self.guarantee}", self.table(), _MEANINGS)


_MEANINGS = (
    "bound: so much of each person counts at most. noise: the error of one answer under it. pays "
    "from: with so many people who have more than the bound before, it is better than that one. "
    "The release looks at how many people have how much, and takes the best. No data were read, "
    "nothing was spent."
)


def share_for(answers: float | None) -> Fraction:
    """The part of epsilon that the look gets."""
    return SMALL_SHARE if answers is not None and answers >= MANY_ANSWERS else SHARE


def plan_with_auto_bound(
    choice: AboutChoice,
    epsilon: Real,
    planned: Callable[[Fraction, int], P],
    noise: Callable[[list[P]], NoiseUnderBounds],
    *,
    accepts: Callable[[Any], None],
    share: Fraction = SHARE,
) -> AutoBoundPlan:
    """The plan of a release at an epsilon, a share of which is for the look.

    ``planned`` makes the plan of a release at an epsilon, for data under one bound.
    """
    total = exact("epsilon", epsilon)
    plans = [planned(total * (1 - share), bound) for bound in choice.grid]
    look = PeopleLook(total * share, choice.grid)
    both = BoundFromLook(look, tuple(plan.mechanism for plan in plans), plans[0].name)
    stated = [plan.guarantee for plan in plans]
    dearest = replace(
        max(stated, key=lambda each: each.delta), epsilon=max(each.epsilon for each in stated)
    )
    relation, under = plans[0].relation, noise(plans)

    def check(data: Any) -> None:
        """Refuse what could not be drawn under some bound: no bound makes the numbers larger."""
        if not isinstance(data, SealedCounts):  # a table is read under the largest bound
            plans[-1].check(data)
            return
        for bound, plan in zip(choice.grid, plans, strict=True):
            plan.check(plan.ready(replace(data, max_items=bound, choice=None)))

    def drawn(data: Any, key: Key) -> tuple[Any, ChosenBound, Unit]:
        bounds: BoundChoice = data.choice
        assert bounds.numbers is not None  # by ``ready``
        noisy = look.drawn(bounds.numbers, relation, key.child("look"))
        rows = compared(under, noisy, float(look.scale(relation)) * 2**0.5)
        bound = best(rows)
        plan, bounded = plans[choice.grid.index(bound)], bounds.under(bound)
        ready = plan.ready(bounded)
        plan.check(ready)
        value = plan.draw(ready, key.child("release"))
        chosen = ChosenBound(
            bounds.about.who,
            bounds.about.what,
            bound,
            float(look.epsilon),
            under.meaning,
            tuple(rows),
        )
        return value, chosen, bounded.unit

    return AutoBoundPlan(
        mechanism=both,
        relation=relation,
        guarantee=both.guarantee(dearest),
        draw=drawn,
        check=check,
        seconds=max(plan.seconds for plan in plans),
        choice=choice,
        plans=tuple(plans),
        noise=under,
        accepts=accepts,
    )
