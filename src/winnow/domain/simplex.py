"""From a linear program to a feasibility problem on the simplex. Public numbers only.

max (or min) c'x with A x <= b, x >= 0 and a guess OPT for the optimum. Two reductions:

    value   c > 0 and OPT > 0: x_j = OPT z_j/c_j puts {c'x = OPT, x >= 0} on the simplex
            [FastMWEM, Section 4; Hsu-Roth-Roughgarden-Ullman 2014]
    bound   any c, with a public R >= sum_j x_j: x_j = R z_j, one more z for what is left, and
            c'x >= OPT (max) or <= OPT (min) becomes one more row, whose right side is public;
            where costs are larger than all entries of A the row is given in larger units, so
            that it is no wider than the others
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow.errors import InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Simplex:
    """Where solutions are looked for: x_j = scale_j z_j, with z on the simplex."""

    costs: Floats
    maximise: bool = True
    bound: float | None = None
    """R, or None for the reduction by value."""

    def __post_init__(self) -> None:
        if self.costs.ndim != 1 or self.costs.size == 0 or not np.isfinite(self.costs).all():
            raise InputError("c is not a vector of finite numbers; give one for each variable")
        if self.bound is None:
            if self.costs.min() <= 0:
                raise InputError(
                    "c has entries that are zero or negative, so that {c'x = OPT} is unbounded; "
                    "give bound=R (--bound R), a public bound on the sum of all x"
                )
        elif not (np.isfinite(self.bound) and self.bound > 0):
            raise InputError(f"bound={self.bound} is not positive and finite; give such a number")

    @property
    def dimension(self) -> int:
        """The number of coordinates of z."""
        return len(self.costs) + (self.bound is not None)

    def scale(self, opt: float) -> Floats:
        """By what z is multiplied for a value of the objective."""
        if self.bound is not None:
            return np.append(np.full(len(self.costs), float(self.bound)), 0.0)
        if not opt > 0:
            raise InputError(
                f"opt={opt:g} is not positive, as it has to be for c > 0 and x >= 0; give a "
                "positive value, or a bound on the sum of all x"
            )
        return np.asarray(opt / self.costs)

    def objective_row(self, opt: float, unit: float = 1.0) -> tuple[Floats, float] | None:
        """The row and right side that stand for the objective in units; None: the scale does."""
        if self.bound is None:
            return None
        sign = -1.0 if self.maximise else 1.0
        return sign * self.costs / unit, sign * opt / unit

    def solution(self, z: Floats, opt: float) -> Floats:
        """x of a point of the simplex."""
        return np.asarray((self.scale(opt) * z)[: len(self.costs)])
