"""Linear programs from MPS files, through the package highspy (extra ``lp``), or A, b and c alone.

A file may have anything between lower and upper bounds; the solvers take x >= 0 only. So a variable
x_j of the file becomes shift_j + z with z >= 0 (a lower bound), shift_j - z (only an upper bound),
z - z' (no bound at all), or the number itself (equal bounds).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.relation import Relation
from winnow.errors import DataError, ExtraMissing
from winnow.foreign import guarded, instead
from winnow.lp.sealing import FileVariables, LpProblem, lp_problem
from winnow.read.matrix import read_matrix, read_vector

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_INFINITE = 1e20


@dataclass(frozen=True)
class LpModel:
    """max or min c'z with A z (senses) b, z >= 0, as it was read and before it is sealed.

    Equations and ranges became two rows each. Lower bounds of the file's variables were moved into
    b, upper bounds became rows, a variable without a lower bound was turned round or split in two,
    and whole-number conditions were dropped.
    """

    A: Any = field(repr=False)
    """Compressed sparse rows."""
    b: Floats = field(repr=False)
    c: Floats = field(repr=False)
    senses: str | tuple[str, ...] = field(repr=False)
    maximise: bool
    names: Sequence[str] | None = field(default=None, repr=False)
    """Of z, where these are the variables of the file."""
    variables: FileVariables | None = field(default=None, repr=False)
    """How the variables of the file are made of z, where they are not z."""
    relaxed: bool = False
    """Whether whole-number conditions were dropped."""

    def problem(
        self,
        opt: Any,
        *,
        bound: float | None = None,
        relation: str | Relation = Relation.ADD_REMOVE,
    ) -> LpProblem:
        """The program, sealed; ``opt`` is that of the file's objective."""
        sealed = lp_problem(
            self.A,
            self.b,
            self.c,
            opt=opt,
            senses=self.senses,
            maximise=self.maximise,
            bound=bound,
            names=self.names,
            relation=relation,
        )
        if self.variables is None:
            return sealed
        moved = sealed.target.less(self.variables.constant)
        return replace(sealed, target=moved, variables=self.variables)


@guarded
def read_lp(
    path: str | Path,
    *,
    opt: Any,
    bound: float | None = None,
    relation: str | Relation = Relation.ADD_REMOVE,
) -> LpProblem:
    """Read and seal the program of an MPS file (.mps, also gzipped).

    Solutions have the variables of the file. ``opt``, ``bound`` and ``relation`` are those of
    ``lp_problem``; ``opt`` is the value of the file's objective.
    """
    return read_model(path).problem(opt, bound=bound, relation=relation)


def read_model(path: str | Path) -> LpModel:
    """The parts of the program of an MPS file."""
    with instead(ExtraMissing("highspy", "lp", "reading an MPS file"), ImportError):
        import highspy
    if not Path(path).is_file():
        raise DataError(f"there is no file {path}; give the path of an MPS file")
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call, unused-ignore]
    solver.setOptionValue("output_flag", False)
    if solver.readModel(str(path)) == highspy.HighsStatus.kError:
        raise DataError(f"{path} could not be read as an MPS file; check its format")
    if int(solver.getModel().hessian_.dim_) > 0:
        raise DataError(f"{path} has a quadratic objective; only linear programs are solved")
    return _model(solver.getLp(), highspy)


def plain_lp(
    matrix: Path, sides: Path, costs: Path, *, sense: str = "<=", maximise: bool = True
) -> LpModel:
    """A program in three files: the rows of A, and b and c as vectors; x >= 0."""
    rows, names = read_matrix(matrix)
    c = read_vector(costs)
    if rows.shape[0] == 0:  # rows may be people, of whom there may be none
        rows = np.zeros((0, len(c)))
    elif rows.shape[1] != len(c):
        raise DataError(
            f"{matrix} has {rows.shape[1]} columns and {costs} has {len(c)} numbers; give a cost "
            "for each variable"
        )
    return LpModel(rows, read_vector(sides), c, sense, maximise, names)


def _not_negative(low: Floats, high: Floats) -> tuple[Floats, Integers, Floats, Floats]:
    """Shift, source and signs of ``FileVariables``, and upper bounds of z, infinite where none."""
    empty = np.flatnonzero(low > high)
    if len(empty):
        raise DataError(
            f"the program is infeasible: variable {int(empty[0]) + 1} has a lower bound "
            "above its upper bound"
        )
    bounded, capped = low > -_INFINITE, high < _INFINITE
    shift = np.where(bounded, low, np.where(capped, high, 0.0))
    kept = np.flatnonzero(low < high)
    free = np.flatnonzero(~bounded & ~capped)
    signs = np.where(bounded | ~capped, 1.0, -1.0)[kept]
    limits = np.where(bounded & capped, high - low, np.inf)[kept]
    return (
        shift,
        np.concatenate([kept, free]),
        np.concatenate([signs, np.full(len(free), -1.0)]),
        np.concatenate([limits, np.full(len(free), np.inf)]),
    )


def _model(lp: Any, highspy: Any) -> LpModel:
    from scipy.sparse import csc_matrix, csr_matrix, diags, identity, vstack

    columns, rows = int(lp.num_col_), int(lp.num_row_)
    if columns == 0 or rows == 0:
        raise DataError("the model has no variables or no rows; there is nothing to solve")
    parts = (np.array(lp.a_matrix_.value_), np.array(lp.a_matrix_.index_),
             np.array(lp.a_matrix_.start_))  # fmt: skip
    by_column = lp.a_matrix_.format_ == highspy.MatrixFormat.kColwise
    layout = csc_matrix if by_column else csr_matrix
    whole = layout(parts, shape=(rows, columns)).tocsc()
    names = list(lp.col_names_) or [f"x{j}" for j in range(columns)]
    bounds = np.array(lp.col_lower_), np.array(lp.col_upper_)
    shift, source, signs, limits = _not_negative(*bounds)
    if len(source) == 0:
        raise DataError("all variables of the model are fixed; there is nothing to solve")
    matrix = (whole[:, source] @ diags(signs)).tocsr()
    moved = whole @ shift
    low, high = np.array(lp.row_lower_), np.array(lp.row_upper_)
    # sides may be private: which rows there are must not depend on whether two of them are equal
    upper, lower = np.flatnonzero(high < _INFINITE), np.flatnonzero(low > -_INFINITE)
    low, high = low - moved, high - moved
    limited = np.flatnonzero(np.isfinite(limits))
    stacked = vstack(
        [
            matrix[upper],
            matrix[lower],
            identity(len(source), format="csr")[limited],
        ],
        format="csr",
    )
    senses = ("<=",) * len(upper) + (">=",) * len(lower) + ("<=",) * len(limited)
    if not senses:
        raise DataError("no row of the model limits anything; there is nothing to solve")
    costs = np.array(lp.col_cost_)
    return LpModel(
        stacked,
        np.concatenate([high[upper], low[lower], limits[limited]]),
        costs[source] * signs,
        senses,
        lp.sense_ == highspy.ObjSense.kMaximize,
        variables=FileVariables(
            names, shift, source, signs, float(costs @ shift) + float(lp.offset_)
        ),
        relaxed=len(list(lp.integrality_)) > 0,
    )
