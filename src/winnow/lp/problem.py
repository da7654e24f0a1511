"""A linear program as the private solvers take it: public parts checked and put on the simplex."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, count, exact
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.inner_product.problem import InnerProductGrid
from winnow.lp.bounds import LpSetting
from winnow.lp.kernels.scalar_program import ConstraintRows, Shapes
from winnow.lp.mechanisms.constraint import ConstraintPrivateLp

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
            raise ParameterError("c is not a vector of finite numbers; give one for each variable")
        if self.bound is None:
            if self.costs.min() <= 0:
                raise ParameterError(
                    "c has entries that are zero or negative, so that {c'x = OPT} is unbounded; "
                    "give bound=R (--bound R), a public bound on the sum of all x"
                )
        elif not (np.isfinite(self.bound) and self.bound > 0):
            raise ParameterError(
                f"bound={self.bound} is not positive and finite; give such a number"
            )

    @property
    def dimension(self) -> int:
        """The number of coordinates of z."""
        return len(self.costs) + (self.bound is not None)

    def scale(self, opt: float) -> Floats:
        """By what z is multiplied for a value of the objective."""
        if self.bound is not None:
            return np.append(np.full(len(self.costs), float(self.bound)), 0.0)
        if not opt > 0:
            raise ParameterError(
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


@dataclass(frozen=True)
class Target:
    """The value of the objective: given, or looked for between two public numbers."""

    low: float
    high: float

    @classmethod
    def of(cls, opt: Any) -> Target:
        """From a number, or from a pair (low, high)."""
        if opt is None:
            raise ParameterError(
                "opt is missing; give the optimal value, or (low, high) to search between them"
            )
        if not isinstance(opt, tuple | list):
            value = float(exact("opt", opt))
            return cls(value, value)
        if len(opt) != 2:
            raise ParameterError(f"opt has {len(opt)} parts; give one number, or (low, high)")
        low, high = (float(exact("opt", end)) for end in opt)
        if not low < high:
            raise ParameterError(
                f"opt=({low:g}, {high:g}) is empty; give (low, high) with low < high"
            )
        return cls(low, high)

    @property
    def known(self) -> bool:
        """Whether nothing is searched for."""
        return self.low == self.high

    def less(self, constant: float) -> Target:
        """The value without what the objective has where all variables are 0."""
        return Target(self.low - constant, self.high - constant)


@dataclass(frozen=True)
class ScalarProblem:
    """Public rows and where solutions are looked for."""

    simplex: Simplex
    target: Target
    rows: ConstraintRows = field(repr=False)
    mixed: bool
    """Whether rows of either sign are among them, so that b enters scores both ways."""
    unit: float = 1.0
    """In what the objective's row is given, where there is one."""
    entries: int = 0
    """How many numbers the rows hold, dense or sparse, without the objective's row."""

    @classmethod
    def of(cls, matrix: Any, simplex: Simplex, target: Target, *, mixed: bool) -> ScalarProblem:
        """Append the objective's row where the reduction needs it."""
        if matrix.shape[1] != len(simplex.costs):
            raise ParameterError(
                f"A has {matrix.shape[1]} columns and c has {len(simplex.costs)} entries; give "
                "one for each variable"
            )
        if not target.known:
            _refuse_unbounded(matrix, simplex)
        largest, costs = float(abs(matrix).max()), float(np.abs(simplex.costs).max())
        unit = max(1.0, costs / largest) if largest > 0 else 1.0
        entries = int(matrix.size if isinstance(matrix, np.ndarray) else matrix.nnz)
        objective = simplex.objective_row(target.high, unit)
        if objective is not None:
            matrix = _with_row(matrix, objective[0])
        return cls(simplex, target, ConstraintRows.of(matrix), mixed, unit, entries)

    def public_sides(self, opt: float) -> tuple[float, ...]:
        """The right side of the objective's row, if there is one."""
        objective = self.simplex.objective_row(opt, self.unit)
        return () if objective is None else (objective[1],)

    def missed(self, violation: float) -> float:
        """By what the objective may miss its value when no row is violated by more."""
        return 0.0 if self.simplex.bound is None else self.unit * violation

    def setting(self, utility: Utility) -> LpSetting:
        """What the bound needs."""
        shapes = Shapes.of(self.rows, self.simplex.scale(self.target.high))
        half = float(shapes.halves.max())
        if half == 0:
            raise ParameterError(
                "every row has one value at all points of the simplex; there is nothing to solve"
            )
        grid = InnerProductGrid.of(utility, signed=self.mixed)
        return LpSetting(
            "scalar",
            self.rows.size,
            math.log(self.simplex.dimension) or 1e-9,
            half,
            float(grid.utility.half_width) * 2.0**grid.power,
            float(grid.utility.one_sided) * 2.0**grid.power,
            rounding=2 * 2.0**grid.power,
        )

    @property
    def largest(self) -> float:
        """The largest |A_ij scale_j|."""
        return Shapes.of(self.rows, self.simplex.scale(self.target.high)).largest


@dataclass(frozen=True)
class OwnedProblem:
    """The public side of a program whose rows A_i x <= b_i are people."""

    simplex: Simplex
    target: Target
    entries: tuple[Real, Real]
    sides: tuple[Real, Real]
    rows: int
    """A public bound on their number."""
    exceptions: int

    def __post_init__(self) -> None:
        count(rows=self.rows, exceptions=self.exceptions)
        if self.simplex.bound is not None:
            raise ParameterError(
                "constraint-private programs need c > 0 and no bound=; leave it out"
            )
        if not self.target.known:
            self._refuse_unbounded()

    def setting(self) -> LpSetting:
        """What the bound needs: at the largest value that is solved for."""
        low_side, high_side = (float(exact("sides", end)) for end in self.sides)
        scale = self.simplex.scale(self.target.high)
        self.simplex.scale(self.target.low)  # it has to be positive too
        shape = ConstraintPrivateLp(1, 1, self.exceptions, self.entries, self.sides)
        power, steps = shape.steps(scale)
        low, high = (float(exact("entries", end)) for end in self.entries)
        top = max(high * float(scale.max()) - low_side, 0.0)
        bottom = min(low * float(scale.max()) - high_side, 0.0)
        return LpSetting(
            "constraint",
            len(scale),
            math.log((int(self.rows) + int(self.exceptions)) / int(self.exceptions)),
            (top - bottom) / 2,
            steps * 2.0**power,
            moved=1.0,
            exceptions=int(self.exceptions),
            highest=top,
            rounding=2 * 2.0**power,
        )

    def _refuse_unbounded(self) -> None:
        if self.simplex.maximise and exact("entries", self.entries[1]) <= 0:
            raise ParameterError(
                "the program is unbounded whatever the rows are: entries of at most 0 never limit "
                "a variable; give opt as a number to stop at"
            )


def _with_row(matrix: Any, row: Floats) -> Any:
    if isinstance(matrix, np.ndarray):
        return np.vstack([matrix, row])
    from scipy.sparse import csr_matrix, vstack

    return vstack([matrix, csr_matrix(row)], format="csr")


def _refuse_unbounded(matrix: Any, simplex: Simplex) -> None:
    if not simplex.maximise:
        return
    dense = isinstance(matrix, np.ndarray)
    tops = matrix.max(axis=0) if dense else matrix.max(axis=0).toarray().ravel()
    free = np.flatnonzero((tops <= 0) & (simplex.costs > 0))
    if len(free):
        raise ParameterError(
            f"the program is unbounded whatever b is: variable {int(free[0])} raises the objective "
            "and no row limits it; give opt as a number to stop at, or add a row"
        )
