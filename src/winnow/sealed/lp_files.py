"""Linear programs from MPS files, through the package highspy (extra ``lp``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.errors import ExtraMissing, InputError

Floats = NDArray[np.float64]

_INFINITE = 1e20


@dataclass(frozen=True)
class LpModel:
    """max or min c'x with A x (senses) b, x >= 0. Which parts are private is said when solving.

    Lower bounds of variables were moved into b, upper bounds became rows, and whole-number
    conditions were dropped.
    """

    A: Any = field(repr=False)
    """Compressed sparse rows."""
    b: Floats = field(repr=False)
    c: Floats = field(repr=False)
    senses: tuple[str, ...] = field(repr=False)
    maximise: bool
    names: Sequence[str] = field(repr=False)
    lowest: Floats = field(repr=False)
    """The lower bounds: x of the file is x here plus these."""
    relaxed: bool
    """Whether whole-number conditions were dropped."""


def read_lp(path: str | Path) -> LpModel:
    """Read an MPS file (.mps, also gzipped); negative-unbounded variables are refused."""
    try:
        import highspy
    except ImportError:
        raise ExtraMissing("highspy", "lp", "reading an MPS file") from None
    if not Path(path).is_file():
        raise InputError(f"there is no file {path}; give the path of an MPS file")
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call, unused-ignore]
    solver.setOptionValue("output_flag", False)
    if solver.readModel(str(path)) == highspy.HighsStatus.kError:
        raise InputError(f"{path} could not be read as an MPS file; check its format")
    return _model(solver.getLp(), highspy)


def _model(lp: Any, highspy: Any) -> LpModel:
    from scipy.sparse import csc_matrix, csr_matrix, identity, vstack

    columns, rows = int(lp.num_col_), int(lp.num_row_)
    if columns == 0 or rows == 0:
        raise InputError("the model has no variables or no rows; nothing is to be solved")
    parts = (np.array(lp.a_matrix_.value_), np.array(lp.a_matrix_.index_),
             np.array(lp.a_matrix_.start_))  # fmt: skip
    by_column = lp.a_matrix_.format_ == highspy.MatrixFormat.kColwise
    layout = csc_matrix if by_column else csr_matrix
    matrix = layout(parts, shape=(rows, columns)).tocsr()
    names = list(lp.col_names_) or [f"x{j}" for j in range(columns)]
    lowest, highest = np.array(lp.col_lower_), np.array(lp.col_upper_)
    free = np.flatnonzero(lowest <= -_INFINITE)
    if len(free):
        raise InputError(
            f"variable {names[int(free[0])]!r} has no lower bound ({len(free)} such variables); "
            "write it as the difference of two variables that are not negative"
        )
    moved = matrix @ lowest
    low, high = np.array(lp.row_lower_) - moved, np.array(lp.row_upper_) - moved
    equal = np.abs(high - low) == 0
    upper = np.flatnonzero((high < _INFINITE / 2) & ~equal)
    lower = np.flatnonzero((low > -_INFINITE / 2) & ~equal)
    same = np.flatnonzero(equal)
    limited = np.flatnonzero(highest < _INFINITE)
    stacked = vstack(
        [matrix[upper], matrix[lower], matrix[same], identity(columns, format="csr")[limited]],
        format="csr",
    )
    sides = np.concatenate([high[upper], low[lower], low[same], (highest - lowest)[limited]])
    senses = (
        ("<=",) * len(upper) + (">=",) * len(lower) + ("=",) * len(same) + ("<=",) * len(limited)
    )
    if not senses:
        raise InputError("no row of the model limits anything; nothing is to be solved")
    whole = len(list(lp.integrality_)) > 0
    maximise = lp.sense_ == highspy.ObjSense.kMaximize
    return LpModel(
        stacked, sides, np.array(lp.col_cost_), senses, maximise, names, lowest, whole
    )  # fmt: skip
