"""A release as the user sees it: the plan before, a bar during, results and receipt after."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from operator import add, mul
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from winnow.cli.printing import add_receipt, aside, console, grid, pairs, visible
from winnow.core.measurement import MEASUREMENTS
from winnow.core.schema import cells_text
from winnow.core.workloads.arrays import random_queries
from winnow.core.workloads.conditions import predicates, where
from winnow.core.workloads.tables import marginals, prefixes, ranges
from winnow.core.workloads.workload import Maker
from winnow.errors import DataError, ParameterError
from winnow.foreign import instead, reason
from winnow.release.query_errors import KnownErrors, QueryErrors
from winnow.release.rounds.prediction import expected_error_bound
from winnow.release.rounds.settings import ReleaseSettings
from winnow.release.rounds.synthesis import noise_of
from winnow.show.report.numbers import accuracy_by_part, errors_by_part, measured_rows

if TYPE_CHECKING:
    from winnow.core.released import Released
    from winnow.release.plan import ReleasePlan
    from winnow.release.synthetic import SyntheticDistribution


FORMS = (
    "marginals:K (or K,K, or the columns of one table), prefixes:COLUMN, ranges:COLUMN, random:M "
    "(or M,SEED) or a JSON file, joined by +, tables and ranges also by *"
)
_KINDS = ("marginals", "prefixes", "ranges", "random", "where")
_NEXT = rf"(?=\s*(?:{'|'.join(_KINDS)}):)"
_JOINED, _TIMES = re.compile(rf"\+{_NEXT}"), re.compile(rf"\*{_NEXT}")


def workload_of(text: str) -> Maker:
    """The workload that a text describes, not yet bound to a schema."""
    return reduce(add, (_product(piece, text) for piece in _JOINED.split(text)))


def workload_files(text: str) -> list[Path]:
    """The files that a text names."""
    paths = []
    for piece in _JOINED.split(text):
        kind, _, rest = piece.strip().partition(":")
        if kind == "where" and rest:
            paths.append(Path(rest.strip()))
        elif piece.strip().endswith(".json"):
            paths.append(Path(piece.strip()))
    return paths


def _product(piece: str, text: str) -> Maker:
    return reduce(mul, (_piece(factor.strip(), text) for factor in _TIMES.split(piece)))


def _piece(piece: str, text: str) -> Maker:
    kind, colon, rest = piece.partition(":")
    rest = rest.strip()
    if piece.endswith(".json") and kind not in (
        "marginals",
        "prefixes",
        "ranges",
        "random",
        "where",
    ):
        return _predicates(Path(piece))
    if colon and rest:
        match kind:
            case "marginals":
                return marginals(_ways(rest))
            case "prefixes":
                return prefixes(rest)
            case "ranges":
                return ranges(rest)
            case "random":
                return _random(rest)
            case "where":
                return _predicates(Path(rest))
    raise ParameterError(f"--workload {text!r}: {piece!r} is not a workload; give {FORMS}")


def _random(text: str) -> Maker:
    """Random sets of cells, by their number and a public seed."""
    numbers: list[int] = []
    with instead(
        ParameterError(
            f"--workload: random:{text} is not M or M,SEED, such as random:1000 or random:1000,7"
        ),
        ValueError,
    ):
        numbers = [int(number) for number in text.split(",")]
    m, seed = numbers if len(numbers) == 2 else (numbers[0], 0)
    return random_queries(m, seed=seed)


def _ways(text: str) -> list[int] | list[str]:
    """Numbers of columns, or the names of the columns of one table."""
    names = [name.strip() for name in text.split(",")]
    if not any(re.fullmatch(r"[+-]?[\d.]+", name) for name in names):
        return names
    with instead(
        ParameterError(
            f"--workload: marginals:{text} does not name numbers of columns; write marginals:3, "
            "or marginals:2,3"
        ),
        ValueError,
    ):
        return [int(number) for number in text.split(",")]


def _predicates(path: Path) -> Maker:
    with (
        instead(
            DataError(
                f'the workload {path} is not JSON; give a list such as [{{"sex": "Female"}}]'
            ),
            ValueError,
            RecursionError,
        ),
        instead(
            lambda error: DataError(f"cannot read the workload {path}: {reason(error)}"), OSError
        ),
    ):
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    if not isinstance(content, list) or not all(isinstance(each, dict) for each in content):
        raise DataError(
            f"the workload {path} is not a list of predicates; give one such as "
            '[{"sex": "Female", "age": {"from": 40, "to": 60}}]'
        )
    return predicates(where({c: _condition(c, v) for c, v in each.items()}) for each in content)


def _condition(column: str, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if not value or not set(value) <= {"from", "to"}:
        raise ParameterError(
            f"the condition on {column!r} is an object with other names than 'from' and 'to'; "
            'write {"from": 40, "to": 60}'
        )
    return value.get("from"), value.get("to")


MOST_LINES = 12
"""Parts of a workload that the terminal shows; the report has all of them."""


def show_plan(plan: ReleasePlan) -> None:
    """What will be done, before it is paid for."""
    table = pairs()
    rounds = rounds_of(plan)
    for name, text in method_lines(plan) if rounds is None else plan_lines(rounds):
        table.add_row(name, Text(visible(text)))
    console().print(table)


def rounds_of(plan: ReleasePlan) -> ReleaseSettings | None:
    """All that is fixed of rounds of MWEM; None: another method runs."""
    return plan.expected if isinstance(plan.expected, ReleaseSettings) else None


def method_lines(plan: ReleasePlan) -> list[tuple[str, str]]:
    """A method without rounds in words."""
    terms, schema = plan.terms, plan.terms.schema
    return [
        ("plan", f"{len(schema.columns)} columns, {cells_text(schema.cells)} cells, "
                 f"{_rows_text(terms.total)}, {_people_text(terms.rows_per_person)}"),
        ("queries", f"{terms.workload.size:,}"),
        ("method", plan.why),
    ]  # fmt: skip


def _people_text(rows_per_person: int) -> str:
    if rows_per_person == 1:
        return "one row per person"
    return f"at most {rows_per_person:,} rows per person"


def _rows_text(total: int | None) -> str:
    return "an unknown number of rows, measured first" if total is None else f"{total:,} rows"


def plan_lines(planned: ReleaseSettings) -> list[tuple[str, str]]:
    """The closed plan in words."""
    rounds, schema = planned.rounds, planned.schema
    people = _people_text(planned.terms.rows_per_person)
    rows = _rows_text(planned.total)
    whole = planned.whole_tables
    if whole:
        what, noise = "every cell of a table with", planned.cell_noise.deviation
    else:
        spread = MEASUREMENTS[rounds.measurement].deviation
        what, noise = (
            "a count with",
            rounds.noise_multiplier * planned.terms.rows_per_person * spread,
        )
    size = f"noise ±{noise:,.3g}"
    if planned.total is not None:
        share = noise / max(planned.total, 1)
        size += f" ({_percent(share)} of the rows)"
        size = size if share < 1 else "more noise than there are rows"
    lines = [
        ("plan", f"{len(schema.columns)} columns, {cells_text(schema.cells)} cells, {rows}, "
                 f"{people}"),
        ("queries", f"{planned.workload.size:,}"),
        ("rounds", f"{rounds.rounds:,}"),
        ("each round", f"a selection at epsilon {rounds.selection_epsilon:.4g}, then {what} "
                       f"{size}"),
        ("in all", f"{planned.guarantee} ({rounds.accountant} accountant)"),
    ]  # fmt: skip
    if planned.rests_on:
        lines.append(("rests on", planned.rests_on))
    elif planned.total is not None and not whole:
        lines.append(("expected", _expected(planned)))
    return lines


def _expected(planned: ReleaseSettings) -> str:
    assert planned.total is not None
    bound = expected_error_bound(
        cells=planned.schema.cells,
        queries=planned.workload.size,
        rounds=planned.rounds.rounds,
        noise=noise_of(planned, planned.total),
        selection=2
        * planned.terms.rows_per_person
        / (planned.rounds.selection_epsilon * planned.total),
    )
    if bound >= 1:
        return "no useful bound for every possible table; the release will estimate its error"
    return (
        f"a largest error of at most {100 * bound:.3g} % in the mean, whatever the data are "
        "(update sign; gap is usually several times better)"
    )


class RoundsBar:
    """A bar on stderr with the rounds done and the time left; only on a terminal.

    It is told of rounds as soon as a plan is made, and shows them while the plan runs.
    """

    def __init__(self) -> None:
        self._told: Callable[[int, int], object] | None = None

    def __call__(self, done: int, every: int) -> None:
        """So many rounds of all are done."""
        if self._told is not None:
            self._told(done, every)

    @contextmanager
    def over(self, plan: ReleasePlan) -> Iterator[None]:
        """While a plan runs; nothing is shown of one that has no rounds."""
        rounds = rounds_of(plan)
        if rounds is None:
            yield
            return
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
        )
        screen = aside()
        quiet = not screen.is_terminal
        with Progress(*columns, console=screen, transient=True, disable=quiet) as display:
            task = display.add_task("rounds", total=rounds.rounds.rounds)
            self._told = lambda done, every: display.update(task, completed=done, total=every)
            yield


def show_result(
    released: Released[SyntheticDistribution],
    written: list[tuple[str, Path]],
    *,
    with_measurements: bool,
) -> None:
    """Errors by part, the files, and the receipt; all measurements if nothing else has them."""
    synthetic, show = released.value, console()
    errors = synthetic.errors
    if not isinstance(errors, QueryErrors):
        _show_answers(released, written)
        return
    parts = errors_by_part(synthetic)
    show.print(
        grid(
            [("part of the workload", "left"), ("queries", "right"), ("measured", "right"),
             ("farthest", "right"), ("error estimate", "right")],
            [
                (part.name, f"{part.queries:,}", f"{part.measurements:,}",
                 _percent(part.largest) if part.distances else "-", _percent(part.estimate))
                for part in parts[:MOST_LINES]
            ],
        )
    )  # fmt: skip
    if len(parts) > MOST_LINES:
        show.print(f"and {len(parts) - MOST_LINES} further parts", style="dim")
    show.print(
        "in % of the rows; farthest: from a noisy measurement; - : nothing was measured there",
        style="dim",
    )
    if with_measurements:
        _show_measurements(synthetic)
    table = pairs()
    for what, path in written:
        table.add_row(what, Text(visible(path), style="bold green"))
    noise = errors.noise * synthetic.total
    table.add_row(
        "largest error",
        _largest(errors, "estimate"),
    )
    size = f"±{noise:,.3g} rows (1 sd)" if errors.noise < 1 else "more than all rows"
    table.add_row("noise", f"{size} on each of {_measured(synthetic)} counts")
    add_receipt(table, released)
    show.print(table)


def _show_answers(
    released: Released[SyntheticDistribution], written: list[tuple[str, Path]]
) -> None:
    """Show the errors of a method without rounds."""
    synthetic, show = released.value, console()
    parts = accuracy_by_part(synthetic)
    heads = [("part of the workload", "left"), ("queries", "right"), ("error", "right")]
    rows = [
        (part.name, f"{part.queries:,}",
         "-" if part.error is None else f"±{part.error * synthetic.total:,.3g} rows")
        for part in parts[:MOST_LINES]
    ]  # fmt: skip
    show.print(grid(heads, rows))
    if len(parts) > MOST_LINES:
        show.print(f"and {len(parts) - MOST_LINES} further parts", style="dim")
    table = pairs()
    for what, path in written:
        table.add_row(what, Text(visible(path), style="bold green"))
    errors = synthetic.errors
    if errors is not None:
        table.add_row(
            "largest error",
            _largest(errors, "predicted"),
        )
    if synthetic.rests_on:
        table.add_row("rests on", Text(synthetic.rests_on))
    if synthetic.fit_note:
        table.add_row("fit", Text(synthetic.fit_note, style="yellow"))
    add_receipt(table, released)
    show.print(table)


def _largest(errors: KnownErrors, kind: str) -> str:
    """The largest error in words; a bound that says nothing is left out."""
    if errors.estimate >= 1:
        return "as large as the table: the noise is larger than the counts; a larger epsilon helps"
    most = errors.bound(0.95)
    proven = f"; at most {_percent(most)} with probability 0.95" if most < 1 else ""
    return f"about {_percent(errors.estimate)} ({kind}){proven}"


def _show_measurements(synthetic: SyntheticDistribution) -> None:
    """Everything that was released about the data: the rest can be computed from it."""
    console().print(
        grid(
            [("round", "right"), ("query", "left"), ("noisy count", "right")],
            [(str(row.round), row.label, f"{row.count:,}") for row in measured_rows(synthetic)],
        )
    )


def _measured(synthetic: SyntheticDistribution) -> str:
    return f"{len(synthetic.measurements):,}"


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.3g} %" if fraction < 1 else "all rows"
