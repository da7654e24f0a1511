"""``winnow.plan.ask``: the plan that ``winnow.ask`` runs, from public facts alone.

A hypothesis, or independent noise on every answer? Both error bounds hold for all k answers at
once with probability 1 - beta. Independent Gaussian noise grows with sqrt(k), multiplicative
weights with log k: few questions are better answered one by one, very many from a hypothesis.
What is recommended has the smaller mean error to expect: a bound on all errors of a hypothesis is
far above what its answers usually miss.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from winnow.ask.compared import (
    HYPOTHESIS,
    SINGLE,
    WORDS,
    AskRow,
    row_of,
    ruled_rows,
    the_better,
    useless_row,
)
from winnow.ask.independent_sizing import sized_independent
from winnow.ask.methods import AskMethod, Independent, MultiplicativeWeights
from winnow.ask.open_session import answer_seconds
from winnow.ask.opening import Opened, opened_session
from winnow.ask.request import Ask
from winnow.ask.sizes import IndependentSizes, Sized, Sizes, WeightsSizes
from winnow.ask.sizing import sized_weights
from winnow.ask.sub_universe import said_cells
from winnow.ask.terms import Terms
from winnow.core.checks import exact
from winnow.core.notebook import Card, InNotebook, text_card
from winnow.core.options import AUTO, takes
from winnow.core.plan import Plan
from winnow.core.process import parse_memory
from winnow.core.schema import cells_text
from winnow.core.tape import Randomness
from winnow.errors import DataError, InputError, ParameterError, RelationMismatch
from winnow.foreign import guarded, shown
from winnow.privacy import Budget, to_json
from winnow.privacy.sizing import as_all_there_is
from winnow.read.about import AboutTable, about_table
from winnow.read.crossing import SealedTable, sealed_table

_BYTES_PER_CELL = 32


@dataclass(frozen=True, kw_only=True, eq=False)
class AskPlan(Plan[SealedTable, Any], InNotebook):
    """What ``winnow.ask`` charges, draws and promises, before rows are looked at."""

    about: AboutTable = field(repr=False)
    """What is public of the table."""
    asked: Ask = field(repr=False)
    expected: Sizes
    """The constants of the session; bounds and errors are fractions of the rows."""
    explicit: bool = True
    """Whether a hypothesis has the weight of every cell in memory."""

    @property
    def method(self) -> str:
        """How the session answers, in the word for it."""
        weights = isinstance(self.expected, WeightsSizes)
        return HYPOTHESIS if weights else SINGLE

    @property
    def error(self) -> float:
        """The mean error of an answer to expect, as a fraction of the rows."""
        return self.expected.typical

    @cached_property
    def compared(self) -> tuple[AskRow, ...]:
        """What each method promises here."""
        weights: WeightsSizes | None
        if isinstance(self.expected, WeightsSizes):
            weights, single = self.expected, _single(self.asked, self.about).sizes
        else:
            weights, single = _weights_or_none(self.asked, self.about), self.expected
        return (useless_row(HYPOTHESIS) if weights is None else row_of(weights)), row_of(single)

    @guarded  # a session is released answer by answer
    def run(  # type: ignore[override]
        self,
        data: SealedTable,
        *,
        budget: Budget | None = None,
        seed: int | None = None,
        state: str | Path | None = None,
    ) -> Opened:
        """Charge the budget for the whole session, and open it.

        ``state`` names a file from which ``winnow.resume`` goes on.
        """
        table = sealed_table(data)
        if table.relation is not self.relation:
            raise RelationMismatch(
                f"the plan is for data under {self.relation}, and these are under "
                f"{table.relation}; plan again for these"
            )
        self.about.check(about_table(table))
        Randomness(seed)  # refuses what is not an integer
        return opened_session(self, table, state=state, budget=budget, seed=seed)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        return {
            "method": self.method,
            "mechanism": self.name,
            "guarantee": self.guarantee.to_dict(),
            "event": to_json(self.event),
            "reason": self.reason,
            "error": self.error,
            "compared": [row.to_dict() for row in self.compared],
            "recommended": the_better(self.compared),
            "expected": self.expected.to_dict(),
        }

    def _card(self) -> Card:
        return text_card(str(self))

    def __str__(self) -> str:
        better, sizes = the_better(self.compared), self.expected
        lines = [
            f"{sizes.max_queries:,} questions about {sizes.rows:,} rows, "
            f"{cells_text(self.about.cells)} cells, epsilon={float(self.asked.epsilon):.6g}, "
            f"delta={float(self.asked.delta):.6g}, {self.relation.sentence}",
            "fractions of the rows; bounds hold for all answers together with probability "
            f"{1 - sizes.beta:g}",
            "",
            *ruled_rows(self.compared),
            "",
            f"recommended: {WORDS[better]}",
        ]
        if better != self.method:
            lines.append(f"taken, as asked: {WORDS[self.method]}")
        return "\n".join(lines)


@takes(Ask)
def ask(about: AboutTable | SealedTable, asked: Ask) -> AskPlan:
    """Predict what ``winnow.ask`` charges and how far off it is; nothing is read or spent.

    ``about`` is a sealed table, of which only what is public is looked at, or
    ``wn.plan.table(schema, rows=)`` where there is none yet. The options are those of
    ``winnow.ask``. The plan says how questions are answered and why, what the session is charged
    and which errors are to be expected; ``plan.run(table, budget=)`` opens it.
    """
    return asked.plan(about)


@as_all_there_is
def planned(asked: Ask, about: AboutTable | SealedTable) -> AskPlan:
    """The plan of a request, by what is public of the table."""
    public = about_table(about)
    method = asked.method
    if method == AUTO:
        return _chosen(asked, public)
    if not isinstance(method, AskMethod):
        raise ParameterError(
            f"method={shown(method)} does not answer questions; give wn.MultiplicativeWeights(), "
            "wn.Independent() or a word"
        )
    return method.plan(asked, public)


def _chosen(asked: Ask, about: AboutTable) -> AskPlan:
    """The method with the smaller mean error to expect, and why."""
    single = _single(asked, about)
    try:
        plan = weights(MultiplicativeWeights(), asked, about)
    except InputError:
        why = "recommended: multiplicative weights would learn nothing here"
        return _independent(asked, about, single, why)
    compared = (
        f"recommended: a mean error of about {{:.3g}} against {{:.3g}} for "
        f"{int(asked.max_queries):,} questions"
    )
    other = single.sizes.typical
    if plan.error < other or single.sizes.bound >= 1:
        return replace(plan, reason=f"{plan.reason}; {compared.format(plan.error, other)}")
    return _independent(asked, about, single, compared.format(other, plan.error))


def independent(asked: Ask, about: AboutTable) -> AskPlan:
    """Noise on every answer."""
    why = f"as asked; {int(asked.max_queries)} questions"
    return _independent(asked, about, _single(asked, about), why)


def weights(method: MultiplicativeWeights, asked: Ask, about: AboutTable) -> AskPlan:
    """A hypothesis that learns."""
    explicit = _BYTES_PER_CELL * about.cells <= parse_memory(method.memory)
    sized = _weights(method, asked, about, explicit=explicit)
    why = f"{method.calibration}; {int(asked.max_queries)} questions"
    return made(asked, about, sized, why, explicit=explicit)


def made(
    asked: Ask, about: AboutTable, sized: Sized[Any], reason: str, *, explicit: bool = True
) -> AskPlan:
    """The plan of a session with these constants."""
    mechanism = sized.sizes.mechanism
    mechanism.check(about.rows_per_person)
    return AskPlan(
        mechanism=mechanism,
        relation=about.relation,
        guarantee=sized.guarantee,
        draw=mechanism.open,
        reason=reason,
        seconds=answer_seconds(about.cells),
        about=about,
        asked=asked,
        expected=sized.sizes,
        explicit=explicit,
    )


def _independent(
    asked: Ask, about: AboutTable, sized: Sized[IndependentSizes], reason: str
) -> AskPlan:
    if sized.sizes.bound >= 1:
        raise ParameterError(
            "with independent noise an answer could be off by all rows, so nothing would be "
            "learned; ask for a larger epsilon, fewer questions, or more rows"
        )
    return made(asked, about, sized, reason)


def compared(asked: Ask, about: AboutTable) -> tuple[AskRow, ...]:
    """What each method promises, also where no session can be opened."""
    if asked.method in (AUTO, Independent(), MultiplicativeWeights()):
        weights = _weights_or_none(asked, about)
        other = row_of(_single(asked, about).sizes)
        return (useless_row(HYPOTHESIS) if weights is None else row_of(weights)), other
    return asked.plan(about).compared


def _single(asked: Ask, about: AboutTable) -> Sized[IndependentSizes]:
    """Under a budget: what its rho pays for, without the delta that it keeps for other events."""
    terms, budget = _terms(asked, about), asked.budget
    if budget is None:
        return sized_independent(terms)
    delta, reserved = exact("delta", asked.delta), exact("delta", budget.left.delta_cap)
    if budget.accountant == "zcdp" and reserved < delta:
        delta -= reserved
    return sized_independent(replace(terms, accountant="zcdp", delta=delta))


def _weights_or_none(asked: Ask, about: AboutTable) -> WeightsSizes | None:
    try:
        return _weights(MultiplicativeWeights(), asked, about, explicit=True).sizes
    except InputError:
        return None


def _weights(
    method: MultiplicativeWeights, asked: Ask, about: AboutTable, *, explicit: bool
) -> Sized[WeightsSizes]:
    """Under a budget: with a lost mass beside a rho."""
    terms, budget = _terms(asked, about), asked.budget
    universe, listed = said_cells(about.schema, method.universe)
    shape = None if about.schema is None or not explicit else about.schema.shape
    terms = replace(terms, method=method, universe=universe, listed=listed, shape=shape)
    if budget is None:
        return sized_weights(terms)
    lost = min(exact("delta", budget.left.delta), exact("delta", asked.delta) / 2)
    if budget.accountant == "pure" or lost <= 0:
        raise ParameterError(
            "multiplicative weights need a budget with a delta of which a part is left for "
            "events: open it with delta= (and delta_for_events= for accountant='zcdp' or "
            "'gaussian'); or use method='independent'"
        )
    return sized_weights(replace(terms, accountant="zcdp", lost=lost))


def _terms(asked: Ask, about: AboutTable) -> Terms:
    """The public numbers that sizes follow from."""
    if about.rows is None:
        raise ParameterError(
            "the number of rows is private here and answers are fractions of it; give a public "
            "number with rows= where the table is read"
        )
    if about.rows < 1:
        raise DataError("the table has no rows; there is nothing to ask")
    return Terms(
        cells=about.cells,
        rows=about.rows,
        epsilon=asked.epsilon,
        delta=asked.delta,
        max_queries=int(asked.max_queries),
        beta=asked.beta,
        relation=about.relation,
        rows_per_person=about.rows_per_person,
    )
