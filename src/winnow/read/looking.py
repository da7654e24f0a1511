"""What the owner of a table sees of it before anything is spent: NOT private.

Everything here is an exact function of the private data. It is for the owner's eyes, and what is
chosen by it is marked in the schema, so that every receipt says it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from winnow.core.column import Column
from winnow.core.declaration import COMMENT
from winnow.errors import InputError
from winnow.foreign import guarded
from winnow.read.engine import Engine, refusing
from winnow.read.table import codes_of

if TYPE_CHECKING:
    from winnow.read.engines.files import DuckFiles

MEMORY = "2GB"
MARK = "chosen by looking at the private data"
ALTERNATIVE = (
    f"What is {MARK} is outside every guarantee, and every receipt will say so. Instead: take it "
    "from the questionnaire or common sense; or spend budget on the values that many people have, "
    "with wn.tabulate(wn.counts(FILE, item=COLUMN, person=...), epsilon=..., delta=...)."
)
_MOST_VALUES = 50
_FEW = 12
_BINS = 10


@dataclass(frozen=True)
class ColumnCheck:
    """How a column of the data fits its declaration: exact numbers, for the owner alone."""

    column: Column
    outside: int = 0
    """Rows with a value that is neither declared nor missing."""
    missing: int = 0
    unplaced: int = 0
    """Rows to which the declaration gives no code, but for 'other'."""
    problem: str = ""
    """What is wrong with the column as a whole."""
    trimmed: int = 0
    """Rows outside that would fit without the blanks around their values."""

    @property
    def refused(self) -> bool:
        """Whether reading the table would stop at this column."""
        taken = self.column.other or self.column.drop
        return bool(self.problem) or (not taken and self.unplaced > 0)

    @property
    def consequence(self) -> str:
        """What becomes of rows outside."""
        if self.problem:
            return self.problem
        column = self.column
        ways = ["clipped"] if column.clip else []
        ways += [f"counted as {column.other_label!r}"] if column.other else []
        ways += ["row left out"] if column.drop else []
        ways += ["the table is refused"] if self.refused else []
        hint = f'; {self.trimmed:,} would fit with "trim": true' if self.trimmed else ""
        return (" or ".join(ways) or "fits") + hint


@guarded
def check_columns_of(engine: Engine, columns: Sequence[Column]) -> list[ColumnCheck]:
    """How many rows fall outside each declaration, column by column, and all problems at once."""
    return [_checked(engine, column) for column in columns]


def _checked(engine: Engine, column: Column) -> ColumnCheck:
    label = None if column.kind == "categories" else column.missing_label or "missing"
    bare = replace(column, clip=False, drop=False, other_label=None, missing_label=label)
    try:
        with refusing("the column cannot be read"):
            codes, values, weights = _coded(engine, bare)
            placed, _, again = _coded(engine, replace(column, drop=False, other_label=None))
    except InputError as error:
        return ColumnCheck(column, problem=str(error))
    declared = bare.missing_code is not None
    nothing = codes == bare.missing_code if declared else _nulls(values) & (codes < 0)
    outside = int(weights[(codes < 0) & ~nothing].sum())
    trimmed = 0
    if outside and not column.trim:
        codes, _, still = _coded(engine, replace(bare, trim=True))
        trimmed = outside - int(still[codes < 0].sum())
    return ColumnCheck(
        column,
        outside=outside,
        missing=int(weights[nothing].sum()),
        unplaced=int(again[placed < 0].sum()),
        trimmed=max(trimmed, 0),
    )


def _coded(engine: Engine, column: Column) -> tuple[Any, Any, Any]:
    """The code of each distinct value, the value, and in how many rows it stands."""
    from winnow.read.engines.histogram import HistogramQuery

    (values, weights), as_text = engine.distinct(HistogramQuery((column,)))
    return codes_of(column, values[0], as_text=as_text), values[0], weights


def _nulls(values: Any) -> Any:
    data = np.ma.getdata(values)
    nulls = np.asarray(np.ma.getmaskarray(values))
    return nulls | np.isnan(data) if data.dtype.kind == "f" else nulls


@guarded
def unsafe_declarations(files: DuckFiles, names: Sequence[str]) -> dict[str, Any]:
    """Declarations proposed from the private data themselves; each carries the mark."""
    from winnow.read.engines.histogram import DECIMAL, INSTANT
    from winnow.read.engines.private_duck import private_connection
    from winnow.read.engines.query import column as named

    proposed: dict[str, Any] = {}
    with private_connection(MEMORY) as private, refusing("the file cannot be looked at"):
        table = files.source(private, names).sql(dialect="duckdb")
        for name in names:
            text = f"CAST({named(name).sql(dialect='duckdb')} AS VARCHAR)"
            number = _plainly(text, DECIMAL, "DOUBLE")
            day = _plainly(text, INSTANT, "TIMESTAMP")
            asked = (
                f"SELECT COUNT({text}), COUNT({number}), COUNT({day}), COUNT(DISTINCT {text}), "
                f"COUNT(*), MIN({number}), MAX({number}), CAST(MIN({day}) AS DATE), "
                f"CAST(MAX({day}) AS DATE) FROM {table}"
            )
            seen = private.execute(asked).fetchone()
            if seen[3] <= _MOST_VALUES:
                listed = f"SELECT DISTINCT {text} AS v FROM {table} WHERE v IS NOT NULL ORDER BY v"
                values = [row[0] for row in private.execute(listed).fetchall()]
            else:
                values = None
            proposed[name] = _proposed(seen, values)
    return proposed


def _plainly(text: str, pattern: str, kind: str) -> str:
    return f"CASE WHEN regexp_full_match({text}, '{pattern}') THEN TRY_CAST({text} AS {kind}) END"


def _proposed(seen: tuple[Any, ...], values: list[str] | None) -> dict[str, Any]:
    """A declaration for a column with these counts and limits."""
    filled, numbers, days, _, rows, low, high, first, last = seen
    form: dict[str, Any]
    if values and numbers < filled and days < filled:
        form = {"values": values, "other": True}
    elif values and len(values) <= _FEW and numbers == filled:
        form = {"values": sorted({_plain(float(value)) for value in values}), "other": True}
    elif filled and numbers == filled and low < high:
        form = {"range": [_plain(low), _plain(high)], "bins": _BINS, "clip": True, "other": True}
    elif filled and days == filled and first < last:
        form = {"edges": [str(first), str(last)], "clip": True, "other": True}
    elif values:
        form = {"values": values, "other": True}
    else:
        form = {"buckets": 64, "other": True}
    if filled < rows:
        form["missing"] = True
    return {COMMENT: MARK, **form, "chosen_by_looking": True}


def _plain(number: float) -> int | float:
    return int(number) if float(number).is_integer() else number
