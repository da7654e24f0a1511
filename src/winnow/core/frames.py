"""Columns of codes as labelled columns, and those as the data frame that a user works with."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.errors import DataError
from winnow.foreign import instead

Columns = dict[str, NDArray[Any]]

FRAMES = ("dict", "pandas", "polars", "arrow")


class Framed(ABC):
    """Something that is a table, for people who work with data frames."""

    @abstractmethod
    def to_columns(self) -> Columns:
        """The table as one array for each column."""

    def to_pandas(self, **options: Any) -> Any:
        """The table of ``to_columns``, which takes the options, as a pandas frame."""
        return as_frame(self.to_columns(**options), "pandas")

    def to_polars(self, **options: Any) -> Any:
        """The columns as a Polars frame."""
        return as_frame(self.to_columns(**options), "polars")

    def to_arrow(self, **options: Any) -> Any:
        """The columns as an Arrow table."""
        return as_frame(self.to_columns(**options), "arrow")


class CountedItems(list[Any]):
    """A list of pairs: an item and its noisy count."""


class LeadItems(list[Any]):
    """A list of pairs: an item, and by how much it leads the next one; None: not released."""


class GroupedItems(list[Any]):
    """A list of pairs: a group and an item of it."""

    by = "group"
    """The column of the groups."""


def list_columns(value: list[Any]) -> Columns:
    """The columns of a released list: the items in their order, and counts where there are."""
    if isinstance(value, CountedItems):
        counts = np.array([noisy for _, noisy in value], np.int64)
        return {"item": plain_column([item for item, _ in value]), "count": counts}
    if isinstance(value, LeadItems):
        leads = np.array([math.nan if lead is None else lead for _, lead in value], np.float64)
        return {"item": plain_column([item for item, _ in value]), "lead": leads}
    if isinstance(value, GroupedItems):
        groups, items = ([pair[place] for pair in value] for place in range(2))
        return {value.by: plain_column(groups), _item_beside(value.by): plain_column(items)}
    return {"item": plain_column(value)}


def _item_beside(by: str) -> str:
    return "item_" if by == "item" else "item"


def plain_column(values: list[Any] | tuple[Any, ...]) -> NDArray[Any]:
    """One array: of numbers where all values are, else of objects; an itemset is one text."""
    texts = [" + ".join(map(str, v)) if isinstance(v, tuple) else v for v in values]
    return labelled(tuple(texts), np.arange(len(texts)))


def labelled(labels: Sequence[Any], codes: NDArray[Any]) -> NDArray[Any]:
    """The label of each code: an array of numbers where all labels are, else of objects."""
    kinds = {type(label) for label in labels}
    if kinds in ({int}, {float}, {bool}, {int, float}):
        numbers: NDArray[Any] = np.array(labels)[codes]
        return numbers
    named = np.empty(len(labels), object)
    named[:] = labels
    found: NDArray[Any] = named[codes]
    return found


def as_frame(columns: Columns, frame: str) -> Any:
    """A pandas, Polars or Arrow table of the columns."""
    from importlib import import_module

    import narwhals.stable.v2 as nw

    backend: Any = "pyarrow" if frame == "arrow" else frame
    with instead(
        DataError(
            f"a {frame} table needs the package {backend!r}, which is not installed; install it, "
            "or take the plain columns: to_columns(), or frame='dict'"
        ),
        ImportError,
    ):
        import_module(backend)
        return nw.from_dict(columns, backend=backend).to_native()
