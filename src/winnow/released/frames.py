"""Columns of codes as labelled columns, and those as the data frame that a user works with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.errors import InputError

FRAMES = ("dict", "pandas", "polars", "arrow")


def labelled(labels: tuple[Any, ...], codes: NDArray[Any]) -> NDArray[Any]:
    """The label of each code: an array of numbers where all labels are, else of objects."""
    kinds = {type(label) for label in labels}
    if kinds in ({int}, {float}, {bool}, {int, float}):
        numbers: NDArray[Any] = np.array(labels)[codes]
        return numbers
    named = np.empty(len(labels), object)
    named[:] = labels
    found: NDArray[Any] = named[codes]
    return found


def as_frame(columns: dict[str, NDArray[Any]], frame: str) -> Any:
    """A pandas, Polars or Arrow table of the columns."""
    import narwhals.stable.v2 as nw

    backend: Any = "pyarrow" if frame == "arrow" else frame
    try:
        return nw.from_dict(columns, backend=backend).to_native()
    except ImportError:
        raise InputError(
            f"frame={frame!r} needs the package {backend!r}, which is not installed; install it, "
            "or take frame='dict'"
        ) from None
