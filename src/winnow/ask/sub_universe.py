"""Weights on some of the cells only: how many, and what that adds to the threshold."""

from __future__ import annotations

from dataclasses import replace

from winnow.ask.constants import InteractiveRequest
from winnow.core.checks import count, exact, nonnegative, one_of, positive, probability
from winnow.core.schema import cells_text
from winnow.core.workloads.reductions import phi_of_rows, sub_universe_alpha, sub_universe_size
from winnow.errors import ParameterError


def with_phi(request: InteractiveRequest, rows: int) -> InteractiveRequest:
    """The same with a number in the place of ``phi="rows"`` [PMW, Claim V.1]."""
    if not isinstance(request.phi, str):
        nonnegative(phi=request.phi)
        return request
    one_of(("rows",), phi=request.phi)
    if request.listed is not None:
        raise ParameterError("phi='rows' is for sampled cells; give phi= as a number")
    if int(request.rows_per_person) > 1:
        raise ParameterError("phi='rows' is for independent rows, one for each person; give phi=")
    part = float(request.beta) / 4
    phi = phi_of_rows(rows=rows, queries=int(request.max_queries), beta=part)
    return replace(request, phi=phi, phi_beta=part)


def sampled(request: InteractiveRequest) -> InteractiveRequest:
    """The same with a number in the place of ``universe="alpha"`` [PMW, Lemma V.2]."""
    if not isinstance(request.universe, str):
        return request
    one_of(("alpha",), universe=request.universe)
    if request.alpha is None or request.smoothness is None:
        raise ParameterError("universe='alpha' follows from alpha= and smoothness=; give both")
    probability(alpha=request.alpha)
    needed = sub_universe_size(
        cells=request.cells,
        queries=int(request.max_queries),
        smoothness=float(request.smoothness),
        alpha=float(request.alpha) / 2,
        beta=float(request.beta) / 2 - request.phi_beta,
    )
    if needed >= request.cells:
        raise ParameterError(
            f"alpha={float(request.alpha):g} needs {needed:,} sampled cells, and the domain has "
            f"{cells_text(request.cells)}; leave out universe="
        )
    return replace(request, universe=needed)


def domain_of(request: InteractiveRequest) -> tuple[int, float]:
    """Cells that carry weight, and what a sample of them adds to the threshold."""
    cells = request.cells
    if request.universe is None:
        if request.smoothness is not None or exact("phi", request.phi) != 0:
            raise ParameterError(
                "smoothness= and phi= belong to a universe of some cells; give universe="
            )
        return cells, 0.0
    count(universe=request.universe)
    if request.listed is not None:
        if request.smoothness is not None:
            raise ParameterError("smoothness= is for sampled cells; leave it out")
        return int(request.universe), float(request.phi)
    if int(request.universe) >= cells:
        raise ParameterError(
            f"universe={request.universe} is not below the {cells_text(cells)} cells of the "
            "domain; leave it out"
        )
    if request.smoothness is None:
        raise ParameterError(
            "a sampled universe needs smoothness=xi: no cell holds more than this part of the "
            f"rows, or of a distribution near them; 1/{cells_text(cells)} is an even spread"
        )
    positive(smoothness=request.smoothness)
    if exact("smoothness", request.smoothness) * cells < 1:
        raise ParameterError(
            f"smoothness={request.smoothness} is below 1/{cells_text(cells)}: some cell always "
            "holds that part of the rows; give at least that"
        )
    alpha = sub_universe_alpha(
        sampled=int(request.universe),
        queries=int(request.max_queries),
        evenness=float(exact("smoothness", request.smoothness) * cells),
        beta=float(request.beta) / 2 - request.phi_beta,
    )
    return int(request.universe), float(request.phi) + alpha
