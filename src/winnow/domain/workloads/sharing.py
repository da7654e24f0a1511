"""Many marginal tables of one tensor, without summing the whole tensor for each of them.

Columns are decided one after another, the largest first: the tables without the column are
found from the tensor summed over it, which is much smaller; those with it go on. So the
whole tensor is read about once for each column of the widest table, not once for each table.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = tuple[int, ...]
Table = NDArray[Any]


def marginal_tables(tensor: Table, wanted: Iterable[Columns]) -> dict[Columns, Table]:
    """The table of each set of columns, its axes in the order in which the set names them."""
    found: dict[Columns, Table] = {}
    order = tuple(int(i) for i in np.argsort([-size for size in tensor.shape], kind="stable"))
    _split(tensor, tuple(range(tensor.ndim)), order, list(dict.fromkeys(wanted)), found)
    return found


def _split(
    table: Table,
    columns: Columns,
    undecided: Columns,
    wanted: list[Columns],
    found: dict[Columns, Table],
) -> None:
    """Fill in the wanted tables from a table of `columns`; all of them lie inside it."""
    while undecided and len(wanted) > 1:
        column, undecided = undecided[0], undecided[1:]
        without = [each for each in wanted if column not in each]
        if without:
            axis = columns.index(column)
            rest = columns[:axis] + columns[axis + 1 :]
            _split(table.sum(axis=axis), rest, undecided, without, found)
        wanted = [each for each in wanted if column in each]
    for each in wanted:
        dropped = tuple(axis for axis, column in enumerate(columns) if column not in each)
        kept = [column for column in columns if column in each]
        smaller = table.sum(axis=dropped) if dropped else table
        turned = np.transpose(smaller, [kept.index(column) for column in each])
        found[each] = np.ascontiguousarray(turned)
