"""What is asked of a release by MWEM: public parameters, and what follows from them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import (
    Real,
    exact,
    nonnegative,
    positive,
    probability,
    rows_to_release,
)
from winnow.core.process import memory_text, parse_memory
from winnow.core.relation import Relation
from winnow.core.schema import Schema, cells_text
from winnow.core.workloads.reductions import (
    listed_cells,
    phi_of_rows,
    sample_cells,
    sub_universe_alpha,
)
from winnow.core.workloads.workload import Workload
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.inner_product.index.building import FAISS, check_index
from winnow.privacy import zcdp_rho
from winnow.release.rounds.mwem import TABLES


@dataclass(frozen=True)
class MwemRequest:
    """The public parameters of rounds."""

    workload: Any
    schema: Schema
    epsilon: Real
    delta: Real = 0.0
    relation: Relation = Relation.SUBSTITUTION
    rows_per_person: int = 1
    rows: int | None = None
    """The number of rows where it is public, or what was stated in its place."""
    rounds: int | Sequence[int] | None = None
    update: str = "gap"
    measurement: str | None = None
    share: Real | None = None
    total_share: Real | None = None
    warm_start: Real | None = None
    """The part of the budget for tables of single columns before the rounds; None: by a rule."""
    groups: Sequence[Sequence[str]] | None = None
    universe: Any = None
    """How many cells to sample, or a public list of cells."""
    universe_seed: int = 0
    smoothness: Real | None = None
    phi: Real | str | None = None
    index: str | None = None
    slack: Real = 0
    accountant: str = "best"
    memory: str | int = "4GB"


def public_total(request: MwemRequest) -> int | None:
    """The number of rows that everybody knows; None: it is measured first."""
    if request.total_share is not None:
        probability(total_share=request.total_share)
    known = rows_to_release(None, request.rows)
    if known is not None and request.total_share is not None:
        raise ParameterError("the number of rows is public here; leave out total_share")
    return known


def strength(request: MwemRequest) -> tuple[float | None, float]:
    """rho where there is one to spend, and epsilon."""
    if exact("delta", request.delta) == 0 or request.accountant == "pure":
        return None, float(request.epsilon)
    return float(zcdp_rho(request.epsilon, request.delta)), float(request.epsilon)


def measurement_of(request: MwemRequest) -> str:
    """Gaussian noise wherever it can be accounted for."""
    if request.measurement is not None:
        return request.measurement
    no_delta = exact("delta", request.delta) == 0 or request.accountant == "pure"
    return "laplace" if no_delta else "gaussian"


def check_search(request: MwemRequest, workload: Workload) -> None:
    """Refuse an index where no query is selected alone, and one that does not fit."""
    if request.index is None:
        raise ParameterError("slack says how far an index is trusted; name one, or leave it out")
    check_index(request.index)
    if request.update == TABLES or request.universe is not None:
        raise ParameterError(
            "index= is for rounds over single queries on all cells; leave it out for whole tables "
            "and for a sampled universe"
        )
    needed = workload.size * request.schema.cells * (9 if request.index in FAISS else 5)
    if needed > parse_memory(request.memory):
        raise ParameterError(
            f"an index over {workload.size:,} queries on {cells_text(request.schema.cells)} cells "
            f"needs about {memory_text(needed)}, more than memory={shown(request.memory)}; leave "
            "index= out, which is faster and needs none of it, or allow more"
        )


def check_slack(slack: Real, selection: Real) -> None:
    """Refuse a slack that a round's selection cannot pay."""
    if exact("slack", slack) < 0 or 2 * exact("slack", slack) >= exact("epsilon", selection):
        raise ParameterError(
            f"slack={shown(slack)} is not within 0 and half the epsilon of one round's selection, "
            f"which is {float(selection):g}: it is paid twice in each round; give less"
        )


ROWS = "rows"
"""phi follows from the number of rows."""

_BETA = 0.05


def sub_universe(
    request: MwemRequest, queries: int, total: int | None
) -> tuple[NDArray[np.int64], str]:
    """The cells of a public list, or sampled ones; and what accuracy rests on with them."""
    schema, given = request.schema, request.universe
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        if request.smoothness is not None or request.phi is not None:
            raise ParameterError("smoothness= and phi= are for sampled cells; leave them out")
        points = listed_cells(schema, given)
        return points, (
            f"the fit is on the {len(points):,} cells of a public list: accuracy rests on some "
            "distribution on them being near the data"
        )
    points = sample_cells(schema, int(given), request.universe_seed)
    text = f"the fit is on {len(points):,} of {cells_text(schema.cells)} cells, sampled uniformly; "
    if request.smoothness is None:
        if request.phi is not None:
            raise ParameterError("phi= goes with smoothness=; give both, or none")
        alpha = sub_universe_alpha(sampled=len(points), queries=queries, beta=_BETA)
        return points, text + (
            f"with probability {1 - _BETA:g} they carry a distribution within phi + "
            f"{alpha:.3g} sqrt(c) of the data on every query, if some distribution within phi of "
            "the data puts at most c/cells on any cell [PMW, Lemma V.2]"
        )
    positive(smoothness=request.smoothness)
    xi = exact("smoothness", request.smoothness)
    if xi * schema.cells < 1:
        raise ParameterError(
            f"smoothness={request.smoothness} is below 1/{cells_text(schema.cells)}: some cell "
            "always holds that part of the rows; give at least that"
        )
    share = _BETA / 2 if request.phi == ROWS else _BETA
    alpha = sub_universe_alpha(
        sampled=len(points), queries=queries, evenness=float(xi * schema.cells), beta=share
    )
    phi, claim, assumed = 0.0, "", "the data put"
    if request.phi == ROWS:
        if total is None or int(request.rows_per_person) > 1:
            raise ParameterError(
                "phi='rows' needs a public number of rows, one for each person; give a number, or "
                "state rows= where the table is read"
            )
        phi = phi_of_rows(rows=total, queries=queries, beta=share)
        claim, assumed = " and Claim V.1", "rows are independent draws of a distribution that puts"
    elif request.phi is not None:
        nonnegative(phi=request.phi)
        phi = float(exact("phi", request.phi))
        assumed = f"some distribution within {phi:g} of the data puts"
    return points, text + (
        f"with probability {1 - _BETA:g} they carry a distribution within "
        f"{min(1.0, phi + alpha):.3g} of the data on every query, if {assumed} at most "
        f"{float(xi):.3g} on any cell [PMW, Lemma V.2{claim}]"
    )
