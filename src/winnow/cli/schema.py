"""``winnow schema``: a public schema is drafted and checked before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.derived import Typed
from winnow.cli.options import HeaderOption, JsonOption, option
from winnow.cli.reporting import report, reported
from winnow.errors import DataError, ParameterError
from winnow.read.options import TextFormat

if TYPE_CHECKING:
    from winnow.read.engine import Engine
    from winnow.read.looking import ColumnCheck

PRIVATE = "PRIVATE: exact numbers of the private data, for their owner's eyes. Do not publish them."

DRAFT_EXAMPLES = """\
Examples:

winnow schema draft people.csv --out schema.json

winnow schema draft people.csv --from-codebook codebook.csv --out schema.json

A codebook is a CSV file: column,type,values,range,step,bins,outside,missing,trim. Types are text, \
integer, real, boolean, date, time, or year, quarter, month, weekday and hour of a date; values \
are joined by |, and a range is low..high: with a step every number of it (of times a unit such as \
minute), for means, quantiles and histograms; else bins.
"""
CHECK_EXAMPLES = """\
Examples:

winnow schema check people.csv --schema schema.json
"""

FileArgument = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="The private table: CSV, TSV or Parquet, or a pattern such as 'part-*.csv'.",
    ),
]


@reported()
def draft(
    file: FileArgument,
    text: Typed[TextFormat],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the schema here: .json.")
    ] = None,
    codebook: Annotated[
        Path | None,
        typer.Option(
            "--from-codebook", metavar="CSV", help="Fill it in from a public list of the columns."
        ),
    ] = None,
    unsafe_look: Annotated[
        bool,
        typer.Option(
            "--unsafe-look",
            help="Propose the rest from the private data. Outside every guarantee: the schema is "
            "marked, and every receipt says so.",
        ),
    ] = False,
    header: HeaderOption = False,
) -> None:
    """Write a schema to be filled in, from the names in the first line of a file.

    Nothing else of the file is read, unless --unsafe-look says so.
    """
    from winnow.cli.files import named_by, refuse_overwriting
    from winnow.core.saving import check_target
    from winnow.read import drafting
    from winnow.read.engines.files import DuckFiles
    from winnow.read.looking import ALTERNATIVE, unsafe_declarations

    if out is not None:
        check_target(out, (".json",))
        refuse_overwriting(named_by(file), "--out", out)
        if out.exists():
            raise ParameterError(f"--out {out} exists already; choose another name, or remove it")
    files, names = _source(file, text())
    plain = isinstance(files, DuckFiles) and files.ending != ".parquet"
    said = header or text.names is not None or not plain
    if not said and drafting.looks_like_data(names):
        raise DataError(
            "the first line looks like data, which would then stand in the schema; put the names "
            "of the columns there (if they are names already, say so with --header)"
        )
    declared = {} if codebook is None else drafting.read_codebook(codebook, names)
    if unsafe_look:
        if not isinstance(files, DuckFiles):
            raise ParameterError(
                "--unsafe-look is for files; save the table as one, or leave it out"
            )
        report(
            "warning: --unsafe-look reads the private data without noise. What it proposes is "
            "marked as chosen by looking, in the schema and in every receipt; bounds and values "
            "from a codebook need no such mark"
        )
        declared |= unsafe_declarations(files, [name for name in names if name not in declared])
    notes = [ALTERNATIVE] if unsafe_look else []
    kept = names
    if codebook is not None and declared:  # the draft can be used as it is
        kept = [name for name in names if name in declared]
    if len(kept) < len(names):
        out_of_it = ", ".join(repr(name) for name in names if name not in declared)
        notes.append(f"Left out, because the codebook gives no values for them: {out_of_it}")
        report(f"{notes[-1]}. If you need one of them, declare it in the schema")
    _write(drafting.draft(kept, declared, *notes), out)
    left = sum(name not in declared for name in kept)
    if out is not None:
        done = f"{out}: {len(kept)} columns, {left} to be filled in"
        typer.echo(done if left else f"{done}; check it with winnow schema check")


def _write(document: dict[str, Any], out: Path | None) -> None:
    import json

    from winnow.core.saving import write_whole

    def line(value: Any, indent: int | None = None) -> str:
        return json.dumps(value, ensure_ascii=False, indent=indent)

    each = (
        f" {line(name)}: {line(form, 2 if isinstance(form, list) else None)}"
        for name, form in document.items()
    )
    text = "{\n" + ",\n".join(each) + "\n}\n"
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_whole(out, text.encode())


@reported()
def check(
    file: FileArgument,
    schema: Annotated[
        Path, option("--schema", "FILE", "The schema to check, a JSON file.", "Options")
    ],
    text: Typed[TextFormat],
    json: JsonOption = False,
) -> None:
    """Say everything that is wrong with a schema, and how many rows fall outside of it.

    Nothing is spent, and what is shown is private: it is for the owner of the data. Exit code 1:
    the table would be refused.
    """
    from winnow.cli.printing import show_json
    from winnow.core.schema import parsed_columns, read_declaration
    from winnow.read.drafting import no_column
    from winnow.read.looking import ColumnCheck, check_columns_of

    columns, problems = parsed_columns(read_declaration(schema))
    files, names = _source(file, text())
    absent = [column for column in columns if column.name not in names]
    present = [column for column in columns if column.name in names]
    checks = check_columns_of(files, present)
    checks += [ColumnCheck(column, problem=no_column(column.name, names)) for column in absent]
    if json:
        show_json(
            {
                "private": PRIVATE,
                "problems": problems,
                "columns": [
                    {
                        "column": each.column.name,
                        "outside": each.outside,
                        "missing": each.missing,
                        "consequence": each.consequence,
                        "refused": each.refused,
                    }
                    for each in checks
                ],
            }
        )
    else:
        _show(checks, problems)
    if problems or any(each.refused for each in checks):
        raise typer.Exit(1)


def _show(checks: list[ColumnCheck], problems: list[str]) -> None:
    from rich.text import Text

    from winnow.cli.printing import console, grid, visible

    show = console()
    show.print(Text(PRIVATE, style="bold red"))
    heads = [("column", "left"), ("outside", "right"), ("missing", "right"), ("then", "left")]
    rows: list[list[str | Text]] = []
    for each in checks:
        told = each.consequence if each.refused or each.outside + each.unplaced else "fits"
        cells = (each.column.name, f"{each.outside:,}", f"{each.missing:,}")
        rows.append([*cells, Text(visible(told), style="bold red" if each.refused else "")])
    show.print(grid(heads, rows))
    for problem in problems:
        show.print(Text(visible(problem), style="bold red"))
    wrong = len(problems) + sum(each.refused for each in checks)
    show.print(
        f"{wrong} to correct before the table can be read" if wrong else "the table can be read"
    )


def _source(file: str, text: TextFormat) -> tuple[Engine, list[str]]:
    """What reads a table, and the names of its columns."""
    from winnow.read.databases import column_names, names_database, opened
    from winnow.read.engine import TABLE, Source, refusing
    from winnow.read.engines.files import DuckFiles
    from winnow.read.engines.registry import engine_for
    from winnow.read.looking import MEMORY

    if names_database(file):
        source = opened(file, {})
        with refusing("the source cannot be read", TABLE):
            return engine_for(source, MEMORY, (), text), column_names(source)
    engine = DuckFiles.of(Source(file, MEMORY, (), text))
    assert engine is not None  # a path is always for this engine
    return engine, engine.names()
