"""Candidate vectors and a query vector, sealed, for private maximum inner product search.

The number of candidates, the dimension and the labels are public; the entries of the query
are private, and those of the candidates may be: what was built from them (norms, bounds, an
index) is sealed together with them, because an index over private vectors is private data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, one_of
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.core.unit import PERSON, Unit
from winnow.core.utility import Utility
from winnow.errors import DataError, ParameterError
from winnow.foreign import guarded, instead
from winnow.inner_product.index.building import build_index, check_index
from winnow.inner_product.index.prepared import PreparedVectors
from winnow.inner_product.kernels.exact_dot import LARGEST_ENTRY
from winnow.inner_product.methods import INDEX_NAMES
from winnow.read.scores import _check_labels, is_masked

AUTO, EXACT = "auto", "exact"
"""No index: every draw looks at all candidates. That is what is chosen automatically, too."""


@dataclass(frozen=True)
class SealedVectors:
    """One vector for each of `size` candidates, and an index over them."""

    content: Sealed[PreparedVectors]
    size: int
    dimension: int = field(repr=False)
    """For messages about public lengths; where a column is a person it is private."""
    index: str
    labels: Sequence[Any] | None = field(repr=False)
    """Public names of the candidates; None: their positions 0, 1, 2, ..."""

    def label(self, position: int) -> Any:
        """The public name of the candidate at a position, as a plain Python value."""
        if self.labels is None:
            return position
        label = self.labels[position]
        return label.item() if isinstance(label, np.generic) else label

    def indexed(self, index: str) -> SealedVectors:
        """These vectors under an index of this name; EXACT takes it away."""
        if index == self.index:
            return self
        if index == EXACT:
            return replace(self, content=self.content.map(_bare, self.content.what), index=EXACT)
        if self.index != EXACT:
            raise ParameterError(
                f"these vectors were sealed with index={self.index!r}; name the index where they "
                "are sealed, or leave out index="
            )
        check_index(index)

        def built(prepared: PreparedVectors) -> PreparedVectors:
            return prepared.with_index(build_index(index, prepared.vectors))

        return replace(self, content=self.content.map(built, self.content.what), index=index)


def _bare(prepared: PreparedVectors) -> PreparedVectors:
    return prepared.with_index(None)


@dataclass(frozen=True)
class SealedQuery:
    """A private vector, and how far one person moves any inner product with a candidate."""

    values: Sealed[NDArray[np.float64]]
    dimension: int = field(repr=False)
    utility: Utility
    unit: Unit = PERSON
    upper_bounds: NDArray[np.float64] | None = field(default=None, repr=False)
    """Bounds on all inner products (on their absolute values) that the caller certifies."""

    @property
    def relation(self) -> Relation:
        """Which datasets are neighbours."""
        return self.utility.relation


@guarded
def seal_vectors(
    candidates: Any, *, index: str = AUTO, labels: Any = None, copy: bool = True
) -> SealedVectors:
    """Seal a matrix with one candidate per row, and build an index over it.

    The number of candidates and their ``labels`` (by default positions) are public. ``index`` is
    "exact" (none: every draw scans), "flat", "lsh", "p-stable", "ivf" or "hnsw" (the last two need
    the extra ``faiss``); "auto" takes none. Seal once, and search as often as the budget allows.
    ``copy=False`` keeps the given array: do not change it afterwards.
    """
    one_of((AUTO, EXACT, *INDEX_NAMES), index=index)
    index = EXACT if index == AUTO else index
    vectors = checked_vectors(candidates)
    size, dimension = vectors.shape
    if labels is not None:
        labels = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
        if len(labels) != size:
            raise DataError(
                f"there are {len(labels)} labels for {size} candidates; give one for each"
            )
        _check_labels(labels, size)
    if copy and isinstance(candidates, np.ndarray) and np.may_share_memory(vectors, candidates):
        vectors = vectors.copy()
    built = None if index == EXACT else build_index(index, vectors)
    what = f"vectors of {size} candidates"
    return SealedVectors(
        Sealed(PreparedVectors(vectors, built), what), size, dimension, index, labels
    )


@guarded
def seal_query(
    query: Any,
    *,
    sensitivity: Real | tuple[Real, Real],
    monotone: bool = False,
    relation: str | Relation = Relation.ADD_REMOVE,
    upper_bounds: Any = None,
) -> SealedQuery:
    """Seal a private vector, and say how far one person moves any inner product with it.

    ``sensitivity`` is the most by which one person can move any inner product with a candidate,
    or a pair (down, up) for what adding a person does: for candidates with entries in [-a, a] and
    a query that one person changes by at most b in the sum of absolute differences, a times b.
    Candidates may depend on the people too, as long as the sensitivity covers it. ``monotone``
    says that adding a person never lowers an inner product. ``relation`` says which datasets are
    neighbours. ``upper_bounds`` are bounds on every inner product (with ``signed`` on its absolute
    value) that you certify, one for each candidate: they help an index.
    """
    utility = Utility.declare(sensitivity, monotone=monotone, relation=relation)
    sealed = query_of(query, utility)
    return sealed if upper_bounds is None else replace(sealed, upper_bounds=_bounds(upper_bounds))


def _bounds(upper_bounds: Any) -> NDArray[np.float64]:
    with instead(
        DataError("upper_bounds are not numbers; give one for each candidate"),
        TypeError,
        ValueError,
    ):
        bounds = np.array(upper_bounds, np.float64)
    if bounds.ndim != 1:
        raise DataError(f"upper_bounds have {bounds.ndim} dimensions; give one for each candidate")
    if np.isnan(bounds).any():
        raise DataError("upper_bounds contain NaN; give infinity where nothing is known")
    return bounds


def query_of(query: Any, utility: Utility) -> SealedQuery:
    """Seal a query vector under a utility."""
    values = _real_array(query, "the query")
    if values.ndim != 1:
        raise DataError(f"the query has {values.ndim} dimensions; give one vector of numbers")
    _check_entries(values, "the query")
    return SealedQuery(Sealed(np.array(values, np.float64), "a query vector"), len(values), utility)


def checked_vectors(candidates: Any) -> NDArray[Any]:
    """A matrix of finite numbers with a row for each candidate; anything else is refused."""
    vectors = _real_array(candidates, "the matrix of candidates")
    if vectors.ndim != 2:
        raise DataError(
            f"candidates have {vectors.ndim} dimensions; give a matrix with one candidate per row"
        )
    if vectors.shape[0] == 0:  # columns may be people, of whom there may be none
        raise DataError("the matrix of candidates has no rows; give one candidate at least")
    _check_entries(vectors, "the matrix of candidates")
    return np.ascontiguousarray(vectors)


def _real_array(values: Any, what: str) -> NDArray[Any]:
    """Numbers that float64 holds exactly, in their own type to save memory."""
    if is_masked(values):
        raise DataError(f"{what} is a masked array; fill the masked entries first")
    with instead(
        DataError(f"{what} has rows of different lengths; give them one length"), ValueError
    ):
        array = np.asarray(values)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise DataError(
            f"{what} has the type {array.dtype.name}; give integers or floats of at most 64 bits"
        )
    return array


def _check_entries(array: NDArray[Any], what: str) -> None:
    if array.size == 0:
        return
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        if int(array.max()) > 2**53 or int(array.min()) < -(2**53):
            raise DataError(f"{what} has integers beyond 2^53; give it in larger units")
    elif array.dtype.kind == "f":
        high, low = float(array.max()), float(array.min())  # they carry NaN and infinities
        if not (np.isfinite(high) and np.isfinite(low)):
            raise DataError(f"{what} has entries that are NaN or infinite; clean them first")
        if max(high, -low) > LARGEST_ENTRY:
            raise DataError(f"{what} has entries beyond 2^400; give it in larger units")
