"""``winnow.plan.tabulate``: the plan that ``winnow.tabulate`` runs, from public numbers alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from winnow.core.checks import Real
from winnow.core.key import Key
from winnow.core.notebook import Card, Printed, lines_card
from winnow.core.options import takes
from winnow.core.padding import Padding
from winnow.core.plan import Plan
from winnow.core.released import Released
from winnow.core.unit import about_counted
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.privacy import Budget
from winnow.privacy.sizing import as_all_there_is, first_that_fits, table_sizings
from winnow.read.about import AboutTable, about_table
from winnow.read.counts import SealedCounts
from winnow.read.crossing import SealedTable, sealed_table
from winnow.release.tables.auto_bound import tables_with_auto_bound
from winnow.release.tables.estimates import layer_of
from winnow.release.tables.expected import SCOPE, StrategyRow, TableRow, TablesExpected, expected_of
from winnow.release.tables.keys import keys_expected, keys_plan
from winnow.release.tables.parts import tables_workload
from winnow.release.tables.request import PlannedTabulate, Tabulate
from winnow.release.tables.result import ReleasedTables
from winnow.release.tables.settings import TablesSettings, tables_settings
from winnow.release.terms import ReleaseTerms
from winnow.select.about import AboutScores
from winnow.select.about import about as about_counts
from winnow.select.auto_bound import AutoBoundPlan
from winnow.select.beside import charged_with, cut_of, run_beside
from winnow.select.mechanisms.cut_away import MeasureCut

_SECONDS, _SECONDS_OF_ANSWER = 0.25, 1e-5
"""Not measured: with the usual spare they give what a server waits for, 1 s and 40 us an answer."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TabulatePlan(Printed, Plan[Any, ReleasedTables]):
    """What ``winnow.tabulate`` charges, draws and promises, before rows are looked at."""

    asked: Tabulate = field(repr=False)
    about: AboutTable | AboutScores = field(repr=False)
    """What is public of the table, or of the counts."""
    release: Plan[Any, ReleasedTables] = field(repr=False)
    """The plan of the tables alone, where an estimate of what was left out stands beside them."""
    settings: TablesSettings | None = field(default=None, repr=False)
    """What is measured of a table, and with which noise; None: of counts."""
    cut: MeasureCut | None = field(default=None, repr=False)

    @property
    def epsilon(self) -> float:
        """The epsilon that was asked for, or found for a wanted error."""
        return float(self.asked.epsilon)

    @cached_property
    def expected(self) -> TablesExpected:
        """What to expect of every table, and of every strategy."""
        if self.settings is not None:
            return expected_of(self.settings)
        assert isinstance(self.about, AboutScores)
        return keys_expected(self.release, self.about)

    @property
    def error(self) -> float | None:
        """The largest error to expect over all tables, in rows; None: the keys are private."""
        if self.settings is not None:  # not the errors of each table, of which there may be many
            return self.settings.strategy.errors.largest
        return self.compared[0].largest if self.compared else None

    @property
    def strategy(self) -> str:
        """What is measured, and with which noise."""
        return self.expected.strategy

    @property
    def rows(self) -> tuple[TableRow, ...]:
        """What to expect of each table."""
        return self.expected.rows

    @property
    def compared(self) -> tuple[StrategyRow, ...]:
        """All strategies that were looked at, the one that is taken first."""
        return self.expected.compared

    @property
    def answers(self) -> int | None:
        """How many answers all tables have; None: the keys are private."""
        return _answers(self.settings, self.about)

    @guarded
    def run(
        self,
        data: SealedTable | SealedCounts,
        *,
        budget: Budget | None = None,
        seed: int | None = None,
        padding: Padding | None = None,
    ) -> Released[ReleasedTables]:
        """Charge the budget, draw all tables, and release them with their errors."""
        hold = padding or self.asked.running.padding()
        if self.cut is None:
            return super().run(data, budget=budget, seed=seed, padding=hold)
        ready = self.ready(data)
        return run_beside(
            self.cut, self.release, ready, data.people, budget=budget, seed=seed, padding=hold
        )

    def ready(self, data: Any) -> Any:
        """The data as the draw takes them; those of another plan are refused."""
        if isinstance(self.about, AboutTable):
            table = sealed_table(data)
            about = about_table(table)
            self.about.check(about)
            self.about.check_known(about)
            return table
        if not isinstance(data, SealedCounts):
            raise ParameterError(
                f"the plan is for counts, and this is a {type(data).__name__}; give wn.counts(...)"
            )
        self.about.check(data)
        return data.to_scores() if data.domain_known else data

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        about = self.about
        if isinstance(about, AboutTable):
            bound = {"rows_per_person": about.rows_per_person}
        else:
            bound = {"max_items": about.max_items or 1}
        return {
            "epsilon": self.epsilon,
            "delta": float(self.asked.delta),
            "relation": str(self.relation),
            **bound,
            "counted": self.about.counted,
            "total": self.expected.total,
            "strategy": self.strategy,
            "mechanism": self.name,
            "guarantee": self.guarantee.to_dict(),
            "reason": self.reason,
            "error": self.error,
            "seconds": self.seconds,
            "rows": [asdict(row) for row in self.rows],
            "compared": [asdict(row) for row in self.compared],
            "scope": SCOPE,
        }

    def table(self) -> list[list[str]]:
        """The plan as a table, its first line the headings."""
        lines = [["table", "answers", "standard error", "mean", "largest", "plain noise"]]
        lines += [
            [row.table, f"{row.answers:,}", f"{row.standard_error:,.3g}", f"{row.mean:,.3g}",
             f"{row.largest:,.3g}", f"{row.plain_largest:,.3g}"]
            for row in self.rows
        ]  # fmt: skip
        return lines

    def _title(self) -> str:
        return (
            f"epsilon={self.epsilon:.6g}, delta={float(self.asked.delta):.6g}, "
            f"{self.relation.sentence}, the number of rows is {self.expected.total}"
        )

    @property
    def counted(self) -> str:
        """What of each person is counted, where that may not be all; empty: all is."""
        what = self.about.counted
        return f"counted: {about_counted(what)}" if what else ""

    def _card(self) -> Card:
        lead = [f"by {self.strategy}", self.counted]
        card = lines_card(self._title(), self.table(), SCOPE, lead=lead)
        return card if len(self.compared) < 2 else replace(card, parts=self._strategies)

    def _strategies(self) -> list[Card]:
        heads = ["strategies compared", "measured tables", "largest", "mean"]
        rows = [
            [row.strategy, f"{row.tables:,}", f"{row.largest:,.3g}", f"{row.mean:,.3g}"]
            for row in self.compared
        ]
        return [lines_card("", [heads, *rows])]


@takes(PlannedTabulate)
def tabulate(
    about: AboutTable | SealedTable | AboutScores | SealedCounts, asked: PlannedTabulate
) -> TabulatePlan | AutoBoundPlan:
    """Predict what ``winnow.tabulate`` charges and how far off it is; nothing is read or spent.

    ``about`` is a sealed table or counts, of which only what is public is looked at, or
    ``wn.plan.table(schema)`` or ``wn.plan.counts(...)`` where there are none yet. The options are
    those of ``winnow.tabulate``; in the place of ``epsilon`` may stand the largest ``error`` in
    rows that is to be expected over all tables: the plan is then for the least epsilon (to four
    digits) that brings it. The plan says what is measured and why, what it is charged, and the
    errors of every table; ``plan.run(table, budget=)`` releases them.
    """
    return asked.plan(about)


@as_all_there_is
def planned(asked: Tabulate, given: Any) -> TabulatePlan | AutoBoundPlan:
    """The plan of a request, by what is public of the table or the counts."""
    public = about_of(given)
    if public.choice is not None:
        return tables_with_auto_bound(asked, public, planned_under)
    return planned_under(asked, public)


def planned_under(asked: Tabulate, given: AboutTable | AboutScores) -> TabulatePlan:
    """The plan for data whose bound on a person is known."""
    return first_that_fits(
        lambda sizing: _planned(asked, given, sizing),
        table_sizings(asked.budget, asked.delta),
        asked.budget,
    )


def _planned(asked: Tabulate, public: AboutTable | AboutScores, sizing: str) -> TabulatePlan:
    """The plan with noise that is sized in this way."""
    cut, epsilon = cut_of(asked.with_cut, asked.epsilon, public.bound)
    settings: TablesSettings | None = None
    if isinstance(public, AboutTable):
        settings = _settings(asked, public, epsilon, sizing)
        plan = _tables(settings, public)
    else:
        if asked.by is not None or len(asked.values):
            raise ParameterError("counts are a table by themselves; leave out by= and values=")
        plan = keys_plan(public, epsilon, asked.delta)
    seconds = _SECONDS + _SECONDS_OF_ANSWER * (_answers(settings, public) or 0)
    plan = replace(plan, seconds=seconds)
    charged = charged_with(cut, plan)
    return TabulatePlan(
        **charged.fixed(), asked=asked, about=public, release=plan, settings=settings, cut=cut
    )


def _answers(settings: TablesSettings | None, public: AboutTable | AboutScores) -> int | None:
    if settings is not None:
        return sum(part.size for part in settings.parts)
    return public.candidates if isinstance(public, AboutScores) else None


def about_of(given: Any) -> AboutTable | AboutScores:
    """What is public of a table or of counts, or what was said of some that are still to come."""
    if isinstance(given, SealedCounts | AboutScores):
        public = about_counts(given)
        assert isinstance(public, AboutScores)
        if public.groups is not None:
            raise ParameterError(
                "counts of groups are for lists of each group, wn.top_k; count without by="
            )
        return public
    return about_table(given, choosing=True)


def _settings(asked: Tabulate, public: AboutTable, epsilon: Real, sizing: str) -> TablesSettings:
    if public.schema is None:
        raise ParameterError("tables need the columns of their table; give wn.plan.table(schema)")
    known = 1 if public.rows_are_public else None  # that it is known matters, not what it is
    memory = asked.running.memory
    terms = ReleaseTerms(
        tables_workload(public.schema, asked.by, memory),
        epsilon,
        asked.delta,
        public.relation,
        public.rows_per_person,
        known if public.rows is None else public.rows,
        sizing,
        memory,
    )
    return tables_settings(terms, values=asked.values, objective=asked.objective)


def _tables(settings: TablesSettings, public: AboutTable) -> Plan[SealedTable, ReleasedTables]:
    """The release of tables by the strategy that was chosen."""
    mechanism, geometry = settings.strategy.mechanism, settings.strategy.geometry

    def tables(table: SealedTable, key: Key) -> ReleasedTables:
        numbers = mechanism.drawn(table, key)
        total = None
        if public.rows_are_public:
            total = table.n if public.rows is None else public.rows
        layers = [layer_of(geometry, mechanism, numbers, total=total)]
        layers += [
            layer_of(geometry, mechanism, numbers, values=i) for i in range(len(settings.values))
        ]
        return ReleasedTables(settings.parts, tuple(layers), mechanism.law, settings.values)

    return Plan(
        mechanism=mechanism,
        relation=public.relation,
        guarantee=settings.guarantee,
        draw=tables,
        check=mechanism.check,
        reason=settings.reason,
    )
