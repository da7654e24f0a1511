"""One public column of a schema: which values it may hold, and the code of each.

Nothing here is learned from data. A column is one of four kinds:

    codes       whole numbers 0 .. n-1; or texts, each in one of n buckets by a public hash
    categories  declared values: all text, all numbers or all true/false, None beside them; or
                numbers of a calendar's unit (year, quarter, month, weekday, hour) of dates
    bins        numbers, or dates and times, between public edges; bin i is
                [edge_i, edge_{i+1}), the last is closed
    number      numbers, dates or times of a public grid low, low + step, ..., high; code i is
                low + i step; a number between two points counts as the nearest, a time as the last
                one before it

``missing`` names a code for missing values, ``other`` a last code for whatever is outside;
``clip`` puts numbers beyond the outer edges into the outer bins, and those beyond the grid on its
ends; ``drop`` leaves out rows whose
value is outside. Without them a value outside is an error when a table is read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

from winnow.core.declaration import (
    COMMENT,
    FORMS,
    Content,
    Edge,
    calendar_values,
    categories,
    count_of_codes,
    edges_of,
    equal_bins,
    is_comment,
    kind_of,
    label_of,
    list_of,
    plain_edge,
)
from winnow.core.number_grid import GridLabels, NumberGrid, checked_grid, number_grid
from winnow.errors import ParameterError
from winnow.foreign import shown

Kind = Literal["codes", "categories", "bins", "number"]
_WAYS = ("clip", "drop", "trim", "chosen_by_looking")
"""What a declaration turns on by true."""


@dataclass(frozen=True)
class Column:
    """A column's name and its codes 0 .. cardinality-1; everything here is public."""

    name: str
    kind: Kind
    codes: int = 0
    """How many codes are declared, without 'missing' and 'other'."""
    values: tuple[Any, ...] = ()
    """The declared values of categories, in the order of their codes."""
    edges: tuple[Edge, ...] = ()
    """The edges of bins, increasing."""
    grid: NumberGrid | None = None
    """For numbers: the points that they are counted at."""
    other_label: str | None = None
    """The label of the last code, for values outside the declared ones; None: there is none."""
    clip: bool = False
    """Whether numbers beyond the outer edges count in the outer bins."""
    drop: bool = False
    """Whether rows with a value outside are left out."""
    missing_label: str | None = None
    """For codes and bins: the label of the code after the declared ones, for missing values."""
    na: tuple[str, ...] = ()
    """Texts that stand for a missing value."""
    trim: bool = False
    """Whether spaces around a text are taken away before it is looked at."""
    calendar: str = ""
    """For categories: the unit of a calendar that is taken of dates and times."""
    hashed: bool = False
    """For codes: whether they are buckets of texts."""
    chosen_by_looking: bool = False
    """Whether the declaration was chosen by looking at the private data; receipts say so."""
    content: Content = field(init=False, default="number")
    """What the values are in the data; a field, so that (0, 1) is not (False, True)."""

    def __post_init__(self) -> None:
        check_name(self.name)
        content: Content = "text" if self.hashed else "number"
        if self.kind == "codes":
            object.__setattr__(self, "codes", count_of_codes(self.name, self.codes))
        elif self.kind == "categories":
            object.__setattr__(self, "values", categories(self.name, self.values))
            object.__setattr__(self, "codes", len(self.values))
            first = next((value for value in self.values if value is not None), "")
            content = "time" if self.calendar else kind_of(first)
        elif self.kind == "bins":
            object.__setattr__(self, "edges", edges_of(self.name, self.edges))
            object.__setattr__(self, "codes", len(self.edges) - 1)
            content = "time" if isinstance(self.edges[0], str) else "number"
        elif self.kind == "number" and self.grid is not None:
            object.__setattr__(self, "codes", checked_grid(self.name, self.grid).size)
            content = "time" if self.grid.unit else "number"
        else:
            raise ParameterError(f"column {self.name!r} has the unknown kind {self.kind!r}")
        object.__setattr__(self, "content", content)
        self._check_ways()

    def _check_ways(self) -> None:
        """Refuse ways to treat values that this kind does not have, or that contradict."""
        said = f"column {self.name!r}"
        if self.clip and not self.placed:
            raise ParameterError(f"{said}: clip is for edges and numbers; leave it out")
        if self.drop and self.other:
            raise ParameterError(
                f"{said}: a value outside either counts as 'other' or drops its row; give one"
            )
        if self.missing_label is not None and self.kind == "categories":
            raise ParameterError(f"{said}: declare missing values as null among its values")
        if self.missing_label is not None and self.missing_label == self.other_label:
            raise ParameterError(f"{said}: 'missing' and 'other' need different labels")
        if self.other_label is not None and self.other_label in self.values:
            raise ParameterError(
                f"{said}: the value {self.other_label!r} is declared, and 'other' "
                'adds it again; name the last code differently, as in "other": "anything else"'
            )
        if any(text in self.values for text in self.na):
            raise ParameterError(f"{said}: a text of 'na' is declared as a value, too; choose one")

    @classmethod
    def parse(cls, name: object, declared: object) -> Column:
        """The column of a declaration: a number of codes, or one of the long forms."""
        name = check_name(name)
        if isinstance(declared, Column):
            if declared.name != name:
                raise ParameterError(
                    f"the column {declared.name!r} is declared under the name {name!r}; use one "
                    "name for both"
                )
            return declared
        if not isinstance(declared, Mapping):
            return cls(name, "codes", codes=count_of_codes(name, declared))
        given = dict(declared)
        if not is_comment(given.pop(COMMENT, "")):
            raise ParameterError(f"column {name!r}: {COMMENT} is for texts")
        ways: dict[str, Any] = {way: given.pop(way, False) for way in _WAYS}
        for way, said in ways.items():
            if not isinstance(said, bool):
                raise ParameterError(f"column {name!r}: {way}={shown(said)} is not true or false")
        ways["other_label"] = label_of(name, "other", given.pop("other", False))
        ways["na"] = _texts(name, given.pop("na", ()))
        missing = label_of(name, "missing", given.pop("missing", False))
        if not given:
            raise ParameterError(f"column {name!r} is still to be filled in; give one of {FORMS}")
        listed: tuple[Any, ...] = ()
        if missing == "missing" and {"values", "calendar"} & set(given):
            listed, missing = (None,), None  # one value more
        ways["missing_label"] = missing
        match sorted(given):
            case ["codes"]:
                return cls(name, "codes", codes=count_of_codes(name, given["codes"]), **ways)
            case ["buckets"]:
                count = count_of_codes(name, given["buckets"])
                return cls(name, "codes", codes=count, hashed=True, **ways)
            case ["values"]:
                listed = (*list_of(name, "values", given["values"]), *listed)
                return cls(name, "categories", values=listed, **ways)
            case ["calendar"] | ["calendar", "values"]:
                unit = given["calendar"]
                listed = (*calendar_values(name, unit, given.get("values")), *listed)
                return cls(name, "categories", values=listed, calendar=unit, **ways)
            case ["edges"]:
                return cls(name, "bins", edges=list_of(name, "edges", given["edges"]), **ways)
            case ["bins", "range"]:
                edges = equal_bins(name, given["range"], given["bins"])
                return cls(name, "bins", edges=edges, **ways)
            case _ if "type" in given:
                return cls(name, "number", grid=number_grid(name, given), **ways)
        raise ParameterError(
            f"column {name!r} is declared by {_listed(given)}; give one of {FORMS}, with "
            '"other": true, "clip": true, "drop": true, "missing": true, "na": [...] or '
            '"trim": true where wanted'
        )

    def to_dict(self) -> int | dict[str, Any]:
        """The declaration, as `parse` takes it."""
        form: dict[str, Any]
        if self.kind == "codes":
            form = {"buckets" if self.hashed else "codes": self.codes}
        elif self.kind == "categories":
            form = {"calendar": self.calendar} if self.calendar else {}
            form["values"] = list(self.values)
        elif self.grid is not None:
            form = dict(self.grid.to_dict())
        else:
            form = {"edges": list(self.edges)}
        for word, label in (("missing", self.missing_label), ("other", self.other_label)):
            if label is not None:
                form[word] = True if label == word else label
        if self.na:
            form["na"] = list(self.na)
        form |= {way: True for way in _WAYS if getattr(self, way)}
        return self.codes if form == {"codes": self.codes} else form

    @property
    def other(self) -> bool:
        """Whether the last code stands for everything outside."""
        return self.other_label is not None

    @property
    def missing_code(self) -> int | None:
        """The code of missing values; None: they are outside."""
        if self.missing_label is not None:
            return self.codes
        return self.values.index(None) if None in self.values else None

    @property
    def cardinality(self) -> int:
        """How many codes there are, with 'missing' and 'other'."""
        return self.codes + (self.missing_label is not None) + self.other

    @property
    def placed(self) -> bool:
        """Whether values are placed among public numbers: in bins, or on a grid."""
        return self.kind in ("bins", "number")

    @property
    def ordered(self) -> bool:
        """Whether ranges of its codes mean something."""
        return self.kind != "categories" and not self.hashed

    @cached_property
    def labels(self) -> Sequence[Any]:
        """The public label of each code: the code, the value, or a text like '[40, 60)'."""
        own: tuple[Any, ...]
        more = tuple(each for each in (self.missing_label, self.other_label) if each is not None)
        if self.grid is not None:
            return GridLabels(self.grid, more)
        if self.kind == "codes":
            own = tuple(range(self.codes))
        elif self.kind == "categories":
            own = self.values
        else:
            last = self.codes - 1
            own = tuple(
                f"[{plain_edge(low)}, {plain_edge(high)}{']' if i == last else ')'}"
                for i, (low, high) in enumerate(pairwise(self.edges))
            )
        return (*own, *more)

    @property
    def digits(self) -> int:
        """For buckets: how many hexadecimal digits of a text's MD5 choose the bucket."""
        return len(f"{self.codes - 1:x}") + 2

    def bucket(self, text: str) -> int:
        """For buckets: where a text falls. The hash is public and hides nothing."""
        digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
        return int(digest[: self.digits], 16) % self.codes

    def __repr__(self) -> str:
        return f"<column {self.name!r}: {self.kind}, {self.cardinality} codes>"


def check_name(name: object) -> str:
    """A column's name: a text that is not empty."""
    if not isinstance(name, str) or not name.strip():
        raise ParameterError(
            f"{shown(name)} is not the name of a column; give a text that is not empty"
        )
    return name


def _texts(name: str, given: object) -> tuple[str, ...]:
    listed = list_of(name, "na", given)
    if not all(isinstance(text, str) for text in listed):
        raise ParameterError(
            f"column {name!r}: na is not a list of texts; give those that mean a missing value, "
            "as in ['NA']"
        )
    return listed


def _listed(given: Mapping[Any, Any]) -> str:
    return ", ".join(repr(key) for key in given)
