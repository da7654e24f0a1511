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


class LeadItems(list[Any], Framed):
    """A list of pairs: an item, and by how much it leads the next one; None: not released."""

    def to_columns(self) -> Columns:
        """The items in their order, and their leads."""
        leads = np.array([math.nan if lead is None else lead for _, lead in self], np.float64)
        return {"item": plain_column([item for item, _ in self]), "lead": leads}


class GroupedItems(list[Any], Framed):
    """A list of pairs: a group and an item of it."""

    by = "group"
    """The column of the groups."""

    def to_columns(self) -> Columns:
        """The groups, and the item of each."""
        groups, items = ([pair[place] for pair in self] for place in range(2))
        beside = "item_" if self.by == "item" else "item"
        return {self.by: plain_column(groups), beside: plain_column(items)}


def list_columns(value: list[Any]) -> Columns:
    """The columns of a released list: the items in their order, and what stands beside them."""
    return value.to_columns() if isinstance(value, Framed) else {"item": plain_column(value)}


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
    values: NDArray[Any] = named[codes]
    return values


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
