"""``winnow lp`` and ``winnow plan lp``: linear programs with private right-hand sides or rows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.derived import Typed, number_or_pair
from winnow.cli.options import (
    JsonOption,
    OutOption,
    PadToOption,
    SeedOption,
    padding_of,
    plot_of,
)
from winnow.cli.recording import UNRECORDED, Record
from winnow.cli.reporting import reported, saved_then_shown
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.lp.request import Lp

if TYPE_CHECKING:
    from winnow.core.released import Released
    from winnow.lp.files import LpModel

_MODEL = "A matrix instead of a model"
_PROGRAM = "The program"

EXAMPLES = """\
Examples:

winnow lp shifts.mps --method scalar-sides --sensitivity 1 --opt 120 --epsilon 1 --delta 1e-6 \
--alpha 5 --out solution.csv --plot solution.png

winnow lp A.npy --b b.csv --c c.csv --method scalar-sides --sensitivity 0,1 --opt 120 --epsilon 1 \
--delta 1e-6

winnow lp cover.mps --method person-rows --entries 0,1 --sides 1,1 --rows 10000 \
--exceptions 500 --opt 40 --epsilon 1 --delta 1e-6
"""

PLAN_EXAMPLES = """\
Examples:

winnow plan lp shifts.mps --method scalar-sides --sensitivity 1 --opt 80,200 --epsilon 1 \
--delta 1e-6

winnow plan lp cover.mps --method person-rows --entries 0,1 --sides 1,1 --rows 10000 \
--alpha 0.5 --opt 40 --epsilon 1 --delta 1e-6
"""


class Sense(StrEnum):
    """How a row compares with its right-hand side."""

    AT_MOST = "<="
    AT_LEAST = ">="
    EQUAL = "="


def _of(panel: str, name: str, text: str, metavar: str | None = None) -> Any:
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel=panel)


ModelArgument = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="An MPS file, also gzipped; or the matrix A alone, a row on each line, with "
        "--b and --c: .csv, .tsv, .npy or .parquet.",
    ),
]


@dataclass(frozen=True)
class Program:
    """What is said of the program besides its file."""

    opt: Annotated[
        str | None,
        _of(
            _PROGRAM,
            "--opt",
            "The optimal value, if it is public; or LOW,HIGH to search between them.",
            "V",
        ),
    ] = None
    bound: Annotated[
        float | None, _of(_PROGRAM, "--bound", "A public bound on the sum of all variables.", "R")
    ] = None
    relation: Annotated[
        Relation,
        _of(
            _PROGRAM,
            "--relation",
            "Neighbours: add-remove (one person more or less) or substitution (one replaced).",
        ),
    ] = Relation.ADD_REMOVE
    b: Annotated[
        Path | None, _of(_MODEL, "--b", "With a matrix: its right-hand sides.", "FILE")
    ] = None
    c: Annotated[Path | None, _of(_MODEL, "--c", "With a matrix: the costs.", "FILE")] = None
    sense: Annotated[
        Sense | None, _of(_MODEL, "--sense", "With a matrix: <= (default), >= or =.", "S")
    ] = None
    minimise: Annotated[
        bool, _of(_MODEL, "--minimise", "With a matrix: the costs are to be small.")
    ] = False

    def read(self, file: Path) -> LpModel:
        """The model of a file, or of a matrix and its two vectors."""
        from winnow.lp.files import plain_lp, read_model
        from winnow.read.matrix import ENDINGS

        if file.suffix.lower() not in ENDINGS:
            said = {"--b": self.b, "--c": self.c, "--sense": self.sense}
            for option, value in (said | {"--minimise": self.minimise or None}).items():
                if value is not None:
                    raise ParameterError(
                        f"{option} is for a matrix, which ends in {', '.join(ENDINGS)}; {file} "
                        "contains it already; leave it out"
                    )
            return read_model(file)
        if self.b is None or self.c is None:
            raise ParameterError(
                f"{file} holds the matrix A alone; give its right-hand sides with --b FILE and the "
                "costs with --c FILE"
            )
        sense = str(self.sense or Sense.AT_MOST)
        return plain_lp(file, self.b, self.c, sense=sense, maximise=not self.minimise)

    def value(self) -> float | tuple[float, float]:
        """The optimal value, or the numbers that it lies between."""
        if self.opt is None:
            raise ParameterError(
                "the value of the objective is missing; give --opt V if it is public, or --opt "
                "LOW,HIGH to search for it between two public numbers"
            )
        return number_or_pair("--opt", self.opt)


NO_PROGRAM = Program()


@reported()
def lp(
    file: ModelArgument,
    asked: Typed[Lp],
    program: Program = NO_PROGRAM,
    seed: SeedOption = None,
    pad_to: PadToOption = None,
    json: JsonOption = False,
    out: OutOption = None,
    plot: Annotated[Path | None, plot_of("Draw the solution")] = None,
    record: Record = UNRECORDED,
) -> None:
    """Solve a linear program privately: each row is met up to a promised violation.

    With scalar-sides the matrix and the costs are public, and the right-hand sides are not. With
    person-rows every row belongs to a person.
    """
    from winnow.cli.files import check_targets
    from winnow.cli.printing import working
    from winnow.cli.recording import warn_of_other_labels
    from winnow.core.request import Run
    from winnow.core.saving import save, write_whole
    from winnow.lp.verb import solved

    check_targets([each for each in (file, program.b, program.c) if each is not None], out, plot)
    opt, model = program.value(), program.read(file)
    budget = record.budget(program.relation)
    warn_of_other_labels(budget, [file])
    problem = model.problem(opt, bound=program.bound, relation=program.relation)
    with working("solving"):
        released = solved(
            problem, asked(budget=budget, seed=seed, run=Run(pad_to=padding_of(pad_to)))
        )
    with saved_then_shown(released, json, lambda: _show(released, relaxed=model.relaxed)):
        if out is not None:
            save(out, released.to_dict(), _rows(released))
        if plot is not None:
            from winnow.show.plots.bars import draw_solution

            title = f"Private solution of {file.name}"
            write_whole(
                plot, draw_solution(released.value, title=title, ending=plot.suffix.lower())
            )


@reported()
def plan(
    file: ModelArgument,
    asked: Typed[Lp],
    program: Program = NO_PROGRAM,
    json: JsonOption = False,
) -> None:
    """Predict what a private linear program promises; nothing is spent or solved."""
    from winnow.cli.printing import console, notes, show_json

    opt, model = program.value(), program.read(file)
    made = asked().plan(model.problem(opt, bound=program.bound, relation=program.relation))
    show_json(made.to_dict()) if json else console().print(notes(made.lines()))


def _rows(released: Released[Any]) -> list[dict[str, Any]]:
    solution = released.value
    about = {
        "objective": solution.objective,
        "violation": solution.violation,
        "confidence": solution.confidence,
        **released.guarantee.to_dict(),
        **released.receipt.to_dict(),
    }
    return [{"variable": name, "value": value, **about} for name, value in solution.variables()]


def _show(released: Released[Any], *, relaxed: bool) -> None:
    from winnow.cli.printing import add_receipt, console, pairs

    solution = released.value
    table = pairs()
    table.add_row("objective", f"{solution.objective:.6g}")
    rest = f", all but {solution.exceptions} rows" if solution.exceptions else ""
    table.add_row(
        "violation",
        f"at most {solution.violation:.4g} with probability {solution.confidence:g}{rest}",
    )
    if solution.objective_misses:
        table.add_row("objective", f"misses its value by at most {solution.objective_misses:.4g}")
    if solution.measured is not None:
        table.add_row("measured", f"{solution.measured:.4g}, with noise")
    if solution.unmet is not None:
        table.add_row(
            "counted",
            f"{solution.unmet} rows are violated by more than {solution.tolerance:.4g}, with noise",
        )
    if solution.feasible is False:
        table.add_row("search", "infeasible, as far as the private check can tell")
    if relaxed:
        table.add_row("note", "whole-number conditions were dropped")
    largest = sorted(solution.variables(), key=lambda pair: -pair[1])[:12]
    table.add_row("largest", ", ".join(f"{name} = {value:.4g}" for name, value in largest))
    add_receipt(table, released)
    console().print(table)
