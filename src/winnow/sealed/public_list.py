"""The public list of items: its labels, and the texts by which they are found in a table."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from winnow.errors import InputError


def public_list(items: Sequence[Any] | str | Path) -> tuple[list[Any], tuple[str, ...]]:
    """The labels of a list, or of a text file with one per line, and their different texts."""
    public = _lines(items) if isinstance(items, str | Path) else list(items)
    if not public:
        raise InputError("the public list of items is empty; give at least one item")
    texts = tuple(map(label_text, public))
    if len(set(texts)) != len(texts):
        again = next(text for text, times in Counter(texts).items() if times > 1)
        raise InputError(f"the item {again!r} stands more than once in the public list")
    return public, texts


def label_text(label: Any) -> str:
    """The text that every engine writes for a value like this label.

    Whole numbers are written in decimal, True and False as 'true' and 'false', dates as
    '2026-11-30', UUIDs with hyphens.
    """
    if isinstance(label, str):
        return _checked(label)
    if isinstance(label, bool | np.bool_):
        return "true" if label else "false"
    if isinstance(label, int | np.integer):
        return str(int(label))
    if isinstance(label, datetime.date) and not isinstance(label, datetime.datetime):
        return label.isoformat()
    if isinstance(label, UUID):
        return str(label)
    raise InputError(
        f"the public list holds {label!r} of the type {type(label).__name__}, whose text is not "
        "the same in every engine; give texts, whole numbers, dates, True or False"
    )


def _checked(text: str) -> str:
    try:
        possible = b"\0" not in text.encode()
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise InputError(f"the item {text!r} of the public list cannot be a text in a table")
    return text


def _lines(path: str | Path) -> list[Any]:
    problem = None
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        problem = type(error).__name__
    if problem is not None:
        raise InputError(
            f"the list of items {str(path)!r} cannot be read ({problem}); give a text file with "
            "one item per line"
        )
    return [line for line in text.splitlines() if line.strip()]
