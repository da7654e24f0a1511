"""``winnow.tabulate``: publish tables of counts, sums and means, with errors for every number."""

from __future__ import annotations

from winnow.core.options import takes
from winnow.core.released import Released
from winnow.read.counts import SealedCounts
from winnow.read.crossing import SealedTable, sealed_table
from winnow.release.tables.request import Tabulate
from winnow.release.tables.result import ReleasedTables


@takes(Tabulate)
def tabulate(table: SealedTable | SealedCounts, asked: Tabulate) -> Released[ReleasedTables]:
    """Release tables of counts with noise, consistent with each other, with standard errors.

    ``table`` is what ``wn.read_table`` made. ``by`` is a list of columns, for one table; a list
    of such lists; or a workload of marginals, prefixes and ranges, such as ``wn.marginals(2)``
    or ``wn.prefixes("age")``. All tables are charged as one event, before the first draw.

    What is measured is chosen from public numbers: noise on the cells, residual tables, or
    blocks of ordered columns, with Gaussian noise where ``delta`` allows it and is better, else
    with Laplace noise. ``objective`` says what the choice minimises: "mean" (the root of
    the mean squared error), "max" (the largest error) or "balanced" between them. Nothing is
    chosen whose error of that kind is predicted to be worse than that of plain noise on the cells.

    ``values`` names columns of numbers whose sums and means are released for every cell, too:
    codes, numbers, or the middles of bins, within the bounds that the schema declares.

    The neighbour relation is the table's. Under substitution, with one row per person, the number
    of rows is public; otherwise it is measured with the tables, unless a public number was stated
    where the table was read (``wn.read_table(..., rows=)``, or ``table.stating(rows)``), which the
    tables are then made to add up to. ``run`` is ``wn.Run(memory=, pad_to=)``.

    ``with_cut`` (0.05, say) is a share of epsilon for an estimate of what a bound on the rows of a
    person left out: ``released.cut`` says how many people had more, and how many rows of theirs
    were not counted. All errors of the tables are about the rows that were.

    Instead of a table, ``wn.counts(...)`` gives a group-by count without a schema: the number of
    people with each item of a public list, or, with a delta, of the items in the data whose
    noisy count reaches a threshold (see ``StabilityThreshold``).

    ``wn.plan.tabulate`` says the errors beforehand, and gives the plan that this runs.
    """
    return tabulated(table, asked)


def tabulated(table: SealedTable | SealedCounts, asked: Tabulate) -> Released[ReleasedTables]:
    """Plan what is asked of a table or of counts, and run it."""
    padding = asked.running.padding()
    sealed = table if isinstance(table, SealedCounts) else sealed_table(table, choosing=True)
    plan = asked.plan(sealed)
    return plan.run(sealed, budget=asked.budget, seed=asked.seed, padding=padding)
