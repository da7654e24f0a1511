"""Scores of a public list of candidates, sealed: dict, list, array or data frame in.

The labels are public (the user gives the list of candidates); the scores are private.
Everything is checked here, before anything is charged. Messages name positions of the
public input format and labels, never a score.
"""

from __future__ import annotations

import struct
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, one_of
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.core.unit import PERSON, Unit
from winnow.core.utility import Utility, declared
from winnow.errors import DataError, ParameterError
from winnow.foreign import guarded, instead, plain_type, shown
from winnow.read.file_columns import alike
from winnow.read.large_counts import PackedLabels

if TYPE_CHECKING:
    from winnow.read.kept import KeptCounts

Scores = NDArray[np.int64] | NDArray[np.float64]


@dataclass(frozen=True)
class SealedScores:
    """One private score for each of `size` public candidates."""

    values: Sealed[Scores | KeptCounts]
    size: int
    labels: Sequence[Any] | None = field(repr=False)
    """Public names of the candidates; None: their positions 0, 1, 2, ..."""
    utility: Utility
    unit: Unit = PERSON
    """Whose presence is protected."""

    @property
    def relation(self) -> Relation:
        """Which datasets are neighbours."""
        return self.utility.relation

    def label(self, position: int) -> Any:
        """The public name of the candidate at a position, as a plain Python value."""
        if self.labels is None:
            return position
        label = self.labels[position]
        return label.item() if isinstance(label, np.generic) else label


@guarded
def seal_scores(
    scores: Any,
    utility: Utility | None = None,
    *,
    sensitivity: Real | tuple[Real, Real] = 1,
    monotone: bool = False,
    relation: str | Relation = Relation.ADD_REMOVE,
    labels: Any = None,
    label_column: str | None = None,
    score_column: str | None = None,
    copy: bool = True,
) -> SealedScores:
    """Seal scores of public candidates: a dict, a list, NumPy, pandas, Polars or Arrow.

    ``sensitivity`` is the most by which one person can move any score, or (down, up) for what
    adding one person can do; ``monotone=True`` says that adding a person never lowers a score (as
    with counts): under add-remove that halves the noise. ``relation`` says which datasets are
    neighbours. A ``wn.Utility`` says all three at once.

    A dict gives labels and scores; a pandas Series takes its index as labels; a data frame has a
    label column and a score column (its two columns, or those named); anything else is labelled
    by position unless ``labels`` is a list of them. ``labels="public"`` says of a Series with an
    index, a Counter or a table of counts that its labels were fixed without looking at the data.

    The scores are copied, so that later changes to the caller's array do not reach them;
    ``copy=False`` trusts that the array is left alone.
    """
    refuse_sealed(scores)
    if utility is None:
        utility = declared(sensitivity, monotone, relation)
    elif sensitivity != 1 or monotone or relation != Relation.ADD_REMOVE:
        raise ParameterError(
            "utility= says sensitivity, monotone and relation at once; leave out the others"
        )
    word = labels_word(labels)
    if word == "private":
        raise ParameterError(
            "scores are of public candidates; counts whose labels were found in the data are "
            "sealed by wn.seal_counts(counts, labels='private'), for winnow.top_k with a delta"
        )
    if labels is None:
        refuse_found_labels(scores, tables=False)
    values, names = read_scores_of(
        scores,
        labels=None if word else labels,
        label_column=label_column,
        score_column=score_column,
    )
    if copy and isinstance(scores, np.ndarray) and np.may_share_memory(values, scores):
        values = values.copy()
    return SealedScores(
        Sealed(values, f"scores of {len(values)} candidates"), len(values), names, utility
    )


def refuse_sealed(data: Any) -> None:
    """Refuse data that were sealed before, with a sensitivity and labels of their own."""
    if hasattr(data, "utility") and hasattr(data, "relation"):
        raise ParameterError(
            f"a {type(data).__name__} is sealed already, with its own sensitivity, relation and "
            "labels; give it as it is"
        )


def read_scores_of(
    scores: Any,
    *,
    labels: Any = None,
    label_column: str | None = None,
    score_column: str | None = None,
) -> tuple[Scores, Sequence[Any] | None]:
    """Checked scores, not yet sealed, and their labels; None: they have none."""
    own_labels: Any = None
    different = type(scores) is dict
    if isinstance(scores, Mapping):
        own_labels, scores = list(scores.keys()), list(scores.values())
    elif not isinstance(scores, np.ndarray | list | tuple):
        own_labels, scores = _from_frame(scores, label_column, score_column)
        label_column = score_column = None
    if label_column is not None or score_column is not None:
        raise DataError("label and score columns are for data frames; this input has no columns")
    if labels is not None:
        if own_labels is not None:
            raise DataError("these scores bring their own labels; leave out labels=")
        if not isinstance(labels, PackedLabels):
            labels = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
        own_labels = labels
    values = _numbers(scores)
    if own_labels is not None and not isinstance(labels, PackedLabels):  # those were checked
        _check_labels(own_labels, len(values), different)
    return values, own_labels


def _columns_of(table: Any) -> Any:
    if hasattr(table, "collect_schema"):  # a lazy frame would compute its columns, and says so
        return table.collect_schema().names()
    return getattr(table, "columns", ())


LABELS = ("public", "private")
"""Where the labels of ready counts come from, in a word."""


def labels_word(labels: Any) -> str | None:
    """The word, where `labels` is one and not a list of labels."""
    if not isinstance(labels, str):
        return None
    one_of(LABELS, labels=labels)
    return labels


def refuse_found_labels(scores: Any, *, tables: bool) -> None:
    """Refuse counts whose labels may have been found in the data, when no word says that.

    Which labels exist can be due to one person: such a list is private, and a guarantee for a
    public one is false. A dict or a list is written by whoever calls; the result of value_counts
    or a Counter is not, and a table of labels and counts seldom is (``tables``).
    """
    if type(scores) in (dict, list, np.ndarray):
        return
    if isinstance(scores, Counter):
        what = "a Counter"
    elif isinstance(scores, Mapping | np.ndarray | list | tuple | SealedScores):
        return
    elif (kind := type(scores).__name__) == "Series":
        index = getattr(scores, "index", None)
        if index is None or type(index).__name__ == "RangeIndex":
            return
        what = "a Series with an index of labels"
    elif tables or "count" in _columns_of(scores):
        what = f"a table of labels and counts ({kind})"
    else:
        return
    raise ParameterError(
        f"{what} does not say where its labels come from. Labels found in the data are private "
        "too, since one person can be the reason that one exists: seal them with "
        "wn.seal_counts(counts, labels='private') for winnow.top_k with a delta. A list that was "
        "fixed without looking at the data, and has every label that there could be, is public: "
        "wn.seal_counts(counts, labels='public'), or wn.seal_scores of scores"
    )


def is_masked(values: Any) -> bool:
    """Whether it is a masked array; NumPy's part for these is loaded where there is one."""
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(values, masked.MaskedArray)


def _numbers(scores: Any) -> Scores:
    """The scores as contiguous int64 or float64, without rounding any of them."""
    if is_masked(scores):
        raise DataError("scores are a masked array; fill or drop the masked entries first")
    if not isinstance(scores, np.ndarray):
        scores = _from_python(scores)
    if scores.ndim != 1:
        raise DataError(f"scores have {scores.ndim} dimensions; give one score per candidate")
    if scores.size == 0:
        raise DataError("there are no candidates; give at least one")
    kind, width = scores.dtype.kind, scores.dtype.itemsize
    if kind in "iu":
        if kind == "u" and width == 8 and scores.max() > np.iinfo(np.int64).max:
            raise DataError("at least one score is 2^63 or more; scores must fit 64-bit integers")
        return np.ascontiguousarray(scores, np.int64)
    if kind == "f" and width <= 8:
        result = np.ascontiguousarray(scores, np.float64)
        high, low = result.max(), result.min()  # they carry NaN and infinities, without a copy
        if not (np.isfinite(high) and np.isfinite(low)):
            raise DataError("at least one score is NaN or infinite; clean or drop it first")
        with np.errstate(over="ignore"):
            if not np.isfinite(high - low):
                raise DataError("scores span more than a float64 can hold; rescale them")
        return result
    raise DataError(
        f"scores have the type {scores.dtype.name}; give integers or floats of at most 64 bits"
    )


def _from_python(scores: Sequence[Any]) -> NDArray[Any]:
    """A list of Python or NumPy numbers as one array, refusing what it would change."""
    if len(scores) == 0:
        raise DataError("there are no candidates; give at least one")
    if (packed := _packed(scores)) is not None:
        return packed
    kinds = set(map(type, scores))
    integers = {t for t in kinds if issubclass(t, int | np.integer)} - {bool, np.timedelta64}
    floats = {t for t in kinds if issubclass(t, float | np.floating)} - {np.longdouble}
    wrong = kinds - integers - floats
    if wrong:
        names = ", ".join(sorted(t.__name__ for t in wrong))
        raise DataError(f"scores contain {names}; give integers or floats only")
    with instead(
        DataError("at least one integer score does not fit 64 bits; rescale the scores"),
        OverflowError,
    ):
        if not floats:
            return np.array(scores, np.int64)
        result = np.array(scores, np.float64)
    if integers:
        whole = [s for s in scores if not isinstance(s, float | np.floating)]
        if any(int(float(s)) != int(s) for s in whole):
            raise DataError(
                "floats are mixed with integers too large for a float64; "
                "give all scores as integers or all as floats"
            )
    return result


def _packed(scores: Sequence[Any]) -> NDArray[Any] | None:
    """Plain integers of 64 bits, or plain floats, in half the time of ``np.array``; None: others.

    More is said of others: integers that are too long are refused in words.
    """
    if not (code := {int: "q", float: "d"}.get(type(scores[0]))) or not _all_alike(scores):
        return None
    memory = bytearray(8 * len(scores))
    with suppress(struct.error):
        struct.pack_into(f"{len(scores)}{code}", memory, 0, *scores)
        return np.frombuffer(memory, np.int64 if code == "q" else np.float64)
    return None


def _all_alike(values: Sequence[Any]) -> bool:
    """Whether all have the type of the first."""
    return list(map(type, values)).count(type(values[0])) == len(values)


def _from_frame(data: Any, label_column: str | None, score_column: str | None) -> tuple[Any, Any]:
    """Labels and scores of a pandas, Polars or Arrow object."""
    import narwhals.stable.v2 as nw

    if type(data).__module__ == "pyarrow.lib" and type(data).__name__.endswith("Array"):
        import pyarrow as pa  # the user's own: the object came from it

        data = data if isinstance(data, pa.ChunkedArray) else pa.chunked_array([data])
    native = nw.from_native(data, allow_series=True, pass_through=True)
    if isinstance(native, nw.LazyFrame):
        with instead(DataError("the lazy frame cannot be collected; collect it yourself")):
            native = native.collect()
    if isinstance(native, nw.Series):
        if label_column is not None or score_column is not None:
            raise DataError("label and score columns are for data frames; this is a single column")
        index: Any = getattr(data, "index", None)
        if type(index).__name__ == "RangeIndex":  # positions, or some of them: no two are equal
            return range(index.start, index.stop, index.step), _column(native)
        labels = index.tolist() if index is not None and hasattr(index, "tolist") else None
        return labels, _column(native)
    if not isinstance(native, nw.DataFrame):
        raise DataError(
            f"scores are a {type(data).__name__}; give a dict, a list, a NumPy array, "
            "or a pandas, Polars or Arrow column or table"
        )
    columns = list(native.columns)
    if (label_column is None or score_column is None) and len(columns) != 2:
        raise DataError(
            f"the table has {len(columns)} columns; name the two to use with label_column= and "
            "score_column="
        )
    if label_column is None and score_column is None:
        label_column, score_column = columns
    elif label_column is None or score_column is None:
        given = label_column if score_column is None else score_column
        other = columns[1] if columns[0] == given else columns[0]
        label_column, score_column = label_column or other, score_column or other
    for name in (label_column, score_column):
        if name not in columns:
            near = alike(str(name), [str(other) for other in columns])
            raise DataError(
                f"there is no column {shown(name)} among the {len(columns)} columns of the table; "
                f"{near or 'check its name'}"
            )
    labels = native.get_column(label_column)
    if labels.null_count() > 0:
        raise DataError("the label column has missing values; fill or drop them")
    return labels.to_list(), _column(native.get_column(score_column))


def _column(series: Any) -> NDArray[Any]:
    """A score column as an array, refusing missing values."""
    if series.null_count() > 0:
        raise DataError("at least one score is missing; fill or drop it first")
    if series.dtype.is_numeric() and not series.dtype.is_decimal():
        array: NDArray[Any] = series.to_numpy()
        return array
    raise DataError(
        f"the score column has the type {plain_type(series.dtype)}; give integers or floats"
    )


def repeated(labels: Sequence[Any]) -> tuple[int, int]:
    """Where a label stands that stands there again, and where; messages do not quote it."""
    seen: dict[Any, int] = {}
    return next((seen[x], i) for i, x in enumerate(labels) if seen.setdefault(x, i) != i)


def _check_labels(labels: Sequence[Any], size: int, different: bool = False) -> None:
    if len(labels) != size:
        raise DataError(f"there are {len(labels)} labels for {size} scores; give one for each")
    if isinstance(labels, range):
        return
    texts, whole = (type(labels[0]) is kind and _all_alike(labels) for kind in (str, int))
    if different and (texts or whole):  # the keys of a dict
        return
    with instead(DataError("labels must be hashable: texts, numbers or tuples"), TypeError):
        seen = set(labels)
    if len(seen) != size:
        first, again = repeated(labels)
        raise DataError(
            f"label {first + 1} appears again as label {again + 1}; add up its scores or rename one"
        )
    if not (texts or whole) and any(label is None or label != label for label in labels):
        raise DataError("at least one label is missing (None or NaN); name every candidate")
