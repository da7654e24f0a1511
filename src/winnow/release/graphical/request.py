"""What is asked of a wide release: public parameters, checked and bound to their schema."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from winnow.core.checks import Real, count, delta_range, exact, one_of, positive_float, probability
from winnow.core.relation import Relation
from winnow.core.schema import Schema
from winnow.core.workloads.part import table_columns
from winnow.core.workloads.workload import Maker, Workload
from winnow.errors import ParameterError
from winnow.fit.junction_tree import Columns
from winnow.privacy.guarantee import CLOSED_ACCOUNTANTS
from winnow.release.graphical.rules import SELECTION_SHARE

_LARGEST_MODEL = 2**31 - 1


@dataclass(frozen=True)
class WideRequest:
    """The public parameters of a wide release."""

    workload: Any
    schema: Schema
    epsilon: Real
    delta: Real
    relation: Relation
    rows_per_person: int = 1
    rows: int | None = None
    """The number of rows where it is public, or what was stated in its place."""
    rounds: int | None = None
    share: Real = SELECTION_SHARE
    first_share: Real | None = None
    model_cells: int | None = None
    accountant: str = "best"
    memory: str | int = "4GB"

    @cached_property
    def pure(self) -> bool:
        """Whether there is no delta to use: noise has the Laplace law, and epsilons add up."""
        return exact("delta", self.delta) == 0 or self.accountant == "pure"

    @property
    def left_to_rules(self) -> bool:
        """Whether nothing is said of rounds."""
        return self.rounds is None and self.first_share is None


def check_request(request: WideRequest) -> None:
    """Refuse what no plan can be made of."""
    positive_float(epsilon=request.epsilon)
    delta_range(delta=request.delta)
    one_of(("best", *CLOSED_ACCOUNTANTS), accountant=request.accountant)
    probability(share=request.share)
    if request.first_share is not None:
        probability(first_share=request.first_share)
    if request.rounds is not None:
        count(rounds=request.rounds)
    count(rows_per_person=request.rows_per_person)
    if request.model_cells is not None:
        count(model_cells=request.model_cells)
    if request.model_cells is not None and int(request.model_cells) > _LARGEST_MODEL:
        raise ParameterError(
            f"model_cells={request.model_cells:,} is more than cells are numbered; give at most "
            f"{_LARGEST_MODEL:,}"
        )


def bound(request: WideRequest) -> tuple[Workload, list[Columns]]:
    """The workload, and the columns of each of its tables; others are tables of their own."""
    given = request.workload
    if isinstance(given, Maker):
        given = given.over(request.schema, memory=request.memory)
    sets = [table_columns(part) for part in given.parts] if isinstance(given, Workload) else [None]
    if not isinstance(given, Workload) or None in sets:
        raise ParameterError(
            "a graphical release is for marginal tables; give a workload such as wn.marginals(3)"
        )
    if given.schema != request.schema:
        raise ParameterError(
            "the workload is over another schema than the table; bind it to that one"
        )
    spoken = {c for columns in sets for c in columns or ()}
    silent = [(c,) for c in range(len(request.schema.columns)) if c not in spoken]
    return given, [*(columns for columns in sets if columns is not None), *silent]
