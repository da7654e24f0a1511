"""What is public of a table: all that a plan may know of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from winnow.core.checks import count, public_rows
from winnow.core.relation import Relation
from winnow.core.schema import Schema
from winnow.core.unit import at_most
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.read.bound_choice import AboutChoice, checked_bound, refuse_choice
from winnow.read.crossing import SealedTable
from winnow.read.people import PersonBound


@dataclass(frozen=True, kw_only=True)
class AboutTable:
    """What is public of a table; plans take it."""

    cells: int
    """How many different rows there could be."""
    relation: Relation
    schema: Schema | None = None
    """None: only the number of cells is known."""
    rows: int | None = None
    """The number of rows, where it is public, or what was stated in its place."""
    rows_per_person: int = 1
    bound: PersonBound | None = None
    """Which rows of each person were kept, where an estimate of the rest can be made."""
    choice: AboutChoice | None = None
    """Where the release may choose the bound; ``rows_per_person`` is then the largest."""

    @property
    def rows_are_public(self) -> bool:
        """Whether a release may know the number of rows, be it known to this plan or not."""
        one_each = self.relation.size_is_public and self.rows_per_person == 1
        return one_each or self.rows is not None

    @property
    def counted(self) -> str:
        """What of each person is counted, in the words of a receipt; empty: all."""
        if self.bound is not None:
            return self.bound.counted
        most = self.rows_per_person
        return at_most("person", (most, "row")).counted if most > 1 else ""

    @guarded
    def under(self, relation: str | Relation) -> AboutTable:
        """This table under another neighbour relation, as a table that is read has it."""
        return replace(self, relation=Relation.parse(relation))

    def bounded(self, most: int) -> AboutTable:
        """This table under a bound that was chosen."""
        assert self.choice is not None
        return replace(self, rows_per_person=most, bound=self.choice.at(most), choice=None)

    def check(self, other: AboutTable) -> None:
        """Refuse a table for which another plan was to be made."""
        for what in ("cells", "rows_per_person", "schema", "rows"):
            mine, theirs = getattr(self, what), getattr(other, what)
            if None not in (mine, theirs) and mine != theirs:
                words = what.replace("_", " ")
                raise ParameterError(f"the plan is for a table with other {words}; plan again")

    def check_known(self, other: AboutTable) -> None:
        """Refuse a table that hides the number of rows, where results are made with it."""
        if self.rows_are_public and not other.rows_are_public:
            raise ParameterError(
                f"the plan takes it for public that the table has {self.rows:,} rows, and their "
                "number is private here; read the table with rows= if it is public, or plan "
                "without rows="
            )


@guarded
def table(
    schema: Schema | Mapping[str, Any] | str | Path | int,
    *,
    rows: int | None = None,
    relation: str | Relation = Relation.SUBSTITUTION,
    max_rows: int | str = 1,
) -> AboutTable:
    """Say what is public of a table, before there is one.

    ``schema`` is a schema or its number of cells, ``rows`` a public or assumed number of rows,
    ``max_rows`` the most rows of one person, or "auto" where the release chooses it.
    """
    choice = AboutChoice("person", "row") if checked_bound("max_rows", max_rows) else None
    if choice is not None:
        max_rows = choice.grid[-1]
    count(max_rows=max_rows)
    if rows is not None:
        count(rows=rows)
    known = None
    if isinstance(schema, int):
        count(cells=schema)
        cells = int(schema)
    else:
        known = Schema.parse(schema)
        cells = known.cells
    return AboutTable(
        cells=cells,
        relation=Relation.parse(relation),
        schema=known,
        rows=None if rows is None else int(rows),
        rows_per_person=int(max_rows),
        choice=choice,
    )


def about_table(given: object, *, choosing: bool = False) -> AboutTable:
    """What is public of a sealed table, or what was said of one.

    ``choosing`` says that a bound on the rows of a person may be left to the release.
    """
    if isinstance(given, AboutTable | SealedTable) and given.choice is not None and not choosing:
        refuse_choice()
    if isinstance(given, AboutTable):
        return given
    if not isinstance(given, SealedTable):
        raise ParameterError(
            f"a {type(given).__name__} is neither a sealed table nor what is public of one; give "
            "wn.read_table(...) or wn.plan.table(schema, rows=)"
        )
    return AboutTable(
        cells=given.schema.cells,
        relation=given.relation,
        schema=given.schema,
        rows=public_rows(given.stated_rows, given.n),
        rows_per_person=given.rows_per_person,
        bound=None if given.people is None else given.people.bound,
        choice=None if given.choice is None else given.choice.about,
    )
