"""``winnow.in_bins``: a table with one column more, the bins of its numbers, dates or times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from winnow.core.column import Column
from winnow.core.schema import Schema
from winnow.errors import ParameterError
from winnow.foreign import guarded, shown
from winnow.numbers.about import asked_column
from winnow.numbers.histogram.bins import bins_between, equal_bins, named
from winnow.numbers.histogram.crossing import Placed, binned
from winnow.numbers.histogram.request import checked_bins
from winnow.read.crossing import SealedTable, sealed_table


@guarded
def in_bins(
    table: SealedTable, column: str, bins: int | Sequence[Any], *, name: str | None = None
) -> SealedTable:
    """Add a column to a table: the bin of each row's number.

    The column itself stays as it is. So tables can be by bins while sums, means and quantiles come
    from the values: ``wn.moments(binned, "income", by=["income_bin"], epsilon=1)``. It costs
    nothing. ``bins`` are public: a number of bins of equal width, or their edges, as in
    ``wn.histogram``. The edges of dates and times are texts such as "2024-04-01". ``name`` is the
    name of the new column, by default that of the old one with ``_bin`` after it.

    Missing values, and other values outside the grid, have a bin of their own. Each row stays a
    row of the same person, so the neighbours of the table do not change.
    """
    sealed = sealed_table(table)
    called = f"{column}_bin" if name is None else name
    if called in sealed.schema.names:
        raise ParameterError(
            f"the table has a column {shown(called)}; give another name= for the bins"
        )
    of = asked_column(sealed.schema, column, (), dates=True)
    declared = sealed.schema.columns[of.place]
    wanted = checked_bins(bins)
    if isinstance(wanted, int):
        made_bins = equal_bins(declared, of.grid, wanted)
    else:
        made_bins = bins_between(declared, of.grid, wanted)
    more = Column(called, "categories", values=named(made_bins))
    columns: list[Placed] = [(place, None) for place in range(len(sealed.schema.columns))]
    return binned(sealed, [*columns, (of.place, made_bins)], Schema((*sealed.schema.columns, more)))
