"""Values of a table to the codes of its schema. What is outside is named by its column only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.domain.column import Column
from winnow.errors import InputError

Codes = NDArray[np.int32]
_BOOLEANS = {"true": True, "True": True, "TRUE": True}
_BOOLEANS |= {"false": False, "False": False, "FALSE": False}


def encode(column: Column, values: NDArray[Any], *, as_text: bool) -> Codes:
    """The code of every value, or an error when one is outside the schema.

    The message names the column and nothing else: neither the value nor how many there are.
    """
    codes = _codes(column, values, as_text)
    outside = codes < 0
    if outside.any():
        if not column.other:
            raise InputError(
                f"the column {column.name!r} holds a value outside the schema, or an empty one; "
                f"{_advice(column, as_text)}"
            )
        codes[outside] = column.codes
    return codes


def _advice(column: Column, as_text: bool) -> str:
    clip = ' or "clip": true' if column.kind == "bins" else ""
    spaces = " (spaces, leading zeros and letter case count)" if as_text else ""
    return f'check how it is written{spaces}, extend the schema, or declare "other": true{clip}'


def _codes(column: Column, values: NDArray[Any], as_text: bool) -> Codes:
    nulls = np.asarray(np.ma.getmaskarray(values))
    held = np.ma.getdata(values)
    if column.kind == "categories":
        codes = _categories(column, held, nulls, as_text)
    else:  # codes as they are, bins as the engine found them
        fits = (held >= 0) & (held < column.codes) & ~nulls
        if held.dtype.kind == "f":
            fits &= held == np.floor(held)
        codes = np.full(held.shape, -1, np.int32)
        codes[fits] = held[fits].astype(np.int32)
    return codes


def _categories(
    column: Column, held: NDArray[Any], nulls: NDArray[np.bool_], as_text: bool
) -> Codes:
    known = {value: code for code, value in enumerate(column.values) if value is not None}
    missing = column.values.index(None) if None in column.values else -1
    if as_text and missing < 0:
        missing = known.get("", -1)  # a text file writes an empty text and nothing alike
    if column.content == "number":
        if held.dtype.kind == "f" and not as_text:  # pandas writes missing numbers as NaN
            nulls = nulls | np.isnan(held)
        distinct, places = np.unique(held, return_inverse=True)
        codes = np.array([known.get(v, -1) for v in distinct.tolist()], np.int32)[places]
    elif column.content == "boolean" and as_text:
        codes = _looked_up(held, {text: known.get(value, -1) for text, value in _BOOLEANS.items()})
    else:
        codes = _looked_up(held, known)
    codes[nulls] = missing
    return codes


def _looked_up(held: NDArray[Any], known: dict[Any, int]) -> Codes:
    values = held.tolist()
    return np.fromiter((known.get(value, -1) for value in values), np.int32, len(values))
