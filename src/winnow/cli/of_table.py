"""Commands about a private table: their options, and one way to check, run, save and show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.options import (
    ASKED,
    ColumnsOption,
    JsonOption,
    OutOption,
    SchemaOption,
    SeedOption,
    bound_of,
    option,
    plot_of,
    relation_of_people,
    some_of,
)
from winnow.cli.private_table import PrivateTable
from winnow.cli.recording import UNRECORDED, Record, warn_of_other_labels
from winnow.cli.reporting import saved_then_shown
from winnow.core.relation import Relation
from winnow.errors import ParameterError

if TYPE_CHECKING:
    from winnow.core.released import Released
    from winnow.core.schema import Schema
    from winnow.read.about import AboutTable

MOST_SHOWN = 200
"""Numbers that a terminal shows."""

Page = Callable[..., bytes]
Draw = Callable[["Released[Any]", str], bytes]
Show = Callable[["Released[Any]", "Sequence[tuple[str, Path]]"], None]


@dataclass(frozen=True)
class TableRun:
    """The options of every command that releases numbers about a private table."""

    seed: SeedOption = None
    record: Record = UNRECORDED
    out: OutOption = None
    report: Annotated[
        Path | None,
        option("--report", "FILE", "A page with numbers, errors and the receipt: .html.", "Output"),
    ] = None
    json: JsonOption = False

    def drawn(self) -> Path | None:
        """The file of a figure, where the command draws one."""
        return None

    def release(
        self,
        what: str,
        private: PrivateTable,
        asked: Callable[..., Any],
        declared: Schema | None = None,
        *,
        title: str,
        page: Page | None = None,
        show: Show | None = None,
        draw: Draw | None = None,
    ) -> None:
        """Release what is asked for of the columns that are declared, or that it uses, once.

        What cannot be met or saved is refused before anything is read.
        """
        relation, budget = private.account(self.record)
        self._check_targets([*private.files(), private.schema])
        request = asked(budget=budget, seed=self.seed)
        if declared is None:
            used = request.used
            declared = private.declared(*(used or ()))
            declared = declared if used is None else declared.subset(used)
        plan = request.plan(private.about(declared, relation))
        answers = getattr(plan, "answers", None) or 0
        if not (self.out or self.report or self.json) and answers > MOST_SHOWN:
            raise ParameterError(
                f"there are more than {MOST_SHOWN} {what}, too many to show; give --out, --report "
                "or --json"
            )
        with private.busy():
            sealed = private.read(declared, relation, seed=self.seed)
        warn_of_other_labels(budget, sealed)
        released = request.plan(sealed).run(sealed, budget=budget, seed=self.seed)
        written: list[tuple[str, Path]] = []
        verb = "are" if what.endswith("s") else "is"
        with saved_then_shown(
            released,
            self.json,
            lambda: (show or show_numbers)(released, written),
            f"the {what} {verb} released and printed",
        ):
            if self.out is not None:
                released.value.save(self.out, about=released.to_about())
                written.append((what, self.out))
            self._draw(released, draw, written)
            if self.report is not None:
                self._write_page(released, title, page, private)
                written.append(("report", self.report))

    def _check_targets(self, read: list[Path]) -> None:
        """Refuse what could not be saved, before anything is counted."""
        from winnow.cli.files import check_targets, refuse_overwriting
        from winnow.core.saving import check_target, receipt_path

        check_targets(read, self.out, self.drawn())
        if self.report is not None:
            check_target(self.report, (".html", ".htm"))
            refuse_overwriting(read, "--report", self.report)
        if self.out is not None and self.out.suffix.lower() == ".csv":
            refuse_overwriting(read, "--out", receipt_path(self.out))

    def _draw(
        self, released: Released[Any], draw: Draw | None, written: list[tuple[str, Path]]
    ) -> None:
        from winnow.core.saving import write_whole

        figure = self.drawn()
        if figure is None:
            return
        if draw is None:
            released.plot(figure)
        else:
            write_whole(figure, draw(released, figure.suffix.lower()))
        written.append(("figure", figure))

    def _write_page(
        self, released: Released[Any], title: str, page: Page | None, private: PrivateTable
    ) -> None:
        from datetime import UTC, datetime

        from winnow.core.saving import write_whole
        from winnow.show.report.card import card_page

        made = (page or card_page)(
            released,
            title=f"{title} of {Path(private.table).stem}",
            date=datetime.now(UTC).date().isoformat(),
            rows_per_person=private.rows_of_person(released),
        )
        assert self.report is not None
        write_whole(self.report, made)


@dataclass(frozen=True)
class DrawnRun(TableRun):
    """The options of every command about a table that also draws its numbers."""

    plot: Annotated[Path | None, plot_of("Draw the numbers")] = field(default=None)

    def drawn(self) -> Path | None:
        """The file of the figure."""
        return self.plot


SHOWN, DRAWN = TableRun(), DrawnRun()
"""Nothing but shown on a terminal."""


@dataclass(frozen=True)
class AssumedTable:
    """The options of every plan about a table that is still to come."""

    schema: SchemaOption
    columns: ColumnsOption = None
    rows: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--rows",
            metavar="N",
            help="How many rows the table has; a public or assumed number.",
            rich_help_panel=ASKED,
        ),
    ] = None
    max_rows: Annotated[
        str,
        option("--max-rows", "L", "The most rows of one person; of tabulate also auto.", ASKED),
    ] = "1"
    relation: Annotated[Relation, relation_of_people(ASKED)] = Relation.SUBSTITUTION
    json: JsonOption = False

    def declared(self, *also: str) -> Schema:
        """The schema of the columns that are used, and of those needed besides."""
        from winnow.core.schema import Schema

        return some_of(Schema.parse(self.schema), self.columns, *also)

    def about(self, declared: Schema) -> AboutTable:
        """What is public of such a table."""
        from winnow.read.about import table

        most = bound_of("--max-rows", self.max_rows) or 1
        return table(declared, rows=self.rows, relation=self.relation, max_rows=most)

    def show(self, request: Any) -> None:
        """Print the plan of a request for such a table, of the columns that it uses."""
        from winnow.cli.printing import show_plan

        used = request.used
        declared = self.declared(*(used or ()))
        about = self.about(declared if used is None else declared.subset(used))
        show_plan(request.plan(about), json=self.json)


def show_numbers(
    released: Released[Any],
    written: Sequence[tuple[str, Path]],
    *,
    bars: Sequence[float] | None = None,
) -> None:
    """The table of a value, where it was not saved, its notes, and the receipt.

    ``bars`` are drawn behind the rows, the longest over 30 letters.
    """
    from rich.text import Text

    from winnow.cli.printing import add_receipt, card_grid, console, pairs, visible
    from winnow.core.notebook import card_of

    card, show, lines = card_of(released.value), console(), pairs()
    if not any(what != "figure" for what, _ in written):
        show.print(card_grid(card, bars))
    for what, path in written:
        lines.add_row(what, Text(visible(path), style="bold green"))
    for name, text in card.notes:
        lines.add_row(name, Text(visible(text)))
    add_receipt(lines, released)
    show.print(lines)
