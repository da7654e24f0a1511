"""The private side of a linear program: right-hand sides, or whole rows, sealed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.relation import Relation
from winnow.core.sealed import PublicFact, Sealed
from winnow.core.unit import PERSON, Unit
from winnow.core.utility import Utility
from winnow.errors import DataError
from winnow.foreign import instead
from winnow.inner_product.index.building import build_index
from winnow.inner_product.index.prepared import PreparedVectors
from winnow.inner_product.vectors import SealedVectors, checked_vectors

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SealedOffsets:
    """Right-hand sides b, one for each public row; one person moves each as `utility` says."""

    values: Sealed[Floats]
    size: int
    utility: Utility
    unit: Unit = PERSON

    @property
    def relation(self) -> Relation:
        """Which datasets are neighbours."""
        return self.utility.relation


@dataclass(frozen=True)
class SealedRows:
    """Rows A_i x <= b_i, one for each person: entries, right sides and their number are private."""

    content: Sealed[tuple[Any, Floats]]
    columns: int = field(repr=False)
    relation: Relation = Relation.ADD_REMOVE
    unit: Unit = PERSON


def seal_offsets(b: Any, size: int, utility: Utility) -> SealedOffsets:
    """Seal the right-hand sides of `size` rows."""
    values = vector(b, "b")
    if len(values) != size:
        raise DataError(f"b has {len(values)} entries and A has {size} rows; give one for each")
    return SealedOffsets(Sealed(values, f"right-hand sides of {size} rows"), size, utility)


def seal_offset_vectors(matrix: Floats, offsets: SealedOffsets, index: str) -> SealedVectors:
    """Vectors (A_i, b_i) and an index over them, sealed together: both depend on b."""
    width, size = matrix.shape[1] + 1, offsets.size

    def prepared(sides: Floats) -> PreparedVectors:
        vectors = checked_vectors(np.column_stack([matrix, sides]))
        return PreparedVectors(vectors, build_index(index, vectors))

    content = offsets.values.map(prepared, f"{size} vectors of rows and right-hand sides")
    return SealedVectors(content, size, width, index, None)


def check_sides(offsets: SealedOffsets) -> None:
    """Refuse right-hand sides that no index can hold, before anything is charged."""
    offsets.values.publish(
        PublicFact.REFUSED_DATA, lambda sides: checked_vectors(sides[:, None]) is None
    )


def seal_rows(matrix: Any, b: Any, relation: Relation = Relation.ADD_REMOVE) -> SealedRows:
    """Seal a whole matrix (2-d array or scipy sparse) with its right-hand sides."""
    values = vector(b, "b", empty=True)
    check_lengths(matrix, values)
    content = Sealed((matrix, values), "rows of a linear program")
    return SealedRows(content, int(matrix.shape[1]), relation)


def checked_matrix(matrix: Any, *, empty: bool = False) -> Any:
    """A as a float64 array, or as compressed sparse rows when it came sparse.

    ``empty`` allows no rows at all: where rows are people, their number is private.
    """
    if hasattr(matrix, "tocsr"):
        rows = matrix.tocsr().astype(np.float64)
        data = rows.data
    else:
        with instead(
            DataError("A is not a matrix of numbers; give a 2-d array"), TypeError, ValueError
        ):
            rows = data = np.ascontiguousarray(matrix, np.float64)
    if len(rows.shape) != 2 or rows.shape[1] == 0 or (rows.shape[0] == 0 and not empty):
        raise DataError("A is not a matrix with rows and columns; give a 2-d array")
    if data.size and not (np.isfinite(data.min()) and np.isfinite(data.max())):
        raise DataError("A has entries that are NaN or infinite; clean them first")
    return rows


def vector(b: Any, name: str, *, empty: bool = False) -> Floats:
    """A copy of b as float64; what is no vector of finite numbers is refused."""
    with instead(DataError(f"{name} is not a vector of numbers"), TypeError, ValueError):
        values = np.array(b, np.float64)
    if values.ndim != 1 or (values.size == 0 and not empty):
        raise DataError(f"{name} has {values.ndim} dimensions; give one vector of numbers")
    if not np.isfinite(values).all():
        raise DataError(f"{name} has entries that are NaN or infinite; clean them first")
    return values


SENSES = ("<=", ">=", "=")


def as_upper_rows(
    matrix: Any, b: Any, senses: Any, *, empty: bool = False
) -> tuple[Any, Floats, bool]:
    """(A, b, mixed) with all rows in the form A_i x <= b_i; an equation becomes two rows.

    ``senses`` is one of "<=", ">=", "=" for all rows, or one for each. `mixed`: b enters the
    rows with both signs.
    """
    values = vector(b, "b", empty=empty)
    check_lengths(matrix, values)
    upper, mixed = upper_matrix(matrix, senses)
    return upper, upper_sides(values, senses), mixed


def check_lengths(matrix: Any, sides: Floats) -> None:
    """Refuse right-hand sides that are not one for each row; how many there are may be private."""
    if len(sides) != matrix.shape[0]:
        raise DataError("A and b do not have one row for each other; give them one length")


def upper_matrix(matrix: Any, senses: Any) -> tuple[Any, bool]:
    """A with all rows in the form A_i x <= b_i, and whether b enters them with both signs."""
    upper, lower = _signs(senses, matrix.shape[0])
    if lower is None:
        return matrix, False
    if upper is None:
        return -matrix, False
    if isinstance(matrix, np.ndarray):
        return np.concatenate([matrix[upper], -matrix[lower]]), len(lower) > 0
    from scipy.sparse import vstack

    return vstack([matrix[upper], -matrix[lower]], format="csr"), len(lower) > 0


def upper_sides(values: Floats, senses: Any) -> Floats:
    """b for the rows of ``upper_matrix``."""
    upper, lower = _signs(senses, len(values))
    if lower is None:
        return values
    return -values if upper is None else np.concatenate([values[upper], -values[lower]])


def _signs(senses: Any, size: int) -> tuple[Any, Any]:
    """Which rows are taken as they are, and which negated; None: none of them."""
    if isinstance(senses, str) and senses == "<=":
        return slice(None), None
    kinds = np.full(size, senses) if isinstance(senses, str) else np.asarray(list(senses))
    if len(kinds) != size or not np.isin(kinds, SENSES).all():
        raise DataError(
            f"senses are not one of {', '.join(SENSES)} for each of {size} rows; give such a list"
        )
    upper, lower = np.flatnonzero(kinds != ">="), np.flatnonzero(kinds != "<=")
    return (None, lower) if len(upper) == 0 or size == 0 else (upper, lower)
