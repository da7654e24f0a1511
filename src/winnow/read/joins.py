"""Several tables as one: private ones joined on the person, public ones on any column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from winnow.core.checks import one_of
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.foreign import shown

How = Literal["inner", "left"]


@dataclass(frozen=True, init=False, eq=False)
class Join:
    """Private tables joined on the column of the person, and public tables on any column.

    ``wn.Join(visits, people, on="visitor")`` is one source for ``wn.counts`` and
    ``wn.read_table``, whose ``person`` must be that column. Each table is a source of its own:
    files, data frames, or tables of one connection. ``public={"page": pages}`` adds a public
    table, joined on the column ``page``. ``how="left"`` keeps rows of the first table that have no
    match.

    Formal guarantees
        A row of the join has rows of one person only, because every private table is joined on
        the person, compared byte by byte, and public tables are the same for all neighbours. So
        adding or removing a person, with all rows in all tables, adds or removes rows of that
        person in the join and changes no other row: the join is a log, or a table, of the same
        people. However many rows of a person match, the bound is applied to the joined rows. A
        join of private tables on another column would put rows of one person together with rows
        of others: one person could then multiply, or remove, everybody's rows, and no bound on
        the rows of a person would hold.
    """

    tables: tuple[Any, ...]
    on: str
    public: Mapping[str, Any]
    how: How

    def __init__(
        self,
        *tables: Any,
        on: str,
        public: Mapping[str, Any] | None = None,
        how: How = "inner",
    ) -> None:
        if not isinstance(on, str):
            raise ParameterError(f"on={shown(on)} is not the name of a column; give a text")
        if public is not None and not isinstance(public, Mapping):
            raise ParameterError(
                f"public={shown(public)} is not a mapping; give the tables by their columns, "
                'such as {"page": pages}'
            )
        one_of(("inner", "left"), how=how)
        if not tables or len(tables) + len(public or {}) < 2:
            raise ParameterError("a join has two tables or more; give them one after another")
        for name, value in (("tables", tables), ("on", on), ("public", dict(public or {}))):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "how", how)

    def __repr__(self) -> str:
        return f"<a join of {len(self.tables) + len(self.public)} tables on {self.on!r}>"


def check_people_of_join(source: Any, person: str | None) -> None:
    """Refuse people who are not those on whom the tables are joined."""
    if not isinstance(source, Join):
        return
    if person is None:
        raise ParameterError(
            f"a row of a join comes from several rows; protect people: person={source.on!r}"
        )
    if person != source.on:
        raise ParameterError(
            f"the tables are joined on {source.on!r}, and person={person!r}: rows of one person "
            "would be put together with rows of others, so that no bound on a person holds. Join "
            "private tables on the person; tables that are public may join on any column: "
            "public={column: table}"
        )


def check_rows_of_join(joined: bool, relation: Relation, max_rows: int) -> None:
    """Refuse to take the number of joined rows for public."""
    if joined and relation is Relation.SUBSTITUTION and max_rows == 1:
        raise ParameterError(
            "under substitution with one row each the number of rows would be public, and that of "
            "a join depends on who has a row in every table; read it with relation='add-remove'"
        )
