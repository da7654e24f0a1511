"""``winnow.tabulate``: publish tables of counts, sums and means, with errors for every number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from winnow.core.checks import Real
from winnow.core.key import Key
from winnow.core.plan import Plan
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.privacy import Budget
from winnow.privacy.sizing import sizing_accountant
from winnow.read.counts import SealedCounts
from winnow.read.crossing import SealedTable, sealed_table
from winnow.tables.estimates import layer_of
from winnow.tables.keys import tabulate_keys
from winnow.tables.result import ReleasedTables
from winnow.tables.settings import TableRequest, TablesSettings, tables_settings
from winnow.topk.beside import cut_beside, run_beside


@guarded
def tabulate(
    table: SealedTable | SealedCounts,
    by: Any = None,
    *,
    epsilon: Real,
    delta: Real = 0.0,
    values: Sequence[str] = (),
    objective: str = "balanced",
    relation: str | Relation | None = None,
    rows: int | None = None,
    with_cut: Real = 0.0,
    budget: Budget | None = None,
    memory: str | int = "4GB",
    seed: int | None = None,
) -> Released[ReleasedTables]:
    """Release tables of counts with noise, consistent with each other, with standard errors.

    ``table`` is what ``wn.read_table`` made. ``by`` is a list of columns, for one table; a list
    of such lists; or a workload of marginals, prefixes and ranges, such as ``wn.marginals(2)``
    or ``wn.prefixes("age")``. All tables are charged as one event, before the first draw.

    What is measured is chosen from public numbers: noise on the cells, residual tables, or
    blocks of ordered columns, with Gaussian noise where ``delta`` allows it and is better, else
    with Laplace noise. ``objective`` says what the choice minimises: "mean", "max" (the
    largest error) or "balanced" between them. Nothing is chosen that is predicted to be worse
    than plain noise on the cells.

    ``values`` names columns of numbers whose sums and means are released for every cell, too:
    codes, numbers, or the middles of bins, within the bounds that the schema declares.

    ``relation`` is the table's unless given. Under substitution, with one row per person, the
    number of rows is public; otherwise it is measured with the tables, unless a public number
    of ``rows`` is given, which the tables are then made to add up to.

    ``with_cut`` (0.05, say) is a share of epsilon for an estimate of what a bound on the rows of a
    person left out: ``released.cut`` says how many people had more, and how many rows of theirs
    were not counted. All errors of the tables are about the rows that were.

    Instead of a table, ``wn.counts(...)`` gives a group-by count without a schema: the number of
    people with each item of a public list, or, with a delta, of the items in the data whose
    noisy count reaches a threshold (see ``StabilityThreshold``).
    """
    if isinstance(table, SealedCounts):
        if by is not None or values or rows is not None:
            raise ParameterError(
                "counts are a table by themselves; leave out by=, values= and rows="
            )
        return tabulate_keys(
            table, epsilon=epsilon, delta=delta, relation=relation, with_cut=with_cut,
            budget=budget, seed=seed,
        )  # fmt: skip
    table = sealed_table(table, relation)
    beside = cut_beside(with_cut, epsilon, table.people)
    planned = tables_settings(
        TableRequest(
            schema=table.schema,
            by=by,
            epsilon=epsilon if beside is None else beside.rest,
            delta=delta,
            values=tuple(values) if not isinstance(values, str) else values,
            objective=objective,
            relation=table.relation,
            rows_per_person=table.rows_per_person,
            public_rows=table.n,
            rows=rows,
            accountant="best" if budget is None else sizing_accountant(budget, delta),
            memory=memory,
        )
    )
    plan = tables_plan(planned, table.relation)
    return run_beside(beside, plan, table, budget=budget, seed=seed)


def tables_plan(planned: TablesSettings, relation: Relation) -> Plan[SealedTable, ReleasedTables]:
    """The release of tables by the strategy that was chosen."""
    mechanism, geometry = planned.strategy.mechanism, planned.strategy.geometry

    def tables(table: SealedTable, key: Key) -> ReleasedTables:
        numbers = mechanism.drawn(table, key)
        layers = [layer_of(geometry, mechanism, numbers, total=planned.total)]
        layers += [
            layer_of(geometry, mechanism, numbers, values=i) for i in range(len(planned.values))
        ]
        return ReleasedTables(planned.parts, tuple(layers), mechanism.law, planned.values)

    return Plan(
        mechanism=mechanism,
        relation=relation,
        guarantee=planned.guarantee,
        draw=tables,
        check=mechanism.check,
        reason=planned.reason,
    )
