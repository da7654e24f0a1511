"""``winnow select``: the best item of a file, privately."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from winnow.cli.derived import Typed
from winnow.cli.options import (
    HeaderOption,
    JsonOption,
    MonotoneOption,
    OutOption,
    RelationOption,
    SeedOption,
    SensitivitiesOption,
    option,
    sensitivity_of,
)
from winnow.cli.recording import UNRECORDED, Record
from winnow.cli.reporting import reported, saved_then_shown
from winnow.core.relation import Relation
from winnow.read.options import TextFormat
from winnow.select.request import Select

_COLUMNS = "Columns of the file"

EXAMPLES = """\
Examples:

winnow select votes.csv --epsilon 1 --monotone

winnow select votes.csv --epsilon 0.5 -k 3 --label city --score votes --json

zcat votes.csv.gz | winnow select - --epsilon 1 --out winner.json
"""


@reported()
def select(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Candidates and their scores: CSV or TSV with a first line of names, JSON "
            "({label: score} or a list of records), Parquet, or - for CSV on standard input.",
        ),
    ],
    asked: Typed[Select],
    text: Typed[TextFormat],
    seed: SeedOption = None,
    label: Annotated[
        str | None,
        option(
            "--label",
            "COLUMN",
            "The column of labels; not needed if there are two columns.",
            _COLUMNS,
        ),
    ] = None,
    score: Annotated[
        str | None,
        option(
            "--score",
            "COLUMN",
            "The column of scores; not needed if there are two columns.",
            _COLUMNS,
        ),
    ] = None,
    header: HeaderOption = False,
    sensitivity: SensitivitiesOption = "1",
    monotone: MonotoneOption = False,
    relation: RelationOption = Relation.ADD_REMOVE,
    json: JsonOption = False,
    out: OutOption = None,
    record: Record = UNRECORDED,
) -> None:
    """Select the item with the highest score, or the top K, privately.

    The labels are public, the scores are private. The default says nothing about how the
    scores were made except that one person moves each by at most 1; for counts of people
    add --monotone.
    """
    from winnow.cli.files import are_large, refuse_overwriting
    from winnow.cli.printing import show_release, working
    from winnow.cli.recording import warn_of_other_labels
    from winnow.core.saving import check_target, save_released
    from winnow.read.files import read_scores
    from winnow.read.scores import seal_scores
    from winnow.select.crossing.selection import Selection

    if out is not None:
        check_target(out)
        refuse_overwriting([file], "--out", out)
    budget = record.budget(relation)
    request = asked(budget=budget, seed=seed)
    warn_of_other_labels(budget, [file])
    with working(f"reading {file}") if are_large([file]) else nullcontext():
        labels, values = read_scores(
            file,
            label_column=label,
            score_column=score,
            header=header,
            text=text(),
        )
        scores = seal_scores(
            values,
            sensitivity=sensitivity_of(sensitivity),
            monotone=monotone,
            relation=relation,
            labels=labels,
            copy=False,
        )
        plan = request.plan(scores)
        released = plan.run(scores, budget=budget, seed=seed)
    about = ""
    if request.k not in (None, 1) or request.with_leads:
        assert isinstance(plan.mechanism, Selection)
        about = "best first" if plan.mechanism.ordered else "a set, in the order of the file"
    with saved_then_shown(released, json, lambda: show_release(released, about)):
        if out is not None:
            save_released(out, released)
