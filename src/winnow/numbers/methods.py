"""How several quantiles are found, as objects; ``winnow.quantiles(..., method=)`` takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from winnow.core.checks import Real
from winnow.core.options import Method, Option
from winnow.select.top_k_methods import Joint


@dataclass(frozen=True)
class QuantileMethod(Method):
    """How quantiles are found."""


@dataclass(frozen=True, kw_only=True)
class Halving(QuantileMethod):
    """The middle quantile first, then those on either side; for intervals, or few rows."""

    level: Annotated[
        Real | None,
        Option(
            "Release intervals, too: all those of a group hold together with this probability. "
            "They take two thirds of epsilon=.",
            "P",
            above=0,
            below=1,
        ),
    ] = None


class Cumulative(QuantileMethod):
    """Noisy counts of the rows up to each number; for columns of few numbers."""


METHODS: tuple[type[Method], ...] = (Halving, Joint, Cumulative)
