"""``winnow.plan.release``: the plan that ``winnow.release`` runs, from public facts alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from winnow.core.checks import rows_to_release
from winnow.core.notebook import Card, Printed, lines_card
from winnow.core.options import AUTO, takes
from winnow.core.padding import Padding
from winnow.core.schema import cells_text
from winnow.core.workloads.workload import bound_workload
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.privacy.sizing import as_all_there_is, first_that_fits, table_sizings
from winnow.read.about import AboutTable, about_table
from winnow.read.crossing import SealedTable, sealed_table
from winnow.release.choice import Compared, choose, compare
from winnow.release.drawn import MethodPlan
from winnow.release.graphical.expected import WideExpected
from winnow.release.methods import ReleaseMethod
from winnow.release.prediction import Prediction
from winnow.release.request import PlannedRelease, Release
from winnow.release.terms import ReleaseTerms

SCOPE = (
    "Computed from public numbers: no data were read, nothing was spent. Errors are in rows, over "
    "all queries. 'exact formula': standard errors are exact, and 'largest' is the median of the "
    "largest error. 'rule of thumb': seen on other data, no promise."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasePlan(Printed, MethodPlan):
    """What ``winnow.release`` charges, draws and promises, before rows are looked at."""

    asked: Release = field(repr=False)
    terms: ReleaseTerms = field(repr=False)
    """The public numbers of the release: its workload, its budget, and those of the table."""
    method: ReleaseMethod
    """How the workload is answered."""

    @property
    def epsilon(self) -> float:
        """The epsilon that was asked for, or found for a wanted error."""
        return float(self.terms.epsilon)

    @property
    def error(self) -> float | None:
        """The largest error over all queries to expect, in rows; None: nothing is known."""
        return self.taken.largest

    @cached_property
    def taken(self) -> Prediction:
        """What is predicted of the method that runs."""
        return self.method.predicted(self.terms)

    @cached_property
    def _all(self) -> Compared:
        return compare(self.terms)

    @property
    def compared(self) -> tuple[Prediction, ...]:
        """What is predicted of every method, the one that runs first; plain noise last."""
        word = self.method.word()
        others = [each for each in self._all.first(word) if each.method != word]
        return (self.taken, *others, self._all.plain)

    @property
    def plain(self) -> Prediction:
        """Noise on each cell of the workload's tables, or on each query."""
        return self._all.plain

    @property
    def refused(self) -> tuple[tuple[str, str], ...]:
        """Methods that cannot run, and why."""
        word = self.method.word()
        return tuple(each for each in self._all.refused if each[0] != word)

    def _clock(self) -> Padding:
        return self.asked.running.padding()

    def ready(self, data: Any) -> SealedTable:
        """The table; one that the plan was not made for is refused."""
        table = sealed_table(data)
        _about(self.terms).check(about_table(table))
        return table

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        terms = self.terms
        return {
            "cells": terms.schema.cells,
            "queries": terms.workload.size,
            "rows": terms.total,
            "rows_per_person": terms.rows_per_person,
            "epsilon": self.epsilon,
            "delta": float(terms.delta),
            "relation": str(terms.relation),
            "method": self.method.word(),
            "mechanism": self.name,
            "guarantee": self.guarantee.to_dict(),
            "reason": self.reason,
            "error": self.error,
            "seconds": self.seconds,
            "compared": [vars(each).copy() for each in self.compared],
            "refused": [list(each) for each in self.refused],
            "expected": (
                self.expected.to_dict() if isinstance(self.expected, WideExpected) else None
            ),
            "scope": SCOPE,
        }

    def table(self) -> list[list[str]]:
        """The comparison as a table, its first line the headings."""
        lines = [["method", "note", "prediction", "largest", "mean", "rms", "seconds"]]
        for row in self.compared:
            errors = [error_text(each, self.terms.total) for each in row.errors]
            lines.append([row.method, row.note, row.kind, *errors, f"{row.seconds:.2g}"])
        return lines

    def _title(self) -> str:
        terms = self.terms
        rows = "rows, their number private" if terms.total is None else f"{terms.total:,} rows"
        return (
            f"{terms.workload.size:,} queries over {cells_text(terms.schema.cells)} cells, {rows}, "
            f"epsilon={self.epsilon:.6g}, delta={float(terms.delta):.6g}, "
            f"{terms.relation.sentence}"
        )

    def _card(self) -> Card:
        lead = [f"taken: {self.why}"]
        if isinstance(self.expected, WideExpected):
            lead.append(str(self.expected))
        refused = [f"{word} cannot run: {why}" for word, why in self.refused]
        return lines_card(self._title(), self.table(), *refused, SCOPE, texts=3, lead=lead)


def error_text(error: float | None, rows: int | None) -> str:
    """An error in rows; one as large as the table says nothing, and is not shown."""
    return "-" if error is None or (rows is not None and error >= rows) else f"{error:,.3g}"


@takes(PlannedRelease)
def release(about: AboutTable | SealedTable, asked: PlannedRelease) -> ReleasePlan:
    """Predict what ``winnow.release`` charges and how far off it is; nothing is read or spent.

    ``about`` is a sealed table, of which only what is public is looked at, or
    ``wn.plan.table(schema, rows=)`` where there is none yet. The options are those of
    ``winnow.release``; in the place of ``epsilon`` may stand the largest ``error`` in rows that is
    wanted: the plan is then for the least epsilon (to four digits) that brings it. The plan says
    which method answers and why, what it is charged, and the errors to expect of every method;
    ``plan.run(table, budget=)`` releases it.
    """
    return asked.plan(about)


def errors_of(
    asked: PlannedRelease, about: AboutTable | SealedTable
) -> Callable[[float], float | None]:
    """The largest error to expect, by epsilon: what the table is like is looked at once."""
    known: list[ReleaseTerms] = []

    def error(epsilon: float) -> float | None:
        if not known:
            known.append(terms_of(asked.at(epsilon), about))
        return _predicted(asked.method, replace(known[0], epsilon=epsilon)).largest

    return error


def _predicted(method: ReleaseMethod | str, terms: ReleaseTerms) -> Prediction:
    """What is predicted of the method that would be taken."""
    return choose(terms).taken if isinstance(method, str) else method.predicted(terms)


@as_all_there_is
def planned(asked: Release, about: AboutTable | SealedTable) -> ReleasePlan:
    """The plan of a request, by what is public of the table."""
    terms = terms_of(asked, about)
    return first_that_fits(
        lambda sizing: _planned(asked, replace(terms, accountant=sizing)),
        table_sizings(asked.budget, asked.delta, asked.accountant),
        asked.budget,
    )


def _planned(asked: Release, terms: ReleaseTerms) -> ReleasePlan:
    """The plan with the terms as they are."""
    method, chosen = asked.method, ""
    if method == AUTO:
        choice = choose(terms)
        method, chosen = choice.method, choice.reason
    if not isinstance(method, ReleaseMethod):
        raise ParameterError(
            f"method={shown(method)} answers no workload; give wn.Tables(), wn.MWEM() or "
            "another method, or a word"
        )
    plan = method.plan(terms, asked.running.progress)
    fixed = {each.name: getattr(plan, each.name) for each in fields(plan)}
    fixed["why"] = chosen or plan.why or plan.reason
    if chosen and not plan.why:
        fixed["reason"] = f"{chosen}; {plan.reason}"
    return ReleasePlan(**fixed, asked=asked, terms=terms, method=method)


def terms_of(asked: Release, about: AboutTable | SealedTable) -> ReleaseTerms:
    """The public numbers of a release, checked and bound to the table's schema."""
    public = about_table(about)
    if public.schema is None:
        raise ParameterError(
            "a release needs the columns of its table; give wn.plan.table(schema, rows=)"
        )
    memory = asked.running.memory
    return ReleaseTerms(
        bound_workload(asked.workload, public.schema, memory),
        asked.epsilon,
        asked.delta,
        public.relation,
        public.rows_per_person,
        rows_to_release(None, public.rows),
        table_sizings(asked.budget, asked.delta, asked.accountant)[0],
        memory,
    )


def _about(terms: ReleaseTerms) -> AboutTable:
    """What the plan was told of the table."""
    return AboutTable(
        cells=terms.schema.cells,
        relation=terms.relation,
        schema=terms.schema,
        rows=terms.total,
        rows_per_person=terms.rows_per_person,
    )
