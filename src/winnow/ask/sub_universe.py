"""Weights on some of the cells only: how many, and what that adds to the threshold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from winnow.ask.sizes import Cells, WeighedCells
from winnow.ask.terms import Terms
from winnow.core.checks import count, exact, one_of
from winnow.core.schema import Schema, cells_text
from winnow.core.workloads.reductions import (
    listed_cells,
    phi_of_rows,
    sub_universe_alpha,
    sub_universe_size,
)
from winnow.errors import ParameterError


def with_phi(terms: Terms) -> Terms:
    """Options with a number in the place of ``phi="rows"`` [PMW, Claim V.1]."""
    if not isinstance(terms.method.phi, str):
        return terms
    if terms.listed is not None:
        raise ParameterError("phi='rows' is for sampled cells; give phi= as a number")
    if int(terms.rows_per_person) > 1:
        raise ParameterError("phi='rows' is for independent rows, one for each person; give phi=")
    part = float(terms.beta) / 4
    phi = phi_of_rows(rows=terms.rows, queries=int(terms.max_queries), beta=part)
    return replace(terms.by(phi=phi), phi_beta=part)


def sampled(terms: Terms) -> Terms:
    """Options with a number in the place of ``universe="alpha"`` [PMW, Lemma V.2]."""
    if not isinstance(terms.universe, str):
        return terms
    one_of(("alpha",), universe=terms.universe)
    if terms.method.alpha is None or terms.method.smoothness is None:
        raise ParameterError("universe='alpha' follows from alpha= and smoothness=; give both")
    needed = sub_universe_size(
        cells=terms.cells,
        queries=int(terms.max_queries),
        smoothness=float(terms.method.smoothness),
        alpha=float(terms.method.alpha) / 2,
        beta=float(terms.beta) / 2 - terms.phi_beta,
    )
    if needed >= terms.cells:
        raise ParameterError(
            f"alpha={float(terms.method.alpha):g} needs {needed:,} sampled cells, and the domain "
            f"has {cells_text(terms.cells)}; leave out universe="
        )
    return replace(terms, universe=needed)


def domain_of(terms: Terms) -> tuple[int, float]:
    """Cells that carry weight, and what a sample of them adds to the threshold."""
    cells = terms.cells
    if terms.universe is None:
        if terms.method.smoothness is not None or exact("phi", terms.method.phi) != 0:
            raise ParameterError(
                "smoothness= and phi= belong to a universe of some cells; give universe="
            )
        return cells, 0.0
    count(universe=terms.universe)
    if terms.listed is not None:
        if terms.method.smoothness is not None:
            raise ParameterError("smoothness= is for sampled cells; leave it out")
        return int(terms.universe), float(terms.method.phi)
    if int(terms.universe) >= cells:
        raise ParameterError(
            f"universe={terms.universe} is not below the {cells_text(cells)} cells of the "
            "domain; leave it out"
        )
    if terms.method.smoothness is None:
        raise ParameterError(
            "a sampled universe needs smoothness=xi: no cell holds more than this part of the "
            f"rows, or of a distribution near them; 1/{cells_text(cells)} is an even spread"
        )
    if exact("smoothness", terms.method.smoothness) * cells < 1:
        raise ParameterError(
            f"smoothness={terms.method.smoothness} is below 1/{cells_text(cells)}: some cell "
            "always holds that part of the rows; give at least that"
        )
    alpha = sub_universe_alpha(
        sampled=int(terms.universe),
        queries=int(terms.max_queries),
        evenness=float(exact("smoothness", terms.method.smoothness) * cells),
        beta=float(terms.beta) / 2 - terms.phi_beta,
    )
    return int(terms.universe), float(terms.method.phi) + alpha


def said_cells(schema: Schema | None, given: Any) -> tuple[int | str | None, Cells | None]:
    """How many cells carry weight (as was asked), and which, where they are listed."""
    if given is None or isinstance(given, str | int):
        return given, None
    if isinstance(given, np.integer):
        return int(given), None
    if schema is None:
        raise ParameterError("universe= as a list of cells needs a schema, which names the columns")
    cells = tuple(map(tuple, listed_cells(schema, given).tolist()))
    return len(cells), cells


def universe_of(terms: Terms) -> WeighedCells:
    """The cells that carry weight."""
    kept, gamma = domain_of(terms)
    return WeighedCells(
        cells=terms.cells,
        kept=kept,
        whole=terms.universe is None,
        gamma=gamma,
        seed=int(terms.method.universe_seed),
        listed=terms.listed,
    )
