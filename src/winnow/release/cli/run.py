"""``winnow release`` without its options: what is checked first, and what is written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winnow.cli.derived import Typed
from winnow.cli.files import refuse_overwriting
from winnow.cli.universe import universe_file, universe_from
from winnow.core.checks import count
from winnow.core.saving import (
    check_target,
    receipt_path,
    save_columns,
    with_counted,
    write_json,
    write_whole,
)
from winnow.core.schema import Schema
from winnow.errors import DataError, ParameterError, WinnowError
from winnow.read.about import AboutTable
from winnow.release.cli.view import workload_files
from winnow.release.methods import MWEM, Adaptive, Graphical, ReleaseMethod
from winnow.release.request import Release

if TYPE_CHECKING:
    from collections.abc import Callable

    from winnow.core.released import Released
    from winnow.read.crossing import SealedTable
    from winnow.release.synthetic import SyntheticDistribution


@dataclass(frozen=True)
class Targets:
    """The files that a release writes."""

    out: Path | None
    answers: Path | None
    report: Path | None
    plot: Path | None
    sample: int | None
    unsafe: bool
    """Whether the report shows true answers."""
    title: str = "Synthetic table"
    """The name of the data in the report."""

    def check(self, read: list[Path], *, printed: bool) -> None:
        """Refuse what could not be written or lost, before anything is read or spent."""
        if self.out is None and self.answers is None and self.report is None and not printed:
            raise ParameterError(
                "nothing would be kept of what is paid for; give --out, --answers, --report or "
                "--json"
            )
        if self.unsafe and self.report is None:
            raise ParameterError(
                "--unsafe-show-private puts true answers into the --report; give one"
            )
        if self.sample is not None:
            count(sample=self.sample)
            if self.out is None or self.out.suffix.lower() == ".json":
                raise ParameterError(
                    "--sample is the number of rows of --out FILE.csv or .parquet; name one, or "
                    "leave it out"
                )
        seen: dict[Path, str] = {}
        for option, path, endings in self._named():
            check_target(path, *endings)
            refuse_overwriting(read, option, path)
            if path.resolve() in seen:
                raise DataError(f"{option} and {seen[path.resolve()]} both name {path}")
            seen[path.resolve()] = option
        if self.report is not None or self.plot is not None:
            from winnow.show.plots.figures import new_figure

            new_figure()  # says at once if matplotlib is missing

    def _named(self) -> list[tuple[str, Path, tuple[tuple[str, ...], ...]]]:
        from winnow.show.plots.figures import ENDINGS

        every = [
            ("--out", self.out, ()),
            ("--answers", self.answers, ()),
            ("--report", self.report, ((".html", ".htm"),)),
            ("--plot", self.plot, (ENDINGS,)),
        ]
        named = [(option, path, endings) for option, path, endings in every if path is not None]
        beside = [
            (f"the receipt of {option}", receipt_path(path), ())
            for option, path, _ in named
            if path.suffix.lower() == ".csv"
        ]
        return [*named, *beside]


def with_cells(asked: Typed[Any], schema: Schema) -> ReleaseMethod | str:
    """The method, with the cells of a file where ``--universe`` names one."""
    method: ReleaseMethod | str = asked.method
    if not isinstance(method, MWEM) or method.universe is None:
        return method
    return replace(method, universe=universe_from(str(method.universe), schema))


def public_files(asked: Typed[Any], schema: Path, workload: str) -> list[Path]:
    """The public files that are read."""
    method = asked.method
    cells = universe_file(method.universe) if isinstance(method, MWEM) else None
    return [schema, *workload_files(workload), *([] if cells is None else [cells])]


def check_before(asked: Release, about: AboutTable) -> None:
    """Refuse, before the table is read, what no number of rows would mend.

    Where the number of rows is still to be read, any number of rows does.
    """
    method = asked.method
    if isinstance(method, MWEM) and method.alpha is not None:
        method = replace(method, alpha=None, update="sign")
    if isinstance(method, MWEM | Adaptive) and method.rounds is None:
        method = replace(method, rounds=1)
    known = about.relation.size_is_public and about.rows_per_person == 1
    if known and about.rows is None and not isinstance(method, Graphical):
        about = replace(about, rows=1)
    replace(asked, method=method).plan(about)


def write_targets(
    targets: Targets,
    released: Released[SyntheticDistribution],
    table: SealedTable,
    *,
    seed: int | None,
) -> list[tuple[str, Path]]:
    """Write every file, each whole or not at all; the first failure is raised at the end.

    Returns what was written. A full disk under one file does not keep the others from being
    tried: all of them are paid for.
    """
    written: list[tuple[str, Path]] = []
    failed: WinnowError | None = None
    for what, path, write in _writers(targets, released, table, seed):
        try:
            write(path)
            written.append((what, path))
        except WinnowError as error:
            failed = failed or error
    if failed is not None:
        raise failed
    return written


def _writers(
    targets: Targets,
    released: Released[SyntheticDistribution],
    table: SealedTable,
    seed: int | None,
) -> list[tuple[str, Path, Callable[[Path], None]]]:
    synthetic = released.value
    about = released.to_about()

    def rows(path: Path) -> None:
        synthetic.save(path, rows=targets.sample, seed=seed, about=about)

    def answers(path: Path) -> None:
        if path.suffix.lower() == ".json":
            write_json(path, {"answers": synthetic.table(), **about})
        else:
            columns = with_counted(synthetic.to_columns(), released.receipt.counted)
            save_columns(path, columns, about)

    def report(path: Path) -> None:
        write_whole(path, report_of(released, table, title=targets.title, unsafe=targets.unsafe))

    def plot(path: Path) -> None:
        from winnow.show.plots.release import draw_release

        seeded = "" if released.receipt.randomness == "os" else " (seeded: not private)"
        title = f"Synthetic table: {released.guarantee}{seeded}"
        write_whole(path, draw_release(synthetic, title=title, ending=path.suffix.lower()))

    every: list[tuple[str, Path | None, Callable[[Path], None]]] = [
        ("synthetic table", targets.out, rows),
        ("answers", targets.answers, answers),
        ("report", targets.report, report),
        ("figure", targets.plot, plot),
    ]
    return [(what, path, write) for what, path, write in every if path is not None]


def report_of(
    released: Released[SyntheticDistribution],
    table: SealedTable,
    *,
    title: str,
    unsafe: bool = False,
) -> bytes:
    """The report; with ``unsafe`` it shows true answers, and is marked as not for publication."""
    from winnow.show.report.release import TrueAnswers, release_page

    private = None
    if unsafe:
        from winnow.core.workloads.marginal import MarginalPart
        from winnow.core.workloads.workload import Workload
        from winnow.read.crossing import unsafe_true_answers

        schema = table.schema
        private = TrueAnswers(
            unsafe_true_answers(table, released.value.workload),
            tuple(
                unsafe_true_answers(table, Workload(schema, (MarginalPart(schema, (place,)),)))
                for place in range(len(schema.columns))
            ),
        )
    return release_page(
        released,
        title=title,
        date=datetime.now(UTC).date().isoformat(),
        rows_per_person=table.rows_per_person,
        private=private,
    )
