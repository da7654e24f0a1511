"""``winnow release`` without its options: what is checked first, planned, run and written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.answers.request import AnswersRequest
from winnow.answers.settings import MethodChoice, choose
from winnow.answers.verb import refuse_options
from winnow.cli.files import refuse_overwriting
from winnow.cli.options import PLAIN_TEXT, TextOptions
from winnow.cli.universe import universe_file, universe_from
from winnow.core.checks import count, rows_to_release
from winnow.core.relation import Relation
from winnow.core.saving import (
    check_target,
    receipt_path,
    save_columns,
    with_counted,
    write_json,
    write_whole,
)
from winnow.core.schema import Schema
from winnow.core.workloads.workload import bound_workload
from winnow.errors import DataError, ParameterError, WinnowError
from winnow.privacy.sizing import sizing_accountant
from winnow.release.cli.view import workload_files, workload_of
from winnow.release.mwem import TABLES
from winnow.release.request import ReleaseRequest
from winnow.release.settings import ReleaseSettings, release_settings
from winnow.release.verb import promising

if TYPE_CHECKING:
    from collections.abc import Callable

    from winnow.core.released import Released
    from winnow.privacy import Budget
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
            from winnow.plots.figures import new_figure

            new_figure()  # says at once if matplotlib is missing

    def _named(self) -> list[tuple[str, Path, tuple[tuple[str, ...], ...]]]:
        from winnow.plots.figures import ENDINGS

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


_OF_QUERIES = ("alpha", "update", "warm_start", "universe", "index", "slack")
"""Options of MWEM that rounds over whole tables do not have."""


@dataclass(frozen=True)
class ReleaseOrder:
    """What a user asks for, in the words of the command."""

    table: str
    schema: Path
    workload: str
    epsilon: float
    delta: float
    columns: str | None = None
    person: str | None = None
    max_rows: int = 1
    relation: Relation = Relation.SUBSTITUTION
    rows: int | None = None
    method: str = "auto"
    rounds: int | None = None
    alpha: float | None = None
    measurement: str | None = None
    groups: str | None = None
    universe: str | None = None
    update: str | None = None
    warm_start: float | None = None
    index: str | None = None
    slack: float | None = None
    accountant: str = "best"
    memory: str = "4GB"
    pad_to: float | str | None = None
    seed: int | None = None
    text: TextOptions = PLAIN_TEXT

    def files(self) -> list[Path]:
        """The public files that are read."""
        cells = universe_file(self.universe)
        listed = [] if cells is None else [cells]
        return [self.schema, *workload_files(self.workload), *listed]

    def request(self, budget: Budget | None) -> ReleaseRequest:
        """The public parameters, checked as far as they can be before the table is read."""
        schema = Schema.parse(self.schema)
        if self.columns is not None:
            schema = schema.subset(_names(self.columns))
        request = ReleaseRequest(
            workload=workload_of(self.workload),
            schema=schema,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            rows_per_person=self.max_rows,
            rows=self.rows,
            rounds=self.rounds,
            measurement=self.measurement,
            update=TABLES if self.method == "adaptive" else self._update,
            groups=_groups(self.groups),
            universe=universe_from(self.universe, schema),
            warm_start=self.warm_start,
            index=self.index,
            slack=self.slack or 0,
            accountant=self._sizing(budget),
            memory=self.memory,
        )
        known = self.relation.size_is_public and self.max_rows == 1
        assumed = 1 if known and self.rows is None else None
        if self.method == "adaptive":
            refused = [name for name in self._of_mwem() if name in _OF_QUERIES]
            refuse_options(self.method, refused)
        if self.rounded:
            release_settings(replace(request, public_rows=assumed, rounds=self.rounds or 1))
        else:
            refuse_options(self.method, self._of_mwem())
            choose(self._asked(request, rows_to_release(self.rows, assumed)), self.method)
        return request

    @property
    def rounded(self) -> bool:
        """Whether it is MWEM by its name, or by an option that only MWEM has."""
        named = self.method in ("adaptive", "mwem")
        return named or (self.method == "auto" and bool(self._of_mwem()))

    @property
    def _update(self) -> str:
        return self.update or ("gap" if self.alpha is None else "sign")

    def _of_mwem(self) -> list[str]:
        given = {
            "rounds": self.rounds if self.method != "graphical" else None,
            "alpha": self.alpha,
            "measurement": self.measurement if self.method != "adaptive" else None,
            "update": self.update,
            "warm_start": self.warm_start,
            "groups": self.groups,
            "universe": self.universe,
            "index": self.index,
            "slack": self.slack,
        }
        return [name for name, value in given.items() if value is not None]

    def _asked(self, request: ReleaseRequest, total: int | None) -> AnswersRequest:
        return AnswersRequest(
            bound_workload(request.workload, request.schema, self.memory),
            self.epsilon,
            self.delta,
            self.relation,
            self.max_rows,
            total,
            request.accountant,
            self.memory,
        )

    def _sizing(self, budget: Budget | None) -> str:
        """Under a budget the noise is sized by the budget's own accountant."""
        if budget is None:
            return self.accountant
        own = sizing_accountant(budget, self.delta)
        if self.accountant not in ("best", own):
            raise ParameterError(
                f"--accountant {self.accountant} does not fit the ledger, which adds up by "
                f"{budget.accountant}; leave it out"
            )
        return own

    def read(self, request: ReleaseRequest) -> SealedTable:
        """The private table, sealed."""
        from winnow.read.table import read_table

        return read_table(
            self.table,
            schema=request.schema,
            person=self.person,
            max_rows=self.max_rows,
            relation=self.relation,
            **self.text.said(),
            memory=self.memory,
            salt=None if self.seed is None else f"seed {self.seed}",  # repeatable, too
        )

    def plan(self, request: ReleaseRequest, table: SealedTable) -> ReleaseSettings | MethodChoice:
        """The closed plan that will be run: of MWEM, or the choice of another method."""
        settings = replace(request, public_rows=table.n)
        if self.rounded:
            known = settings if self.alpha is None else promising(settings, self.alpha)
            return release_settings(known)
        asked = self._asked(request, rows_to_release(self.rows, table.n))
        choice = choose(asked, self.method)
        if choice.method not in ("adaptive", "mwem"):
            return choice
        update = TABLES if choice.method == "adaptive" else "gap"
        return release_settings(replace(settings, update=update))

    def run(
        self,
        request: ReleaseRequest,
        table: SealedTable,
        budget: Budget | None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Released[SyntheticDistribution]:
        """Charge, draw and fit."""
        from winnow.answers.verb import release

        return release(
            table,
            request.workload,
            epsilon=self.epsilon,
            delta=self.delta,
            method=self.method,
            rounds=self.rounds,
            alpha=self.alpha,
            measurement=self.measurement,
            update=self.update,
            warm_start=self.warm_start,
            index=self.index,
            slack=self.slack or 0,
            rows=self.rows,
            groups=request.groups,
            universe=request.universe,
            accountant=self.accountant,
            budget=budget,
            memory=self.memory,
            progress=progress,
            pad_to=self.pad_to,
            seed=self.seed,
        )


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
        from winnow.plots.release import draw_release

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
    from winnow.report.release import TrueAnswers, release_page

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


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _groups(text: str | None) -> list[list[str]] | None:
    return None if text is None else [_names(group) for group in text.split("/")]
