"""What is asked of ``winnow.quantiles``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from winnow.core.checks import Real, exact
from winnow.core.options import AUTO, COLUMN, EPSILON, Methods, Option
from winnow.core.request import PlannedRequest, Run, VerbRequest
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.numbers.methods import METHODS, Halving, QuantileMethod
from winnow.select.top_k_methods import Joint

if TYPE_CHECKING:
    from winnow.numbers.plan import QuantilesPlan
    from winnow.privacy import Budget

FINEST = 10**6
"""Quantiles are whole multiples of one part of so many: n times it stays exact in 64 bits."""


@dataclass(frozen=True, kw_only=True)
class AskedQuantiles(VerbRequest):
    """What quantiles and their plan are asked for alike."""

    no_rounds = "quantiles have none"

    column: Annotated[str, COLUMN] = field(kw_only=False)
    quantiles: Annotated[
        Sequence[Real],
        Option("Which quantiles, from 0 to 1, such as 0.25,0.5,0.75; 0.5 is the median.", "Q,..."),
    ] = field(default=(0.5,), kw_only=False)
    by: Annotated[
        Sequence[str],
        Option(
            "Compute quantiles for each group of rows with equal values in these columns.",
            "A,B,...",
            served=20,
        ),
    ] = ()
    epsilon: Annotated[Real | None, EPSILON] = None
    delta: Annotated[
        Real, Option("E.g. 1e-6: it may help with many quantiles.", "D", least=0, below=1)
    ] = 0.0
    method: Annotated[
        QuantileMethod | Joint | str,
        Methods(
            "auto takes the least predicted rank error, from public numbers. halving has "
            "intervals; joint is one draw of all quantiles; cumulative counts the rows up to each "
            "of few numbers.",
            METHODS,
            implied=True,
        ),
    ] = AUTO
    budget: Budget | None = None
    run: Run | None = None

    def __post_init__(self) -> None:
        if self.by is None:
            object.__setattr__(self, "by", ())
        super().__post_init__()
        self.parts  # noqa: B018 - refuses what are no quantiles

    @property
    def used(self) -> list[str]:
        """The columns of the table that it is about."""
        return list(dict.fromkeys([*self.by, self.column]))

    @property
    def level(self) -> Real | None:
        """With what probability intervals hold; None: there are none."""
        return self.method.level if isinstance(self.method, Halving) else None

    @cached_property
    def parts(self) -> tuple[tuple[int, ...], int]:
        """The quantiles as asked, in whole parts, and how many parts 1 has."""
        given = self.quantiles.tolist() if hasattr(self.quantiles, "tolist") else self.quantiles
        if isinstance(given, str) or not isinstance(given, Sequence) or not given:
            raise ParameterError(
                f"quantiles={shown(given)} is not a list of numbers; give at least one, such as "
                "[0.25, 0.5, 0.75]"
            )
        fractions: list[Fraction] = []
        for each in given:
            number = exact("quantile", each)
            if not 0 <= number <= 1:
                raise ParameterError(
                    f"the quantile {shown(each)} is not between 0 and 1; 0.5 is the median"
                )
            if number in fractions:
                raise ParameterError(f"the quantile {shown(each)} appears twice; name each once")
            fractions.append(number)
        whole = math.lcm(*(number.denominator for number in fractions))
        if whole > FINEST:
            raise ParameterError(
                "the quantiles have more than six decimals, or no common denominator up to "
                f"{FINEST:,}; round them"
            )
        return tuple(int(number * whole) for number in fractions), whole


@dataclass(frozen=True, kw_only=True)
class Quantiles(AskedQuantiles):
    """Quantiles of a column of numbers."""

    epsilon: Annotated[Real, EPSILON] = field()
    seed: Any = None

    def plan(self, about: Any) -> QuantilesPlan:
        """What is charged, drawn and promised, from what is public of the table."""
        from winnow.numbers.plan import planned

        return planned(self, about)


@dataclass(frozen=True, kw_only=True)
class PlannedQuantiles(PlannedRequest["QuantilesPlan"], AskedQuantiles):
    """Quantiles that are to be planned, by their epsilon or by the error that is wanted."""

    of = Quantiles

    error: Annotated[
        Real | None,
        Option(
            "Instead of epsilon=: the largest rank error to reach, in rows.",
            "ROWS",
            above=0,
        ),
    ] = None
