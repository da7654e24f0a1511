"""The private table of a command: where it lies, its public schema, and whose rows it holds."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.derived import Typed
from winnow.cli.options import (
    ONE_FILE,
    TABLE,
    ColumnsOption,
    JoinedFiles,
    OneRowOption,
    SchemaOption,
    bound_of,
    check_unit_said,
    option,
    relation_of_people,
    some_of,
)
from winnow.cli.recording import Record
from winnow.core.relation import Relation
from winnow.read.options import Reading, TextFormat

if TYPE_CHECKING:
    from winnow.core.released import Released
    from winnow.core.schema import Schema
    from winnow.privacy import Budget
    from winnow.read.about import AboutTable
    from winnow.read.crossing import SealedTable


@dataclass(frozen=True)
class PrivateTable:
    """A private table: the options of every command that reads one over a public schema."""

    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="The private table: CSV, TSV or Parquet, or a pattern such as 'part-*.csv'.",
        ),
    ]
    schema: SchemaOption
    text: Typed[TextFormat]
    columns: ColumnsOption = None
    person: Annotated[
        str | None,
        option("--person", "COLUMN", "The column of people: whose row it is.", TABLE),
    ] = None
    joined: JoinedFiles = ONE_FILE
    one_row: OneRowOption = False
    max_rows: Annotated[
        str,
        option(
            "--max-rows",
            "L",
            "With --person: keep at most L rows of one person. Of tabulate also auto: a tenth of "
            "epsilon, or less, looks at how many rows people have and chooses it.",
            TABLE,
        ),
    ] = "1"
    relation: Annotated[Relation | None, relation_of_people(TABLE, Relation.SUBSTITUTION)] = None
    rows: Annotated[
        int | None,
        option(
            "--rows",
            "N",
            "A public number of rows to scale counts to, where the true number is private.",
            TABLE,
        ),
    ] = None

    def files(self) -> list[Path]:
        """The files that hold the table."""
        return self.joined.files(self.table)

    def declared(self, *also: str) -> Schema:
        """The schema of the columns that are used, and of those needed besides."""
        from winnow.core.schema import Schema

        return some_of(Schema.parse(self.schema), self.columns, *also)

    def account(self, record: Record) -> tuple[Relation, Budget | None]:
        """The neighbours of a release about its people, and the budget that pays for it."""
        check_unit_said(self.person, self.one_row, "--person")
        return record.account(self.relation, Relation.SUBSTITUTION)

    @property
    def most(self) -> int | str:
        """The bound on the rows of a person: a number, or auto."""
        return bound_of("--max-rows", self.max_rows) or 1

    def rows_of_person(self, released: Released[Any]) -> int:
        """So many rows of a person count in what was released."""
        most = self.most
        if isinstance(most, int):
            return most
        assert released.bound is not None  # it chose one
        return released.bound.bound

    def about(self, schema: Schema, relation: Relation) -> AboutTable:
        """What is public of it before it is read."""
        from winnow.read.about import table
        from winnow.read.people import PersonBound

        about = table(schema, rows=self.rows, relation=relation, max_rows=self.most)
        if self.person is None or not isinstance(self.most, int):
            return about
        return replace(about, bound=PersonBound(self.person, "row", self.most))

    def busy(self) -> AbstractContextManager[Any]:
        """Say on a terminal that a large table is read."""
        from winnow.cli.files import are_large
        from winnow.cli.printing import working

        return working(f"reading {self.table}") if are_large(self.files()) else nullcontext()

    def read(
        self, schema: Schema, relation: Relation, *, seed: int | None, salt: str | None = None,
        memory: str = Reading.memory,
    ) -> SealedTable:  # fmt: skip
        """The table, sealed. Which rows of a person are kept follows from ``salt``, or the seed."""
        from winnow.read.table import read_table

        if salt is None and seed is not None:
            salt = f"seed {seed}"  # repeatable, too
        return read_table(
            self.joined.with_first(self.table, self.person), schema=schema, person=self.person,
            max_rows=self.most, relation=relation, rows=self.rows, text=self.text(),
            reading=Reading(salt=salt, memory=memory),
        )  # fmt: skip
