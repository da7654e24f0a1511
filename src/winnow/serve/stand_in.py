"""Made-up data with the public facts of a dataset, and nothing of the private ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from winnow.core.baskets import Baskets
from winnow.core.sealed import Sealed
from winnow.read.baskets import SealedBaskets
from winnow.read.counts import SealedCounts
from winnow.read.crossing import Rows, SealedTable
from winnow.read.people import BoundedPeople

Data = SealedTable | SealedCounts | SealedBaskets


def stand_in(data: Data) -> Data:
    """Made-up data with the same public facts: every row alike, every count 0, no basket."""
    match data:
        case SealedTable():
            return _table_like(data, data.n)
        case SealedCounts():
            nobody = None if data.weighed is None else data.weighed.made_up()
            data = replace(data, people=_nobody(data.people), weighed=nobody)
            if isinstance(data.labels, Sealed):
                labels: Any = Sealed(["made up"], "items")
                return replace(data, values=Sealed(np.ones(1, np.int64), "counts"), labels=labels)
            zeros = np.zeros(len(data.labels), np.int64)
            return replace(data, values=Sealed(zeros, "counts"))
        case SealedBaskets():
            number = 1 if isinstance(data.labels, Sealed) else len(data.labels)
            empty = Baskets(np.zeros(2, np.int64), np.zeros(0, np.int32), number)
            known: Any = Sealed(["made up"], "items") if number == 1 else data.labels
            return replace(
                data,
                data=Sealed(empty, "baskets"),
                labels=known if isinstance(data.labels, Sealed) else data.labels,
            )


def _table_like(table: SealedTable, rows: int | None) -> SealedTable:
    """So many rows, all alike."""
    number = np.array([1 if rows is None else rows], np.int64)
    codes = tuple(np.zeros(1, np.int32) for _ in table.schema.columns)
    return replace(table, rows=Sealed(Rows(codes, number), "rows"), people=_nobody(table.people))


def _nobody(people: BoundedPeople | None) -> BoundedPeople | None:
    """A bound on what a person counts for, with nobody under it."""
    return None if people is None else people.made_up()


def public_part(data: Data) -> tuple[Data, int | None]:
    """Data without what is sealed, and their number of rows where it is public."""
    match data:
        case SealedTable():
            return replace(data, rows=_NOTHING, people=_public_bound(data.people)), data.n
        case SealedCounts():
            labels, people = _public_labels(data.labels), _public_bound(data.people)
            weighed = None if data.weighed is None else replace(data.weighed, people=_NOTHING)
            public = replace(data, values=_NOTHING, labels=labels, people=people, weighed=weighed)
            return public, None
        case SealedBaskets():
            return replace(data, data=_NOTHING, labels=_public_labels(data.labels)), None


def _public_labels(labels: Any) -> Any:
    return _NOTHING if isinstance(labels, Sealed) else labels


def _public_bound(people: BoundedPeople | None) -> BoundedPeople | None:
    return None if people is None else replace(people, people=_NOTHING)


_NOTHING: Any = None
"""In the place of what is sealed."""


def made_again(public: Data, rows: int | None) -> Data:
    """A stand-in, made anew of what is public."""
    match public:
        case SealedTable():
            return _table_like(public, rows)
        case SealedCounts() | SealedBaskets():
            private = public.labels is _NOTHING
            sealed: Any = Sealed(["made up"], "items") if private else public.labels
            return stand_in(replace(public, labels=sealed))
