"""``wn.where``: conditions on columns, all of which must hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import exact
from winnow.core.column import Column, check_name
from winnow.core.declaration import Edge, instant, kind_of
from winnow.core.number_grid import NumberGrid, place_at
from winnow.core.schema import Schema
from winnow.core.workloads.conjunction import ConjunctionPart
from winnow.core.workloads.part import Part
from winnow.core.workloads.workload import Maker
from winnow.errors import ParameterError
from winnow.foreign import shown

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Predicates(Maker):
    """Predicates, each a set of conditions that must all hold."""

    conditions: tuple[Mapping[str, Any], ...]

    advice = "use fewer predicates"

    def size(self, schema: Schema) -> int:
        """One query for each predicate."""
        return len(self.conditions)

    def own_memory(self, schema: Schema) -> int:
        """A mask for each condition."""
        return sum(schema.column(name).cardinality for each in self.conditions for name in each)

    def parts(self, schema: Schema) -> tuple[Part, ...]:
        """One part with all predicates."""
        masks = tuple(
            {
                schema.position(name): mask_of(schema.column(name), condition)
                for name, condition in each.items()
            }
            for each in self.conditions
        )
        return (ConjunctionPart(schema, masks),)


def where(conditions: Mapping[str, Any] | None = None, /, **named: Any) -> Predicates:
    """One predicate: ``wn.where(age=(40, 60), sex="Female")``.

    A condition is a value, a list of values, or a pair (low, high) for low <= value < high on
    a column of numbers; None stands for no bound. On binned columns the pair has to lie on
    edges, and the last edge includes the end of the last bin; a bin's label is a value too.
    Names that are not Python names go into a dict: ``wn.where({"hours-per-week": (40, None)})``.
    """
    given = {} if conditions is None else dict(conditions)
    for name in named:
        if name in given:
            raise ParameterError(f"the column {name!r} has two conditions; give one")
    given |= named
    if not given:
        raise ParameterError("there is no condition; give at least one, such as sex='Female'")
    for name in given:
        check_name(name)
    return Predicates((given,))


def predicates(members: Iterable[Predicates]) -> Predicates:
    """Many predicates as one workload: ``wn.predicates([wn.where(...), ...])``."""
    given = list(members)
    for member in given:
        if not isinstance(member, Predicates):
            raise ParameterError(f"{type(member).__name__} is not a predicate; give wn.where(...)")
    if not given:
        raise ParameterError("there is no predicate; give at least one wn.where(...)")
    return Predicates(tuple(each for member in given for each in member.conditions))


def mask_of(column: Column, condition: Any) -> Mask:
    """Which codes of a column meet a condition."""
    if isinstance(condition, tuple):
        return _between(column, condition)
    if isinstance(condition, range | list | set | frozenset | np.ndarray):
        values = condition.tolist() if isinstance(condition, np.ndarray) else list(condition)
        if not values:
            raise ParameterError(f"column {column.name!r}: the list of values is empty")
    else:
        values = [condition]
    mask = np.zeros(column.cardinality, np.bool_)
    mask[[_code(column, value) for value in values]] = True
    return mask


def _code(column: Column, value: Any) -> int:
    value = value.item() if isinstance(value, np.generic) else value
    if column.other and type(value) is str and value == column.other_label:
        return column.cardinality - 1
    if column.missing_label is not None and type(value) is str and value == column.missing_label:
        return column.codes
    if column.kind == "bins":
        if value not in column.labels[: column.codes] or not isinstance(value, str):
            raise ParameterError(
                f"column {column.name!r} has bins and {shown(value)} is not one of them; give a "
                f"pair (low, high) of edges, or a label such as {column.labels[0]!r}"
            )
        return column.labels.index(value)
    if column.grid is not None:
        place = _grid_code(column, column.grid, value)
        if place is None:
            step = f"{float(column.grid.step):g} {column.grid.unit}".strip()
            raise ParameterError(
                f"{shown(value)} is not a {'time' if column.grid.unit else 'number'} of the "
                f"column {column.name!r}: it has those from {column.labels[0]} in steps of "
                f"{step}; give one of them, or a pair (low, high)"
            )
        return place
    if column.kind == "codes":
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not 0 <= value < column.codes:
            raise ParameterError(
                f"column {column.name!r} has the codes 0 to {column.codes - 1}; {shown(value)} is "
                "not one of them"
            )
        return int(value)
    kind = "number" if column.calendar else column.content
    same = value is None or kind_of(value) == kind
    if not same or value not in column.values:
        raise ParameterError(
            f"{shown(value)} is not a declared value of the column {column.name!r}; it has "
            f"{', '.join(repr(v) for v in column.values[:10])}"
            f"{' and others' if len(column.values) > 10 else ''}"
        )
    return column.values.index(value)


def _grid_code(column: Column, grid: NumberGrid, value: Any) -> int | None:
    """The code of a number, or of a date or time; None: it is no point of the grid."""
    if grid.unit:
        return grid.code(place_at(instant(column.name, value), grid.unit))
    return None if isinstance(value, str | bool) else grid.code(exact("value", value))


def _between(column: Column, pair: tuple[Any, ...]) -> Mask:
    if column.content not in ("number", "time"):
        raise ParameterError(
            f"column {column.name!r} holds {column.content}, which has no ranges; give a list of "
            "values"
        )
    if len(pair) != 2:
        raise ParameterError(f"column {column.name!r}: {shown(pair)} is not a pair (low, high)")
    low, high = (_bound(column, bound) for bound in pair)
    if low is not None and high is not None and low >= high:
        raise ParameterError(
            f"column {column.name!r}: the range {shown(pair)} is empty; give low < high"
        )
    mask = np.zeros(column.cardinality, np.bool_)
    if column.kind == "bins":
        start = 0 if low is None else _edge(column, low)
        stop = column.codes if high is None else _edge(column, high)
        mask[start:stop] = True
    elif column.grid is not None:
        unit = column.grid.unit
        ends = [
            None if each is None else place_at(each, unit) if unit else exact("bound", each)
            for each in (low, high)
        ]
        start = 0 if ends[0] is None else column.grid.first_from(ends[0])
        stop = column.codes if ends[1] is None else column.grid.first_from(ends[1])
        mask[start:stop] = True
    elif column.kind == "codes":
        places = np.arange(column.codes)
        mask[: column.codes] = _inside(places, low, high)
    else:
        for code, value in enumerate(column.values):
            mask[code] = value is not None and bool(_inside(value, low, high))
    if not mask.any():
        raise ParameterError(f"column {column.name!r}: no declared value lies in {shown(pair)}")
    return mask


def _inside(value: Any, low: float | None, high: float | None) -> Any:
    above = True if low is None else value >= low
    return above & (True if high is None else value < high)


def _bound(column: Column, bound: Any) -> Any:
    bound = bound.item() if isinstance(bound, np.generic) else bound
    if bound is None:
        return None
    if column.content == "time" and not column.calendar:
        return instant(column.name, bound)
    if isinstance(bound, bool) or not isinstance(bound, int | float) or bound != bound:
        raise ParameterError(f"column {column.name!r}: the bound {shown(bound)} is not a number")
    return bound


def _edge(column: Column, bound: Edge) -> int:
    if bound not in column.edges:
        raise ParameterError(
            f"column {column.name!r}: {shown(bound)} is not an edge of its bins, so rows on both "
            f"sides share a bin; the edges are {', '.join(map(str, column.edges[:20]))}"
            f"{' and others' if len(column.edges) > 20 else ''}"
        )
    return column.edges.index(bound)
