"""One query, taken out of its workload: what an interactive session is asked.

A question is either a product set (codes of some columns that must all hold) or dense: a
whole number of grid units for every cell. It is public, compares by content, and can be
written to a file.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from operator import itemgetter
from types import MappingProxyType
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import count as check_count
from winnow.core.schema import Schema
from winnow.core.workloads.conditions import Predicates, mask_of, where
from winnow.core.workloads.conjunction import set_words
from winnow.core.workloads.forms import (
    BitMatrix,
    CodeRanges,
    GridMatrix,
    ProductSets,
    RangeTable,
    WholeTable,
)
from winnow.core.workloads.part import Part
from winnow.core.workloads.workload import Maker, Workload
from winnow.errors import ParameterError

Integers = NDArray[np.int64]

_MOST_KNOWN = 100_000
"""Conditions that are kept at most."""


@dataclass(frozen=True, eq=False)
class Question:
    """A linear query with values 0 .. grid (over grid) on the cells of a schema."""

    schema: Schema
    codes: Mapping[int, Integers] | None
    """Codes that must hold, by column, ascending; columns not named are free. None: dense."""
    units: Integers | None = None
    """Grid units of each cell, for a dense question."""
    grid: int = 1
    bound: Fraction | None = None
    """c, where the query was declared with values in [-c, c] [PMW, Section III]."""
    label: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Every row counts once, for 0 to `grid` units: what one person moves rests on it."""
        check_count(grid=self.grid)
        if (self.codes is None) is (self.units is None):
            raise ParameterError("a question has codes of columns, or units of cells")
        if self.units is not None:
            units = np.array(self.units, np.int64)
            if units.shape != (self.schema.cells,):
                raise ParameterError(f"{units.size} values for {self.schema.cells:,} cells")
            if int(units.min()) < 0 or int(units.max()) > self.grid:
                raise ParameterError(f"a value is outside 0 to {self.grid} grid units")
            units.flags.writeable = False
            object.__setattr__(self, "units", units)
            return
        assert self.codes is not None
        if self.grid != 1:
            raise ParameterError(
                f"a question of codes counts rows, and has no grid of {self.grid} steps; leave "
                "out grid="
            )
        checked: dict[int, Integers] = {}
        for column in sorted(self.codes):
            codes = np.array(self.codes[column], np.int64)
            if not 0 <= column < len(self.schema.shape) or codes.ndim != 1:
                raise ParameterError(f"column {column} is not a position in the schema")
            inside = not codes.size or (codes[0] >= 0 and codes[-1] < self.schema.shape[column])
            if not inside or not (codes[1:] > codes[:-1]).all():
                raise ParameterError(
                    f"the codes of column {column} do not ascend within 0 to "
                    f"{self.schema.shape[column] - 1}"
                )
            codes.flags.writeable = False
            checked[column] = codes
        # Read-only as the arrays are: what is counted must be what was checked.
        object.__setattr__(self, "codes", MappingProxyType(checked))

    @classmethod
    def _of_masks(cls, schema: Schema, codes: dict[int, Integers], label: str) -> Question:
        """A question whose codes were read off masks, so that there is nothing to check."""
        made = object.__new__(cls)
        made.__dict__.update(
            schema=schema,
            codes=MappingProxyType(codes),
            units=None,
            grid=1,
            bound=None,
            label=label,
        )
        return made

    @cached_property
    def key(self) -> bytes:
        """A key that equal questions share, however they were written."""
        if self.codes is not None:
            content = hashlib.blake2b(b"product %s " % str(self.bound).encode(), digest_size=20)
            for column, codes in self.codes.items():
                content.update(b"%d:%d:" % (column, len(codes)))
                content.update(codes.tobytes())
            return content.digest()
        assert self.units is not None
        content = hashlib.blake2b(b"%d %s " % (self.grid, str(self.bound).encode()), digest_size=20)
        content.update(np.ascontiguousarray(self.units).tobytes())
        return content.digest()

    def declared(self, fraction: float) -> float:
        """An answer in [0, 1] as one of the query as it was given, in [-c, c]."""
        return fraction if self.bound is None else float(self.bound) * (2 * fraction - 1)

    @property
    def stretch(self) -> float:
        """By how much errors grow when the affine map is undone."""
        return 1.0 if self.bound is None else 2 * float(self.bound)

    def row(self) -> NDArray[np.float64]:
        """The value on every cell, for small domains."""
        if self.units is not None:
            return np.asarray(self.units / self.grid)
        assert self.codes is not None
        inside = np.ones(self.schema.shape, np.bool_)
        for column, codes in self.codes.items():
            mask = np.zeros(self.schema.shape[column], np.bool_)
            mask[codes] = True
            inside &= mask.reshape([-1 if i == column else 1 for i in range(inside.ndim)])
        return inside.ravel().astype(np.float64)

    def to_dict(self) -> dict[str, Any]:
        """The question as plain data, ready for JSON."""
        if self.codes is not None:
            conditions = [[column, codes.tolist()] for column, codes in self.codes.items()]
            return {"codes": conditions, "label": self.label}
        assert self.units is not None
        packed = zlib.compress(np.ascontiguousarray(self.units, "<i4").tobytes())
        return {
            "units": base64.b64encode(packed).decode(),
            "grid": self.grid,
            "bound": None if self.bound is None else str(self.bound),
            "label": self.label,
        }

    @property
    def written(self) -> int:
        """No fewer bytes than a product set takes as JSON."""
        assert self.codes is not None
        digits = [len(str(self.schema.shape[column])) + 1 for column in self.codes]
        length = sum(
            len(codes) * size for codes, size in zip(self.codes.values(), digits, strict=True)
        )
        return 32 + 24 * len(digits) + length + len(json.dumps(self.label))

    @classmethod
    def from_dict(cls, schema: Schema, document: Mapping[str, Any]) -> Question:
        """The question that ``to_dict`` described."""
        label = str(document.get("label", ""))
        if "codes" in document:
            codes = {int(c): np.array(listed, np.int64) for c, listed in document["codes"]}
            return cls(schema, codes, label=label)
        packed = zlib.decompress(base64.b64decode(document["units"]))
        units = np.frombuffer(packed, "<i4").astype(np.int64)
        bound = document["bound"]
        limit = None if bound is None else Fraction(bound)
        return cls(schema, None, units, int(document["grid"]), limit, label)


def question_of(schema: Schema, asked: Any) -> Question:
    """The one question in a maker such as ``wn.where(...)``, or in a bound workload."""
    if isinstance(asked, Question):
        return asked
    if isinstance(asked, Predicates) and len(asked.conditions) == 1:  # the usual case, quickly
        (part,) = asked.parts(schema)
        return _question(schema, part, 0)
    workload = questions_of(schema, asked)
    if workload.size != 1:
        raise ParameterError(
            f"this workload has {workload.size:,} queries; ask them one by one, or all with ask_all"
        )
    return taken(workload, 0)


class KnownConditions:
    """Questions of ``where`` for whoever asks many: each condition is looked up once."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._known: dict[Any, tuple[int, Integers | None, str]] = {}

    def question(self, conditions: Mapping[str, Any]) -> Question:
        """The question that ``where(conditions)`` is, over the schema."""
        if not conditions:
            return question_of(self._schema, where(conditions))  # which refuses it
        conjunction = [self._condition(name, given) for name, given in conditions.items()]
        conjunction.sort(key=itemgetter(0))
        codes = {place: inside for place, inside, _ in conjunction if inside is not None}
        label = ", ".join(words for _, _, words in conjunction)
        return Question._of_masks(self._schema, codes, label)

    def _condition(self, name: str, given: Any) -> tuple[int, Integers | None, str]:
        key = (name, _typed(given))
        known = self._known.get(key)
        if known is None:
            place = self._schema.position(name)
            mask = mask_of(self._schema.columns[place], given)
            (codes,) = mask.nonzero()
            codes.flags.writeable = False
            words = set_words(self._schema, place, mask)
            known = place, codes if len(codes) < len(mask) else None, words
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key] = known
        return known


def _typed(given: Any) -> Any:
    """A condition as a key: 1, 1.0 and True are different values of a column."""
    if isinstance(given, list | tuple):
        return type(given), *((type(each), each) for each in given)
    return type(given), given


def questions_of(schema: Schema, asked: Any) -> Workload:
    """A maker or workload, bound to the schema."""
    if isinstance(asked, Maker):
        return asked.over(schema)
    if not isinstance(asked, Workload):
        raise ParameterError(
            f"a {type(asked).__name__} is not a question; ask wn.where(sex='Female') or a workload"
        )
    if asked.schema is not schema and asked.schema != schema:
        raise ParameterError(
            "the question is over a different schema from that of the table; bind it to that one"
        )
    return asked


def taken(workload: Workload, query: int) -> Question:
    """One query of a workload."""
    place, inside = workload.locate(query)
    part = workload.parts[place]
    return _question(workload.schema, part, inside)


def _question(schema: Schema, part: Part, query: int) -> Question:
    label = part.label(query)
    codes: dict[int, Integers] = {}
    match part.form:
        case ProductSets(sets):
            for column, mask in sets[query].items():  # ascending, and so are the codes
                (inside,) = mask.nonzero()
                if len(inside) < len(mask):
                    inside.flags.writeable = False
                    codes[column] = inside
            return Question._of_masks(schema, codes, label)
        case WholeTable(columns):
            cell = query
            for column in reversed(columns):
                cell, code = divmod(cell, schema.shape[column])
                codes[column] = np.array([code], np.int64)
            return Question(schema, dict(sorted(codes.items())), label=label)
        case CodeRanges(column, starts, stops):
            span = np.arange(int(starts[query]), int(stops[query]), dtype=np.int64)
            whole = len(span) == schema.shape[column]
            return Question(schema, {} if whole else {column: span}, label=label)
        case RangeTable() as form:
            for column, (start, stop) in form.ranges(query).items():
                if stop - start < schema.shape[column]:
                    codes[column] = np.arange(start, stop, dtype=np.int64)
            return Question(schema, dict(sorted(codes.items())), label=label)
        case BitMatrix():
            return Question(schema, None, part.row(query).astype(np.int64), 1, None, label)
        case GridMatrix(values):
            units = values[query].astype(np.int64)
            return Question(schema, None, units, part.grid, part.bound, label)
        case never:
            assert_never(never)
