"""``winnow learn``: the best classifier of a public class, privately."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.options import (
    ASKED,
    PLAIN_TEXT,
    AssumedRowsOption,
    ConfidenceOption,
    DeltaOfPlanOption,
    EpsilonOfPlanOption,
    EpsilonOption,
    JsonOption,
    OneRowOption,
    SeedOption,
    TextOptions,
    Thresholds,
    ThresholdsOption,
    check_unit_said,
    option,
    relation_of_people,
)
from winnow.cli.recording import UNRECORDED, Record
from winnow.cli.reporting import reported, saved_then_shown
from winnow.core.relation import Relation

if TYPE_CHECKING:
    from winnow.core.released import Released
    from winnow.learn.predictor import Predictor


_DATA = "The private table"
_MECHANISM = "Mechanism"
_OUTPUT = "Output"

EXAMPLES = """\
Examples:

winnow learn adult.csv --target income --schema adult.json --epsilon 0.5 --one-row-per-person

winnow learn adult.csv --target income --schema adult.json --hypotheses additive \
--class-weights balanced --epsilon 1 --delta 1e-6 --one-row-per-person

winnow learn adult.csv --target income --schema adult.json --hypotheses conjunctions:2 \
--epsilon 1 --test adult-test.csv --out model.json --one-row-per-person
"""


class LearnMechanism(StrEnum):
    """The mechanisms that choose a hypothesis, by name."""

    LARGE_MARGIN = "large-margin"
    PERMUTE_AND_FLIP = "permute-and-flip"
    EXPONENTIAL = "exponential"


@reported()
def learn(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="The private table: CSV, TSV or Parquet with a first line of names.",
        ),
    ],
    target: Annotated[
        str, typer.Option("--target", metavar="COLUMN", help="The column of classes.")
    ],
    schema: Annotated[
        Path,
        typer.Option(
            "--schema",
            metavar="FILE",
            help="The public schema, JSON: the columns to use and the target, with their values, "
            "codes or edges.",
        ),
    ],
    epsilon: EpsilonOption,
    delta: Annotated[
        float,
        typer.Option(
            "--delta",
            metavar="D",
            help="For large-margin; boosted and additive models may gain by it, too.",
        ),
    ] = 0.0,
    hypotheses: Annotated[
        str,
        typer.Option(
            "--hypotheses",
            metavar="CLASS",
            help="auto (default), thresholds, intervals, stumps, conjunctions:N with N from 1 to "
            "4, boosted or additive.",
        ),
    ] = "auto",
    seed: SeedOption = None,
    text: TextOptions = PLAIN_TEXT,
    mechanism: Annotated[
        LearnMechanism | None,
        typer.Option(
            "--mechanism",
            metavar="NAME",
            help="permute-and-flip (default), exponential or large-margin.",
            rich_help_panel=_MECHANISM,
        ),
    ] = None,
    thresholds: ThresholdsOption = None,
    accuracy: Annotated[
        bool,
        typer.Option(
            "--accuracy",
            help="Release the noisy accuracy, too, for half of epsilon.",
            rich_help_panel=_MECHANISM,
        ),
    ] = False,
    class_weights: Annotated[
        str | None,
        typer.Option(
            "--class-weights",
            metavar="WEIGHTS",
            help="What a correct row of each class counts, as in no=1,yes=3; or balanced, by the "
            "classes' noisy sizes.",
            rich_help_panel=_MECHANISM,
        ),
    ] = None,
    confidence: Annotated[
        float,
        typer.Option(
            "--confidence",
            metavar="P",
            help="How sure the bound on new rows is.",
            rich_help_panel=_MECHANISM,
        ),
    ] = 0.95,
    relation: Annotated[Relation | None, relation_of_people(_DATA, Relation.SUBSTITUTION)] = None,
    person: Annotated[
        str | None,
        typer.Option(
            "--person",
            metavar="COLUMN",
            help="The column of the person.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    one_row: OneRowOption = False,
    max_rows_per_person: Annotated[
        int,
        typer.Option(
            "--max-rows-per-person",
            metavar="R",
            help="With --person: further rows are left out.",
            rich_help_panel=_DATA,
        ),
    ] = 1,
    test: Annotated[
        Path | None,
        typer.Option(
            "--test",
            metavar="FILE",
            help="A PUBLIC table with the same columns: the exact accuracy on it is printed.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    json: JsonOption = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Save the model, for wn.load_predictor: .json.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    record: Record = UNRECORDED,
) -> None:
    """Learn to predict a column, privately.

    auto takes a vote of rules, or one rule where the rows are too few for a vote; of more than
    two classes an additive model, which adds up points for the value of every column. The class
    of rules is public: it follows from the schema alone. What leaves comes with a guarantee and
    a receipt, one rule also with a bound on its error on new rows.
    """
    from winnow.cli.files import are_large, refuse_overwriting
    from winnow.cli.printing import working
    from winnow.cli.recording import warn_of_other_labels
    from winnow.core.saving import check_target, save_released
    from winnow.core.schema import Schema
    from winnow.learn.additive import ADDITIVE
    from winnow.learn.crossing.rows import check_classes, labelled_table
    from winnow.learn.rules import parse
    from winnow.learn.settings import AUTO
    from winnow.learn.verb import learn as winnow_learn
    from winnow.read.table import read_table

    check_unit_said(person, one_row, "--person")
    if out is not None:
        check_target(out, (".json",))
        refuse_overwriting([table, schema, *([] if test is None else [test])], "--out", out)
    asked = parse(hypotheses)
    declared = Schema.parse(schema)
    labels, many = declared.column(target).labels, asked.kind in (ADDITIVE, AUTO)
    check_classes(target, len(labels), many=many)
    weights = _weights(class_weights, labels)
    relation, budget = record.account(relation, Relation.SUBSTITUTION)
    warn_of_other_labels(budget, [table])
    if test is not None:  # what cannot be read is refused before anything is spent
        public = read_table(test, schema=declared, **text.said())
        labelled_table(public, target, many=many)
    with working(f"reading {table}") if are_large([table]) else nullcontext():
        private = read_table(
            table,
            schema=declared,
            person=person,
            max_rows_per_person=max_rows_per_person,
            relation=relation,
            **text.said(),
            salt=None if seed is None else f"seed {seed}",  # repeatable, too
        )
        released = winnow_learn(
            private,
            target,
            hypotheses=asked,
            epsilon=epsilon,
            delta=delta,
            mechanism=None if mechanism is None else str(mechanism),
            thresholds=None if thresholds is None else str(thresholds),
            with_accuracy=accuracy,
            class_weights=weights,
            confidence=confidence,
            seed=seed,
            budget=budget,
        )
    tested = None if test is None else _tested(public, target, released.value)
    extra: dict[str, Any] = {}
    if tested is not None:
        extra = {"test_accuracy": tested[0], "test_balanced_accuracy": tested[1]}
    with saved_then_shown(released, json, lambda: _show(released, tested), **extra):
        if out is not None:
            save_released(out, released)


def _tested(public: Any, target: str, predictor: Any) -> tuple[float, float]:
    from winnow.learn.crossing.rows import accuracy_on_public

    return accuracy_on_public(public, target, predictor.of_codes)


def _weights(said: str | None, classes: Sequence[Any]) -> Any:
    """Weights as in no=1,yes=3, by the labels of the schema; or the word balanced."""
    from winnow.errors import ParameterError
    from winnow.foreign import shown

    if said is None or said == "balanced":
        return said
    found: dict[Any, float] = {}
    for part in said.split(","):
        name, _, number = part.rpartition("=")
        label = next((each for each in classes if str(each) == name.strip()), None)
        weight = None
        with suppress(ValueError):
            weight = float(number)
        if label in found:
            raise ParameterError(f"--class-weights {shown(said)}: a class is named twice")
        if label is not None and weight is not None:
            found[label] = weight
        else:
            raise ParameterError(
                f"--class-weights {shown(said)}: give CLASS=WEIGHT for each class, with a comma "
                "between them, or balanced"
            )
    return found


def _show(released: Released[Predictor], tested: tuple[float, float] | None) -> None:
    from rich.text import Text

    from winnow.cli.printing import add_receipt, console, pairs, visible

    found = released.value
    table = pairs()
    table.add_row("rule", Text(visible(found.text), style="bold green"))
    table.add_row("chosen from", f"{found.hypotheses:,} hypotheses ({found.kind})")
    if found.correct is not None:
        share = "" if found.accuracy is None else f" ({100 * found.accuracy:.2f} %)"
        table.add_row("noisy correct rows", f"{found.correct:,}{share}")
    if tested is not None:
        share, even = (f"{100 * value:.2f} %" for value in tested)
        table.add_row("accuracy on --test", f"{share}, balanced {even} (exact: the test is public)")
    if found.bound is not None:
        table.add_row("on new rows", visible(found.bound))
    add_receipt(table, released)
    console().print(table)


PLAN_EXAMPLES = """\
Examples:

winnow plan learn --hypotheses 5000 -n 30000 --epsilon 1

winnow plan learn --hypotheses 5000 -n 30000 --epsilon 1 --delta 1e-6 --near 3

winnow plan learn --schema adult.json --target income -n 30000 --epsilon 1
"""


@reported()
def plan(
    rows: AssumedRowsOption,
    epsilon: EpsilonOfPlanOption,
    hypotheses: Annotated[
        str,
        option(
            "--hypotheses",
            "N",
            "How many hypotheses the public class has; or, with --schema, the class in words.",
            ASKED,
        ),
    ] = "auto",
    schema: Annotated[
        Path | None,
        option("--schema", "FILE", "The public schema, to plan what would be learned.", ASKED),
    ] = None,
    target: Annotated[
        str | None, option("--target", "COLUMN", "With --schema: the column of classes.", ASKED)
    ] = None,
    class_weights: Annotated[
        str | None,
        option("--class-weights", "WEIGHTS", "With --schema: as in winnow learn.", ASKED),
    ] = None,
    delta: DeltaOfPlanOption = 0.0,
    near: Annotated[
        int | None,
        option("--near", "L", "For large-margin: how many hypotheses may be near the best.", ASKED),
    ] = None,
    confidence: ConfidenceOption = 0.95,
    relation: Annotated[Relation, relation_of_people(ASKED)] = Relation.SUBSTITUTION,
    thresholds: ThresholdsOption = None,
    json: JsonOption = False,
) -> None:
    """Say what learning promises on new rows; no data are read and nothing is spent."""
    from winnow.cli.printing import console, show_json
    from winnow.core.schema import Schema
    from winnow.learn.plan import learn as plan_learn

    declared = None if schema is None else Schema.parse(schema)
    labels = () if declared is None or target is None else declared.column(target).labels
    found = plan_learn(
        hypotheses=int(hypotheses) if hypotheses.isdecimal() else hypotheses,
        rows=rows,
        epsilon=epsilon,
        delta=delta,
        near=near,
        thresholds=str(thresholds or Thresholds.TIGHT),
        confidence=confidence,
        relation=relation,
        schema=declared,
        target=target,
        class_weights=_weights(class_weights, labels),
    )
    show_json(found.to_dict()) if json else console().print(str(found), markup=False)
