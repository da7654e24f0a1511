"""One public column of a schema: which values it may hold, and the code of each.

Nothing here is learned from data. A column is one of three kinds:

    codes       whole numbers 0 .. n-1
    categories  declared values: all text, all numbers or all true/false, None beside them
    bins        numbers between public edges; bin i is [edge_i, edge_{i+1}), the last is closed

``other`` names a last code for whatever is outside; ``clip`` puts numbers beyond the outer
edges into the outer bins. Without them a value outside is an error when a table is read.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from winnow.errors import ParameterError
from winnow.foreign import shown

Kind = Literal["codes", "categories", "bins"]
Content = Literal["text", "number", "boolean"]
Number = int | float

_FORMS = '{"codes": n}, {"values": [...]} or {"edges": [...]}'
_MOST_CODES = 2**31


@dataclass(frozen=True)
class Column:
    """A column's name and its codes 0 .. cardinality-1; everything here is public."""

    name: str
    kind: Kind
    codes: int = 0
    """How many codes are declared, without 'other'."""
    values: tuple[Any, ...] = ()
    """The declared values of categories, in the order of their codes."""
    edges: tuple[Number, ...] = ()
    """The edges of bins, increasing."""
    other_label: str | None = None
    """The label of the last code, for values outside the declared ones; None: there is none."""
    clip: bool = False
    """Whether numbers beyond the outer edges count in the outer bins."""
    content: Content = field(init=False, default="number")
    """What the values are in the data; a field, so that (0, 1) is not (False, True)."""

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.kind == "codes":
            object.__setattr__(self, "codes", _cardinality(self.name, self.codes))
        elif self.kind == "categories":
            object.__setattr__(self, "values", _categories(self.name, self.values))
            object.__setattr__(self, "codes", len(self.values))
            first = next((value for value in self.values if value is not None), "")
            object.__setattr__(self, "content", kind_of(first))
        elif self.kind == "bins":
            object.__setattr__(self, "edges", _edges(self.name, self.edges))
            object.__setattr__(self, "codes", len(self.edges) - 1)
        else:
            raise ParameterError(f"column {self.name!r} has the unknown kind {self.kind!r}")
        if self.clip and self.kind != "bins":
            raise ParameterError(f"column {self.name!r}: clip is for edges; leave it out")
        if self.other_label is not None and self.other_label in self.values:
            raise ParameterError(
                f"column {self.name!r}: the value {self.other_label!r} is declared, and 'other' "
                'adds it again; name the last code differently, as in "other": "anything else"'
            )

    @classmethod
    def parse(cls, name: object, declared: object) -> Column:
        """The column of a declaration: a number of codes, or one of the long forms."""
        name = check_name(name)
        if isinstance(declared, Column):
            if declared.name != name:
                raise ParameterError(f"the column {declared.name!r} stands under the name {name!r}")
            return declared
        if not isinstance(declared, Mapping):
            return cls(name, "codes", codes=_cardinality(name, declared))
        given = dict(declared)
        other = _other(name, given.pop("other", False))
        clip = given.pop("clip", False)
        if not isinstance(clip, bool):
            raise ParameterError(f"column {name!r}: clip={shown(clip)} is not true or false")
        if len(given) != 1 or not set(given) <= {"codes", "values", "edges"}:
            raise ParameterError(
                f"column {name!r} is declared by {_listed(given)}; give one of {_FORMS}, with "
                '"other": true or "clip": true where wanted'
            )
        form, content = next(iter(given.items()))
        if form == "codes":
            count = _cardinality(name, content)
            return cls(name, "codes", codes=count, other_label=other, clip=clip)
        items = _list(name, form, content)
        if form == "values":
            return cls(name, "categories", values=items, other_label=other, clip=clip)
        return cls(name, "bins", edges=items, other_label=other, clip=clip)

    def to_dict(self) -> int | dict[str, Any]:
        """The declaration, as `parse` takes it."""
        if self.kind == "codes" and self.other_label is None:
            return self.codes
        form: dict[str, Any]
        if self.kind == "codes":
            form = {"codes": self.codes}
        elif self.kind == "categories":
            form = {"values": list(self.values)}
        else:
            form = {"edges": list(self.edges)}
        if self.other_label is not None:
            form["other"] = True if self.other_label == "other" else self.other_label
        if self.clip:
            form["clip"] = True
        return form

    @property
    def other(self) -> bool:
        """Whether the last code stands for everything outside."""
        return self.other_label is not None

    @property
    def cardinality(self) -> int:
        """How many codes there are, with 'other'."""
        return self.codes + self.other

    @cached_property
    def labels(self) -> tuple[Any, ...]:
        """The public label of each code: the code, the value, or a text like '[40, 60)'."""
        own: tuple[Any, ...]
        if self.kind == "codes":
            own = tuple(range(self.codes))
        elif self.kind == "categories":
            own = self.values
        else:
            last = self.codes - 1
            own = tuple(
                f"[{_plain(low)}, {_plain(high)}{']' if i == last else ')'}"
                for i, (low, high) in enumerate(pairwise(self.edges))
            )
        return own if self.other_label is None else (*own, self.other_label)

    def __repr__(self) -> str:
        return f"<column {self.name!r}: {self.kind}, {self.cardinality} codes>"


def check_name(name: object) -> str:
    """A column's name: a text that is not empty."""
    if not isinstance(name, str) or not name.strip():
        raise ParameterError(
            f"{shown(name)} is not the name of a column; give a text that is not empty"
        )
    return name


def kind_of(value: object) -> Content:
    """What a declared value is; True is not a number."""
    if isinstance(value, bool | np.bool_):
        return "boolean"
    return "text" if isinstance(value, str) else "number"


def _cardinality(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ParameterError(
            f"column {name!r} is declared as {shown(value)}; give its number of codes, or {_FORMS}"
        )
    if not 1 <= int(value) <= _MOST_CODES:
        raise ParameterError(f"column {name!r} has {value} codes; give 1 or more, at most 2^31")
    return int(value)


def _other(name: str, value: object) -> str | None:
    if isinstance(value, bool):
        return "other" if value else None
    if isinstance(value, str) and value.strip():
        return value
    raise ParameterError(f"column {name!r}: other={shown(value)} is not true, false or a label")


def _listed(given: Mapping[Any, Any]) -> str:
    return ", ".join(repr(key) for key in given) or "nothing"


def _list(name: str, form: str, content: object) -> tuple[Any, ...]:
    if isinstance(content, np.ndarray):
        content = content.tolist()
    if isinstance(content, str | Mapping) or not isinstance(content, Sequence | range):
        raise ParameterError(f"column {name!r}: {form} are a {type(content).__name__}; give a list")
    return tuple(content)


def _categories(name: str, values: Sequence[Any]) -> tuple[Any, ...]:
    plain = tuple(v.item() if isinstance(v, np.generic) else v for v in values)
    if not plain:
        raise ParameterError(f"column {name!r} has no values; give at least one")
    for value in plain:
        if value is not None and not isinstance(value, str | bool | int | float):
            raise ParameterError(
                f"column {name!r}: {shown(value)} is a {type(value).__name__}; values are texts, "
                "numbers, true and false, or null"
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise ParameterError(
                f"column {name!r}: {shown(value)} is not a value that can be declared; give null "
                "for missing values, or 'other'"
            )
    kinds = {kind_of(value) for value in plain if value is not None}
    if len(kinds) > 1:
        raise ParameterError(
            f"column {name!r} mixes values of {' and '.join(sorted(kinds))}; '1', 1 and true are "
            "different things, so declare one kind"
        )
    if len(set(plain)) != len(plain):
        again = next(v for i, v in enumerate(plain) if v in plain[:i])
        raise ParameterError(f"column {name!r}: the value {shown(again)} stands more than once")
    return plain


def _edges(name: str, edges: Sequence[Any]) -> tuple[Number, ...]:
    plain = tuple(e.item() if isinstance(e, np.generic) else e for e in edges)
    for edge in plain:
        if isinstance(edge, bool) or not isinstance(edge, int | float):
            raise ParameterError(f"column {name!r}: the edge {shown(edge)} is not a number")
        if not math.isfinite(edge):
            raise ParameterError(
                f"column {name!r}: the edge {shown(edge)} is not finite; give finite edges, and "
                '"clip": true to count what lies beyond in the outer bins'
            )
    if len(plain) < 2:
        raise ParameterError(f"column {name!r} has {len(plain)} edges; give at least two")
    if any(low >= high for low, high in pairwise(plain)):
        raise ParameterError(f"column {name!r}: the edges do not increase; sort them, each once")
    if any(isinstance(e, int) and abs(e) > 2**53 for e in plain):
        raise ParameterError(f"column {name!r}: an edge is beyond 2^53; rescale the column")
    return plain


def _plain(edge: Number) -> str:
    """A number as people write it: 40, not 40.0."""
    return str(int(edge)) if float(edge).is_integer() and abs(edge) < 1e15 else repr(edge)
