"""``winnow lp``: a linear program with private right-hand sides, or private rows."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.options import (
    EpsilonOption,
    JsonOption,
    OutOption,
    PadToOption,
    SeedOption,
    padding_of,
    plot_of,
    sensitivity_of,
)
from winnow.cli.recording import UNRECORDED, Record
from winnow.cli.reporting import reported, saved_then_shown
from winnow.core.relation import Relation
from winnow.errors import DataError, ParameterError

if TYPE_CHECKING:
    from winnow.core.released import Released


_MODEL = "A matrix instead of a model"
_PRIVATE = "What is private"
_SOLVE = "How it is solved"

EXAMPLES = """\
Examples:

winnow lp shifts.mps --private scalar --sensitivity 1 --opt 120 --epsilon 1 --delta 1e-6 \
--alpha 5 --out solution.csv --plot solution.png

winnow lp shifts.mps --private scalar --sensitivity 1 --opt-between 80 200 --epsilon 1 \
--delta 1e-6 --plan-only

winnow lp A.npy --b b.csv --c c.csv --private scalar --sensitivity 0,1 --opt 120 --epsilon 1 \
--delta 1e-6

winnow lp cover.mps --private constraint --entries 0 1 --sides 1 1 --rows 10000 \
--exceptions 500 --opt 40 --epsilon 1 --delta 1e-6
"""


class Sense(StrEnum):
    """How a row compares with its right-hand side."""

    AT_MOST = "<="
    AT_LEAST = ">="
    EQUAL = "="


def _of(panel: str, name: str, text: str, metavar: str | None = None) -> Any:
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel=panel)


@reported()
def lp(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="An MPS file, also gzipped; or the matrix A alone, a row on each line, with "
            "--b and --c: .csv, .tsv, .npy or .parquet.",
        ),
    ],
    private: Annotated[
        str,
        _of(
            _PRIVATE,
            "--private",
            "scalar: right-hand sides; constraint: each row is a person.",
            "scalar|constraint",
        ),
    ],
    epsilon: EpsilonOption,
    delta: Annotated[
        float,
        typer.Option(
            "--delta",
            metavar="D",
            help="E.g. 1e-6: rounds cost less than with pure privacy, which 0 asks for.",
        ),
    ] = 0.0,
    b: Annotated[
        Path | None, _of(_MODEL, "--b", "With a matrix: its right-hand sides.", "FILE")
    ] = None,
    c: Annotated[Path | None, _of(_MODEL, "--c", "With a matrix: the costs.", "FILE")] = None,
    sense: Annotated[
        Sense | None, _of(_MODEL, "--sense", "With a matrix: <= (default), >= or =.", "S")
    ] = None,
    minimise: Annotated[
        bool, _of(_MODEL, "--minimise", "With a matrix: the costs are to be small.")
    ] = False,
    sensitivity: Annotated[
        str | None,
        _of(
            _PRIVATE,
            "--sensitivity",
            "The most one person moves a right-hand side, or DOWN,UP for what adding one does.",
            "S",
        ),
    ] = None,
    monotone: Annotated[
        bool, _of(_PRIVATE, "--monotone", "Adding a person never lowers a right-hand side.")
    ] = False,
    relation: Annotated[
        Relation, _of(_PRIVATE, "--relation", "What neighbours are.")
    ] = Relation.ADD_REMOVE,
    entries: Annotated[
        tuple[float, float] | None,
        _of(_PRIVATE, "--entries", "Public range of the entries of A.", "LOW HIGH"),
    ] = None,
    sides: Annotated[
        tuple[float, float] | None,
        _of(_PRIVATE, "--sides", "Public range of the right-hand sides.", "LOW HIGH"),
    ] = None,
    rows: Annotated[
        int | None, _of(_PRIVATE, "--rows", "A public bound on the number of rows.", "M")
    ] = None,
    exceptions: Annotated[
        int | None, _of(_SOLVE, "--exceptions", "Fewer rows than this may stay unmet.", "S")
    ] = None,
    opt: Annotated[
        float | None, _of(_SOLVE, "--opt", "The optimal value, if it is public.", "V")
    ] = None,
    opt_between: Annotated[
        tuple[float, float] | None,
        _of(_SOLVE, "--opt-between", "Search for the value between these.", "LOW HIGH"),
    ] = None,
    searches: Annotated[
        int | None, _of(_SOLVE, "--searches", "Solves of such a search; 8 unless given.", "N")
    ] = None,
    measure: Annotated[
        bool, _of(_SOLVE, "--measure", "Pay a tenth of the budget to measure the violation.")
    ] = False,
    bound: Annotated[
        float | None, _of(_SOLVE, "--bound", "A public bound on the sum of all variables.", "R")
    ] = None,
    alpha: Annotated[
        float | None, _of(_SOLVE, "--alpha", "The violation that is aimed at.", "A")
    ] = None,
    rounds: Annotated[int | None, _of(_SOLVE, "--rounds", "The number of rounds.", "T")] = None,
    selection: Annotated[
        str | None,
        _of(_SOLVE, "--selection", "dense or lazy; by the size unless given.", "HOW"),
    ] = None,
    index: Annotated[
        str | None,
        _of(_SOLVE, "--index", "Select over an index: flat, lsh, p-stable, ivf or hnsw.", "NAME"),
    ] = None,
    plan_only: Annotated[
        bool, _of(_SOLVE, "--plan-only", "Say what to expect; nothing is spent or solved.")
    ] = False,
    seed: SeedOption = None,
    pad_to: PadToOption = None,
    json: JsonOption = False,
    out: OutOption = None,
    plot: Annotated[Path | None, plot_of("Draw the solution")] = None,
    record: Record = UNRECORDED,
) -> None:
    """Solve a linear program privately: each row is met up to a promised violation.

    The matrix and the costs of a scalar-private program are public, its right-hand sides are
    not. In a constraint-private program every row belongs to a person.
    """
    from winnow import plan
    from winnow.cli.files import check_targets
    from winnow.cli.printing import console, notes, show_json, working
    from winnow.cli.recording import warn_of_other_labels
    from winnow.core.saving import save, write_whole
    from winnow.lp.problem import check_model
    from winnow.lp.verb import solve_lp

    check_model(private)
    check_targets([each for each in (file, b, c) if each is not None], out, plot)
    if opt is not None and opt_between is not None:
        raise ParameterError("--opt and --opt-between exclude each other; give one")
    if opt is None and opt_between is None:
        raise ParameterError(
            "the value of the objective is missing; give --opt V if it is public, or --opt-between "
            "LOW HIGH to search for it between two public numbers"
        )
    model = _read(file, b, c, sense, minimise=minimise)
    owned = private == "constraint"
    senses = _one_sense(model.senses) if owned else model.senses
    asked: dict[str, Any] = {
        "private": private,
        "opt": _shifted(model, opt, opt_between),
        "epsilon": epsilon,
        "delta": delta,
        "maximise": model.maximise,
        "relation": relation,
        "alpha": alpha,
        "rounds": rounds,
        "bound": bound,
        "entries": entries,
        "sides": sides,
        "exceptions": exceptions,
        "sensitivity": None if sensitivity is None else sensitivity_of(sensitivity),
        "searches": searches,
        "measure": measure,
    }
    asked["rows"] = rows
    asked |= {"senses": senses, "monotone": monotone}
    if plan_only:
        planned = plan.lp(None if owned else model.A, model.c, **asked)
        show_json(planned.to_dict()) if json else console().print(notes(planned.lines()))
        return
    budget = record.budget(relation)
    warn_of_other_labels(budget, [file])
    asked |= {"selection": selection, "index": index}
    with working("solving"):
        released = solve_lp(
            model.A,
            model.b,
            model.c,
            names=model.names,
            seed=seed,
            budget=budget,
            pad_to=padding_of(pad_to),
            **asked,
        )
    released = _in_terms_of_file(released, model)
    with saved_then_shown(released, json, lambda: _show(released, relaxed=model.relaxed)):
        if out is not None:
            save(out, released.to_dict(), _rows(released))
        if plot is not None:
            from winnow.plots.bars import draw_solution

            title = f"Private solution of {file.name}"
            write_whole(
                plot, draw_solution(released.value, title=title, ending=plot.suffix.lower())
            )


def _read(
    file: Path, b: Path | None, c: Path | None, sense: Sense | None, *, minimise: bool
) -> Any:
    """The model of a file, or of a matrix and its two vectors."""
    from winnow.lp.files import plain_lp, read_lp
    from winnow.read.matrix import ENDINGS

    if file.suffix.lower() not in ENDINGS:
        said = {"--b": b, "--c": c, "--sense": sense, "--minimise": minimise or None}
        for option, value in said.items():
            if value is not None:
                raise ParameterError(
                    f"{option} is for a matrix, which ends in {', '.join(ENDINGS)}; {file} says it "
                    "itself; leave it out"
                )
        return read_lp(file)
    if b is None or c is None:
        raise ParameterError(
            f"{file} holds the matrix A alone; give its right-hand sides with --b FILE and the "
            "costs with --c FILE"
        )
    return plain_lp(file, b, c, sense=str(sense or Sense.AT_MOST), maximise=not minimise)


def _shifted(model: Any, opt: float | None, between: tuple[float, float] | None) -> Any:
    """The objective without what it is where all variables are at their bounds."""
    if between is not None:
        return between[0] - model.constant, between[1] - model.constant
    return None if opt is None else opt - model.constant


def _in_terms_of_file(released: Released[Any], model: Any) -> Released[Any]:
    """With the variables and the objective of the file."""
    from dataclasses import replace

    value = released.value
    moved = replace(
        value,
        x=model.original(value.x),
        names=model.variables,
        objective=value.objective + model.constant,
        opt=value.opt + model.constant,
    )
    return replace(released, value=moved)


def _one_sense(senses: tuple[str, ...]) -> str:
    kinds = set(senses)
    if len(kinds) != 1 or "=" in kinds:
        raise DataError(
            "rows of people have to be all <= or all >=; this model has others, or upper bounds of "
            "variables"
        )
    return kinds.pop()


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
