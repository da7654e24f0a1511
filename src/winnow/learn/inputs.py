"""The columns of what people bring: arrays, lists, dicts and data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

import numpy as np

from winnow.errors import DataError


class Named(Protocol):
    """What is asked of a feature: the name of its column."""

    @property
    def name(self) -> str:
        """The name."""


def named_columns(data: Any) -> tuple[tuple[str, ...], list[Any], bool]:
    """The names of the columns, the columns, and whether the data brought the names.

    Messages name columns and nothing else: the values may be private.
    """
    if isinstance(data, Mapping):
        return tuple(map(str, data)), [np.asarray(values) for values in data.values()], True
    if not isinstance(data, np.ndarray | Sequence) and hasattr(data, "columns"):
        return _of_frame(data)
    array = _array(data)
    if array.ndim != 2:
        raise DataError(f"Reshape your data: X has {array.ndim} dimensions; give rows and columns")
    names = tuple(f"x{i}" for i in range(array.shape[1]))
    return names, [array[:, i] for i in range(array.shape[1])], False


def pick_columns(features: Sequence[Named], data: Any) -> list[Any]:
    """The column of every feature: by name where the data have names, else by place."""
    names, columns, own_names = named_columns(data)
    if own_names:
        missing = [feature.name for feature in features if feature.name not in names]
        if missing:
            raise DataError(f"there is no column {missing[0]!r} in the data; add or rename it")
        return [columns[names.index(feature.name)] for feature in features]
    if len(columns) != len(features):
        raise DataError(
            f"X has {len(columns)} features, but {len(features)} features are expected; "
            "give one column for each"
        )
    return columns


def _array(data: Any) -> Any:
    if hasattr(data, "toarray") and hasattr(data, "nnz"):
        raise DataError("a sparse matrix is not supported; give a dense one")
    if isinstance(data, np.ndarray) or not isinstance(data, Sequence):
        return np.asarray(data)
    array = np.array(data, object)  # so that 70 beside "m" stays a number
    if array.ndim == 1 and any(isinstance(row, Sequence | np.ndarray) for row in data):
        raise DataError("X is ragged; give rows of equal length")
    return array


def _of_frame(data: Any) -> tuple[tuple[str, ...], list[Any], bool]:
    import narwhals.stable.v2 as nw

    frame = None
    with suppress(TypeError):
        frame = nw.from_native(data, eager_only=True)
    if frame is None:
        raise DataError(f"a {type(data).__name__} is not a table that can be read; give an array")
    return (
        tuple(map(str, frame.columns)),
        [frame.get_column(name).to_numpy() for name in frame.columns],
        True,
    )


def like_rows(data: Any, said: Any, names: Sequence[Any] = ()) -> Any:
    """What is said of each row, with the index of the rows where they are a pandas frame."""
    index = getattr(data, "index", None)
    if index is None or type(data).__module__.split(".")[0] != "pandas":
        return said
    import pandas as pd

    if names:
        return pd.DataFrame(said, index=index, columns=list(names))
    return pd.Series(said, index=index)
