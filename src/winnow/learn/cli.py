"""``winnow learn``: the best classifier of a public class, privately."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli.derived import Typed
from winnow.cli.options import (
    ASKED,
    AssumedRowsOption,
    JsonOption,
    SeedOption,
    option,
    relation_of_people,
    some_of,
)
from winnow.cli.private_table import PrivateTable
from winnow.cli.recording import UNRECORDED, Record
from winnow.cli.reporting import reported, saved_then_shown
from winnow.core.options import AUTO
from winnow.core.relation import Relation
from winnow.learn.request import Learn

if TYPE_CHECKING:
    from winnow.core.released import Released
    from winnow.learn.bound import RuleBounds
    from winnow.learn.plan import LearnPlan
    from winnow.learn.predictor import Predictor


_OUTPUT = "Output"

EXAMPLES = """\
Examples:

winnow learn adult.csv --target income --schema adult.json --epsilon 0.5 --one-row-per-person

winnow learn adult.csv --target income --schema adult.json --method additive \
--class-weights balanced --epsilon 1 --delta 1e-6 --one-row-per-person

winnow learn adult.csv --target income --schema adult.json --method conjunctions:2 \
--epsilon 1 --test adult-test.csv --out model.json --one-row-per-person
"""


@reported()
def learn(
    private: PrivateTable,
    target: Annotated[
        str, typer.Option("--target", metavar="COLUMN", help="The column of classes.")
    ],
    asked: Typed[Learn],
    seed: SeedOption = None,
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
    of rules is public: it follows from the schema alone. The result has a guarantee and a
    receipt, and one rule also a bound on its error on new rows.
    """
    from winnow.cli.files import refuse_overwriting
    from winnow.cli.recording import warn_of_other_labels
    from winnow.core.saving import check_target, save_released
    from winnow.learn.about import labelled as about_rows
    from winnow.learn.labelled import labelled
    from winnow.read.table import read_table

    relation, budget = private.account(record)
    read = private.files()
    if out is not None:
        check_target(out, (".json",))
        kept = [*read, private.schema, *([] if test is None else [test])]
        refuse_overwriting(kept, "--out", out)
    declared = private.declared(target)
    classes = about_rows(declared, target).classes
    weights = _weights(asked.class_weights, classes)
    request = asked(class_weights=weights, budget=budget, seed=seed)
    warn_of_other_labels(budget, read)
    if test is not None:  # what cannot be read is refused before anything is spent
        public = read_table(test, schema=declared, text=private.text())
    with private.busy():
        rows = labelled(private.read(declared, relation, seed=seed), target)
        released = request.plan(rows).run(rows, budget=budget, seed=seed)
    tested = None if test is None else _tested(public, target, released.value)
    extra: dict[str, Any] = {}
    if tested is not None:
        extra = {"test_accuracy": tested[0], "test_balanced_accuracy": tested[1]}
    with saved_then_shown(released, json, lambda: _show(released, tested), **extra):
        if out is not None:
            save_released(out, released)


def _tested(public: Any, target: str, predictor: Any) -> tuple[float, float]:
    from winnow.learn.about import feature_names
    from winnow.learn.binned import codes_of
    from winnow.learn.crossing.rows import accuracy_on_public

    columns = public.schema.subset(feature_names(public.schema, target)).columns

    def classes(codes: Any, rows: int) -> Any:
        return predictor.of_codes(codes_of(predictor.features, columns, codes), rows)

    return accuracy_on_public(public, target, classes)


def _weights(said: str | None, classes: Sequence[Any]) -> Any:
    """Weights as in no=1,yes=3, by the labels of the schema; or the words balanced and auto."""
    from winnow.errors import ParameterError
    from winnow.foreign import shown

    if said in (None, "balanced", AUTO):
        return said
    weights: dict[Any, float] = {}
    for part in said.split(","):
        name, _, number = part.rpartition("=")
        label = next((each for each in classes if str(each) == name.strip()), None)
        weight = None
        with suppress(ValueError):
            weight = float(number)
        if label in weights:
            raise ParameterError(f"--class-weights {shown(said)}: a class is named twice")
        if label is not None and weight is not None:
            weights[label] = weight
        else:
            raise ParameterError(
                f"--class-weights {shown(said)}: give CLASS=WEIGHT for each class, with a comma "
                "between them, balanced or auto"
            )
    return weights


def _show(released: Released[Predictor], tested: tuple[float, float] | None) -> None:
    from rich.text import Text

    from winnow.cli.printing import add_receipt, console, pairs, visible

    predictor = released.value
    table = pairs()
    table.add_row("rule", Text(visible(predictor.text), style="bold green"))
    table.add_row("chosen from", f"{predictor.hypotheses:,} hypotheses ({predictor.kind})")
    if predictor.correct is not None:
        share = "" if predictor.accuracy is None else f" ({100 * predictor.accuracy:.2f} %)"
        table.add_row("noisy correct rows", f"{predictor.correct:,}{share}")
    if tested is not None:
        share, even = (f"{100 * value:.2f} %" for value in tested)
        table.add_row("accuracy on --test", f"{share}, balanced {even} (exact: the test is public)")
    if predictor.bound is not None:
        table.add_row("on new rows", visible(predictor.bound))
    add_receipt(table, released)
    console().print(table)


PLAN_EXAMPLES = """\
Examples:

winnow plan learn --schema adult.json --target income -n 30000 --epsilon 1

winnow plan learn --schema adult.json --target income -n 30000 --method stumps --epsilon 1

winnow plan learn --hypotheses 5000 -n 30000 --epsilon 1 --delta 1e-6 --near 3
"""


@reported()
def plan(
    rows: AssumedRowsOption,
    asked: Typed[Learn],
    schema: Annotated[
        Path | None, option("--schema", "FILE", "The public schema of the table.", ASKED)
    ] = None,
    target: Annotated[
        str | None, option("--target", "COLUMN", "With --schema: the column of classes.", ASKED)
    ] = None,
    columns: Annotated[
        str | None, option("--columns", "A,B,...", "Only these columns of the schema.", ASKED)
    ] = None,
    hypotheses: Annotated[
        int | None,
        option("--hypotheses", "N", "Without a schema: how many rules there are.", ASKED),
    ] = None,
    near: Annotated[
        int | None,
        option("--near", "L", "For large-margin: how many hypotheses may be near the best.", ASKED),
    ] = None,
    relation: Annotated[Relation, relation_of_people(ASKED)] = Relation.SUBSTITUTION,
    json: JsonOption = False,
) -> None:
    """Predict what would be learned and promised on new rows; nothing is read or spent."""
    from winnow.cli.printing import console, show_json
    from winnow.errors import ParameterError

    document: LearnPlan | RuleBounds
    if hypotheses is None:
        document = _planned(asked, schema, target, columns, rows, relation, near)
    else:
        if columns is not None:
            raise ParameterError("--columns chooses of a --schema; leave it out, or --hypotheses")
        document = _promised(asked, schema, target, hypotheses, rows, relation, near)
    show_json(document.to_dict()) if json else console().print(str(document), markup=False)


def _planned(
    asked: Typed[Learn],
    schema: Path | None,
    target: str | None,
    columns: str | None,
    rows: int,
    relation: Relation,
    near: int | None,
) -> LearnPlan:
    from winnow.core.schema import Schema
    from winnow.errors import ParameterError
    from winnow.learn.about import labelled

    if schema is None or target is None:
        raise ParameterError(
            "a plan needs the table's schema and the column of classes; give --schema and "
            "--target, or --hypotheses with the number of rules"
        )
    declared = some_of(Schema.parse(schema), columns, target)
    about = labelled(declared, target, rows=rows, relation=relation)
    made = asked(class_weights=_weights(asked.class_weights, about.classes)).plan(about)
    return made if near is None else made.near(near)


def _promised(
    asked: Typed[Learn],
    schema: Path | None,
    target: str | None,
    hypotheses: int,
    rows: int,
    relation: Relation,
    near: int | None,
) -> RuleBounds:
    from winnow.errors import ParameterError
    from winnow.learn.bound import learning_bound
    from winnow.learn.methods import OneRule

    rule = OneRule() if asked.method == AUTO else asked.method
    described = schema is not None or target is not None or asked.class_weights not in (None, AUTO)
    if described or asked.calibrated or not isinstance(rule, OneRule):
        raise ParameterError(
            "--hypotheses is for one rule of which nothing else is known; leave it out, or leave "
            "out --schema, --target, --class-weights, --calibrated and other methods"
        )
    epsilon = asked.epsilon / 2 if rule.with_accuracy else asked.epsilon
    return learning_bound(
        hypotheses,
        rows=rows,
        epsilon=epsilon,
        delta=asked.delta,
        near=near,
        thresholds=rule.thresholds or "tight",
        confidence=rule.confidence,
        relation=relation,
    )
