"""The domain that rounds fit a distribution on: all cells, groups of columns, or some cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import exact, nonnegative, positive
from winnow.core.process import memory_text, parse_memory
from winnow.core.schema import Schema, cells_text
from winnow.core.workloads.reductions import (
    Integers,
    group_columns,
    inside,
    listed_cells,
    phi_of_rows,
    sample_cells,
    sub_universe_alpha,
)
from winnow.core.workloads.workload import Workload
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.release.terms import ReleaseTerms

if TYPE_CHECKING:
    from winnow.release.methods import MWEM, Groups

BYTES_PER_CELL = 64
"""Of a distribution: weights, sums for the mean, tables, copies (measured: 50 to 65)."""

ROWS = "rows"
"""phi follows from the number of rows."""

_BETA = 0.05


class FittedPart(NamedTuple):
    """The queries about some columns, and the cells that their distribution is fitted on."""

    workload: Workload
    """Over the whole schema."""
    own: Workload
    """Over the schema of these columns."""
    columns: tuple[int, ...]
    points: Integers | None = None
    """Of a sub-universe: the codes of its cells; None: all cells."""

    @property
    def cells(self) -> int:
        """How many cells have a weight."""
        return self.own.schema.cells if self.points is None else len(self.points)


def whole_domain(terms: ReleaseTerms) -> list[FittedPart]:
    """Every cell of the schema."""
    workload, every = terms.workload, tuple(range(len(terms.schema.columns)))
    _check_domain(terms.schema, workload, terms.memory)
    return [FittedPart(workload, workload, every)]


def in_groups(terms: ReleaseTerms, groups: Groups) -> tuple[list[FittedPart], str]:
    """Groups of columns, each fitted alone; and what accuracy then rests on."""
    schema, workload = terms.schema, terms.workload
    parts: list[FittedPart] = []
    for columns in group_columns(schema, groups):
        parts_inside = inside(workload, columns)
        if parts_inside is None:
            names = ", ".join(schema.names[column] for column in columns)
            raise ParameterError(
                f"no query speaks of the columns {names} alone; add some, such as "
                "wn.marginals(1), or join the group with another"
            )
        _check_domain(parts_inside[1].schema, parts_inside[1], terms.memory)
        parts.append(FittedPart(*parts_inside, columns))
    left = workload.size - sum(part.workload.size for part in parts)
    crossing = f"; {left:,} queries across groups were not measured" if left else ""
    return parts, f"the groups of columns are taken to be independent{crossing}"


def _check_domain(schema: Schema, workload: Workload, memory: str | int) -> None:
    needed = BYTES_PER_CELL * schema.cells + workload.memory()
    if needed > parse_memory(memory):
        raise ParameterError(
            f"the domain has {cells_text(schema.cells)} cells and needs about "
            f"{memory_text(needed)}, more than memory={shown(memory)}; name fewer columns "
            "(table.restrict), coarser bins, groups=[[...], [...]] of columns, universe= cells "
            "to sample, keep all columns with method=wn.Graphical(), or allow more"
        )


def sub_universe(terms: ReleaseTerms, method: MWEM) -> tuple[list[FittedPart], str]:
    """The cells of a public list, or sampled ones; and what accuracy rests on with them."""
    points, text = _points(terms, method)
    every = tuple(range(len(terms.schema.columns)))
    return [FittedPart(terms.workload, terms.workload, every, points)], text


def _points(terms: ReleaseTerms, method: MWEM) -> tuple[NDArray[np.int64], str]:
    schema, queries, given = terms.schema, terms.workload.size, method.universe
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        if method.smoothness is not None or method.phi is not None:
            raise ParameterError("smoothness= and phi= are for sampled cells; leave them out")
        points = listed_cells(schema, given)
        return points, (
            f"the fit is on the {len(points):,} cells of a public list: accuracy rests on some "
            "distribution on them being near the data"
        )
    points = sample_cells(schema, int(given), int(method.universe_seed))
    text = f"the fit is on {len(points):,} of {cells_text(schema.cells)} cells, sampled uniformly; "
    if method.smoothness is None:
        if method.phi is not None:
            raise ParameterError("phi= goes with smoothness=; give both, or none")
        alpha = sub_universe_alpha(sampled=len(points), queries=queries, beta=_BETA)
        return points, text + (
            f"with probability {1 - _BETA:g} they carry a distribution within phi + "
            f"{alpha:.3g} sqrt(c) of the data on every query, if some distribution within phi of "
            "the data puts at most c/cells on any cell [PMW, Lemma V.2]"
        )
    positive(smoothness=method.smoothness)
    xi = exact("smoothness", method.smoothness)
    if xi * schema.cells < 1:
        raise ParameterError(
            f"smoothness={method.smoothness} is below 1/{cells_text(schema.cells)}: some cell "
            "always holds that part of the rows; give at least that"
        )
    share = _BETA / 2 if method.phi == ROWS else _BETA
    alpha = sub_universe_alpha(
        sampled=len(points), queries=queries, evenness=float(xi * schema.cells), beta=share
    )
    phi, claim, assumed = 0.0, "", "the data put"
    if method.phi == ROWS:
        if terms.total is None or terms.rows_per_person > 1:
            raise ParameterError(
                "phi='rows' needs a public number of rows, one for each person; give a number, or "
                "state rows= where the table is read"
            )
        phi = phi_of_rows(rows=terms.total, queries=queries, beta=share)
        claim, assumed = " and Claim V.1", "rows are independent draws of a distribution that puts"
    elif method.phi is not None:
        nonnegative(phi=method.phi)
        phi = float(exact("phi", method.phi))
        assumed = f"some distribution within {phi:g} of the data puts"
    return points, text + (
        f"with probability {1 - _BETA:g} they carry a distribution within "
        f"{min(1.0, phi + alpha):.3g} of the data on every query, if {assumed} at most "
        f"{float(xi):.3g} on any cell [PMW, Lemma V.2{claim}]"
    )
