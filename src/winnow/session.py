"""Several releases about the same people under one budget, kept in a ledger if one is named."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import count as count_from
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from winnow.ask.opening import Opened
from winnow.ask.request import Ask
from winnow.core.checks import Real
from winnow.core.options import takes
from winnow.core.plan import Plan
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.core.tape import Randomness
from winnow.describe.request import Describe
from winnow.describe.result import Description
from winnow.errors import ParameterError, RelationMismatch
from winnow.foreign import guarded, shown
from winnow.inner_product.boosting import Ensemble
from winnow.inner_product.crossing import SealedExamples
from winnow.inner_product.request import Boost, Mips
from winnow.inner_product.vectors import SealedQuery
from winnow.inner_product.verb import boosted, searched
from winnow.itemsets.request import Itemsets
from winnow.itemsets.verb import mined
from winnow.learn.labelled import labelled
from winnow.learn.predictor import Predictor
from winnow.learn.verb import learn
from winnow.lp.request import Lp
from winnow.lp.sealing import LpProblem
from winnow.lp.solution import LpSolution
from winnow.lp.verb import solved as solved_program
from winnow.numbers.bounds.request import Bounds
from winnow.numbers.bounds.result import ReleasedBounds
from winnow.numbers.histogram.request import Histogram
from winnow.numbers.histogram.result import ReleasedHistogram
from winnow.numbers.moments.request import Moments
from winnow.numbers.moments.result import ReleasedMoments
from winnow.numbers.regress.request import Regression
from winnow.numbers.regress.result import ReleasedRegression
from winnow.numbers.request import Quantiles
from winnow.numbers.result import ReleasedQuantiles
from winnow.privacy import Budget
from winnow.privacy.ledger import Ledger, RecordedBudget
from winnow.read.baskets import SealedBaskets
from winnow.read.counts import SealedCounts
from winnow.read.crossing import SealedTable, column_counts, fingerprint, sealed_table
from winnow.read.table_plan import released_of
from winnow.release.request import Release
from winnow.release.synthetic import SyntheticDistribution
from winnow.release.tables.request import Tabulate
from winnow.release.tables.result import ReleasedTables
from winnow.release.tables.verb import tabulated
from winnow.release.verb import released as released_answers
from winnow.select.about import sealed_counts, sealed_scores
from winnow.select.crossing.selection import SparseVectorStream
from winnow.select.mechanisms.sparse_vector import AboveAnswer
from winnow.select.request import Above, FindLabels, Select, TopK
from winnow.select.verb import compared, discovered, most_common, open_above, selected

Asked = TypeVar(
    "Asked", Above, Ask, Boost, Bounds, Describe, FindLabels, Histogram, Itemsets, Lp, Mips,
    Moments, Quantiles, Regression, Release, Select, Tabulate, TopK,
)  # fmt: skip


class Session:
    """Several releases about the same people, under one budget and one neighbour relation.

    The guarantee of everything released together is the cap (epsilon, delta), whatever is asked
    and in whatever order.

    With ``ledger`` (a file, or a postgresql:// address) and ``dataset`` (a label that you choose),
    every charge is recorded before its noise is drawn. A later session on the same label continues
    with what is left. Its cap is the one that was fixed first, so epsilon and delta may be left
    out.

    With a ``table``, verbs take names of its columns: ``session.top_k("occupation", k=5,
    epsilon=0.2)``.

    ``budget`` is a budget of your own: ``wn.Budget(..., unit=)``, or one of a ledger,
    ``winnow.privacy.ledger.RecordedBudget(ledger, dataset, analyst=)``.

    A session has one privacy unit: that of its table, of its budget, or of its first release.
    Releases about another unit are refused.
    """

    @guarded
    def __init__(
        self,
        table: SealedTable | None = None,
        *,
        epsilon: Real | None = None,
        delta: Real = 0.0,
        relation: str | Relation | None = None,
        accountant: str | None = None,
        delta_for_events: Real = 0.0,
        ledger: str | Path | Ledger | None = None,
        dataset: str | None = None,
        budget: Budget | None = None,
        seed: int | None = None,
    ) -> None:
        if seed is not None:
            Randomness(seed)  # refuses what is not an integer
        if table is not None:
            sealed_table(table, choosing=True)
        caps: dict[str, Any] = {
            "epsilon": epsilon,
            "delta": delta,
            "relation": _relation(relation, table),
            "accountant": accountant,
            "delta_for_events": delta_for_events,
            "unit": None if table is None else table.unit,
        }
        if budget is not None:
            own = caps | {"relation": relation, "unit": None}
            _refuse_beside(budget, ledger=ledger, dataset=dataset, **own)
            self.budget = budget
        elif ledger is None:
            if dataset is not None:
                raise ParameterError("dataset= belongs to a ledger; give ledger=, too")
            if epsilon is None:
                raise ParameterError("a session needs its cap; give epsilon=")
            self.budget = Budget(**caps)
        else:
            self.budget = _recorded(ledger, dataset, caps, relation)
        self.relation = self.budget.relation
        self._table = None if table is None else table.under(self.relation)
        if self._table is not None and isinstance(self.budget, RecordedBudget):
            _warn_of_other_labels(self.budget, self._table)
        self._seeds = None if seed is None else count_from(int(seed) << 32)

    @guarded
    def run(self, plan: Plan[Any, Any], data: Any = None) -> Any:
        """Run a plan on data, or on this session's table, charged to its budget.

        What is charged is ``plan.event``, and what comes out is that of ``plan.run``: a release,
        or for ``wn.plan.ask`` a session that answers.
        """
        if not isinstance(plan, Plan):
            raise ParameterError(
                f"{shown(plan)} is not a plan; make one with wn.plan, or call a verb"
            )
        seed = None if self._seeds is None else next(self._seeds)
        given = self._own_table() if data is None else data
        return plan.run(given, budget=self.budget, seed=seed)

    @takes(Select, of=object)
    def select(self, scores: Any, asked: Select) -> Released[Any]:
        """``winnow.select`` charged to this session's budget."""
        return selected(sealed_scores(scores, self.relation), self._paid(asked))

    @takes(TopK, of=object)
    def top_k(self, counts: Any, asked: TopK) -> Released[Any]:
        """``winnow.top_k`` charged to this session's budget; a text names a table's column."""
        if isinstance(counts, str):
            counts = column_counts(self._own_table(), counts)
        return most_common(sealed_counts(counts, self.relation), self._paid(asked))

    @takes(FindLabels, of=object)
    def labels(self, counts: Any, asked: FindLabels) -> Released[list[Any]]:
        """``winnow.labels`` charged to this session's budget."""
        return discovered(sealed_counts(counts, self.relation), self._paid(asked))

    @takes(Above, of=object)
    def above(self, values: Any, asked: Above) -> Released[AboveAnswer]:
        """``winnow.above`` charged to this session's budget."""
        return compared(sealed_scores(values, self.relation), self._paid(asked))

    @guarded
    def open_above(self, *, threshold: Real, epsilon: Real, **options: Any) -> SparseVectorStream:
        """``winnow.open_above`` charged to this session's budget."""
        return open_above(threshold=threshold, epsilon=epsilon, **self._under_this_budget(options))

    @guarded
    def release(
        self, *given: Any, epsilon: Real, **options: Any
    ) -> Released[SyntheticDistribution]:
        """``winnow.release`` charged to this session's budget, in the budget's own unit.

        Give the workload, for this session's table, or a table and its workload.
        """
        table, workload = self._with_table(given)
        asked = Release(workload, epsilon=epsilon, **options)
        return released_answers(sealed_table(table, self.relation), self._paid(asked))

    @takes(Tabulate)
    def tabulate(self, asked: Tabulate) -> Released[ReleasedTables]:
        """``winnow.tabulate`` of this session's table, charged to its budget.

        Counts of items (``wn.counts``) in the place of ``by`` are tabulated instead of the table.
        """
        if isinstance(asked.by, SealedCounts):
            return tabulated(asked.by, self._paid(replace(asked, by=None)))
        return tabulated(self._own_table(), self._paid(asked))

    @takes(Bounds)
    def bounds(self, asked: Bounds) -> Released[ReleasedBounds]:
        """``winnow.bounds`` of this session's table, charged to its budget."""
        return released_of(self._own_table(), self._paid(asked))

    @takes(Moments)
    def moments(self, asked: Moments) -> Released[ReleasedMoments]:
        """``winnow.moments`` of this session's table, charged to its budget."""
        return released_of(self._own_table(), self._paid(asked))

    @takes(Regression)
    def regress(self, asked: Regression) -> Released[ReleasedRegression]:
        """``winnow.regress`` of this session's table, charged to its budget."""
        return released_of(self._own_table(), self._paid(asked))

    @takes(Quantiles)
    def quantiles(self, asked: Quantiles) -> Released[ReleasedQuantiles]:
        """``winnow.quantiles`` of this session's table, charged to its budget."""
        return released_of(self._own_table(), self._paid(asked))

    @takes(Histogram)
    def histogram(self, asked: Histogram) -> Released[ReleasedHistogram]:
        """``winnow.histogram`` of this session's table, charged to its budget."""
        return released_of(self._own_table(), self._paid(asked))

    @takes(Describe)
    def describe(self, asked: Describe) -> Released[Description]:
        """``winnow.describe`` of this session's table, charged to its budget."""
        return released_of(self._own_table(), self._paid(asked))

    @takes(Ask)
    def ask(self, asked: Ask) -> Opened:
        """``winnow.ask`` on this session's table, charged to its budget.

        Unless ``method`` is "independent", it needs a part of the budget's delta for itself.
        """
        return self._paid(asked).open(self._own_table())

    @guarded
    @takes(Itemsets, of=object)
    def itemsets(self, baskets: SealedBaskets, asked: Itemsets) -> Released[Any]:
        """``winnow.itemsets`` charged to this session's budget."""
        return mined(baskets, self._paid(asked))

    @guarded
    def learn(self, X: Any, y: Any = None, *, epsilon: Real, **options: Any) -> Released[Predictor]:
        """``winnow.learn`` charged to this session's budget; X is read under its relation."""
        options = self._under_this_budget(options)
        rows = labelled(X, y, relation=options.pop("relation"))
        return learn(rows, epsilon=epsilon, **options)

    @takes(Lp, of=object)
    def lp(self, problem: LpProblem, asked: Lp) -> Released[LpSolution]:
        """``winnow.lp`` charged to this session's budget."""
        return solved_program(problem, self._paid(asked))

    @takes(Mips, of=object, beside=object)
    def mips(self, candidates: Any, query: SealedQuery, asked: Mips) -> Released[Any]:
        """``winnow.mips`` charged to this session's budget."""
        return searched(candidates, query, self._paid(asked))

    @takes(Boost, of=object)
    def boost(self, examples: SealedExamples, asked: Boost) -> Released[Ensemble]:
        """``winnow.boost`` charged to this session's budget."""
        return boosted(examples, self._paid(asked))

    def _with_table(self, asked: tuple[Any, ...]) -> tuple[SealedTable, Any]:
        """A table and a workload, where both or only the workload were given."""
        match asked:
            case (workload,) if not isinstance(workload, SealedTable):
                return self._own_table(), workload
            case (table, workload):
                return table, workload
        raise ParameterError("say what to release: a workload, or a table and a workload")

    def _own_table(self) -> SealedTable:
        if self._table is None:
            raise ParameterError(
                "this session was opened without a table; give it: Session(table, ...)"
            )
        return self._table

    def _under_this_budget(self, options: dict[str, Any]) -> dict[str, Any]:
        relation = Relation.parse(options.pop("relation", self.relation))
        if relation is not self.relation:
            raise RelationMismatch(
                f"this session is under {self.relation} and this call under {relation}; use one "
                "relation for all releases of a session"
            )
        if "budget" in options:
            raise ParameterError("a session charges its own budget; leave out budget=")
        if "seed" not in options and self._seeds is not None:
            options["seed"] = next(self._seeds)
        return options | {"relation": relation, "budget": self.budget}

    def _paid(self, asked: Asked) -> Asked:
        """A request that this session's budget pays."""
        if asked.budget is not None:
            raise ParameterError("a session charges its own budget; leave out budget=")
        seed = asked.seed
        if seed is None and self._seeds is not None:
            seed = next(self._seeds)
        return replace(asked, budget=self.budget, seed=seed)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing to close: the budget lives as long as the session."""

    def __repr__(self) -> str:
        return f"Session({self.budget!r})"


def _relation(relation: str | Relation | None, table: SealedTable | None) -> Relation:
    if relation is not None:
        return Relation.parse(relation)
    return Relation.ADD_REMOVE if table is None else table.relation


def _refuse_beside(budget: Budget, **said: Any) -> None:
    """Refuse what a budget says already; a relation may be said again if it is the same."""
    if not isinstance(budget, Budget):
        raise ParameterError(
            f"budget={shown(budget)} is not a budget; give wn.Budget(epsilon, delta)"
        )
    relation = said.pop("relation")
    if relation is not None and budget.relation is not Relation.parse(relation):
        raise RelationMismatch(f"the budget is under {budget.relation}, not {relation}")
    for name, value in said.items():
        if value:
            raise ParameterError(f"budget= says {name}= already; leave out one of them")


def _recorded(
    ledger: str | Path | Ledger,
    dataset: str | None,
    caps: dict[str, Any],
    relation: str | Relation | None,
) -> RecordedBudget:
    """The account of a dataset in a ledger; it is opened where it is new and a cap is given."""
    if dataset is None:
        raise ParameterError(
            "a ledger keeps one account for each dataset; give its label: dataset="
        )
    opened = (
        ledger
        if isinstance(ledger, Ledger)
        else Ledger.open(ledger, create=caps["epsilon"] is not None)
    )
    if caps["epsilon"] is not None:
        opened.open_dataset(dataset, **caps)
    budget = RecordedBudget(opened, dataset)
    if relation is not None and budget.relation is not Relation.parse(relation):
        raise RelationMismatch(
            f"the dataset {dataset!r} is recorded under {budget.relation} and "
            f"{Relation.parse(relation)} was asked for; leave relation= out"
        )
    return budget


def _warn_of_other_labels(budget: RecordedBudget, table: SealedTable) -> None:
    others = budget.ledger.note_data(budget.dataset, fingerprint(table))
    if others:
        names = ", ".join(map(repr, others))
        warnings.warn(
            f"the data of {budget.dataset!r} came under other labels ({names}) before: what "
            "is spent under several labels adds up for the people in the data",
            stacklevel=3,
        )
